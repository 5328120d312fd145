// Lists the encryption algorithms that a client may register, and selects its keys for them (OpenID Connect Core 10.2).

/**
 * Key management algorithms (RFC 7518 4). RSA1_5 is missing: it allows padding oracle attacks (RFC 8725 3.2). RSA-OAEP is
 * there because many relying parties support no newer algorithm; OAEP does not rely on collision resistance, so SHA-1 is
 * no weakness in it.
 */
export const keyManagementAlgorithms = [
  'RSA-OAEP-256',
  'RSA-OAEP',
  'ECDH-ES',
  'ECDH-ES+A128KW',
  'ECDH-ES+A256KW',
] as const;
export type KeyManagementAlgorithm = (typeof keyManagementAlgorithms)[number];

/** Content encryption algorithms (RFC 7518 5); the first is the default. */
export const contentEncryptionAlgorithms = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const;
export type ContentEncryptionAlgorithm = (typeof contentEncryptionAlgorithms)[number];

type JsonWebKey = Record<string, unknown>;
const curves: readonly unknown[] = ['P-256', 'P-384', 'P-521'];

/** Returns the keys that an algorithm can encrypt to; keys with `use` "enc" come first. */
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
