// Sign-in limits of one account: delays, their end, known browsers, and the same answer to every refused attempt.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guesser, looks } from '../attacks/guesses.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent, withoutReference } from '../helpers/user-agent.ts';

const limit = 3;
const name = 'GATEHOUSE_KNOWN_BROWSER';
let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({
    fullPasswordWork: true,
    instances: 2,
    environment: { ...withoutLimits, LIMIT_SIGN_IN_PER_ACCOUNT: String(limit) },
  });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const sql = <Row extends object>(text: string, values: unknown[] = []) => service.database.sql<Row>(text, values);
const endDelay = (user: TestUser) => sql('UPDATE sign_in_failures SET held_until = now() WHERE sub = $1', [user.sub]);
const failuresOf = async (user: TestUser) =>
  (
    await sql<{ failures: number; delay: number }>(
      `SELECT failures, ceil(extract(epoch FROM greatest(held_until, now()) - now()) / 60)::int AS delay
         FROM sign_in_failures WHERE sub = $1`,
      [user.sub],
    )
  )[0];
const browsersOf = async (user: TestUser) =>
  (await sql<{ n: number }>('SELECT count(*)::int AS n FROM known_browsers WHERE sub = $1', [user.sub]))[0]!.n;
const signedIn = async (user: TestUser) => {
  const agent = new UserAgent(service);
  expect((await agent.signIn(user)).url).toMatch(/\/account$/);
  return agent;
};

test('the delays grow from one minute to fifteen, each allows one more attempt, and a sign-in ends them (security R63)', async () => {
  const user = await service.createUser();
  const guess = await guesser(service, user.username);
  for (const [index, minutes] of [0, 0, 1, 2, 4, 8, 15, 15].entries()) {
    const [{ begin }] = (await sql<{ begin: Date }>('SELECT now() AS begin')) as [{ begin: Date }];
    expect((await guess('a wrong password', { instance: (index + 1) % 2 })).status).toBe(400);
    // it began after this attempt did, and before now, however long the attempt took
    const [delay] = await sql<{ most: number; least: number }>(
      `SELECT extract(epoch FROM greatest(held_until, $2::timestamptz) - $2::timestamptz)::float8 AS most,
              extract(epoch FROM greatest(held_until, now()) - now())::float8 AS least
         FROM sign_in_failures WHERE sub = $1`,
      [user.sub, begin],
    );
    expect(delay!.most).toBeGreaterThanOrEqual(minutes * 60);
    expect(delay!.least).toBeLessThanOrEqual(minutes * 60);
    await endDelay(user);
  }
  expect((await guess(user.password)).status).toBe(303);
  expect(await failuresOf(user)).toBeUndefined();
});

test('a password that is tried in two forms counts as one attempt (security R62, reports A8)', async () => {
  const user = await service.createUser();
  const guess = await guesser(service, user.username);
  expect((await guess('Gru\u0308\u00dfe vom Hafen')).status).toBe(400);
  expect(await failuresOf(user)).toMatchObject({ failures: 1 });
});

test('after 100 successive failures unknown browsers are refused until a sign-in from a known browser or an administrator resets the account (security R63)', async () => {
  const user = await service.createUser();
  const knownBrowser = await signedIn(user);
  const guess = await guesser(service, user.username);
  const exhaust = async () => {
    await guess('a wrong password');
    await sql(`UPDATE sign_in_failures SET failures = 99, held_until = now() WHERE sub = $1`, [user.sub]);
    await guess('a wrong password');
    await endDelay(user);
    const { looked } = await looks(service, user.sub);
    expect((await guess(user.password)).status).toBe(400);
    expect((await looks(service, user.sub)).looked).toBe(looked);
    expect((await failuresOf(user))?.failures).toBe(100);
  };
  await exhaust();
  await sql('UPDATE sessions SET idle_expires_at = now() WHERE sub = $1', [user.sub]);
  expect((await knownBrowser.signIn(user)).url).toMatch(/\/account$/);
  // the account is available again, with the longest delay after each failure
  await guess('a wrong password');
  expect(await failuresOf(user)).toEqual({ failures: limit + 5, delay: 15 });
  const path = `${service.issuer}/admin/api/users/${user.sub}/sign-in-failures`;
  await exhaust();
  expect((await call(path, { method: 'DELETE', token })).status).toBe(204);
  expect((await guess(user.password)).status).toBe(303);
  await exhaust();
  const done = await runCommand(service, ['user', 'forget-failures', user.username]);
  expect(done.stdout).toBe(`Reset the failed sign-ins of ${user.username}.\n`);
  expect((await guess(user.password)).status).toBe(303);
  // no failures were left, so that no event is recorded
  expect((await call(path, { method: 'DELETE', token })).status).toBe(204);
  expect((await call(path.replace(user.sub, 'nobody'), { method: 'DELETE', token })).status).toBe(404);
  const events = await sql<{ actor: string }>(
    `SELECT actor FROM audit_events WHERE type = 'user.failures_forgotten' AND sub = $1 ORDER BY id`,
    [user.sub],
  );
  expect(events.map(({ actor }) => actor)).toEqual([expect.any(String), 'command line']);
});

test('an unknown name, a wrong password, a disabled user, a user without a password and a delayed account get the same status, body and headers, without a cookie (security R60)', async () => {
  const [user, delayed, disabled, without] = await Promise.all(Array.from({ length: 4 }, () => service.createUser()));
  await sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled!.sub]);
  await sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [without!.sub]);
  const guessDelayed = await guesser(service, delayed!.username);
  for (let times = 0; times < limit; times++) await guessDelayed('a wrong password');
  const agent = new UserAgent(service);
  const form = hiddenFields((await agent.get('/login')).body);
  const answers = [];
  for (const [username, password] of [
    ['nobody', 'a wrong password'],
    [user!.username, 'a wrong password'],
    [delayed!.username, 'a wrong password'],
    [delayed!.username, delayed!.password],
    [disabled!.username, disabled!.password],
    [without!.username, ''.padEnd(12, 'x')],
  ] as const) {
    const answer: Page = await agent.post('/login', { ...form, username, password });
    const headers = [...answer.headers].filter(([header]) => !['date', 'content-length'].includes(header));
    // each page has its own challenge for passkeys (Web Authentication 13.4.3)
    const body = withoutReference(answer)
      .replace(`value="${username}"`, '')
      .replace(/(?<=challenge&quot;:&quot;)[\w-]{70}(?=&quot;)/, '');
    answers.push({ status: answer.status, headers, body });
  }
  expect(answers[0]).toMatchObject({ status: 400, body: expect.stringContaining('Incorrect user name or password') });
  expect(answers[0]!.headers.map(([header]) => header)).not.toContain('set-cookie');
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(await looks(service, delayed!.sub)).toEqual({ looked: limit, refused: 2 });
});

test('failures at re-authentication delay the account, and failures elsewhere delay re-authentication (security R64, A79)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  agent.cookies.delete(name);
  const wrong = { ...user, password: 'a wrong password' };
  for (let times = 0; times < limit; times++) expect((await agent.signIn(wrong)).status).toBe(400);
  expect((await (await guesser(service, user.username))(user.password)).status).toBe(400);
  expect((await agent.signIn(user)).status).toBe(400);
  expect((await agent.get('/account')).status).toBe(200);
});

test('while failures cannot be counted, no password is checked and the answer is 503 (security R64)', async () => {
  const user = await service.createUser();
  const knownBrowser = await signedIn(user);
  await sql(`CREATE FUNCTION out_of_order() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53300'; END $$`);
  for (const table of ['sign_in_failures', 'known_browsers'])
    await sql(`CREATE TRIGGER out_of_order BEFORE INSERT OR UPDATE ON ${table} EXECUTE FUNCTION out_of_order()`);
  try {
    const guess = await guesser(service, user.username);
    for (const agent of [undefined, knownBrowser]) {
      const answer = await guess(user.password, agent && { agent });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(answer.headers.getSetCookie().join()).not.toContain('JSESSIONOPENID');
    }
  } finally {
    await sql('DROP FUNCTION out_of_order CASCADE');
  }
  await signedIn(user);
});

test('the cookie of a known browser is a separate secret, HttpOnly, SameSite=Lax, limited to the base path, stored as a digest and replaced at each sign-in (security R26, R50, R63)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const form = hiddenFields((await agent.get('/login')).body);
  const answer = await agent.post('/login', { ...form, username: user.username, password: user.password });
  const line = answer.headers.getSetCookie().find((one) => one.startsWith(`${name}_`))!;
  expect(line).toMatch(/=ghkb_[\w-]{57}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/);
  const first = agent.cookies.get(name)!;
  expect(first).not.toBe(agent.cookies.get('JSESSIONOPENID'));
  const stored = async () =>
    JSON.stringify(
      await sql('SELECT encode(token_hash, $2) AS hash, k::text AS row FROM known_browsers k WHERE sub = $1', [
        user.sub,
        'base64',
      ]),
    );
  const before = await stored();
  expect(before).not.toContain(first);
  await agent.signIn(user);
  expect(agent.cookies.get(name)).not.toBe(first);
  expect(await stored()).not.toBe(before);
  expect(await browsersOf(user)).toBe(1);
});

test('a browser is known for each user who signed in, until the entry expires, and each user has at most ten known browsers (security R63, R105)', async () => {
  const [user, other] = [await service.createUser(), await service.createUser()];
  const agent = await signedIn(user);
  await agent.signIn(other);
  const [guess] = [await guesser(service, user.username)];
  for (let times = 0; times < limit; times++) await guess('a wrong password');
  expect((await guess(user.password)).status).toBe(400);
  expect((await guess(user.password, { agent })).status).toBe(303);
  expect((await guess(user.password, { agent })).status).toBe(303);
  await sql('UPDATE known_browsers SET expires_at = now() WHERE sub = $1', [user.sub]);
  expect((await guess(user.password, { agent })).status).toBe(400);
  await sql(
    `INSERT INTO known_browsers (token_hash, sub, used_at, expires_at)
     SELECT sha256(n::text::bytea), $1, now() - n * interval '1 day', now() + interval '1 day' FROM generate_series(1, 20) n`,
    [other.sub],
  );
  await signedIn(other);
  expect(await browsersOf(other)).toBe(10);
});

test('a new password deletes all known browsers and failures, through the API and SQL; a stronger hash of the same password does not (security R63)', async () => {
  const argon2 = (await import('argon2')).default;
  const user = await service.createUser();
  await signedIn(user);
  const guess = await guesser(service, user.username);
  await guess('a wrong password');
  const weak = await argon2.hash(user.password, { memoryCost: 8192, timeCost: 2, parallelism: 1 });
  const body = { password: 'another horse battery staple' };
  await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body });
  expect([await browsersOf(user), await failuresOf(user)]).toEqual([0, undefined]);
  await sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, weak]);
  await service.store.knownBrowsers.remember(user.sub, Buffer.alloc(32), undefined, 60);
  const agent = await signedIn(user);
  const [row] = await sql<{ password_hash: string }>('SELECT password_hash FROM users WHERE sub = $1', [user.sub]);
  expect(row!.password_hash).not.toBe(weak);
  expect(await browsersOf(user)).toBe(2);
  await guess('a wrong password', { agent });
  await guess('a wrong password');
  await sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, weak]);
  expect([await browsersOf(user), await failuresOf(user)]).toEqual([0, undefined]);
});

test('without a trusted proxy the address in a request header is ignored (security R65)', async () => {
  const user = await service.createUser();
  const guess = await guesser(service, user.username);
  await guess('a wrong password', { network: 1 });
  const [row] = await sql<{ address: string }>('SELECT address FROM audit_events WHERE sub = $1 AND type = $2', [
    user.sub,
    'user.sign_in_failed',
  ]);
  expect(row!.address).toMatch(/^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/);
});

test('the cookie of a known browser causes the same queries for an existing and for an unknown user name (security R60)', async () => {
  const [owner, other] = [await service.createUser(), await service.createUser()];
  const browser = await signedIn(owner);
  const queriesFor = async (username: string) => {
    const guess = await guesser(service, username);
    const agent = new UserAgent(service);
    await agent.get('/login');
    agent.cookies.set(name, browser.cookies.get(name)!);
    const before = service.ofRequests.length;
    await guess('a wrong password', { agent });
    return service.ofRequests.slice(before).filter((sent) => !/^(signing|data)_keys\./.test(sent));
  };
  const known = await queriesFor(other.username);
  expect(known).toContain('known_browsers.knows');
  expect(await queriesFor('nobody-has-this-name')).toEqual(known);
});
