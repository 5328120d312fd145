// Signs and encrypts for clients with their own algorithms and keys, and verifies the ID Tokens that clients send back.
import type { JWTPayload } from 'jose';
import { idJagType } from '../oauth/token-exchange.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Client } from '../repositories/clients/clients.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import { mintAuthorizationResponse } from './authorization-response.ts';
import { encryptFor, findRecipient } from './client-encryption.ts';
import { mintIntrospectionResponse } from './introspection-response.ts';
import { type IdTokenStatement, isOwnJwt, mintUserinfo, readIdTokenHint, signJwt, verifyIdToken } from './id-token.ts';
import { accessTokenHash } from './jwt-access-token.ts';
import { mintLogoutToken } from './logout-token.ts';
import { mintSiteAssertion, type SiteAssertionContent } from './site-assertion.ts';
import { prepareSignedMetadata } from './signed-metadata.ts';
import { createTokenIssuer, type TokenIssuerOptions } from './token-issuer.ts';

export interface VerifiedIdToken extends IdTokenStatement {
  /** The client session that the token belongs to; undefined in a token of an earlier version. */
  clientSessionId: string | undefined;
}

export interface TokenServiceOptions extends Omit<TokenIssuerOptions, 'clientSecret'> {
  secretBox: SecretBox;
  findClient: (clientId: string) => Promise<Client | undefined>;
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

  const { lifetimes, responseKey, prepare, respond, rotates } = createTokenIssuer({ ...options, clientSecret });

  async function secretOf(clientId: string): Promise<Buffer | undefined> {
    const client = await options.findClient(clientId);
    // the secret signs only for a client that registered HS256 and was enabled once (security R113, R122)
    const isSignedSo = client?.everEnabled === true && client.metadata.id_token_signed_response_alg === 'HS256';
    return isSignedSo ? clientSecret(client) : undefined;
  }

  async function idTokenLifetimeOf(clientId: string): Promise<number> {
    const client = await options.findClient(clientId);
    return client ? lifetimes(client).idToken : 0;
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
    prepare,
    respond,
    rotates,
    /**
     * Makes a UserInfo response as a JWT: signed, encrypted, or signed and then encrypted, as the client registered (Core 5.3.2).
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async userinfo(client: Client, claims: { sub: string } & Record<string, unknown>): Promise<string> {
      const { metadata, clientId } = client;
      const recipient = await findRecipient(options.clientKeys, metadata, 'userinfo');
      const alg = metadata.userinfo_signed_response_alg;
      const signed = alg && (await mintUserinfo(keyRing, responseKey(client, alg), issuer, clientId, claims));
      if (!recipient) return signed!;
      return signed
        ? encryptFor(recipient, signed, 'jwt')
        : encryptFor(recipient, JSON.stringify({ ...claims, iss: issuer, aud: clientId }), 'claims');
    },
    /**
     * Prepares an authorization response as a JWT: finds the key that it is encrypted to before anything is issued.
     * @returns signs the parameters and encrypts them, as the client registered
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async authorizationResponse(client: Client) {
      const { metadata, clientId } = client;
      const recipient = await findRecipient(options.clientKeys, metadata, 'authorization');
      const key = responseKey(client, metadata.authorization_signed_response_alg ?? 'RS256');
      return async (parameters: Readonly<Record<string, string>>): Promise<string> => {
        const signed = await mintAuthorizationResponse(keyRing, key, issuer, clientId, parameters);
        return recipient ? encryptFor(recipient, signed, 'jwt') : signed;
      };
    },
    /**
     * Makes an introspection response as a JWT for the caller: signed, and encrypted if the caller registered that (RFC 9701 5).
     * @throws OAuthError temporarily_unavailable or invalid_request
     */
    async introspection(caller: Client, members: Readonly<Record<string, unknown>>): Promise<string> {
      const { metadata, clientId } = caller;
      const recipient = await findRecipient(options.clientKeys, metadata, 'introspection');
      const key = responseKey(caller, metadata.introspection_signed_response_alg ?? 'RS256');
      const signed = await mintIntrospectionResponse(keyRing, key, issuer, clientId, members);
      return recipient ? encryptFor(recipient, signed, 'jwt') : signed;
    },
    /** Mints a Logout Token for the end of a session. @param at the database's time */
    async logoutToken(client: Client, ended: { subject: string; sid: string }, at: Date): Promise<string> {
      const { clientId, metadata } = client;
      const key = responseKey(client, metadata.id_token_signed_response_alg);
      return mintLogoutToken(keyRing, key, { issuer, clientId, sub: ended.subject, sid: ended.sid, issuedAt: at });
    },
    /** Mints the assertion about the user of a protected site. */
    siteAssertion: (content: Omit<SiteAssertionContent, 'issuer'>): Promise<string> =>
      mintSiteAssertion(keyRing, { ...content, issuer }),
    /** Prepares metadata as a JWT (RFC 8414 2.1, RFC 9728 2.2). @param document returns the same object until the document changes */
    signedMetadata: (document: () => Readonly<Record<string, unknown>>) =>
      prepareSignedMetadata(keyRing, issuer, document),
    /** Reads an ID Token of this issuer, expired or not; undefined for any other text. */
    readIdTokenHint: (hint: string) => readIdTokenHint(keyRing, issuer, hint, secretOf),
    /** Verifies an ID Token of this issuer and its times; undefined for any other text. */
    async verifyIdToken(token: string): Promise<VerifiedIdToken | undefined> {
      const statement = await verifyIdToken(keyRing, issuer, token, secretOf, idTokenLifetimeOf);
      if (!statement) return undefined;
      const { id } = statement;
      return { ...statement, clientSessionId: id === undefined ? undefined : secretBox.ids.read(id) };
    },
    /** The time that every signed token is checked against: the database's. */
    now: () => keyRing.now(),
    /** Signs an ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant). */
    signIdJag: (claims: JWTPayload): Promise<string> => signJwt(keyRing, { alg: 'RS256' }, idJagType, claims),
    /** The digest of a JWT access token of this service (RFC 9068); undefined for any other text. It may have expired. */
    accessTokenHash: (token: string) => accessTokenHash(keyRing, issuer, token),
    /** Whether a text is a JWT that names this issuer. Nothing is verified yet. */
    isOwnJwt: (token: string) => isOwnJwt(issuer, token),
    get jwks() {
      return keyRing.jwks;
    },
  };
}
