// Signs users in by OpenID Connect: the code flow with PKCE, nonce and state, and an ID Token whose signature is always verified (federation 5).
import { associatedDataOf } from '../../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import { addressOf, authenticatedAt, type Claims, joinedClaims, methodsOf } from '../../../oauth/connection-answer.ts';
import { codeChallenge } from '../../../oauth/pkce.ts';
import { FetchRefused, type GuardedExchange, type GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';
import type { Store } from '../../../repositories/store.ts';
import { createClientKeys } from '../../../tokens/client-keys.ts';
import { IdTokenRefused, upstreamAlgorithms, verifyUpstreamIdToken } from '../../../tokens/upstream-id-token.ts';
import { ConnectionFailure, type ConnectionKind } from '../kind.ts';
import { createDiscovery } from './discovery.ts';
import { type OidcDiscovery, type OidcSettings, oidcSettings } from './settings.ts';

export interface OidcOptions {
  store: Pick<Store, 'connections'>;
  secretBox: SecretBox;
  fetchDocument: GuardedFetch;
  exchange: GuardedExchange;
  /** OUTBOUND_ALLOW */
  allowed: readonly string[];
  now: () => Date;
}

const minute = 60_000;

export function createOidcKind(options: OidcOptions): ConnectionKind {
  const { secretBox, exchange, now } = options;
  const discovery = createDiscovery(options);
  // an unknown key is looked for once a minute, whatever tokens arrive (federation F11)
  const keysOf = createClientKeys(options.fetchDocument, { maxAge: 10 * minute, minAge: minute });
  const settingsOf = ({ settings }: Connection) => settings as unknown as OidcSettings;

  /** Sends a form as this client. @throws ConnectionFailure */
  async function send(connection: Connection, url: string, form: Record<string, string>): Promise<Claims> {
    const { client_id: id, token_endpoint_auth_method: method } = settingsOf(connection);
    const secret = secretOf(connection);
    const [key, password] = [formEncoded(id), formEncoded(secret)];
    const basic = { authorization: `Basic ${Buffer.from(`${key}:${password}`).toString('base64')}` };
    const sent =
      method === 'client_secret_post'
        ? { form: { ...form, client_id: id, client_secret: secret } }
        : { form, headers: basic };
    const answer = await ask(url, sent);
    const body = jsonOf(answer.body);
    if (answer.status === 200 || answer.status === 201) return body;
    if (answer.status >= 500 || answer.status === 429)
      throw new ConnectionFailure('unreachable', `${url} answered ${answer.status}`);
    // the code is from a closed list, and all that is logged (security R99)
    const code =
      typeof body['error'] === 'string' && /^[a-z_]{1,40}$/.test(body['error']) ? body['error'] : 'no error code';
    const isOurs = ['invalid_client', 'unauthorized_client', 'invalid_scope', 'invalid_request'].includes(code);
    throw new ConnectionFailure(isOurs ? 'settings' : 'answer', `${url} answered ${answer.status} ${code}`);
  }

  async function ask(...[url, sent]: Parameters<GuardedExchange>) {
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

  /** Reads UserInfo, which must be about the same subject (OpenID Connect Core 5.3.2). @throws ConnectionFailure */
  async function userInfoOf({ userinfo_endpoint: url }: OidcDiscovery, token: unknown, sub: string): Promise<Claims> {
    if (url === undefined || typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token)) return {};
    const { status, type, body } = await ask(url, { headers: { authorization: `Bearer ${token}` } });
    if (status !== 200 || type !== 'application/json')
      throw new ConnectionFailure(
        'answer',
        `UserInfo answered ${status} with ${type === 'application/json' ? 'JSON' : 'another type than JSON'}`,
      );
    const claims = jsonOf(body);
    if (claims['sub'] !== sub) throw new ConnectionFailure('answer', 'UserInfo is about another subject');
    return claims;
  }

  return {
    kind: 'oidc',
    settings: oidcSettings as unknown as ConnectionKind['settings'],
    trusted: ['issuer', 'client_id', 'id_token_signed_response_alg'],
    needsSecret: () => true,
    wordCounts: () => true,
    discover: async (settings) => ({ ...(await discovery.read(settings as unknown as OidcSettings)) }),
    async begin(connection, { redirectUri, state, nonce, verifier }, { login, maxAge, loginHint, uiLocales }) {
      const found = await discovery.current(connection, now());
      const { client_id, scope } = settingsOf(connection);
      const request: Record<string, string> = {
        ...{ response_type: 'code', client_id, redirect_uri: redirectUri },
        scope: [...new Set(['openid', ...scope.split(/\s+/).filter((value) => value !== '')])].join(' '),
        ...{ state, nonce, code_challenge: codeChallenge(verifier), code_challenge_method: 'S256' },
        ...(login && { prompt: 'login' }),
        ...((maxAge !== undefined || login) && { max_age: String(login ? 0 : maxAge) }),
        ...(loginHint !== undefined && { login_hint: loginHint }),
        ...(uiLocales !== undefined && { ui_locales: uiLocales }),
      };
      const target = new URL(found.authorization_endpoint);
      const pushed = found.pushed_authorization_request_endpoint;
      if (pushed === undefined) {
        for (const [name, value] of Object.entries(request)) target.searchParams.set(name, value);
        return target.href;
      }
      const { request_uri } = await send(connection, pushed, request);
      if (typeof request_uri !== 'string' || request_uri.length > 2000)
        throw new ConnectionFailure('answer', 'the answer to the pushed request has no request_uri');
      target.searchParams.set('client_id', client_id);
      target.searchParams.set('request_uri', request_uri);
      return target.href;
    },
    async finish(connection, { redirectUri, nonce, verifier }, { iss, error, code }) {
      const found = await discovery.current(connection, now());
      const settings = settingsOf(connection);
      // before any request goes out (RFC 9207 2.4, federation FR3)
      if (iss === undefined ? found.authorization_response_iss_parameter_supported === true : iss !== settings.issuer)
        throw new ConnectionFailure('answer', 'iss is missing, or is that of another issuer');
      if (error !== undefined || code === undefined) throw failureOf(error);
      const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      const tokens = await send(connection, found.token_endpoint, grant);
      if (typeof tokens['id_token'] !== 'string') throw new ConnectionFailure('answer', 'there is no ID Token');
      const alg = settings.id_token_signed_response_alg;
      const verified = await verifyUpstreamIdToken(
        tokens['id_token'],
        (fresh) => keysOf({ jwks_uri: found.jwks_uri }, fresh),
        {
          ...{ issuer: settings.issuer, clientId: settings.client_id, nonce, now: now() },
          algorithms: alg === undefined ? upstreamAlgorithms : [alg],
        },
      ).catch((refused: unknown) => {
        if (refused instanceof FetchRefused) throw new ConnectionFailure('unreachable', refused.message, refused);
        if (!(refused instanceof IdTokenRefused)) throw refused;
        throw new ConnectionFailure('answer', `ID Token: ${refused.message}`, refused);
      });
      const userInfo = settings.userinfo ? await userInfoOf(found, tokens['access_token'], verified.sub) : {};
      const claims = joinedClaims(verified, userInfo);
      const { sid } = verified as Claims;
      return {
        issuer: settings.issuer,
        subject: verified.sub,
        claims,
        address: addressOf(claims),
        // both are in the signed token only
        authTime: authenticatedAt(verified, now()),
        amr: methodsOf(connection, verified),
        sid: typeof sid === 'string' && sid.length > 0 && sid.length <= 255 ? sid : undefined,
      };
    },
  };
}

/** What an error of the other side means here; its words are neither shown nor logged (federation FR13). */
function failureOf(error: string | undefined): ConnectionFailure {
  const known = error !== undefined && /^[a-z_]{1,40}$/.test(error) ? error : 'no code';
  if (['access_denied', 'login_required', 'interaction_required', 'consent_required'].includes(known))
    return new ConnectionFailure('cancelled', `the answer is ${known}`);
  if (['server_error', 'temporarily_unavailable'].includes(known))
    return new ConnectionFailure('unreachable', `the answer is ${known}`);
  return new ConnectionFailure('settings', `the answer is ${known}`);
}

/** An object; anything else counts as an answer that is not to be believed. @throws ConnectionFailure */
function jsonOf(body: string): Claims {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw new ConnectionFailure('answer', 'the answer is not JSON', error);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConnectionFailure('answer', 'the answer is no JSON object');
  return value as Claims;
}

/** RFC 6749 2.3.1 */
const formEncoded = (value: string): string => new URLSearchParams({ v: value }).toString().slice(2);
