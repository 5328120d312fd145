// What a client signed with its own key: verified with a key set that may have changed since it was read.
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
} from 'jose';
import { hasUniqueNames } from '../oauth/json-text.ts';

/** A client's key set; with `fresh`, past any cache. */
export type ReadJwks = (fresh: boolean) => Promise<JSONWebKeySet>;

/**
 * Whether the header and the claims of a compact JWS name nothing twice. A parser may take the last or refuse (RFC 7515 4,
 * RFC 7519 4): what two readers could understand differently is refused here.
 * @throws SyntaxError when they are no JSON
 */
export function namesAreUnique(token: string): boolean {
  return token
    .split('.')
    .slice(0, 2)
    .map((part) => Buffer.from(part, 'base64url').toString())
    .every((text) => hasUniqueNames(text, JSON.parse(text)));
}

/** The name under which an algorithm is registered: newer libraries call EdDSA by its curve (RFC 9864 2.2). */
export const registeredName = (alg: string | undefined): string | undefined => (alg === 'Ed25519' ? 'EdDSA' : alg);

/** @throws what jose throws, and what reading the key set throws */
export async function verifyWithKeys(
  token: string,
  jwks: ReadJwks,
  { algorithms, ...rest }: JWTVerifyOptions & { algorithms: readonly string[] },
): Promise<JWTPayload> {
  const options = { ...rest, algorithms: algorithms.flatMap((alg) => (alg === 'EdDSA' ? [alg, 'Ed25519'] : [alg])) };
  try {
    return await verifyWithAny(token, createLocalJWKSet(await jwks(false)), options);
  } catch (error) {
    // the client may have rotated its keys since we read them, and its keys need no names (Core 10.1.1, RFC 7517 4.5)
    const maybeNew =
      error instanceof errors.JWKSNoMatchingKey ||
      (error instanceof errors.JWSSignatureVerificationFailed && decodeProtectedHeader(token).kid === undefined);
    if (!maybeNew) throw error;
    return verifyWithAny(token, createLocalJWKSet(await jwks(true)), options);
  }
}

/** A key set without kid may have several candidates: each is tried. */
async function verifyWithAny(
  token: string,
  keySet: ReturnType<typeof createLocalJWKSet>,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keySet, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (inner) {
        if (!(inner instanceof errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
