// Checks the public keys that clients register (RFC 7517): whether they are known and valid, and what they can verify.
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
/** The number of keys that a set may have (security R114). */
export const maxKeys = 20;
const modulus = { min: 2048, max: 4096 }; // bits
const maxExponent = 32; // bits

/** Whether a key is one that must not be published. */
export const isPrivateOrSymmetric = (key: JsonWebKey): boolean =>
  key.kty === 'oct' || ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].some((member) => member in key);

/** Whether the service can use the key's type and curve; other keys of a set are ignored (RFC 7517 5). */
export function isKnownKey({ kty, crv }: JsonWebKey): boolean {
  return kty === 'RSA' || (Object.hasOwn(curves, kty) && curves[kty]!.includes(crv));
}

/**
 * Whether an RSA key is neither too short nor so long that its use is costly (security R114).
 * The check reads the members only: even the import of a long key is costly. Keys of other types have an acceptable size.
 */
export function hasAcceptableSize({ kty, n, e }: Readonly<Record<string, unknown>>): boolean {
  if (kty !== 'RSA') return true;
  const [length, exponent] = [bitsOf(n), bitsOf(e)];
  return length >= modulus.min && length <= modulus.max && exponent > 1 && exponent <= maxExponent;
}

/** The length in bits of a base64url number (RFC 7518 2), without leading zeros; 0 for an invalid or far too long one. */
function bitsOf(number: unknown): number {
  if (typeof number !== 'string' || number.length > 1024 || !/^[A-Za-z0-9_+/-]+={0,2}$/.test(number)) return 0;
  const bytes = Buffer.from(number, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - Math.clz32(bytes[first]!) + 24;
}

/** Whether a key has an acceptable size and the members that its type needs. */
export function isValidKey(key: JsonWebKey): boolean {
  if (!hasAcceptableSize(key)) return false;
  try {
    createPublicKey({ key: key as NodeJsonWebKey, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

/** Whether the key can verify a signature of the client. @param alg the required algorithm; undefined for any */
export function canVerify(key: JsonWebKey, alg: string | undefined): boolean {
  const { use, key_ops: operations } = key;
  const kind = key.kty === 'RSA' ? key.kty : key['crv'];
  const algorithms = typeof kind === 'string' && Object.hasOwn(signatures, kind) ? signatures[kind]! : [];
  // newer libraries use the name of the curve for EdDSA (RFC 9864 2.2)
  const own = key['alg'] === 'Ed25519' ? 'EdDSA' : key['alg'];
  return (
    (use === undefined || use === 'sig') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify'))) &&
    algorithms.some((each) => (alg === undefined || each === alg) && (own === undefined || each === own))
  );
}
