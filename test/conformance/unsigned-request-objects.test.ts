// Runs the modules that the suite skips because the service accepts no unsigned request objects, on a service that is set to accept them.
import { expect, test } from 'vitest';
import { useBed } from './bed/bed.ts';
import { requestObjectModules } from './modules/request-objects.ts';
import { plans, skipped } from './plans.ts';
import { RelyingParty } from './relying-party.ts';
import { runCases } from './run.ts';

const bed = useBed({ REQUEST_OBJECT_UNSIGNED: 'true' });

test('the service announces that it accepts unsigned request objects (OpenID Connect Discovery 3)', async () => {
  const { discovery } = await new RelyingParty(bed(), plans[0]!.cases[0]!).start();
  expect(discovery['request_object_signing_alg_values_supported']).toContain('none');
  expect(discovery).toMatchObject({ request_parameter_supported: true, request_uri_parameter_supported: true });
});

for (const plan of plans) {
  const cases = plan.cases.filter(({ module }) => module in requestObjectModules && module in skipped);
  if (cases.length > 0) runCases(bed, plan, cases, 'REQUEST_OBJECT_UNSIGNED=true');
}
