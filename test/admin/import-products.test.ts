// Users, clients and connections of Authelia, authentik, Auth0 and Pocket ID move in, and hostile exports end in the report or in one sentence.
import { execFileSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importCommand } from '../../src/command-line/import-commands.ts';
import { type MovedIn, moveIn, startImports } from '../helpers/exports.ts';
import { obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { linesOfPython } from '../helpers/python.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let imports: ReturnType<typeof startImports>;
beforeAll(() => {
  imports = startImports();
});
afterAll(() => imports.remove());
const exported: typeof imports.exported = (files) => imports.exported(files);
const moved: typeof imports.moved = (product, ...words) => imports.moved(product, ...words);

/** In the forms that `authelia crypto hash generate` prints: passlib's PBKDF2 and scrypt. */
const autheliaHashes = `
import base64, hashlib, json, sys
b = lambda raw: base64.b64encode(raw).decode().rstrip("=")
for n, password in enumerate(json.load(sys.stdin)):
    salt = b"salt of python " + bytes([65 + n])
    if n % 2: print("$scrypt$ln=10,r=8,p=1$" + b(salt) + "$" + b(hashlib.scrypt(password.encode(), salt=salt, n=1024, r=8, p=1, dklen=32)))
    else: print("$pbkdf2-sha512$1000$" + b(salt).replace("+", ".") + "$" + b(hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 1000)).replace("+", "."))
`;
const passwordOf = (index: number) => `the old password of user ${index}`;

describe('a configuration of Authelia with 20 users', () => {
  const hashes = linesOfPython(
    autheliaHashes,
    Array.from({ length: 18 }, (_, index) => passwordOf(index)),
  );
  // by cryptography 48 of Python, of another password
  hashes.push('$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$uAoTRq0+/xPN4ep6iFHG4djRCIA9U4ecy1B5ZsxsvIo');
  hashes.push(execFileSync('openssl', ['passwd', '-6', passwordOf(19)], { encoding: 'utf8' }).trim());
  const passwords = [
    ...Array.from({ length: 18 }, (_, index) => passwordOf(index)),
    'Grüße an Łukasz 🔑',
    passwordOf(19),
  ];
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const clientSecret = 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG';
  const callback = 'https://grafana.example.com/login/generic_oauth';

  let service: TestService;
  let files: MovedIn;
  beforeAll(async () => {
    service = await startTestService({ environment: withoutLimits });
    const users = hashes.map(
      (hash, index) =>
        `  user${index}:\n    displayname: 'User ${index}'\n    password: '${hash}'\n    email: user${index}@example.com\n    groups: [admins, dev]\n`,
    );
    const file = await exported({
      'configuration.yml': `identity_providers:
  oidc:
    clients:
      - client_id: 'grafana'
        client_name: 'Grafana'
        client_secret: '$plaintext$${clientSecret}'
        authorization_policy: 'one_factor'
        consent_mode: 'implicit'
        redirect_uris: ['${callback}', 'https://grafana.example.com/*']
        scopes: ['openid', 'groups', 'email', 'profile']
      - client_id: 'hashed'
        client_secret: '$pbkdf2-sha512$310000$c8p78n7pUMln0jzvd4aK4Q$JNRBzwAo0ek5qKn50cFzzvE9RXV88h1wJn5KGiHrD0YKtZaR'
        redirect_uris: ['https://hashed.example.com/callback']
access_control:
  rules: [{ domain: '*.example.com', policy: two_factor }]
`,
      'users.yml': `users:\n${users.join('')}`,
      'totp.yml': `totp_configurations:
  - created_at: 2023-01-28T00:00:00Z
    username: user1
    issuer: Authelia
    algorithm: SHA1
    digits: 6
    period: 30
    secret: ${Buffer.from(secret).toString('base64')}
`,
      'identifiers.yml': `identifiers:
  - { service: openid, sector_id: '', username: user0, identifier: b21c0d5e-0000-4000-8000-000000000001 }
  - { service: openid, sector_id: 'https://other.example', username: user1, identifier: b21c0d5e-0000-4000-8000-000000000002 }
`,
    });
    files = await moved(
      'authelia',
      file('configuration.yml'),
      file('users.yml'),
      '--totp',
      file('totp.yml'),
      '--identifiers',
      file('identifiers.yml'),
      '--keep-subs',
    );
  });
  afterAll(() => service?.stop());

  test('moves in: its users sign in with the old password, once and again (federation F104)', async () => {
    for (const said of [
      'user `user19`: The password hash is of an unknown kind, or is too costly. The user needs a link',
      'client `hashed`: The export has no secret. The client gets a new one.',
      'client `grafana`: The address `https://grafana.example.com/*` of redirect_uris has a wildcard',
      'access_control: Rules for hosts and paths stay with the proxy.',
    ])
      expect(files.report).toContain(said);
    expect(files.config['clients']!['hashed']).toMatchObject({
      client_secret: 'generate',
      required_acr: 'urn:gatehouse:acr:mfa',
    });
    const { applied, imported } = await moveIn(service, files.output);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(imported).toMatchObject({
      stdout: expect.stringContaining('20 created, 0 updated, 0 unchanged, 0 rejected'),
      stderr: '',
    });
    for (const [index, password] of passwords.entries()) {
      // one of them has a second factor, and one has no password here
      if (index === 1 || index === 19) continue;
      for (let time = 0; time < 2; time++) {
        const agent = new UserAgent(service);
        await agent.signIn({ username: `user${index}`, password });
        expect(agent.cookies.has('JSESSIONOPENID'), `user${index}`).toBe(true);
      }
      expect((await service.store.users.findByUsername(`user${index}`))!.passwordHash).toMatch(/^\$argon2id\$/);
    }
    const agent = new UserAgent(service);
    const asked = await agent.signIn({ username: 'user1', password: passwordOf(1) });
    expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
    await agent.submit(asked, { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() });
    expect(agent.cookies.has('JSESSIONOPENID')).toBe(true);
  });

  test('keeps the id and the secret of an application, and the sub that it knows (federation F104)', async () => {
    const basic = `Basic ${Buffer.from(`grafana:${clientSecret}`).toString('base64')}`;
    const client = { clientId: 'grafana', redirectUri: callback, basic } as TestClient;
    const user = { username: 'user0', password: passwordOf(0) };
    const { access_token: accessToken } = await obtainTokens(service, client, user, { scope: 'openid groups email' });
    expect((await userinfo(service.issuer, accessToken)).body).toMatchObject({
      sub: 'b21c0d5e-0000-4000-8000-000000000001',
      email: 'user0@example.com',
      groups: ['admins', 'dev'],
    });
  });
});

const authentikUser = (username: string, members: string) =>
  `- model: authentik_core.user\n  identifiers: {username: ${username}}\n  attrs: {username: ${username}, ${members}}\n`;

test('a blueprint of authentik is read as data: its references are followed, and its other tags are left out (federation FR47)', async () => {
  process.env['PLANTED_FOR_THE_IMPORT'] = 'read from the environment';
  const file = await exported({
    'blueprint.yaml': `version: 1
entries:
- model: authentik_core.group
  identifiers: {pk: 11111111-2222-4333-8444-555555555555}
  attrs: {name: authentik Admins, is_superuser: true}
- model: authentik_core.group
  id: staff
  attrs: {name: staff, parent: 11111111-2222-4333-8444-555555555555}
- model: authentik_core.group
  attrs: {name: loop, parent: !Find [authentik_core.group, [name, loop]]}
${authentikUser('ada', `pk: 5, email: ada@example.com, uuid: 21111111-2222-4333-8444-555555555555, groups: [!KeyOf staff], password: 'pbkdf2_sha256$1000$0123456789abcdef$SF6tKk6vPzGgjq1KKRxAhTOpCk8F880BogJ5r1KgzIk='`)}
${authentikUser('looped', 'groups: [!Find [authentik_core.group, [name, loop]], !KeyOf absent], attributes: {colour: red}')}
${authentikUser('env', 'name: !Env PLANTED_FOR_THE_IMPORT, email: !File /etc/hostname, password: !Format ["%s", !Env HOME]')}
${authentikUser('robot', 'type: internal_service_account')}
- model: authentik_core.user
  attrs: {username: !Env [HOME, x]}
- model: authentik_core.user
  state: absent
  attrs: {username: gone}
- model: authentik_providers_oauth2.oauth2provider
  id: provider
  attrs: {name: p, authorization_flow: !Find [authentik_flows.flow, [slug, default-provider-authorization-implicit-consent]], client_id: wiki, client_secret: aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG, redirect_uris: [{matching_mode: strict, url: 'https://wiki.example/callback'}, {matching_mode: regex, url: 'https://.*'}], property_mappings: [!Find [authentik_providers_oauth2.scopemapping, [managed, goauthentik.io/providers/oauth2/scope-email]], other]}
- model: authentik_providers_oauth2.oauth2provider
  attrs: {name: asked, authorization_flow: !Find [authentik_flows.flow, [slug, default-provider-authorization-explicit-consent]], client_id: asked, client_type: public, redirect_uris: [{matching_mode: strict, url: 'https://asked.example/callback'}]}
- model: authentik_core.application
  attrs: {name: The wiki, provider: !KeyOf provider}
- model: authentik_sources_oauth.oauthsource
  attrs: {pk: 77, name: Google, slug: google, provider_type: google, consumer_key: key}
- model: authentik_sources_oauth.useroauthsourceconnection
  attrs: {user: 5, source: 77, identifier: '10101'}
- model: authentik_flows.flow
  attrs: {slug: x}
- a text
`,
  });
  const { report, users, config, output } = await moved('authentik', file('blueprint.yaml'), '--keep-subs');
  for (const said of [
    'The address `https://.*` is an expression',
    'sub of the kind `hashed_user_id`',
    'left out: the service runs no expressions',
    'model `authentik_flows.flow`',
    'user `ada`: The user is an administrator there, and none here without --with-admins.',
    'user `looped`: A group of the user is not in the file',
    'user `looped`: The attributes `colour` are left out',
    'A user has no name that is a text',
  ])
    expect(report).toContain(said);
  const written = await Promise.all(
    ['gatehouse.yaml', 'users.jsonl', 'report.md'].map((name) => readFile(join(output, name), 'utf8')),
  );
  expect(written.join()).not.toContain('read from the environment');
  expect(users.map(({ username }) => username)).toEqual(['ada', 'looped', 'env']);
  expect(users[0]).toMatchObject({
    sub: '21111111-2222-4333-8444-555555555555',
    groups: ['staff'],
    password_hash: expect.stringContaining('pbkdf2_sha256$'),
    links: [{ connection: 'google', subject: '10101' }],
  });
  expect(users[2]).toEqual({ username: 'env', groups: [] });
  expect(config['clients']!['wiki']).toMatchObject({
    client_name: 'The wiki',
    first_party: true,
    redirect_uris: ['https://wiki.example/callback'],
    scope: 'openid email',
  });
  expect(config['clients']!['asked']).not.toHaveProperty('first_party');
  const withAdmins = await moved('authentik', file('blueprint.yaml'), '--with-admins');
  expect(withAdmins.users.filter(({ admin }) => admin === true).map(({ username }) => username)).toEqual(['ada']);
});

test('users of Auth0 get the hashes that stand anywhere in the other file, and their links (federation F104)', async () => {
  const bcrypted = '$2b$04$abcdefghijklmnopqrstuuL6Di0VX3Qa1rANHsOMrYuCDM5t6GrnK';
  const password = (id: string, hash: string) =>
    JSON.stringify({ _id: { $oid: id }, email: 'x@example.com', passwordHash: hash });
  const user = (id: string, members: object) => JSON.stringify({ user_id: id, ...members });
  const file = await exported({
    'users.ndjson': [
      user('auth0|a1', {
        email: 'ada@example.com',
        email_verified: true,
        name: 'Ada',
        blocked: true,
        user_metadata: { colour: 'red' },
        identities: [
          { provider: 'auth0', user_id: 'a1', connection: 'Username-Password-Authentication' },
          { provider: 'google-oauth2', user_id: '115', connection: 'google-oauth2' },
        ],
      }),
      user('auth0|a2', { username: 'bob', identities: [{ provider: 'facebook', user_id: 7, connection: 'facebook' }] }),
      user('auth0|a3', { username: 'none', identities: [{ provider: 'oidc', user_id: '9', connection: 'github' }] }),
      'no JSON',
      '',
    ].join('\n'),
    'passwords.ndjson': [password('a9', 'x'), 'no JSON', password('a2', '$2b$31$x'), password('a1', bcrypted)].join(
      '\r\n',
    ),
  });
  const { users, report, config } = await moved(
    'auth0',
    file('users.ndjson'),
    '--passwords',
    file('passwords.ndjson'),
    '--keep-subs',
  );
  expect(users).toEqual([
    {
      sub: 'auth0|a1',
      username: 'ada@example.com',
      email: 'ada@example.com',
      email_verified: true,
      status: 'disabled',
      name: 'Ada',
      password_hash: bcrypted,
      links: [{ connection: 'google-oauth2', subject: '115' }],
    },
    { sub: 'auth0|a2', username: 'bob' },
    { sub: 'auth0|a3', username: 'none' },
  ]);
  for (const said of [
    'metadata `colour`',
    'line `4`: The line is no user',
    'user `bob`: The password hash is of an unknown kind',
    'user `bob`: The link to `facebook` is left out',
    'user `none`: The link to `oidc/github` is left out',
  ])
    expect(report).toContain(said);
  expect(config['connections']!['google-oauth2']).toMatchObject({ status: 'disabled', preset: 'google' });
});

test('clients and groups of Pocket ID move in, and its administrators only with --with-admins (federation FR40)', async () => {
  const addresses = Buffer.from(
    JSON.stringify(['https://wiki.example/callback', 'https://*.example/callback']),
  ).toString('base64');
  const file = await exported({
    'database.json': {
      provider: 'sqlite',
      version: 20251001000000,
      tables: {
        users: [
          { id: 'u1', username: 'ada', email: 'ada@example.com', first_name: 'Ada', is_admin: 1, disabled: false },
          { id: 'u2', username: null },
        ],
        user_groups: [{ id: 'g1', name: 'staff', friendly_name: 'Staff' }, { id: 7 }],
        user_groups_users: [{ user_id: 'u1', user_group_id: 'g1' }],
        oidc_clients: [
          {
            id: 'wiki',
            name: 'Wiki',
            secret: '$2a$10$x',
            callback_urls: addresses,
            logout_callback_urls: '[]',
            is_public: 0,
            pkce_enabled: true,
          },
        ],
        oidc_clients_allowed_user_groups: [{ oidc_client_id: 'wiki', user_group_id: 'g1' }],
      },
    },
  });
  const { users, report, config } = await moved('pocket-id', file('.'), '--keep-subs');
  expect(users).toEqual([
    {
      sub: 'u1',
      username: 'ada',
      email: 'ada@example.com',
      email_verified: false,
      name: 'Ada',
      given_name: 'Ada',
      groups: ['staff'],
    },
  ]);
  expect(config['clients']!['wiki']).toMatchObject({
    redirect_uris: ['https://wiki.example/callback'],
    access: 'groups',
    access_groups: ['staff'],
    client_secret: 'generate',
    require_pkce: true,
  });
  for (const said of [
    'Passkeys work only for their own host',
    'has a wildcard',
    'A user has another form than expected, at `username`',
    'A group has another form',
  ])
    expect(report).toContain(said);
  expect((await moved('pocket-id', file('.'), '--with-admins')).users).toMatchObject([
    { username: 'ada', admin: true },
  ]);
});

const aliases = (count: number) => `users: &a [x]\nmore: [${'*a, '.repeat(count)}*a]\n`;
test.each<[string, string, Record<string, unknown>, string[], string]>([
  ['no YAML', 'authelia', { c: 'a: [', u: '' }, ['c', 'u'], 'is no YAML that can be read: line 1'],
  ['two documents', 'authelia', { c: 'a: 1\n---\nb: 2\n', u: '' }, ['c', 'u'], 'is no YAML that can be read'],
  ['a key twice', 'authelia', { c: 'a: 1\na: 2\n', u: '' }, ['c', 'u'], 'is no YAML that can be read: line 2'],
  [
    'a tag of a program',
    'authelia',
    { c: 'a: !!js/function "x"\n', u: '' },
    ['c', 'u'],
    'is no YAML that can be read: line 1',
  ],
  [
    'a tag of authentik',
    'authelia',
    { c: 'access_control: !Env HOME\n', u: '' },
    ['c', 'u'],
    'is no YAML that can be read',
  ],
  [
    'nested aliases',
    'authentik',
    {
      b: `a: &a [x, x, x]\n${[...'bcdefghij'].map((name, at) => `${name}: &${name} [${`*${'abcdefghij'[at]}, `.repeat(9)}]\n`).join('')}`,
    },
    ['b'],
    'line 6: there are too many values, or the aliases stand for too many',
  ],
  ['another YAML', 'authelia', { c: 'a: 1\n', u: '' }, ['c', 'u'], 'is not the configuration of Authelia'],
  [
    'another users file',
    'authelia',
    { c: 'access_control: {}\n', u: 'a: 1\n' },
    ['c', 'u'],
    'is not a users file of Authelia',
  ],
  ['a list of texts', 'authentik', { b: '- a\n' }, ['b'], 'is not a blueprint of authentik'],
  ['another JSON', 'auth0', { u: '{"username":"ada"}\n' }, ['u'], 'is not an export of users of Auth0'],
  ['an empty file', 'auth0', { u: '' }, ['u'], 'is not an export of users of Auth0'],
  ['a folder without the file', 'pocket-id', {}, ['.'], 'does not exist'],
  [
    'another database',
    'pocket-id',
    { 'database.json': '{"tables":{"people":[{}]}}' },
    ['.'],
    'is not the database.json of an export of Pocket ID',
  ],
])(
  '%s for %s is refused in one sentence, and nothing is written (federation FR47)',
  async (_title, product, files, words, said) => {
    const file = await exported(files);
    const { code, stderr, output } = await moved(product, ...words.map(file));
    expect([code, stderr.trimEnd().split('\n')]).toEqual([1, [expect.stringContaining(said)]]);
    await expect(stat(output)).rejects.toThrow('ENOENT');
  },
);

test('a few aliases of one value are no fault (federation FR47)', async () => {
  const file = await exported({ c: `access_control: {}\n${aliases(20)}`, u: 'users: {ada: {password: x}}\n' });
  expect(await moved('authelia', file('c'), file('u'))).toMatchObject({ code: 0 });
});

test('a planted product gets its command, its checks, its files and its report by one value (architecture, extension points)', async () => {
  const output = join(imports.folder, 'planted');
  const command = importCommand({
    name: 'planted',
    title: 'the planted product',
    files: ['FILE'],
    summary: 'Reads nothing',
    load: () =>
      Promise.resolve({
        open: (files) =>
          Promise.resolve({
            name: 'planted',
            async moveTo(move) {
              move.note('file', files.join());
              move.client('app', {
                members: { redirect_uris: ['https://app.example/*'], token_endpoint_auth_method: 'none' },
              });
              move.client('good', {
                members: {
                  redirect_uris: ['https://app.example/'],
                  token_endpoint_auth_method: 'none',
                  logo_uri: 'no address',
                },
              });
              await move.user({ username: 'ada', admin: true, birthdate: 'yesterday' } as never);
            },
          }),
      }),
  });
  const { text, json } = await command.run({} as never, ['the-file', '--output', output], {} as never);
  expect(text).toContain('1 users, 1 clients');
  expect(json).toMatchObject({ users: 1, clients: 1, notes: 6 });
  const report = await readFile(join(output, 'report.md'), 'utf8');
  for (const said of [
    'file: the-file',
    'has a wildcard',
    'The client is left out.',
    'logo_uri is left out',
    '`birthdate` must be YYYY-MM-DD or YYYY. This is left out.',
  ])
    expect(report).toContain(said);
});
