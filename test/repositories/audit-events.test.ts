// Tests that the log has one line for each row of the audit trail: written after the row is committed, and only then.
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteUncompleted } from '../../src/jobs/retention.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { logEvent } from '../../src/repositories/audit/audit-events.ts';
import { createStore, type Store } from '../../src/repositories/store.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let database: Database;
let store: Store;
let lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  database = openDatabase({ connection: service.database.connection, poolSize: 2, onError: () => undefined });
  store = createStore(database, (event) => logEvent(logger, event));
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

test('a registration that was not approved in time is deleted with one row and one line (decisions section 7)', async () => {
  const { body } = await call(`${service.issuer}/register`, { body: { redirect_uris: ['https://rp.example.com/cb'] } });
  lines = [];
  await deleteUncompleted(store, -1);
  const expired = { outcome: 'success', actor: 'service', client_id: body['client_id'] };
  expect(lines).toMatchObject([{ event: 'client.expired', ...expired, detail: {} }]);
  const rows = await service.database.sql(
    `SELECT type, outcome, actor, client_id FROM audit_events WHERE client_id = $1 ORDER BY id`,
    [body['client_id']],
  );
  expect(rows).toMatchObject([{ type: 'client.registered' }, { type: 'client.expired', ...expired }]);
});

test('a transaction that is rolled back has no row and no line, and one that is retried has one of each (decisions section 7)', async () => {
  lines = [];
  const event = { type: 'keys.rotated', outcome: 'success', actor: 'test' } as const;
  const taken = store.transaction(async ({ auditEvents }) => {
    await auditEvents.insert(event);
    throw new Error('taken back');
  });
  await expect(taken).rejects.toThrow('taken back');
  expect(lines).toEqual([]);
  const user = await service.createUser();
  const other = await service.createUser();
  let tries = 0;
  // each locks a row that the other one waits for: one of them is retried
  const crossed = [
    [user, other],
    [other, user],
  ].map(([first, last]) => {
    let ready: () => void = () => undefined;
    const locked = new Promise<void>((resolve) => (ready = resolve));
    const run = (both: Promise<unknown>) =>
      store.transaction(async ({ auditEvents, users }) => {
        tries++;
        await auditEvents.insert({ ...event, sub: first!.sub });
        await users.lock(first!.sub);
        ready();
        await both;
        await users.lock(last!.sub);
      });
    return { locked, run };
  });
  const both = Promise.all(crossed.map(({ locked }) => locked));
  await Promise.all(crossed.map(({ run }) => run(both)));
  expect(tries).toBeGreaterThan(2);
  expect(lines.map((line) => line['sub']).sort()).toEqual([user.sub, other.sub].sort());
});

test("a member of an event's detail replaces no other member of the line (decisions section 7)", async () => {
  lines = [];
  const detail = { event: 'invented', actor: 'invented', level: 'invented' };
  await store.auditEvents.insert({ type: 'keys.rotated', outcome: 'success', actor: 'test', detail });
  expect(lines).toMatchObject([{ event: 'keys.rotated', actor: 'test', level: 30, detail }]);
});
