// Verifies the ID Token of a connection: always its signature, by the keys that the connection publishes (OpenID Connect Core 3.1.3.7).
import { decodeProtectedHeader, type JWTPayload } from 'jose';
import { clockTolerance, isSubject } from '../rules/connections/connection-answer.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import { namesAreUnique, type ReadJwks, verifyWithKeys } from './client-signature.ts';

/** The ID Token is refused. The message is for the log. */
export class IdTokenRefused extends Error {}

/** Never one with a shared secret: every client of the connection with such a secret could make tokens. */
export const upstreamAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
const maxLength = 64 * 1024;

export interface ExpectedIdToken {
  /** Whether the connection takes tokens of an issuer. */
  isIssuer(issuer: unknown): boolean;
  clientId: string;
  nonce: string;
  /** The algorithms that the connection may use. */
  algorithms: readonly string[];
  now: Date;
}

/** @param jwks with `fresh`, it bypasses its cache @throws IdTokenRefused, FetchRefused */
export async function verifyUpstreamIdToken(
  token: string,
  jwks: ReadJwks,
  { isIssuer, clientId, nonce, algorithms, now }: ExpectedIdToken,
): Promise<JWTPayload & { sub: string }> {
  const required = ['exp', 'iat', 'sub', 'nonce'];
  const { payload } = await verifiedUpstream(token, jwks, { isIssuer, clientId, algorithms, now }, required);
  const { sub, aud, azp, iat, exp } = payload;
  if (!isSubject(sub)) throw new IdTokenRefused('sub is no text of 1 to 255 bytes');
  if (payload['nonce'] !== nonce) throw new IdTokenRefused('nonce is not that of the request');
  if (Array.isArray(aud) && aud.length > 1 && azp !== clientId)
    throw new IdTokenRefused('aud has others, and azp is not this client');
  if (azp !== undefined && azp !== clientId) throw new IdTokenRefused('azp is not this client');
  const seconds = now.getTime() / 1000;
  if (iat! > seconds + clockTolerance) throw new IdTokenRefused('iat is in the future');
  if (exp! > seconds + maxLifetime) throw new IdTokenRefused('exp is too far away');
  return { ...payload, sub };
}

/**
 * Verifies the signature, issuer, audience and times of a JWT of a connection.
 * @param required claims that must be there
 * @throws IdTokenRefused, FetchRefused
 */
export async function verifiedUpstream(
  token: string,
  jwks: ReadJwks,
  { isIssuer, clientId, algorithms, now }: Omit<ExpectedIdToken, 'nonce'>,
  required: string[],
): Promise<{ payload: JWTPayload; typ: string | undefined }> {
  try {
    if (token.length > maxLength) throw new IdTokenRefused('it is too long');
    const header = decodeProtectedHeader(token);
    if (header.crit || header.jku || header.jwk || header.x5u || header.x5c)
      throw new IdTokenRefused('its header has a member that is not allowed');
    if (!namesAreUnique(token)) throw new IdTokenRefused('a member is there twice');
    const payload = await verifyWithKeys(token, jwks, {
      algorithms: algorithms.filter((alg) => (upstreamAlgorithms as readonly string[]).includes(alg)),
      audience: clientId,
      clockTolerance,
      currentDate: now,
      requiredClaims: ['iss', ...required],
    });
    if (!isIssuer(payload.iss)) throw new IdTokenRefused('iss is that of another issuer');
    return { payload, typ: header.typ };
  } catch (error) {
    if (error instanceof IdTokenRefused || error instanceof FetchRefused) throw error;
    // the parser's message quotes the token (security R99)
    if (error instanceof SyntaxError) throw new IdTokenRefused('it is not JSON');
    // the token and the keys of the other side can cause any error in the cryptography
    throw new IdTokenRefused(error instanceof Error ? error.message : 'not verifiable', { cause: error });
  }
}

/** An ID Token is read once, a moment after it was made. */
const maxLifetime = 7 * 86_400; // seconds
