// Tests the statements of one transaction that are issued together: they run in order, and all or nothing.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase, statement } from '../../src/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { Forwarder } from '../helpers/forwarder.ts';

let database: TestDatabase;
let forwarder: Forwarder;
let opened: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  await database.sql('CREATE TABLE things (key integer PRIMARY KEY)');
  const { host, port } = database.connection;
  forwarder = await Forwarder.open(`${host}/.s.PGSQL.${port}`);
  const address = { host: '127.0.0.1', port: forwarder.port };
  opened = openDatabase({
    connection: { ...database.connection, ...address },
    poolSize: 1,
    onError: () => undefined,
  });
});
afterEach(async () => {
  await opened?.close();
  await forwarder?.close();
  await database?.drop();
});

const insert = statement('test.things_insert', 'INSERT INTO things VALUES ($1)');
const count = statement('test.things_count', 'SELECT count(*)::int AS count FROM things');
/** Stores two numbers and their sum, and returns how many are stored then. */
const store = (first: number, second: number) =>
  opened.transaction(async (sql) => {
    await Promise.all([sql.query(insert, [first]), sql.query(insert, [second])]);
    const [, [row]] = await Promise.all([sql.query(insert, [first + second]), sql.query<{ count: number }>(count)]);
    return row!.count;
  });
const stored = async () =>
  (await database.sql<{ key: number }>('SELECT key FROM things ORDER BY key')).map(({ key }) => key);

test('statements that are issued together run in order and share a round trip, the first ones with BEGIN (architecture, where a rule lives)', async () => {
  // each is sent alone until the connection knows it
  expect(await store(1, 2)).toBe(3);
  forwarder.roundTrips = 0;
  expect(await store(4, 5)).toBe(6);
  expect(forwarder.roundTrips).toBe(3);
  expect(await stored()).toEqual([1, 2, 3, 4, 5, 9]);
});

test.each(['new', 'used'])(
  'of statements that are issued together on a %s connection, one that fails rolls back all (security R110)',
  async (connection) => {
    const before = connection === 'new' ? [] : [1, 2, 3];
    if (before.length > 0) await store(1, 2);
    await expect(store(6, 6)).rejects.toMatchObject({ code: '23505' });
    await expect(store(7, 0)).rejects.toMatchObject({ code: '23505' });
    expect(await stored()).toEqual(before);
    expect(await store(8, 9)).toBe(before.length + 3);
  },
);

test('a transaction whose work goes on after a failed statement is an error (security R110)', async () => {
  const work = opened.transaction(async (sql) => {
    await sql.query(insert, [1]);
    await Promise.allSettled([sql.query(insert, [2]), sql.query(insert, [1])]);
  });
  await expect(work).rejects.toThrow('the transaction was rolled back');
  expect(await stored()).toEqual([]);
});
