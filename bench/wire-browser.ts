// Plays a browser over one connection of the load: keeps cookies, follows redirects within the server, sends a page's form.
import { hiddenFields, leadsTo } from '../test/helpers/user-agent.ts';
import { formType } from './flows.ts';
import type { Ask } from './load.ts';
import type { Answer, Request } from './wire.ts';

const navigation = { accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };

export class WireBrowser {
  readonly cookies = new Map<string, string>();
  readonly #ask: Ask;
  readonly #base: string;
  readonly #follows: boolean;
  #path = '/';

  constructor(ask: Ask, base: string, { follows = true } = {}) {
    this.#ask = ask;
    this.#base = base;
    this.#follows = follows;
  }

  get(path: string): Promise<Answer> {
    return this.#follow({ method: 'GET', path });
  }

  /** Sends the first form of the page with its hidden fields and these. */
  submit(page: Answer, fields: Record<string, string>): Promise<Answer> {
    const action = /<form[^>]*action="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? this.#path;
    const body = new URLSearchParams({ ...hiddenFields(page.body), ...fields }).toString();
    return this.#follow({ method: 'POST', path: action, body });
  }

  /** Requests an address, and follows redirects and pages that lead on within the server. */
  async #follow(request: Pick<Request, 'method' | 'path' | 'body'>): Promise<Answer> {
    let answer = await this.#send(request);
    if (!this.#follows) return answer;
    for (let hops = 0; hops < 10; hops++) {
      const onward = answer.location ?? leadsTo(answer.body);
      const target = onward === undefined ? undefined : new URL(onward, this.#base + this.#path);
      if (target?.origin !== this.#base) return answer;
      answer = await this.#send({ method: 'GET', path: target.pathname + target.search });
    }
    throw new Error('it was sent on and on');
  }

  async #send(request: Pick<Request, 'method' | 'path' | 'body'>): Promise<Answer> {
    this.#path = request.path;
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers: Record<string, string> = { ...navigation, ...(cookie && { cookie }) };
    if (request.method === 'POST')
      Object.assign(headers, { 'content-type': formType, origin: this.#base, 'sec-fetch-site': 'same-origin' });
    const answer = await this.#ask({ ...request, headers });
    for (const line of answer.setCookies ?? []) {
      const [pair = '', ...attributes] = line.split(';');
      const [name = '', ...value] = pair.split('=');
      if (attributes.some((attribute) => /^ *(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute)))
        this.cookies.delete(name);
      else this.cookies.set(name, value.join('='));
    }
    return answer;
  }
}
