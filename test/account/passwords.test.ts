// New passwords must not be common, derived from names or known from a breach, and stored hashes have a cost limit.
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isCommonPassword } from '../../src/crypto/common-passwords.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, type Answer, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let ranges: Server;
let address: string;
/** The requests to the range service, and the passwords that it knows, with their counts. */
let requests: { url: string | undefined; padding: string | string[] | undefined }[];
let breached: Record<string, number>;
let broken: boolean;
const hashOf = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase();
beforeAll(async () => {
  ranges = createServer((request, response) => {
    requests.push({ url: request.url, padding: request.headers['add-padding'] });
    const known = Object.entries(breached).map(([password, count]) => `${hashOf(password).slice(5)}:${count}`);
    // as long as a range may be, with a byte order mark
    const padding = Array.from({ length: 2500 }, (_, n) => `${hashOf(String(n)).slice(5)}:0`);
    response
      .writeHead(broken ? 500 : 200, { 'content-type': 'text/plain' })
      .end(`\uFEFF${[...known, ...padding].join('\r\n')}`);
  });
  await new Promise<void>((resolve) => ranges.listen(0, '127.0.0.1', resolve));
  const { port } = ranges.address() as AddressInfo;
  address = `http://127.0.0.1:${port}/range/`;
  service = await startTestService({
    fullPasswordWork: true,
    environment: { ...withoutLimits, PASSWORD_BREACH_CHECK: address, OUTBOUND_ALLOW: `127.0.0.1:${port}` },
  });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  ranges?.close();
});
beforeEach(() => {
  [requests, breached, broken] = [[], {}, false];
});

let userCount = 0;
const create = (password: string, username = `person-${userCount++}`): Promise<Answer> =>
  call(`${service.issuer}/admin/api/users`, {
    token,
    body: { username, email: `${username}@harbour.example`, password },
  });
const change = (sub: string, password: string): Promise<Answer> =>
  call(`${service.issuer}/admin/api/users/${sub}`, { method: 'PATCH', token, body: { password } });

test('12 to 128 characters of any kind are accepted unchanged, and others are refused (security R59, A80)', async () => {
  for (const password of [
    '🙂🌊⚓🐟🦀🐙🚢⛵🏝🌅🌙x',
    'Ünïcödé-ïs-fïné',
    `${'x9 '.repeat(42)}qz`,
    '  inner  and outer space  ',
  ]) {
    const username = `person-${userCount++}`;
    expect((await create(password, username)).status).toBe(201);
    expect((await new UserAgent(service).signIn({ username, password })).url).toMatch(/\/account$/);
  }
  for (const password of [
    'x9-eleven-l',
    `${'x9 '.repeat(42)}qzv`,
    'x9-with-a-\0-nul-inside',
    'x9-lone-\ud800-surrogate',
  ])
    expect(await create(password)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});

test('passwords of common words, names or keyboard rows are refused by routes and commands (security R59)', async () => {
  const user = await service.createUser({ username: 'hildegard', email: 'hilde@harbour.example' });
  for (const password of [
    'Password1234',
    'P@ssw0rd2026!',
    'qwertyuiop12',
    '123456789012',
    'aaaaaaaaaaaa',
    'Letmein-dragon',
    'gatehouse2026',
    'x7kx7kx7kx7k',
  ])
    for (const answer of [await create(password), await change(user.sub, password)])
      expect(answer).toMatchObject({
        status: 400,
        body: { error_description: expect.stringContaining('choose another') },
      });
  for (const password of ['Hildegard2026!', 'hildegard-hildegard', 'hilde-harbour'])
    expect((await change(user.sub, password)).status, password).toBe(400);
  expect((await create('Hildegard2026!')).status).toBe(201);
  const command = await runCommand(service, ['user', 'set-password', 'hildegard', '--password-stdin'], {
    stdin: 'Hildegard2026!',
  });
  expect([command.code, command.stderr]).toEqual([1, expect.stringContaining('choose another')]);
});

test('sentences and random passwords are accepted (security R59)', () => {
  for (const password of [
    'correct horse battery staple',
    'a long enough password',
    'my dog ate three green umbrellas',
    'kX4-vQ9.tZ2b',
    'Tr0ub4dor&3-and-more',
  ])
    expect(isCommonPassword(password, ['alice', 'gatehouse']), password).toBe(false);
});

test("only five digits of a password's digest are sent to the range service, and a known password is refused (security R59)", async () => {
  const password = 'an umbrella that leaked';
  breached = { [password]: 3, 'an umbrella that did not': 0 };
  expect(await create(password)).toMatchObject({
    status: 400,
    body: { error_description: 'the password appeared in a data breach: choose another' },
  });
  expect(requests).toEqual([{ url: `/range/${hashOf(password).slice(0, 5)}`, padding: 'true' }]);
  // padding entries have a count of 0
  expect((await create('an umbrella that did not')).status).toBe(201);
});

test('when the range service does not answer, the built-in list decides, and the log says so (security R59)', async () => {
  broken = true;
  service.logs.length = 0;
  expect((await create('an umbrella in the rain')).status).toBe(201);
  expect((await create('Password1234')).status).toBe(400);
  const lines = service.logs.filter(({ msg }) => /range service .* did not respond/.test(String(msg)));
  expect(lines).toHaveLength(1);
  const digits = hashOf('an umbrella in the rain').slice(0, 5);
  for (const secret of ['umbrella', digits]) expect(JSON.stringify(service.logs)).not.toContain(secret);
  const off = { stdin: 'Password1234', environment: { PASSWORD_BREACH_CHECK: 'off' } };
  expect((await runCommand(service, ['user', 'create', '--username', 'careless', '--password-stdin'], off)).code).toBe(
    0,
  );
});

test('a stored hash that costs too much is not computed, and is logged; one within the limits is upgraded (security R58)', async () => {
  const argon2 = (await import('argon2')).default;
  const user = await service.createUser();
  const store = (hash: string) =>
    service.database.sql('UPDATE users SET password_hash = $2 WHERE sub = $1', [user.sub, hash]);
  const signIn = async () => (await new UserAgent(service).signIn(user)).status;
  const expensive = await argon2.hash(user.password, { memoryCost: 131_080, timeCost: 1, parallelism: 1 });
  await store(expensive);
  expect(await signIn()).toBe(400);
  await store(expensive.replace('m=131080', `m=${4 * 1024 * 1024}`).replace('t=1', 't=4000000000'));
  expect(await signIn()).toBe(400);
  expect(
    service.logs.filter(({ msg, sub }) => sub === user.sub && /too costly to verify/.test(String(msg))),
  ).toHaveLength(2);
  await store(await argon2.hash(user.password, { memoryCost: 65_536, timeCost: 1, parallelism: 2 }));
  expect(await signIn()).toBe(200);
  const [row] = await service.database.sql<{ password_hash: string }>(
    'SELECT password_hash FROM users WHERE sub = $1',
    [user.sub],
  );
  expect(row!.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,(p=1,t=2|t=2,p=1)\$/);
});
