// Plays a browser without a screen inside the process: keeps cookies, follows redirects, signs in by a door of its own, and consents (delivery 5).
import type { FastifyInstance } from 'fastify';

type Method = 'GET' | 'POST';

/** Where the browser ended, and the paths of the pages whose form it sent. */
export type End = { sent: readonly string[] } & (
  | { redirect: string; form?: Record<string, string> }
  /** A page that only a person can answer, a refusal, or the last page. @param reference of the refusal */
  | { stopped: string; status: number; title: string; reference: string | undefined }
);

export interface Visit {
  /** The address with its query, below the issuer. */
  address: string;
  /** What the user enters on a page, by its path: the form is sent with these fields. */
  entered: Readonly<Record<string, Record<string, string>>>;
  /** Signs the browser in, for the pending request if there is one, and says where it continues. */
  signIn?(
    cookie: string,
    transaction: string | undefined,
    strong: boolean,
  ): Promise<{ cookies: string[]; path: string }>;
  /** Throws if the browser must not send a form, or leave with an answer, in the session that it has. */
  check?(cookie: string): Promise<void>;
}

const most = 30; // requests
/** The headers that a browser sends when it navigates. */
const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

export class VirtualBrowser {
  readonly #app: FastifyInstance;
  readonly #issuer: URL;
  readonly #cookies = new Map<string, string>();

  constructor(app: FastifyInstance, issuer: string) {
    this.#app = app;
    this.#issuer = new URL(issuer);
  }

  /** Goes to an address, and on until it leaves the issuer, or stops at a page. */
  async visit({ address, entered, signIn, check = async () => undefined }: Visit): Promise<End> {
    const sent: string[] = [];
    let page = await this.#send('GET', address);
    for (let requests = 1; requests < most; requests++) {
      if (page.location !== undefined) {
        const target = new URL(page.location, this.#issuer);
        if (!this.#isOwn(target)) {
          await check(this.#header());
          return { redirect: target.href, sent };
        }
        page = await this.#send('GET', target.pathname + target.search);
        continue;
      }
      const { pathname, searchParams } = new URL(page.address, this.#issuer);
      const path = pathname.slice(this.#basePath.length);
      const transaction = searchParams.get('transaction') ?? undefined;
      if (signIn && page.status === 200 && /^\/login(\/accounts|\/second-factor)?$/.test(path)) {
        const done = await signIn(this.#header(), transaction, path === '/login/second-factor');
        for (const line of done.cookies) this.#keep(line);
        // without a request the page that asked for the sign-in is next
        page = await this.#send('GET', transaction === undefined ? address : done.path);
        continue;
      }
      const form = formOf(page.body);
      // response mode form_post
      if (page.status === 200 && form && /^https?:\/\//.test(form.action) && !this.#isOwn(new URL(form.action))) {
        await check(this.#header());
        return { redirect: form.action, form: form.fields, sent };
      }
      // each form once: the last page can have the same address. The page that refuses a user has a form, too
      if (form && entered[path] && !sent.includes(path) && (page.status === 200 || path === '/access-denied')) {
        await check(this.#header());
        page = await this.#send('POST', this.#basePath + form.action, { ...form.fields, ...entered[path] });
        sent.push(path);
        continue;
      }
      return { stopped: path, status: page.status, title: titleOf(page.body), reference: referenceOn(page), sent };
    }
    const title = 'the redirects do not end';
    return { stopped: page.address, status: page.status, title, reference: undefined, sent };
  }

  get #basePath(): string {
    return this.#issuer.pathname.replace(/\/$/, '');
  }

  #isOwn(target: URL): boolean {
    return target.origin === this.#issuer.origin && target.pathname.startsWith(`${this.#basePath}/`);
  }

  #header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';');
    const equals = pair.indexOf('=');
    const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
    const ended = attributes.some((attribute) => /^ *(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
    if (ended || value === '') this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }

  async #send(method: Method, url: string, fields?: Record<string, string>) {
    const cookie = this.#header();
    const headers = {
      host: this.#issuer.host,
      ...navigation,
      ...(cookie !== '' && { cookie }),
      ...(fields && {
        origin: this.#issuer.origin,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      }),
    };
    const payload = fields && new URLSearchParams(fields).toString();
    const response = await this.#app.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) this.#keep(line);
    const { location } = response.headers;
    return {
      address: url,
      status: response.statusCode,
      body: response.body,
      location: location ?? leadsTo(response.body),
    };
  }
}

const decoded = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#x2F;', '/')
    .replaceAll('&amp;', '&');

/** The target of a page that leads on by itself. */
function leadsTo(html: string): string | undefined {
  const target = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(html)?.[1];
  return target === undefined ? undefined : decoded(target);
}

/** The first form that is posted, with its hidden fields. */
function formOf(html: string): { action: string; fields: Record<string, string> } | undefined {
  const [, action, body = ''] = /<form[^>]*method="post"[^>]*action="([^"]*)"[^>]*>([^]*?)<\/form>/.exec(html) ?? [];
  if (action === undefined) return undefined;
  const inputs = body.matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"/g);
  return {
    action: decoded(action),
    fields: Object.fromEntries([...inputs].map(([, name = '', value = '']) => [decoded(name), decoded(value)])),
  };
}

/** The reference that a page shows; a page of a protocol has it in its address. */
const referenceOn = ({ address, body }: { address: string; body: string }): string | undefined =>
  (/[?&]reference=([0-9a-f]{8})/.exec(address) ?? /<p class="reference">[^]*?\b([0-9a-f]{8})\b/.exec(body))?.[1];

const titleOf = (html: string): string => decoded(/<title>([^<]*)<\/title>/.exec(html)?.[1] ?? '');
