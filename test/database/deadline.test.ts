// The deadline of a request counts the time that its statements take, and not the time of its other work.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, DatabaseUnavailable, openDatabase, statement } from '../../src/database/database.ts';
import { databaseLimits, newDeadline, withDeadline } from '../../src/database/deadline.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let opened: Database;
beforeAll(async () => {
  databaseLimits.deadline = 2_500;
  database = await createTestDatabase();
  opened = openDatabase({ connection: database.connection, poolSize: 2, onError: () => undefined });
});
afterAll(async () => {
  await opened?.close();
  await database?.drop();
});

const ask = statement('test.ask', 'SELECT 1 AS one');
const sleep = statement('test.sleep', 'SELECT pg_sleep($1)');

/** Runs work with one deadline, as a request does. */
const asRequest = <T>(work: () => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => withDeadline(newDeadline(), () => void work().then(resolve, reject)));

test('other work within a transaction takes no time from the deadline of its request (security R108)', async () => {
  const rows = await asRequest(async () => {
    await opened.transaction(async (sql) => {
      await sql.query(ask);
      await delay(databaseLimits.deadline + 100);
      await sql.query(ask);
    });
    return opened.query(ask);
  });
  expect(rows).toEqual([{ one: 1 }]);
});

test('the statements within a transaction and after it share one deadline (security R108)', async () => {
  const within = asRequest(() =>
    opened.transaction(async (sql) => {
      await sql.query(sleep, [1.5]);
      await sql.query(sleep, [1.5]);
    }),
  );
  await expect(within).rejects.toThrow(DatabaseUnavailable);
  const after = asRequest(async () => {
    await opened.transaction((sql) => sql.query(sleep, [1.5]));
    await opened.query(sleep, [1.5]);
  });
  await expect(after).rejects.toThrow(DatabaseUnavailable);
});
