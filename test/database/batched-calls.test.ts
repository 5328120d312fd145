// Concurrent calls of a stored function go to the database as one statement: each is all or nothing, and none delays the others for long.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type Database,
  DatabaseUnavailable,
  openDatabase,
  batchedStatement,
  statement,
} from '../../src/database/database.ts';
import { batchedCall } from '../../src/repositories/batched-call.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let opened: Database[];
beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql('CREATE TABLE things (key integer PRIMARY KEY, value integer CHECK (value < 1000))');
  await database.sql(`
    CREATE FUNCTION add_to_thing(of_key integer, more integer, words text[]) RETURNS TABLE (value integer, last text, others integer)
    LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE things t SET value = t.value + more WHERE t.key = of_key RETURNING t.value INTO value;
      last := words[cardinality(words)];
      others := (SELECT count(*) FROM things t WHERE t.xmin = pg_current_xact_id()::xid) - 1;
      RETURN NEXT;
    END $$`);
  opened = [1, 2].map(() => openDatabase({ connection: database.connection, poolSize: 10, onError: () => undefined }));
});
beforeEach(async () => {
  await database.sql('DELETE FROM things');
  await database.sql('INSERT INTO things SELECT key, 0 FROM generate_series(1, 40) AS key');
});
afterAll(async () => {
  await Promise.all(opened?.map((each) => each.close()) ?? []);
  await database?.drop();
});

const add = batchedCall('things.add', {
  function: { name: 'add_to_thing' },
  types: 'integer, integer, text[]',
  columns: 'r.*',
  locks: 'value_1',
});
interface Added {
  value: number;
  last: string;
  /** How many other rows the same transaction had changed by then. */
  others: number;
}
const keys = Array.from({ length: 40 }, (_, index) => index + 1);
const addTo = async (key: number, more = key, on = opened[0]!) =>
  (await on.query<Added>(add, [key, more, ['"a", b', `}of ${key}\\`]]))[0]!;
const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);

test('many concurrent calls each get their own result, and most share a transaction', async () => {
  const answers = await Promise.all(keys.map((key) => addTo(key)));
  expect(answers.map(({ value, last }) => ({ value, last }))).toEqual(
    keys.map((key) => ({ value: key, last: `}of ${key}\\` })),
  );
  expect(sum(answers.map(({ others }) => others))).toBeGreaterThan(keys.length);
});

test('a single call has a separate transaction', async () => {
  expect(await addTo(7)).toEqual({ value: 7, last: '}of 7\\', others: 0 });
});

test('concurrent calls on one row each see the calls before them', async () => {
  const answers = await Promise.all([...keys, ...keys].map(() => addTo(1, 1)));
  expect(answers.map(({ value }) => value).sort((a, b) => a - b)).toEqual([...keys, ...keys.map((key) => key + 40)]);
});

test('a refused call changes nothing, and the other calls of its batch take effect once', async () => {
  const results = await Promise.allSettled(keys.map((key) => addTo(key, key === 9 ? 1000 : key)));
  expect(results.map(({ status }) => status)).toEqual(keys.map((key) => (key === 9 ? 'rejected' : 'fulfilled')));
  expect(results[8]).toMatchObject({ reason: { code: '23514' } });
  const stored = await database.sql<{ key: number; value: number }>('SELECT * FROM things ORDER BY key');
  expect(stored).toEqual(keys.map((key) => ({ key, value: key === 9 ? 0 : key })));
});

test('a refused call does not close its connection', async () => {
  const connections = () =>
    database.sql(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'gatehouse' AND datname = current_database() ORDER BY pid`,
    );
  const refused = () => Promise.allSettled(keys.map((key) => addTo(key, key % 10 === 9 ? 1000 : key)));
  await refused();
  for (let hasBusy = true; hasBusy;) {
    const before = await connections();
    const rounds = [];
    for (let round = 0; round < 5; round++) rounds.push(await refused());
    // on a busy machine a call may pass its deadline, which does close its connection: then the rounds say nothing
    hasBusy = rounds.flat().some((each) => each.status === 'rejected' && each.reason instanceof DatabaseUnavailable);
    if (!hasBusy) expect(await connections()).toEqual(expect.arrayContaining(before));
  }
});

test('a call that waits for a lock delays the other calls of its batch only briefly (security R102)', async () => {
  const hold = statement('things.hold', 'SELECT FROM things WHERE key = 9 FOR UPDATE');
  let waits: Promise<Added> | undefined;
  await opened[1]!.transaction(async (sql) => {
    await sql.query(hold);
    const all = keys.map((key) => addTo(key));
    waits = all[8];
    await Promise.all(all.filter((_, index) => index !== 8));
    expect(await Promise.race([waits, 'waits'])).toBe('waits');
  });
  expect(await waits!).toMatchObject({ value: 9 });
});

test('calls of two instances that change the same rows in opposite order do not deadlock (security R110)', async () => {
  for (let round = 0; round < 10; round++) {
    const orders = [keys, [...keys].reverse()];
    const answers = await Promise.all(
      orders.flatMap((order, index) => order.map((key) => addTo(key, 1, opened[index]))),
    );
    // the first of each transaction; there would be more if the batches fell apart
    expect(answers.filter(({ others }) => others === 0).length).toBeLessThan(10);
  }
  const stored = await database.sql<{ value: number }>('SELECT value FROM things');
  expect(stored.map(({ value }) => value)).toEqual(keys.map(() => 20));
});

test('a setting that a call makes for its transaction reaches no statement of another kind', async () => {
  const set = batchedStatement('operation', 'things.set', "SELECT set_config('gatehouse.own', 'own', true) AS value");
  const show = batchedStatement(
    'operation',
    'things.show',
    "SELECT coalesce(current_setting('gatehouse.own', true), '') AS value",
  );
  const rounds = keys.map(() => Promise.all([opened[0]!.query(set), opened[0]!.query<{ value: string }>(show)]));
  for (const [, shown] of await Promise.all(rounds)) expect(shown).toEqual([{ value: '' }]);
});
