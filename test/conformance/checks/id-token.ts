// Checks an ID Token of either endpoint: its signature, its claims, its hashes (OpenID Connect Core 2, 3.1.3.7, 3.2.2.9, 3.3.2.11).
import { createHash } from 'node:crypto';
import { decodeProtectedHeader, importJWK, type JWK, jwtVerify, type JWTPayload } from 'jose';
import { expect } from 'vitest';
import { checkClaims, checkSubject } from './claims.ts';

export interface IdToken {
  raw: string;
  alg: string;
  claims: JWTPayload & Record<string, unknown>;
}

export interface IdTokenExpectation {
  issuer: string;
  clientId: string;
  /** The nonce of the request; undefined when it had none. */
  nonce: string | undefined;
  /** id_token_signed_response_alg. */
  alg: string;
  /** The code and access token beside the ID Token: hashes that are present must match. */
  accessToken?: string | undefined;
  code?: string | undefined;
  /** Whether the hashes must be present: from the authorization endpoint they must. */
  hashes: boolean;
}

const minutes = 60;
const year = 366 * 86_400;

export async function checkIdToken(raw: string, keys: JWK[], expected: IdTokenExpectation): Promise<IdToken> {
  const header = decodeProtectedHeader(raw);
  expect(header.alg).toBe(expected.alg);
  const key = signingKey(keys, header.kid, expected.alg);
  // times are checked below, with the suite's tolerance
  const { payload: claims } = await jwtVerify(raw, await importJWK(key, expected.alg), {
    algorithms: [expected.alg],
    clockTolerance: 5 * minutes,
  });
  const now = Date.now() / 1000;
  expect(claims.iss).toBe(expected.issuer);
  expect([claims.aud].flat()).toContain(expected.clientId);
  checkSubject(claims.sub);
  checkNumber('exp', claims.exp, now - 5 * minutes, now + 50 * year);
  checkNumber('iat', claims.iat, now - 5 * minutes, now + 5 * minutes);
  if ('auth_time' in claims) checkNumber('auth_time', claims['auth_time'], now - year, now + 5 * minutes);
  if ('acr' in claims) expect(claims['acr']).toEqual(expect.stringMatching(/./));
  expect(claims['nonce']).toBe(expected.nonce);
  checkClaims(claims);
  if (expected.hashes) {
    expect('at_hash' in claims, 'at_hash beside an access token').toBe(expected.accessToken !== undefined);
    expect('c_hash' in claims, 'c_hash beside a code').toBe(expected.code !== undefined);
  }
  if (expected.accessToken !== undefined && 'at_hash' in claims)
    expect(claims['at_hash']).toBe(leftHalf(expected.accessToken, expected.alg));
  if (expected.code !== undefined && 'c_hash' in claims)
    expect(claims['c_hash']).toBe(leftHalf(expected.code, expected.alg));
  return { raw, alg: expected.alg, claims };
}

/** The only key of the set that a kid and an algorithm select. */
export function signingKey(keys: JWK[], kid: string | undefined, alg: string): JWK {
  expect(kid, 'kid in the header').toBeTypeOf('string');
  const found = keys.filter(
    (key) => key.kid === kid && (key.use ?? 'sig') === 'sig' && (key.alg === undefined || key.alg === alg),
  );
  expect(found, `the keys of kid ${kid} for ${alg}`).toHaveLength(1);
  return found[0]!;
}

function checkNumber(name: string, value: unknown, least: number, most: number): void {
  expect(Number.isInteger(value), `${name} is a whole number`).toBe(true);
  expect(value as number, name).toBeGreaterThanOrEqual(least);
  expect(value as number, name).toBeLessThanOrEqual(most);
}

function leftHalf(value: string, alg: string): string {
  const hash = createHash(`sha${alg.slice(-3)}`)
    .update(value, 'ascii')
    .digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}
