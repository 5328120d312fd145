// The console's pages of users and groups, as an administrator's browser meets them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let admin: Awaited<ReturnType<TestService['createUser']>>;
beforeAll(async () => {
  service = await startTestService();
  admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

async function post(path: string, fields: Record<string, string>) {
  const page = await agent.get(path);
  return agent.follow(await agent.post(path, { csrf: /name="csrf" value="([^"]+)"/.exec(page.body)![1]!, ...fields }));
}

test('users are found, and each leads to its page (issue 6)', async () => {
  const user = await service.createUser({ username: 'Zoë', claims: { name: 'Zoë <b>Bold</b>' }, groups: ['deck'] });
  for (const query of ['q=zoe', 'group=deck', 'q=bold&status=enabled&order=name']) {
    const page = await agent.get(`/admin/users?${query}`);
    expect(page.body).toContain(`href="/admin/users/${user.sub}"`);
    expect(page.body).not.toContain('<b>Bold');
  }
  expect((await agent.get('/admin/users?q=nobody')).body).toContain('Nobody was found.');
  expect((await agent.get(`/admin/users/${user.sub}`)).body).toContain('Zoë');
  expect((await agent.get('/admin/users/none')).status).toBe(404);
});

test('a user is disabled, enabled, put into groups and deleted by name, each with its event (issue 6)', async () => {
  const user = await service.createUser({ username: 'goes' });
  const path = `/admin/users/${user.sub}`;
  const find = async () => (await service.store.users.find(user.sub))!;
  expect((await post(path, { act: 'disable' })).url).toContain('done=user-saved');
  expect((await find()).status).toBe('disabled');
  await post(path, { act: 'enable' });
  await post(path, { act: 'groups', groups: 'one\r\ntwo\r\n\r\none' });
  expect(await find()).toMatchObject({ status: 'enabled', groups: ['one', 'two'] });
  expect((await post(path, { act: 'groups', groups: 'x'.repeat(256) })).status).toBe(400);
  await post(path, { act: 'make-admin' });
  expect((await find()).admin).toBe(true);
  expect((await post(path, { act: 'end-sessions' })).url).toContain('done=user-ended');
  expect((await post(`${path}/delete`, { typed: 'somebody' })).status).toBe(400);
  expect((await post(`${path}/delete`, { typed: 'goes' })).url).toContain('done=user-deleted');
  expect(await service.store.users.find(user.sub)).toBeUndefined();
  const events = await service.database.sql<{ type: string }>(
    'SELECT type FROM audit_events WHERE sub = $1 AND actor = $2 ORDER BY id',
    [user.sub, admin.sub],
  );
  expect(events.map((event) => event.type)).toEqual([
    'user.disabled',
    'user.changed',
    'user.changed',
    'user.changed',
    'user.deleted',
  ]);
});

test('the last administrator stays, and a form from elsewhere does nothing (security R52, R91)', async () => {
  const path = `/admin/users/${admin.sub}`;
  const page = await post(path, { act: 'no-admin' });
  expect(page.status).toBe(400);
  expect(page.body).toContain('last enabled administrator');
  const forged = await agent.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'act=disable&csrf=x',
  });
  expect(forged.status).toBe(400);
  expect(await service.store.users.find(admin.sub)).toMatchObject({ status: 'enabled', admin: true });
});

test('what gives power or takes it waits for a sign-in of the last quarter of an hour, ending does not (security R91)', async () => {
  const user = await service.createUser();
  const path = `/admin/users/${user.sub}`;
  const page = await agent.get(path);
  await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
  for (const act of ['make-admin', 'disable']) {
    const asked = await agent.post(path, { ...formOf(page, path), act });
    expect(asked.location, act).toContain('/authorize?');
  }
  expect(await service.store.users.find(user.sub)).toMatchObject({ admin: false, status: 'enabled' });
  const ended = await post(path, { act: 'end-sessions' });
  expect(ended.body).not.toContain('too old');
  expect(ended.url).toMatch(/[?&]done=/);
  await service.database.sql(`UPDATE sessions SET auth_time = now()`);
});

test('groups are listed with their members, and made (issue 6)', async () => {
  expect((await post('/admin/groups', { name: 'crew', description: 'On board' })).url).toContain('done=group-made');
  const again = await post('/admin/groups', { name: 'crew' });
  expect(again.status).toBe(400);
  expect(again.body).toContain('There is a group of this name');
  await service.createUser({ groups: ['crew'] });
  const { body } = await agent.get('/admin/groups?q=board');
  expect(body).toMatch(/href="\/admin\/users\?group=crew"/);
  expect(body).toMatch(/Members">1</);
});
