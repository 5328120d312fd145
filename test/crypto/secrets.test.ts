// Random identifiers and secrets have a fixed form.
import { expect, test } from 'vitest';
import { randomId, randomSecret } from '../../src/crypto/secrets.ts';

test('no identifier can be mistaken for an option on a command line (decisions section 8)', () => {
  const ids = Array.from({ length: 5000 }, randomId);
  expect(ids.filter((id) => !/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

test('a secret has 256 bits in base64url (security R40)', () => {
  expect(randomSecret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(randomSecret()).not.toBe(randomSecret());
});
