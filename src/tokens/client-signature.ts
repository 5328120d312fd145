// Verifies what a client signed with its own key, also if the client has changed its key set since it was read.
import {
  decodeProtectedHeader,
  errors,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
} from 'jose';
import { hasUniqueNames } from '../oauth/json-text.ts';
import { canVerify, type JsonWebKey } from '../oauth/json-web-key.ts';

/** Reads a client's key set; with `fresh`, it bypasses the cache. */
export type ReadJwks = (fresh: boolean) => Promise<JSONWebKeySet>;

/**
 * Whether the header and the claims of a compact JWS have no duplicate name. A parser may take the last or refuse (RFC 7515 4,
 * RFC 7519 4), so two readers could understand such a token differently.
 * @throws SyntaxError when one of them is not JSON
 */
export function namesAreUnique(token: string): boolean {
  return token
    .split('.')
    .slice(0, 2)
    .map((part) => Buffer.from(part, 'base64url').toString())
    .every((text) => hasUniqueNames(text, JSON.parse(text)));
}

/** The name of an algorithm in client metadata: newer libraries name EdDSA by its curve (RFC 9864 2.2). */
export const registeredName = (alg: string | undefined): string | undefined => (alg === 'Ed25519' ? 'EdDSA' : alg);

/** The most keys that are tried for a signature (security R114). */
const maxCandidates = 4;

/** More keys could have made the signature than are tried. The message is for the client. */
export class TooManyCandidates extends Error {}

/** @throws TooManyCandidates, and the errors of jose and of reading the key set */
export async function verifyWithKeys(
  token: string,
  jwks: ReadJwks,
  { algorithms, ...rest }: JWTVerifyOptions & { algorithms: readonly string[] },
): Promise<JWTPayload> {
  const options = { ...rest, algorithms: algorithms.flatMap((alg) => (alg === 'EdDSA' ? [alg, 'Ed25519'] : [alg])) };
  const { alg, kid } = decodeProtectedHeader(token);
  if (alg === undefined || !options.algorithms.includes(alg))
    throw new errors.JOSEAlgNotAllowed('the algorithm is not one that the client may use');
  const known = await jwks(false);
  try {
    return await verifyWithAny(token, candidatesOf(known, alg, kid), alg, options);
  } catch (error) {
    // the client may have rotated its keys since we read them, and a key needs no kid (Core 10.1.1, RFC 7517 4.5)
    const maybeNew =
      error instanceof errors.JWKSNoMatchingKey ||
      (error instanceof errors.JWSSignatureVerificationFailed && kid === undefined);
    if (!maybeNew) throw error;
    const fresh = await jwks(true);
    // an unchanged set is searched only once (security R114)
    if (fresh === known) throw error;
    return verifyWithAny(token, candidatesOf(fresh, alg, kid), alg, options);
  }
}

/** @throws TooManyCandidates, JWKSNoMatchingKey */
function candidatesOf({ keys }: JSONWebKeySet, alg: string, kid: string | undefined): JWK[] {
  const candidates = keys.filter(
    (key) => (kid === undefined || key.kid === kid) && canVerify(key as JsonWebKey, registeredName(alg)),
  );
  if (candidates.length === 0) throw new errors.JWKSNoMatchingKey();
  if (candidates.length > maxCandidates)
    throw new TooManyCandidates(`more than ${maxCandidates} keys of the client match: name the signing key by its kid`);
  return candidates;
}

/** Tries each key: several may have no kid, or the same one. */
async function verifyWithAny(
  token: string,
  candidates: readonly JWK[],
  alg: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  for (const { kty, n, e, crv, x, y } of candidates) {
    // an invalid key fails here
    const key = await importJWK({ kty, n, e, crv, x, y } as JWK, alg).catch(() => undefined);
    if (!key) continue;
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}
