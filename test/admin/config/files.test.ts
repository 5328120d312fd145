// Exports a service, applies the file to an empty one, and applies, refuses and prunes changes of files.
import { mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fileNouns } from '../../../src/admin/operations/config/nouns.ts';
import { roles } from '../../../src/entities/roles.ts';
import { runCommand, runCommandProcess } from '../../helpers/command-line.ts';
import { type DocumentServer, startDocumentServer } from '../../helpers/document-server.ts';
import { everyMember } from '../../helpers/every-member.ts';
import { adminToken, call, withoutLimits } from '../../helpers/grants.ts';
import { startTestService, type TestService } from '../../helpers/service.ts';

const environment: Record<string, string> = {
  ...withoutLimits,
  CONNECTIONS_ALLOW: 'directory.example:636,other.example:636',
};
const strong = '0123456789abcdef0123456789abcdef';
const folder = mkdtempSync(join(tmpdir(), 'config-'));
let former: TestService;
let service: TestService;
let tokens: Map<TestService, string>;
let documents: DocumentServer;
beforeAll(async () => {
  documents = await startDocumentServer();
  documents.documents.set('/sector.json', { body: ['https://pairwise.example/callback'] });
  Object.assign(environment, {
    OUTBOUND_ALLOW: documents.allow,
    // as a proxy that checks certificates asks for
    TRUST_PROXY: '127.0.0.1,::1',
    MTLS_BASE_URL: 'https://mtls.example',
    CLIENT_CERT_HEADER: 'Client-Cert',
    CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
  });
  former = await startTestService({ environment });
  service = await startTestService({ environment });
  tokens = new Map([
    [former, await adminToken(former)],
    [service, await adminToken(service)],
  ]);
});
afterAll(async () => {
  await former?.stop();
  await service?.stop();
  await documents?.stop();
});

const api = (of: TestService, method: string, path: string, body?: object) =>
  call(`${of.issuer}/admin/api/${path}`, { token: tokens.get(of)!, method, ...(body && { body }) });
const variables: Record<string, string> = {
  WIKI_SECRET: strong,
  CONNECTION_STAFF_SECRET: 'bind password',
  EVERY_SECRET: strong,
  EVERY_WEAK_SECRET: 'open sesame',
  EVERY_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 'w').toString('base64')}`,
  WEBHOOK_EVERY_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 'w').toString('base64')}`,
  WEBHOOK_EVERY_WEBHOOK_SECOND_SECRET: `whsec_${Buffer.alloc(32, 'w').toString('base64')}`,
};
const run = (of: TestService, ...args: string[]) =>
  runCommand(of, ['config', ...args], { environment: { ...environment, ...variables } });
let files = 0;
/** Writes a file with these lines below apiVersion and name. */
function fileOf(text: string, head = 'apiVersion: gatehouse/v1\nname: team\n'): string {
  const file = join(folder, `${++files}.yaml`);
  writeFileSync(file, head + text);
  return file;
}
const callers: string[] = [];
const withoutCallers = (text: string) =>
  callers.reduce((rest, id) => rest.replace(new RegExp(`  "?${id}"?:\\n(    .*\\n)+`), ''), text);
const exported = async (of: TestService, ...args: string[]) => (await run(of, 'export', ...args)).stdout;
const eventsOf = (of: TestService, type: string) =>
  of.database.sql<{ actor: string; detail: object }>(
    'SELECT actor, detail FROM audit_events WHERE type LIKE $1 ORDER BY id',
    [type],
  );

type Entries = Record<string, Record<string, unknown>>;
/** The members of the declarations that no entry of a file has. */
function unset(text: string): string[] {
  const file = parse(text) as Record<string, Entries>;
  return fileNouns().flatMap(({ section, of, key, isSingle }) => {
    const entries = isSingle ? [file[section]!] : Object.values(file[section] ?? {});
    const has = (entry: Record<string, unknown> | null, name: string) => Object.hasOwn(entry ?? {}, name);
    const own = Object.keys(of.members).filter((name) => name !== key && !entries.some((entry) => has(entry, name)));
    const within = entries.flatMap((entry) => Object.values((entry?.['roles'] ?? {}) as Entries));
    const ofRoles =
      section === 'clients' ? Object.keys(roles.members).filter((name) => !within.some((role) => has(role, name))) : [];
    return [...own, ...ofRoles.filter((name) => name !== roles.key)].map((name) => `${section}.${name}`);
  });
}

test('an export that is applied to an empty service is the same there, byte for byte, with every noun and member (federation 10)', async () => {
  const made = [
    await api(former, 'POST', 'attributes', {
      name: 'department',
      type: 'string',
      label: { en: 'Department', de: 'Abteilung' },
      choices: ['no', 'sales', '0777'],
      max: 40,
      person: 'read',
    }),
    await api(former, 'POST', 'attributes', { name: 'badge', type: 'string', unique: true }),
    await api(former, 'POST', 'scopes', {
      name: 'work',
      text: { en: 'Your work' },
      claims: ['department', 'zoneinfo'],
    }),
    await api(former, 'POST', 'groups', { name: 'staff', description: 'Everyone: who works here' }),
    await api(former, 'POST', 'connections', {
      id: 'staff',
      kind: 'ldap',
      display_name: 'Staff: directory',
      status: 'enabled',
      secret: 'bind password',
      domains: ['staff.example'],
      claim_rules: [{ to: 'department', from: 'ou' }],
      group_rules: [
        { equals: 'admins', group: 'operators' },
        { all: true, prefix: 'dir-' },
      ],
      default_groups: ['everyone'],
      session_lifetime: 3600,
      settings: { url: 'ldaps://directory.example:636', base: 'dc=example', bind_dn: 'cn=reader,dc=example' },
    }),
    await api(former, 'POST', 'clients', {
      client_id: 'wiki',
      client_secret: strong,
      client_name: 'Wiki',
      redirect_uris: ['https://wiki.example/callback'],
      post_logout_redirect_uris: ['https://wiki.example/'],
      scope: 'openid profile work',
      contacts: ['ada@example.com'],
      access: 'groups',
      access_groups: ['staff'],
      connections: ['staff'],
      networks: ['192.0.2.0/24'],
      claim_rules: [{ claim: 'team', from: 'groups', into: ['id_token'] }],
      access_token_lifetime: 600,
      first_party: true,
    }),
    await api(former, 'POST', 'clients', {
      client_id: 'spa',
      client_name: 'Browser',
      redirect_uris: ['https://spa.example/cb'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      status: 'disabled',
    }),
    await api(former, 'POST', 'resources', {
      resource: 'https://api.example/',
      name: 'API',
      client_id: 'wiki',
      scopes: [{ value: 'write', description: { en: 'Write' } }, { value: 'read' }],
      access_token_lifetime: 300,
      public: true,
    }),
    await api(former, 'POST', 'clients/wiki/roles', { name: 'editor', description: 'Edits' }),
    await api(former, 'POST', 'clients/wiki/roles', { name: 'on' }),
  ];
  await api(former, 'PATCH', 'groups/staff', { guarded_sources: ['staff'] });
  expect(made.map(({ status, body }) => [status, body['error_description']])).toEqual(made.map(() => [201, undefined]));
  const whole = join(folder, 'every.yaml');
  const head = { apiVersion: 'gatehouse/v1', name: 'every' };
  writeFileSync(whole, JSON.stringify({ ...head, ...everyMember(`${documents.origin}/sector.json`) }));
  expect(await run(former, 'apply', whole)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(former, 'plan', whole)).toMatchObject({ code: 0, stdout: 'Nothing to do.\n' });
  const text = await exported(former);
  expect(unset(text)).toEqual([]);
  // a member that a declaration gets later must get a value here, too
  expect(unset(text.replace(/^ +position: 7\n/m, ''))).toEqual(['connections.position']);
  for (const [, name] of text.matchAll(/env: (CLIENT\w+|CONNECTION_EVERYTHING\w+)/g)) variables[name!] ??= strong;
  for (const [, name] of text.matchAll(/env: ((?:WEBHOOK|PROVISIONING)\w+)/g))
    variables[name!] = variables['EVERY_WEBHOOK_SECRET']!;
  variables['CLIENT_EVERY_SERVER_CLIENT_SECRET'] = 'open sesame';
  expect(text).toMatch(/^apiVersion: gatehouse\/v1\nname: gatehouse\nadopt: true\nappearance:\n/);
  expect(text).not.toMatch(/0123456789abcdef0|bind password|open sesame/);
  expect(text).toContain('env: CLIENT_WIKI_CLIENT_SECRET');
  const file = join(folder, 'exported.yaml');
  writeFileSync(file, text);
  expect(await run(service, 'plan', file)).toMatchObject({ code: 2, stderr: '' });
  const applied = await run(service, 'apply', file);
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  // the client by which this test calls the other service is no part of the file
  const own = (await api(service, 'GET', 'clients')).body['clients'] as { client_id: string; scope: string }[];
  for (const { client_id: id, scope } of own) if (scope === 'admin' && !text.includes(id)) callers.push(id);
  expect(withoutCallers(await exported(service))).toBe(text);
  expect(await run(service, 'plan', file)).toMatchObject({ code: 0, stdout: 'Nothing to do.\n' });
  expect(await run(service, 'drift', file)).toMatchObject({ code: 0 });
  const again = await run(service, 'apply', file);
  expect(again).toMatchObject({ code: 0, stdout: 'Nothing to do.\n' });
  const events = await eventsOf(service, '%.created');
  expect(events.filter(({ actor }) => actor === 'config:gatehouse')).toHaveLength(41);
  // the former service comes under its own file, and nothing of it changes
  const taken = await run(former, 'plan', file);
  // this test gave the client by which it calls the service another secret
  expect(taken.stdout).toMatch(/0 to create, 1 to change, 0 to delete, 37 to take over\.\n$/);
  expect(await run(former, 'apply', file)).toMatchObject({ code: 0 });
  expect(await eventsOf(former, 'client.updated')).toEqual([]);
  expect(await run(former, 'plan', file)).toMatchObject({ code: 0 });
}, 120_000);

describe('a plan', () => {
  test('shows the old and the new values and no secret, and carries what it saw (federation FR45)', async () => {
    const file = fileOf(
      'clients:\n  plain:\n    client_name: Plain\n    grant_types: [client_credentials]\n    client_secret: {env: WIKI_SECRET}\n',
    );
    await run(service, 'apply', file);
    const changed = fileOf(
      'clients:\n  plain:\n    client_name: Plainer\n    grant_types: [client_credentials]\n    client_secret: {env: CONNECTION_STAFF_SECRET}\n    weak_secret: true\n',
    );
    const out = join(folder, 'plan.json');
    const shown = await run(service, 'plan', changed, '--out', out);
    expect(shown).toMatchObject({ code: 2, stderr: '' });
    expect(shown.stdout).toContain(
      '~ change client plain\n    client_name: Plain → Plainer\n    client_secret: (set) → (changes)\n',
    );
    expect(readFileSync(out, 'utf8')).not.toMatch(/0123456789abcdef|bind password/);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    await api(service, 'POST', 'clients/plain/secrets', { secrets: ['shared_secret'] });
    const stale = await run(service, 'apply', out);
    expect(stale).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'An object of the plan has changed since: plan again.\n',
    });
    await run(service, 'plan', changed, '--out', join(folder, 'plan2.json'));
    expect(await run(service, 'apply', join(folder, 'plan2.json'))).toMatchObject({ code: 0, stderr: '' });
    expect((await api(service, 'GET', 'clients/plain')).body).toMatchObject({
      client_name: 'Plainer',
      weak_secret: true,
    });
    expect(JSON.stringify(await eventsOf(service, '%'))).not.toMatch(/0123456789abcdef|bind password/);
  });

  test('names the users who lose an application by a deletion; only --prune deletes, and no user is ever deleted (federation F100, FR45)', async () => {
    const head = 'apiVersion: gatehouse/v1\nname: pruned\n';
    await run(
      service,
      'apply',
      fileOf('clients:\n  gone:\n    grant_types: [client_credentials]\n    client_secret: generate\n', head),
    );
    await api(service, 'POST', 'clients', { client_id: 'by-hand', grant_types: ['client_credentials'] });
    const user = await service.createUser();
    const empty = fileOf('', head);
    const kept = await run(service, 'plan', empty);
    expect(kept).toMatchObject({
      code: 0,
      stdout: '! the client gone is no longer in the file: --prune deletes it\nNothing to do.\n',
    });
    const pruned = await run(service, 'plan', empty, '--prune', '--json');
    expect(JSON.parse(pruned.stdout)).toMatchObject({ changes: [{ section: 'clients', key: 'gone', act: 'delete' }] });
    expect(await run(service, 'apply', empty, '--prune')).toMatchObject({ code: 0 });
    expect((await api(service, 'GET', 'clients/gone')).status).toBe(404);
    for (const id of ['by-hand', 'plain', 'wiki'])
      expect((await api(service, 'GET', `clients/${id}`)).status, id).toBe(200);
    expect((await api(service, 'GET', `users/${user.sub}`)).status).toBe(200);
  });
});

test('what was deleted without its files and made anew by hand belongs to no file: --prune leaves it, and a file takes it over only with adopt (federation F100)', async () => {
  const head = 'apiVersion: gatehouse/v1\nname: former\n';
  const entries = 'groups:\n  harbour:\n    description: By file\nattributes:\n  berth:\n    type: number\n';
  await run(service, 'apply', fileOf(entries, head));
  await service.database.sql(`DELETE FROM attributes WHERE name = 'berth'`);
  await service.database.sql(`UPDATE groups SET name = 'port' WHERE name = 'harbour'`);
  await api(service, 'POST', 'attributes', { name: 'berth', type: 'string' });
  await api(service, 'POST', 'groups', { name: 'harbour', description: 'By hand' });
  expect(await run(service, 'apply', fileOf('', head), '--prune')).toMatchObject({ code: 0 });
  expect((await api(service, 'GET', 'groups/harbour')).body).toMatchObject({ description: 'By hand' });
  const refused = await run(service, 'apply', fileOf(entries, head));
  expect(refused.stderr).toMatch(/exists, and no file made it: adopt: true at the top of the file takes it over\.\n$/);
});

test('networks and hosts that a file writes in another way than PostgreSQL are the same: applied again, the file changes nothing (federation FR45)', async () => {
  const networks = [
    '10.0.0.1',
    '2001:DB8:0:0::/32',
    '2001:db8:0:1:1:1:1:1',
    '1:0:0:2:0:0:0:3',
    '::',
    '::/0',
    '::1',
    '::1.2.3.4',
    '::1:0/112',
  ];
  const head = 'apiVersion: gatehouse/v1\nname: networks\n';
  const file = fileOf(
    `clients:\n  networked:\n    client_name: Networked\n    grant_types: [client_credentials]\n    networks: ${JSON.stringify(networks)}\n    client_secret: generate\n  site:\n    kind: proxy\n    client_name: Site\n    hosts: [B.Example.com]\n    client_secret: generate\n`,
    head,
  );
  expect(await run(service, 'apply', file)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(service, 'plan', file)).toMatchObject({ code: 0, stdout: 'Nothing to do.\n' });
  await run(service, 'apply', fileOf('', head), '--prune');
});

test('an export names a variable of its own for each secret, also where names differ only in characters that no variable has (federation 10)', async () => {
  for (const id of ['like-it', 'like.it'])
    await api(service, 'POST', 'clients', { client_id: id, grant_types: ['client_credentials'] });
  const text = await exported(service);
  expect(text.match(/CLIENT_LIKE_IT_CLIENT_SECRET\w*/g)).toEqual([
    'CLIENT_LIKE_IT_CLIENT_SECRET',
    'CLIENT_LIKE_IT_CLIENT_SECRET_2',
  ]);
});

describe('what a file names and did not make', () => {
  const entry = 'attributes:\n  floor:\n    type: number\n';
  test('is taken over only with adopt (federation F100, FR45)', async () => {
    await api(service, 'POST', 'attributes', { name: 'floor', type: 'number' });
    const refused = await run(service, 'apply', fileOf(entry));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /Line 4 of [\w.]+: attributes\.floor: the attribute floor exists, and no file made it: adopt: true at the top of the file takes it over\.\n$/,
    );
    expect(await run(service, 'apply', fileOf(`adopt: true\n${entry}`))).toMatchObject({ code: 0 });
    const other = 'apiVersion: gatehouse/v1\nname: other\n';
    expect((await run(service, 'plan', fileOf(entry, other))).stderr).toContain('is managed by team');
    const plan = await run(service, 'plan', fileOf(`adopt: true\n${entry}`, other));
    expect(plan).toMatchObject({ code: 2 });
    expect(plan.stdout).toContain('> take over attribute floor, taken over from team\n');
  });

  test('stays disabled if an administrator disabled it, unless --enable (federation 10)', async () => {
    const file = fileOf('clients:\n  switched:\n    grant_types: [client_credentials]\n    client_secret: generate\n');
    await run(service, 'apply', file);
    await api(service, 'POST', 'clients/switched/disable');
    const plan = await run(service, 'plan', file);
    expect(plan).toMatchObject({ code: 0 });
    expect(plan.stdout).toContain('! the client switched is disabled and stays so: --enable enables it\n');
    expect((await run(service, 'drift', file)).code).toBe(2);
    expect(await run(service, 'apply', file)).toMatchObject({ code: 0 });
    expect((await api(service, 'GET', 'clients/switched')).body['status']).toBe('disabled');
    expect(await run(service, 'apply', file, '--enable')).toMatchObject({ code: 0 });
    expect((await api(service, 'GET', 'clients/switched')).body['status']).toBe('enabled');
  });
});

test('a fault in the last object changes nothing (federation 10)', async () => {
  const before = await exported(service);
  const events = await eventsOf(service, '%');
  // an API of this service's own has no place in a file
  const file = fileOf(
    `attributes:\n  first:\n    type: string\nclients:\n  next:\n    grant_types: [client_credentials]\n    client_secret: generate\nresources:\n  ${service.issuer}/admin/api:\n    name: Own\n`,
  );
  const refused = await run(service, 'apply', file);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/Line 11 of [\w.]+: resources\./);
  expect(await exported(service)).toBe(before);
  expect(await eventsOf(service, '%')).toEqual(events);
});

test('a secret that the service makes is shown once, or written for its owner alone, and kept afterwards (federation 10)', async () => {
  const file = fileOf('clients:\n  shown:\n    grant_types: [client_credentials]\n    client_secret: generate\n');
  const shown = await run(service, 'apply', file);
  expect(shown.stdout).toMatch(/clients\.shown\.client_secret {2}[\w-]{43}\n/);
  expect(await run(service, 'plan', file)).toMatchObject({ code: 0 });
  const into = join(folder, 'secrets');
  const written = await run(
    service,
    'apply',
    fileOf('clients:\n  written:\n    grant_types: [client_credentials]\n    client_secret: generate\n'),
    '--secrets-out',
    into,
  );
  expect(written.stdout).not.toMatch(/[\w-]{43}/);
  const secret = join(into, 'clients_written_client_secret');
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  expect(readFileSync(secret, 'utf8')).toMatch(/^[\w-]{43}\n$/);
  // and such a file is read again
  const reading = fileOf(
    `clients:\n  written:\n    grant_types: [client_credentials]\n    client_secret: {file: secrets/clients_written_client_secret}\n`,
  );
  expect(await run(service, 'plan', reading)).toMatchObject({ code: 0 });
});

test('a secret for which no file can be made is shown: no other copy is left (federation 10)', async () => {
  const into = mkdtempSync(join(folder, 'taken-'));
  const entry = (id: string) => `  "${id}":\n    grant_types: [client_credentials]\n    client_secret: generate\n`;
  const made = await run(
    service,
    'apply',
    fileOf(`clients:\n${entry('like/this')}${entry('like:this')}`),
    '--secrets-out',
    into,
  );
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/The new secrets are in .*: 1\.\n/);
  expect(made.stdout.match(/clients\.like.this\.client_secret {2}[\w-]{43}/g)).toHaveLength(1);
  const long = 'x'.repeat(255);
  const { stdout } = await run(service, 'apply', fileOf(`clients:\n${entry(long)}`), '--json', '--secrets-out', into);
  expect(JSON.parse(stdout)).toMatchObject({
    secrets: [{ key: long, value: expect.stringMatching(/^[\w-]{43}$/) as string }],
  });
});

test('a stored plan reaches no variables of the process by its folder (federation F101)', async () => {
  const file = fileOf(
    'clients:\n  reading:\n    grant_types: [client_credentials]\n    client_secret: {file: environ}\n',
  );
  writeFileSync(join(folder, 'environ'), strong);
  const plan = join(folder, 'reading.json');
  expect(await run(service, 'plan', file, '--out', plan)).toMatchObject({ code: 2 });
  const stored = JSON.parse(readFileSync(plan, 'utf8')) as object;
  for (const [at, sentence] of [
    ['/proc/self', /names a file outside of the folder/],
    [7, /this is not a plan/i],
  ] as const) {
    writeFileSync(plan, JSON.stringify({ ...stored, folder: at }));
    const refused = await run(service, 'apply', plan);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(sentence);
  }
});

test('a secret of a file follows the rule of its member, and no answer has it (federation F101)', async () => {
  const bad = join(folder, 'bad-secret');
  for (const value of [`${strong}\n${strong}`, `${strong}\u0000`, `${strong}é`]) {
    writeFileSync(bad, value);
    for (const entry of [
      'clients:\n  bad:\n    grant_types: [client_credentials]\n    client_secret: {file: bad-secret}\n',
      ...(value.includes('\0')
        ? [
            'connections:\n  bad:\n    kind: ldap\n    display_name: Bad\n    secret: {file: bad-secret}\n    settings: {url: "ldaps://directory.example:636", base: dc=example, bind_dn: cn=reader}\n',
          ]
        : []),
    ]) {
      const refused = await run(service, 'plan', fileOf(entry));
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/(client_)?secret must/);
      expect(refused.stderr).not.toContain(strong);
    }
  }
});

test.each<[string, string, RegExp]>([
  [
    'a plain secret',
    'client_secret: open sesame',
    /Line 6 of [\w.]+: clients\.x: client_secret must be \{env: NAME\}, \{file: PATH\} or generate/,
  ],
  [
    'a variable of the service',
    'client_secret: {env: SECRET_KEY}',
    /client_secret names SECRET_KEY, which is a setting of this service/,
  ],
  ['the address of the database', 'client_secret: {env: DATABASE_URL}', /DATABASE_URL, which is a setting/],
  ['a variable that is not set', 'client_secret: {env: NOT_SET}', /the variable NOT_SET, which is not set/],
  ['a file of the system', 'client_secret: {file: /etc/shadow}', /outside of the folder of the configuration/],
  ['a file above the folder', 'client_secret: {file: ../../etc/passwd}', /outside of the folder|cannot be read/],
  [
    'a weak secret',
    'client_secret: {env: CONNECTION_STAFF_SECRET}',
    /client_secret must have at least 32 characters and 128 bits/,
  ],
  ['no secret', 'client_name: X', /client_secret is missing/],
])('a client with %s is refused, and no answer has the secret (federation F101, FR45)', async (_, line, sentence) => {
  const file = fileOf(`clients:\n  x:\n    grant_types: [client_credentials]\n    ${line}\n`);
  const refused = await run(service, 'apply', file);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(sentence);
  expect(refused.stderr).not.toMatch(/sesame|bind password|root:/);
});

test.each<[string, string, RegExp]>([
  ['no version', 'name: x\n', /Line 1 of [\w.]+: apiVersion must be gatehouse\/v1/],
  ['another version', 'apiVersion: gatehouse/v2\n', /apiVersion must be/],
  ['no name', 'apiVersion: gatehouse/v1\n', /name is missing/],
  [
    'settings',
    'apiVersion: gatehouse/v1\nname: x\nsettings: {}\n',
    /Line 3 of [\w.]+: settings stay in the environment of the service/,
  ],
  [
    'an unknown section',
    'apiVersion: gatehouse/v1\nname: x\nclient: {}\n',
    /Line 3 of [\w.]+: client is unknown: the most similar names are clients/,
  ],
  [
    'an unknown member',
    'apiVersion: gatehouse/v1\nname: x\nattributes:\n  a:\n    type: string\n    labels: {}\n',
    /Line 6 of [\w.]+: attributes\.a: labels is unknown: the most similar names are label/,
  ],
  ['users', 'apiVersion: gatehouse/v1\nname: x\nusers: {}\n', /users is unknown/],
  [
    'a wrong value',
    'apiVersion: gatehouse/v1\nname: x\nattributes:\n  a:\n    type: text\n',
    /Line 5 of [\w.]+: attributes\.a: type/,
  ],
  [
    'a wrong address',
    'apiVersion: gatehouse/v1\nname: x\nclients:\n  a:\n    token_endpoint_auth_method: none\n    redirect_uris: [http://a.example]\n',
    /Line 6 of [\w.]+: clients\.a: redirect_uris/,
  ],
  [
    'a list in place of a mapping',
    'apiVersion: gatehouse/v1\nname: x\nattributes: [a]\n',
    /Line 3 of [\w.]+: attributes must be a mapping/,
  ],
])('a file with %s is refused with the line (federation 10)', async (_, text, sentence) => {
  const refused = await run(service, 'plan', fileOf(text, ''));
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(sentence);
});

test('the complete example of the page has each noun of files (federation 10)', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8');
  const example = parse(/^```yaml\n(.*?)^```$/ms.exec(page)![1]!) as Record<string, object>;
  const empty = fileNouns().filter(({ section }) => Object.keys(example[section] ?? {}).length === 0);
  expect(empty.map(({ section }) => section)).toEqual([]);
});

describe('a secret of the service itself, or a file with settings, becomes that of no client and no connection (federation F101, FR45)', () => {
  const entry = (source: string) =>
    `clients:\n  taking:\n    grant_types: [client_credentials]\n    client_secret: ${source}\n`;
  const own = join(folder, 'own');
  const plan = (source: string, more: Record<string, string> = {}) =>
    runCommand(service, ['config', 'plan', fileOf(entry(source))], {
      environment: { ...environment, DATA_DIR: join(own, 'data'), ...more },
    });
  beforeAll(() => {
    mkdirSync(join(own, 'data'), { recursive: true });
    writeFileSync(join(folder, '.env'), `${strong}\n`);
    writeFileSync(join(folder, 'settings'), `WIKI=1\nexport SMTP_URL=smtp://mail.example\n`);
    writeFileSync(join(folder, 'copied'), `the key is ${service.secretKey}\n`);
    writeFileSync(join(own, 'data', 'letter'), strong);
    writeFileSync(join(own, 'key'), strong);
    writeFileSync(join(own, 'free'), strong);
    symlinkSync(join(folder, '.env'), join(folder, 'harmless'));
    symlinkSync(join(own, 'data'), join(own, 'elsewhere'));
  });

  test.each<[string, string, RegExp, Record<string, string>?]>([
    ['a file .env', '{file: .env}', /names a file of this service/],
    ['a link to it', '{file: harmless}', /names a file of this service/],
    ['a path around it', '{file: own/../.env}', /names a file of this service/],
    ['a file of DATA_DIR', '{file: own/data/letter}', /names a file of this service/],
    ['a file of DATA_DIR behind a link', '{file: own/elsewhere/letter}', /names a file of this service/],
    [
      'the file of ADMIN_PASSWORD_FILE',
      '{file: own/key}',
      /names a file of this service/,
      { ADMIN_PASSWORD_FILE: join(own, 'key') },
    ],
    ['a file with settings', '{file: settings}', /has a secret or a setting of this service/],
    ['a copy of SECRET_KEY', '{file: copied}', /has a secret or a setting of this service/],
    ['a variable with SECRET_KEY', '{env: OTHER}', /has a secret or a setting of this service/],
  ])('%s is refused', async (_, source, sentence, more) => {
    const refused = await plan(source, { OTHER: service.secretKey, ...more });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(sentence);
    expect(refused.stderr).not.toContain(service.secretKey);
  });

  test('the file of --env-file is refused, whatever its name is', async () => {
    const file = fileOf(entry('{file: own/free}'));
    const ofNode = (...options: string[]) =>
      runCommandProcess(service, [...options, 'config', 'plan', file], { environment });
    expect(await ofNode()).toMatchObject({ code: 2, stderr: '' });
    const refused = await ofNode(`--env-file=${join(own, 'free')}`);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/names a file of this service/);
  });
});

test('an export leaves out what no file can name, says so, and is applied (federation F102)', async () => {
  await api(service, 'POST', 'groups', { name: '__proto__' });
  const rule = { claim: 'team', from: 'groups', map: JSON.parse('{"__proto__": "x"}') as object, into: ['id_token'] };
  const made = await api(service, 'POST', 'clients', { client_id: 'mapping', grant_types: ['client_credentials'] });
  expect(made.status).toBe(201);
  await service.database.sql(`UPDATE clients SET claim_rules = $1 WHERE client_id = 'mapping'`, [
    JSON.stringify([rule]),
  ]);
  const text = await exported(service);
  expect(text).toMatch(
    /^# clients\.mapping is left out: no file can have the name __proto__\n# groups\.__proto__ is left out[^\n]*\napiVersion/,
  );
  for (const [, name] of text.matchAll(/env: (\w+)/g)) variables[name!] ??= strong;
  const file = join(folder, 'reserved.yaml');
  writeFileSync(file, text);
  expect((await run(service, 'plan', file)).stderr).toBe('');
  await api(service, 'DELETE', 'groups/__proto__');
  await api(service, 'DELETE', 'clients/mapping');
});

describe('a connection that moves to another site (security R162; federation FR45)', () => {
  const entry = (host: string, secret: string) =>
    `connections:\n  moving:\n    kind: ldap\n    display_name: Moving\n${secret}    settings: {url: "ldaps://${host}:636", base: dc=example, bind_dn: cn=reader}\n`;
  const given = '    secret: {env: CONNECTION_STAFF_SECRET}\n';
  test('is planned and applied with the secret of its file, also where that is the same', async () => {
    expect(await run(service, 'apply', fileOf(entry('directory.example', given)))).toMatchObject({
      code: 0,
      stderr: '',
    });
    const moved = fileOf(entry('other.example', given));
    expect((await run(service, 'plan', moved)).stdout).toContain('    secret: (set) → (changes)\n');
    expect(await run(service, 'apply', moved)).toMatchObject({ code: 0, stderr: '' });
    expect(await run(service, 'plan', moved)).toMatchObject({ code: 0 });
  });
  test('is refused by the plan where its file has none', async () => {
    const refused = await run(service, 'plan', fileOf(entry('directory.example', '')));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/Line 4 of [\w.]+: connections\.moving: .*enter the secret again\.\n$/);
    expect(await run(service, 'plan', fileOf(entry('other.example', '')))).toMatchObject({ code: 0 });
  });
});
