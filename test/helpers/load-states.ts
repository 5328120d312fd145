// The part of the load that changes states and asks for them: approvals, revocations, settings, and introspection in between.
import { redirectUri, type LoadClient, type LoadRequests } from './load-requests.ts';

const kept = 200; // of each kind, so that a long load does not end in a long check

export class LoadStates {
  readonly counts = { introspections: 0, revocations: 0, approvals: 0, settings: 0 };
  readonly #requests: LoadRequests;
  #client!: LoadClient;
  #sub = '';
  readonly #live: string[] = [];
  readonly #revoked: string[] = [];
  readonly #approved: string[] = [];
  /** The settings' number: what was acknowledged last, and what was sent last. */
  #acknowledged = 0;
  #sent = 0;

  constructor(requests: LoadRequests) {
    this.#requests = requests;
  }

  /** @param client of whom `sub` has a grant */
  async prepare(client: LoadClient, sub: string): Promise<void> {
    this.#client = client;
    this.#sub = sub;
    for (let count = 0; count < 3; count++) this.#live.push(await this.#newToken());
  }

  /** What is to be repeated, each by itself. */
  get steps(): (() => Promise<void>)[] {
    return [this.#introspect, this.#introspect, this.#introspect, this.#revoke, this.#approve, this.#writeSettings].map(
      (step) => step.bind(this),
    );
  }

  /** All that was acknowledged is as it was acknowledged. */
  async verify(): Promise<void> {
    for (const token of this.#live) await this.#expectActive(token, true);
    for (const token of this.#revoked) await this.#expectActive(token, false);
    for (const clientId of this.#approved) {
      const { body } = await this.#requests.adminCall('GET', `/clients/${clientId}`, undefined, 200);
      if (body['status'] !== 'enabled')
        this.#requests.violations.push(`an approved client is ${String(body['status'])}`);
    }
    await this.#readSettings();
    // what was sent and not acknowledged may be in force: from here on it is
    this.#acknowledged = this.#sent;
    for (const list of [this.#live, this.#revoked, this.#approved]) list.splice(0, list.length - kept);
    await this.#writeSettings();
  }

  async #newToken(): Promise<string> {
    const { body } = await this.#requests.token(this.#client, { grant_type: 'client_credentials' });
    return body['access_token'] as string;
  }

  async #introspect(): Promise<void> {
    const live = this.counts.introspections++ % 2 === 0 || this.#revoked.length === 0;
    const list = live ? this.#live : this.#revoked;
    // the newest as often as any other: an old state of the database shows in it
    const index = Math.random() < 0.5 ? list.length - 1 : Math.floor(Math.random() * list.length);
    await this.#expectActive(list[index]!, live);
  }

  async #expectActive(token: string, active: boolean): Promise<void> {
    const headers = { authorization: this.#client.basic };
    const { body } = await this.#requests.call('POST', '/introspect', headers, { token }, [200]);
    if (body['active'] !== active)
      this.#requests.violations.push(`a token that is ${active ? 'live' : 'revoked'} is answered active: ${!active}`);
  }

  async #revoke(): Promise<void> {
    const [kept, given] = [await this.#newToken(), await this.#newToken()];
    this.#live.push(kept);
    await this.#requests.call('POST', '/revoke', { authorization: this.#client.basic }, { token: given }, [200]);
    this.#revoked.push(given);
    this.counts.revocations++;
  }

  async #approve(): Promise<void> {
    const metadata = JSON.stringify({ client_name: 'Waiting', redirect_uris: [redirectUri], scope: 'openid' });
    const type = { 'content-type': 'application/json' };
    const { body } = await this.#requests.call('POST', '/register', type, metadata, [201]);
    const clientId = body['client_id'] as string;
    const waiting = await this.#requests.adminCall('GET', `/clients/${clientId}`, undefined, 200);
    await this.#requests.adminCall('POST', `/clients/${clientId}/approve`, { version: waiting.body['version'] }, 200);
    this.#approved.push(clientId);
    this.counts.approvals++;
  }

  async #writeSettings(): Promise<void> {
    const number = ++this.#sent;
    await this.#requests.call(
      'PUT',
      `/user/${this.#sub}/settings`,
      { authorization: this.#client.basic, 'content-type': 'application/json' },
      JSON.stringify({ settings: { number } }),
      [200],
    );
    this.#acknowledged = number;
    this.counts.settings++;
    await this.#readSettings();
  }

  async #readSettings(): Promise<void> {
    const headers = { authorization: this.#client.basic };
    const [least, most] = [this.#acknowledged, this.#sent];
    const { body } = await this.#requests.call('GET', `/user/${this.#sub}/settings`, headers, undefined, [200]);
    const found = (body['settings'] as { number?: number } | undefined)?.number ?? 0;
    if (found < least || found > most)
      this.#requests.violations.push(`the settings hold ${found} where ${least} was acknowledged and ${most} sent`);
  }
}
