// Lists the accounts of a provisioning target among many: page by page, and by plans that read no account before the page.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createStore, type Store } from '../../src/repositories/store.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const [accounts, every] = [1_000, 50];
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const { clientId } = await service.createClient();
  const { sql } = service.database;
  await sql(
    `WITH made AS (INSERT INTO provisioning_targets (id, client, base_url, status) VALUES ('target', $1, 'https://app.example.com', 'disabled') RETURNING id)
     INSERT INTO provisioning_runs (target_id, held, review) SELECT id, NULL, NULL FROM made`,
    [clientId],
  );
  // ten at a time have the same moment; every fiftieth request failed
  await sql(
    `INSERT INTO provisioned_users (target_id, sub, state, wanted, waiting, last_failure, created_at)
     SELECT 'target', 'u' || lpad(i::text, 5, '0'), 'active', true, false, CASE WHEN i % $2 = 0 THEN 'refused' END, date_trunc('milliseconds', now()) + i / 10 * interval '1 second'
       FROM generate_series(1, $1) AS i`,
    [accounts, every],
  );
  await sql('ANALYZE provisioned_users');
});
afterAll(() => service?.stop());

/** All pages of the list, one after the other. */
async function listed(store: Store, failing: boolean): Promise<string[]> {
  const subs: string[] = [];
  for (let after: { at: Date; id: string } | undefined; ;) {
    const page = await store.provisionedUsers.list('target', { limit: 7, after }, failing);
    subs.push(...page.map(({ sub }) => sub));
    const last = page.at(-1);
    if (page.length < 7) return subs;
    after = { at: last!.createdAt, id: last!.sub };
  }
}

test.each([
  ['all accounts', false, 1],
  ['the accounts whose last request failed', true, every],
])('%s come once each over all pages, the newest first (federation 8)', async (_which, failing, step) => {
  const expected = Array.from(
    { length: accounts / step },
    (_, index) => `u${String(accounts - index * step).padStart(5, '0')}`,
  );
  expect(await listed(service.store, failing)).toEqual(expected);
});

test.each([
  ['all accounts', false, 'provisioned_users_newest'],
  ['the accounts whose last request failed', true, 'provisioned_users_failing'],
])('a page of %s is read from an index that begins at the page (federation 8)', async (_which, failing, index) => {
  const plans: string[] = [];
  const store = createStore({
    query: async <Row>({ text }: { text: string }, values: unknown[] = []) => {
      const plan = await service.database.sql<Record<string, string>>(`EXPLAIN ${text}`, values);
      plans.push(plan.map((row) => row['QUERY PLAN']).join('\n'));
      return [] as Row[];
    },
  } as unknown as Database);
  await store.provisionedUsers.list('target', { limit: 7, after: { at: new Date(), id: 'u00500' } }, failing);
  expect(plans).toEqual([
    expect.stringMatching(new RegExp(`Index Scan .*${index}.*\\n *Index Cond: .*ROW\\(\\S*created_at, \\S*sub\\) <`)),
  ]);
  expect(plans[0]).not.toContain('Seq Scan on provisioned_users');
});
