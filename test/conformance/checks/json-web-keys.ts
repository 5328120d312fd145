// Checks the key set at jwks_uri: public, usable, and each key named once (RFC 7517).
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { JWK } from 'jose';
import { expect } from 'vitest';

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const needed: Readonly<Record<string, readonly string[]>> = { RSA: ['n', 'e'], EC: ['x', 'y'], OKP: ['x', 'crv'] };

export function checkKeySet(text: string): JWK[] {
  const { keys } = JSON.parse(text) as { keys: JWK[] };
  expect(Array.isArray(keys), 'keys is an array').toBe(true);
  expect(keys.length).toBeGreaterThan(0);
  for (const key of keys) {
    expect(key.kid?.trim(), 'kid').toBeTruthy();
    expect(Object.keys(needed), 'kty').toContain(key.kty);
    expect(
      privateMembers.filter((member) => member in key),
      `private members of ${key.kid}`,
    ).toEqual([]);
    for (const member of needed[key.kty!]!) {
      const value = (key as Record<string, unknown>)[member];
      expect(value, `${member} of ${key.kid}`).toEqual(expect.stringMatching(/^[A-Za-z0-9_-]+$/));
    }
    const parsed = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    if (key.x5c) expect(key.x5c.length, 'x5c').toBeGreaterThan(0);
    expect(parsed.type).toBe('public');
    if (key.use !== undefined) expect(['sig', 'enc']).toContain(key.use);
  }
  const kids = keys.map(({ kid }) => kid);
  expect(new Set(kids).size, 'kids are unique over the whole set').toBe(kids.length);
  return keys;
}
