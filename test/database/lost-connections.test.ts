// A connection to the database that breaks at a bad moment does not end the process.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, batchedStatement } from '../../src/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { Forwarder } from '../helpers/forwarder.ts';

let database: TestDatabase;
let forwarder: Forwarder;
beforeAll(async () => {
  database = await createTestDatabase();
  const { host, port } = database.connection;
  forwarder = await Forwarder.open(`${host}/.s.PGSQL.${port}`);
});
afterAll(async () => {
  await forwarder?.close();
  await database?.drop();
});

test.each(['before', 'after'] as const)(
  'a connection that breaks just after it was opened, %s its server was asked for its role, does not end the process, and the next one serves (security R109)',
  async (when) => {
    const connection = { ...database.connection, host: '127.0.0.1', port: forwarder.port };
    const opened = openDatabase({ connection, poolSize: 20, onError: () => undefined });
    try {
      forwarder.cutAt = { statement: 'pg_is_in_recovery() AS standby', when };
      // the first statement opens the connection that breaks, and a read that it lost is sent once more
      const read = batchedStatement('read', 'test.one', 'SELECT 1 AS one');
      expect(await opened.query(read)).toEqual([{ one: 1 }]);
      expect(forwarder.cutAt).toBeUndefined();
    } finally {
      await opened.close();
    }
  },
);
