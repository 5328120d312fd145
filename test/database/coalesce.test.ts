// Concurrent queries of one statement go to the database as one: each gets its own rows, and none is older than the query.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase, batchedStatement } from '../../src/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let opened: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql('CREATE TABLE things (key integer PRIMARY KEY, value integer, CHECK (value < 1000))');
  opened = openDatabase({ connection: database.connection, poolSize: 5, onError: () => undefined });
});
beforeEach(async () => {
  await database.sql('DELETE FROM things');
  await database.sql('INSERT INTO things SELECT key, key * 10 FROM generate_series(1, 90) AS key');
});
afterAll(async () => {
  await opened?.close();
  await database?.drop();
});

interface Found {
  key: number;
  value: number;
  /** How many queries were sent together. */
  asked: number;
}
/** Waits while another transaction holds the lock 7, and then returns the rows of its older snapshot. */
const one = (key: string) =>
  `SELECT key, value FROM things WHERE key = ${key} AND pg_advisory_xact_lock_shared(7)::text = ''`;
const find = batchedStatement(
  'read',
  'things.find',
  `SELECT one.*, 1 AS asked FROM (${one('$1')}) AS one`,
  `SELECT asked.place::integer, one.*, cardinality($1::integer[]) AS asked
     FROM unnest($1::integer[]) WITH ORDINALITY AS asked (key, place), LATERAL (${one('asked.key')} LIMIT 1) AS one`,
);
const insert = batchedStatement(
  'write',
  'things.insert',
  'INSERT INTO things VALUES ($1, $2) RETURNING key',
  `WITH asked AS (SELECT * FROM unnest($1::integer[], $2::integer[]) WITH ORDINALITY AS asked (key, value, place)),
     stored AS (INSERT INTO things SELECT key, value FROM asked)
   SELECT place::integer, key FROM asked`,
);

const ask = (key: number) => opened.query<Found>(find, [key]);
const store = (key: number, value: number) => opened.query(insert, [key, value]);
const range = (length: number) => Array.from({ length }, (_, index) => index);

test('each of many concurrent queries gets the rows of its key, however many ask for the same key (RFC 7662 2.2)', async () => {
  // only the keys 1 to 90 exist
  const keys = range(400).map((index) => (index * 7) % 110);
  const answers = await Promise.all(keys.map(ask));
  answers.forEach((rows, index) => {
    const key = keys[index]!;
    expect(rows.map(({ key, value }) => ({ key, value }))).toEqual(
      key < 1 || key > 90 ? [] : [{ key, value: key * 10 }],
    );
  });
  expect(answers.flat().every(({ asked }) => asked > 1 && asked <= 32)).toBe(true);
  // a caller that changes its row changes no other caller's
  expect(new Set(answers.flat()).size).toBe(answers.flat().length);
});

test('a single query is sent alone', async () => {
  expect(await ask(3)).toEqual([{ key: 3, value: 30, asked: 1 }]);
});

test('a query after an acknowledged change sees the change, even while other queries wait for an older answer (RFC 7009 2.1)', async () => {
  const holder = openDatabase({ connection: database.connection, poolSize: 1, onError: () => undefined });
  try {
    let before: Promise<Found[][]> | undefined;
    let after: Promise<Found[][]> | undefined;
    await holder.transaction(async (sql) => {
      await sql.query({ name: 'lock', text: 'SELECT pg_advisory_xact_lock(7)' });
      before = Promise.all([ask(1), ask(1), ask(2)]);
      await expect
        .poll(() => database.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), {
          timeout: 10_000,
        })
        .toHaveLength(1);
      await database.sql('UPDATE things SET value = 11 WHERE key = 1');
      after = Promise.all([ask(1), ask(1), ask(2)]);
    });
    const values = (answers: Found[][]) => answers.map((rows) => rows[0]?.value);
    expect(values(await before!)).toEqual([10, 10, 20]);
    expect(values(await after!)).toEqual([11, 11, 20]);
  } finally {
    await holder.close();
  }
});

test('a write that is refused fails alone, and the other writes of its batch succeed', async () => {
  const results = await Promise.allSettled(range(40).map((index) => store(100 + index, index === 7 ? 1000 : index)));
  expect(results.map(({ status }) => status)).toEqual(
    range(40).map((index) => (index === 7 ? 'rejected' : 'fulfilled')),
  );
  expect(results[7]).toMatchObject({ reason: { code: '23514' } });
  results.forEach((result, index) => {
    if (result.status === 'fulfilled') expect(result.value).toMatchObject([{ key: 100 + index }]);
  });
  const stored = await database.sql<{ key: number }>('SELECT key FROM things WHERE key >= 100 ORDER BY key');
  expect(stored.map(({ key }) => key)).toEqual(
    range(40)
      .filter((index) => index !== 7)
      .map((index) => 100 + index),
  );
});

test('a failure reaches every query of its batch, and the next queries succeed', async () => {
  await database.sql('ALTER TABLE things RENAME TO gone');
  try {
    const results = await Promise.allSettled(range(40).map((index) => ask(index)));
    expect(results.map(({ status }) => status)).toEqual(Array(40).fill('rejected'));
  } finally {
    await database.sql('ALTER TABLE gone RENAME TO things');
  }
  expect((await Promise.all([ask(1), ask(2)])).map((rows) => rows[0]?.value)).toEqual([10, 20]);
});
