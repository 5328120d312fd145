// Acts as one module's relying party, as the suite does: a fresh browser, separate clients, and the checks that run in every module.
import { randomBytes, randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import { expect } from 'vitest';
import { type Bed, issuer } from './bed/bed.ts';
import { Browser, type Page, type Navigation } from './bed/browser.ts';
import { forms } from './bed/html.ts';
import { form, type HttpAnswer, mediaType } from './bed/network.ts';
import { checkDiscoveryAtStart, type Discovery } from './checks/discovery.ts';
import { checkJsonError } from './checks/errors.ts';
import { checkKeySet } from './checks/json-web-keys.ts';
import { checkRegistration } from './checks/registration.ts';
import { type Client, proofOf } from './client.ts';
import type { Variant } from './plans.ts';

/** The result of an authorization request: the pages on the way, and where the browser is now. */
export interface Outcome {
  sent: Record<string, string>;
  /** The pages that were shown, in order. */
  pages: Page[];
  signIns: number;
  navigation: Navigation;
}

export class RelyingParty {
  readonly bed: Bed;
  readonly variant: Variant;
  readonly browser: Browser;
  /** The suite's address of this module: everything that the client registers lies below it. */
  readonly address: string;
  readonly #clients: Client[] = [];
  discovery!: Discovery;
  keys!: JWK[];

  constructor(bed: Bed, variant: Variant) {
    this.bed = bed;
    this.variant = variant;
    this.address = `${bed.suite.origin}/test/${randomUUID()}`;
    this.browser = new Browser(bed.network, { service: issuer, suite: bed.suite.origin });
  }

  /** Reads the documents that every module reads first. */
  async start(): Promise<this> {
    const answer = await this.bed.network.send(`${issuer}/.well-known/openid-configuration`);
    expect(answer.status, 'status of the discovery document').toBe(200);
    this.discovery = JSON.parse(answer.body) as Discovery;
    checkDiscoveryAtStart(this.discovery);
    this.keys = await this.fetchKeys();
    return this;
  }

  async fetchKeys(): Promise<JWK[]> {
    const answer = await this.bed.network.send(this.discovery.jwks_uri);
    expect(answer.status, 'status of the key set').toBe(200);
    return checkKeySet(answer.body);
  }

  /** A client of this module, registered as its variant requires. `extra` overrides what the suite would send. */
  async register(extra: Record<string, unknown> = {}): Promise<Client> {
    const metadata = this.#metadata(extra);
    const key = this.bed.keys[0];
    const { authentication } = this.variant;
    const common = {
      authentication,
      metadata,
      key,
      kid: undefined,
      redirectUri: (metadata['redirect_uris'] as string[])[0]!,
    };
    if (this.variant.registration === 'static_client') {
      const scope = 'openid profile email address phone offline_access';
      const { clientId, clientSecret } = await this.bed.service.createClient({ scope, ...metadata });
      const made: Client = { ...common, clientId, clientSecret, configuration: undefined };
      this.#clients.push(made);
      return made;
    }
    const answer = await this.sendRegistration(metadata);
    const body = checkRegistration(answer);
    const made: Client = {
      ...common,
      clientId: body['client_id'] as string,
      clientSecret: (body['client_secret'] ?? '') as string,
      metadata: { ...metadata, ...body },
      configuration: {
        uri: body['registration_client_uri'] as string,
        token: body['registration_access_token'] as string,
      },
    };
    this.#clients.push(made);
    return made;
  }

  /** A registration that must be refused with 400 and one of the codes. */
  async expectRegistrationRefused(extra: Record<string, unknown>, codes: string[]): Promise<void> {
    checkJsonError(await this.sendRegistration(this.#metadata(extra)), [400], codes);
  }

  sendRegistration(metadata: Record<string, unknown>): Promise<HttpAnswer> {
    return this.bed.network.send(this.discovery.registration_endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(metadata),
    });
  }

  #metadata(extra: Record<string, unknown>): Record<string, unknown> {
    const parts = this.variant.responseType.split(' ');
    return {
      client_name: `Test client of ${this.address.slice(-8)}`,
      grant_types: [
        ...(parts.includes('code') ? ['authorization_code'] : []),
        ...(parts.includes('token') || parts.includes('id_token') ? ['implicit'] : []),
        ...(extra['refresh'] === true ? ['refresh_token'] : []),
      ],
      jwks: { keys: [withoutKid(this.bed.keys[0].publicJwk)] },
      token_endpoint_auth_method: this.variant.authentication,
      response_types: [this.variant.responseType],
      redirect_uris: [`${this.address}/callback`],
      contacts: ['certification@suite.example.test'],
      ...Object.fromEntries(Object.entries(extra).filter(([name]) => name !== 'refresh')),
      ...('jwks_uri' in extra && { jwks: undefined }),
    };
  }

  /** The parameters of an authorization request; a value of undefined leaves one out. */
  request(client: Client, changes: Record<string, string | undefined> = {}): Record<string, string> {
    const { responseMode, responseType } = this.variant;
    const all: Record<string, string | undefined> = {
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      scope: 'openid',
      state: randomBytes(8).toString('hex'),
      nonce: randomBytes(8).toString('hex'),
      response_type: responseType,
      ...(responseMode === 'form_post' && { response_mode: 'form_post' }),
      ...changes,
    };
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** Sends the browser to the authorization endpoint, and answers the sign-in and consent pages that the service shows. */
  async authorize(client: Client, changes: Record<string, string | undefined> = {}): Promise<Outcome> {
    const sent = this.request(client, changes);
    return this.interact(sent, await this.browser.open(this.authorizationUrl(sent)));
  }

  authorizationUrl(sent: Record<string, string>): string {
    return `${this.discovery.authorization_endpoint}?${new URLSearchParams(sent).toString()}`;
  }

  async interact(sent: Record<string, string>, first: Navigation): Promise<Outcome> {
    let navigation = first;
    const pages: Page[] = [];
    let signIns = 0;
    while (navigation.page && pages.length < 6) {
      const { page } = navigation;
      pages.push(page);
      const buttons = forms(page.body).flatMap((shown) => Object.keys(shown.buttons));
      if (buttons.includes('sign-in')) {
        signIns++;
        const { username, password } = this.bed.user;
        navigation = await this.browser.press(page, 'sign-in', { username, password });
      } else if (buttons.includes('allow')) navigation = await this.browser.press(page, 'allow');
      else break;
    }
    return { sent, pages, signIns, navigation };
  }

  /** A request to the token endpoint in the client's authentication method. */
  async tokenRequest(
    client: Client,
    fields: Record<string, string>,
    assertion: { audience?: string } = {},
  ): Promise<HttpAnswer> {
    const address = this.discovery.token_endpoint;
    const proof = await proofOf(client, assertion.audience ?? address);
    const { headers, body } = form({ ...fields, ...proof.fields });
    return this.bed.network.send(address, { method: 'POST', body, headers: { ...headers, ...proof.headers } });
  }

  redeem(client: Client, code: string, more: Record<string, string> = {}, assertion = {}): Promise<HttpAnswer> {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, ...more };
    return this.tokenRequest(client, fields, assertion);
  }

  userinfo(accessToken: string): Promise<HttpAnswer> {
    return this.bed.network.send(this.discovery.userinfo_endpoint, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json' },
    });
  }

  /**
   * Makes the data of this module's clients older, instead of waiting as the suite does: every stored time of their sessions moves into the
   * past. Times noted before have to be moved by the same number of seconds.
   */
  async timePasses(seconds: number): Promise<void> {
    const clients = this.#clients.map(({ clientId }) => clientId);
    const { sql } = this.bed.service.database;
    const ofClients = 'IN (SELECT id FROM client_sessions WHERE client_id = ANY($1))';
    const rows: Record<string, [string[], string]> = {
      sessions: [
        ['auth_time', 'created_at', 'used_at', 'idle_expires_at', 'expires_at'],
        'id IN (SELECT session_id FROM client_sessions WHERE client_id = ANY($1))',
      ],
      authorization_codes: [['issued_at', 'expires_at', 'redeemed_at'], `client_session_id ${ofClients}`],
      access_tokens: [['issued_at', 'expires_at'], `client_session_id ${ofClients}`],
      refresh_tokens: [['issued_at', 'expires_at', 'spent_at'], `client_session_id ${ofClients}`],
      client_sessions: [['auth_time', 'created_at', 'expires_at'], 'client_id = ANY($1)'],
    };
    for (const [table, [columns, which]] of Object.entries(rows)) {
      const moved = columns.map((column) => `${column} = ${column} - make_interval(secs => $2)`).join(', ');
      await sql(`UPDATE ${table} SET ${moved} WHERE ${which}`, [clients, seconds]);
    }
  }

  /** What the suite does at the end of every module: it deletes its registrations, and expects 204. */
  async finish(): Promise<void> {
    for (const { configuration } of this.#clients) {
      if (!configuration) continue;
      const { status } = await this.bed.network.send(configuration.uri, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${configuration.token}` },
      });
      expect(status, 'status of deleting the registration').toBe(204);
    }
  }
}

/** A JSON answer of the token endpoint or of UserInfo. */
export function json(answer: HttpAnswer): Record<string, unknown> {
  expect(mediaType(answer), answer.body).toBe('application/json');
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  expect(body).toBeTypeOf('object');
  return body;
}

export function withoutKid(key: JWK): JWK {
  return Object.fromEntries(Object.entries(key).filter(([name]) => name !== 'kid'));
}
