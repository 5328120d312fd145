// Checks the form of the values of Proof Key for Code Exchange (RFC 7636), and computes a challenge by the method S256 (security R20, R21).
// protocol/authorization/checks.ts says which requests need a challenge; repositories/tokens/redeem_code.sql compares it with that of the verifier.
import { hash } from 'node:crypto';

/** Whether it is a SHA-256 digest in base64url (RFC 7636 4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Whether it has the form of RFC 7636 4.1. */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** Returns the challenge of a verifier. The caller compares digests, so its timing reveals nothing about the verifier. */
export function codeChallenge(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}
