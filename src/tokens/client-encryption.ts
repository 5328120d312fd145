// Encrypts ID Tokens and other responses to a client's own key (OpenID Connect Core 10.2, RFC 7516).
import { CompactEncrypt, type CryptoKey, importJWK, type JWK } from 'jose';
import type { ClientMetadata, JwtResponse } from '../oauth/client-metadata.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import {
  type ContentEncryptionAlgorithm,
  encryptionKeys,
  type KeyManagementAlgorithm,
} from '../oauth/response-encryption.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import type { ClientKeys } from './client-keys.ts';

/** A key of a client with the algorithms that it registered. */
export interface Recipient {
  alg: KeyManagementAlgorithm;
  enc: ContentEncryptionAlgorithm;
  kid: string | undefined;
  key: CryptoKey;
}

/**
 * Finds the client's key for one kind of response; undefined where that is not encrypted.
 * @throws OAuthError temporarily_unavailable when its jwks_uri cannot be read, invalid_request when the set has no suitable key
 */
export async function findRecipient(
  clientKeys: ClientKeys,
  metadata: ClientMetadata,
  response: JwtResponse,
): Promise<Recipient | undefined> {
  const alg = metadata[`${response}_encrypted_response_alg`];
  const enc = metadata[`${response}_encrypted_response_enc`];
  if (alg === undefined || enc === undefined) return undefined;
  try {
    let searched: unknown;
    for (const fresh of [false, true]) {
      // the fresh set also has keys that the client published since we read its set
      const set = await clientKeys(metadata, fresh);
      // an unchanged set is searched only once (security R114)
      if (set === searched) break;
      searched = set;
      for (const jwk of encryptionKeys(set.keys, alg)) {
        const recipient = await open(jwk, alg, enc);
        if (recipient) return recipient;
      }
    }
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error;
    throw new OAuthError(
      'temporarily_unavailable',
      'the response must be encrypted, but the key set at jwks_uri of the client cannot be read: try again in a moment',
      503,
      { cause: error, headers: { 'retry-after': '5' } },
    );
  }
  throw invalidRequest(`the key set of the client has no key that ${response}_encrypted_response_alg can encrypt to`);
}

/** Imports a key and tries it; undefined for a value that is no key, since a client may publish anything. */
async function open(
  { kty, n, e, crv, x, y, kid }: JWK,
  alg: KeyManagementAlgorithm,
  enc: ContentEncryptionAlgorithm,
): Promise<Recipient | undefined> {
  try {
    const key = await importJWK({ kty, n, e, crv, x, y } as JWK, alg);
    if (key instanceof Uint8Array) return undefined;
    const recipient = { alg, enc, kid: typeof kid === 'string' ? kid : undefined, key };
    // a key that is too short (RFC 7518 4.3), too long or invalid fails when it is used
    await encryptFor(recipient, '', 'claims');
    return recipient;
  } catch {
    return undefined;
  }
}

/** @param content a signed JWT, to be nested (RFC 7519 11.2), or claims as JSON */
export function encryptFor(recipient: Recipient, content: string, what: 'jwt' | 'claims'): Promise<string> {
  const { alg, enc, kid, key } = recipient;
  return new CompactEncrypt(new TextEncoder().encode(content))
    .setProtectedHeader({
      alg,
      enc,
      typ: 'JWT',
      ...(what === 'jwt' && { cty: 'JWT' }),
      ...(kid !== undefined && { kid }),
    })
    .encrypt(key);
}
