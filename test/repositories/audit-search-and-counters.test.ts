// Tests what the console's overview and audit pages query: counts by the hour, the bounded search, and the deletion of old events.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countEvents, deleteOldAuditEvents } from '../../src/jobs/retention.ts';
import type { Sql } from '../../src/database/database.ts';
import { type AuditSearch, auditSearchRepository, maxScanned } from '../../src/repositories/audit/audit-search.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

const day = 86_400;
const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);
const insertEvents = (count: number, age: string, columns = '', values = '') =>
  sql(
    `INSERT INTO audit_events (at, type, outcome${columns}) SELECT now() - interval '${age}' - i * interval '1 millisecond', 'token.revoked', 'success'${values}
       FROM generate_series(1, ${count}) i`,
  );
const countAll = async () => {
  while (await countEvents(service.store));
};
const totals = async (since = new Date(Date.now() - 40 * day * 1000)) => {
  const sums: Record<string, number> = {};
  for (const { kind, count } of await service.store.hourlyCounts.list(since)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums;
};

test('each event is counted once, in the hour in which it happened, whether or not the background job has processed it (pages, search)', async () => {
  const at = (age: string) =>
    sql(
      `INSERT INTO audit_events (at, type, outcome) SELECT now() - interval '${age}', type, outcome
       FROM (VALUES ('user.signed_in', 'success'), ('user.signed_in', 'success'), ('user.sign_in_failed', 'failure'),
                    ('code.replayed', 'failure'), ('keys.rotated', 'success')) AS e (type, outcome)`,
    );
  await sql(`UPDATE clean_up SET counted_until = date_trunc('hour', now(), 'UTC') - interval '3 hours'`);
  await at('2 hours');
  await at('1 second');
  await countAll();
  const expected = { sign_in: 4, sign_in_failed: 2, refusal: 2 };
  expect(await totals()).toEqual(expected);
  const [stored] = await sql(`SELECT sum(count)::int AS n, count(DISTINCT hour)::int AS hours FROM hourly_counts`);
  expect(stored).toEqual({ n: 4, hours: 1 });
  // a minute later the job counts the rest
  await sql(`ALTER TABLE audit_events DISABLE TRIGGER USER`);
  await sql(`UPDATE audit_events SET at = at - interval '70 seconds' WHERE at > now() - interval '1 minute'`);
  await sql(`UPDATE clean_up SET counted_until = counted_until - interval '70 seconds'`);
  await sql(`ALTER TABLE audit_events ENABLE TRIGGER USER`);
  await countAll();
  await countAll();
  expect(await totals()).toEqual(expected);
  await service.store.hourlyCounts.add('grant', 3);
  await service.store.hourlyCounts.add('grant', 4);
  expect(await totals()).toEqual({ ...expected, grant: 7 });
  expect(await service.store.hourlyCounts.state()).toMatchObject({ finishedAt: undefined });
});

test('the background job deletes only events older than the retention from the audit trail, in batches that are recorded as events (security R91)', async () => {
  await sql(`UPDATE clean_up SET counted_until = now()`);
  await insertEvents(7000, '40 days');
  await insertEvents(10, '20 days');
  const left = async () =>
    (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM audit_events WHERE type = 'token.revoked'`))[0]!.n;
  // other statements may not delete, and the job may not delete events that are too recent
  for (const setting of [
    `SELECT 1`,
    `SET LOCAL gatehouse.audit_retention = '60'`,
    `SET LOCAL gatehouse.audit_retention = '${50 * day}'`,
  ])
    await expect(
      sql(`DO $$ BEGIN EXECUTE $x$${setting}$x$; DELETE FROM audit_events WHERE type = 'token.revoked'; END $$`),
    ).rejects.toThrow('append-only');
  for (const change of [
    'DELETE FROM audit_events WHERE false',
    'UPDATE audit_events SET actor = NULL',
    'TRUNCATE audit_events',
  ])
    await expect(sql(change)).rejects.toThrow('append-only');
  expect(await left()).toBe(7010);
  expect(await deleteOldAuditEvents(service.store, 50 * day)).toBe(false);
  expect(await deleteOldAuditEvents(service.store, 30 * day)).toBe(true);
  expect(await left()).toBe(2010);
  while (await deleteOldAuditEvents(service.store, 30 * day));
  expect(await left()).toBe(10);
  const events = await sql<{ detail: { rows: number; before: string } }>(
    `SELECT actor, detail FROM audit_events WHERE type = 'audit_events.expired' ORDER BY id`,
  );
  expect(events).toMatchObject([
    { actor: 'service', detail: { rows: 5000 } },
    { actor: 'service', detail: { rows: 2000 } },
  ]);
  expect(events[0]!.detail.before).toMatch(/T00:00:00.000Z$/);
  // after the job the deletion is forbidden again
  await expect(sql(`DELETE FROM audit_events WHERE at < now() - interval '10 days'`)).rejects.toThrow('append-only');
});

test('a search of the audit trail combines all filters, page by page, and says where it stopped searching (pages, search)', async () => {
  const { search } = service.store.auditSearch;
  await insertEvents(
    45,
    '1 hour',
    ', actor, client_id, sub, address',
    `, 'ann', 'c' || i % 3, 's' || i % 5, ('192.0.2.' || i % 2)::inet`,
  );
  const wanted = {
    actor: 'ann',
    clientId: 'c1',
    sub: 's2',
    address: '192.0.2.1',
    type: 'token.revoked',
    outcome: 'success',
  } as const;
  const { events, next } = await search(wanted, { limit: 10, before: undefined });
  expect(events).toHaveLength(2);
  for (const event of events) expect(event).toMatchObject(wanted);
  expect(next).toBeUndefined();
  for (const other of [
    { actor: 'bob' },
    { address: '192.0.2.9' },
    { outcome: 'failure' },
    { type: 'keys.rotated' },
    { since: new Date() },
  ] as AuditSearch[])
    expect((await search({ ...wanted, ...other }, { limit: 10, before: undefined })).events).toEqual([]);
  const seen: string[] = [];
  for (let before: string | undefined; ;) {
    const page = await search({ actor: 'ann' }, { limit: 20, before });
    seen.push(...page.events.map(({ id }) => id));
    if (!page.next) break;
    before = page.next.id;
  }
  expect(new Set(seen).size).toBe(45);
  // many events that do not match come before the one that does
  await insertEvents(maxScanned + 5, '2 hours', ', sub, client_id', `, 'busy', 'loud'`);
  await insertEvents(1, '3 hours', ', sub, client_id', `, 'busy', 'quiet'`);
  const first = await search({ sub: 'busy', clientId: 'quiet' }, { limit: 10, before: undefined });
  expect(first).toMatchObject({ events: [], cut: true });
  const second = await search({ sub: 'busy', clientId: 'quiet' }, { limit: 10, before: first.next!.id });
  expect(second).toMatchObject({ events: [{ clientId: 'quiet' }], cut: false, next: undefined });
});

test.each<[string, AuditSearch]>([
  ['everything', {}],
  ['an address', { address: '192.0.2.1', type: 'user.signed_in' }],
  ['a user', { sub: 's2', outcome: 'failure' }],
  ['an actor', { actor: 'ann' }],
  ['a client', { clientId: 'c1', type: 'code.replayed' }],
  ['a type', { type: 'token.revoked', outcome: 'success' }],
  ['failures', { outcome: 'failure', since: new Date(0) }],
])(
  'the search for %s reads the trail by an index, on the first page and on later pages (pages, search)',
  async (_, filter) => {
    await sql('ANALYZE audit_events');
    const plans: string[] = [];
    const explain: Sql = {
      async query<Row>(statement: { text: string }, values: unknown[] = []) {
        const rows = await sql<Record<string, string>>(`EXPLAIN ${statement.text}`, values);
        plans.push(...rows.map((row) => Object.values(row)[0]!));
        return [] as Row[];
      },
    };
    for (const before of [undefined, '17']) await auditSearchRepository(explain).search(filter, { limit: 50, before });
    expect(plans.join('\n')).not.toMatch(/Seq Scan/);
  },
);
