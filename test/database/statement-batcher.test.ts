// Calls that arrive while another is under way form one batch, which waits no longer than the coalescing wait.
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createStatementBatcher, type StatementBatcher } from '../../src/database/statement-batcher.ts';
import { batchedCall } from '../../src/repositories/batched-call.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql('CREATE TABLE things (key integer PRIMARY KEY)');
  await database.sql('INSERT INTO things SELECT generate_series(1, 9)');
  await database.sql(`
    CREATE FUNCTION lock_thing(of_key integer) RETURNS TABLE (transaction text) LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM things WHERE key = of_key FOR UPDATE;
      RETURN QUERY SELECT pg_current_xact_id()::text;
    END $$`);
});
afterAll(() => database?.drop());

const lockThing = batchedCall('things.lock', {
  function: { name: 'lock_thing' },
  types: 'integer',
  columns: 'r.transaction',
  locks: 'value_1',
});

/** Runs `work` while a call waits for a row that another transaction has locked. @param coalescingWait in milliseconds */
async function whileCallWaits(coalescingWait: number, work: (lock: (key: number) => Promise<string>) => Promise<void>) {
  const shared = createStatementBatcher({
    maxConnections: 4,
    coalescingWait,
    maxWaiting: 1000,
    connect: async () => {
      const client = new pg.Client(database.connection);
      await client.connect();
      return client;
    },
    isDoubtful: () => true,
    tooSlow: () => new Error('too slow'),
    onError: () => undefined,
  });
  const holder = new pg.Client(database.connection);
  await holder.connect();
  try {
    // enough calls to open all connections
    await hold(holder);
    const many = Array.from({ length: 200 }, () => transactionOf(shared, 9));
    await vi.waitUntil(() => shared.connections().busy === 4);
    await holder.query('COMMIT');
    await Promise.all(many);
    await hold(holder);
    const first = transactionOf(shared, 9);
    await vi.waitUntil(
      async () =>
        (
          await database.sql(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
        ).length > 0,
    );
    const others: Promise<string>[] = [];
    await work((key) => others[others.push(transactionOf(shared, key)) - 1]!);
    await holder.query('COMMIT');
    await Promise.all([first, ...others]);
  } finally {
    await holder.end();
    await shared.close();
  }
}

async function hold(holder: pg.Client): Promise<void> {
  await holder.query('BEGIN');
  await holder.query('SELECT FROM things WHERE key = 9 FOR UPDATE');
}

async function transactionOf(shared: StatementBatcher, key: number): Promise<string> {
  return ((await shared.query(lockThing, [key])) as { transaction: string }[])[0]!.transaction;
}

test('calls that arrive one after another while one is under way go together once it has its answer', async () => {
  const others: Promise<string>[] = [];
  await whileCallWaits(60_000, async (lock) => {
    for (const key of [1, 2, 3, 4]) {
      others.push(lock(key));
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    }
  });
  expect(new Set(await Promise.all(others)).size).toBe(1);
});

test('a call that waits for a lock delays later calls only for the coalescing wait (security R102)', async () => {
  await whileCallWaits(10, async (lock) => {
    expect(await lock(1)).toMatch(/^\d+$/);
  });
});
