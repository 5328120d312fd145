// Tests how the published keys of clients and connections are read again: how often, and what a failure leaves.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createClientKeys, ofProviders } from '../../src/tokens/client-keys.ts';

const minute = 60_000;
const uri = 'https://keys.example/jwks';
let fetched: number;
let fails: boolean;
let published: unknown[];
const keysOf = () =>
  createClientKeys(() => {
    fetched++;
    return fails ? Promise.reject(new Error('503')) : Promise.resolve(JSON.stringify({ keys: published }));
  }, ofProviders);

beforeEach(() => {
  [fetched, fails, published] = [0, false, []];
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('an unknown key makes the service ask once in ten seconds, also while the address fails, and the known keys stay in use (federation F11, reports C6)', async () => {
  const keys = keysOf();
  const known = await keys({ jwks_uri: uri }, false);
  fails = true;
  vi.advanceTimersByTime(2 * minute);
  await expect(keys({ jwks_uri: uri }, true)).rejects.toThrow('503');
  expect(await keys({ jwks_uri: uri }, false)).toBe(known);
  // the second one within ten seconds gets what is known
  expect(await keys({ jwks_uri: uri }, true)).toBe(known);
  expect(fetched).toBe(2);
  vi.advanceTimersByTime(9 * minute);
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  expect(fetched).toBe(3);
});

test('after a failure with no known keys the address is asked again ten seconds later (federation F11, reports C6)', async () => {
  const keys = keysOf();
  fails = true;
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  expect(fetched).toBe(1);
  fails = false;
  vi.advanceTimersByTime(10_000);
  expect(await keys({ jwks_uri: uri }, false)).toEqual({ keys: [] });
});

test('an unknown key is looked for at once after the regular reading, and then each ten seconds (reports C6)', async () => {
  const keys = keysOf();
  await keys({ jwks_uri: uri }, false);
  await keys({ jwks_uri: uri }, true);
  expect(fetched).toBe(2);
  for (let time = 0; time < 5; time++) await keys({ jwks_uri: uri }, true);
  expect(fetched).toBe(2);
  vi.advanceTimersByTime(10_000);
  await keys({ jwks_uri: uri }, true);
  expect(fetched).toBe(3);
});

test('a provider may publish a hundred keys that verify signatures, and any number of others (reports C6)', async () => {
  const key = (kid: number) => ({ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), kid: String(kid) });
  const usable = Array.from({ length: 100 }, (_, kid) => key(kid));
  const others = Array.from({ length: 150 }, (_, kid) => [
    { ...key(kid), use: 'enc' },
    { kty: 'oct', k: 'AAAA', kid: String(kid) },
    { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
    null,
  ]).flat();
  published = [...others, ...usable];
  expect((await keysOf()({ jwks_uri: uri }, false)).keys).toEqual(usable);
  published.push(key(100));
  await expect(keysOf()({ jwks_uri: uri }, false)).rejects.toThrow('more than 100 keys');
});
