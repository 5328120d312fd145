// Mints every token that the service issues, and holds the keys that sign them.
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
  /** Whether confidential clients' refresh tokens rotate too. */
  rotateConfidential: boolean;
}

/** What a token response may hold beside an access token. */
export type TokenKind = 'id_token' | 'refresh_token' | 'client_session_handle';

/** The tokens of one response, made before they are stored. */
export interface PreparedTokens {
  accessToken: OpaqueToken;
  /** Where the client is registered for refresh tokens. */
  refreshToken: OpaqueToken | undefined;
  /** Where the client registered the UMA profile. */
  handle: OpaqueToken | undefined;
  /** Whom the ID Token is encrypted for; undefined where it is not. */
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
    // the service signs by the secret only for a client that registered so, and that was ever enabled (security R113, R122)
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
   * Whom the client's ID Tokens are encrypted for; undefined where they are not.
   * @throws OAuthError temporarily_unavailable or invalid_request
   */
  async function idTokenRecipient({ metadata }: Client): Promise<Recipient | undefined> {
    if (metadata.id_token_encrypted_response_alg === undefined) return undefined;
    return findRecipient(options.clientKeys, metadata, 'id_token');
  }

  return {
    /** The key of end-session requests, as its text in UTF-8. */
    sharedSecret: (client: Client): Buffer =>
      secretBox.open(
        client.sharedSecretEncrypted,
        associatedDataOf('clients.shared_secret_encrypted', client.clientId),
      ),
    /** The key of client_secret_jwt and HS256; undefined when the secret is stored as a hash only. */
    clientSecret,
    /** Lifetimes in force for a client, in seconds. */
    lifetimes,
    /** Public clients' refresh tokens rotate always (RFC 9700 4.14.2). */
    rotates: (client: Client): boolean => isPublicClient(client.metadata) || options.rotateConfidential,
    idTokenRecipient,
    /**
     * Makes the tokens of a response of the token endpoint; they live once their hashes are stored. It comes before a code or a token is
     * used up, since the keys that ID Tokens are encrypted with may be out of reach.
     * @param kinds what may be issued beside an access token: the client gets those of them that it is registered for
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async prepare(client: Client, binding: Binding, kinds: readonly TokenKind[]): Promise<PreparedTokens> {
      // a token that says to be bound and is not would be worse than none
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
     * An ID Token for an authorization. With an access token at hand, or a code for one, the claims of the scopes stay at UserInfo, but for
     * those of the scope `scope` (decisions section 5) and those that were asked for by name (Core 5.5). A client that registered
     * `id_token_claims` gets them in what it is given directly, and never in what passes through a browser.
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
        /** Answered to the client itself, at the token endpoint. */
        direct?: boolean;
      },
    ): Promise<string> {
      const scopes = splitScope(authorization.scope);
      const alone = issued.accessToken === undefined && issued.code === undefined;
      const all = alone || (issued.direct === true && client.metadata.id_token_claims);
      const carried = all ? scopes : scopes.filter((scope) => scope === 'scope');
      const asked = authorization.requested?.id_token ?? [];
      // as far as the client is still registered for them
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
     * A UserInfo response as a JWT: signed, encrypted, or signed and then encrypted, as the client registered it (Core 5.3.2).
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
    /** A Logout Token that tells the client of a session's end. @param at the database's time */
    async logoutToken(client: Client, ended: { subject: string; sid: string }, at: Date): Promise<string> {
      const { clientId, metadata } = client;
      const key = await responseKey(client, metadata.id_token_signed_response_alg);
      return mintLogoutToken(keyRing, key, { issuer, clientId, sub: ended.subject, sid: ended.sid, issuedAt: at });
    },
    /** An ID Token of ours, expired or not; undefined for anything else. */
    readIdTokenHint: (hint: string) => readIdTokenHint(keyRing, issuer, hint, secretOf),
    /** A valid ID Token of ours, within its time; undefined for anything else. */
    verifyIdToken: (token: string) => verifyIdToken(keyRing, issuer, token, secretOf, idTokenLifetimeOf),
    /** The time by which all that was signed is judged: the database's. */
    now: () => keyRing.now(),
    /** True for a JWT that could be ours, before anything is verified. */
    isOwnJwt: (token: string) => isOwnJwt(issuer, token),
    get jwks() {
      return keyRing.jwks;
    },
  };
}
