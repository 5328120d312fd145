// Decodes an ID Token for a developer: each claim with the result of its check (OpenID Connect Core 3.1.3.7).
import { createHash } from 'node:crypto';
import type { Pages } from '../../../pages/views/index.ts';
import type { TryClaim } from '../../../pages/views/try-it.ts';

export interface Expected {
  issuer: string;
  clientId: string;
  nonce: string;
  accessToken: string;
  maxAge: number | undefined;
  acrValues: string[];
  /** Whether a key of the service made the signature and the token has not expired. */
  verified: boolean;
  /** Seconds since the epoch. */
  now: number;
}

/** Header and payload of a compact JWT, or the header alone of an encrypted one; undefined if the text is no JWT. */
export function openJwt(token: string): { encrypted: boolean; header: Json; payload: Json } | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 && parts.length !== 5) return undefined;
  try {
    const [header, payload] = parts.slice(0, 2).map((part) => Buffer.from(part, 'base64url').toString());
    const encrypted = parts.length === 5;
    return {
      encrypted,
      header: JSON.parse(header!) as Json,
      payload: encrypted ? {} : (JSON.parse(payload!) as Json),
    };
  } catch {
    return undefined;
  }
}
type Json = Record<string, unknown>;

export function idTokenView(token: string, expected: Expected): Pages['console-try-it-result']['idToken'] {
  const opened = openJwt(token);
  if (!opened) return undefined;
  const { encrypted, header, payload } = opened;
  const claims: TryClaim[] = Object.entries(header).map(([claim, value]) => ({ claim, value: shown(value) }));
  if (encrypted) return { encrypted, claims };
  const signature = claims.find(({ claim }) => claim === 'alg');
  if (signature) Object.assign(signature, { check: 'signature', good: expected.verified });
  for (const [claim, value] of Object.entries(payload)) {
    const good = checkClaim(claim, value, header['alg'], expected);
    const check = { check: claim as NonNullable<TryClaim['check']>, good: good === true };
    claims.push({ claim, value: shown(value), ...(good !== undefined && check) });
  }
  if (payload['nonce'] === undefined) claims.push({ claim: 'nonce', value: '', check: 'nonce', good: false });
  return { encrypted, claims };
}

/** Checks a claim; undefined for one that a relying party has nothing to compare with. */
function checkClaim(claim: string, value: unknown, alg: unknown, expected: Expected): boolean | undefined {
  switch (claim) {
    case 'iss':
      return value === expected.issuer;
    case 'aud':
      return value === expected.clientId || (Array.isArray(value) && value.includes(expected.clientId));
    case 'exp':
      return Number(value) > expected.now;
    case 'iat':
      return Math.abs(Number(value) - expected.now) < 300;
    case 'nonce':
      return value === expected.nonce;
    case 'at_hash':
      return value === leftHalf(expected.accessToken, alg);
    case 'auth_time':
      return expected.maxAge === undefined ? undefined : expected.now - Number(value) <= expected.maxAge + 60;
    case 'acr':
      return expected.acrValues.length === 0 ? undefined : expected.acrValues.includes(String(value));
    default:
      return undefined;
  }
}

/** Core 3.1.3.6; Ed25519 hashes with SHA-512. */
function leftHalf(value: string, alg: unknown): string {
  const hash = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
    .update(value, 'ascii')
    .digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}

export const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
