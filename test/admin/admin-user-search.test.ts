// The user search finds users by words, group, status and admin flag, and no query plan reads the whole table.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasSeveralAdministrators, userSearchStatements } from '../../src/repositories/users/user-search.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const users = (query: Record<string, string>) =>
  call(`${service.issuer}/admin/api/users?${new URLSearchParams(query)}`, { token });
const names = async (query: Record<string, string>) =>
  ((await users(query)).body['users'] as { username: string }[]).map((user) => user.username);

test.each([
  ['the beginning of the user name', 'jmul'],
  ['the end of the email address', 'harbour.example'],
  ['the email address', 'J.Muller+'],
  ['words in any order, case and accents', 'MÜLLER  jösé'],
  ['a part of a name with a hyphen', 'lukasz'],
  ['a name with an apostrophe', "o'bri"],
  ['the part after an apostrophe', 'brien'],
  ['Arabic without its vowel marks', 'محمد'],
])('the search finds a user by %s (pages, search)', async (_what, q) => {
  await service.createUser({
    username: `jmuller-${q.length}-${q.charCodeAt(0)}`,
    email: `J.Muller+${q.length}.${q.charCodeAt(0)}@Harbour.example`,
    claims: { given_name: 'José', family_name: "Müller-Łukasz O'Brien مُحَمَّد" },
  });
  expect((await names({ q })).length).toBeGreaterThan(0);
  expect(await names({ q: `${q} nobody` })).toEqual([]);
});

test.each(['%', "'", '\\', "a' & 'b", ':*', '!', '(', '\u0001', ' ', "'' | ''"])(
  'the search takes %j as text, not as a query language (pages, search)',
  async (q) => expect((await users({ q })).status).toBe(200),
);

test('the group, status and admin filters narrow a search, alone and combined (pages, search)', async () => {
  const make = (username: string, groups: string[], admin = false) =>
    service.createUser({ username: `Narrow ${username}`, groups, admin });
  await make('one', ['blue whales']);
  const two = await make('two', ['blue whales', 'red']);
  await make('three', ['blue']);
  await make('four', ['red'], true);
  await call(`${service.issuer}/admin/api/users/${two.sub}`, { method: 'PATCH', token, body: { status: 'disabled' } });
  const found = async (query: Record<string, string>) =>
    (await names({ q: 'narrow', order: 'name', ...query })).map((name) => name.slice(7));
  expect(await found({})).toEqual(['four', 'one', 'three', 'two']);
  expect(await found({ group: 'blue whales' })).toEqual(['one', 'two']);
  expect(await found({ group: 'blue whales', status: 'enabled' })).toEqual(['one']);
  expect(await found({ status: 'disabled' })).toEqual(['two']);
  expect(await found({ admin: 'true' })).toEqual(['four']);
  expect(await names({ group: 'blue' })).toEqual(['Narrow three']);
  expect(await names({ group: 'whales' })).toEqual([]);
});

describe('with twenty thousand users', () => {
  beforeAll(async () => {
    const { sql } = service.database;
    await sql(`BEGIN; ALTER TABLE users DISABLE TRIGGER USER;
      INSERT INTO users (username, email, claims, groups, status, created_at)
        SELECT 'person' || i, 'person' || i || '@' || (ARRAY['north', 'south'])[1 + i % 2] || '.example',
               jsonb_build_object('family_name', 'Family' || i % 1000), CASE WHEN i <= 14000 THEN '{early}' ELSE '{late}' END::text[],
               CASE WHEN i % 100 = 0 THEN 'disabled' ELSE 'enabled' END, now() - i * interval '1 minute'
          FROM generate_series(1, 20000) AS i;
      ALTER TABLE users ENABLE TRIGGER USER; COMMIT`);
    await sql('ANALYZE users');
  });

  test.each(['newest', 'name'])(
    'paging by %s returns each user once while other users are created (pages, search)',
    async (order) => {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const { body } = await users({ q: 'family7', order, limit: '200', ...(cursor && { cursor }) });
        seen.push(...(body['users'] as { username: string }[]).map((user) => user.username));
        cursor = body['next_cursor'] as string | undefined;
        // a user who is created meanwhile sorts into an earlier page, or into a later one
        if (seen.length < 600)
          await service.createUser({
            username: `a new person ${order} ${seen.length}`,
            claims: { family_name: 'Family7' },
          });
        expect(body).not.toHaveProperty('broad');
      } while (cursor);
      const whole = seen.filter((name) => name.startsWith('person'));
      // 7, 70 to 79, 700 to 799: 111 of 1000 families
      expect(whole).toHaveLength((20_000 / 1000) * 111);
      expect(new Set(whole).size).toBe(whole.length);
      if (order === 'name') expect(whole).toEqual([...whole].sort());
    },
  );

  test('a search with very many matches far from its first page answers broad, and does not read all rows (pages, search)', async () => {
    const { body } = await users({ group: 'early', order: 'newest' });
    expect(body).not.toHaveProperty('broad');
    const far = await users({ group: 'late', q: 'person', order: 'newest' });
    expect(far.body).not.toHaveProperty('broad');
    await service.database.sql(`BEGIN; ALTER TABLE users DISABLE TRIGGER USER;
      UPDATE users SET created_at = created_at - interval '1 year' WHERE 'early' = ANY (groups);
      ALTER TABLE users ENABLE TRIGGER USER; COMMIT`);
    const broad = await users({ group: 'early', order: 'newest' });
    expect(broad.body).toMatchObject({ broad: true, next_cursor: expect.any(String) });
    expect((await users({ group: 'early', q: 'person77', order: 'newest' })).body).not.toHaveProperty('broad');
  });

  test('the question for a second administrator reads the index of words (pages, search)', async () => {
    const plan = await service.database.sql(`EXPLAIN ${hasSeveralAdministrators.text}`);
    expect(JSON.stringify(plan)).toContain('users_words');
    expect(JSON.stringify(plan)).not.toContain('Seq Scan');
  });

  test('no search reads the whole table (pages, search)', async () => {
    const statements = Object.values(userSearchStatements).flatMap((order) => Object.values(order));
    expect(statements).toHaveLength(6);
    for (const { name, text } of statements) {
      const byName = name.includes('.name.');
      const cursor = byName ? ["'person2'", "'x'"] : [`(now() - interval '3 days')`, `'x'`];
      for (const asked of [
        `'person4242', NULL, NULL, false`,
        `'fam', 'early', NULL, false`,
        `'', NULL, 'disabled', false`,
        `'', NULL, 'enabled', false`,
        `'', NULL, NULL, true`,
        `'p', 'late', 'enabled', false`,
      ]) {
        const values = [...cursor, ...(name.endsWith('.all') ? ['51'] : [...asked.split(', '), '51'])];
        const filled = values.reduceRight((sql, value, index) => sql.replaceAll(`$${index + 1}`, value), text);
        const plan = (await service.database.sql<{ 'QUERY PLAN': string }>(`EXPLAIN ${filled}`))
          .map((row) => row['QUERY PLAN'])
          .join('\n');
        expect(plan, `${name} ${asked}`).not.toContain('Seq Scan');
        // where nearly all users match, a walk in the order of the list ends early, and costs as much as the index of words
        const isBroad = asked.includes("'enabled'");
        expect(plan, name).toMatch(
          name.endsWith('candidates') && !isBroad ? /users_words|users_by_name/ : /Index Scan/,
        );
      }
    }
  });
});
