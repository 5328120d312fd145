// Sends the requests of a load: it accepts expected answers, 503 with Retry-After in time, and a lost connection where one may be lost.
import { randomUUID } from 'node:crypto';
import { hiddenFields, UserAgent } from './user-agent.ts';

export const redirectUri = 'https://rp.example.com/callback';
const password = 'correct horse battery staple';
const requestLimit = 120_000; // milliseconds

export interface LoadClient {
  clientId: string;
  redirectUri: string;
  basic: string;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A request got no answer, or 503: its effect is unknown. */
export class Lost extends Error {}

export interface LoadRequestOptions {
  issuer: string;
  /** Base addresses of the processes that take the calls in turn; the issuer alone unless given. Browsers stay with the issuer. */
  instances?: string[];
  admin: { clientId: string; clientSecret: string };
  /** Whether a request may get no answer: when the service itself is killed. */
  mayLoseConnections: boolean;
}

export class LoadRequests {
  /** Observations that must never happen, as sentences. */
  readonly violations: string[] = [];
  readonly counts = { answered: 0, unavailable: 0, lost: 0 };
  /** In milliseconds. */
  slowestRefusal = { name: '', time: 0 };
  readonly #options: LoadRequestOptions;
  readonly #instances: string[];
  readonly #admin: LoadClient;
  #adminToken = '';
  #turn = 0;

  constructor(options: LoadRequestOptions) {
    this.#options = options;
    this.#instances = options.instances ?? [options.issuer];
    this.#admin = clientOf(options.admin.clientId, options.admin.clientSecret);
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  get admin(): LoadClient {
    return this.#admin;
  }

  token(client: LoadClient, parameters: Record<string, string>, expected = 200): Promise<Answer> {
    return this.call('POST', '/token', { authorization: client.basic }, parameters, [expected]);
  }

  adminCall(method: string, path: string, body: unknown, expected: number): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${this.#adminToken}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.call(method, `/admin/api${path}`, headers, text, [expected]);
  }

  async call(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: Record<string, string> | string,
    expected?: number[],
  ): Promise<Answer> {
    const base = this.#instances[this.#turn++ % this.#instances.length]!;
    return this.answered(
      `${method} ${path.replace(/\/[^/]*[A-Z0-9_-]{20}.*/, '/…')}`,
      async () => {
        const response = await fetch(base + path, {
          method,
          headers,
          signal: AbortSignal.timeout(requestLimit),
          ...(body !== undefined && { body: typeof body === 'string' ? body : new URLSearchParams(body) }),
        });
        const text = await response.text();
        return {
          status: response.status,
          headers: response.headers,
          body: (text ? JSON.parse(text) : {}) as Record<string, unknown>,
        };
      },
      expected,
    );
  }

  /** @throws Lost when the effect is unknown, Error for an answer that the service should not have given */
  async answered<T extends { status: number; headers: Headers; body: unknown }>(
    name: string,
    ask: () => Promise<T>,
    expected?: number[],
  ): Promise<T> {
    const begin = performance.now();
    let answer: T;
    try {
      answer = await ask();
    } catch (error) {
      this.counts.lost++;
      const cause = `${String(error)} ${String((error as Error).cause)}`;
      if (!this.#options.mayLoseConnections || (error as Error).name === 'TimeoutError')
        this.violations.push(`${name} was not answered: ${cause}`);
      throw new Lost(cause);
    }
    if (answer.status === 503) {
      this.#refused(name, answer.headers, performance.now() - begin);
      throw new Lost('503');
    }
    this.counts.answered++;
    if (answer.status >= 500 || (expected && !expected.includes(answer.status)))
      throw new Error(`${name} was answered with ${answer.status}: ${JSON.stringify(answer.body).slice(0, 300)}`);
    return answer;
  }

  #refused(name: string, headers: Headers, time: number): void {
    this.counts.unavailable++;
    // the first password hash takes longer, by what it needs of the machine
    if (time > this.slowestRefusal.time && !/^POST .*\/(users|login)$/.test(name)) this.slowestRefusal = { name, time };
    if (!/^\d+$/.test(headers.get('retry-after') ?? ''))
      this.violations.push(`${name} was answered with 503 and no Retry-After`);
  }

  async renewAdminToken(): Promise<void> {
    const { body } = await this.token(this.#admin, { grant_type: 'client_credentials' });
    this.#adminToken = body['access_token'] as string;
  }

  async createClient(grantTypes = ['authorization_code', 'refresh_token']): Promise<LoadClient> {
    const metadata = {
      client_name: 'Load',
      redirect_uris: [redirectUri],
      grant_types: grantTypes,
      first_party: true,
    };
    const { body } = await this.adminCall('POST', '/clients', metadata, 201);
    return clientOf(body['client_id'] as string, body['client_secret'] as string);
  }

  async signedIn(): Promise<{ agent: UserAgent; sub: string }> {
    const username = `load-${randomUUID()}`;
    const { body } = await this.adminCall('POST', '/users', { username, password }, 201);
    const agent = new UserAgent(this.#options);
    const form = await this.answered('GET /login', () => agent.get('/login'), [200]);
    const fields = { ...hiddenFields(form.body), username, password };
    await this.answered('POST /login', () => agent.post('/login', fields), [303]);
    if (!agent.cookies.has('JSESSIONOPENID')) throw new Error('signing in made no session');
    return { agent, sub: body['sub'] as string };
  }
}

export function clientOf(clientId: string, clientSecret: string): LoadClient {
  return { clientId, redirectUri, basic: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` };
}

/** Runs the work for each item, a few at a time. */
export async function inTurns<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}
