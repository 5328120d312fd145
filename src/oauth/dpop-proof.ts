// Decides what a DPoP proof must contain to count for a request (RFC 9449 4.2, 4.3).
import { canVerify, hasAcceptableSize, isPrivateOrSymmetric, type JsonWebKey } from './json-web-key.ts';
import { resourceKey } from './resource-key.ts';

/** The algorithms of proofs, as discovery and challenges name them. */
export const dpopAlgorithms = ['ES256', 'EdDSA', 'PS256'] as const;

/** Newer libraries name EdDSA by its curve (RFC 9864 2.2). */
const registeredName = (alg: unknown): unknown => (alg === 'Ed25519' ? 'EdDSA' : alg);

/** Characters. */
const maxJti = 256;

/** The request that a proof must be for. */
export interface ProvedRequest {
  method: string;
  /** The address under which the service is configured; what the request names as its host proves nothing. */
  address: string;
  /** The digest of the presented access token in base64url; undefined where there is none. */
  tokenDigest: string | undefined;
}

/** The members of a proof that count. Its other members are ignored. */
export interface ProofClaims {
  jti: string;
  /** In seconds since 1970. */
  iat: number;
  nonce: string | undefined;
}

/** What is wrong with the header of a proof; undefined for a good one, whose `jwk` can be a key for its `alg`. */
export function faultOfHeader(header: Readonly<Record<string, unknown>>): string | undefined {
  if (header['typ'] !== 'dpop+jwt') return 'typ must be dpop+jwt';
  for (const member of ['crit', 'jku', 'x5u']) if (header[member] !== undefined) return `${member} is not allowed`;
  const alg = registeredName(header['alg']);
  if (!dpopAlgorithms.some((each) => each === alg)) return `alg must be one of ${dpopAlgorithms.join(', ')}`;
  const jwk = header['jwk'];
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) return 'jwk must be the public key of the client';
  const key = jwk as JsonWebKey;
  if (typeof key.kty !== 'string' || isPrivateOrSymmetric(key))
    return 'jwk must be a public key without private members';
  if (!canVerify(key, alg as string)) return 'jwk cannot verify a signature by this alg';
  if (!hasAcceptableSize(key)) return 'jwk must be an RSA key of 2048 to 4096 bits';
  return undefined;
}

/** Reads the claims of a proof, and compares them with the request. @returns what is wrong, as text, or the claims */
export function readProofClaims(
  payload: Readonly<Record<string, unknown>>,
  { method, address, tokenDigest }: ProvedRequest,
): string | ProofClaims {
  const { jti, iat, htm, htu, ath, nonce } = payload;
  if (typeof jti !== 'string' || jti === '' || jti.length > maxJti || jti.includes('\0'))
    return `jti must be a text of 1 to ${maxJti} characters`;
  if (!Number.isSafeInteger(iat) || (iat as number) < 0) return 'iat must be a whole number of seconds';
  if (htm !== method) return `htm must be ${method}`;
  if (typeof htu !== 'string' || !isAddress(htu, address)) return `htu must be ${address}`;
  if (tokenDigest !== undefined && ath !== tokenDigest) return 'ath must be the digest of the access token';
  if (nonce !== undefined && typeof nonce !== 'string') return 'nonce must be a text';
  return { jti, iat: iat as number, nonce };
}

/**
 * Whether `htu` names an address: both without query and fragment, scheme and host in any case, and the default port left out or not. No
 * other spelling of the path is the same address (RFC 3986 6.2.2, 6.2.3).
 */
export function isAddress(htu: string, address: string): boolean {
  return resourceKey(htu.replace(/[?#].*$/s, '')) === resourceKey(address);
}

/**
 * Whether a proof without a nonce is neither old nor from the future.
 * @param lifetime seconds for which it is valid
 */
export function isFresh(iat: number, now: Date, lifetime: number): boolean {
  return Math.abs(Math.floor(now.getTime() / 1000) - iat) <= lifetime;
}

/** Whether a text is the thumbprint of a key (RFC 7638, by SHA-256). */
export const isThumbprint = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);
