// Changes states as a part of the load, and checks them later: approvals, revocations, settings, and introspection in between.
import { inTurns, redirectUri, type LoadClient, type LoadRequests } from './load-requests.ts';

/** The acknowledged changes of one kind, and how many of them were checked. */
interface Acknowledged {
  values: string[];
  checked: number;
}

export class LoadStates {
  readonly counts = { introspections: 0, revocations: 0, approvals: 0, settings: 0 };
  readonly #requests: LoadRequests;
  #client!: LoadClient;
  #sub = '';
  readonly #live: Acknowledged = { values: [], checked: 0 };
  readonly #revoked: Acknowledged = { values: [], checked: 0 };
  readonly #approved: Acknowledged = { values: [], checked: 0 };
  /** The number in the settings: the last one acknowledged, and the last one sent. */
  #acknowledged = 0;
  #sent = 0;

  constructor(requests: LoadRequests) {
    this.#requests = requests;
  }

  /** @param client to which `sub` has given a grant */
  async prepare(client: LoadClient, sub: string): Promise<void> {
    this.#client = client;
    this.#sub = sub;
    for (let count = 0; count < 3; count++) this.#live.values.push(await this.#newToken());
  }

  /** The steps to repeat, each by itself. */
  get steps(): (() => Promise<void>)[] {
    return [this.#introspect, this.#introspect, this.#introspect, this.#revoke, this.#approve, this.#writeSettings].map(
      (step) => step.bind(this),
    );
  }

  /** Checks that what was acknowledged, ever or since the last check, is as it was acknowledged. */
  async verify({ all = false } = {}): Promise<void> {
    const due = (list: Acknowledged) => list.values.slice(all ? 0 : list.checked);
    await inTurns(due(this.#live), (token) => this.#expectActive(token, true));
    await inTurns(due(this.#revoked), (token) => this.#expectActive(token, false));
    await inTurns(due(this.#approved), (clientId) => this.#expectApproved(clientId));
    for (const list of [this.#live, this.#revoked, this.#approved]) list.checked = list.values.length;
    await this.#readSettings();
    // a value that was sent and not acknowledged may be in force: from here on it is
    this.#acknowledged = this.#sent;
    await this.#writeSettings();
  }

  async #newToken(): Promise<string> {
    const { body } = await this.#requests.token(this.#client, { grant_type: 'client_credentials' });
    return body['access_token'] as string;
  }

  async #introspect(): Promise<void> {
    const live = this.counts.introspections++ % 2 === 0 || this.#revoked.values.length === 0;
    const list = (live ? this.#live : this.#revoked).values;
    // the newest as often as all others together: it shows an old state of the database
    const index = Math.random() < 0.5 ? list.length - 1 : Math.floor(Math.random() * list.length);
    await this.#expectActive(list[index]!, live);
  }

  async #expectActive(token: string, active: boolean): Promise<void> {
    const headers = { authorization: this.#client.basic };
    const { body } = await this.#requests.call('POST', '/introspect', headers, { token }, [200]);
    if (body['active'] !== active)
      this.#requests.violations.push(`a token that is ${active ? 'live' : 'revoked'} is answered active: ${!active}`);
  }

  async #expectApproved(clientId: string): Promise<void> {
    const { body } = await this.#requests.adminCall('GET', `/clients/${clientId}`, undefined, 200);
    if (body['status'] !== 'enabled') this.#requests.violations.push(`an approved client is ${String(body['status'])}`);
  }

  async #revoke(): Promise<void> {
    const [kept, given] = [await this.#newToken(), await this.#newToken()];
    this.#live.values.push(kept);
    await this.#requests.call('POST', '/revoke', { authorization: this.#client.basic }, { token: given }, [200]);
    this.#revoked.values.push(given);
    this.counts.revocations++;
  }

  async #approve(): Promise<void> {
    const metadata = JSON.stringify({ client_name: 'Waiting', redirect_uris: [redirectUri], scope: 'openid' });
    const type = { 'content-type': 'application/json' };
    const { body } = await this.#requests.call('POST', '/register', type, metadata, [201]);
    const clientId = body['client_id'] as string;
    const waiting = await this.#requests.adminCall('GET', `/clients/${clientId}`, undefined, 200);
    await this.#requests.adminCall('POST', `/clients/${clientId}/approve`, { version: waiting.body['version'] }, 200);
    this.#approved.values.push(clientId);
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
