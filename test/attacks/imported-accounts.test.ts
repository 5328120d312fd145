// Compares the work of a sign-in for imported, local and unknown accounts: an unknown name takes as long as a known one.
import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { dummyHashAt, dummyHashLike } from '../../src/crypto/dummy-hashes.ts';
import { isUsableHash } from '../../src/crypto/password-hashing.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, LIMIT_SIGN_IN_PER_ACCOUNT: '2' } });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => service?.stop());

const hash = bcrypt.hashSync('a long password of elsewhere', 5);
/** Returns the kind of each hash that a sign-in computes, and its input. */
async function hashesOf(username: string, password = 'not the password'): Promise<string[]> {
  const seen: string[] = [];
  const { compare } = bcrypt;
  const { verify } = argon2;
  // the libraries still compute: the test only observes them
  vi.spyOn(bcrypt, 'compare').mockImplementation((async (data: string, stored: string) => {
    seen.push(stored);
    return compare(data, stored);
  }) as never);
  vi.spyOn(argon2, 'verify').mockImplementation(async (stored, plain) => {
    seen.push(stored);
    return verify(stored, plain);
  });
  await new UserAgent(service).signIn({ username, password });
  vi.restoreAllMocks();
  return seen;
}

test('an unknown name costs as much as a known one, with each kind of hash in its share, and the same hash each time (security R60)', async () => {
  for (let n = 0; n < 9; n++) await service.createUser({ username: `imported-${n}`, passwordHash: hash });
  await service.createUser({ username: 'native' });
  const names = Array.from({ length: 12 }, (_, n) => `nobody-${n}`);
  const kinds: string[] = [];
  for (const name of names) {
    const [first, again] = [await hashesOf(name), await hashesOf(name)];
    expect([first.length, again.length]).toEqual([1, 1]);
    expect(again[0]!.slice(0, 7)).toBe(first[0]!.slice(0, 7));
    expect(first[0]).not.toBe(hash);
    kinds.push(first[0]!.slice(0, 7));
  }
  // nine of ten names; chance fails this once in a million runs
  expect(kinds.filter((kind) => kind === '$2b$05$').length).toBeGreaterThan(4);
});

test('a throttled or disabled account costs as much as before, and the service does not check its hash (security R60)', async () => {
  const user = await service.createUser({ username: 'held', passwordHash: hash });
  for (let n = 0; n < 2; n++) expect(await hashesOf('held')).toEqual([hash]);
  const [held] = await hashesOf('held', 'a long password of elsewhere');
  expect([held!.slice(0, 7), held === hash]).toEqual(['$2b$05$', false]);
  await service.database.sql('DELETE FROM sign_in_failures');
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
  const [disabled] = await hashesOf('held', 'a long password of elsewhere');
  expect([disabled!.slice(0, 7), disabled === hash]).toEqual(['$2b$05$', false]);
});

test('a dummy hash has the kind and size of a real hash, and matches no password (security R60)', () => {
  const salt = 'QUJDREVGR0hJSktMTU5PUA';
  const digest = 'A'.repeat(43);
  for (const stored of [
    hash,
    `$scrypt$ln=4,r=8,p=1$${salt}$${digest}`,
    `$pbkdf2-sha256$29000$${salt}$${digest}`,
    `pbkdf2_sha256$600000$salt.$${digest}=`,
    `$argon2id$v=19$m=1024,t=1,p=1$${salt}$${digest}`,
  ]) {
    const decoy = dummyHashLike(stored);
    expect(isUsableHash(decoy), decoy).toBe(true);
    const shape = (text: string) => text.replace(/[A-Za-z0-9+/.]{20,}=?$/, '').replace(/[^$]+\$$/, '');
    expect([decoy.length, shape(decoy)]).toEqual([stored.length, shape(stored)]);
    expect(decoy).not.toBe(stored);
  }
  const kinds = [
    { sample: hash, share: 0.5 },
    { sample: hash.replace('$05$', '$12$'), share: 0.0001 },
  ];
  const at = (place: number) => dummyHashAt(place, kinds)?.slice(0, 7);
  expect([at(0), at(0.49), at(0.51), at(0.53), at(0.999)]).toEqual([
    '$2b$05$',
    '$2b$05$',
    '$2b$12$',
    undefined,
    undefined,
  ]);
});
