// The console's group pages create, change and delete groups, and manage their members.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let admin: Awaited<ReturnType<TestService['createUser']>>;
beforeAll(async () => {
  service = await startTestService({ environment: { REQUIRE_SECOND_FACTOR_GROUPS: 'vault' } });
  admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

/** Sends the form of a page that posts to `action`. */
async function send(path: string, fields: Record<string, string>, action = path) {
  const page = await agent.get(path);
  return agent.follow(await agent.post(action, { ...formOf(page, action), ...fields }));
}
const groupsOf = async (sub: string) => (await service.store.users.find(sub))!.groups;

test('the console lists groups with their numbers of members, and creates groups (pages, groups)', async () => {
  expect((await send('/admin/groups', { name: 'crew', description: 'On board' })).url).toContain(
    '/admin/groups/crew?done=group-made',
  );
  const again = await send('/admin/groups', { name: 'crew' });
  expect(again.status).toBe(400);
  expect(again.body).toContain('A group with this name already exists');
  for (const [path, name] of [
    ['/admin/groups', '..'],
    ['/admin/groups/crew/edit', '.'],
  ] as const) {
    const refused = await send(path, { name });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('Enter a name of 1 to 255 characters, other than . or ..');
  }
  await service.createUser({ groups: ['crew'] });
  const { body } = await agent.get('/admin/groups?q=board');
  expect(body).toMatch(/href="\/admin\/groups\/crew"/);
  expect(body).toMatch(/Members">1</);
});

test("a group's page lists and searches its members page by page, and adds and removes users by name (pages, groups)", async () => {
  const name = 'deck/1 & <b>2</b>';
  const path = `/admin/groups/${encodeURIComponent(name)}`;
  await service.store.groups.insert({ name });
  await service.database.sql(
    `INSERT INTO users (username, groups) SELECT 'hand-' || lpad(i::text, 2, '0'), $1 FROM generate_series(1, 55) AS i`,
    [[name]],
  );
  const first = await agent.get(path);
  expect(first.body).not.toContain('<b>2');
  expect(first.body.match(/name="remove"/g)).toHaveLength(50);
  const next = /href="([^"]*cursor=[^"]*)"/.exec(first.body)![1]!.replaceAll('&amp;', '&');
  expect((await agent.get(next)).body.match(/name="remove"/g)).toHaveLength(5);
  expect((await agent.get(`${path}?q=hand-07`)).body.match(/name="remove"/g)).toHaveLength(1);

  const [one, two] = [await service.createUser({ email: 'one@example.com' }), await service.createUser()];
  const refused = await send(path, { users: `${two.username}\r\nnobody-at-all` }, `${path}/members`);
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('Not found: nobody-at-all');
  expect(refused.body).toContain(`${two.username}\r\nnobody-at-all</textarea>`);
  expect(await groupsOf(two.sub)).toEqual([]);
  const added = await send(path, { users: `ONE@example.com\r\n ${two.username} \r\n` }, `${path}/members`);
  expect(added.url).toContain('done=members-added');
  expect([await groupsOf(one.sub), await groupsOf(two.sub)]).toEqual([[name], [name]]);
  await send(path, { remove: two.sub }, `${path}/members`);
  expect(await groupsOf(two.sub)).toEqual([]);
  const events = await service.database.sql<{ detail: unknown }>(
    `SELECT detail FROM audit_events WHERE sub = $1 AND actor = $2 ORDER BY id`,
    [two.sub, admin.sub],
  );
  expect(events.map(({ detail }) => detail)).toEqual([
    { members: ['groups'], group: name },
    { members: ['groups'], group_before: name },
  ]);
});

test("a group's page shows its activity with who did it to whom, and no activity of another group (pages, groups)", async () => {
  const user = await service.createUser({ username: 'grace' });
  await send('/admin/groups', { name: 'night watch' });
  await send('/admin/groups', { name: 'day watch' });
  const path = '/admin/groups/night%20watch';
  await send(path, { users: 'grace' }, `${path}/members`);
  await send('/admin/groups/day%20watch', { users: 'grace' }, '/admin/groups/day%20watch/members');
  await send(`${path}/edit`, { name: 'watch', description: 'At night' });
  const { body } = await agent.get('/admin/groups/watch');
  const activity = /<section class="card activity">.*?<\/section>/s.exec(body)![0];
  const rows = [...activity.matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs)].map(([, row]) =>
    row!
      .replace(/<time.*/s, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  expect(rows).toEqual(['Group changed none root', 'User changed grace root']);
  expect(activity).toContain(`href="/admin/users/${user.sub}"`);
  expect(activity).toMatch(/href="\/admin\/audit\/\d+"/);
});

test('an administrator renames and describes a group, deletes it by typing its name, and needs the command line for a large group (pages, groups)', async () => {
  const user = await service.createUser({ groups: ['old', 'vault'] });
  expect((await send('/admin/groups/old/edit', { name: 'vault', description: '' })).body).toContain(
    'A group with this name already exists',
  );
  expect((await send('/admin/groups/old/edit', { name: ' ', description: '' })).status).toBe(400);
  const renamed = await send('/admin/groups/old/edit', { name: 'new', description: 'Better' });
  expect(renamed.url).toContain('/admin/groups/new?done=group-changed');
  expect(renamed.body).toContain('Better');
  expect(await groupsOf(user.sub)).toEqual(['new', 'vault']);
  expect((await agent.get('/admin/groups/old')).status).toBe(404);
  expect((await agent.get('/admin/groups/vault')).body).toContain('Required for all members');
  expect((await agent.get('/admin/groups/new')).body).toContain('Not required by this group');

  expect((await send('/admin/groups/new/delete', { typed: 'other' })).status).toBe(400);
  expect((await send('/admin/groups/new/delete', { typed: 'new' })).url).toContain('done=group-deleted');
  expect(await groupsOf(user.sub)).toEqual(['vault']);

  await service.database.sql(
    `INSERT INTO users (username, groups) SELECT 'many-' || i, '{many}' FROM generate_series(1, 1001) AS i`,
  );
  expect((await agent.get('/admin/groups/many/delete')).body).toContain('from the command line');
  const large = await send('/admin/groups/many/edit', { name: 'fewer', description: '' });
  expect(large.status).toBe(400);
  expect(large.body).toContain('too many members');
  expect((await send('/admin/groups/many/edit', { name: 'many', description: 'All' })).body).toContain('All');
});

test('a change of a group needs a sign-in within 15 minutes and an anti-forgery token (security R52, R91)', async () => {
  const user = await service.createUser({ groups: ['guarded'] });
  const path = '/admin/groups/guarded';
  const forms: [string, string, Record<string, string>][] = [
    [path, `${path}/members`, { remove: user.sub }],
    [`${path}/edit`, `${path}/edit`, { name: 'other', description: '' }],
    [`${path}/delete`, `${path}/delete`, { typed: 'guarded' }],
  ];
  for (const [at, action, fields] of forms) {
    const hidden = formOf(await agent.get(at), action);
    await service.database.sql(`UPDATE sessions SET auth_time = now() - interval '16 minutes'`);
    expect((await agent.post(action, { ...hidden, ...fields })).location, action).toContain('/authorize?');
    await service.database.sql(`UPDATE sessions SET auth_time = now()`);
    expect((await agent.post(action, { ...fields, csrf: 'x' })).status, action).toBe(400);
  }
  expect(await groupsOf(user.sub)).toEqual(['guarded']);
});

test('a guarded group is shown as one by route and command, too (reports F5)', async () => {
  await service.createUser({ groups: ['vault', 'crew'] });
  const token = await adminToken(service);
  const { body } = await call(`${service.issuer}/admin/api/groups`, { token });
  const guarded = (body['groups'] as { name: string; guarded?: true }[]).filter((group) => group.guarded);
  expect(guarded.map(({ name }) => name)).toEqual(['vault']);
  expect((await call(`${service.issuer}/admin/api/groups/vault`, { token })).body).toMatchObject({ guarded: true });
  const environment = { REQUIRE_SECOND_FACTOR_GROUPS: 'vault' };
  const { stdout } = await runCommand(service, ['group', 'list'], { environment });
  expect(stdout).toMatch(/^vault +\d+ +yes/m);
  expect(stdout.match(/ yes\b/g)).toHaveLength(1);
});

test('the pages of a group and of its member name the source of each membership (federation 3)', async () => {
  const user = await service.createUser({ groups: ['by hand'] });
  await service.store.transaction(({ memberships }) =>
    memberships.set(user.sub, 'corporate', ['by hand', 'by word'], []),
  );
  const tags = (body: string) =>
    [...body.matchAll(/<span class="tag">(?:<bdi dir="ltr">)?(Manual|corporate)</g)].map(([, source]) => source);
  expect(tags((await agent.get(`/admin/users/${user.sub}`)).body)).toEqual(['Manual', 'corporate', 'corporate']);
  expect(tags((await agent.get('/admin/groups/by hand')).body)).toEqual(['Manual', 'corporate']);
});

test('a guarded group is renamed only to another guarded one: its members would lose the second factor (federation FR7)', async () => {
  const vault = await service.createUser({ groups: ['vault'] });
  const refused = await send('/admin/groups/vault/edit', { name: 'cellar' });
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('REQUIRE_SECOND_FACTOR_GROUPS names this group');
  const token = await adminToken(service);
  const byApi = await call(`${service.issuer}/admin/api/groups/vault`, {
    token,
    method: 'PATCH',
    body: { name: 'cellar' },
  });
  expect([byApi.status, byApi.body['error_description']]).toEqual([
    409,
    'REQUIRE_SECOND_FACTOR_GROUPS names this group: name the new one there, too, before you rename it',
  ]);
  const rename = (groups: string) =>
    runCommand(service, ['group', 'rename', 'vault', 'cellar'], {
      environment: { REQUIRE_SECOND_FACTOR_GROUPS: groups },
    });
  expect((await rename('vault')).code).toBe(1);
  expect(await groupsOf(vault.sub)).toEqual(['vault']);
  expect((await rename('vault,cellar')).code).toBe(0);
  expect(await groupsOf(vault.sub)).toEqual(['cellar']);
});
