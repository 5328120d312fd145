// Tests groups that are changed at once: what only a race or a lost transaction can show, and the plan of their search.
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let administration: ReturnType<typeof createAdministration>;
const by = { actor: 'test' };
beforeAll(async () => {
  service = await startTestService();
  administration = createAdministration(service.store);
});
afterAll(() => service?.stop());

const groupsOf = async (sub: string) => (await service.store.users.find(sub))!.groups;

test('a rename that is retried after a lost transaction takes over no group that was created meanwhile (security R110)', async () => {
  const { sql } = service.database;
  const user = await service.createUser({ groups: ['before'] });
  await sql('CREATE SEQUENCE tries');
  await sql(`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF 'after' = ANY (NEW.groups) AND nextval('tries') <= 2 THEN
        PERFORM pg_sleep(0.2);
        RAISE EXCEPTION 'lost' USING ERRCODE = 'serialization_failure';
      END IF;
      RETURN NEW;
    END $$`);
  await sql('CREATE TRIGGER lose BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION lose()');
  const renaming = administration.changeGroup(by, 'before', { name: 'after' }).catch((error: unknown) => error);
  await vi.waitUntil(async () => (await sql<{ is_called: boolean }>('SELECT is_called FROM tries'))[0]!.is_called);
  // waits for the transaction that is lost
  await sql(`INSERT INTO groups (name, description) VALUES ('after', 'Of others')`);
  expect(await renaming).toMatchObject({ code: 'conflict', description: 'a group with this name already exists' });
  expect(await groupsOf(user.sub)).toEqual(['before']);
  await sql('DROP TRIGGER lose ON users');
});

test('adding members and deleting the group take their locks in one order (security R110)', async () => {
  const [member, other] = [await service.createUser({ groups: ['contested'] }), await service.createUser()];
  const holder = new pg.Client(service.database.connection);
  await holder.connect();
  const waiting = () =>
    service.database.sql<{ query: string }>(
      `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' ORDER BY query_start`,
    );
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM users WHERE sub = $1 FOR UPDATE', [member.sub]);
    const adding = administration.changeMembers(by, 'contested', { add: [member.sub, other.sub] }, []);
    await vi.waitUntil(async () => (await waiting()).length === 1);
    const deleting = administration.deleteGroup(by, 'contested');
    await vi.waitUntil(async () => (await waiting()).length === 2);
    // not for the member: that would be a deadlock
    expect((await waiting())[1]!.query).toContain('FROM groups');
    await holder.query('COMMIT');
    expect(await adding).toMatchObject({ added: [other.sub], unchanged: [member.sub] });
    expect(await deleting).toBe(2);
  } finally {
    await holder.end();
  }
  expect([await groupsOf(member.sub), await groupsOf(other.sub)]).toEqual([[], []]);
});

test('a group gets another name and description together or not at all (pages, groups)', async () => {
  const user = await service.createUser({ groups: ['one'] });
  await administration.createGroup(by, { name: 'two', description: 'Taken' });
  await expect(administration.changeGroup(by, 'one', { name: 'two', description: 'New' })).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await service.store.groups.find('one')).toMatchObject({ description: '' });
  await administration.changeGroup(by, 'one', { name: 'three', description: 'New' });
  expect(await service.store.groups.find('three')).toMatchObject({ description: 'New', members: 1 });
  expect(await groupsOf(user.sub)).toEqual(['three']);
});

test('a search in very many groups reads only its results (pages, groups)', async () => {
  const { sql } = service.database;
  await sql(
    `INSERT INTO groups (name, description) SELECT 'many-' || i, 'One of many' FROM generate_series(1, 20000) AS i`,
  );
  await sql('VACUUM ANALYZE groups');
  expect(await service.store.groups.list({ limit: 50, words: 'many-777' })).toHaveLength(11);
  const plan = await sql<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT name FROM groups WHERE group_words(name, description) @@ user_search('many-777', NULL, NULL, NULL) AND name > '' ORDER BY name LIMIT 50`,
  );
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('groups_words');
});
