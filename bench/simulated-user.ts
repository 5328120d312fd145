// Plays one user of the soak: a browser that signs in when it has to, and the clients that act for it, mostly in the ordinary way.
import { Agent } from 'node:http';
import type { UserAgent } from '../test/helpers/user-agent.ts';
import {
  basicOf,
  codeFlowOf,
  expectStatus,
  formType,
  type Person,
  redirectUri,
  SessionOver,
  signIn,
  tokenRequest,
} from './flows.ts';
import { type Ask, askOnce } from './load.ts';

export class SimulatedUser {
  readonly #base: string;
  readonly #person: Person;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #flow: ReturnType<typeof codeFlowOf>;
  readonly #web: string;
  readonly #machine: string;
  readonly #ask: Ask;
  #browser: UserAgent | undefined;
  #rounds = 0;

  constructor(
    base: string,
    person: Person,
    web: Record<string, string>,
    machine: Record<string, string>,
    answered: (path: string, milliseconds: number) => void,
  ) {
    this.#base = base;
    this.#person = person;
    this.#flow = codeFlowOf(web, 'openid profile email');
    this.#web = basicOf(web);
    this.#machine = basicOf(machine);
    this.#ask = async (request) => {
      const begin = performance.now();
      const answer = await askOnce(this.#agent, base, request);
      answered(request.path.split('?')[0]!, performance.now() - begin);
      return answer;
    };
  }

  /** A sign-in where one is needed, a code flow, two refreshes, introspections, a client's own token; now and then a rarer operation. */
  async round(): Promise<void> {
    this.#browser ??= await signIn(this.#base, this.#person);
    const round = this.#rounds++;
    try {
      const tokens = await this.#flow(this.#ask, this.#browser);
      let refresh = tokens.refresh_token;
      for (let count = 0; refresh !== undefined && count < 2; count++) {
        const form = { grant_type: 'refresh_token', refresh_token: refresh };
        refresh = (await tokenRequest(this.#ask, this.#web, form)).refresh_token;
      }
      for (let count = 0; count < 4; count++)
        await this.#post('/introspect', this.#web, { token: tokens.access_token });
      await tokenRequest(this.#ask, this.#machine, { grant_type: 'client_credentials' });
      if (round % 10 === 1 && refresh !== undefined) await this.#post('/revoke', this.#web, { token: refresh });
      if (round % 20 === 2) await this.#abandon();
      if (round % 100 === 3) await this.#register();
    } catch (error) {
      if (!(error instanceof SessionOver)) throw error;
      this.#browser = undefined;
    }
  }

  leave(): void {
    this.#agent.destroy();
  }

  async #post(path: string, authorization: string, form: Record<string, string>): Promise<void> {
    const body = new URLSearchParams(form).toString();
    const headers = { authorization, 'content-type': formType };
    expectStatus(await this.#ask({ method: 'POST', path, headers, body }), 200);
  }

  /** A new browser opens the sign-in page and leaves: the request stays until it expires. */
  async #abandon(): Promise<void> {
    const headers = { accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
    await this.#ask({ method: 'GET', path: '/login', headers });
  }

  /** A client registers itself and is never approved. */
  async #register(): Promise<void> {
    const body = JSON.stringify({ client_name: 'Never approved', redirect_uris: [redirectUri] });
    const headers = { 'content-type': 'application/json' };
    expectStatus(await this.#ask({ method: 'POST', path: '/register', headers, body }), 201);
  }
}
