// Defines the tests of plans: one for each module and variant, all at once as the suite runs them, each with a separate relying party.
import { describe, it } from 'vitest';
import type { Bed } from './bed/bed.ts';
import { modules } from './modules/index.ts';
import { type Case, type Plan, plans, skipped } from './plans.ts';
import { RelyingParty } from './relying-party.ts';

/** @param names of the plans, without their endings */
export function runPlans(bed: () => Bed, names: string[]): void {
  for (const plan of names.map(planOf)) runCases(bed, plan, plan.cases);
}

/** @param setting under which they run, where it is not that of certification */
export function runCases(bed: () => Bed, plan: Plan, cases: readonly Case[], setting?: string): void {
  const name = `${plan.name}-certification-test-plan (${plan.profile}${setting === undefined ? '' : `, ${setting}`})`;
  describe.concurrent(name, () => {
    for (const test of cases) it(title(test, setting), () => runCase(bed(), test));
  });
}

async function runCase(bed: Bed, test: Case): Promise<void> {
  const rp = await new RelyingParty(bed, test).start();
  await modules[test.module]!.run(rp);
  await rp.finish();
}

export function title({ module, ...variant }: Case, setting?: string): string {
  const { responseType, registration, authentication } = variant;
  const skip = setting === undefined && module in skipped ? `: the suite skips it, as ${skipped[module]}` : '';
  return `${module} [${[responseType, registration, authentication].join(', ')}]${skip} (${modules[module]!.clause})`;
}

function planOf(name: string): Plan {
  const plan = plans.find((known) => known.name === name);
  if (!plan) throw new Error(`no plan ${name}`);
  return plan;
}
