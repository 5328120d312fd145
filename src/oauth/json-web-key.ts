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
/** How many keys a set may have (security R114). */
export const maxKeys = 20;
const modulus = { least: 2048, most: 4096 }; // bits
const maxExponent = 32; // bits

/** True for a type and a curve that the service can use; others in a set are ignored (RFC 7517 5). */
export function isKnownKey({ kty, crv }: JsonWebKey): boolean {
  return kty === 'RSA' || (Object.hasOwn(curves, kty) && curves[kty]!.includes(crv));
}

/**
 * True unless it is an RSA key that is too short, or so long that to use it costs many times what others cost (security R114).
 * Told by its members alone: to import such a key costs already.
 */
export function hasFitSize({ kty, n, e }: Readonly<Record<string, unknown>>): boolean {
  if (kty !== 'RSA') return true;
  const [length, exponent] = [bitsOf(n), bitsOf(e)];
  return length >= modulus.least && length <= modulus.most && exponent > 1 && exponent <= maxExponent;
}

/** The bits of a number in base64url (RFC 7518 2), leading zeros not counted; 0 for what is none, or far too long. */
function bitsOf(number: unknown): number {
  if (typeof number !== 'string' || number.length > 1024 || !/^[A-Za-z0-9_+/-]+={0,2}$/.test(number)) return 0;
  const bytes = Buffer.from(number, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - Math.clz32(bytes[first]!) + 24;
}

/** True for a known key that holds what its type needs, and has a fit size. */
export function isSoundKey(key: JsonWebKey): boolean {
  if (!hasFitSize(key)) return false;
  try {
    createPublicKey({ key: key as NodeJsonWebKey, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

/** Whether a signature of the client can be verified with it. @param alg the only algorithm that will do, if there is one */
export function canVerify(key: JsonWebKey, alg: string | undefined): boolean {
  const { use, key_ops: operations } = key;
  const kind = key.kty === 'RSA' ? key.kty : key['crv'];
  const algorithms = typeof kind === 'string' && Object.hasOwn(signatures, kind) ? signatures[kind]! : [];
  // newer libraries name EdDSA by its curve (RFC 9864 2.2)
  const own = key['alg'] === 'Ed25519' ? 'EdDSA' : key['alg'];
  return (
    (use === undefined || use === 'sig') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify'))) &&
    algorithms.some((each) => (alg === undefined || each === alg) && (own === undefined || each === own))
  );
}
