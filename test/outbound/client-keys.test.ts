// Tests how the published keys of clients and connections are read again: how often, and what a failure leaves.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createClientKeys } from '../../src/tokens/client-keys.ts';

const minute = 60_000;
const uri = 'https://keys.example/jwks';
let fetched: number;
let fails: boolean;
const keysOf = () =>
  createClientKeys(
    () => {
      fetched++;
      return fails ? Promise.reject(new Error('503')) : Promise.resolve(JSON.stringify({ keys: [] }));
    },
    { maxAge: 10 * minute, minAge: minute },
  );

beforeEach(() => {
  [fetched, fails] = [0, false];
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('an unknown key makes the service ask once a minute, also while the address fails, and the known keys stay in use (federation F11)', async () => {
  const keys = keysOf();
  const known = await keys({ jwks_uri: uri }, false);
  fails = true;
  vi.advanceTimersByTime(2 * minute);
  await expect(keys({ jwks_uri: uri }, true)).rejects.toThrow('503');
  expect(await keys({ jwks_uri: uri }, false)).toBe(known);
  // the second one within the minute gets what is known
  expect(await keys({ jwks_uri: uri }, true)).toBe(known);
  expect(fetched).toBe(2);
  vi.advanceTimersByTime(9 * minute);
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  expect(fetched).toBe(3);
});

test('after a failure with no known keys the address is asked again a minute later (federation F11)', async () => {
  const keys = keysOf();
  fails = true;
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  await expect(keys({ jwks_uri: uri }, false)).rejects.toThrow('503');
  expect(fetched).toBe(1);
  fails = false;
  vi.advanceTimersByTime(minute);
  expect(await keys({ jwks_uri: uri }, false)).toEqual({ keys: [] });
});
