// Makes the tests of plans: one for each module and variant, all at once as the suite runs them, each with a relying party of its own.
import { describe, it } from 'vitest';
import type { Bed } from './bed/bed.ts';
import { modules } from './modules/index.ts';
import { type Case, type Plan, plans, skipped, testsOf } from './plans.ts';
import { RelyingParty } from './relying-party.ts';

/** @param names of the plans, without their endings */
export function runPlans(bed: () => Bed, names: string[]): void {
  for (const plan of names.map(planOf).filter((one) => testsOf(one).length > 0))
    describe.concurrent(`${plan.name}-certification-test-plan (${plan.profile})`, () => {
      for (const test of testsOf(plan)) it(title(test), () => runCase(bed(), test));
    });
}

export async function runCase(bed: Bed, test: Case): Promise<void> {
  const rp = await new RelyingParty(bed, test).start();
  await modules[test.module]!.run(rp);
  await rp.finish();
}

export function title({ module, ...variant }: Case): string {
  const { responseType, registration, authentication } = variant;
  const note = module in skipped ? `: the suite skips it, as ${skipped[module]}` : '';
  return `${module} [${[responseType, registration, authentication].join(', ')}]${note} (${modules[module]!.clause})`;
}

function planOf(name: string): Plan {
  const plan = plans.find((known) => known.name === name);
  if (!plan) throw new Error(`no plan ${name}`);
  return plan;
}
