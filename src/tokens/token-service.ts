// Issues the tokens of every response, and verifies the ID Tokens that clients send back.
import type { SecretBox } from '../crypto/secret-box.ts';
import { acrOf } from '../oauth/acr.ts';
import type { Binding } from '../oauth/binding.ts';
import { type IdTokenSigningAlgorithm, isPublicClient } from '../oauth/client-metadata.ts';
import { namedClaims, releasedClaims } from '../oauth/claims.ts';
import { claimsOfScopes, splitScope } from '../oauth/scope.ts';
import type { Authorization } from '../repositories/tokens/authorization-codes.ts';
import type { Client } from '../repositories/clients/clients.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import { encryptFor, findRecipient, type Recipient } from './client-encryption.ts';
import type { ClientKeys } from './client-keys.ts';
import { isOwnJwt, mintIdToken, mintUserinfo, readIdTokenHint, type ResponseKey, verifyIdToken } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';
import { mintLogoutToken } from './logout-token.ts';
import { newOpaqueToken, type OpaqueToken } from './opaque-token.ts';

export interface TokenServiceOptions {
  issuer: string;
  keyRing: KeyRing;
  secretBox: SecretBox;
  findClient: (clientId: string) => Promise<Client | undefined>;
  clientKeys: ClientKeys;
  lifetimes: {
    authorizationCode: number;
    accessToken: number;
    refreshToken: number;
    refreshTokenAbsolute: number;
    idToken: number;
  };
  /** Whether the refresh tokens of confidential clients rotate too. */
  rotateConfidential: boolean;
}

/** What a token response may contain in addition to an access token. */
export type TokenKind = 'id_token' | 'refresh_token' | 'client_session_handle';

/** The tokens of one response, before they are stored. */
export interface PreparedTokens {
  accessToken: OpaqueToken;
  /** Present if the client is registered for refresh tokens. */
  refreshToken: OpaqueToken | undefined;
  /** Present if the client registered the UMA profile. */
  handle: OpaqueToken | undefined;
  /** The key that the ID Token is encrypted to; undefined where it is not encrypted. */
  recipient: Recipient | undefined;
  lifetimes: ReturnType<TokenService['lifetimes']>;
}

export type TokenService = ReturnType<typeof createTokenService>;

export function createTokenService(options: TokenServiceOptions) {
  const { issuer, keyRing, secretBox } = options;

  function clientSecret(client: Client): Buffer | undefined {
    return (
      client.secretEncrypted &&
      secretBox.open(client.secretEncrypted, associatedDataOf('clients.client_secret_encrypted', client.clientId))
    );
  }

  async function secretOf(clientId: string): Promise<Buffer | undefined> {
    const client = await options.findClient(clientId);
    // the secret signs only for a client that registered HS256 and was enabled once (security R113, R122)
    const isSignedSo = client?.everEnabled === true && client.metadata.id_token_signed_response_alg === 'HS256';
    return isSignedSo ? clientSecret(client) : undefined;
  }

  function lifetimes(client: Client) {
    const own = client.lifetimes;
    return {
      authorizationCode: own.authorizationCode ?? options.lifetimes.authorizationCode,
      accessToken: own.accessToken ?? options.lifetimes.accessToken,
      refreshToken: own.refreshToken ?? options.lifetimes.refreshToken,
      refreshTokenAbsolute: options.lifetimes.refreshTokenAbsolute,
      idToken: own.idToken ?? options.lifetimes.idToken,
    };
  }

  async function idTokenLifetimeOf(clientId: string): Promise<number> {
    const client = await options.findClient(clientId);
    return client ? lifetimes(client).idToken : 0;
  }

  async function responseKey(client: Client, alg: IdTokenSigningAlgorithm): Promise<ResponseKey> {
    if (alg !== 'HS256') return { alg };
    const secret = clientSecret(client);
    if (!secret) throw new Error('a client with HS256 signatures has no stored secret');
    return { alg, secret };
  }

  /**
   * Finds the key that the client's ID Tokens are encrypted to; undefined where they are not encrypted.
   * @throws OAuthError temporarily_unavailable or invalid_request
   */
  async function idTokenRecipient({ metadata }: Client): Promise<Recipient | undefined> {
    if (metadata.id_token_encrypted_response_alg === undefined) return undefined;
    return findRecipient(options.clientKeys, metadata, 'id_token');
  }

  return {
    /** The key of end-session requests: the text of the shared secret in UTF-8. */
    sharedSecret: (client: Client): Buffer =>
      secretBox.open(
        client.sharedSecretEncrypted,
        associatedDataOf('clients.shared_secret_encrypted', client.clientId),
      ),
    /** The key of client_secret_jwt and HS256; undefined when only the hash of the secret is stored. */
    clientSecret,
    /** The lifetimes in force for a client, in seconds. */
    lifetimes,
    /** Whether the client's refresh tokens rotate. Those of public clients always do (RFC 9700 4.14.2). */
    rotates: (client: Client): boolean => isPublicClient(client.metadata) || options.rotateConfidential,
    idTokenRecipient,
    /**
     * Prepares the tokens of a token response, which are valid once their hashes are stored. The caller calls it before it redeems a code or
     * a token, since the client's encryption key may be unreachable.
     * @param kinds what the grant allows in addition to an access token: the client gets those that it is registered for
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async prepare(client: Client, binding: Binding, kinds: readonly TokenKind[]): Promise<PreparedTokens> {
      // a token that claims a binding without one would be worse than no token
      if (binding !== 'none') throw new Error('no table keeps the thumbprint that a token is bound to');
      const { grant_types: grantTypes, uma_profile: hasHandle } = client.metadata;
      const wants = (kind: TokenKind, isRegistered: boolean) => isRegistered && kinds.includes(kind);
      return {
        accessToken: newOpaqueToken('access_token'),
        refreshToken: wants('refresh_token', grantTypes.includes('refresh_token'))
          ? newOpaqueToken('refresh_token')
          : undefined,
        handle: wants('client_session_handle', hasHandle) ? newOpaqueToken('client_session_handle') : undefined,
        recipient: kinds.includes('id_token') ? await idTokenRecipient(client) : undefined,
        lifetimes: lifetimes(client),
      };
    },
    /**
     * Mints an ID Token for an authorization. If the client also gets an access token, or a code for one, the claims of the scopes are left to
     * UserInfo, except those of the scope `scope` (decisions section 5) and those requested by name (Core 5.5). A client that registered
     * `id_token_claims` gets them from the token endpoint, and never through a browser.
     */
    async idToken(
      client: Client,
      authorization: Pick<Authorization, 'sid' | 'subject' | 'scope' | 'authTime' | 'amr' | 'requested' | 'user'>,
      issued: {
        at: Date;
        recipient: Recipient | undefined;
        accessToken?: string | undefined;
        code?: string | undefined;
        nonce?: string | undefined;
        /** Whether the token endpoint returns the token to the client itself. */
        direct?: boolean;
      },
    ): Promise<string> {
      const scopes = splitScope(authorization.scope);
      const alone = issued.accessToken === undefined && issued.code === undefined;
      const all = alone || (issued.direct === true && client.metadata.id_token_claims);
      const carried = all ? scopes : scopes.filter((scope) => scope === 'scope');
      const asked = authorization.requested?.id_token ?? [];
      // only for scopes that the client is still registered for
      const registered = asked.length > 0 ? claimsOfScopes(splitScope(client.metadata.scope)) : [];
      const requested = asked.filter((claim) => registered.includes(claim));
      const key = await responseKey(client, client.metadata.id_token_signed_response_alg);
      const signed = await mintIdToken(keyRing, key, {
        issuer,
        clientId: client.clientId,
        sub: authorization.subject,
        sid: authorization.sid,
        authTime: authorization.authTime,
        amr: authorization.amr,
        acr: authorization.requested?.acr ?? acrOf(authorization.amr),
        nonce: issued.nonce,
        accessToken: issued.accessToken,
        code: issued.code,
        issuedAt: Math.floor(issued.at.getTime() / 1000),
        lifetime: lifetimes(client).idToken,
        claims: {
          ...releasedClaims(authorization.user, carried),
          ...namedClaims(authorization.user, requested),
        },
      });
      return issued.recipient ? encryptFor(issued.recipient, signed, 'jwt') : signed;
    },
    /**
     * Makes a UserInfo response as a JWT: signed, encrypted, or signed and then encrypted, as the client registered (Core 5.3.2).
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async userinfo(client: Client, claims: { sub: string } & Record<string, unknown>): Promise<string> {
      const { metadata, clientId } = client;
      const recipient = await findRecipient(options.clientKeys, metadata, 'userinfo');
      const alg = metadata.userinfo_signed_response_alg;
      const signed = alg && (await mintUserinfo(keyRing, await responseKey(client, alg), issuer, clientId, claims));
      if (!recipient) return signed!;
      return signed
        ? encryptFor(recipient, signed, 'jwt')
        : encryptFor(recipient, JSON.stringify({ ...claims, iss: issuer, aud: clientId }), 'claims');
    },
    /** Mints a Logout Token for the end of a session. @param at the database's time */
    async logoutToken(client: Client, ended: { subject: string; sid: string }, at: Date): Promise<string> {
      const { clientId, metadata } = client;
      const key = await responseKey(client, metadata.id_token_signed_response_alg);
      return mintLogoutToken(keyRing, key, { issuer, clientId, sub: ended.subject, sid: ended.sid, issuedAt: at });
    },
    /** Reads an ID Token of this issuer, expired or not; undefined for any other text. */
    readIdTokenHint: (hint: string) => readIdTokenHint(keyRing, issuer, hint, secretOf),
    /** Verifies an ID Token of this issuer and its times; undefined for any other text. */
    verifyIdToken: (token: string) => verifyIdToken(keyRing, issuer, token, secretOf, idTokenLifetimeOf),
    /** The time that every signed token is checked against: the database's. */
    now: () => keyRing.now(),
    /** Whether a text is a JWT that names this issuer. Nothing is verified yet. */
    isOwnJwt: (token: string) => isOwnJwt(issuer, token),
    get jwks() {
      return keyRing.jwks;
    },
  };
}
