// Sends requests to the provider of a connection, at which this service is a client.
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Claims } from '../../rules/connections/connection-answer.ts';
import { type ExchangeAnswer, FetchRefused, type GuardedExchange } from '../../outbound/guarded-fetch.ts';
import type { Connection } from '../../entities/connections.ts';
import { signClientAssertion } from '../../tokens/upstream-client.ts';
import { ConnectionFailure } from './kind.ts';

/** How this service authenticates at the provider. */
export interface ClientAuthentication {
  clientId: string;
  method: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  /** The `aud` of an assertion. */
  audience?: string;
  /** Makes the secret for one request from the stored secret. */
  secretFrom?: ((stored: string, now: Date) => Promise<string>) | undefined;
}

export interface ProviderClientOptions {
  secretBox: SecretBox;
  exchange: GuardedExchange;
  now: () => Date;
}

export type ProviderClient = ReturnType<typeof createProviderClient>;

/** Errors of a token endpoint that only an administrator can correct. The last two are GitHub's. */
const ours = [
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'invalid_request',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
];

export function createProviderClient({ secretBox, exchange, now }: ProviderClientOptions) {
  async function ask(...[url, sent]: Parameters<GuardedExchange>): Promise<ExchangeAnswer> {
    try {
      return await exchange(url, sent);
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      throw new ConnectionFailure('unreachable', error.message, error);
    }
  }

  function secretOf({ id, secretEncrypted }: Connection): string {
    if (!secretEncrypted) throw new ConnectionFailure('settings', 'the connection has no secret');
    return secretBox.open(secretEncrypted, associatedDataOf('connections.secret_encrypted', id)).toString();
  }

  function keyOf({ id, keyEncrypted }: Connection): string {
    if (!keyEncrypted) throw new ConnectionFailure('settings', 'the connection has no key');
    return secretBox.open(keyEncrypted, associatedDataOf('connections.key_encrypted', id)).toString();
  }

  /** Authenticates a form: returns members of the form, or headers. */
  async function proof(
    connection: Connection,
    { clientId: id, method, audience, secretFrom }: ClientAuthentication,
    url: string,
  ): Promise<{ form?: Record<string, string>; headers?: Record<string, string> }> {
    if (method === 'private_key_jwt') {
      const assertion = { clientId: id, audience: audience ?? url, now: now() };
      return {
        form: {
          client_id: id,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: await signClientAssertion(keyOf(connection), assertion),
        },
      };
    }
    const stored = secretOf(connection);
    const secret = secretFrom ? await secretFrom(stored, now()) : stored;
    if (method === 'client_secret_post') return { form: { client_id: id, client_secret: secret } };
    const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
    return { headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
  }

  return {
    /** Sends a form with the authentication of this client. @throws ConnectionFailure */
    async send(
      connection: Connection,
      authentication: ClientAuthentication,
      url: string,
      form: Record<string, string>,
    ): Promise<Claims> {
      const { form: more, headers } = await proof(connection, authentication, url);
      const answer = await ask(url, { form: { ...form, ...more }, ...(headers && { headers }) });
      if (answer.status >= 500 || answer.status === 429)
        throw new ConnectionFailure('unreachable', `${url} answered ${answer.status}`);
      const body = objectOf(answer.body);
      // GitHub refuses a code with status 200
      if ((answer.status === 200 || answer.status === 201) && body['error'] === undefined) return body;
      const code = codeOf(body['error']);
      throw new ConnectionFailure(
        ours.includes(code) ? 'settings' : 'answer',
        `${url} answered ${answer.status} ${code}`,
      );
    },
    /** Sends a request with an access token. @throws ConnectionFailure if there is no answer, or the token has no valid form */
    async read(
      url: string,
      token: unknown,
      { headers, maxBytes }: { headers?: Record<string, string>; maxBytes?: number } = {},
    ): Promise<ExchangeAnswer> {
      if (!isToken(token)) throw new ConnectionFailure('answer', 'there is no access token');
      return ask(url, {
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(maxBytes !== undefined && { maxBytes }),
      });
    },
  };
}

export const isToken = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,16384}$/.test(value);

/** The error code of an answer, if it has the form of one. The service logs nothing else of the answer (security R99). */
const codeOf = (error: unknown): string =>
  typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'no error code';

/** The failure for an error that the browser brings. The service neither shows nor logs the provider's text (federation FR13). */
export function failureOf(error: string | undefined): ConnectionFailure {
  const known = codeOf(error);
  // the last one is Apple's
  const ended = [
    'access_denied',
    'login_required',
    'interaction_required',
    'consent_required',
    'user_cancelled_authorize',
  ];
  if (ended.includes(known)) return new ConnectionFailure('cancelled', `the answer is ${known}`);
  if (['server_error', 'temporarily_unavailable'].includes(known))
    return new ConnectionFailure('unreachable', `the answer is ${known}`);
  return new ConnectionFailure('settings', `the answer is ${known}`);
}

/** Parses the JSON of an answer. @throws ConnectionFailure `answer` for anything else */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // the parser's message quotes the answer, which may hold tokens (security R99)
    throw new ConnectionFailure('answer', 'the answer is not JSON');
  }
}

/** Parses an answer that must be a JSON object. @throws ConnectionFailure */
export function objectOf(body: string): Claims {
  const value = jsonOf(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConnectionFailure('answer', 'the answer is no JSON object');
  return value as Claims;
}

/** RFC 6749 2.3.1 */
const formEncoded = (value: string): string => new URLSearchParams({ v: value }).toString().slice(2);
