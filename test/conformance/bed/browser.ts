// Acts as the suite's browser: one cookie jar per module, follows redirects within the service, enforces each page's policy, stops at the
// relying party's pages.
import { expect } from 'vitest';
import { leadsTo } from '../../helpers/user-agent.ts';
import { elements, type Form, forms, inlineScripts, Policy, scripted } from './html.ts';
import { form as encoded, type HttpAnswer, type HttpRequest, type Network } from './network.ts';

/** A page of the service that the browser has shown. */
export type Page = HttpAnswer;

/** A request of the browser to the relying party's pages. */
export interface Arrival {
  method: 'GET' | 'POST';
  url: URL;
  contentType: string | undefined;
  body: string;
}

/** The result of opening one address or submitting one form. */
export interface Navigation {
  /** The current page; undefined when the browser has arrived at the relying party. */
  page: Page | undefined;
  arrival: Arrival | undefined;
  /** Addresses of the relying party that the page loaded in frames. */
  frames: URL[];
}

interface Cookie {
  value: string;
  origin: string;
  path: string;
  httpOnly: boolean;
  sameSite: string;
}

export class Browser {
  readonly cookies = new Map<string, Cookie>();
  readonly #network: Network;
  readonly #service: string;
  readonly #suite: string;

  /** @param service the service's origin; `suite` is where the browser stops. It may open no other origin. */
  constructor(network: Network, { service, suite }: { service: string; suite: string }) {
    this.#network = network;
    this.#service = service;
    this.#suite = suite;
  }

  open(address: string): Promise<Navigation> {
    return this.#navigate(address, {});
  }

  /** Sends a form from the relying party's page, such as an authorization request by POST. */
  post(address: string, fields: Record<string, string>): Promise<Navigation> {
    return this.#navigate(address, { method: 'POST', ...encoded(fields) });
  }

  /** Fills in the fields of the page's form, by name, and presses the button with the id. */
  press(page: Page, button: string, fields: Record<string, string> = {}): Promise<Navigation> {
    const form = forms(page.body).find(({ buttons }) => button in buttons);
    if (!form) throw new Error(`no button ${button} on ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
    const unknown = Object.keys(fields).filter((name) => !form.fields.includes(name));
    if (unknown.length > 0) throw new Error(`no field ${unknown.join(', ')} in the form of ${page.url}`);
    const pressed = form.buttons[button];
    return this.#submit(page, form, { ...fields, ...(pressed && { [pressed.name]: pressed.value }) });
  }

  /** document.cookie of a page of the service in another site's frame. */
  cookiesOfFrame(address: string): string {
    const { origin } = new URL(address);
    const seen = [...this.cookies].filter(
      ([, cookie]) => cookie.origin === origin && cookie.sameSite === 'none' && !cookie.httpOnly,
    );
    return seen.map(([name, { value }]) => `${name}=${value}`).join('; ');
  }

  #submit(page: Page, form: Form, fields: Record<string, string>): Promise<Navigation> {
    expect(form.method, 'method of the form').toBe('post');
    expect(form.enctype ?? 'application/x-www-form-urlencoded').toBe('application/x-www-form-urlencoded');
    const policy = this.#policy(page);
    const target = new URL(form.action, page.url).href;
    const { headers, body } = encoded({ ...form.hidden, ...fields });
    const request = { method: 'POST', headers: { ...headers, origin: new URL(page.url).origin }, body };
    return this.#navigate(target, request, policy);
  }

  /** @param policy that of the page with the submitted form: Chromium enforces it on the form's whole chain of redirects */
  async #navigate(address: string, request: HttpRequest, policy?: Policy): Promise<Navigation> {
    let current = request;
    let url = new URL(address);
    for (let hops = 0; hops < 20; hops++) {
      if (policy)
        expect(policy.allows('form-action', url.href), `form-action lets the form go to ${url.href}`).toBe(true);
      if (url.origin === this.#suite) return { page: undefined, arrival: arrivalOf(url, current), frames: [] };
      if (url.origin !== this.#service) throw new Error(`the browser was sent to ${url.href}`);
      const page = await this.#load(url, current);
      const location = page.headers.get('location');
      if (location === null || page.status < 300 || page.status > 399) return this.#show(page);
      expect([302, 303], `status of the redirect to ${location}`).toContain(page.status);
      url = new URL(location, url);
      current = {};
    }
    throw new Error(`too many redirects from ${address}`);
  }

  async #load(url: URL, request: HttpRequest): Promise<Page> {
    const cookie = [...this.cookies]
      .filter(
        ([, { origin, path }]) => url.origin === origin && (url.pathname + '/').startsWith(path.replace(/\/?$/, '/')),
      )
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const page = await this.#network.send(url.origin + url.pathname + url.search, {
      ...request,
      headers: { accept: 'text/html,application/xhtml+xml,*/*', ...(cookie && { cookie }), ...request.headers },
    });
    for (const line of page.headers.getSetCookie()) this.#keep(line, url);
    return { ...page, url: url.href };
  }

  /** Does what the page's own script does: submits the form of form_post, loads frames, continues afterwards. */
  async #show(page: Page): Promise<Navigation> {
    const policy = this.#policy(page);
    const [script] = inlineScripts(page.body).filter((text) => /\.submit\(\)/.test(text));
    if (script !== undefined) {
      expect(page.status).toBe(200);
      expect(policy.allowsInline(script), 'the policy lets the form send itself').toBe(true);
      const [form] = forms(scripted(page.body));
      return this.#submit(page, form!, {});
    }
    const onwards = leadsTo(page.body);
    // the browser begins anew: the policy of a page whose form led here no longer counts
    if (onwards !== undefined) return this.#navigate(new URL(onwards, page.url).href, {});
    const frames = elements(page.body, 'iframe').map(({ src }) => new URL(src!, page.url));
    for (const frame of frames)
      expect(policy.allows('frame-src', frame.href), `the policy lets ${frame.href} be framed`).toBe(true);
    const [onward] = elements(page.body, 'a').filter((link) => 'data-go-on' in link);
    if (onward === undefined) return { page, arrival: undefined, frames };
    const scripts = elements(page.body, 'script').map(({ src }) => new URL(src!, page.url).href);
    expect(
      scripts.some((src) => policy.allows('script-src', src)),
      'the script that goes on is allowed',
    ).toBe(true);
    return { ...(await this.#navigate(new URL(onward['href']!, page.url).href, {})), frames };
  }

  #policy(page: Page): Policy {
    return new Policy(page.headers.get('content-security-policy'), new URL(page.url).origin);
  }

  /** RFC 6265 as far as needed here: a browser that came by http before would lose a cookie that is not Secure. */
  #keep(line: string, url: URL): void {
    const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
    const [name = '', ...value] = pair.split('=');
    const attributes = new Map(
      rest.map((part) => [part.split('=')[0]!.toLowerCase(), part.split('=').slice(1).join('=')] as const),
    );
    expect(attributes.has('secure'), `the cookie ${name} is Secure`).toBe(true);
    expect(attributes.has('domain'), `the cookie ${name} is for this host only`).toBe(false);
    const gone = attributes.get('max-age') === '0' || Date.parse(attributes.get('expires') ?? '') < Date.now();
    if (gone) this.cookies.delete(name);
    else
      this.cookies.set(name, {
        value: value.join('='),
        origin: url.origin,
        path: attributes.get('path') ?? '/',
        httpOnly: attributes.has('httponly'),
        sameSite: (attributes.get('samesite') ?? '').toLowerCase(),
      });
  }
}

function arrivalOf(url: URL, { method, headers, body }: HttpRequest): Arrival {
  return { method: method === 'POST' ? 'POST' : 'GET', url, contentType: headers?.['content-type'], body: body ?? '' };
}
