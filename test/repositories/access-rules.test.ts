// The rule in the database about who may use a client says what mayUse() in src/rules/access/access.ts says, for any groups.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessRules, mayUse } from '../../src/rules/access/access.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 0 });
});
afterAll(() => service?.stop());

test('the database and the service agree on whose groups are enough for a client (federation 3, FR42)', async () => {
  const groups = fc.uniqueArray(fc.constantFrom('staff', 'Staff', 'ops', 'a,b', '{', 'ä', ' '), { maxLength: 4 });
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(groups, fc.constantFrom(...accessRules), groups, async (own, access, accessGroups) => {
      const [row] = await service.database.sql<{ has_access: boolean }>(
        'SELECT has_access($1::text[], $2, $3::text[])',
        [own, access, accessGroups],
      );
      const answer = mayUse(
        { groups: own },
        { status: 'enabled', access, accessGroups, networks: [], connections: [] },
      );
      reached.add(`${access} ${answer}`);
      expect(row!.has_access).toBe(answer === 'yes');
    }),
    { numRuns: 200 },
  );
  expect([...reached].sort()).toEqual(['everyone yes', 'groups not_in_group', 'groups yes']);
});

test('and on whose way to sign in is enough (federation 7, FR42)', async () => {
  const ids = fc.constantFrom('corp', 'corp-2', 'manual', 'x1');
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(ids), fc.option(ids, { nil: undefined }), async (connections, connection) => {
      const [row] = await service.database.sql<{ comes_by: boolean }>('SELECT comes_by($1::text[], $2)', [
        connections,
        connection ?? null,
      ]);
      const client = { status: 'enabled', access: 'everyone', accessGroups: [], networks: [], connections } as const;
      const answer = mayUse({ groups: [] }, client, { by: { connection } });
      reached.add(answer);
      expect(row!.comes_by).toBe(answer === 'yes');
    }),
    { numRuns: 200 },
  );
  expect([...reached].sort()).toEqual(['connection_not_allowed', 'yes']);
});
