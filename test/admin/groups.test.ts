// Groups are created, renamed, filled and deleted by admin route and command line, with correct counts under concurrent changes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { runCommand } from '../helpers/command-line.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const admin = (method: string, path: string, body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });
const countOf = async (name: string) => (await admin('GET', `/groups/${encodeURIComponent(name)}`)).body['members'];
const createUsers = (count: number, groups: string[]) =>
  service.database
    .sql<{ sub: string }>(
      `INSERT INTO users (username, groups) SELECT 'member ' || gen_random_uuid(), $2 FROM generate_series(1, $1) RETURNING sub`,
      [count, groups],
    )
    .then((rows) => rows.map((row) => row.sub));
test('an administrator creates, describes, fills, empties and deletes a group, each with an event (pages, groups)', async () => {
  expect((await admin('POST', '/groups', { name: ' crew ', description: 'On board' })).body).toMatchObject({
    name: 'crew',
    description: 'On board',
    members: 0,
  });
  expect((await admin('POST', '/groups', { name: 'crew' })).status).toBe(409);
  const [one, two] = await createUsers(2, []);
  const change = await admin('POST', '/groups/crew/members', { add: [one, two, 'nobody'] });
  expect(change.body).toEqual({ added: [one, two], removed: [], unchanged: [], unknown: ['nobody'] });
  expect((await admin('POST', '/groups/crew/members', { add: [one], remove: [two] })).body).toEqual({
    added: [],
    removed: [two],
    unchanged: [one],
    unknown: [],
  });
  expect(await countOf('crew')).toBe(1);
  expect((await admin('GET', `/users/${one}`)).body['groups']).toEqual(['crew']);
  expect((await admin('GET', '/users?group=crew')).body['users']).toHaveLength(1);
  expect((await eventsOf(service, { type: 'user.changed', sub: two })).map((event) => event.detail)).toEqual([
    { members: ['groups'], group: 'crew' },
    { members: ['groups'], group_before: 'crew' },
  ]);
  expect((await admin('PATCH', '/groups/crew', { name: 'sailors', description: 'All' })).body).toMatchObject({
    name: 'sailors',
    description: 'All',
    members: 1,
  });
  expect((await admin('GET', `/users/${one}`)).body['groups']).toEqual(['sailors']);
  await admin('POST', '/groups', { name: 'crew' });
  expect((await admin('PATCH', '/groups/crew', { name: 'sailors' })).status).toBe(409);
  expect((await admin('DELETE', '/groups/sailors')).status).toBe(200);
  expect((await admin('GET', '/groups/sailors')).status).toBe(404);
  expect((await admin('GET', `/users/${one}`)).body['groups']).toEqual([]);
  expect((await admin('POST', '/groups/sailors/members', { add: [one] })).status).toBe(404);
  for (const type of ['group.created', 'group.changed', 'group.deleted'])
    expect((await eventsOf(service, { type })).length, type).toBeGreaterThan(0);
  expect((await eventsOf(service, { type: 'user.changed', sub: one })).every((event) => event.actor !== 'sql')).toBe(
    true,
  );
});

test('adding a user to an unknown group creates the group (pages, groups)', async () => {
  const user = await service.createUser({ groups: ['appears', 'appears'] });
  expect(await countOf('appears')).toBe(1);
  await admin('DELETE', `/users/${user.sub}`);
  expect(await countOf('appears')).toBe(0);
});

test.each(['.', '..'])(
  'no operation creates a group whose name no address can hold: %s (pages, groups, RFC 3986 5.2.4)',
  async (name) => {
    await admin('POST', '/groups', { name: 'addressed' });
    const refused = [
      await admin('POST', '/groups', { name }),
      await admin('PATCH', '/groups/addressed', { name: ` ${name} ` }),
      await admin('POST', '/users', { username: 'in no group', groups: [name] }),
    ];
    for (const { status, body } of refused) {
      expect(status).toBe(400);
      expect(body['error_description']).toContain('must not be . or ..');
    }
    for (const words of [
      ['group', 'create', name],
      ['group', 'rename', 'addressed', name],
      ['user', 'create', '--username', 'in no group', '--group', name, '--password-stdin'],
    ]) {
      const said = await runCommand(service, words, { stdin: 'three umbrellas under a lighthouse' });
      expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('must not be . or ..') });
    }
    const row = JSON.stringify({ username: 'in no group', groups: [name] });
    const imported = await runCommand(service, ['user', 'import', '-', '--format', 'jsonl'], { stdin: row });
    expect(imported.stderr).toContain('line 1: groups.0 must not be . or ..');
    expect(await service.store.groups.find(name)).toBeUndefined();
    expect((await admin('POST', '/groups', { name: `...${name}` })).status).toBe(201);
  },
);

test('the list of groups is sorted by name, has pages, and is searched by parts of words (pages, groups)', async () => {
  for (const name of ['Zürich', 'Zug', 'Zermatt'])
    await admin('POST', '/groups', { name, description: 'A Swiss place' });
  const all = (await admin('GET', '/groups?q=swiss')).body['groups'] as { name: string }[];
  expect(all).toHaveLength(3);
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await admin('GET', `/groups?q=swiss&limit=1${cursor ? `&cursor=${cursor}` : ''}`);
    found.push(...(body['groups'] as { name: string }[]).map((group) => group.name));
    cursor = body['next_cursor'] as string | undefined;
  } while (cursor);
  expect(found).toEqual(all.map((group) => group.name));
  expect((await admin('GET', '/groups?q=ZURICH')).body['groups']).toMatchObject([{ name: 'Zürich' }]);
  expect((await admin('GET', '/groups?cursor=x!')).status).toBe(400);
});

test('member counts are correct after concurrent changes of many kinds, before and after they are settled (pages, groups)', async () => {
  const subs = await createUsers(60, ['busy']);
  await Promise.all([
    ...subs.map((sub, index) =>
      index % 3 === 0
        ? admin('DELETE', `/users/${sub}`)
        : admin('PATCH', `/users/${sub}`, { groups: index % 3 === 1 ? [] : ['busy', 'other'] }),
    ),
    admin('POST', '/groups/busy/members', { remove: subs.slice(0, 30) }),
    createUsers(40, ['busy', 'other']),
    ...Array.from({ length: 5 }, () => service.store.groups.settle()),
  ]);
  const expectCorrectCounts = async () => {
    for (const name of ['busy', 'other']) {
      const [row] = await service.database.sql<{ n: number }>(
        'SELECT count(*)::int AS n FROM users WHERE $1 = ANY (groups)',
        [name],
      );
      expect(await countOf(name), name).toBe(row!.n);
    }
  };
  await expectCorrectCounts();
  await service.store.groups.settle();
  expect(await service.database.sql('SELECT FROM group_changes')).toEqual([]);
  await expectCorrectCounts();
});

test('a user who joins a group while it is deleted is in a group that exists (pages, groups)', async () => {
  for (let round = 0; round < 5; round++) {
    await createUsers(20, ['doomed']);
    await Promise.all([admin('DELETE', '/groups/doomed'), createUsers(1, ['doomed']), createUsers(1, ['doomed'])]);
    const [row] = await service.database.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM users WHERE 'doomed' = ANY (groups)`,
    );
    if (row!.n > 0) expect(await countOf('doomed')).toBe(row!.n);
  }
});

test('a group with more members than one request may change is left to the command line, which changes it in steps (pages, groups)', async () => {
  await createUsers(2_100, ['large']);
  expect((await admin('DELETE', '/groups/large')).status).toBe(409);
  expect((await admin('PATCH', '/groups/large', { name: 'larger' })).status).toBe(409);
  expect(await countOf('large')).toBe(2_100);
  const renamed = await runCommand(service, ['group', 'rename', 'large', 'vast']);
  expect(renamed).toMatchObject({ code: 0, stdout: 'Renamed the group to vast: 2100 members.\n' });
  expect(await countOf('vast')).toBe(2_100);
  const administration = createAdministration(service.store);
  expect(await administration.deleteGroup({ actor: 'test' }, 'vast', true)).toBe(2_100);
  expect((await admin('GET', '/groups/vast')).status).toBe(404);
});

test('the command line creates, lists, fills, empties and deletes groups (pages, groups)', async () => {
  const user = await service.createUser();
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(service, ['group', ...args]);
    return { code, said: stdout + stderr };
  };
  expect(await run('create', 'deck', '--description', 'On deck')).toMatchObject({ code: 0 });
  expect(await run('create', 'deck')).toMatchObject({ code: 1, said: 'A group with this name already exists.\n' });
  expect(await run('add', 'deck', user.username)).toMatchObject({ said: 'New members of the group deck: 1.\n' });
  expect(await run('add', 'deck', 'nobody')).toMatchObject({ code: 1, said: 'There is no user nobody.\n' });
  expect((await run('list', 'deck')).said).toMatch(/deck +1 +On deck/);
  expect(await run('remove', 'deck', user.username)).toMatchObject({
    said: 'Members removed from the group deck: 1.\n',
  });
  expect(await run('delete', 'deck')).toMatchObject({ said: 'Deleted the group deck; it had 0 members.\n' });
});

test('a user in the maximum number of groups, with names that grow when folded, is saved and found, and the search index stays small (pages, groups)', async () => {
  // folding makes several letters of each
  const groups = Array.from({ length: 1000 }, (_, n) => `${n}`.padEnd(255, '字'));
  const growing = (offset: number) =>
    Array.from({ length: 330 }, (_, n) =>
      String.fromCodePoint(0x3300 + ((n + offset * 13) % 80), 0x3300 + ((n * 7 + offset) % 83)),
    );
  const names = ['name', 'given_name', 'middle_name', 'family_name', 'nickname', 'preferred_username'];
  const claims = Object.fromEntries(names.map((claim, index) => [claim, growing(index).join(' ')]));
  const user = await service.createUser({ username: 'grows', groups, claims });
  const found = await admin('GET', `/users?q=grows&group=${encodeURIComponent(groups[999]!)}`);
  expect(found.body['users']).toMatchObject([{ sub: user.sub }]);
  const [row] = await service.database.sql<{ bytes: number }>(
    `SELECT sum(octet_length(word))::int AS bytes
       FROM users, unnest(tsvector_to_array(user_words(username, email, claims, '{}', status, admin))) AS word WHERE sub = $1`,
    [user.sub],
  );
  expect(row!.bytes).toBeLessThan(20_000);
});

test('an administrator lets connections into a guarded group, with the values before and after in the trail (federation 3, FR14)', async () => {
  await admin('POST', '/groups', { name: 'ops' });
  expect((await admin('PATCH', '/groups/ops', { guarded_sources: ['corporate'] })).body).toMatchObject({
    guarded_sources: ['corporate'],
  });
  expect((await admin('PATCH', '/groups/ops', { guarded_sources: ['Not an id'] })).status).toBe(400);
  // a rename keeps them
  expect((await admin('PATCH', '/groups/ops', { name: 'operators' })).body['guarded_sources']).toEqual(['corporate']);
  const { stdout } = await runCommand(service, ['group', 'admit', 'operators']);
  expect(stdout).toContain('Only administrators change the members of operators');
  expect((await admin('GET', '/groups/operators')).body['guarded_sources']).toBeUndefined();
  const details = (await eventsOf(service, { type: 'group.changed' })).map(({ detail }) => detail);
  expect(details).toContainEqual({
    group: 'ops',
    members: ['guarded_sources'],
    guarded_sources_before: [],
    guarded_sources: ['corporate'],
  });
  // also if the same change renames the group
  await admin('PATCH', '/groups/operators', { name: 'pilots', guarded_sources: ['partners'] });
  expect((await admin('GET', '/groups/pilots')).body['guarded_sources']).toEqual(['partners']);
  expect((await eventsOf(service, { type: 'group.changed' })).map(({ detail }) => detail)).toContainEqual({
    group_before: 'operators',
    group: 'pilots',
    members: ['guarded_sources', 'name'],
    guarded_sources_before: [],
    guarded_sources: ['partners'],
  });
});
