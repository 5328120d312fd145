// An operation runs only for an administrator who has its permission, whether a request, a command or a page runs it.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { allOperations } from '../../src/admin/operations/all.ts';
import { operation, type OperationContext } from '../../src/admin/operations/operation.ts';
import { run } from '../../src/admin/operations/run.ts';
import { administratorKinds, isPermitted, type Permission, sections } from '../../src/entities/permission.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const everything = { ...administratorKinds['administrator'] };
/** Leaves the administrators of the service these acts in a section: none, or to read. */
function plant(section: Permission, act?: 'read'): void {
  administratorKinds['administrator'] = { ...everything, [section]: act };
}

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService();
  token = await adminToken(service);
  await service.store.groups.insert({ name: 'crew' });
});
afterEach(() => void (administratorKinds['administrator'] = everything));
afterAll(() => service?.stop());

const path = '/admin/api/groups';
const api = (body?: object) => call(service.issuer + path, { token, ...(body && { body }) });

test('the API refuses an administrator without the permission, and allows the other act and section (security R89)', async () => {
  plant('groups');
  const refused = { status: 403, body: { error: 'insufficient_scope' } };
  expect(await api()).toMatchObject(refused);
  expect(await api({ name: 'made' })).toMatchObject(refused);
  expect(await call(`${service.issuer}${path}/crew`, { method: 'PATCH', token, body: { x: 1 } })).toMatchObject(
    refused,
  );
  expect(await call(`${service.issuer}/admin/api/users`, { token })).toMatchObject({ status: 200 });
  plant('groups', 'read');
  expect(await api()).toMatchObject({ status: 200, body: { groups: [{ name: 'crew' }] } });
  expect(await api({ name: 'made' })).toMatchObject(refused);
});

test('a command refuses an administrator without the permission in one line (security R89)', async () => {
  plant('groups', 'read');
  expect(await runCommand(service, ['group', 'create', 'made'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'This administrator may not change the section groups.\n',
  });
  expect(await runCommand(service, ['group', 'list'])).toMatchObject({ code: 0 });
  plant('groups');
  expect(await runCommand(service, ['group', 'list'])).toMatchObject({ code: 1 });
});

test('a form of the console refuses an administrator without the permission, and changes nothing (security R89)', async () => {
  const user = await service.createUser({ admin: true });
  const { agent, page } = await openConsole(service, user, '/admin/groups');
  plant('groups', 'read');
  const answer = await agent.post('/admin/groups', { ...formOf(page, '/admin/groups'), name: 'formed' });
  expect(answer.status).toBe(403);
  expect(answer.body).toContain('You don’t have permission for this');
  expect(await service.store.groups.find('formed')).toBeUndefined();
});

/** Values for the fields that pages read before they know the administrator. */
const typed = {
  csrf: 'x',
  sub: randomUUID(),
  id: randomUUID(),
  version: '1',
  act: 'link',
  client_id: 'x',
  verification_code: 'x',
  decision: 'approve',
  shown: 'x 1',
  end: 'x',
  kid: 'x',
  other: 'x',
  name: 'x',
  other_name: 'x',
  change: 'add',
};
const fieldsOf = (route: string) =>
  /users\/(:sub\/connections|import)$|appearance$/.test(route) ? { ...typed, act: undefined } : typed;
const addressOf = (path: string) =>
  path.replace(':noun', 'users').replace('new/:kind', 'new/web').replace('new/:type', 'new/oidc').replace(/:\w+/g, 'x');

test('every page and form of the console asks: without its permission it shows, reads and changes nothing (security R89)', async () => {
  const user = await service.createUser({ admin: true });
  const { agent } = await openConsole(service, user);
  const routes = routesOf(service.apps[0]!).filter(
    (route) => /^(GET|POST) \/admin(\/|$)/.test(route) && !/\/admin\/(api|callback|metrics)\b/.test(route),
  );
  expect(routes.length).toBeGreaterThan(100);
  administratorKinds['administrator'] = {};
  const statuses: Record<string, number> = {};
  for (const route of routes) {
    const [method, path] = route.split(' ') as [string, string];
    const fields = Object.entries(fieldsOf(route)).filter(([, value]) => value !== undefined);
    const page =
      method === 'GET'
        ? await agent.get(addressOf(path))
        : await agent.post(addressOf(path), Object.fromEntries(fields) as Record<string, string>);
    // a field offers nothing to a script
    const refused = page.body.includes('You don’t have permission for this') || page.body === '{"found":[]}';
    if (!refused) statuses[route] = page.status;
  }
  expect(statuses).toEqual({});
});

test('an administrator who may only read a section opens its lists, and no form that changes it (security R89)', async () => {
  const user = await service.createUser({ admin: true });
  const { agent } = await openConsole(service, user);
  administratorKinds['administrator'] = Object.fromEntries(sections.map((section) => [section, 'read']));
  for (const [path, status] of [
    ...(
      [
        '',
        '/users',
        '/groups',
        '/clients',
        '/resources',
        '/attributes',
        '/keys',
        '/audit',
        '/webhooks',
        '/provisioning-targets',
        '/settings',
      ] as const
    ).map((list) => [list, 200] as const),
    ...(
      [
        '/users/new',
        '/users/import',
        '/clients/new',
        '/resources/new',
        '/attributes/new',
        '/webhooks/new',
        '/provisioning-targets/new',
        '/keys/rotate',
      ] as const
    ).map((form) => [form, 403] as const),
    [`/users/${user.sub}`, 200] as const,
    [`/users/${user.sub}/edit`, 403] as const,
  ])
    expect((await agent.get(`/admin${path}`)).status, path).toBe(status);
});

test('an unknown kind of administrator may run nothing, and no administrator an operation of an unknown section (security R89)', async () => {
  const actor = { actor: 'ada', kind: 'administrator' };
  const ask = (kind: string, permission: string) =>
    run(
      operation({
        permission: permission as Permission,
        method: 'GET',
        path: '/',
        tag: '',
        summary: '',
        handler: async () => 'done',
      }),
      {} as OperationContext,
      { params: {}, input: {}, actor: { ...actor, kind } },
    );
  expect(await ask('administrator', 'groups')).toBe('done');
  for (const [kind, section] of [
    ['helper', 'groups'],
    ['', 'groups'],
    ['toString', 'groups'],
    ['administrator', 'treasure'],
    ['administrator', 'toString'],
  ] as const)
    await expect(ask(kind, section)).rejects.toMatchObject({ code: 'insufficient_scope', status: 403 });
});

test('every operation names a section, reads with GET and changes otherwise, and an administrator may run all (architecture, entities)', () => {
  for (const { permission, act, method, path: address } of allOperations()) {
    expect(sections, address).toContain(permission);
    expect(act, address).toBe(method === 'GET' ? 'read' : 'change');
    expect(isPermitted('administrator', permission, act), address).toBe(true);
  }
});
