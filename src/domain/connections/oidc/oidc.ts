// Signs users in by OpenID Connect: runs the code flow with PKCE, nonce and state, and always verifies the signature of the ID Token (federation 5).
import {
  authenticatedAt,
  type Claims,
  isSessionName,
  joinedClaims,
  methodsOf,
} from '../../../rules/connections/connection-answer.ts';
import { codeChallenge } from '../../../oauth/pkce.ts';
import { FetchRefused, type GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { Store } from '../../../repositories/store.ts';
import { createClientKeys, ofProviders, type ProviderKeys } from '../../../tokens/client-keys.ts';
import type { ReadJwks } from '../../../tokens/client-signature.ts';
import { IdTokenRefused, verifyUpstreamIdToken } from '../../../tokens/upstream-id-token.ts';
import { ConnectionFailure, type ConnectionKind } from '../kind.ts';
import { createProviderClient, failureOf, isToken, objectOf, type ProviderClientOptions } from '../provider-client.ts';
import { keptTokens, tokensOf } from '../given-tokens.ts';
import { createDiscovery } from './discovery.ts';
import { oidcLogout } from './logout.ts';
import { oidcPresets } from './presets.ts';
import type { OidcProfile } from './profile.ts';
import type { OidcDiscovery } from './settings.ts';

export interface OidcOptions extends ProviderClientOptions {
  store: Pick<Store, 'connections'>;
  fetchDocument: GuardedFetch;
  /** OUTBOUND_ALLOW */
  allowed: readonly string[];
}

export function createOidcKind(options: OidcOptions): ConnectionKind {
  const { now } = options;
  const client = createProviderClient(options);
  const discovery = createDiscovery(options);
  const variantOf = oidcPresets(options.allowed);
  // for tokens with an unknown key, the service reads the keys of a connection at most once in ten seconds (federation F11, reports C6)
  const readers = new Map<string, ReturnType<typeof createClientKeys>>();
  const keysOf = (id: string) => {
    const reader = readers.get(id) ?? createClientKeys(options.fetchDocument, ofProviders);
    readers.set(id, reader);
    return reader;
  };

  function profileOf({ preset, settings }: Pick<Connection, 'preset' | 'settings'>): OidcProfile {
    const variant = variantOf(preset);
    if (!variant) throw new ConnectionFailure('settings', 'there is no such preset');
    return variant.profile(settings);
  }

  /** Reads UserInfo, which must be about the same subject (OpenID Connect Core 5.3.2). @throws ConnectionFailure */
  async function userInfoOf({ userinfo_endpoint: url }: OidcDiscovery, token: unknown, sub: string): Promise<Claims> {
    if (url === undefined || !isToken(token)) return {};
    const { status, type, body } = await client.read(url, token);
    if (status !== 200 || type !== 'application/json')
      throw new ConnectionFailure(
        'answer',
        `UserInfo answered ${status} with ${type === 'application/json' ? 'JSON' : 'another type than JSON'}`,
      );
    const claims = objectOf(body);
    if (claims['sub'] !== sub) throw new ConnectionFailure('answer', 'UserInfo is about another subject');
    return claims;
  }

  /** Key sets that were read before a token needed them. Only these can be out of date. */
  const seen = new WeakSet<object>();

  /** Reads the published keys that sign for the issuers of the connection. */
  function keyReader({ id }: Connection, { usesKey }: OidcProfile, uri: string): ReadJwks {
    // an unchanged set stays the same object, and is filtered only once (security R114)
    const usable = new WeakMap<object, Awaited<ReturnType<ReadJwks>>>();
    let [read, wasSeen]: [ProviderKeys | undefined, boolean] = [undefined, false];
    return async (fresh) => {
      const set = fresh && read && !wasSeen ? read : await keysOf(id)({ jwks_uri: uri }, fresh);
      wasSeen = seen.has(set);
      read = set;
      seen.add(set);
      const known = usable.get(set) ?? { keys: set.keys.filter((key) => usesKey({ ...key })) };
      usable.set(set, known);
      return known;
    };
  }

  function failed(refused: unknown): never {
    if (refused instanceof FetchRefused) throw new ConnectionFailure('unreachable', refused.message, refused);
    if (!(refused instanceof IdTokenRefused)) throw refused;
    throw new ConnectionFailure('answer', `token: ${refused.message}`, refused);
  }

  return {
    kind: 'oidc',
    variant: variantOf,
    discover: async (connection) => ({ ...(await discovery.read(profileOf(connection))) }),
    async begin(connection, { redirectUri, state, nonce, verifier }, wishes) {
      const profile = profileOf(connection);
      const found = await discovery.current(connection, profile, now());
      const authentication = profile.authentication(found);
      const request: Record<string, string> = {
        response_type: 'code',
        client_id: authentication.clientId,
        redirect_uri: redirectUri,
        ...(profile.isPosted && { response_mode: 'form_post' }),
        scope: profile.scope,
        state,
        nonce,
        code_challenge: codeChallenge(verifier),
        code_challenge_method: 'S256',
        ...profile.parameters(wishes, connection),
      };
      const target = new URL(found.authorization_endpoint);
      const pushed = found.pushed_authorization_request_endpoint;
      if (pushed === undefined) {
        for (const [name, value] of Object.entries(request)) target.searchParams.set(name, value);
        return target.href;
      }
      const { request_uri } = await client.send(connection, authentication, pushed, request);
      if (typeof request_uri !== 'string' || request_uri.length > 2000)
        throw new ConnectionFailure('answer', 'the answer to the pushed request has no request_uri');
      target.searchParams.set('client_id', authentication.clientId);
      target.searchParams.set('request_uri', request_uri);
      return target.href;
    },
    async finish(connection, { redirectUri, nonce, verifier }, answer) {
      const { iss, error, code } = answer;
      const profile = profileOf(connection);
      const found = await discovery.current(connection, profile, now());
      // the service checks iss before it sends the code (RFC 9207 2.4, federation FR3)
      if (iss === undefined ? found.authorization_response_iss_parameter_supported === true : !profile.isIssuer(iss))
        throw new ConnectionFailure('answer', 'iss is missing, or is that of another issuer');
      if (error !== undefined || code === undefined) throw failureOf(error);
      const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      const authentication = profile.authentication(found);
      const tokens = await client.send(connection, authentication, found.token_endpoint, grant);
      const { id_token: token, access_token: accessToken } = tokens;
      if (typeof token !== 'string') throw new ConnectionFailure('answer', 'there is no ID Token');
      const { isIssuer, algorithms } = profile;
      const idToken = await verifyUpstreamIdToken(token, keyReader(connection, profile, found.jwks_uri), {
        isIssuer,
        clientId: authentication.clientId,
        nonce,
        now: now(),
        algorithms,
      }).catch(failed);
      const userInfo = profile.userinfo ? await userInfoOf(found, accessToken, idToken.sub) : {};
      const claims = joinedClaims(idToken, userInfo);
      const identity = profile.identify({ idToken, claims, connection });
      const sid: unknown = idToken['sid'];
      return {
        ...identity,
        claims: profile.complete ? await profile.complete(claims, accessToken, client) : claims,
        // both come from the signed ID Token, never from UserInfo
        authTime: authenticatedAt(idToken, now()),
        amr: methodsOf(connection, idToken),
        sid: isSessionName(sid) ? sid : undefined,
        unsignedNames: profile.unsignedNames?.(answer),
        tokens: keptTokens(connection, tokens, now()),
      };
    },
    async refresh(connection, refreshToken) {
      const profile = profileOf(connection);
      const found = await discovery.current(connection, profile, now());
      const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
      return tokensOf(await client.send(connection, profile.authentication(found), found.token_endpoint, grant), now());
    },
    ...oidcLogout({ discovery, profileOf, keyReader, failed, now }),
  };
}
