// Proof Key for Code Exchange (RFC 7636), method S256 only (security R20, R21).
import { hash } from 'node:crypto';

/** 43 characters of base64url: a SHA-256 (RFC 7636 4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** RFC 7636 4.1. */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** The challenge of a verifier; what is compared is this digest, so the comparison reveals nothing of the verifier. */
export function codeChallenge(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}
