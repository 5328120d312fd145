// Checks the answer to a registration (RFC 7591 3.2.1, OpenID Connect Registration 3.2).
import { expect } from 'vitest';
import { type HttpAnswer, mediaType } from '../bed/network.ts';

export function checkRegistration(answer: HttpAnswer): Record<string, unknown> {
  expect(answer.status, answer.body).toBe(201);
  expect(mediaType(answer)).toBe('application/json');
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  expect(body['client_id']).toEqual(expect.stringMatching(/./));
  expect(body).not.toHaveProperty('error');
  if ('client_secret' in body) {
    expect(body['client_secret_expires_at']).toBeTypeOf('number');
    // an HMAC key of HS256 is as long as its hash (RFC 7518 3.2)
    expect(Buffer.byteLength(body['client_secret'] as string)).toBeGreaterThanOrEqual(32);
  }
  // without both, the suite could not delete what it registered
  expect(body['registration_client_uri']).toEqual(expect.stringMatching(/^https:\/\//));
  expect(body['registration_access_token']).toEqual(expect.stringMatching(/./));
  return body;
}
