// Tests connections to directories for administrators: their settings, their test, their secret, and the console.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDirectory, settingsOf } from '../helpers/directories.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  serviceDn,
  servicePassword,
  startDirectoryServer,
} from '../helpers/directory-server.ts';
import { runCommand } from '../helpers/command-line.ts';
import { addRule, formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { openEncryption, reencrypt } from '../../src/domain/keys/encryption-at-rest.ts';
import { associatedDataOf } from '../../src/repositories/keys/sealed-values.ts';
import type { Page } from '../helpers/user-agent.ts';

let server: DirectoryServer | undefined;
let service: TestService;
let token: string;
const allowed = () => [...(server?.hosts ?? []), 'ldap.example:636', 'localhost:1'].join(',');

beforeAll(async () => {
  if (hasSlapd) {
    server = await startDirectoryServer();
    server.add(personEntry('alice') + groupEntry('Staff', [`uid=alice,ou=people,${base}`]));
  }
  service = await startTestService({ environment: { ...withoutLimits, CONNECTIONS_ALLOW: allowed() } });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await server?.stop();
});

const create = (body: Record<string, unknown>) => call(`${service.issuer}/admin/api/connections`, { token, body });
const usual = { url: 'ldaps://ldap.example', bind_dn: 'cn=service,dc=example', base: 'dc=example' };
const made = (id: string, settings: Record<string, unknown> = {}) =>
  create({ id, kind: 'ldap', display_name: id, settings: { ...usual, ...settings } });

describe('the settings of a directory', () => {
  test('come from the preset where they are not given (federation 6)', async () => {
    expect((await made('filled')).body).toMatchObject({
      settings: {
        preset: 'openldap',
        id_attribute: 'entryUUID',
        login_attributes: ['uid', 'mail'],
        limit: 4,
        import: 'off',
      },
    });
    expect((await made('ad', { preset: 'active_directory', login_attributes: ['mail'] })).body).toMatchObject({
      settings: { id_attribute: 'objectGUID', login_attributes: ['mail'], nested: true, page_size: 500 },
    });
    for (const preset of ['389ds', 'freeipa']) expect((await made(`preset-${preset}`, { preset })).status).toBe(201);
  });

  test.each([
    ['another host', { url: 'ldap://169.254.169.254', starttls: true }, 'CONNECTIONS_ALLOW'],
    ['a port of another service', { url: 'ldap://localhost:5432' }, 'CONNECTIONS_ALLOW'],
    ['a host beside the list', { url: 'ldaps://evil.example' }, 'CONNECTIONS_ALLOW'],
    ['another port', { url: 'ldaps://ldap.example:6360' }, 'CONNECTIONS_ALLOW'],
    ['no encryption', { url: 'ldap://ldap.example' }, 'unencrypted'],
    ['StartTLS within TLS', { starttls: true }, 'ldaps://host:port'],
    ['another scheme', { url: 'https://ldap.example' }, 'ldaps://host:port'],
    ['a query', { url: 'ldaps://ldap.example/dc=example?uid' }, 'ldaps://host:port'],
  ])('with %s are refused, and nothing connects (federation F59, FR14, FR32)', async (_title, settings, words) => {
    server?.log();
    const answer = await made('pointed', settings);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(JSON.stringify(answer.body)).toContain(words);
    expect(server?.log() ?? '').not.toContain('ACCEPT');
    expect(await service.store.connections.find('pointed')).toBeUndefined();
    // the same for a change
    const change = await call(`${service.issuer}/admin/api/connections/filled`, {
      token,
      method: 'PATCH',
      body: { settings },
    });
    expect(change.status).toBe(400);
  });

  test.each([
    { user_filter: '(uid=*' },
    { user_filter: 'uid' },
    { group_filter: ')(' },
    { base: 'people' },
    { bind_dn: '' },
    { login_attributes: [] },
    { login_attributes: ['uid)(x'] },
    { id_attribute: 'uid' },
    { import: 4 },
    { import: 'often' },
    { page_size: 0 },
    { limit: 0 },
    { url: 5 },
    { unknown: true },
    { url: `ldaps://${'x'.repeat(400)}` },
    { base: 'dc=\0' },
  ])('%j are refused with a sentence (security R88, federation 6)', async (settings) => {
    const answer = await made('wrong', settings);
    expect(answer.status).toBe(400);
    expect(typeof answer.body['error_description']).toBe('string');
  });

  test('keep the password of the service account encrypted, unshown, and known to secret-key reencrypt (security R29, federation FR17)', async () => {
    const created = await create({
      id: 'secretive',
      kind: 'ldap',
      display_name: 'x',
      settings: usual,
      secret: servicePassword,
    });
    expect(created.body).toMatchObject({ secret: { set: true } });
    expect(JSON.stringify(created.body)).not.toContain(servicePassword);
    const shown = await call(`${service.issuer}/admin/api/connections/secretive`, { token });
    expect(JSON.stringify(shown.body)).not.toContain(servicePassword);
    expect(JSON.stringify(service.logs)).not.toContain(servicePassword);
    const other = await startTestService();
    try {
      await addDirectory(other, 'secretive', usual);
      const before = await other.store.connections.find('secretive');
      // its instance counts as ended: one with another key would be in the way
      await other.database.sql('DELETE FROM instances');
      const encryption = await openEncryption(other.store, [randomSecret(), other.secretKey]);
      await reencrypt(other.store, encryption, { actor: 'command line' }, () => undefined);
      const after = await other.store.connections.find('secretive');
      expect(after!.secretEncrypted).not.toEqual(before!.secretEncrypted);
      const name = associatedDataOf('connections.secret_encrypted', 'secretive');
      expect(encryption.secretBox.open(after!.secretEncrypted!, name).toString()).toBe(servicePassword);
    } finally {
      await other.stop();
    }
  });
});

describe.runIf(hasSlapd)('the test of a directory', () => {
  const check = async (id: string) =>
    (await call(`${service.issuer}/admin/api/connections/${id}/test`, { token, method: 'POST' })).body;

  test('says plainly what is wrong, one thing after the other, until it works (federation 6)', async () => {
    const settings = settingsOf(server!);
    await create({
      id: 'tested',
      kind: 'ldap',
      display_name: 'Tested',
      settings: { ...settings, url: 'ldaps://localhost:1' },
    });
    const change = (body: Record<string, unknown>) =>
      call(`${service.issuer}/admin/api/connections/tested`, { token, method: 'PATCH', body });
    const problem = async (body: Record<string, unknown>, expected: string | undefined) => {
      expect((await change(body)).status).toBe(200);
      const result = await check('tested');
      expect(result['problem']).toBe(expected);
      expect(result['works']).toBe(expected === undefined);
    };
    expect(await check('tested')).toMatchObject({ works: false, problem: 'secret' });
    await problem({ secret: 'wrong' }, 'unreachable');
    await problem({ secret: 'wrong', settings: { url: server!.secureUrl, ca: null } }, 'certificate');
    await problem({ settings: { ca: settings['ca'] } }, 'credentials');
    await problem({ secret: servicePassword, settings: { base: `ou=nowhere,${base}` } }, 'base');
    await problem({ settings: { base: `ou=people,${base}`, user_filter: '(uid=nobody)' } }, 'no-users');
    await problem({ settings: { user_filter: '(uid=alice)', id_attribute: 'nsUniqueId' } }, 'no-id');
    await problem({ settings: { id_attribute: 'entryUUID', login_attributes: ['employeeNumber'] } }, 'no-login');
    await problem({ settings: { login_attributes: ['uid'], group_base: `ou=nowhere,${base}` } }, 'group-base');
    await problem({ settings: { group_base: `ou=people,${base}` } }, 'no-groups');
    await problem({ settings: { group_base: `ou=groups,${base}` } }, undefined);
    const environment = { CONNECTIONS_ALLOW: allowed() };
    expect(await runCommand(service, ['connection', 'test', 'tested'], { environment })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('works'),
    });
    // an operator who takes the directory away is told, too
    expect(
      await runCommand(service, ['connection', 'test', 'tested'], { environment: { CONNECTIONS_ALLOW: '' } }),
    ).toMatchObject({ code: 2, stdout: expect.stringContaining('CONNECTIONS_ALLOW') });
    // a script sees by the exit code that a user is missing
    expect(
      await runCommand(service, ['connection', 'test', 'tested', '--login', 'nobody-here'], { environment }),
    ).toMatchObject({ code: 2, stdout: expect.stringContaining('does not work') });
  });

  test('and its commands refuse a connection of another kind (federation 6)', async () => {
    await service.database.sql(`INSERT INTO connections (id, kind, display_name) VALUES ('other', 'oidc', 'Other')`);
    for (const path of ['test', 'import', 'import/approve'])
      expect(
        (await call(`${service.issuer}/admin/api/connections/other/${path}`, { token, method: 'POST' })).status,
      ).toBe(409);
    expect((await call(`${service.issuer}/admin/api/connections/none/test`, { token, method: 'POST' })).status).toBe(
      404,
    );
    await service.database.sql(`DELETE FROM connections WHERE id = 'other'`);
  });

  test('is created by a command as the documentation shows it (federation 6)', async () => {
    const environment = { CONNECTIONS_ALLOW: allowed() };
    const created = await runCommand(
      service,
      [
        'connection',
        'create',
        'company',
        'ldap',
        '--display-name',
        'Company',
        '--provisioning',
        'on',
        '--secret',

        '--settings',
        'preset=openldap',
        '--settings',
        `url=${server!.secureUrl}`,
        '--settings',
        `bind_dn=${serviceDn}`,
        '--settings',
        `base=ou=people,${base}`,
        '--settings',
        `group_base=ou=groups,${base}`,
        '--settings',
        `ca=${server!.ca}`,
        '--settings',
        'import=60',
      ],
      { stdin: servicePassword, environment },
    );
    expect(created).toMatchObject({ code: 0, stdout: expect.stringContaining('connection test company') });
    expect((await runCommand(service, ['connection', 'test', 'company'], { environment })).stdout).toContain('works');
    expect(
      await runCommand(service, ['connection', 'change', 'company', '--status', 'enabled'], { environment }),
    ).toMatchObject({ code: 0, stderr: '' });
    expect((await runCommand(service, ['connection', 'import', 'company'], { environment })).code).toBe(0);
    expect((await runCommand(service, ['connection', 'import-status', 'company'], { environment })).stdout).toContain(
      'interval',
    );
    expect(await runCommand(service, ['connection', 'approve-import', 'company'], { environment })).toMatchObject({
      code: 1,
    });
  });
});

describe.runIf(hasSlapd)('the console', () => {
  test('connects a directory, tests it with a user’s groups, and changes it; it never shows the password (federation 6, FR17, reports A6)', async () => {
    const root = await service.createUser({ username: 'root', admin: true });
    const { agent, page: form } = await openConsole(service, root, '/admin/connections/new/directory');
    const press = async (page: Page, action: string, fields: Record<string, string> = {}) =>
      agent.follow(await agent.post(action, { ...formOf(page, action), ...fields }));
    const typed = {
      id: 'typed',
      display_name: 'Typed',
      preset: 'openldap',
      url: server!.secureUrl,
      ca: server!.ca,
      secret: servicePassword,
      bind_dn: serviceDn,
      base: `ou=people,${base}`,
      group_base: `ou=groups,${base}`,
      import: '60',
      status: 'enabled',
      linking: 'ask',
      provisioning: 'on',
    };
    const newPath = '/admin/connections/new/directory';
    const refused = await press(form, newPath, { ...typed, url: 'ldaps://evil.example' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('CONNECTIONS_ALLOW doesn’t contain this host');
    expect(refused.body).not.toContain(servicePassword);
    const shown = await press(refused, newPath, typed);
    const path = '/admin/connections/typed/directory';
    expect(shown.url).toContain(path);
    expect(shown.body).toContain('Connection created');
    expect(shown.body).not.toContain(servicePassword);
    const ruled = await addRule(
      agent,
      { path: '/admin/connections/typed', member: 'group_rules', kind: 'equals' },
      { equals: 'Staff', group: 'staff' },
    );
    expect(ruled.url).toContain(`${path}?done=rule-added`);
    expect(ruled.body).toContain('<bdi>staff</bdi> = members of <bdi>Staff</bdi>');
    const stored = (await service.store.connections.find('typed'))!;
    expect(stored).toMatchObject({
      kind: 'ldap',
      groupRules: [{ equals: 'Staff', group: 'staff' }],
      settings: { import: 60 },
    });
    const tested = await press(shown, `${path}/test`);
    expect(tested.body).toContain('The directory answers, accepts the service account, and contains users.');
    // as the member login of the route and --login of the command
    const withUser = await press(tested, `${path}/test`, { login: 'alice' });
    expect(withUser.body).toMatch(/Groups of .{0,3}alice.{0,40}Staff/s);
    // and what the rules make of them
    expect(withUser.body).toMatch(/Groups here, by the rules.{0,60}staff</s);
    const { stdout } = await runCommand(service, ['connection', 'test', 'typed', '--login', 'alice'], {
      environment: { CONNECTIONS_ALLOW: allowed() },
    });
    expect(stdout).toContain('Groups of alice: Staff\nGroups here, by the rules: staff\n');
    expect(withUser.body).toContain('value="alice"');
    const unknown = await press(tested, `${path}/test`, { login: 'nobody-here' });
    expect(unknown.body).toMatch(/value="nobody-here" aria-describedby="login-fault login-hint" aria-invalid="true"/);
    expect((await press(tested, `${path}/import`, { act: 'start' })).body).toContain('Import started');
    const edit = await agent.follow(await agent.get('/admin/connections/typed/edit'));
    expect(edit.url).toBe(`${service.issuer}${path}/edit`);
    expect(edit.body).not.toContain(servicePassword);
    const other = { display_name: 'Renamed', secret: '', user_filter: '(uid=nobody)', login_attributes: 'uid\nmail' };
    const changed = await press(edit, `${path}/edit`, { ...typed, ...other });
    expect(changed.body).toContain('Renamed');
    expect((await press(changed, `${path}/test`)).body).toContain(
      'No entry below the base DN matches the user filter.',
    );
    // an approval is for the number that the page shows (federation FR16); the lease of another run keeps the service's own away
    const hold = (disabled: number) =>
      service.database.sql(
        `INSERT INTO directory_imports AS i (connection_id, state, counts, finished_at, holder, held_until)
           VALUES ('typed', 'held', $1, now(), 'another run', now() + interval '1 hour')
         ON CONFLICT (connection_id) DO UPDATE SET state = 'held', counts = $1, finished_at = now(), holder = 'another run',
           held_until = now() + interval '1 hour', approved = NULL`,
        [{ disabled }],
      );
    const approved = async () =>
      (await service.database.sql(`SELECT approved FROM directory_imports WHERE connection_id = 'typed'`))[0]![
        'approved'
      ];
    await hold(7);
    const held = await agent.get(path);
    await hold(900);
    const asked900 = await press(held, `${path}/import`, { act: 'approve' });
    expect([asked900.body.includes('900'), await approved()]).toEqual([true, null]);
    await press(asked900, `${path}/import`, { act: 'approve' });
    expect(await approved()).toBe(900);
    // the list leads to it, and deletion is the same as for other connections
    expect((await agent.follow(await agent.get('/admin/connections/typed'))).url).toContain(path);
    const asked = await agent.get('/admin/connections/typed/delete');
    await press(asked, '/admin/connections/typed/delete', { typed: 'typed' });
    expect(await service.store.connections.find('typed')).toBeUndefined();
  });
});
