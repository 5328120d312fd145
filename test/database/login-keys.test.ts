// The keys of names, addresses, subs and client ids: one function compares them on every database, and the primary key decides who has one.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const sql = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => database.sql<Row>(text, values);
const insert = (user: { username: string; email?: string; sub?: string }) =>
  sql<{ sub: string }>(
    'INSERT INTO users (username, email, sub) VALUES ($1, $2, coalesce($3, gen_random_uuid()::text)) RETURNING sub',
    [user.username, user.email ?? null, user.sub ?? null],
  ).then(([row]) => row!.sub);
const metadata = {
  redirect_uris: [],
  grant_types: [],
  response_types: [],
  scope: '',
  token_endpoint_auth_method: 'none',
};
const insertClient = (clientId: string) =>
  sql(`INSERT INTO clients (client_id, metadata, shared_secret_encrypted) VALUES ($1, $2, '\\x030011223344556677ff')`, [
    clientId,
    metadata,
  ]);
const namesOf = async (typed: string) =>
  (await sql<{ username: string }>('SELECT username FROM users_of_login($1)', [typed])).map((row) => row.username);
/** A version that does not know the rule, and serves during the update, answers it as a wrong value of the request. */
const invalidValue = '22023';
const taken = { code: '23505', constraint: 'login_keys_pkey' };

test.each([
  ['  Ada\t', 'ada'],
  ['\u00a0ÄNNE\u3000', 'änne'],
  ['ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
  ['οδυσσευς', 'οδυσσευσ'],
  ['ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'ada@example.com'],
  ['Strasse', 'strasse'],
  ['İzmir', 'i̇zmir'],
  ['IRMAK', 'irmak'],
])('%j has the key %j on every database (security R153, reports B4)', async (typed, key) => {
  const [row] = await sql<{ key: string; again: string }>(
    'SELECT login_key($1) AS key, login_key(login_key($1)) AS again',
    [typed],
  );
  expect(row).toEqual({ key: key.normalize('NFKC'), again: key.normalize('NFKC') });
});

test('plain SQL gives no text to a second user, as a name, an address or a sub (security R153, reports A7)', async () => {
  const sub = await insert({ username: 'Grace', email: 'grace@example.com', sub: 'grace-1' });
  await expect(insert({ username: 'ＧＲＡＣＥ＠example.com ' })).rejects.toMatchObject(taken);
  await expect(insert({ username: 'other', email: 'GRACE@example.com' })).rejects.toMatchObject(taken);
  await expect(insert({ username: 'GRACE-1' })).rejects.toMatchObject(taken);
  await expect(insert({ username: 'other', sub: 'grace' })).rejects.toMatchObject(taken);
  const other = await insert({ username: 'Other' });
  await expect(
    sql('UPDATE users SET username = $2 WHERE sub = $1', [other, 'grace@EXAMPLE.com']),
  ).rejects.toMatchObject(taken);
  // one's own address is a name of one's own
  await sql('UPDATE users SET username = email WHERE sub = $1', [sub]);
  expect(await namesOf('grace@example.com')).toEqual(['grace@example.com']);
  // a name that was given up is free
  await sql('UPDATE users SET username = $2 WHERE sub = $1', [other, 'Grace']);
  await sql('DELETE FROM users WHERE sub = $1', [sub]);
  await insert({ username: 'grace@example.com' });
  expect(await sql(`SELECT key FROM login_keys WHERE key LIKE 'grace%' ORDER BY key`)).toEqual([
    { key: 'grace' },
    { key: 'grace@example.com' },
  ]);
});

test('a name that looks like a sub belongs to the user with that sub alone (security R153)', async () => {
  const uuid = '1E4B5E0A-9B0F-4D57-8D5C-3A8A3E9F6B11';
  await expect(insert({ username: ` ${uuid}` })).rejects.toMatchObject({
    code: invalidValue,
    constraint: 'users_name_is_no_sub',
  });
  await insert({ username: uuid, sub: uuid.toLowerCase() });
  expect(await namesOf(uuid)).toEqual([uuid]);
});

test('an address whose domain has no A-label is a wrong value, also for a version that does not know the rule (security R158)', async () => {
  for (const email of ['ada@münchen.de', 'ada@example.com.'])
    await expect(insert({ username: 'no A-label', email })).rejects.toMatchObject({
      code: invalidValue,
      constraint: 'users_email_check',
    });
});

test('no client_id is a name, an address or a sub, and the reverse (security R153)', async () => {
  await insert({ username: 'Boats', email: 'boats@example.com', sub: 'boats-sub' });
  for (const clientId of ['boats', 'BOATS@example.com', 'boats-sub'])
    await expect(insertClient(clientId), clientId).rejects.toMatchObject(taken);
  await insertClient('Piers');
  // client ids may differ by case alone
  await insertClient('piers');
  await expect(insert({ username: 'PIERS' })).rejects.toMatchObject(taken);
  await expect(insert({ username: 'other-piers', sub: 'piers' })).rejects.toMatchObject(taken);
  await sql(`DELETE FROM clients WHERE client_id = 'Piers'`);
  await expect(insert({ username: 'PIERS' })).rejects.toMatchObject(taken);
  await sql(`DELETE FROM clients WHERE client_id = 'piers'`);
  await insert({ username: 'PIERS' });
});

test('subs may differ by case alone, and neither is a name of anyone else (security R153)', async () => {
  await insert({ username: 'first-of-two', sub: 'AbC' });
  await insert({ username: 'second-of-two', sub: 'aBc' });
  await expect(insert({ username: 'abc' })).rejects.toMatchObject(taken);
  expect(await namesOf('AbC')).toEqual([]);
  await sql(`DELETE FROM users WHERE sub = 'AbC'`);
  await expect(insert({ username: 'abc' })).rejects.toMatchObject(taken);
  await sql(`DELETE FROM users WHERE sub = 'aBc'`);
  await insert({ username: 'abc' });
});

test('of two transactions that take one text, one waits and is refused (security R153)', async () => {
  const [first, second] = [new pg.Client(database.connection), new pg.Client(database.connection)];
  await Promise.all([first.connect(), second.connect()]);
  await first.query('BEGIN');
  await first.query(`INSERT INTO users (username, email) VALUES ('racer', 'contested@example.com')`);
  const refused = expect(
    second.query(`INSERT INTO users (username) VALUES ('Contested@example.com')`),
  ).rejects.toMatchObject(taken);
  await expect
    .poll(async () =>
      sql(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`),
    )
    .toHaveLength(1);
  await first.query('COMMIT');
  await refused;
  await Promise.all([first.end(), second.end()]);
});
