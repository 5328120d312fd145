// Verifies client assertions (RFC 7523, OpenID Connect Core 9) of client_secret_jwt and private_key_jwt.
import { decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { assertionSigningAlgorithms, type ClientMetadata } from '../oauth/client-metadata.ts';
import { profileOf } from '../oauth/fapi2.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import { namesAreUnique, type ReadJwks, verifyWithKeys } from './client-signature.ts';

/** The assertion is refused. The message is for the log. */
export class AssertionRefused extends Error {}

export interface VerifiedAssertion {
  jti: string;
  expiresAt: Date;
}

// an assertion serves one request, so it needs no long lifetime
const maxLifetime = 3600; // seconds
const tolerance = 30; // seconds by which clocks may differ

/** The client that an assertion names. Nothing is verified yet. */
export function assertionSubject(assertion: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(assertion)) return undefined;
  try {
    const payload = JSON.parse(Buffer.from(assertion.split('.')[1]!, 'base64url').toString()) as { sub?: unknown };
    return typeof payload?.sub === 'string' ? payload.sub : undefined;
  } catch {
    return undefined;
  }
}

/** The authentication method of an assertion, by its algorithm (OpenID Connect Core 9). Nothing is verified yet. */
export function assertionMethod(assertion: string): 'client_secret_jwt' | 'private_key_jwt' {
  try {
    return decodeProtectedHeader(assertion).alg === 'HS256' ? 'client_secret_jwt' : 'private_key_jwt';
  } catch {
    return 'private_key_jwt';
  }
}

/**
 * Verifies an assertion of a client. The caller marks its `jti` as used.
 * @param audiences the valid ones, the issuer first
 * @param keys the client's secret, or a function that reads its key set (with `fresh`, bypassing the cache)
 * @throws AssertionRefused
 */
export async function verifyClientAssertion(
  assertion: string,
  client: { clientId: string; metadata: ClientMetadata },
  keys: { secret: Buffer } | { jwks: ReadJwks },
  audiences: string[],
  currentDate: Date,
): Promise<VerifiedAssertion> {
  const expected = client.metadata.token_endpoint_auth_signing_alg;
  const { signatures, hasSingleAudience } = profileOf(client.metadata);
  const algorithms: readonly string[] =
    'secret' in keys ? ['HS256'] : (signatures ?? assertionSigningAlgorithms.filter((alg) => alg !== 'HS256'));
  const options = {
    algorithms: expected ? algorithms.filter((alg) => alg === expected) : [...algorithms],
    issuer: client.clientId,
    subject: client.clientId,
    audience: audiences,
    clockTolerance: tolerance,
    currentDate,
    requiredClaims: ['exp', 'jti'],
  };
  let payload: JWTPayload;
  try {
    const header = decodeProtectedHeader(assertion);
    if (header.crit || header.jku || header.jwk || header.x5u)
      throw new AssertionRefused('a header member that is not allowed');
    if (!namesAreUnique(assertion)) throw new AssertionRefused('a member is there twice');
    if ('secret' in keys) payload = (await jwtVerify(assertion, keys.secret, options)).payload;
    else payload = await verifyWithKeys(assertion, keys.jwks, options);
  } catch (error) {
    if (error instanceof AssertionRefused || error instanceof FetchRefused) throw error;
    // a client's key or token can cause any error in the cryptography
    throw new AssertionRefused(error instanceof Error ? error.message : 'not verifiable', { cause: error });
  }
  const { jti, exp } = payload;
  if (typeof jti !== 'string' || jti === '' || jti.length > 512) throw new AssertionRefused('jti is missing');
  if (hasSingleAudience && payload.aud !== audiences[0])
    throw new AssertionRefused('aud is not the issuer as one string, as FAPI 2.0 requires');
  if (Array.isArray(payload.aud) && payload.aud.some((aud) => !audiences.includes(aud)))
    throw new AssertionRefused('a foreign audience');
  const lifetime = exp! - Math.floor(currentDate.getTime() / 1000);
  if (lifetime > maxLifetime + tolerance) throw new AssertionRefused('exp is too far away');
  if (payload.iat !== undefined && payload.iat > currentDate.getTime() / 1000 + tolerance)
    throw new AssertionRefused('iat is in the future');
  return { jti, expiresAt: new Date((exp! + tolerance) * 1000) };
}
