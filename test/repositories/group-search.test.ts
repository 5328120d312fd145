// Searches groups among very many: the plan reads the index of words, for rare and for common words.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createStore } from '../../src/repositories/store.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const amount = 20_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.database.sql(
    `INSERT INTO groups (name, description, members)
     SELECT 'team-' || i, 'The people of team-' || i, 0 FROM generate_series(1, $1) AS i ORDER BY md5(i::text)`,
    [amount],
  );
  await service.database.sql(`INSERT INTO groups (name, description, members) VALUES ('staff', 'Everybody here', 0)`);
  await service.database.sql('VACUUM ANALYZE groups');
});
afterAll(() => service?.stop());

test.each([
  ['a letter that begins few words', 'h', 1],
  ['a word of every group', 'people', 9],
  ['the name of one group', 'team-4711', 1],
  ['a word of no group', 'nobody', 0],
])(
  'a search of groups by %s reads the index of words, not every group (pages, search)',
  async (_which, words, found) => {
    const plans: string[] = [];
    const store = createStore({
      query: async <Row>({ text }: { text: string }, values: unknown[] = []) => {
        const plan = await service.database.sql<Record<string, string>>(`EXPLAIN ${text}`, values);
        plans.push(plan.map((row) => row['QUERY PLAN']).join('\n'));
        return (await service.database.sql(text, values)) as Row[];
      },
    } as unknown as Database);
    const groups = await store.groups.list({ limit: 9, after: undefined, words });
    expect(groups).toHaveLength(found);
    expect(groups.map(({ name }) => name)).toEqual(groups.map(({ name }) => name).toSorted());
    expect(plans).toEqual([expect.stringContaining('groups_words')]);
    expect(plans[0]).not.toMatch(/(?<!Bitmap )Index Scan using groups_pkey|Seq Scan on groups/);
  },
);
