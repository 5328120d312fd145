// Issues the tokens of a response in two steps: makes them, and writes the response once the caller has stored their hashes.
import { acrOf } from '../oauth/acr.ts';
import type { Detail } from '../oauth/authorization-details.ts';
import { type Binding, tokenTypeOf } from '../oauth/binding.ts';
import { confirmationOf } from '../repositories/confirmation.ts';
import { idTokenClaims, namedClaims, needsRoles, type Subject } from '../rules/claims/claims.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { IdTokenSigningAlgorithm } from '../oauth/client-metadata.ts';
import { claimsOfScopes, splitScope } from '../oauth/scope.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Authorization, JwtFormat } from '../repositories/tokens/authorization-codes.ts';
import { encryptFor, findRecipient, type Recipient } from './client-encryption.ts';
import type { ClientKeys } from './client-keys.ts';
import { mintIdToken, type ResponseKey } from './id-token.ts';
import { mintAccessToken } from './jwt-access-token.ts';
import type { KeyRing } from './key-ring.ts';
import { newOpaqueToken, type OpaqueToken } from './opaque-token.ts';

/** In seconds. */
export interface Lifetimes {
  authorizationCode: number;
  accessToken: number;
  refreshToken: number;
  refreshTokenAbsolute: number;
  idToken: number;
}

/** The credentials that a response may contain. */
export type TokenKind = 'code' | 'access_token' | 'id_token' | 'refresh_token' | 'client_session_handle';

/** The tokens of one response, which are valid once their hashes are stored. */
export interface PreparedTokens {
  code: OpaqueToken | undefined;
  accessToken: OpaqueToken | undefined;
  /** Present if the client is registered for refresh tokens. */
  refreshToken: OpaqueToken | undefined;
  /** Present if the client registered the UMA profile. */
  handle: OpaqueToken | undefined;
  /** Present if the response has an ID Token. The recipient is the key that it is encrypted to; undefined where it is not encrypted. */
  idToken: { recipient: Recipient | undefined } | undefined;
  lifetimes: Lifetimes;
  bindings: Bindings;
}

/** The keys that the tokens of a response are bound to. */
export interface Bindings {
  /** Of the access token. */
  binding: Binding;
  refreshTokenBinding: Binding;
  handleBinding: Binding;
}

/** The tokens of a response that has an access token. */
export type PreparedAccess = PreparedTokens & { accessToken: OpaqueToken };

/** Limits the lifetime of an access token to that of the tokens of its resource. */
export const withLifetimeOf = <Tokens extends PreparedTokens>(
  api: { accessTokenLifetime: number | undefined } | undefined,
  prepared: Tokens,
): Tokens =>
  api?.accessTokenLifetime === undefined
    ? prepared
    : {
        ...prepared,
        lifetimes: {
          ...prepared.lifetimes,
          accessToken: Math.min(prepared.lifetimes.accessToken, api.accessTokenLifetime),
        },
      };

/** What is known of the tokens once they are stored. */
export interface IssuedTokens {
  /** Of the access token. */
  scope: string | undefined;
  /** The facts that an ID Token contains; absent for a token of the client itself. */
  authorization?: Pick<
    Authorization,
    'clientSessionId' | 'sid' | 'subject' | 'scope' | 'authTime' | 'amr' | 'requested' | 'user'
  > & {
    /** The database's time. */
    issuedAt: Date;
    /** Of the authentication request. */
    nonce: string | undefined;
  };
  /** The authorization details of the access token; absent without any. */
  details?: readonly Detail[] | undefined;
  /** Of an access token that is a JWT for a resource; `sub` is the user as the resource knows the user, or the client. */
  jwt?: (Pick<JwtFormat, 'alg' | 'audience' | 'claims' | 'act'> & { sub: string }) | undefined;
  /** The refresh token that the client uses next. */
  refreshToken?: string | undefined;
  /** Whether the token endpoint returns the response to the client itself: else it passes a browser. */
  direct: boolean;
}

/** The members of a successful response (RFC 6749 4.1.2, 4.2.2, 5.1; OpenID Connect Core 3.1.3.3, 3.2.2.5, 3.3.2.5). */
export interface TokenResponse {
  code?: string;
  access_token?: string;
  token_type?: 'Bearer' | 'DPoP';
  /** In seconds. */
  expires_in?: number;
  scope?: string;
  /** What the user allowed, each object with its identifier (RFC 9396 7). */
  authorization_details?: readonly Detail[];
  refresh_token?: string;
  /** For clients of the UMA profile: a handle of the client session that was never part of a URL (decisions section 5). */
  client_session_handle?: string;
  id_token?: string;
}

export interface TokenIssuerOptions {
  issuer: string;
  keyRing: KeyRing;
  secretBox: Pick<SecretBox, 'ids'>;
  clientKeys: ClientKeys;
  /** Undefined when only the hash of the secret is stored. */
  clientSecret: (client: Client) => Buffer | undefined;
  /** Those of clients without their own. */
  lifetimes: Lifetimes;
  /** The roles of a user at a client. */
  rolesOf: (user: Subject, clientId: string) => Promise<string[]>;
  /** Called when the groups were too many for an ID Token. */
  groupsOmitted: (user: Subject, clientId: string) => void;
  /** Whether the refresh tokens of confidential clients rotate too. */
  rotateConfidential: boolean;
}

export function createTokenIssuer(options: TokenIssuerOptions) {
  const { issuer, keyRing, secretBox, clientKeys } = options;

  /** Decides the lifetimes for a client: its own, or else those of the settings. */
  function lifetimes(client: Client): Lifetimes {
    const { lifetimes: usual } = options;
    return {
      authorizationCode: Math.min(
        client.authorizationCodeLifetime ?? usual.authorizationCode,
        client.rules.codeSeconds,
      ),
      accessToken: client.accessTokenLifetime ?? usual.accessToken,
      refreshToken: client.refreshTokenLifetime ?? usual.refreshToken,
      refreshTokenAbsolute: usual.refreshTokenAbsolute,
      idToken: client.idTokenLifetime ?? usual.idToken,
    };
  }

  /** Whether the client's refresh tokens rotate. Those of public clients always do (RFC 9700 4.14.2), unless a profile forbids it. */
  const rotates = ({ rules }: Client): boolean => rules.mayRotate && (rules.isPublic || options.rotateConfidential);

  /** The key that signs what a client gets. */
  function responseKey(client: Client, alg: IdTokenSigningAlgorithm): ResponseKey {
    if (alg !== 'HS256') return { alg };
    const secret = options.clientSecret(client);
    if (!secret) throw new Error('a client with HS256 signatures has no stored secret');
    return { alg, secret };
  }

  /**
   * Makes the tokens of a response. The caller calls it before it redeems or stores anything, since the client's encryption key may be
   * unreachable; only a search for that key needs a promise.
   * @param binding the key that the tokens are bound to
   * @param kinds what the request allows: a refresh token and a handle are made for the clients that are registered for them
   * @throws OAuthError temporarily_unavailable or invalid_request
   */
  function prepare(
    client: Client,
    binding: Binding,
    kinds: readonly ['access_token', ...TokenKind[]],
  ): PreparedAccess | Promise<PreparedAccess>;
  function prepare(
    client: Client,
    binding: Binding,
    kinds: readonly TokenKind[],
  ): PreparedTokens | Promise<PreparedTokens>;
  function prepare(
    client: Client,
    binding: Binding,
    kinds: readonly TokenKind[],
  ): PreparedTokens | Promise<PreparedTokens> {
    const hasIdToken = kinds.includes('id_token');
    if (!hasIdToken || client.metadata.id_token_encrypted_response_alg === undefined)
      return made(client, binding, kinds, hasIdToken ? { recipient: undefined } : undefined);
    return findRecipient(clientKeys, client.metadata, 'id_token').then((recipient) =>
      made(client, binding, kinds, { recipient }),
    );
  }

  function made(
    client: Client,
    binding: Binding,
    kinds: readonly TokenKind[],
    idToken: PreparedTokens['idToken'],
  ): PreparedTokens {
    const { metadata } = client;
    return {
      code: kinds.includes('code') ? newOpaqueToken('authorization_code') : undefined,
      accessToken: kinds.includes('access_token') ? newOpaqueToken('access_token') : undefined,
      refreshToken:
        kinds.includes('refresh_token') && metadata.grant_types.includes('refresh_token')
          ? newOpaqueToken('refresh_token')
          : undefined,
      handle:
        kinds.includes('client_session_handle') && metadata.uma_profile
          ? newOpaqueToken('client_session_handle')
          : undefined,
      idToken,
      lifetimes: lifetimes(client),
      bindings: {
        binding,
        // a confidential client authenticates at each refresh, and may change its key (RFC 9449 5, RFC 8705 7.1)
        refreshTokenBinding: client.rules.isPublic ? binding : 'none',
        handleBinding:
          metadata.dpop_bound_access_tokens === true || metadata.tls_client_certificate_bound_access_tokens === true
            ? binding
            : 'none',
      },
    };
  }

  /** Writes the response. An ID Token is part of it if the scope has `openid`. Only a signature needs a promise. */
  function respond(
    client: Client,
    prepared: PreparedTokens,
    issued: IssuedTokens,
  ): TokenResponse | Promise<TokenResponse> {
    const { authorization, jwt } = issued;
    const hasIdToken = prepared.idToken && authorization && splitScope(authorization.scope).includes('openid');
    return jwt || hasIdToken
      ? signedResponse(client, prepared, issued, hasIdToken ? authorization : undefined)
      : responseOf(prepared, issued, prepared.accessToken);
  }

  /** @param identified the facts of the ID Token; undefined if the response has none */
  async function signedResponse(
    client: Client,
    prepared: PreparedTokens,
    issued: IssuedTokens,
    identified: IssuedTokens['authorization'],
  ): Promise<TokenResponse> {
    // most resources take an opaque one
    const accessToken =
      issued.jwt && prepared.accessToken
        ? await signedAccessToken(client, prepared, prepared.accessToken.hash, { ...issued, jwt: issued.jwt })
        : prepared.accessToken;
    const response = responseOf(prepared, issued, accessToken);
    const { idToken } = prepared;
    if (!idToken || !identified) return response;
    const signed = await signedIdToken(client, { ...prepared, accessToken }, identified, issued.direct);
    response.id_token = idToken.recipient ? await encryptFor(idToken.recipient, signed, 'jwt') : signed;
    return response;
  }

  /** The members of the response that need no signature, and the access token. */
  function responseOf(
    { code, handle, bindings: { binding }, lifetimes: { accessToken: lifetime } }: PreparedTokens,
    { scope, details, refreshToken }: IssuedTokens,
    accessToken: OpaqueToken | undefined,
  ): TokenResponse {
    const response: TokenResponse = {};
    if (code) response.code = code.token;
    if (accessToken) {
      response.access_token = accessToken.token;
      response.token_type = binding === 'none' ? 'Bearer' : tokenTypeOf(binding);
      response.expires_in = lifetime;
      if (scope !== undefined) response.scope = scope;
      if (details) response.authorization_details = details;
    }
    if (refreshToken !== undefined) response.refresh_token = refreshToken;
    if (handle) response.client_session_handle = handle.token;
    return response;
  }

  /** The access token as the JWT that its resource takes. */
  async function signedAccessToken(
    { clientId }: Client,
    { lifetimes: { accessToken: lifetime }, bindings: { binding } }: PreparedTokens,
    hash: Buffer,
    { jwt, scope, details, authorization }: IssuedTokens & { jwt: NonNullable<IssuedTokens['jwt']> },
  ): Promise<OpaqueToken> {
    const { alg, audience, sub, act } = jwt;
    // a client reads its token: it learns nothing that its scope does not release (security R12)
    const released = claimsOfScopes(splitScope(scope ?? ''));
    const claims = authorization
      ? namedClaims(
          authorization.user,
          jwt.claims.filter((claim) => released.includes(claim)),
        )
      : {};
    const authentication = authorization && {
      authTime: authorization.authTime,
      acr: authorization.requested?.acr ?? acrOf(authorization.amr),
      amr: authorization.amr,
    };
    const content = {
      issuer,
      audience,
      sub,
      clientId,
      scope,
      act,
      details,
      cnf: confirmationOf(binding),
      hash,
      lifetime,
      claims,
      issuedAt: authorization?.issuedAt ?? keyRing.now(),
    };
    return {
      hash,
      token: await mintAccessToken(keyRing, alg, { ...content, ...(authentication && { authentication }) }),
    };
  }

  /**
   * Mints an ID Token for an authorization. If the client also gets an access token, or a code for one, the claims of the scopes are left to
   * UserInfo, except those of the scope `scope` (decisions section 5) and those requested by name (Core 5.5). A client that registered
   * `id_token_claims` gets them from the token endpoint, and never through a browser.
   */
  async function signedIdToken(
    client: Client,
    { code, accessToken, lifetimes: { idToken: lifetime } }: PreparedTokens,
    authorization: NonNullable<IssuedTokens['authorization']>,
    direct: boolean,
  ): Promise<string> {
    const { metadata, clientId } = client;
    const { user, amr } = authorization;
    const scopes = splitScope(authorization.scope);
    const all = (!accessToken && !code) || (direct && metadata.id_token_claims);
    const roles = needsRoles(client, scopes) ? await options.rolesOf(user, clientId) : undefined;
    const granted = {
      user: roles ? { ...user, roles } : user,
      scopes,
      requested: authorization.requested?.id_token,
      registered: metadata.scope,
    };
    const { claims, groupsOmitted } = idTokenClaims(client, granted, all === true);
    if (groupsOmitted) options.groupsOmitted(user, clientId);
    const key = responseKey(client, metadata.id_token_signed_response_alg);
    return mintIdToken(keyRing, key, {
      issuer,
      clientId,
      id: secretBox.ids.hide(authorization.clientSessionId),
      sub: authorization.subject,
      sid: authorization.sid,
      authTime: authorization.authTime,
      amr,
      acr: authorization.requested?.acr ?? acrOf(amr),
      nonce: authorization.nonce,
      accessToken: accessToken?.token,
      code: code?.token,
      issuedAt: Math.floor(authorization.issuedAt.getTime() / 1000),
      lifetime,
      claims,
    });
  }

  return { lifetimes, rotates, responseKey, prepare, respond };
}
