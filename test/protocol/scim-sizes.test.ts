// SCIM at the size of a large directory: members of one group that many clients change at once, a list of all users, and a first synchronisation.
// A test run does it small. `npm run walks -- scim` does it with a group of 10,000, with 100,000 and with 50,000 users, and prints figures.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { type Directory, enterprise, groupSchema, startDirectory } from '../helpers/scim.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const isLarge = process.env['WALKS'] === 'all';
const sizes = isLarge
  ? { group: 10_000, listed: 100_000, synchronised: 50_000 }
  : { group: 250, listed: 500, synchronised: 40 };
const hours = 3_600_000;

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, LIMIT_SCIM: '0' } });
  admin = await adminToken(service);
});
afterAll(() => service?.stop());

const say = (line: string) => void (isLarge && console.log(line));
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  const result = await work();
  say(`${what}: ${Math.round(performance.now() - begin)} ms`);
  return result;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** MB of the heap that live objects have. */
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Users of the source, by SQL: to create them one by one would take longer than what is tested. */
async function addUsers(source: string, count: number): Promise<string[]> {
  for (let from = 1; from <= count; from += 10_000)
    await service.database.sql(
      `WITH made AS (
         INSERT INTO users (username, claims) SELECT $1 || '-' || n, '{"name": "A User"}' FROM generate_series($2::int, $3) AS n RETURNING sub, username)
       INSERT INTO scim_users (sub, source_id, user_name, external_id, resource)
         SELECT sub, $1, username, username, '{"displayName": "A User"}' FROM made`,
      [source, from, Math.min(count, from + 9_999)],
    );
  const rows = await service.database.sql<{ sub: string }>(
    'SELECT sub FROM scim_users WHERE source_id = $1 ORDER BY place',
    [source],
  );
  return rows.map(({ sub }) => sub);
}

/** Counts the statements of SCIM and of its events that this process sends, in batches or alone. */
function countStatements() {
  const counts = new Map<string, number>();
  const original = pg.Client.prototype.query as (this: pg.Client, ...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    // a batch has the name of its first statement, which is that of a statement that is sent alone
    const { name = '' } = (given[0] ?? {}) as { name?: string };
    if (/^(scim_|audit_events)/.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    return original.apply(this, given) as never;
  });
  return { counts, stop: () => spy.mockRestore() };
}

const membersOf = async (of: Directory, id: string) =>
  (((await of.find(`/Groups/${id}`))['members'] ?? []) as { value: string }[]).map(({ value }) => value).sort();
const inGroup = async (name: string) =>
  (await service.database.sql<{ sub: string }>('SELECT sub FROM users WHERE $1 = ANY (groups)', [name]))
    .map(({ sub }) => sub)
    .sort();

test(
  'twenty clients change the members of one large group at once, and none of the changes is lost (federation FR38)',
  async () => {
    const clients = 20;
    const each = 5;
    const source = await startDirectory(service, admin, 'crowd');
    const all = await addUsers('crowd', sizes.group + clients * each);
    const first = all.slice(0, sizes.group);
    const joining = all.slice(sizes.group);
    const group = await timed(`a group of ${sizes.group} members`, () => source.group('crowd', first));
    const at = `/Groups/${group.id}`;
    const statements = countStatements();
    const answers = await timed('twenty clients with five changes each', () =>
      Promise.all(
        Array.from({ length: clients }, async (_, client) => {
          const statuses: number[] = [];
          for (let change = 0; change < each; change++) {
            const place = client * each + change;
            const { status } = await source.patch(
              at,
              { op: 'add', path: 'members', value: [{ value: joining[place] }] },
              { op: 'remove', path: `members[value eq "${first[place]}"]` },
            );
            statuses.push(status);
          }
          return statuses;
        }),
      ),
    );
    statements.stop();
    // a large group is not in the answer
    expect(answers.flat()).toEqual(Array(clients * each).fill(204));
    const wanted = [...first.slice(clients * each), ...joining].sort();
    expect(await membersOf(source, group.id)).toEqual(wanted);
    expect(await inGroup('crowd')).toEqual(wanted);
    const [{ members, version }] = (await service.database.sql<{ members: string; version: number }>(
      `SELECT version, (SELECT count(*) FROM group_memberships WHERE source = 'scim:crowd') AS members FROM scim_groups WHERE id = $1`,
      [group.id],
    )) as [{ members: string; version: number }];
    expect([Number(members), version]).toEqual([sizes.group, 2 + clients * each]);
    // the number of statements does not depend on the number of members
    const sent = Object.fromEntries(statements.counts);
    say(`statements: ${JSON.stringify(sent)}`);
    expect(sent['scim_groups.change_members']).toBe(clients * each);
    expect(sent['audit_events.insert_many']).toBe(clients * each);
    const half = wanted.slice(0, wanted.length / 2);
    const put = { schemas: [groupSchema], displayName: 'crowd', members: half.map((value) => ({ value })) };
    expect((await timed('PUT of half of the members', () => source.send('PUT', at, put))).status).toBe(200);
    const others = wanted.slice(wanted.length / 2).map((value) => ({ value }));
    const added = await timed('PATCH that adds the other half', () =>
      source.patch(at, { op: 'add', path: 'members', value: others }),
    );
    expect(added.status).toBe(204);
    expect(await inGroup('crowd')).toEqual(wanted);
    const renamed = await timed('another name', () =>
      source.patch(at, { op: 'replace', path: 'displayName', value: 'crew' }),
    );
    expect([renamed.status, await inGroup('crew')]).toEqual([204, wanted]);
    await timed('DELETE', () => source.send('DELETE', at));
    expect(await inGroup('crew')).toEqual([]);
  },
  hours,
);

test(
  'a list of all users has each user once, with as many statements for the last page as for the first, and with flat memory (federation F80)',
  async () => {
    const source = await startDirectory(service, admin, 'listed');
    await timed('users by SQL', () => addUsers('listed', sizes.listed));
    if (isLarge) await service.database.sql('VACUUM ANALYZE scim_users');
    const found = new Uint8Array(sizes.listed);
    const pages: number[] = [];
    const statements: number[] = [];
    const count = 100;
    const before = heap();
    let most = 0;
    for (let startIndex = 1; ; startIndex += count) {
      const sent = service.statements.length;
      const begin = performance.now();
      const { body } = await source.send('GET', `/Users?startIndex=${startIndex}&count=${count}`);
      pages.push(performance.now() - begin);
      statements.push(service.statements.slice(sent).filter((name) => name.startsWith('scim_users')).length);
      const resources = body['Resources'] as { userName: string }[];
      for (const { userName } of resources) found[Number(userName.split('-')[1]) - 1]! += 1;
      if (startIndex % 10_000 === 1) most = Math.max(most, heap() - before);
      expect(body['totalResults']).toBe(sizes.listed);
      if (startIndex + resources.length > sizes.listed) break;
    }
    expect(found.every((times) => times === 1)).toBe(true);
    expect(new Set(statements)).toEqual(new Set([2]));
    // MB, while 100,000 users are some hundred: what grows is the log that the tests keep
    service.logs.splice(0);
    service.statements.splice(0);
    expect(heap() - before).toBeLessThan(20);
    const tenth = Math.ceil(pages.length / 10);
    const median = (of: number[]) => of.toSorted((a, b) => a - b)[of.length >> 1]!.toFixed(1);
    say(
      `pages: ${pages.length}; of the first tenth ${median(pages.slice(0, tenth))} ms, of the last ${median(pages.slice(-tenth))} ms`,
    );
    say(`heap: at most ${most.toFixed(0)} MB more, with the log that the tests keep`);
  },
  hours,
);

test(
  'a directory synchronises its users and groups, then what changed since, and both sides agree (federation 8)',
  async () => {
    const source = await startDirectory(service, admin, 'synchronised');
    const before = heap();
    const numbers = Array.from({ length: sizes.synchronised }, (_, number) => number);
    const ids: string[] = [];
    const inLanes = async (of: readonly number[], work: (number: number) => Promise<void>) => {
      let next = 0;
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          while (next < of.length) await work(of[next++]!);
        }),
      );
      // what a running service does not keep
      service.logs.splice(0);
      service.statements.splice(0);
    };
    const nameOf = (number: number) => `user-${number}@corp.example`;
    const find = async (number: number) =>
      (await source.find(
        `/Users?${new URLSearchParams({ filter: `userName eq "${nameOf(number)}"` })}`,
      )) as unknown as {
        totalResults: number;
        Resources: { id: string; active: boolean; title?: string }[];
      };
    const create = async (number: number) => {
      expect((await find(number)).totalResults).toBe(0);
      const made = await source.user({
        userName: nameOf(number),
        externalId: `external-${number}`,
        active: true,
        name: { givenName: 'Given', familyName: `Family ${number}` },
        emails: [{ value: nameOf(number), type: 'work', primary: true }],
        [enterprise]: { department: `Department ${number % 20}` },
      });
      ids[number] = made.id;
    };
    for (let from = 0; from < numbers.length; from += 10_000) {
      const part = numbers.slice(from, from + 10_000);
      await timed(`${part.length} users, each looked for and created`, () => inLanes(part, create));
      say(`heap: ${(heap() - before).toFixed(0)} MB more`);
    }
    const groups = Array.from({ length: 20 }, (_, group) => group);
    const memberships = async (group: number) => {
      const { id } = await source.group(`department-${group}`);
      const members = ids.filter((_, number) => number % 20 === group).map((value) => ({ value }));
      for (let from = 0; from < members.length; from += 500)
        await source.patch(`/Groups/${id}`, { op: 'Add', path: 'members', value: members.slice(from, from + 500) });
    };
    await timed('20 groups with all users, in portions of 500', () => inLanes(groups, memberships));
    const changed = numbers.filter((number) => number % 10 === 1);
    const left = numbers.filter((number) => number % 10 === 2);
    await timed(`${changed.length} users with another title`, () =>
      inLanes(changed, async (number) => {
        await source.patch(`/Users/${ids[number]}`, { op: 'Replace', path: 'title', value: 'Pilot' });
      }),
    );
    await timed(`${left.length} users who leave`, () =>
      inLanes(left, async (number) => {
        await source.patch(`/Users/${ids[number]}`, { op: 'Replace', path: 'active', value: 'False' });
      }),
    );
    const [totals] = await service.database.sql<Record<string, string>>(
      `SELECT count(*) AS users, count(*) FILTER (WHERE u.status = 'enabled') AS enabled,
              count(*) FILTER (WHERE s.resource ->> 'title' = 'Pilot') AS titled, sum(cardinality(u.groups)) AS memberships
         FROM scim_users s JOIN users u USING (sub) WHERE s.source_id = 'synchronised'`,
    );
    expect(Object.values(totals!).map(Number)).toEqual([
      sizes.synchronised,
      sizes.synchronised - left.length,
      changed.length,
      sizes.synchronised,
    ]);
    expect((await find(left[0]!)).Resources).toMatchObject([{ id: ids[left[0]!], active: false }]);
    expect((await find(changed[0]!)).Resources).toMatchObject([{ id: ids[changed[0]!], active: true, title: 'Pilot' }]);
    say(`heap: ${(heap() - before).toFixed(0)} MB more at the end`);
    expect(heap() - before).toBeLessThan(60);
  },
  hours,
);
