// Plays a browser without a screen: keeps cookies, does not follow redirects by itself, submits the forms of the service's pages.
import { createHash, randomBytes } from 'node:crypto';
import { issuerTag } from '../../src/browser/cookies.ts';
import type { TestClient, TestService } from './service.ts';

export interface Page {
  status: number;
  headers: Headers;
  body: string;
  /** The requested address. */
  url: string;
  /** The target of a redirect, or of a page that leads on by itself, absolute; without the reference of a refusal, another one each time. */
  location: string | undefined;
  /** The reference of a refusal. */
  reference: string | undefined;
}

const referenceForm = /&reference=([0-9a-f]{8})$/;
const shownReference = /class="reference">[^<]*<[^>]*>([0-9a-f]{8})</;

/** The form that asks for the name alone. */
const nameForm = 'action="/login/user"';

/** The headers that a browser sends when it navigates. */
const navigation = {
  accept: 'text/html,application/xhtml+xml',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};

/** The body of a page without the reference, which is another one for each refusal. */
export const withoutReference = ({ body, reference = '' }: Page): string => body.replaceAll(reference, '');

/** Finds internal cookies by their names without the tag of the issuer. */
class CookieJar extends Map<string, string> {
  issuer = '';

  #real(name: string): string {
    if (!/^GATEHOUSE_[A-Z_]+$/.test(name)) return name;
    const own = [...super.keys()].find((key) => key.replace(/_[0-9a-f]{8}$/, '') === name);
    return own ?? `${name}_${issuerTag(this.issuer)}`;
  }

  override get(name: string) {
    return super.get(this.#real(name));
  }
  override has(name: string) {
    return super.has(this.#real(name));
  }
  override set(name: string, value: string) {
    return super.set(this.#real(name), value);
  }
  override delete(name: string) {
    return super.delete(this.#real(name));
  }
}

export class UserAgent {
  readonly cookies: Map<string, string>;
  /** Another service on this host, whose cookies the browser sends, too. */
  neighbour: UserAgent | undefined;
  readonly issuer: string;
  /** The headers of each request. */
  readonly headers: Record<string, string>;

  constructor(service: Pick<TestService, 'issuer'>, headers: Record<string, string> = {}) {
    this.issuer = service.issuer;
    this.cookies = Object.assign(new CookieJar(), { issuer: service.issuer });
    this.headers = headers;
  }

  /** Requests one address; redirects are returned, not followed. */
  async fetch(address: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Page> {
    const url = address.startsWith('/') ? this.issuer + address : address;
    const cookie = [...this.cookies, ...(this.neighbour?.cookies ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...navigation, ...(cookie && { cookie }), ...this.headers, ...init.headers },
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    const body = await response.text();
    const location = response.headers.get('location') ?? leadsTo(body);
    return {
      status: response.status,
      headers: response.headers,
      body,
      url: url.replace(referenceForm, ''),
      location: location === undefined ? undefined : new URL(location, url).href.replace(referenceForm, ''),
      reference: (referenceForm.exec(location ?? '') ?? shownReference.exec(body))?.[1],
    };
  }

  get(address: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.fetch(address, { headers });
  }

  post(address: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    return this.fetch(address, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { origin: new URL(this.issuer).origin, 'sec-fetch-site': 'same-origin', ...headers },
    });
  }

  /** Follows redirects, and pages that lead on by themselves, as long as they stay within the service. */
  async follow(page: Page): Promise<Page> {
    let current = page;
    for (let hops = 0; current.location?.startsWith(`${this.issuer}/`) && hops < 10; hops++) {
      const { location, reference } = current;
      const refused = reference !== undefined && location.includes('/login?problem=');
      current = await this.get(refused ? `${location}&reference=${reference}` : location);
    }
    return current;
  }

  /** Submits the page's form with its hidden fields and the given ones, and follows within the service. */
  async submit(page: Page, fields: Record<string, string>): Promise<Page> {
    const action = /<form[^>]*action="([^"]*)"/.exec(page.body)?.[1];
    if (action === undefined) throw new Error(`no form on ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
    const target = new URL(unescape(action), page.url).href;
    return this.follow(await this.post(target, { ...hiddenFields(page.body), ...fields }));
  }

  /** Signs in at the sign-in page, opened alone or by an authorization request. */
  async signIn(user: { username: string; password: string }, page?: Page): Promise<Page> {
    const { username, password } = user;
    const first = page ?? (await this.get('/login'));
    // where domains lead to connections, the page asks for the name first
    const asked = first.body.includes(nameForm) ? await this.submit(first, { username }) : first;
    return this.submit(asked, { username, password });
  }

  /** Sends an authorization request, and signs in and consents where the service asks; ends at the client's address. */
  async authorize(
    client: Pick<TestClient, 'clientId' | 'redirectUri'>,
    user: { username: string; password: string } | undefined,
    parameters: Record<string, string> = {},
  ): Promise<Page> {
    let page = await this.follow(await this.get(authorizationUrl(this.issuer, client, parameters)));
    if (user && (page.body.includes('id="password"') || page.body.includes(nameForm)))
      page = await this.signIn(user, page);
    if (page.body.includes('id="allow"')) page = await this.submit(page, { decision: 'allow' });
    return page;
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    const gone = attributes.some((attribute) => /^ *(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
    if (gone) this.cookies.delete(name);
    else this.cookies.set(name, value.join('='));
  }
}

export function authorizationUrl(
  issuer: string,
  client: Pick<TestClient, 'clientId' | 'redirectUri'>,
  parameters: Record<string, string> = {},
): string {
  const all = {
    response_type: 'code',
    scope: 'openid',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    ...parameters,
  };
  return `${issuer}/authorize?${new URLSearchParams(all).toString()}`;
}

/** The parameters that a response carries to the client in the query. */
export function responseParameters(page: Page): Record<string, string> {
  if (page.location === undefined)
    throw new Error(`no redirect from ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
  return Object.fromEntries(new URL(page.location).searchParams);
}

export function pkce(): { code_verifier: string; code_challenge: string; code_challenge_method: string } {
  const code_verifier = randomBytes(32).toString('base64url');
  return {
    code_verifier,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
}

/** Calls the token endpoint; client_secret_basic unless the parameters hold credentials. */
export async function tokenRequest(
  base: string,
  client: Pick<TestClient, 'basic'> | undefined,
  parameters: Record<string, string>,
): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const response = await fetch(`${base}/token`, {
    method: 'POST',
    body: new URLSearchParams(parameters),
    headers: client ? { authorization: client.basic } : {},
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

/** Where a page leads by itself. */
export function leadsTo(html: string): string | undefined {
  const [, target] = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(html) ?? [];
  return target === undefined ? undefined : unescape(target);
}

/** The first form of a page that has several. */
export function hiddenFields(html: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) fields[unescape(name)] ??= unescape(/value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  return fields;
}

function unescape(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/** A page without its language menu, which is a form wherever no link shows the page again. */
export const withoutLanguages = (body: string): string =>
  body.replace(/<details class="languages">.*?<\/details>/s, '');
