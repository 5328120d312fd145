// One password is one text, whatever keyboard it was typed on: NFKC, at every entrance that sets or checks a password.
import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createPasswordHashing } from '../../src/crypto/password-hashing.ts';
import { createFirstAdministrator } from '../../src/start/first-administrator.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { call } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const text = 'Grüße-vom-Hafen①';
/** The same text as other keyboards and systems write it. */
const [composed, decomposed, compatible] = [text.normalize('NFC'), text.normalize('NFD'), text.normalize('NFKC')];
const forms = [composed, decomposed, compatible];
const bed = createMailBed();
const { newUser, forgotten, order, linkTo, follow } = bed;
let service: TestService;
let admin: string;
let made = 0;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

const nextName = () => `normal-${++made}`;
async function takesEveryForm(username: string) {
  for (const password of forms) expect(await bed.takes({ username }, password), JSON.stringify(password)).toBe(true);
  expect(await bed.takes({ username }, `${composed}.`)).toBe(false);
}
const api = (path: string, options: Parameters<typeof call>[1]) =>
  call(`${service.issuer}/admin/api/users${path}`, { token: admin, ...options });
const hashOf = async (username: string) => (await service.store.users.findByUsername(username))!.passwordHash!;

test.each([['composed', composed] as const, ['decomposed', decomposed] as const])(
  'a password that was set %s by any entrance signs in in each form (security R59, reports A8)',
  async (_form, password) => {
    const byCommand = nextName();
    const created = ['user', 'create', '--username', byCommand, '--password-stdin'];
    expect((await runCommand(service, created, { stdin: password })).code).toBe(0);
    await takesEveryForm(byCommand);

    const changed = (await newUser()).username;
    const set = await runCommand(service, ['user', 'set-password', changed, '--password-stdin'], { stdin: password });
    expect(set.code).toBe(0);
    await takesEveryForm(changed);

    const byRoute = nextName();
    const answer = await api('', { body: { username: byRoute, password } });
    expect(answer.status).toBe(201);
    await takesEveryForm(byRoute);

    const patched = await newUser();
    expect((await api(`/${patched.sub}`, { method: 'PATCH', body: { password } })).status).toBe(200);
    await takesEveryForm(patched.username);

    const email = `${nextName()}@example.com`;
    const invited = nextName();
    expect((await api('', { body: { username: invited, email, invite: true } })).status).toBe(201);
    await follow(await linkTo(email, /invited/), { new_password: password });
    await takesEveryForm(invited);

    const reset = await newUser();
    await forgotten(reset.username);
    await follow(await linkTo(reset.email, /Reset your password/), { new_password: password });
    await takesEveryForm(reset.username);

    const signsUp = nextName();
    await order('/sign-up', { email: `${signsUp}@example.com` });
    const link = await linkTo(`${signsUp}@example.com`, /Confirm|account/);
    await follow(link, { username: signsUp, new_password: password });
    await takesEveryForm(signsUp);

    const own = await newUser();
    const agent = new UserAgent(service);
    await agent.signIn(own);
    const page = await agent.get('/account/password');
    await agent.submit(page, { current_password: own.password, new_password: password });
    await takesEveryForm(own.username);
  },
  60_000,
);

test('an administrator sets a password in the console, which signs in in each form (security R59, reports A8)', async () => {
  const user = await newUser();
  const administrator = await newUser({ admin: true });
  const { agent } = await openConsole(service, administrator);
  const address = `/admin/users/${user.sub}/password`;
  const form = formOf(await agent.get(address), address);
  await agent.post(address, { ...form, act: 'set', new_password: decomposed });
  await takesEveryForm(user.username);
  const username = nextName();
  const empty = formOf(await agent.get('/admin/users/new'), '/admin/users/new');
  await agent.post('/admin/users/new', { ...empty, username, access: 'password', password: decomposed });
  await takesEveryForm(username);
});

test('each page that checks a password takes it in each form, and calls the same password unchanged (security R59, reports A8)', async () => {
  const user = await newUser({ password: composed });
  const agent = new UserAgent(service);
  await agent.signIn({ username: user.username, password: decomposed });
  const page = await agent.get('/account/password');
  const same = await agent.submit(page, { current_password: composed, new_password: decomposed });
  expect([same.status, same.body]).toEqual([400, expect.stringMatching(/same|different|current password/i)]);
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '1 hour' WHERE sub = $1`, [user.sub]);
  const asked = await agent.follow(await agent.get('/account/email'));
  expect(asked.url).toContain('/login');
  const confirmed = await agent.submit(asked, { username: user.username, password: decomposed });
  expect(confirmed.url).toContain('/account/email');
});

test('the bounds are those of the normalized password (security R59, reports A8)', async () => {
  // twelve letters as they were typed, and six that are one each
  const six = 'éüöäñõ'.normalize('NFD');
  expect([...six]).toHaveLength(12);
  expect((await api('', { body: { username: nextName(), password: six } })).status).toBe(400);
  const long = 'é-ü-ö-ä-x9'.repeat(12).normalize('NFD');
  expect([...long].length).toBeGreaterThan(128);
  expect((await api('', { body: { username: nextName(), password: long } })).status).toBe(201);
  // one character that is eighteen normalized
  expect((await api('', { body: { username: nextName(), password: `x9-kV4.q${'ﷺ'.repeat(7)}` } })).status).toBe(400);
});

test('the first administrator signs in in each form of ADMIN_PASSWORD, whose bounds are those of the normalized one (security R59, reports A8)', async () => {
  const database = await createTestDatabase();
  const other = await startTestService({ database });
  const settings = { DATABASE_URL: database.url, BASE_URL: other.issuer, SECRET_KEY: other.secretKey };
  const config = loadConfig({ ...settings, ADMIN_USERNAME: 'first', ADMIN_PASSWORD: decomposed });
  await createFirstAdministrator(config, other.store);
  for (const password of forms)
    expect((await new UserAgent(other).signIn({ username: 'first', password })).url).toMatch(/\/account$/);
  await other.stop();
  expect(() => loadConfig({ ...settings, ADMIN_PASSWORD: 'éüöäñõ'.normalize('NFD') })).toThrow('ADMIN_PASSWORD');
});

test('a hash of the text as typed still signs in, and is replaced by one of the normalized password (security R59, reports A8)', async () => {
  for (const stored of [
    await argon2.hash(decomposed, { type: argon2.argon2id, memoryCost: 1024, timeCost: 1, parallelism: 1 }),
    bcrypt.hashSync(decomposed, 4),
  ]) {
    const user = await newUser();
    await service.database.sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, stored]);
    // no other form can match what was hashed
    expect(await bed.takes(user, composed)).toBe(false);
    expect(await bed.takes(user, decomposed)).toBe(true);
    expect(await hashOf(user.username)).not.toBe(stored);
    await takesEveryForm(user.username);
  }
});

test('a bcrypt hash that 72 bytes or more match is never replaced: what follows them may be anything (reports A8)', async () => {
  const password = 'x9 '.repeat(24);
  expect(Buffer.byteLength(password)).toBe(72);
  const user = await newUser();
  const stored = bcrypt.hashSync(`${password} and the end`, 4);
  await service.database.sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, stored]);
  for (const typed of [password, `${password} and something else`, `${password} and the end`]) {
    expect(await bed.takes(user, typed)).toBe(true);
    expect(await hashOf(user.username)).toBe(stored);
  }
  const short = await newUser();
  await service.database.sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [
    short.sub,
    bcrypt.hashSync(password.slice(1), 4),
  ]);
  expect(await bed.takes(short, password.slice(1))).toBe(true);
  expect(await hashOf(short.username)).toMatch(/^\$argon2id\$/);
});

test('a password that NFKC changes costs two hashes, whether the account exists or not (security R60, reports A8)', async () => {
  const hashing = createPasswordHashing({ memoryCost: 1024, timeCost: 1 });
  const verify = vi.spyOn(argon2, 'verify');
  const stored = await hashing.hash('something else here');
  for (const [typed, hashes] of [
    [decomposed, 2],
    [compatible, 1],
  ] as const)
    for (const known of [stored, undefined]) {
      verify.mockClear();
      expect(await hashing.verify(known, typed)).toBeUndefined();
      expect(verify).toHaveBeenCalledTimes(hashes);
    }
  verify.mockRestore();
});
