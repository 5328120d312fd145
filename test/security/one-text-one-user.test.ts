// No text names two users or clients, at whatever entrance it arrives; and a text that an administrator gives is a sub first.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let ada: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  ada = await service.createUser({ username: 'ada', email: 'ada@example.com', emailVerified: true });
});
afterAll(() => service?.stop());

const api = (method: string, path: string, body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { token, method, ...(body !== undefined && { body }) });
const command = (args: string[], stdin?: string) => runCommand(service, args, stdin === undefined ? {} : { stdin });
const groupsOf = async ({ sub }: Pick<TestUser, 'sub'>) => (await service.store.users.find(sub))!.groups;
/** Imports rows without a head, and returns the printed report. */
async function importRows(head: string, ...rows: string[]) {
  const { stdout, stderr } = await command(['user', 'import', '-', '--format', 'csv'], [head, ...rows, ''].join('\n'));
  return stdout + stderr;
}

describe('a text that is taken', () => {
  const takenTexts = () => ['ada@example.com', 'ＡＤＡ＠EXAMPLE.com', '\u00a0ADA ', ada.sub, ada.sub.toUpperCase()];

  test('is no user name by route, console, command and import (security R153, reports A7)', async () => {
    const root = await service.createUser({ username: 'root', admin: true });
    const { agent } = await openConsole(service, root);
    for (const username of takenTexts()) {
      expect([400, 409], username).toContain((await api('POST', '/users', { username })).status);
      const other = await service.createUser();
      expect([400, 409], username).toContain((await api('PATCH', `/users/${other.sub}`, { username })).status);
      expect(
        (await command(['user', 'create', '--username', username, '--password-stdin'], 'harbour-first-P1')).code,
        username,
      ).toBe(1);
      expect((await command(['user', 'invite', username])).stdout, username).not.toContain('Created');
      const page = await agent.get('/admin/users/new');
      const refused = await agent.post('/admin/users/new', { ...formOf(page, '/admin/users/new'), username });
      expect(refused.status, username).toBeGreaterThanOrEqual(400);
      expect(await importRows('username', `"${username}"`), username).not.toMatch(/\b1 (user )?created/);
    }
    const holders = await service.database.sql('SELECT sub FROM users_of_login($1)', ['ada@example.com']);
    expect(holders).toEqual([{ sub: ada.sub }]);
  });

  test('is no address either, and no client_id (security R153)', async () => {
    const named = await service.createUser({ username: 'Berta@Example.com' });
    expect((await api('POST', '/users', { username: 'x1', email: 'berta@example.com' })).status).toBe(409);
    expect(await importRows('username,email', 'x2,berta@example.com')).toContain('email belongs to another user');
    expect(await importRows('username,sub', 'x3,ADA')).toContain('sub belongs to another user');
    // one's own address is a name of one's own
    expect((await api('PATCH', `/users/${named.sub}`, { email: 'berta@example.com' })).status).toBe(200);
  });

  test('an import gives a user their own sub as name, and no other that looks like a sub (security R153)', async () => {
    const sub = '0B0E1F6A-1111-4222-8333-944455556666';
    expect(await importRows('username,sub', `${sub.toLowerCase()},${sub}`)).not.toContain('must not');
    expect((await service.store.users.findByUsername(sub))?.sub).toBe(sub);
    const other = sub.replace('0B', '0C');
    expect(await importRows('username,sub', `${other},someone`)).toContain('must not look like a user ID (sub)');
    expect(await importRows('username', other)).toContain('must not look like a user ID (sub)');
  });
});

test.each(['bo\u200bb', 'bo\u00adb', 'bo\u034fb', 'bo\u3164b', 'bo\u202eb', 'bo\u{e0001}b'])(
  'the invisible character in %j makes no second user (security R154, reports B8)',
  async (username) => {
    expect((await api('POST', '/users', { username })).body['error_description']).toContain('invisible characters');
    expect(
      (await command(['user', 'create', '--username', username, '--password-stdin'], 'harbour-first-P1')).stderr,
    ).toContain('invisible characters');
    expect(await importRows('username', username)).toContain('must not contain invisible characters');
  },
);

test.each(['\u00a0ada\u00a0', '\tada\t', '\u3000ADA@example.com\ufeff', 'ａｄａ'])(
  'a user signs in by the name %j, with whatever spaces around it (reports B8)',
  async (username) => {
    const agent = new UserAgent(service);
    const page = await agent.get('/login?destination=account');
    await agent.signIn({ username, password: ada.password }, page);
    expect((await agent.get('/account')).status).toBe(200);
  },
);

describe('where a sub is accepted', () => {
  test('it is looked up first, and a text that fits two users is an error that names neither (security R153)', async () => {
    const victim = await service.createUser({ username: 'victim' });
    const stranger = await service.createUser({ username: 'stranger' });
    // a pair from before the rule
    await service.database.sql('ALTER TABLE users DISABLE TRIGGER users_keys');
    await service.database.sql('UPDATE users SET username = $2 WHERE sub = $1', [stranger.sub, victim.sub]);
    await service.database.sql('ALTER TABLE users ENABLE TRIGGER users_keys');
    await service.database.sql('INSERT INTO shared_login_keys VALUES ($1, $2)', [victim.sub, stranger.sub]);
    await command(['group', 'create', 'crew']);
    for (const args of [
      ['group', 'add', 'crew', victim.sub],
      ['user', 'disable', victim.sub],
    ]) {
      const { code, stderr } = await command(args);
      expect([code, stderr]).toEqual([1, expect.stringContaining('matches more than one user')]);
      expect(stderr).not.toContain('stranger');
    }
    expect([await groupsOf(victim), await groupsOf(stranger)]).toEqual([[], []]);
    // a sub in an address is a sub alone
    expect((await api('GET', `/users/${victim.sub}`)).body['username']).toBe('victim');
    const chief = await service.createUser({ username: 'chief', admin: true });
    const { agent } = await openConsole(service, chief);
    const user = await agent.get(`/admin/users/${victim.sub}`);
    for (const link of [`/admin/sessions?sub=${victim.sub}`, `/admin/audit?sub=${victim.sub}`]) {
      expect(user.body).toContain(`href="${link}"`);
      expect((await agent.get(link)).status).toBe(200);
    }
    await service.database.sql('DELETE FROM users WHERE sub = $1', [stranger.sub]);
    expect((await command(['group', 'add', 'crew', victim.sub])).code).toBe(0);
    expect(await groupsOf(victim)).toEqual(['crew']);
  });
});

test('the report of API, command and console lists stored names that are addresses and not the own one (security R154)', async () => {
  const file = (start: string) =>
    [
      'username,email,groups',
      `${start}-1@example.com,${start}-one@example.com,`,
      `${start}-2@EXAMPLE.com,${start.toUpperCase()}-2@example.com,`,
      `${start}-3@example.com,,`,
      `${start}-4@bücher.example,${start}-4@xn--bcher-kva.example,`,
      `${start}-5,${start}-five@example.com,`,
      `${start}-6＠example.com,,`,
    ].join('\n');
  const note = 'is an address, and not that of this user: no other user can have this address';
  const noted = [2, 4, 7];
  const sendFile = async (body: string, query = '') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
    const answer = await fetch(`${service.issuer}/admin/api/users/import${query}`, { method: 'POST', headers, body });
    return (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const report = await sendFile(file('own'));
  expect(report.at(-1)).toMatchObject({ done: true, created: 6, refused: 0 });
  const notes = (lines: object[]) => lines.filter((line) => 'note' in line);
  expect(notes(report)).toEqual(noted.map((line) => ({ line, column: 'username', note })));
  // a change of the address by a row, too
  const { sub } = (await service.store.users.findByUsername('own-2@example.com'))!;
  const change = `username,email,sub
own-2@example.com,other@example.com,${sub}`;
  expect(notes(await sendFile(change, '?update=true'))).toEqual([{ line: 2, column: 'username', note }]);

  const printed = await command(['user', 'import', '-', '--format', 'csv'], file('cmd'));
  expect(printed.code).toBe(0);
  for (const line of noted) expect(printed.stderr).toContain(`line ${line}: username ${note}\n`);
  expect(printed.stderr.match(/is an address/g)).toHaveLength(noted.length);

  const { agent } = await openConsole(service, await service.createUser({ username: 'note-root', admin: true }));
  const path = '/admin/users/import';
  const sent = { ...formOf(await agent.get(path), path), users: file('page') };
  const preview = await agent.post(path, sent);
  expect(preview.body).toContain('Is an address, but not the address of this user');
  const started = await agent.post(path, { ...sent, ...formOf(preview, path), users: file('page'), act: 'import' });
  await vi.waitFor(async () => {
    const { body } = await agent.get(started.location!);
    expect(body).toContain('Import complete');
    expect(body.match(/Is an address, but not the address of this user/g)).toHaveLength(3);
  });
});

test('a refused name or address is one sentence with its member, and the console marks the field (security R153, R154)', async () => {
  const client = await service.createClient();
  const { agent } = await openConsole(service, await service.createUser({ username: 'marker', admin: true }));
  const cases: [Record<string, string>, string][] = [
    [{ username: ada.sub }, 'username must not look like a user ID (sub)'],
    [{ username: '0b0e1f6a-1111-4222-8333-944455556666' }, 'username must not look like a user ID (sub)'],
    [{ username: 'ada@example.com' }, 'username is already in use by another user or a client'],
    [{ username: client.clientId }, 'username is already in use by another user or a client'],
    [{ username: 'al\u200bice' }, 'username must not contain invisible characters'],
    [{ username: 'al\u0007ice' }, 'username must not contain control characters'],
    [{ username: 'fresh', email: 'ADA@example.com' }, 'email is already in use by another user or a client'],
    [{ username: 'fresh', email: 'bob@example.com.' }, 'email must be an email address'],
    [{ username: 'fresh', email: 'bob@exa\u200bmple.com' }, 'email must be an email address'],
  ];
  for (const [given, sentence] of cases) {
    const { username = '', email } = given;
    expect((await api('POST', '/users', given)).body['error_description']).toBe(sentence);
    const other = await service.createUser();
    const change = email === undefined ? { username } : { email };
    expect((await api('PATCH', `/users/${other.sub}`, change)).body['error_description']).toBe(sentence);
    const options = ['--username', username, ...(email === undefined ? [] : ['--email', email])];
    const { code, stderr } = await command(['user', 'create', ...options, '--password-stdin'], 'harbour-first-P1');
    expect([code, stderr]).toEqual([1, `${sentence}.\n`]);
    for (const path of ['/admin/users/new', `/admin/users/${other.sub}/edit`]) {
      const sent = { ...formOf(await agent.get(path), path), username: other.username, ...given };
      const page = await agent.post(path, sent);
      expect([400, 409], `${path} ${sentence}`).toContain(page.status);
      expect(page.body).toContain(`id="${email === undefined ? 'username' : 'email'}-fault"`);
      if (sentence.includes('like the sub')) expect(page.body).toContain('look like a user ID (sub)');
    }
  }
});
