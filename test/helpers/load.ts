// Runs a bounded load on a service and remembers everything that was acknowledged, so that a test can check it after a kill.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { opaqueTokenHash } from '../../src/tokens/opaque-token.ts';
import {
  type Answer,
  inTurns,
  type LoadClient,
  LoadRequests,
  type LoadRequestOptions,
  Lost,
  redirectUri,
} from './load-requests.ts';
import { patience } from './limits.ts';
import { LoadStates } from './load-states.ts';
import { pkce, type UserAgent } from './user-agent.ts';

const pause = 15; // milliseconds between two steps of one worker: the load is bounded
const pauseAfterLoss = 50; // milliseconds more, so that the load does not slow the recovery that it waits for
/** Milliseconds in which a refresh token may be used again (decisions section 4). */
const gracePeriod = 10_000;

/** The result of one code, as far as the service has acknowledged it. */
interface Family {
  name: string;
  client: LoadClient;
  code: string;
  verifier: string;
  accessTokens: string[];
  refreshToken: string;
  spent: string[];
  /** Whether its end was acknowledged. */
  dead: boolean;
  /** What a later round does with it: a replay ends it, or it lives on. */
  fate: 'code' | 'refresh' | 'survives';
  checked: boolean;
}

export interface LoadOptions extends LoadRequestOptions {
  /** The database to which the tests connect directly; read each time, since it may move. */
  database: () => pg.ClientConfig;
  /** Omits approvals, settings and their checks, where starts under load have to be quick. */
  tokensOnly?: boolean;
}

export class Load {
  readonly counts = { clientTokens: 0, codes: 0, refreshes: 0, retries: 0, ended: 0 };
  readonly requests: LoadRequests;
  readonly states: LoadStates;
  readonly #options: LoadOptions;
  readonly #families: Family[] = [];
  #clientTokens: string[] = [];
  readonly #agents: UserAgent[] = [];
  #client!: LoadClient;
  #running = false;
  #workers: Promise<void>[] = [];

  constructor(options: LoadOptions) {
    this.#options = options;
    this.requests = new LoadRequests(options);
    this.states = new LoadStates(this.requests);
  }

  get violations(): string[] {
    return this.requests.violations;
  }

  /** The counts and results, for a reader. */
  get summary(): string {
    return Object.entries({ ...this.counts, ...this.states.counts, ...this.requests.counts })
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  }

  /** Creates the client, and users whose sessions the load remembers. */
  async prepare(): Promise<void> {
    await this.requests.renewAdminToken();
    this.#client = await this.requests.createClient(['authorization_code', 'refresh_token', 'client_credentials']);
    for (let index = 0; index < 2; index++) {
      const { agent, sub } = await this.requests.signedIn();
      this.#agents.push(agent);
      // the first grant, to which the settings belong
      if (index === 0) {
        await this.#authorized(agent, this.#client);
        await this.states.prepare(this.#client, sub);
      }
    }
  }

  begin(): void {
    this.#running = true;
    this.#workers = [
      this.#repeat(() => this.#clientCredentials()),
      ...this.#agents.map((agent) => this.#repeat(() => this.#codeFlow(agent))),
      this.#repeat(() => this.#disableUser()),
      this.#repeat(() => this.#disableClient()),
      ...(this.#options.tokensOnly ? [] : this.states.steps).map((step) => this.#repeat(step)),
    ];
  }

  async end(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#workers);
  }

  /**
   * Requests a token until one is issued; returns the milliseconds since `begin`. An answer counts only when `isBack` held before the
   * request: a process that outlives its killed server may answer for a moment.
   */
  async firstSuccess(begin: number, isBack: () => boolean): Promise<number> {
    for (;;) {
      try {
        const back = isBack();
        await this.#clientCredentials();
        if (back) return performance.now() - begin;
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        if (performance.now() - begin > patience) throw new Error('no success', { cause: error });
        await delay(10);
      }
    }
  }

  /** Checks that everything that this round acknowledged works, or is dead, as the client was told. */
  async verifyRound(): Promise<void> {
    await this.requests.renewAdminToken();
    const fresh = this.#families.filter((family) => !family.checked);
    await inTurns(this.#clientTokens.splice(0), (token) => this.#expectClientToken(token));
    await inTurns(fresh, (family) => (family.dead ? this.#expectDead(family) : this.#expectAlive(family)));
    if (!this.#options.tokensOnly) await this.states.verify();
    await this.#age(fresh);
    await inTurns(
      fresh.filter((family) => !family.dead && family.fate !== 'survives'),
      (family) => this.#replay(family),
    );
    for (const family of fresh) family.checked = true;
  }

  /** The same for all rounds, and then ends what survived them. */
  async verifyAll(): Promise<void> {
    if (!this.#options.tokensOnly) await this.states.verify({ all: true });
    await inTurns(this.#families, (family) => (family.dead ? this.#expectDead(family) : this.#expectAlive(family)));
    await this.#age(this.#families);
    await inTurns(
      this.#families.filter((family) => !family.dead),
      (family) => this.#replay(family),
    );
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    while (this.#running) {
      try {
        await step();
      } catch (error) {
        if (!(error instanceof Lost)) this.violations.push(String(error instanceof Error ? error.stack : error));
        await delay(pauseAfterLoss);
      }
      await delay(pause);
    }
  }

  // --- what the load does

  async #clientCredentials(): Promise<void> {
    const { body } = await this.requests.token(this.requests.admin, { grant_type: 'client_credentials' }, 200);
    this.#clientTokens.push(body['access_token'] as string);
    this.counts.clientTokens++;
  }

  /** A code by a remembered session, its redemption, and three refreshes; a lost refresh is retried. */
  async #codeFlow(agent: UserAgent): Promise<void> {
    const family = await this.#authorized(agent, this.#client);
    for (let turn = 0; turn < 3 && this.#running; turn++) {
      await delay(pause);
      await this.#refresh(family);
    }
  }

  async #refresh(family: Family): Promise<void> {
    const parameters = { grant_type: 'refresh_token', refresh_token: family.refreshToken };
    const first = performance.now();
    let hasRetried = false;
    for (;;) {
      try {
        const answer = await this.requests.token(family.client, parameters, 200);
        family.spent.push(family.refreshToken);
        family.refreshToken = answer.body['refresh_token'] as string;
        family.accessTokens.push(answer.body['access_token'] as string);
        this.counts.refreshes++;
        return;
      } catch (error) {
        // a client retries; within the grace period that always returns a successor (decisions section 4)
        const waited = performance.now() - first;
        if (!(error instanceof Lost) || waited > 8_000) {
          this.#families.splice(this.#families.indexOf(family), 1);
          // on a busy machine the answer to the last retry may be one from after the grace period, which refuses rightly
          if (hasRetried && waited > gracePeriod) return;
          throw error;
        }
        hasRetried = true;
        this.counts.retries++;
        await delay(200);
      }
    }
  }

  /** A user signs in, gets tokens, and is disabled; or the session is ended instead. */
  async #disableUser(): Promise<void> {
    const { agent, sub } = await this.requests.signedIn();
    const family = await this.#authorized(agent, this.#client);
    const session = this.counts.ended % 2 === 1;
    await this.#ending([family], () =>
      session
        ? this.requests.adminCall('DELETE', `/sessions/${sidOf(family)}`, undefined, 204)
        : this.requests.adminCall('PATCH', `/users/${sub}`, { status: 'disabled' }, 200),
    );
  }

  async #disableClient(): Promise<void> {
    const client = await this.requests.createClient();
    const families = [await this.#authorized(this.#agents[0]!, client)];
    await this.#ending(families, () => this.requests.adminCall('POST', `/clients/${client.clientId}/disable`, {}, 200));
  }

  /** Until the end is acknowledged, it is unknown whether the families live; then they are dead. */
  async #ending(families: Family[], act: () => Promise<Answer>): Promise<void> {
    for (const family of families) this.#families.splice(this.#families.indexOf(family), 1);
    await act();
    for (const family of families) this.#families.push({ ...family, dead: true });
    this.counts.ended++;
  }

  async #authorized(agent: UserAgent, client: LoadClient): Promise<Family> {
    const { code_verifier: verifier, ...challenge } = pkce();
    const parameters = new URLSearchParams({
      response_type: 'code',
      scope: 'openid email',
      client_id: client.clientId,
      redirect_uri: redirectUri,
      prompt: 'none',
      ...challenge,
    });
    const page = await this.requests.answered('authorize', () => agent.get(`/authorize?${parameters}`), [302]);
    const code = new URL(page.location!).searchParams.get('code');
    if (code === null) throw new Error(`no code: ${page.location}`);
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const { body } = await this.requests.token(client, redemption, 200);
    const family: Family = {
      name: `${this.counts.codes}`,
      client,
      code,
      verifier,
      accessTokens: [body['access_token'] as string],
      refreshToken: body['refresh_token'] as string,
      spent: [],
      dead: false,
      fate: (['code', 'refresh', 'survives'] as const)[this.counts.codes % 3]!,
      checked: false,
    };
    this.counts.codes++;
    idTokens.set(family, body['id_token'] as string);
    this.#families.push(family);
    return family;
  }

  // --- what must hold afterwards

  async #expectClientToken(token: string): Promise<void> {
    const { status } = await this.requests.call('GET', '/admin/api/keys', { authorization: `Bearer ${token}` });
    if (status !== 200) this.violations.push(`a client's acknowledged token is answered with ${status}`);
  }

  async #expectAlive(family: Family): Promise<void> {
    for (const token of family.accessTokens) {
      const status = await this.#userinfo(token);
      if (status !== 200) this.violations.push(`an acknowledged access token (${family.name}) gets ${status}`);
    }
    try {
      await this.#refresh(family);
    } catch (error) {
      this.violations.push(`an acknowledged refresh token (${family.name}) does not work: ${String(error)}`);
    }
  }

  async #expectDead(family: Family): Promise<void> {
    for (const token of family.accessTokens) {
      const status = await this.#userinfo(token);
      if (status !== 401) this.violations.push(`a revoked access token (${family.name}) gets ${status}`);
    }
    for (const token of [family.refreshToken, ...family.spent]) {
      await this.#expectRefused(family, { grant_type: 'refresh_token', refresh_token: token });
    }
    await this.#expectRefused(family, redemptionOf(family));
  }

  async #replay(family: Family): Promise<void> {
    const replay =
      family.fate === 'refresh' && family.spent.length > 0
        ? { grant_type: 'refresh_token', refresh_token: family.spent.at(-1)! }
        : redemptionOf(family);
    await this.#expectRefused(family, replay);
    family.dead = true;
    await this.#expectDead(family);
  }

  async #expectRefused(family: Family, parameters: Record<string, string>): Promise<void> {
    // a disabled client is refused before its token is checked
    const { status, body } = await this.requests.call(
      'POST',
      '/token',
      { authorization: family.client.basic },
      parameters,
    );
    if (status !== 400 || !['invalid_grant', 'unauthorized_client'].includes(body['error'] as string)) {
      this.violations.push(
        `a dead ${parameters['grant_type']} (${family.name}) gets ${status} ${String(body['error'])}`,
      );
    }
  }

  /** Moves redemptions and spent tokens out of the time in which a retry is accepted. */
  async #age(families: Family[]): Promise<void> {
    const client = new pg.Client(this.#options.database());
    await client.connect();
    const codes = families.map((family) => opaqueTokenHash('authorization_code', family.code));
    const spent = families.flatMap((family) => family.spent.map((token) => opaqueTokenHash('refresh_token', token)));
    const past = `- interval '1 minute'`;
    await client.query(
      `UPDATE authorization_codes SET redeemed_at = redeemed_at ${past} WHERE code_hash = ANY($1) AND redeemed_at IS NOT NULL`,
      [codes],
    );
    await client.query(
      `UPDATE refresh_tokens SET spent_at = spent_at ${past} WHERE token_hash = ANY($1) AND spent_at IS NOT NULL`,
      [spent],
    );
    await client.end();
  }

  async #userinfo(token: string): Promise<number> {
    return (await this.requests.call('GET', '/user/info', { authorization: `Bearer ${token}` })).status;
  }
}

const idTokens = new WeakMap<Family, string>();

function sidOf(family: Family): string {
  const [, payload] = idTokens.get(family)!.split('.');
  return (JSON.parse(Buffer.from(payload!, 'base64url').toString()) as { sid: string }).sid;
}

function redemptionOf(family: Family): Record<string, string> {
  return {
    grant_type: 'authorization_code',
    code: family.code,
    redirect_uri: redirectUri,
    code_verifier: family.verifier,
  };
}
