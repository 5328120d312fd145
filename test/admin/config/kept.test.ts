// Keeps what configuration files made: requests, commands and the console change none of it, until an administrator takes it over.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fileNouns } from '../../../src/admin/operations/config/nouns.ts';
import type { Operation } from '../../../src/admin/operations/operation.ts';
import { runCommand } from '../../helpers/command-line.ts';
import { filledForm, formOf, openConsole } from '../../helpers/console.ts';
import { call, startAdministered, withoutLimits } from '../../helpers/grants.ts';
import type { TestService } from '../../helpers/service.ts';
import type { UserAgent } from '../../helpers/user-agent.ts';

const strong = '0123456789abcdef0123456789abcdef';
const folder = mkdtempSync(join(tmpdir(), 'kept-'));
const file = join(folder, 'team.yaml');
const entries = `
attributes:
  floor: { type: number }
scopes:
  office: { claims: [floor] }
connections:
  github:
    kind: oauth
    preset: github
    display_name: GitHub
    status: enabled
    secret: { env: STRONG }
    settings: { client_id: Iv1.0123456789abcdef }
groups:
  staff: { description: By file }
resources:
  https://api.example/notes: { name: Notes }
webhooks:
  Hook: { url: https://hooks.example/, events: [user.*], secret: { env: HOOK } }
clients:
  wiki:
    client_name: Wiki
    redirect_uris: [https://wiki.example/callback]
    client_secret: { env: STRONG }
    roles: { editor: {} }
scim_sources: { entra: { name: Entra } }
connected_servers:
  Partner: { issuer: https://as.partner.example, clients: [{ client: wiki, id: w, scopes: [read] }] }
trusted_issuers:
  Partner: { issuer: https://partner.example, jwks_uri: https://partner.example/jwks, resources: [https://api.example/notes], scopes: [notes.read] }
authorization_details_types:
  payment: { schema: { type: object, properties: { amount: { type: string } } }, text: { en: 'Pay {amount}' } }
exchange_policies:
  Wiki: { client_id: wiki, resources: [https://api.example/notes], scopes: [notes.read] }
provisioning_targets:
  wiki: { base_url: https://wiki.example/scim, bearer_token: { env: STRONG } }
appearance: { product_name: Company }
`;
const hookSecret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
/** A change of a member of each, and the path of one. */
const changes: Record<string, { path: string; change: object; key: string }> = {
  attributes: { path: 'attributes/floor', change: { person: 'read' }, key: 'floor' },
  scopes: { path: 'scopes/office', change: { text: { en: 'Office' } }, key: 'office' },
  connections: { path: 'connections/github', change: { display_name: 'Other' }, key: 'github' },
  scim_sources: { path: 'scim-sources/entra', change: { name: 'Other' }, key: 'entra' },
  connected_servers: { path: 'connected-servers/Partner', change: { subject: 'pairwise' }, key: 'Partner' },
  trusted_issuers: { path: 'trusted-issuers/Partner', change: { max_lifetime: 60 }, key: 'Partner' },
  authorization_details_types: {
    path: 'authorization-details-types/payment',
    change: { removable: true },
    key: 'payment',
  },
  exchange_policies: { path: 'exchange-policies/Wiki', change: { mode: 'impersonate' }, key: 'Wiki' },
  provisioning_targets: { path: 'provisioning-targets/wiki', change: { leave: 'nothing' }, key: 'wiki' },
  groups: { path: 'groups/staff', change: { description: 'By hand' }, key: 'staff' },
  resources: {
    path: `resources/${encodeURIComponent('https://api.example/notes')}`,
    change: { name: 'Other' },
    key: 'https://api.example/notes',
  },
  webhooks: { path: 'webhooks/Hook', change: { events: ['client.*'] }, key: 'Hook' },
  clients: { path: 'clients/wiki', change: { client_name: 'Other' }, key: 'wiki' },
  appearance: { path: 'appearance', change: { product_name: 'Other' }, key: 'appearance' },
};
let service: TestService;
let token: string;
let agent: UserAgent;
beforeAll(async () => {
  ({ service, token } = await startAdministered());
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  writeFileSync(file, `apiVersion: gatehouse/v1\nname: team\n${entries}`);
  expect(await run('config', 'apply', file)).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => service?.stop());

const run = (...args: string[]) =>
  runCommand(service, args, { environment: { ...withoutLimits, STRONG: strong, HOOK: hookSecret } });
const api = (method: string, path: string, body?: object) =>
  call(`${service.issuer}/admin/api/${path}`, { token, method, ...(body && { body }) });
const plan = async () => (await run('config', 'plan', file, '--prune', '--enable')).stdout;

test('a request changes and deletes nothing that files keep, of any noun of files (federation 10; federation F100)', async () => {
  expect(Object.keys(changes).sort()).toEqual(
    fileNouns()
      .map(({ section }) => section)
      .sort(),
  );
  for (const [section, { path, change, key }] of Object.entries(changes)) {
    const refused = await api('PATCH', path, change);
    expect(refused, section).toMatchObject({ status: 409, body: { error: 'kept_by_file' } });
    expect(refused.body['error_description']).toContain(` ${key} is managed by the configuration files team`);
    const { others } = fileNouns().find((noun) => noun.section === section)!.on;
    for (const { method } of others as Partial<Operation>[])
      if (method === 'DELETE' && section !== 'appearance')
        expect(await api('DELETE', path), section).toMatchObject({ status: 409, body: { error: 'kept_by_file' } });
  }
  const roles = [
    await api('POST', 'clients/wiki/roles', { name: 'reader' }),
    await api('PATCH', 'clients/wiki/roles/editor', { description: 'x' }),
    await api('DELETE', 'clients/wiki/roles/editor'),
  ];
  expect(roles.map(({ status }) => status)).toEqual([409, 409, 409]);
  expect(await api('PATCH', 'connections/github', { secret: 'another' })).toMatchObject({ status: 409 });
  expect(await api('PATCH', 'connections/github', { secret: null })).toMatchObject({ status: 409 });
  expect(await plan()).toBe('Nothing to do.\n');
});

test('a command is refused the same, in one sentence (federation 10)', async () => {
  const sentence =
    'The group staff is managed by the configuration files team: change it there, or take it over (config take-over).\n';
  expect(await run('group', 'change', 'staff', '--description', 'By hand')).toEqual({
    code: 1,
    stdout: '',
    stderr: sentence,
  });
  expect(await run('group', 'delete', 'staff')).toEqual({ code: 1, stdout: '', stderr: sentence });
  expect(await run('client', 'access', 'wiki', '--access', 'everyone', '--network', '192.0.2.0/24')).toMatchObject({
    code: 1,
  });
  expect(await plan()).toBe('Nothing to do.\n');
});

test('what is no member of a file, and a change that changes nothing, is as free as before (federation 10)', async () => {
  const user = await service.createUser();
  expect(await api('POST', 'groups/staff/members', { add: [user.sub] })).toMatchObject({ status: 200 });
  expect(await api('POST', 'clients/wiki/roles/editor/give', { groups: ['staff'] })).toMatchObject({ status: 200 });
  expect(await api('PATCH', 'groups/staff', { description: 'By file' })).toMatchObject({ status: 200 });
  expect(await api('PATCH', 'clients/wiki', { client_name: 'Wiki', introspect: 'own' })).toMatchObject({ status: 200 });
  expect(await api('PATCH', 'groups/staff', { name: 'others' })).toMatchObject({ status: 409 });
  expect(await plan()).toBe('Nothing to do.\n');
});

test('to disable, to end, to renew and to refuse always works; files enable it again only with --enable (federation 10)', async () => {
  const drift = async () => (await run('config', 'drift', file)).stdout;
  expect(await api('POST', 'clients/wiki/disable')).toMatchObject({ status: 200 });
  expect(await api('POST', 'clients/wiki/secrets', { secrets: ['client_secret'] })).toMatchObject({ status: 200 });
  expect(await api('PATCH', 'connections/github', { status: 'disabled', end_sessions: true })).toMatchObject({
    status: 200,
  });
  const { version } = (await api('GET', 'clients/wiki')).body;
  for (const [path, change] of [
    ['clients/wiki', { status: 'enabled', version }],
    ['connections/github', { status: 'enabled' }],
  ] as const)
    expect(await api('PATCH', path, change), path).toMatchObject({ status: 409, body: { error: 'kept_by_file' } });
  expect(await drift()).toMatch(/^~ change connection github\n {4}status: disabled → enabled\n~ change client wiki\n/);
  const applied = await run('config', 'apply', file);
  expect(applied.stdout).toContain('! the connection github is disabled and stays so: --enable enables it\n');
  expect(applied.stdout).toContain('! the client wiki is disabled and stays so: --enable enables it\n');
  for (const path of ['clients/wiki', 'connections/github'])
    expect((await api('GET', path)).body['status'], path).toBe('disabled');
  expect(await run('config', 'apply', file, '--enable')).toMatchObject({ code: 0 });
  for (const path of ['clients/wiki', 'connections/github'])
    expect((await api('GET', path)).body['status'], path).toBe('enabled');
  expect(await drift()).toBe('Nothing to do.\n');
});

test('a change that a kept client asks for is refused, and approved only when it is taken over (federation 10)', async () => {
  await service.database.sql(
    `UPDATE clients SET pending_metadata = metadata || '{"client_name": "Renamed"}' WHERE client_id = 'wiki'`,
  );
  const { version } = (await api('GET', 'clients/wiki')).body as { version: number };
  const kept = { status: 409, body: { error: 'kept_by_file' } };
  expect(await api('POST', 'clients/wiki/approve', { version })).toMatchObject(kept);
  const clients = [{ client_id: 'wiki', version }];
  expect(await api('POST', 'clients/decide', { decision: 'approve', clients })).toMatchObject(kept);
  expect(await run('client', 'approve', 'wiki')).toMatchObject({ code: 1, stdout: '' });
  expect(await api('POST', 'clients/wiki/refuse', { version, reason: 'No.' })).toMatchObject({ status: 200 });
});

test('pages say which files keep one, and their forms change nothing and lose nothing (federation 10; pages, forms)', async () => {
  const notice = /The configuration files <bdi>team<\/bdi> manage this object\./;
  const pages = [
    '/admin/groups/staff',
    '/admin/groups/staff/edit',
    '/admin/clients/wiki',
    '/admin/clients/wiki/edit',
    '/admin/clients/wiki/claims',
    '/admin/connections/github',
    '/admin/connections/github/edit',
    '/admin/appearance',
    '/admin/attributes/floor',
    '/admin/scopes/office',
  ];
  for (const path of pages) expect((await agent.get(path)).body, path).toMatch(notice);
  const { id } = (await api('GET', changes['resources']!.path)).body as { id: string };
  expect((await agent.get(`/admin/resources/${id}`)).body).toMatch(notice);
  await api('POST', 'groups', { name: 'by-hand' });
  expect((await agent.get('/admin/groups/by-hand')).body).not.toMatch(notice);
  const send = async (path: string, typed: Record<string, string>) =>
    agent.follow(await agent.post(path, { ...formOf(await agent.get(path), path), ...typed }));
  const group = await send('/admin/groups/staff/edit', { name: 'staff', description: 'Typed by hand' });
  expect(group.status).toBe(400);
  expect(group.body).toContain('Typed by hand');
  expect(group.body).toMatch(/Change it in the files, or take it over first/);
  const edit = await agent.get('/admin/clients/wiki/edit');
  const client = await agent.post('/admin/clients/wiki/edit', {
    ...filledForm(edit),
    ...formOf(edit, '/admin/clients/wiki/edit'),
    client_name: 'Typed by hand',
  });
  expect(client.status).toBe(409);
  expect(client.body).toContain('Typed by hand');
  const claims = await send('/admin/clients/wiki/claims', { act: 'role-add', name: 'reader' });
  expect(claims.body).toMatch(/Change it in the files, or take it over first/);
  const scope = await send('/admin/clients/wiki/claims', { act: 'scope-give', scope: 'office' });
  expect(scope.body).toMatch(/Change it in the files, or take it over first/);
  const look = await send('/admin/appearance', { product_name: 'Typed by hand' });
  expect(look.status).toBe(409);
  expect(look.body).toContain('Typed by hand');
  for (const path of ['/admin/groups/staff/delete', '/admin/clients/wiki/delete', '/admin/connections/github/delete']) {
    const page = await send(path, { typed: 'staff' });
    expect(page.url, path).toContain('/admin/take-over?');
    expect(page.body).toContain('Nothing was changed, because configuration files manage this object.');
  }
  expect(await plan()).toBe('Nothing to do.\n');
});

test('the console disables a connection that files keep, by its form (federation 10)', async () => {
  const path = '/admin/connections/github/edit';
  const form = filledForm(await agent.get(path));
  const hidden = formOf(await agent.get(path), path);
  const page = await agent.follow(await agent.post(path, { ...form, ...hidden, status: 'disabled' }));
  expect(page.url).toContain('done=connection-changed');
  expect((await api('GET', 'connections/github')).body['status']).toBe('disabled');
  await run('config', 'apply', file, '--enable');
});

test('the metric counts what differs from the files as they were applied, at most once a minute (federation 10)', async () => {
  const now = vi.spyOn(performance, 'now');
  const measured = async () => {
    const later = performance.now() + 61_000;
    now.mockImplementation(() => later);
    const answer = await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    return /^gatehouse_config_drift (\d+)$/m.exec(await answer.text())?.[1];
  };
  try {
    expect(await measured()).toBe('0');
    await api('POST', 'clients/wiki/secrets', { secrets: ['client_secret'] });
    await service.database.sql(`UPDATE groups SET description = 'By hand' WHERE name = 'staff'`);
    await service.database.sql(`DELETE FROM resources`);
    expect(await measured()).toBe('3');
    const statements = service.statements.length;
    await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(service.statements.slice(statements)).not.toContain('kept_objects.list');
    await run('config', 'apply', file);
    expect(await measured()).toBe('0');
  } finally {
    now.mockRestore();
  }
});

test('an administrator takes one over with its name: an event says so, and the files are refused until they adopt it (federation 10; federation F100)', async () => {
  const page = await agent.get('/admin/groups/staff/edit');
  const uri = /href="(\/admin\/take-over\?[^"]*)"/.exec(page.body)![1]!.replaceAll('&amp;', '&');
  const asked = await agent.get(uri);
  expect(asked.body).toContain('<h1>Take over <bdi>staff</bdi>?</h1>');
  const form = formOf(asked, '/admin/take-over');
  expect((await agent.post('/admin/take-over', { ...form, typed: 'stuff' })).status).toBe(400);
  expect(await api('PATCH', 'groups/staff', { description: 'By hand' })).toMatchObject({ status: 409 });
  const done = await agent.follow(await agent.post('/admin/take-over', { ...form, typed: 'staff' }));
  expect(done.url).toContain('/admin/groups/staff/edit?done=taken-over');
  expect(done.body).toContain('Taken over. You can now change it here.');
  expect(done.body).not.toContain('/admin/take-over');
  expect(await api('PATCH', 'groups/staff', { description: 'By hand' })).toMatchObject({ status: 200 });
  expect(await run('config', 'take-over', 'clients', 'wiki')).toEqual({
    code: 0,
    stdout: 'Took over wiki: the configuration files team no longer manage it.\n',
    stderr: '',
  });
  const key = changes['resources']!.key;
  const taken = { section: 'resources', key };
  expect(await api('POST', 'config/take-over', taken)).toMatchObject({
    status: 200,
    body: { ...taken, file_set: 'team' },
  });
  expect(await api('POST', 'config/take-over', taken)).toMatchObject({ status: 404 });
  for (const wrong of [
    { section: 'users', key: 'root' },
    { section: 'groups', key: 'none' },
    { section: 'groups', key: 'a\0' },
  ])
    expect((await api('POST', 'config/take-over', wrong)).status).toBeGreaterThanOrEqual(400);
  const events = await service.database.sql<{ actor: string; detail: object }>(
    `SELECT actor, detail FROM audit_events WHERE type = 'config.taken_over' ORDER BY id`,
  );
  expect(events.map(({ detail }) => detail)).toEqual([
    { section: 'groups', key: 'staff', file_set: 'team' },
    { section: 'clients', key: 'wiki', file_set: 'team' },
    { section: 'resources', key, file_set: 'team' },
  ]);
  const refused = await run('config', 'apply', file);
  expect(refused.stderr).toMatch(/exists, and no file made it: adopt: true at the top of the file takes it over\.\n$/);
  writeFileSync(file, `apiVersion: gatehouse/v1\nname: team\nadopt: true\n${entries}`);
  expect(await run('config', 'apply', file)).toMatchObject({ code: 0 });
  expect(await api('PATCH', 'groups/staff', { description: 'By hand' })).toMatchObject({ status: 409 });
});

test('what was deleted without its files, and made anew by hand, is kept by none of them (federation F100)', async () => {
  await service.database.sql(`DELETE FROM attributes WHERE name = 'floor'`);
  await api('POST', 'attributes', { name: 'floor', type: 'string' });
  expect(await api('PATCH', 'attributes/floor', { person: 'read' })).toMatchObject({ status: 200 });
  expect((await agent.get('/admin/attributes/floor')).body).not.toContain('/admin/take-over');
});

test.each(['https://evil.example/', '//evil.example', '/account', '/admin//evil.example', '/admin?x=1'])(
  'the page that takes one over leads back to no other address than one of the console: %s (security R10)',
  async (back) => {
    const query = new URLSearchParams({ section: 'groups', key: 'staff', back });
    expect((await agent.get(`/admin/take-over?${query}`)).status).toBe(400);
  },
);
