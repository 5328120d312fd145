// A link that was made without a person gives no access to an administrator, nor to a member of a guarded group.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { freePort, startServer } from '../helpers/server-process.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const guarded = 'ops, quay-domain, quay-provisioned, pier-domain, pier-provisioned';
let service: TestService;
let provider: Provider;
let token: string;
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host, REQUIRE_SECOND_FACTOR_GROUPS: guarded },
  });
  // as a start of the service does
  const settings = { BASE_URL: service.issuer, REQUIRE_SECOND_FACTOR_GROUPS: guarded };
  await service.store.serviceSettings.write({ settings, version: '1' });
  await addConnection(service, provider, 'work');
  token = await adminToken(service);
  await call(`${service.issuer}/admin/api/groups`, { token, body: { name: 'ops' } });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

let number = 0;
const linkedUser = async (how: string) => {
  const user = await service.createUser({
    username: `linked-${++number}`,
    email: `l-${number}@x.example`,
    emailVerified: true,
  });
  await service.database.sql(
    `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('work', 'x', $1, $2, $3)`,
    [`subject-${number}`, user.sub, how],
  );
  return user;
};
const linksOf = async ({ sub }: TestUser) => (await service.store.linkedIdentities.ofUser(sub)).map(({ how }) => how);
const isAdmin = async ({ sub }: TestUser) => (await service.store.users.find(sub))!.admin;
const at = ({ sub }: TestUser, rest = '') => `${service.issuer}/admin/api/users/${sub}${rest}`;
const promote = (user: TestUser) => call(at(user), { method: 'PATCH', token, body: { admin: true } });

describe.each(['domain', 'provisioned'])('a link by %s', (how) => {
  test('is kept or ended before its user becomes an administrator by the route (security R165)', async () => {
    const user = await linkedUser(how);
    const refused = await promote(user);
    const error_description = expect.stringMatching(/made automatically \(work\): keep each/);
    expect(refused).toMatchObject({ status: 409, body: { error: 'conflict', error_description } });
    expect([await isAdmin(user), await linksOf(user)]).toEqual([false, [how]]);
    expect((await call(at(user, '/connections/work/keep'), { method: 'POST', token })).status).toBe(204);
    expect(await linksOf(user)).toEqual(['administrator']);
    expect((await promote(user)).status).toBe(200);
    expect([await isAdmin(user), await linksOf(user)]).toEqual([true, ['administrator']]);
  });

  test('is asked about by the commands (security R165)', async () => {
    const user = await linkedUser(how);
    const make = () => runCommand(service, ['user', 'make-admin', user.username]);
    expect((await make()).stderr).toContain('made automatically (work)');
    await runCommand(service, ['user', 'unlink', user.username, 'work']);
    expect((await make()).stdout).toContain('is now an administrator');
    expect(await linksOf(user)).toEqual([]);
  });

  test('keeps its user out of a guarded group until it is decided, by route and command (security R165)', async () => {
    const user = await linkedUser(how);
    const join = () => call(`${service.issuer}/admin/api/groups/ops/members`, { token, body: { add: [user.sub] } });
    expect((await join()).status).toBe(409);
    expect((await call(at(user), { method: 'PATCH', token, body: { groups: ['ops'] } })).status).toBe(409);
    const environment = { REQUIRE_SECOND_FACTOR_GROUPS: 'ops' };
    const added = await runCommand(service, ['group', 'add', 'ops', user.username], { environment });
    expect(added.stderr).toContain('made automatically');
    await runCommand(service, ['user', 'keep-link', user.username, 'work']);
    expect((await join()).body).toMatchObject({ added: [user.sub] });
  });

  test('keeps a group with its user from a guarded name, by route, console and command (security R165)', async () => {
    const user = await linkedUser(how);
    const name = `crew-${how}`;
    await call(`${service.issuer}/admin/api/groups`, { token, body: { name } });
    await call(`${service.issuer}/admin/api/groups/${name}/members`, { token, body: { add: [user.sub] } });
    const rename = (to: string) =>
      call(`${service.issuer}/admin/api/groups/${name}`, { method: 'PATCH', token, body: { name: to } });
    const error_description = expect.stringContaining(`the user ${user.username} has links`);
    expect(await rename(`quay-${how}`)).toMatchObject({ status: 409, body: { error_description } });
    const { agent } = await openConsole(service, await service.createUser({ admin: true }));
    const edit = `/admin/groups/${name}/edit`;
    const page = await agent.post(edit, { ...formOf(await agent.get(edit), edit), name: `quay-${how}` });
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('connected to a member’s account')]);
    const environment = { REQUIRE_SECOND_FACTOR_GROUPS: guarded };
    const command = () => runCommand(service, ['group', 'rename', name, `quay-${how}`], { environment });
    expect((await command()).stderr).toContain('made automatically');
    expect((await service.store.users.find(user.sub))!.groups).toEqual([name]);
    await runCommand(service, ['user', 'keep-link', user.username, 'work']);
    expect((await command()).stdout).toContain('Renamed');
    // another guarded group may give more
    await service.database.sql(`UPDATE linked_identities SET how = $2 WHERE sub = $1`, [user.sub, how]);
    const path = `${service.issuer}/admin/api/groups/quay-${how}`;
    const further = () => call(path, { method: 'PATCH', token, body: { name: `pier-${how}` } });
    expect(await further()).toMatchObject({ status: 409, body: { error_description } });
    expect(await linksOf(user)).toEqual([how]);
    await runCommand(service, ['user', 'keep-link', user.username, 'work']);
    expect((await further()).status).toBe(200);
    expect(await linksOf(user)).toEqual(['administrator']);
  });

  test('keeps its user out of a guarded group of an import, by route and command (security R165)', async () => {
    const user = await linkedUser(how);
    const row = `${JSON.stringify({ sub: user.sub, username: user.username, groups: ['ops'] })}\n`;
    const byRoute = async () => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/jsonl' };
      const address = `${service.issuer}/admin/api/users/import?update=true`;
      return (await fetch(address, { method: 'POST', headers, body: row })).text();
    };
    const environment = { REQUIRE_SECOND_FACTOR_GROUPS: guarded };
    const args = ['user', 'import', '-', '--format', 'jsonl', '--update'];
    expect(await byRoute()).toContain('"column":"groups","reason":"has sites that were connected');
    expect((await runCommand(service, args, { environment, stdin: row })).stderr).toContain(
      'groups has sites that were connected automatically',
    );
    expect((await service.store.users.find(user.sub))!.groups).toEqual([]);
    await call(at(user, '/connections/work/keep'), { method: 'POST', token });
    expect(await byRoute()).toContain('"updated":1');
    expect((await service.store.users.find(user.sub))!.groups).toEqual(['ops']);
  });

  test('gives no guarded group by the claims of a connection until it is decided (security R165)', async () => {
    const user = await linkedUser(how);
    const subject = `at-work-${how}`;
    await service.database.sql(`UPDATE linked_identities SET subject = $2, issuer = $3 WHERE sub = $1`, [
      user.sub,
      subject,
      provider.issuer,
    ]);
    await service.database.sql(`UPDATE groups SET guarded_sources = '{work}' WHERE name = 'ops'`);
    await changeConnection(service, 'work', { group_rules: [{ all: true, prefix: '' }] });
    const signIn = async () => {
      provider.be({ sub: subject, groups: ['ops', 'staff'] });
      await signInBy(new UserAgent(service), 'work');
      return [...(await service.store.users.find(user.sub))!.groups].sort();
    };
    try {
      expect(await signIn()).toEqual(['staff']);
      expect(await linksOf(user)).toEqual([how]);
      const events = await service.database.sql(
        `SELECT detail FROM audit_events WHERE type = 'group.guarded' AND sub = $1`,
        [user.sub],
      );
      expect(events).toEqual([{ detail: { connection: 'work', groups: ['ops'] } }]);
      await call(at(user, '/connections/work/keep'), { method: 'POST', token });
      expect(await signIn()).toEqual(['ops', 'staff']);
    } finally {
      await service.database.sql(`UPDATE groups SET guarded_sources = '{}' WHERE name = 'ops'`);
      await changeConnection(service, 'work', { group_rules: [] });
    }
  });

  test('is ended by plain SQL that makes its user an administrator, with event and mail (security R165)', async () => {
    const user = await linkedUser(how);
    await service.database.sql('UPDATE users SET admin = true WHERE sub = $1', [user.sub]);
    expect(await linksOf(user)).toEqual([]);
    const events = await service.database.sql(
      `SELECT detail FROM audit_events WHERE type = 'identity.unlinked' AND sub = $1`,
      [user.sub],
    );
    expect(events).toEqual([{ detail: { connection: 'work', reason: 'administrator' } }]);
    expect(await service.store.linkedIdentities.isRemoved('work', user.sub)).toBe(true);
  });
});

test('the console asks about each link, on the page of the connections (security R165)', async () => {
  const user = await linkedUser('provisioned');
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const path = `/admin/users/${user.sub}`;
  const make = async () => {
    const action = `${path}/make-admin`;
    return agent.follow(await agent.post(action, { ...formOf(await agent.get(action), action), typed: user.username }));
  };
  const refused = await make();
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('connected to this user’s account automatically');
  expect(refused.body).toContain(`href="${path}/connections"`);
  const members = '/admin/groups/ops/members';
  const form = formOf(await agent.get('/admin/groups/ops'), members);
  expect((await agent.post(members, { ...form, users: user.username })).body).toContain(
    'connected to a user’s account automatically',
  );
  const connections = await agent.get(`${path}/connections`);
  const sent = { ...formOf(connections, `${path}/connections`), act: 'keep', connection: 'work' };
  await agent.follow(await agent.post(`${path}/connections`, sent));
  expect(await linksOf(user)).toEqual(['administrator']);
  await make();
  expect(await isAdmin(user)).toBe(true);
});

test('a user who lost the only way in becomes an administrator once there is a recovery link (security R165)', async () => {
  const user = await linkedUser('provisioned');
  await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
  await call(at(user, '/connections/work'), { method: 'DELETE', token });
  const error_description = expect.stringContaining('create a recovery link first');
  expect(await promote(user)).toMatchObject({ status: 409, body: { error_description } });
  expect((await call(at(user, '/recovery-link'), { method: 'POST', token })).status).toBe(201);
  expect((await promote(user)).status).toBe(200);
});

test('another value as the subject is refused while the connection has links (security R165)', async () => {
  await addConnection(service, provider, 'service', { kind: 'oauth' });
  const settings = {
    authorization_endpoint: `${provider.issuer}/authorize`,
    token_endpoint: `${provider.issuer}/token`,
    userinfo_endpoint: `${provider.issuer}/userinfo`,
    client_id: 'x',
    subject_claim: 'id',
  };
  await service.database.sql(`UPDATE connections SET settings = $1 WHERE id = 'service'`, [settings]);
  const user = await service.createUser();
  const change = (subject_claim: string) =>
    call(`${service.issuer}/admin/api/connections/service`, {
      method: 'PATCH',
      token,
      body: { settings: { subject_claim } },
    });
  expect((await change('uid')).status).toBe(200);
  await service.database.sql(
    `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('service', 'x', 'y', $1, 'person')`,
    [user.sub],
  );
  const error_description = expect.stringContaining('would link them to other users');
  expect(await change('login')).toMatchObject({ status: 409, body: { error_description } });
  expect((await service.store.connections.find('service'))!.settings).toMatchObject({ subject_claim: 'uid' });
});

test.each(['domain', 'provisioned'])(
  'a link by %s is ended by plain SQL that puts its user into a group that the service guards, with event and mail (security R165)',
  async (how) => {
    const ofItsOwn = await startTestService({ environment: withoutLimits });
    const { sql } = ofItsOwn.database;
    await sql(`INSERT INTO connections (id, kind, display_name) VALUES ('work', 'oidc', 'Work')`);
    const user = await ofItsOwn.createUser({ email: 'bo@x.example', emailVerified: true });
    const other = await ofItsOwn.createUser();
    for (const { sub } of [user, other])
      await sql(
        `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('work', 'x', $1, $1, $2)`,
        [sub, how],
      );
    const linked = async () => (await sql<{ sub: string }>('SELECT sub FROM linked_identities')).map(({ sub }) => sub);
    const server = startServer({
      DATABASE_URL: ofItsOwn.database.url,
      SECRET_KEY: ofItsOwn.secretKey,
      BASE_URL: ofItsOwn.issuer,
      PORT: String(await freePort()),
      ADMIN_PASSWORD: 'harbour-first-P1',
      REQUIRE_SECOND_FACTOR_GROUPS: 'crew, ops',
    });
    try {
      await server.ready();
      await sql(`UPDATE users SET groups = '{staff}' WHERE sub = ANY ($1)`, [[user.sub, other.sub]]);
      expect(await linked()).toHaveLength(2);
      await sql(`UPDATE users SET groups = groups || '{ops}' WHERE sub = $1`, [user.sub]);
      expect(await linked()).toEqual([other.sub]);
      const events = await sql(`SELECT sub, detail FROM audit_events WHERE type = 'identity.unlinked'`);
      expect(events).toEqual([{ sub: user.sub, detail: { connection: 'work', reason: 'guarded-group' } }]);
      expect(await ofItsOwn.store.linkedIdentities.isRemoved('work', user.sub)).toBe(true);
    } finally {
      server.kill('SIGTERM');
      await server.exited;
      await ofItsOwn.stop();
    }
  },
);
