// Encrypted responses: the algorithms that a client may register, and which of its keys they can use (OpenID Connect Core 10.2).

/**
 * How the content key travels (RFC 7518 4): to an RSA key, or to one on a curve. RSA1_5 is not there: its padding can
 * be asked for its plaintext (RFC 8725 3.2). RSA-OAEP is, since many relying parties know no newer one: OAEP needs no
 * collision resistance of its hash, so that SHA-1 does it no harm.
 */
export const keyManagementAlgorithms = [
  'RSA-OAEP-256',
  'RSA-OAEP',
  'ECDH-ES',
  'ECDH-ES+A128KW',
  'ECDH-ES+A256KW',
] as const;
export type KeyManagementAlgorithm = (typeof keyManagementAlgorithms)[number];

/** How the content is encrypted (RFC 7518 5); the first is what a client gets that names none. */
export const contentEncryptionAlgorithms = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const;
export type ContentEncryptionAlgorithm = (typeof contentEncryptionAlgorithms)[number];

type JsonWebKey = Record<string, unknown>;
const curves: readonly unknown[] = ['P-256', 'P-384', 'P-521'];

/** The keys of a set that an algorithm can encrypt to, those that are for nothing else first. */
export function encryptionKeys<K extends object>(keys: readonly K[], alg: KeyManagementAlgorithm): K[] {
  const usable = keys.filter((key) => isUsable(key as JsonWebKey, alg));
  const forThis = (key: K) => Number((key as JsonWebKey)['use'] === 'enc');
  return usable.sort((a, b) => forThis(b) - forThis(a));
}

function isUsable(key: JsonWebKey, alg: KeyManagementAlgorithm): boolean {
  if (typeof key !== 'object' || key === null) return false;
  if (key['use'] !== undefined && key['use'] !== 'enc') return false;
  if (key['alg'] !== undefined && key['alg'] !== alg) return false;
  if (alg.startsWith('RSA')) {
    const operations = key['key_ops'];
    return (
      key['kty'] === 'RSA' &&
      (!Array.isArray(operations) || operations.includes('wrapKey') || operations.includes('encrypt'))
    );
  }
  if (key['kty'] === 'OKP') return key['crv'] === 'X25519';
  return key['kty'] === 'EC' && curves.includes(key['crv']);
}
