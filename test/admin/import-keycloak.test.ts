// Users, clients and connections of a realm of Keycloak move in: what fits becomes files, all else is in the report.
import { createWriteStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { moveIn, type MovedIn, nowhere, startImports } from '../helpers/exports.ts';
import { obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { keycloakCode, keycloakHash, keycloakRealm, passwordOf } from '../helpers/keycloak-realm.ts';
import { linesOfPython } from '../helpers/python.ts';
import { launcher, surroundings } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let imports: ReturnType<typeof startImports>;
beforeAll(() => {
  imports = startImports();
});
afterAll(() => imports.remove());

/** Runs the importer on an export, and reads what it wrote. */
async function moved(content: unknown, ...options: string[]) {
  const file = await imports.exported({ 'realm.json': content });
  return imports.moved('keycloak', file('realm.json'), ...options);
}

const empty = { realm: 'hostile', roles: {}, groups: [], users: [], clients: [], identityProviders: [] };
const callback = 'https://app.example/callback';
const value = Buffer.alloc(64, 1).toString('base64');

test('each hostile entry of an export is in the report, and the others move (federation F103)', async () => {
  let deep: object = { name: 'bottom' };
  for (let level = 0; level < 2000; level++) deep = { name: `level${level}`, subGroups: [deep] };
  const { report, config, users, code } = await moved({
    ...empty,
    realm: `Hostile\n${'/'.repeat(9)}${'x'.repeat(200)}`,
    roles: { client: { app: [{ name: 'viewer' }, { name: 7 }] } },
    groups: [
      deep,
      { name: 'a', path: '/a', subGroups: [{ name: 'b', path: '/a/b' }] },
      { name: 'a/b', path: '/a/b' },
      'no group',
    ],
    clients: [
      {
        clientId: 'app',
        redirectUris: [callback, 'https://app.example/*', 'javascript:alert(1)'],
        secret: '**********',
      },
      { clientId: 'script', redirectUris: [callback], protocolMappers: [{ name: 'x', protocolMapper: 'script-x.js' }] },
      { clientId: 'wild', redirectUris: ['*'] },
      { clientId: 'weak', redirectUris: [callback], secret: 'short' },
      { clientId: '../../secrets', redirectUris: [callback], secret: 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG' },
      { clientId: '__proto__', redirectUris: [callback], publicClient: true },
      { clientId: ['list'] },
      { clientId: 'someone@example.com', redirectUris: [callback] },
    ],
    identityProviders: [
      { alias: 'corp', providerId: 'oidc', config: { clientId: 'x' } },
      { alias: 'odd', providerId: 'saml' },
    ],
    users: [
      { username: 'costly', credentials: [keycloakHash('pbkdf2-sha256', 1e9, value)] },
      { username: 'unknown', credentials: [keycloakHash('md5', 1, value)] },
      { username: 'clear', credentials: [{ type: 'password', value: 'hunter2-in-clear' }] },
      { username: 'Ada', email: 'ada@example.com' },
      { username: 'ada' },
      { username: 'other', email: 'ADA@example.com' },
      { username: 'member', groups: ['/a/b', '/a'] },
      { username: 'coded', credentials: [keycloakCode('12345678901234567890', { digits: 8 }), keycloakCode('short')] },
      { username: 'counter', credentials: [keycloakCode('12345678901234567890', { subType: 'hotp' })] },
      { username: 'linked', federatedIdentities: [{ identityProvider: 'odd', userId: '1' }] },
      { username: { $ne: null } },
      { username: 'line\n## breaks `the` report' },
      JSON.parse(
        '{"username": "proto", "__proto__": {"realmRoles": ["admin"]}, "attributes": {"__proto__": ["x"]}, "clientRoles": {"__proto__": ["x"], "constructor": ["y"]}}',
      ),
      null,
    ],
  });
  expect(code).toBe(0);
  for (const said of [
    'The address `https://app.example/*` of redirect_uris has a wildcard',
    'The address `javascript:alert(1)` of redirect_uris is refused',
    'client `app`: The export has no secret. The client gets a new one.',
    'client `__proto__`: This cannot be a client_id here',
    'client `script`: The mapper `x` (`script-x.js`) is left out: the service runs no scripts',
    'client `wild`: The address `*` of redirect_uris has a wildcard',
    'client `weak`: The secret is too weak',
    'client `someone@example.com`: This cannot be a client_id here',
    'A client has another form than expected',
    'connection `corp`: `settings.issuer` does not fit',
    'connection `odd`: The kind `saml` has no counterpart',
    'group `a/b`: Several groups would have this name. They are left out, and not merged.',
    'The name is too long. The group is left out, with those below it.',
    'A group has another form than expected',
    'user `costly`: The password hash is of an unknown kind, or is too costly.',
    'user `unknown`: The password hash is of an unknown kind, or is too costly.',
    'user `clear`: The password is in clear',
    'user `ada`: Another user has this name',
    'user `other`: The address `ADA@example.com` belongs to another user',
    'user `member`: The group `/a/b` is left out',
    'user `coded`: An authenticator app is left out',
    'user `counter`: An authenticator app is left out',
    'user `linked`: The link to `odd` is left out',
    'user `10`: The entry has another form than expected, at `username`',
    'user `13`: The entry has another form than expected',
  ])
    expect(report).toContain(said);
  expect(report).not.toMatch(/hunter2|^## breaks/m);
  expect(config['name']).toBe(`keycloak-hostile-${'x'.repeat(43)}`);
  expect(config['clients']!['app']).toMatchObject({ redirect_uris: [callback], client_secret: 'generate' });
  expect(Object.keys(config['clients']!)).toEqual(['../../secrets', 'app', 'script', 'weak']);
  expect(config['clients']!['../../secrets']).toMatchObject({
    client_secret: { file: 'secrets/client-.._.._secrets' },
  });
  expect(config['clients']!['weak']).toMatchObject({ client_secret: 'generate' });
  expect(Object.keys(config['groups']!)).not.toContain('a/b');
  const names = users.map(({ username }) => username);
  expect(names).toEqual([
    'costly',
    'unknown',
    'clear',
    'Ada',
    'other',
    'member',
    'coded',
    'counter',
    'linked',
    'proto',
  ]);
  for (const user of users) expect(user).not.toHaveProperty('password_hash');
  expect(users.find(({ username }) => username === 'member')).toMatchObject({ groups: ['a'] });
  for (const member of ['totp', 'links', 'admin', 'sub']) expect(users.filter((user) => member in user)).toEqual([]);
});

const administrators = {
  ...empty,
  groups: [{ name: 'chiefs', path: '/chiefs', clientRoles: { 'realm-management': ['realm-admin'] } }],
  roles: { realm: [{ name: 'boss', composites: { client: { 'realm-management': ['realm-admin'] } } }] },
  users: [
    { username: 'direct', clientRoles: { 'realm-management': ['realm-admin'] } },
    { username: 'by-role', realmRoles: ['boss'] },
    { username: 'by-group', groups: ['/chiefs'] },
    { username: 'helper', clientRoles: { 'realm-management': ['view-users'] } },
    { username: 'pretender', realmRoles: ['admin'], admin: true },
  ],
};

test('administrators of a realm are administrators here only with --with-admins (federation F103)', async () => {
  const without = await moved(administrators);
  expect(without.users.filter((user) => 'admin' in user)).toEqual([]);
  for (const name of ['direct', 'by-role', 'by-group'])
    expect(without.report).toContain(
      `user \`${name}\`: The user is an administrator there, and none here without --with-admins.`,
    );
  expect(without.report).toContain('user `helper`: The user has some roles of an administrator there, and none here.');
  const { users } = await moved(administrators, '--with-admins');
  expect(users.filter(({ admin }) => admin === true).map(({ username }) => username)).toEqual([
    'direct',
    'by-role',
    'by-group',
  ]);
});

test('names that differ only in characters of files, or in what a group stands for, stay apart (federation F103)', async () => {
  const secret = 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG';
  const { config, users, output } = await moved({
    ...empty,
    roles: { realm: [{ name: 'staff' }] },
    groups: [{ name: 'realm-roles', path: '/realm-roles', subGroups: [{ name: 'staff', path: '/realm-roles/staff' }] }],
    clients: ['a_b-2', 'a/b', 'a:b'].map((clientId) => ({ clientId, redirectUris: [callback], secret })),
    users: [
      { username: 'holder', realmRoles: ['staff'] },
      { username: 'member', groups: ['/realm-roles/staff'] },
    ],
  });
  expect(users.map(({ groups }) => groups)).toEqual([[], ['realm-roles/staff']]);
  const files = Object.values(config['clients']!).map(({ client_secret: from }) => (from as { file: string }).file);
  expect(new Set(files).size).toBe(3);
  for (const file of files) expect(await readFile(join(output, file), 'utf8')).toBe(secret);
});

test('a name that the service refuses is in the report, and keeps nothing else from moving (federation F103)', async () => {
  const secret = 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG';
  const { report, config, users } = await moved(
    {
      ...empty,
      roles: {
        realm: [{ name: 'x'.repeat(256) }],
        client: {
          app: ['good', 'a, b', '..', '__proto__', 'r'.repeat(101)].map((name) => ({ name })),
          many: Array.from({ length: 201 }, (_, index) => ({ name: `role${index}`, description: '🔑'.repeat(501) })),
        },
      },
      clients: [
        { clientId: 'app', redirectUris: [callback], secret: '${vault.app}' },
        { clientId: 'many', redirectUris: [callback], secret: `${secret}ü` },
        {
          clientId: 'keyed',
          redirectUris: [callback],
          publicClient: true,
          attributes: { 'jwks.string': `{"keys":[{"kty":"EC","deep":${'['.repeat(99)}${']'.repeat(99)}}]}` },
        },
        { clientId: 'gatehouse-console', redirectUris: [callback], publicClient: true },
      ],
      identityProviders: [
        { alias: 'Git Hub', providerId: 'github', config: { clientId: 'x', clientSecret: 'x'.repeat(20_000) } },
        { alias: 'git-hub', providerId: 'github', config: { clientId: 'other' } },
      ],
      users: [
        { id: 'one', username: 'APP' },
        {
          id: 'same',
          username: 'linked',
          clientRoles: { app: ['good', 'a, b'], many: ['role0'] },
          federatedIdentities: [
            { identityProvider: 'git-hub', userId: '1' },
            { identityProvider: 'Git Hub', userId: '2' },
            { identityProvider: 'Git Hub', userId: '3' },
          ],
        },
        { id: 'SAME', username: 'double' },
        { id: 'four', username: 'taker', federatedIdentities: [{ identityProvider: 'Git Hub', userId: '2' }] },
        {
          id: 'five',
          username: 'label',
          credentials: [{ ...keycloakCode('12345678901234567890'), userLabel: 'a\0b' }],
        },
        { id: 'six', username: 'no-address', email: 'a b', emailVerified: true },
      ],
    },
    '--keep-subs',
  );
  for (const said of [
    'role `a, b` does not fit',
    'role `..` does not fit',
    'role `__proto__` does not fit',
    'It has 201 roles, and a client here has at most 200',
    'client `app`: The export has no secret',
    'client `many`: The secret has other characters than ASCII',
    'client `gatehouse-console`: This cannot be a client_id here',
    'connection `git-hub`: The secret does not fit. Enter it.',
    'connection `git-hub`: Another one has this name',
    'user `APP`: A client has this name or id. The user is left out',
    'user `linked`: The link to `git-hub` is left out: this connection is not moved.',
    'user `linked`: The link to `git-hub` is left out: the user has another one to this connection.',
    'user `double`: Another user has this id',
    'user `taker`: The link to `git-hub` is left out: another user has this identity.',
    'user `no-address`: `email`',
  ])
    expect(report).toContain(said);
  expect(Object.keys(config['clients']!)).toEqual(['app', 'keyed', 'many']);
  expect(config['clients']!['app']).toMatchObject({ client_secret: 'generate', roles: { good: {} } });
  expect(config['clients']!['keyed']).not.toHaveProperty('jwks.keys.0.deep');
  expect(config['connections']!['git-hub']).not.toHaveProperty('secret');
  expect(users).toMatchObject([
    { username: 'linked', roles: { app: ['good'] }, links: [{ connection: 'git-hub', subject: '2' }] },
    { username: 'taker' },
    { username: 'label', totp: [{ name: 'a b' }] },
    { username: 'no-address' },
  ]);
  expect(users[3]).not.toHaveProperty('email_verified');
});

test.each([
  ['no JSON', 'realm: staff', 'is not valid JSON, or is cut off'],
  ['an export that is cut off', JSON.stringify(administrators).slice(0, -20), 'is not valid JSON, or is cut off'],
  ['an empty file', '', 'is not valid JSON, or is cut off'],
  ['JSON of something else', '{"users": [{"username": "ada"}]}', 'is not the export of a realm of Keycloak'],
  ['a list of realms', JSON.stringify([administrators]), 'is not the export of a realm of Keycloak'],
])('%s is refused in one sentence, and nothing is written (federation F103)', async (_title, content, said) => {
  const { code, stderr, output } = await moved(content);
  expect([code, stderr.trimEnd().split('\n')]).toEqual([1, [expect.stringContaining(said)]]);
  await expect(stat(output)).rejects.toThrow('ENOENT');
});

test('the files are written to a new folder that only the owner reads, and never over others (federation FR47)', async () => {
  const { output, stdout } = await moved({
    ...empty,
    clients: [{ clientId: 'app', redirectUris: [callback], secret: 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG' }],
  });
  expect(stdout).toContain(`Wrote ${output}: 0 users, 1 clients`);
  for (const name of ['gatehouse.yaml', 'users.jsonl', 'report.md', 'secrets/client-app'])
    expect((await stat(join(output, name))).mode & 0o777).toBe(0o600);
  expect((await stat(join(output, 'secrets'))).mode & 0o777).toBe(0o700);
  const file = await imports.exported({ 'again.json': empty });
  const again = await runCommand(nowhere, ['import', 'keycloak', file('again.json'), '--output', output]);
  expect(again).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not empty: name another one by --output'),
  });
  expect(await readdir(output)).toHaveLength(4);
});

test('a folder with the realm and its users in parts is read like one file (federation F103)', async () => {
  const { users: all, ...realm } = administrators;
  const parts = await imports.exported({
    'hostile-realm.json': { ...realm, users: undefined },
    ...Object.fromEntries(
      all.map((user, index) => [`hostile-users-${index}.json`, { realm: 'hostile', users: [user] }]),
    ),
  });
  const { code, users } = await imports.moved('keycloak', parts('.'), '--with-admins');
  expect(code).toBe(0);
  expect(users).toEqual((await moved(administrators, '--with-admins')).users);
});

/** Users of a large export. */
const largest = Number(process.env['IMPORT_USERS'] ?? 30_000);

test('a large export is read in constant memory (federation F103)', async () => {
  const file = (await imports.exported({}))('large.json');
  const out = createWriteStream(file);
  out.write('{"realm":"large","clients":[],"users":[');
  for (let index = 0; index < largest; index++) {
    const user = {
      username: `user${index}`,
      attributes: { filler: ['x'.repeat(largest > 100_000 ? 100 : 2000)] },
      credentials: [keycloakHash('pbkdf2-sha512', 1000, value)],
    };
    if (!out.write((index ? ',' : '') + JSON.stringify(user))) await once(out, 'drain');
  }
  await once(out.end(']}'), 'close');
  const { size } = await stat(file);
  expect(size).toBeGreaterThan(64 * 1024 * 1024);
  // the export has more bytes than the heap may have; the kernel counts the memory of the whole process
  const [memory, ...printed] = linesOfPython(runsAndMeasures, {
    command: [launcher, 'import', 'keycloak', file, '--output', join(imports.folder, 'large')],
    environment: { ...surroundings, NODE_OPTIONS: '--max-old-space-size=64' },
  });
  expect(printed).toEqual([expect.stringContaining(`${largest} users`)]);
  const megabytes = Number(memory) / 1024;
  expect(megabytes).toBeLessThan(250);
  if (process.env['IMPORT_USERS'])
    console.log(`${largest} users, ${(size / 1e9).toFixed(1)} GB: at most ${megabytes.toFixed(0)} MB of memory`);
});

/** Prints the most memory that a command had, in KiB, and what it printed. */
const runsAndMeasures = `
import json, resource, subprocess, sys
given = json.load(sys.stdin)
done = subprocess.run(given["command"], env=given["environment"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(done.stdout.decode())
`;

describe('a realm of 500 users and 20 clients', () => {
  const secret = '12345678901234567890';
  const realm = keycloakRealm({ users: 500, clients: 20 });
  const [first, withoutWayIn] = [
    realm.users[0]!,
    {
      id: 'kept-id',
      username: 'costly',
      email: 'costly@example.com',
      credentials: [keycloakHash('pbkdf2-sha256', 1e9, value)],
    },
  ];
  (first['credentials'] as unknown[]).push(keycloakCode(secret));
  realm.users.push(withoutWayIn);

  let service: TestService;
  let files: MovedIn;
  beforeAll(async () => {
    service = await startTestService({ environment: withoutLimits });
    files = await moved(realm, '--keep-subs');
  });
  afterAll(() => service?.stop());

  test('is a configuration file that is applied, and that changes nothing when it is applied again (federation F104)', async () => {
    const { clients } = files.config;
    expect(Object.keys(clients!)).toHaveLength(20);
    const { applied, imported } = await moveIn(service, files.output);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    const rows = await service.database.sql(`SELECT FROM clients WHERE client_id LIKE 'app-%'`);
    expect(rows).toHaveLength(20);
    expect(await runCommand(service, ['config', 'plan', join(files.output, 'gatehouse.yaml')])).toMatchObject({
      code: 0,
    });
    expect(await service.store.connections.find('github')).toMatchObject({ status: 'disabled', preset: 'github' });
    expect(clients!['app-0']).toMatchObject({
      roles: { editor: {}, viewer: { description: 'May look' } },
    });
    expect(imported).toMatchObject({
      stdout: expect.stringContaining('501 created, 0 updated, 0 unchanged, 0 rejected'),
      stderr: '',
    });
  });

  test('has users who sign in with the old password, once and again (federation F104)', async () => {
    for (const index of [1, 2, 3, 4, 5, 6, 497, 498, 499]) {
      const user = { username: `user${index}`, password: passwordOf(index) };
      const hashBefore = (await service.store.users.findByUsername(user.username))!.passwordHash;
      expect(hashBefore).toMatch(/^\$pbkdf2-sha(1|256|512)\$/);
      for (const hash of [/^\$argon2id\$/, /^\$argon2id\$/]) {
        const agent = new UserAgent(service);
        await agent.signIn(user);
        expect(agent.cookies.has('JSESSIONOPENID')).toBe(true);
        expect((await service.store.users.findByUsername(user.username))!.passwordHash).toMatch(hash);
      }
    }
    expect((await new UserAgent(service).signIn({ username: 'user7', password: passwordOf(8) })).body).toContain(
      'id="password"',
    );
  });

  test('keeps the sub, the redirect address and the secret of an application, and the second factor of a user (federation F104)', async () => {
    const clientSecret = realm.clients.find(({ clientId }) => clientId === 'app-0')!['secret'] as string;
    const basic = `Basic ${Buffer.from(`app-0:${clientSecret}`).toString('base64')}`;
    const client = { clientId: 'app-0', redirectUri: 'https://app-0.example/callback', basic } as TestClient;
    const agent = new UserAgent(service);
    const asked = await agent.signIn({ username: 'user0', password: passwordOf(0) });
    const code = new TOTP({ secret: Secret.fromUTF8(secret) }).generate();
    await agent.submit(asked, { code });
    const { access_token: accessToken } = await obtainTokens(
      service,
      client,
      undefined,
      { scope: 'openid email roles' },
      agent,
    );
    expect((await userinfo(service.issuer, accessToken)).body).toMatchObject({
      sub: first['id'],
      email: 'user0@example.com',
      email_verified: true,
      roles: ['editor', 'viewer'],
    });
    expect(await service.store.linkedIdentities.ofUser(String(first['id']))).toMatchObject([
      { connectionId: 'github', issuer: 'https://github.com', subject: '0', how: 'imported' },
    ]);
    expect(await service.store.users.find(String(first['id']))).toMatchObject({
      confirmedBy: 'word',
      groups: ['it/operations', 'realm-roles/employee'],
    });
  });

  test('has a user whose hash is too costly, and whom a link leads to a new password (federation F104)', async () => {
    expect(files.report).toContain(
      'user `costly`: The password hash is of an unknown kind, or is too costly. The user needs a link',
    );
    const { stdout } = await runCommand(service, ['user', 'recovery-link', 'costly']);
    const link = /https?:\/\/\S+/.exec(stdout)![0];
    const agent = new UserAgent(service);
    const password = 'a new password of costly';
    await agent.submit(await agent.follow(await agent.get(link)), { new_password: password });
    const later = new UserAgent(service);
    await later.signIn({ username: 'costly', password });
    expect(later.cookies.has('JSESSIONOPENID')).toBe(true);
    expect(await service.store.users.find('kept-id')).toMatchObject({ username: 'costly' });
  });
});
