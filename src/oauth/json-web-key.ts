// The public keys that clients register (RFC 7517): which are known, which are sound, and what they can verify.
import { createPublicKey, type JsonWebKey as NodeJsonWebKey } from 'node:crypto';

export type JsonWebKey = Readonly<Record<string, unknown>> & { kty: string };

const curves: Record<string, readonly unknown[]> = {
  EC: ['P-256', 'P-384', 'P-521'],
  OKP: ['Ed25519', 'X25519'],
};
const signatures: Record<string, readonly string[]> = {
  RSA: ['RS256', 'PS256'],
  'P-256': ['ES256'],
  Ed25519: ['EdDSA'],
};
const minimumModulus = 2048; // bits

/** True for a type and a curve that the service can use; others in a set are ignored (RFC 7517 5). */
export function isKnownKey({ kty, crv }: JsonWebKey): boolean {
  return kty === 'RSA' || (Object.hasOwn(curves, kty) && curves[kty]!.includes(crv));
}

/** True for a known key that holds what its type needs, and is strong enough. */
export function isSoundKey(key: JsonWebKey): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as NodeJsonWebKey, format: 'jwk' });
    return key.kty !== 'RSA' || asymmetricKeyDetails!.modulusLength! >= minimumModulus;
  } catch {
    return false;
  }
}

/** Whether a signature of the client can be verified with it. @param alg the only algorithm that will do, if there is one */
export function canVerify(key: JsonWebKey, alg: string | undefined): boolean {
  const { use, key_ops: operations } = key;
  const kind = String(key.kty === 'RSA' ? key.kty : key['crv']);
  const algorithms = Object.hasOwn(signatures, kind) ? signatures[kind]! : [];
  // newer libraries name EdDSA by its curve (RFC 9864 2.2)
  const own = key['alg'] === 'Ed25519' ? 'EdDSA' : key['alg'];
  return (
    (use === undefined || use === 'sig') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify'))) &&
    algorithms.some((each) => (alg === undefined || each === alg) && (own === undefined || each === own))
  );
}
