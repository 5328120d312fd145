// Asks whose an object is: files change and delete only their own, and a plan counts what each change ends for users.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../helpers/command-line.ts';
import { approveClient, call, obtainTokens, refresh, startAdministered, withoutLimits } from '../../helpers/grants.ts';
import { type TestClient, type TestService, testRedirectUri } from '../../helpers/service.ts';

const strong = '0123456789abcdef0123456789abcdef';
const folder = mkdtempSync(join(tmpdir(), 'ownership-'));
let service: TestService;
let token: string;
beforeAll(async () => {
  ({ service, token } = await startAdministered());
});
afterAll(() => service?.stop());

const api = (method: string, path: string, body?: object) =>
  call(`${service.issuer}/admin/api/${path}`, { token, method, ...(body && { body }) });
const run = (...args: string[]) =>
  runCommand(service, ['config', ...args], { environment: { ...withoutLimits, STRONG: strong } });
const fileOf = (name: string, text: string): string => {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, `apiVersion: gatehouse/v1\nname: ${name}\n${text}`);
  return file;
};
interface Planned {
  section: string;
  key: string;
  act: string;
  effects?: Record<string, number>;
}
const planned = async (...args: string[]): Promise<Planned[]> =>
  (JSON.parse((await run('plan', ...args, '--json')).stdout) as { changes: Planned[] }).changes;
const effectsOf = async (...args: string[]) =>
  Object.fromEntries((await planned(...args)).map(({ section, key, effects = {} }) => [`${section}.${key}`, effects]));
const counts = async () =>
  (
    await service.database.sql<Record<string, number>>(
      `SELECT (SELECT count(*)::int FROM users) AS users, (SELECT count(*)::int FROM sessions) AS sessions,
              (SELECT count(*)::int FROM groups) AS groups, (SELECT count(*)::int FROM attributes) AS attributes,
              (SELECT count(*)::int FROM clients) AS clients`,
    )
  )[0]!;
/** A client of the files, as a helper of grants takes it. */
const clientOf = (clientId: string): TestClient =>
  ({
    clientId,
    redirectUri: testRedirectUri,
    basic: `Basic ${Buffer.from(`${clientId}:${strong}`).toString('base64')}`,
  }) as TestClient;
const clientEntry = (more = '') =>
  `    redirect_uris: ["${testRedirectUri}"]\n    grant_types: [authorization_code, refresh_token]\n    client_secret: {env: STRONG}\n    first_party: true\n${more}`;

test('F100: a file without an object leaves those that were made by hand, by other files and by registration; with --prune it deletes only its own, and no user (federation F100)', async () => {
  const groups = 'groups:\n  of-file: {}\nattributes:\n  of_file: {type: string}\nclients:\n  of-file:\n';
  await run('apply', fileOf('mine', groups + clientEntry()));
  await run('apply', fileOf('other', `groups:\n  of-other: {}\nclients:\n  of-other:\n${clientEntry()}`));
  await api('POST', 'groups', { name: 'by-hand' });
  await api('POST', 'attributes', { name: 'by_hand', type: 'string' });
  await api('POST', 'clients', { client_id: 'by-hand', grant_types: ['client_credentials'] });
  const registered = await call(`${service.issuer}/register`, { body: { redirect_uris: [testRedirectUri] } });
  const own = String(registered.body['client_id']);
  await approveClient(service.issuer, token, own);
  const user = await service.createUser({ groups: ['of-file', 'of-other', 'by-hand'] });
  const { refresh_token: kept } = await obtainTokens(service, clientOf('of-other'), user);
  const before = await counts();
  const empty = fileOf('mine', '');
  const left = await run('apply', empty);
  expect(left).toMatchObject({ code: 0, stderr: '' });
  for (const name of ['attribute of_file', 'group of-file', 'client of-file'])
    expect(left.stdout).toContain(`! the ${name} is no longer in the file: --prune deletes it\n`);
  expect(await counts()).toEqual(before);
  expect((await planned(empty, '--prune')).map(({ act, section, key }) => `${act} ${section}.${key}`)).toEqual([
    'delete clients.of-file',
    'delete groups.of-file',
    'delete attributes.of_file',
  ]);
  expect(await counts()).toEqual(before);
  expect(await run('apply', empty, '--prune')).toMatchObject({ code: 0, stderr: '' });
  expect(await counts()).toEqual({
    ...before,
    groups: before['groups']! - 1,
    attributes: before['attributes']! - 1,
    clients: before['clients']! - 1,
  });
  for (const path of [
    'groups/by-hand',
    'groups/of-other',
    'clients/by-hand',
    'clients/of-other',
    `clients/${own}`,
    `users/${user.sub}`,
  ])
    expect((await api('GET', path)).status, path).toBe(200);
  expect((await api('GET', `users/${user.sub}`)).body['groups']).toEqual(['of-other', 'by-hand']);
  // a session and its tokens go on
  expect(await refresh(service.issuer, clientOf('of-other'), kept)).toMatchObject({ status: 200 });
});

test('F100: neither a file of another set, nor of nobody, takes an object without adopt, whoever made it (federation F100)', async () => {
  const registered = await call(`${service.issuer}/register`, { body: { redirect_uris: [testRedirectUri] } });
  const own = String(registered.body['client_id']);
  for (const [entry, sentence] of [
    [
      'groups:\n  by-hand: {}\n',
      /the group by-hand exists, and no file made it: adopt: true at the top of the file takes it over/,
    ],
    [
      'groups:\n  of-other: {}\n',
      /the group of-other is managed by other: adopt: true at the top of the file takes it over/,
    ],
    [
      `clients:\n  "${own}":\n${clientEntry()}`,
      /exists, and no file made it: adopt: true at the top of the file takes it over/,
    ],
  ] as const) {
    const before = await run('export', '--all');
    const refused = await run('apply', fileOf('mine', entry));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(sentence);
    expect((await run('export', '--all')).stdout).toBe(before.stdout);
  }
});

test('a plan counts exactly the sessions and tokens that end, and the users who lose a client (federation F100; federation 10)', async () => {
  const sections = (access: string) =>
    `attributes:\n  badge: {type: string}\ngroups:\n  deck: {}\n  shore: {}\nclients:\n  counted:\n${clientEntry(access)}`;
  const everybody = sections('');
  await run('apply', fileOf('counting', everybody));
  const [onDeck, ashore, both] = [
    await service.createUser({ groups: ['deck'], claims: { badge: '7' } }),
    await service.createUser({ groups: ['shore'] }),
    await service.createUser({ groups: ['deck', 'shore'] }),
  ];
  // one more who never used the client
  await service.createUser({ groups: ['shore'] });
  for (const user of [onDeck, ashore, both]) await obtainTokens(service, clientOf('counted'), user);
  const second = await obtainTokens(service, clientOf('counted'), ashore);
  expect(second.access_token).toBeTruthy();
  const narrow = fileOf('counting', sections('    access: groups\n    access_groups: [deck]\n'));
  // two sessions of the one user who is not in the group, each with an access token and a refresh token
  expect(await effectsOf(narrow)).toEqual({
    'clients.counted': { users_who_lose_the_client: 1, sessions: 2, tokens: 4 },
  });
  const text = (await run('plan', narrow)).stdout;
  expect(text).toContain('    ends or affects: users who lose the client 1\n');
  expect(text).toContain('    ends or affects: tokens 4\n');
  const disabled = () => fileOf('counting', sections('    status: disabled\n'));
  expect(await effectsOf(disabled())).toEqual({ 'clients.counted': { users: 3, sessions: 4, tokens: 8 } });
  const gone = fileOf('counting', 'groups:\n  deck: {}\n  shore: {}\n');
  expect(await effectsOf(gone, '--prune')).toEqual({
    'clients.counted': { users: 3, sessions: 4, tokens: 8 },
    'attributes.badge': { users_who_lose_a_value: 1 },
  });
  const before = (await counts())['users'];
  const tokens = () =>
    service.database.sql('SELECT FROM access_tokens t JOIN client_sessions f ON f.id = t.client_session_id');
  const held = (await tokens()).length;
  await run('apply', fileOf('counting', sections('    access: groups\n    access_groups: [deck, shore]\n')));
  // a user who has no other group of the client loses it with the group
  const withoutShore = fileOf(
    'counting',
    sections('    access: groups\n    access_groups: [deck, shore]\n').replace('  shore: {}\n', ''),
  );
  expect(await effectsOf(withoutShore, '--prune')).toEqual({
    'groups.shore': { members: 3, users_who_lose_a_client: 1, sessions: 2, tokens: 4 },
  });
  expect(await run('apply', disabled())).toMatchObject({ code: 0 });
  expect((await tokens()).length).toBe(held - 4);
  expect((await counts())['users']).toBe(before);
});

test('a plan counts the sessions that a deleted connection ends, and the users without another way in (federation 10)', async () => {
  const entry =
    'connections:\n  harbour:\n    kind: oauth\n    preset: github\n    display_name: Harbour\n    status: enabled\n    secret: {env: STRONG}\n    settings: {client_id: Iv1.harbour}\n';
  await run('apply', fileOf('linked', entry));
  const user = await service.createUser();
  const alone = await service.createUser();
  for (const { sub } of [user, alone])
    await api('POST', `users/${sub}/connections`, { connection: 'harbour', subject: sub });
  await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [alone.sub]);
  await obtainTokens(service, clientOf('of-other'), user);
  for (const table of ['sessions', 'client_sessions'])
    await service.database.sql(`UPDATE ${table} SET connection_id = 'harbour' WHERE sub = $1`, [user.sub]);
  expect(await effectsOf(fileOf('linked', ''), '--prune')).toEqual({
    'connections.harbour': { users_without_another_way_in: 1, sessions: 1, tokens: 2 },
  });
});

test('a plan names a change that waits for an approval (federation 10)', async () => {
  await service.database.sql(
    `UPDATE clients SET pending_metadata = metadata || '{"client_name": "Waits"}' WHERE client_id = 'of-other'`,
  );
  const file = fileOf(
    'other',
    `groups:\n  of-other: {}\nclients:\n  of-other:\n${clientEntry('    client_name: New\n')}`,
  );
  expect(await effectsOf(file)).toEqual({ 'clients.of-other': { changes_that_wait_for_approval: 1 } });
});

test('F101: no plan, export, log line or event has a secret, only that there is one (federation F101, FR45)', async () => {
  const file = fileOf('secret', `clients:\n  hidden:\n${clientEntry()}`);
  const out = join(folder, 'secret.json');
  const plan = await run('plan', file, '--out', out);
  expect(plan.stdout).toContain('    client_secret: (set)\n');
  await run('apply', file);
  const weaker = fileOf('secret', `clients:\n  hidden:\n${clientEntry()}`.replace('{env: STRONG}', 'generate'));
  const kept = await run('plan', weaker);
  const texts = [
    plan.stdout,
    readFileSync(out, 'utf8'),
    kept.stdout,
    (await run('export')).stdout,
    JSON.stringify(service.logs),
    JSON.stringify(await service.database.sql('SELECT * FROM audit_events')),
    JSON.stringify(await service.database.sql('SELECT * FROM kept_objects')),
  ];
  for (const text of texts) expect(text).not.toContain(strong);
});
