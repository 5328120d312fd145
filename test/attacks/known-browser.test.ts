// Locks a user out by guessing: the user still signs in from a known browser, and the attacker does not.
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { databaseLimits } from '../../src/database/deadline.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';
import { attack } from './attack.ts';
import { guesser, looks } from './guesses.ts';

const limit = 5;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: {
      LIMIT_SIGN_IN_PER_ACCOUNT: String(limit),
      LIMIT_SIGN_IN_PER_NETWORK: '12',
      TRUST_PROXY: '127.0.0.0/8,::1',
    },
  });
});
afterAll(() => service?.stop());

test('50 concurrent guesses on two instances check no more passwords than the limit, and then the user signs in from a known browser (security R62, F4)', async () => {
  const user = await service.createUser();
  const home = new UserAgent(service);
  await home.signIn(user);
  const guess = await guesser(service, user.username);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => guess('a wrong password', { network: 300 + n, instance: n % 2 })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 400));
  expect(await looks(service, user.sub)).toEqual({ looked: limit, refused: 50 - limit });
  expect((await guess(user.password, { network: 400 })).status).toBe(400);
  expect((await guess(user.password, { agent: home, network: 401 })).status).toBe(303);
});

test('forty unknown browsers that sign in at once with the right password all succeed, and none of their attempts stays counted (security R62)', async () => {
  const user = await service.createUser();
  const guess = await guesser(service, user.username);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => guess(user.password, { network: 600 + n })));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 303));
  expect(await looks(service, user.sub)).toEqual({ looked: 0, refused: 0 });
  expect(await service.database.sql('SELECT 1 FROM sign_in_failures WHERE sub = $1', [user.sub])).toEqual([]);
});

test('a sign-in that takes long does not count as a failure for the sign-ins that arrive meanwhile (security R62)', async () => {
  const slow = await startTestService({ environment: { LIMIT_SIGN_IN_PER_ACCOUNT: '2' } });
  try {
    const user = await slow.createUser();
    const guess = await guesser(slow, user.username);
    const underWay = () => slow.statements.filter((name) => name === 'sign_ins.insert').length;
    const tries: Promise<Page>[] = [];
    await slow.store.transaction(async ({ users }) => {
      await users.lock(user.sub);
      for (let count = 1; count <= 4; count++) {
        const answer = guess(user.password);
        tries.push(answer);
        await Promise.race([answer, vi.waitUntil(() => underWay() === count, { timeout: 10_000 })]);
      }
    });
    expect((await Promise.all(tries)).map(({ status }) => status)).toEqual([303, 303, 303, 303]);
  } finally {
    await slow.stop();
  }
});

test('when the database hangs, all attempts that wait for one another are refused at once (security R108)', async () => {
  const user = await service.createUser();
  const guess = await guesser(service, user.username);
  await guess('a wrong password', { network: 700 });
  const other = new pg.Client(service.database.connection);
  await other.connect();
  const { deadline } = databaseLimits;
  try {
    // the deadline of the service, which other tests extend
    databaseLimits.deadline = 2_500;
    await other.query('BEGIN');
    await other.query('SELECT FROM sign_in_failures WHERE sub = $1 FOR UPDATE', [user.sub]);
    const before = service.statements.length;
    const tries = Array.from({ length: 4 }, (_, n) => guess(user.password, { network: 701 + n }));
    expect((await Promise.all(tries)).map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    // one attempt waited for the database, and the others did not wait again
    const asked = service.statements.slice(before).filter((name) => name === 'sign_in_failures.reserve');
    expect(asked).toHaveLength(1);
  } finally {
    databaseLimits.deadline = deadline;
    await other.end();
  }
});

test('a stolen cookie of a known browser signs in no user, has no effect on another account, and allows few guesses (security R63)', async () => {
  const [alice, bob] = [await service.createUser(), await service.createUser()];
  const home = new UserAgent(service);
  await home.signIn(alice);
  const name = 'GATEHOUSE_KNOWN_BROWSER';
  const attacker = () => Object.assign(new UserAgent(service), { cookies: new Map([[name, home.cookies.get(name)!]]) });
  expect((await attacker().get('/account')).location).toContain('/login');
  const [guess, other] = [await guesser(service, alice.username), await guesser(service, bob.username)];
  for (let times = 0; times < limit; times++) await other('a wrong password', { network: 500 });
  expect((await other(bob.password, { agent: attacker(), network: 501 })).status).toBe(400);
  for (let times = 0; times < limit; times++) await guess('a wrong password', { agent: attacker(), network: 502 });
  expect((await guess(alice.password, { agent: attacker(), network: 502 })).status).toBe(400);
  expect(await looks(service, alice.sub)).toEqual({ looked: limit, refused: 1 });
  // other browsers are not delayed, and the cookie loses its use: its delays grow until it allows no more than a new browser
  for (let pause = 0; pause < 5; pause++) {
    await service.database.sql('UPDATE known_browsers SET held_until = now() WHERE sub = $1', [alice.sub]);
    await guess('a wrong password', { agent: attacker(), network: 503 });
  }
  expect(await looks(service, alice.sub)).toEqual({ looked: limit + 5, refused: 1 });
  for (let times = 0; times < limit; times++) await guess('a wrong password', { agent: attacker(), network: 504 });
  await service.database.sql('UPDATE known_browsers SET held_until = now() WHERE sub = $1', [alice.sub]);
  expect((await guess(alice.password, { agent: attacker(), network: 505 })).status).toBe(400);
});

attack(
  {
    id: 'A78',
    name: 'Lock-out as an attack',
    request:
      'An attacker exhausts the limits of alice, of her network and of the whole service from many networks; alice signs in, in a browser where she has signed in before.',
    answer: 'Alice signs in from her known browser; the attacker stays throttled, also with the right password',
    source: 'GHSA-cq42-vhv7-xr7p (CVE-2024-1722), NIST SP 800-63B-4 3.2.2',
    requirements: ['R63'],
  },
  async () => {
    const alice = await service.createUser();
    const [home, work] = [new UserAgent(service), new UserAgent(service)];
    for (const browser of [home, work]) await browser.signIn(alice);
    await home.submit(await home.get('/logout'), { decision: 'sign-out' });
    expect((await home.get('/account')).location).toContain('/login');
    const guess = await guesser(service, alice.username);
    const ownNetwork = 1;
    for (let times = 0; times < limit; times++) {
      const instance = times % 2;
      expect((await guess('a wrong password', { network: 100 + times, instance })).status).toBe(400);
    }
    expect((await guess(alice.password, { network: 200 })).status).toBe(400);
    // the network that she shares with the attacker, then everything that unknown browsers may try in a minute
    const crowd = await guesser(service, 'nobody at all');
    const tries = await Promise.all(Array.from({ length: 13 }, () => crowd('x', { network: ownNetwork })));
    expect(tries.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await guess(alice.password, { agent: home, network: ownNetwork, instance: 1 })).status).toBe(303);
    expect((await home.get('/account')).status).toBe(200);
    expect((await guess(alice.password, { network: 201 })).status).toBe(400);
    await service.database.sql(`UPDATE rate_limits SET points = 1000 WHERE key LIKE 'signInFailures%'`);
    expect((await crowd('x', { network: 202 })).status).toBe(503);
    expect((await guess(alice.password, { agent: work, network: ownNetwork })).status).toBe(303);
  },
);
