// Attributes: administrators define them, and each door that stores their values checks them alike.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  token = await adminToken(service);
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  for (const body of [
    { name: 'department', type: 'string', label: { en: 'Department', de: 'Abteilung' }, person: 'read' },
    { name: 'shoe_size', type: 'number', max: 60, person: 'write' },
    { name: 'tags', type: 'string_list', max: 3, person: 'write' },
    { name: 'staff_number', type: 'string', unique: true, person: 'none' },
    { name: 'badge', type: 'string', unique: true, person: 'write' },
  ])
    expect((await api('POST', '/attributes', body)).status).toBe(201);
});
afterAll(() => service?.stop());

const api = (method: string, path: string, body?: unknown, base = service.issuer) =>
  call(`${base}/admin/api${path}`, { token, method, ...(body !== undefined && { body }) });
const claimsOf = async ({ sub }: Pick<TestUser, 'sub'>) => (await service.store.users.find(sub))!.claims;
const setAt = (user: TestUser, attributes: Record<string, unknown>, base?: string) =>
  api('PATCH', `/users/${user.sub}`, { attributes }, base);

describe('definitions', () => {
  test('an attribute is defined, listed, changed and deleted with its values, and each is an event (federation 7)', async () => {
    const user = await service.createUser();
    expect((await api('POST', '/attributes', { name: 'floor', type: 'number' })).body).toEqual({
      name: 'floor',
      type: 'number',
      label: {},
      person: 'none',
      unique: false,
    });
    expect((await setAt(user, { floor: 3 })).body['attributes']).toEqual({ floor: 3 });
    const changed = await api('PATCH', '/attributes/floor', { person: 'read', max: 9 });
    expect(changed.body).toMatchObject({ person: 'read', max: 9 });
    expect((await api('GET', '/attributes')).body['attributes']).toContainEqual(changed.body);
    expect((await setAt(user, { floor: 10 })).body['error_description']).toContain(
      'attributes.floor is larger than the attribute allows',
    );
    expect((await api('DELETE', '/attributes/floor')).status).toBe(204);
    expect(await claimsOf(user)).toEqual({});
    const events = await service.database.sql(
      `SELECT type, detail FROM audit_events WHERE detail ->> 'attribute' = 'floor' ORDER BY id`,
    );
    expect(events).toMatchObject([
      { type: 'attribute.created' },
      { type: 'attribute.changed', detail: { members: expect.arrayContaining(['max', 'person']) } },
      { type: 'attribute.deleted' },
    ]);
  });

  test.each([
    ['sub', 400],
    ['SUB', 400],
    ['email_verified', 400],
    ['groups', 400],
    ['__proto__', 400],
    ['constructor', 400],
    ['sub\u200b', 400],
    ['department', 409],
  ])('no attribute is called %j (federation F62)', async (name, status) =>
    expect((await api('POST', '/attributes', { name, type: 'string' })).status).toBe(status),
  );
  test('there are at most 100 attributes, also when many are made at once on two instances (federation 7)', async () => {
    const other = await startTestService({ instances: 2 });
    try {
      const otherToken = await adminToken(other);
      await other.database.sql(
        `INSERT INTO attributes (name, type) SELECT 'a' || n, 'string' FROM generate_series(1, 99) n`,
      );
      for (let round = 0; round < 5; round++) {
        const made = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            call(`${other.instances[index % 2]!}/admin/api/attributes`, {
              token: otherToken,
              method: 'POST',
              body: { name: `at_once_${index}`, type: 'string' },
            }),
          ),
        );
        expect(made.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
        const [row] = await other.database.sql<{ count: number }>('SELECT count(*)::int AS count FROM attributes');
        expect(row!.count).toBe(100);
        await other.database.sql(`DELETE FROM attributes WHERE name LIKE 'at_once_%'`);
      }
      await other.database.sql(`INSERT INTO attributes (name, type) VALUES ('hundredth', 'string')`);
      expect((await runCommand(other, ['attribute', 'create', 'more', '--type', 'string'])).stderr).toContain('100');
    } finally {
      await other.stop();
    }
  });
  test('choices and uniqueness must suit the type (federation 7)', async () => {
    for (const members of [{ unique: true }, { choices: ['true'] }])
      expect((await api('POST', '/attributes', { name: 'flag', type: 'boolean', ...members })).status).toBe(400);
  });
});

describe('values', () => {
  test.each([
    [{ department: 7 }, 'department has a value of another type'],
    [{ department: { sub: 'root' } }, 'department has a value of another type'],
    [{ nowhere: 'x' }, 'nowhere is not defined here'],
    [{ sub: 'root' }, 'sub is not defined here'],
    [{ email_verified: true }, 'email_verified is not defined here'],
    [JSON.parse('{"__proto__": "x"}'), '__proto__, which is a reserved name'],
    [{ tags: ['a', 'b', 'c', 'd'] }, 'tags has more entries'],
    [{ department: 'x'.repeat(10_000) }, 'department has more characters'],
  ])(
    'the routes refuse %# and change nothing: a value must fit an attribute that is defined (federation F62, federation F64)',
    async (attributes, sentence) => {
      const user = await service.createUser();
      const answer = await setAt(user, attributes as Record<string, unknown>);
      expect([answer.status, answer.body['error_description']]).toEqual([400, expect.stringContaining(sentence)]);
      expect(await claimsOf(user)).toEqual({});
    },
  );

  test('attributes are no standard claims, and null removes one (federation 7)', async () => {
    const user = await service.createUser({ claims: { name: 'Ada' } });
    const { body } = await setAt(user, { department: 'Harbour', tags: ['a'] });
    expect(body).toMatchObject({ claims: { name: 'Ada' }, attributes: { department: 'Harbour', tags: ['a'] } });
    expect((await api('PATCH', `/users/${user.sub}`, { claims: { department: 'x' } })).status).toBe(400);
    expect((await setAt(user, { department: null, tags: [] })).body['attributes']).toBeUndefined();
  });

  test('twenty users cannot take one unique value at once, in any spelling, at two instances (federation 7)', async () => {
    const users = await Promise.all(Array.from({ length: 20 }, () => service.createUser()));
    const answers = await Promise.all(
      users.map((user, index) =>
        setAt(user, { staff_number: index % 2 ? ' E-7 ' : 'e-7' }, service.instances[index % 2]),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    const winner = users[answers.findIndex(({ status }) => status === 200)]!;
    // the value is free again once its user gives it up
    expect((await setAt(winner, { staff_number: null })).status).toBe(200);
    expect(
      (
        await setAt(
          users.find((user) => user !== winner)!,
          { staff_number: 'E-7' },
        )
      ).status,
    ).toBe(200);
  });

  test('an attribute becomes unique only if no two users share a value (federation 7)', async () => {
    const [one, other] = [await service.createUser(), await service.createUser()];
    await api('POST', '/attributes', { name: 'locker', type: 'string' });
    for (const user of [one, other]) await setAt(user, { locker: 'L1' });
    expect((await api('PATCH', '/attributes/locker', { unique: true })).status).toBe(409);
    await setAt(other, { locker: 'L2' });
    expect((await api('PATCH', '/attributes/locker', { unique: true })).status).toBe(200);
    expect((await setAt(other, { locker: 'l1' })).status).toBe(409);
  });
});

describe('commands, imports, the console and the account pages', () => {
  test('commands define attributes and set values (federation 7)', async () => {
    const user = await service.createUser({ username: 'carla' });
    const run = async (...args: string[]) => (await runCommand(service, args)).code;
    const define = ['attribute', 'create', 'room', '--type', 'number', '--label', 'en=Room', '--max', '900'];
    expect(await run(...define)).toBe(0);
    const set = ['user', 'set-attributes', 'carla', '--attribute'];
    expect(await run(...set, 'room=12', '--attribute', 'department=007')).toBe(0);
    expect(await claimsOf(user)).toEqual({ room: 12, department: '007' });
    expect(await run(...set, 'room=many')).not.toBe(0);
    expect(await run(...set, 'room=')).toBe(0);
    expect(await claimsOf(user)).toEqual({ department: '007' });
    expect((await runCommand(service, ['attribute', 'list'])).stdout).toContain('room');
    expect(await run('attribute', 'change', 'room', '--person', 'read')).toBe(0);
    expect(await run('attribute', 'delete', 'room')).toBe(0);
  });

  test('an export has the attributes, and an import takes them back, from CSV and JSON (federation 7)', async () => {
    const user = await service.createUser({ username: 'exported' });
    await setAt(user, { department: 'Quay; North', tags: ['a;b', 'c'], shoe_size: 42 });
    for (const format of ['csv', 'jsonl']) {
      const { stdout } = await runCommand(service, ['user', 'export', '--format', format]);
      const [head, line] = [stdout.split('\n')[0]!, stdout.split('\n').find((one) => one.includes('exported'))!];
      const file = format === 'csv' ? `${head}\n${line}\n` : `${line}\n`;
      await setAt(user, { department: null, tags: null, shoe_size: null });
      const options = { stdin: file };
      const imported = await runCommand(service, ['user', 'import', '-', '--format', format, '--update'], options);
      expect(imported).toMatchObject({ code: 0 });
      expect(await claimsOf(user)).toEqual({ department: 'Quay; North', tags: ['a;b', 'c'], shoe_size: 42 });
    }
  });

  test('an import refuses a row with a value that does not fit, or that another user has, and no other (federation 7)', async () => {
    const owner = await service.createUser();
    await setAt(owner, { badge: 'B-1' });
    const rows = [
      ['imported-1', 'many', ''],
      ['imported-2', '41', 'b-1'],
      ['imported-3', '40', 'B-3'],
    ];
    const stdin = ['username,attributes.shoe_size,attributes.badge', ...rows.map((row) => row.join(','))].join('\n');
    const { stdout, stderr } = await runCommand(service, ['user', 'import', '-', '--format', 'csv'], { stdin });
    expect(stdout + stderr).toContain('attributes.shoe_size');
    const stored = await Promise.all(rows.map(([name]) => service.store.users.findByUsername(name!)));
    expect(stored.map((user) => user?.claims)).toEqual([undefined, undefined, { shoe_size: 40, badge: 'B-3' }]);
  });

  test('the console defines an attribute, and its form for a user checks the values (federation 7)', async () => {
    const send = async (path: string, fields: Record<string, string>) => {
      const page = await agent.get(path);
      return agent.follow(await agent.post(path, { ...formOf(page, path), ...fields }));
    };
    const made = await send('/admin/attributes/new', {
      name: 'shift',
      type: 'string',
      label: 'Shift\r\n[de] Schicht',
      choices: 'day\r\nnight',
      person: 'none',
    });
    expect(made.url).toContain('/admin/attributes?done=attribute-made');
    expect(made.body).toContain('Shift');
    const refused = await send('/admin/attributes/new', { name: 'email', type: 'string' });
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('Standard claims')]);
    const user = await service.createUser({ username: 'shifted' });
    const edit = `/admin/users/${user.sub}/edit`;
    const page = await agent.get(edit);
    expect(page.body).toContain('name="attribute.shift"');
    const wrong = await send(edit, { username: 'shifted', 'attribute.shift': 'noon' });
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('Choose one of the allowed values')]);
    await send(edit, { username: 'shifted', 'attribute.shift': 'night', 'attribute.shoe_size': '44' });
    expect(await claimsOf(user)).toEqual({ shift: 'night', shoe_size: 44 });
    expect((await agent.get(`/admin/users/${user.sub}`)).body).toContain('night');
    const gone = await send('/admin/attributes/shift/delete', { typed: 'shift' });
    expect(gone.url).toContain('attribute-deleted');
    expect(await claimsOf(user)).toEqual({ shoe_size: 44 });
  });

  test('a user sees, changes and downloads what the attribute allows, and nothing else (federation F64, security R86)', async () => {
    const user = await service.createUser();
    await setAt(user, { department: 'Harbour', staff_number: 'E-9', shoe_size: 41 });
    const own = new UserAgent(service);
    await own.signIn(user);
    const { body } = await own.get('/account/profile');
    expect(body).toContain('Department');
    expect(body).toContain('Harbour');
    expect(body).not.toContain('E-9');
    const form = await own.get('/account/profile/edit');
    expect(form.body).toContain('name="attribute.shoe_size"');
    for (const hidden of ['attribute.department', 'attribute.staff_number']) expect(form.body).not.toContain(hidden);
    const before = await claimsOf(user);
    const post = async (fields: Record<string, string>) => {
      const page = await own.get('/account/profile/edit');
      const shown = { 'attribute.shoe_size': '41', 'attribute.tags': '', 'attribute.badge': '' };
      return own.post('/account/profile/edit', { ...hiddenFields(page.body), ...shown, ...fields });
    };
    const others = { 'attribute.department': 'x', 'attribute.staff_number': 'x', 'attribute.none': 'x', sub: 'x' };
    expect((await post(others)).status).toBe(303);
    for (const [name, text] of [
      ['attribute.shoe_size', 'large'],
      ['attribute.tags', 'x'.repeat(10_000)],
    ])
      expect([(await post({ [name!]: text! })).status, await claimsOf(user)]).toEqual([400, before]);
    const taken = await service.createUser();
    await setAt(taken, { badge: 'mine' });
    const shared = await post({ 'attribute.badge': 'MINE' });
    expect([shared.status, shared.body]).toEqual([400, expect.stringContaining('Another user already has this value')]);
    expect((await post({ 'attribute.shoe_size': '43' })).status).toBe(303);
    expect(await claimsOf(user)).toEqual({ ...before, shoe_size: 43 });
    const data = await own.get('/account/data');
    const download = await own.post('/account/data', formOf(data, '/account/data'));
    expect(JSON.parse(download.body).profile.attributes).toEqual({ ...before, shoe_size: 43 });
  });
});
