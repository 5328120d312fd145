// Users are imported and exported by admin route and command line, with a report on each bad row.
import { scryptSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import bcrypt from 'bcrypt';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let folder: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-users-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await service?.stop();
});

type Line = Record<string, unknown>;
const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

async function importUsers(type: string, body: string | Buffer, query = '') {
  const answer = await fetch(`${service.issuer}/admin/api/users/import${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const text = await answer.text();
  const report = answer.status === 200 ? lines(text) : [];
  return {
    status: answer.status,
    text,
    refused: report.filter((line) => 'reason' in line),
    progress: report.filter((line) => 'line' in line && !('reason' in line)),
    done: report.at(-1),
  };
}
const counts = (created: number, updated: number, unchanged: number, refused: number) => ({
  done: true,
  created,
  updated,
  unchanged,
  refused,
});
const found = async (username: string) => (await service.store.users.findByUsername(username))!;

test('an import of ten thousand rows of CSV creates the users, names bad rows by line and column, and changes nothing the second time (pages, imports)', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => {
    if (index === 10) return `,x@example.com,true,enabled,staff,`; // no name
    if (index === 5_000) return `csv5000,not an address,true,enabled,staff,`;
    if (index === 5_001) return `csv5001,e5001@example.com,perhaps,enabled,staff,`;
    if (index === 5_002) return `csv5002,e5002@example.com,true,gone,staff,`;
    if (index === 5_003) return `csv5003,E7@EXAMPLE.com,true,enabled,staff,`; // the address of csv7
    if (index === 5_004) return `CSV9,e5004@example.com,true,enabled,staff,`; // the name of csv9
    if (index === 5_005) return `csv5005,too,few`;
    return `csv${index},e${index}@example.com,true,${index % 10 ? 'enabled' : 'disabled'},staff;"all ${index % 7}",Name ${index}`.replace(
      /;"all (\d)"/,
      ';all $1',
    );
  });
  const file = `\ufeffusername,email,email_verified,status,groups,name\r\n${rows.join('\r\n')}\r\n`;
  const first = await importUsers('text/csv; charset=utf-8', file);
  expect(first.status).toBe(200);
  expect(first.refused.map(({ line, column }) => [line, column]).sort((a, b) => Number(a[0]) - Number(b[0]))).toEqual([
    [12, 'username'],
    [5_002, 'email'],
    [5_003, 'email_verified'],
    [5_004, 'status'],
    [5_005, 'email'],
    [5_006, 'username'],
    [5_007, ''],
  ]);
  expect(first.refused.find(({ line }) => line === 5_006)).toMatchObject({ reason: 'duplicates an earlier row' });
  expect(first.done).toMatchObject({ done: true, created: 9_993, unchanged: 0, refused: 7 });
  expect(first.progress.length).toBeGreaterThan(40);
  expect(await found('csv42')).toMatchObject({
    email: 'e42@example.com',
    emailVerified: true,
    groups: ['staff', 'all 0'],
    claims: { name: 'Name 42' },
    passwordHash: undefined,
  });
  expect(await found('csv40')).toMatchObject({ status: 'disabled' });
  expect((await service.store.groups.find('staff'))!.members).toBe(9_993);
  const [audit] = await service.database.sql<{ made: number; sql: number }>(
    `SELECT count(*)::int AS made, count(*) FILTER (WHERE actor = 'sql')::int AS sql FROM audit_events
      WHERE type = 'user.created' AND sub IN (SELECT sub FROM users WHERE username LIKE 'csv%')`,
  );
  expect(audit).toEqual({ made: 9_993, sql: 0 });
  const again = await importUsers('text/csv', file);
  expect(again.done).toMatchObject({ created: 0, updated: 0, unchanged: 9_993, refused: 7 });
});

test('an import of JSON Lines names each bad line, and its report repeats no value (pages, imports)', async () => {
  const good = (username: string, more: Line = {}) => JSON.stringify({ username, ...more });
  const file = [
    good('line1', {
      email: 'l1@example.com',
      groups: ['b', 'a', 'b'],
      claims: { address: { country: 'NL' } },
      nickname: 'L',
    }),
    '{"username":',
    '[]',
    '"line"',
    '',
    good('line6', { password_hash: 'hunter2-secret' }),
    good('line7', { colour: 'red' }),
    good('line8', { claims: { email: 'x@example.com' } }),
    good('line9', { groups: 'staff' }),
    good('line10', { admin: true }),
    good('line11', { sub: 'not a sub' }),
    good('line12', { name: 'x'.repeat(70_000) }),
    good('line13', { username: 'a\u0000b' }),
    '{"username":"line14","__proto__":{"admin":true}}',
    good('line15', { birthdate: 'yesterday-secret' }),
    good('line16', { sub: 'kept-sub' }),
    '{"username":"line17"}',
  ].join('\n');
  const report = await importUsers('application/jsonl', file);
  expect(report.refused.map(({ line, column }) => [line, column])).toEqual([
    [2, ''],
    [3, ''],
    [4, ''],
    [6, 'password_hash'],
    [7, 'colour'],
    [8, 'email'],
    [9, 'groups'],
    [10, 'admin'],
    [11, 'sub'],
    [12, ''],
    [13, 'username'],
    [14, '__proto__'],
    [15, 'birthdate'],
  ]);
  expect(report.done).toEqual(counts(3, 0, 0, 13));
  expect(report.text).not.toMatch(/secret|hunter2/);
  expect(await found('line1')).toMatchObject({
    groups: ['b', 'a'],
    claims: { address: { country: 'NL' }, nickname: 'L' },
  });
  expect(await found('line16')).toMatchObject({ sub: 'kept-sub' });
  expect(JSON.stringify(service.logs)).not.toContain('hunter2-secret');
});

test('an update changes the given members, keeps passwords, and changes administrators only if allowed (pages, imports)', async () => {
  const ada = await service.createUser({
    username: 'up-ada',
    email: 'up@example.com',
    claims: { name: 'Ada', gender: 'f' },
  });
  const root = await service.createUser({ username: 'up-root', admin: true });
  await service.createUser({ username: 'up-last', admin: true });
  const bcrypted = bcrypt.hashSync('another password', 4);
  const file = [
    { username: 'UP-ADA', groups: ['new'], name: 'Ada L.', password_hash: bcrypted, status: 'disabled' },
    { username: 'up-root', status: 'disabled' },
    { username: 'up-new' },
  ]
    .map((row) => JSON.stringify(row))
    .join('\n');
  expect((await importUsers('application/jsonl', file, '?dry_run=true&update=true')).done).toEqual(counts(1, 1, 0, 1));
  expect(await service.store.users.findByUsername('up-new')).toBeUndefined();
  expect((await importUsers('application/jsonl', file)).done).toEqual(counts(1, 0, 2, 0));
  expect((await importUsers('application/jsonl', file, '?update=true')).done).toEqual(counts(0, 1, 1, 1));
  expect(await found('up-ada')).toMatchObject({
    username: 'up-ada',
    email: 'up@example.com',
    status: 'disabled',
    groups: ['new'],
    claims: { name: 'Ada L.', gender: 'f' },
    passwordHash: ada.passwordHash,
  });
  expect((await importUsers('application/jsonl', file, '?update=true')).done).toEqual(counts(0, 0, 2, 1));
  const power = JSON.stringify({ username: 'up-root', status: 'disabled' });
  expect((await importUsers('application/jsonl', power, '?update=true&with_admins=true')).done).toEqual(
    counts(0, 1, 0, 0),
  );
  expect((await found(root.username)).status).toBe('disabled');
  const last = JSON.stringify({ username: 'up-last', admin: false });
  const refused = await runCommand(service, ['user', 'import', '-', '--format', 'jsonl', '--update', '--with-admins'], {
    stdin: last,
  });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('last enabled administrator') });
});

test.each([
  ['bcrypt', bcrypt.hashSync('taken over from there', 4)],
  ['bcrypt of PHP', bcrypt.hashSync('taken over from there', 4).replace('$2b$', '$2y$')],
  [
    'scrypt',
    `$scrypt$ln=10,r=8,p=1$c2FsdHNhbHQ$${scryptSync('taken over from there', 'saltsalt', 32, { N: 1024, r: 8, p: 1 }).toString('base64').replace(/=+$/, '')}`,
  ],
])(
  'a user with an imported hash of %s signs in, and then has an Argon2id hash (pages, imports, security R58)',
  async (kind, hash) => {
    const username = `comes with ${kind}`;
    await importUsers('application/jsonl', JSON.stringify({ username, password_hash: hash }));
    const signIn = async (password: string) => {
      const browser = new UserAgent(service);
      await browser.signIn({ username, password });
      return browser.get('/account');
    };
    expect((await signIn('something else')).status).not.toBe(200);
    expect((await found(username)).passwordHash).toBe(hash);
    expect((await signIn('taken over from there')).status).toBe(200);
    expect((await found(username)).passwordHash).toMatch(/^\$argon2id\$/);
    expect((await signIn('taken over from there')).status).toBe(200);
  },
);

test('a user with an imported hash signs in in six browsers at once (security R58)', async () => {
  const password = 'taken over from there';
  const username = 'comes in six browsers';
  await importUsers('application/jsonl', JSON.stringify({ username, password_hash: bcrypt.hashSync(password, 4) }));
  const browsers = Array.from({ length: 6 }, () => new UserAgent(service));
  await Promise.all(browsers.map((browser) => browser.signIn({ username, password })));
  for (const browser of browsers) expect((await browser.get('/account')).status).toBe(200);
});

test('concurrent imports of the same users create each user once (pages, imports)', async () => {
  const rows = Array.from({ length: 600 }, (_, index) => `race${index},race${index}@example.com`);
  const file = (order: string[]) => `username,email\n${order.join('\n')}`;
  const reports = await Promise.all([
    importUsers('text/csv', file(rows)),
    importUsers('text/csv', file([...rows].reverse())),
    importUsers('text/csv', file(rows)),
  ]);
  const sum = (member: string) => reports.reduce((total, report) => total + Number(report.done![member]), 0);
  expect([sum('created'), sum('unchanged'), sum('refused')]).toEqual([600, 1200, 0]);
  const [row] = await service.database.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM users WHERE username LIKE 'race%'`,
  );
  expect(row!.n).toBe(600);
});

test('a row whose name a sign-up takes meanwhile is compared with that user, and not refused for its address (reports A7)', async () => {
  const other = new pg.Client(service.database.connection);
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query(`INSERT INTO users (username) VALUES ('quicker')`);
    const report = importUsers('text/csv', 'username,email\nquicker,slower@example.com');
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await vi.waitUntil(async () => (await service.database.sql(waiting)).length > 0, { timeout: 30_000 });
    await other.query('COMMIT');
    expect((await report).done).toEqual(counts(0, 0, 1, 0));
  } finally {
    await other.end();
  }
});

test('a row that the database alone refuses is refused by column and reason, as other entrances do (security R153, R158)', async () => {
  // stands for a later Unicode, by which the database reads a text as the service does not
  await service.database.sql(
    `CREATE FUNCTION refuse_later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION 'later' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = TG_ARGV[0]; END $$`,
  );
  try {
    for (const [constraint, name] of [
      ['users_name_is_no_sub', 'later-sub'],
      ['users_email_check', 'later-address'],
    ])
      await service.database.sql(
        `CREATE TRIGGER ${constraint}_later BEFORE INSERT ON users FOR EACH ROW WHEN (NEW.username = '${name}')
         EXECUTE FUNCTION refuse_later(${constraint})`,
      );
    const { refused, done } = await importUsers('text/csv', 'username\nlater-sub\nlater-address\nlater-none');
    expect(refused).toEqual([
      { line: 2, column: 'username', reason: 'must not look like a user ID (sub)' },
      { line: 3, column: 'email', reason: 'must be an email address' },
    ]);
    expect(done).toEqual(counts(1, 0, 0, 2));
  } finally {
    await service.database.sql('DROP FUNCTION refuse_later CASCADE');
  }
});

test.each([
  ['a header without user names', 'text/csv', 'email\nx@example.com', 400],
  ['an unknown column', 'text/csv', 'username,shoe_size\nx,42', 400],
  ['a duplicate column', 'text/csv', 'username,username\nx,y', 400],
  ['another media type', 'application/json', '{}', 415],
  ['a file that is too large', 'text/csv', 'x'.repeat(8 * 1024 * 1024 + 1), 413],
])('an import of %s is refused before a row is stored (pages, imports)', async (_what, type, body, status) => {
  expect((await importUsers(type, body)).status).toBe(status);
});

test.each([
  ['an empty file', ''],
  ['invalid UTF-8', Buffer.from([0x75, 0x73, 0x65, 0x72, 0x6e, 0x61, 0x6d, 0x65, 0x0a, 0xff, 0xfe, 0x0a])],
  ['an unclosed quotation mark', 'username\n"abc\n'.padEnd(100_000, 'x')],
  ['binary data', Buffer.alloc(10_000, 7)],
])('an import of %s answers with a report or a refusal (pages, imports)', async (_what, body) => {
  const report = await importUsers('text/csv', body);
  expect([200, 400]).toContain(report.status);
  if (report.status === 200) expect(report.done).toMatchObject({ done: true, created: 0 });
});

test('an import of an export restores the same users in both formats; only the command line exports password hashes (pages, imports)', async () => {
  await service.database.sql(`DELETE FROM users WHERE username ~ '^(csv|jsonl)[0-9]'`);
  await service.createUser({
    username: '=cmd()',
    email: '+x@example.com',
    groups: ['a b', 'c'],
    claims: { name: 'Ünï, "quoted"', phone_number: '+31 20 1', address: { locality: 'Delft', country: 'NL' } },
  });
  const before = await service.database.sql<Line>(
    'SELECT sub, username, email, email_verified, status, admin, groups, claims FROM users ORDER BY sub',
  );
  for (const format of ['csv', 'jsonl']) {
    const answer = await fetch(`${service.issuer}/admin/api/users/export?format=${format}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.headers.get('content-type')).toMatch(format === 'csv' ? /^text\/csv/ : /^application\/jsonl/);
    const text = await answer.text();
    expect(text).not.toContain('$argon2id$');
    // a spreadsheet runs no formula
    if (format === 'csv') expect(text).toContain(`'=cmd()`);
    const file = join(folder, `users.${format}`);
    const written = await runCommand(service, ['user', 'export', file, '--with-password-hashes']);
    expect(written).toMatchObject({ code: 0, stderr: '' });
    expect((await runCommand(service, ['user', 'export', file])).code).toBe(1);
    await service.database.sql('DELETE FROM users');
    const read = await runCommand(service, ['user', 'import', file, '--with-admins', '--json']);
    expect(read).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(read.stdout)).toMatchObject({ created: before.length, refused: 0 });
    const after = await service.database.sql<Line>(
      'SELECT sub, username, email, email_verified, status, admin, groups, claims FROM users ORDER BY sub',
    );
    expect(after).toEqual(before);
    token = await adminToken(service);
    await service.database.sql(`DELETE FROM users WHERE NOT sub = ANY ($1)`, [before.map((row) => row['sub'])]);
    token = await adminToken(service);
    before.splice(
      0,
      before.length,
      ...(await service.database.sql<Line>(
        'SELECT sub, username, email, email_verified, status, admin, groups, claims FROM users ORDER BY sub',
      )),
    );
  }
  const [event] = await service.database.sql<{ detail: Line }>(
    `SELECT detail FROM audit_events WHERE type = 'users.exported' AND actor = 'command line' ORDER BY id LIMIT 1`,
  );
  expect(event!.detail).toEqual({ format: 'csv', password_hashes: true });
});

test('the command line reports bad rows, and continues from a given line (pages, imports)', async () => {
  const file = join(folder, 'some.csv');
  await writeFile(file, 'username,email\ncli1,a\ncli2,cli2@example.com\ncli3,cli3@example.com\n');
  const tried = await runCommand(service, ['user', 'import', file, '--dry-run']);
  expect(tried).toMatchObject({
    code: 1,
    stderr: 'line 2: email must be an email address\n',
    stdout: 'Nothing was stored. An import would report: 2 created, 0 updated, 0 unchanged, 1 rejected.\n',
  });
  const part = await runCommand(service, ['user', 'import', file, '--from-line', '4']);
  expect(part).toMatchObject({ code: 0, stdout: '1 created, 0 updated, 0 unchanged, 0 rejected.\n' });
  expect((await call(`${service.issuer}/admin/api/users?q=cli`, { token })).body['users']).toHaveLength(1);
});
