// The stored function that adds to a grant unites as the rule in src/oauth does, whatever is stored and whatever is added.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Granted, unite } from '../../src/oauth/granted.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 0 });
});
afterAll(() => service?.stop());

const some = <Value>(values: Value[]) => fc.subarray(values);
const granted: fc.Arbitrary<Granted> = fc.record({
  scope: some(['openid', 'email', 'profile']),
  claims: some(['birthdate', 'nickname']),
  resources: fc.dictionary(fc.constantFrom('notes', 'mail'), fc.subarray(['read', 'write'], { minLength: 1 }), {
    noNullPrototype: true,
  }),
  details: some([{ type: 'payment', amount: '1' }, { type: 'payment', amount: '2' }, { type: 'account' }]),
});
const sorted = ({ scope, claims, resources, details = [] }: Granted): Granted => ({
  details: details.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
  scope: scope.toSorted(),
  claims: claims.toSorted(),
  resources: Object.fromEntries(
    Object.entries(resources)
      .map(([id, values]) => [id, values.toSorted()] as const)
      .toSorted(),
  ),
});

test('what is added to a grant is united with it as the rule says (OpenID Connect Core 3.1.2.4)', async () => {
  const { clientId } = await service.createClient();
  const { sub } = await service.createUser();
  const { grants } = service.store;
  await fc.assert(
    fc.asyncProperty(granted, granted, async (first, second) => {
      await service.database.sql('DELETE FROM grants WHERE sub = $1', [sub]);
      await grants.add(sub, clientId, first, undefined);
      await grants.add(sub, clientId, second, undefined);
      expect(sorted((await grants.find(sub, clientId))!)).toEqual(sorted(unite(first, second)));
    }),
    { numRuns: 60 },
  );
});
