// Checks a signed UserInfo answer (OpenID Connect Core 5.3.2).
import { decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose';
import { expect } from 'vitest';
import { issuer } from '../bed/bed.ts';
import { type HttpAnswer, mediaType } from '../bed/network.ts';
import { signingKey } from './id-token.ts';

/** Whatever the request's Accept said, it is application/jwt. */
export async function checkUserinfoJwt(
  answer: HttpAnswer,
  keys: JWK[],
  clientId: string,
  alg: string,
): Promise<Record<string, unknown>> {
  expect(mediaType(answer)).toBe('application/jwt');
  const header = decodeProtectedHeader(answer.body);
  expect(header.alg).toBe(alg);
  const key = await importJWK(signingKey(keys, header.kid, alg), alg);
  // iss and aud must be present, and the times, where present, must fit
  const { payload } = await jwtVerify(answer.body, key, { algorithms: [alg], issuer, audience: clientId });
  expect(payload).not.toHaveProperty('nonce');
  return payload;
}
