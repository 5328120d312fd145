// Tests that the plans are complete: as many modules as the suite's, no test twice, none without its code, and the page has the counts.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { conformancePage } from '../../scripts/conformance.ts';
import { demands } from './fapi2-demands.ts';
import { modules } from './modules/index.ts';
import { plans, responseTypes, skipped } from './plans.ts';
import { title } from './run.ts';

test('each plan has as many modules as the suite has for it, for every response type', () => {
  for (const { profile, figures, cases } of plans) {
    const registration = profile === 'Config OP' ? 'static_client' : 'dynamic_client';
    const counted = responseTypes.flatMap((type) => {
      const count = cases.filter((one) => one.responseType === type && one.registration === registration).length;
      return count > 0 ? [[type, count] as const] : [];
    });
    expect(Object.fromEntries(counted), profile).toEqual(figures);
  }
  const total = (profile: string) =>
    Object.values(plans.find((plan) => plan.profile === profile)!.figures).reduce((sum, figure) => sum + figure, 0);
  expect(['Basic OP', 'Implicit OP', 'Hybrid OP'].map(total)).toEqual([38, 58, 102]);
});

test('every module of every plan is implemented, every module is in a plan, and no test is repeated', () => {
  const planned = new Set(plans.flatMap(({ cases }) => cases.map(({ module }) => module)));
  expect([...planned].sort()).toEqual(Object.keys(modules).sort());
  expect(Object.keys(skipped).filter((module) => !planned.has(module))).toEqual([]);
  for (const plan of plans) {
    const titles = plan.cases.map((one) => title(one));
    expect(new Set(titles).size, plan.name).toBe(titles.length);
  }
});

test('docs/conformance.md has the counts of the plans, as scripts/conformance.ts writes them', () => {
  const { current, made } = conformancePage();
  expect(current).toBe(made);
});

test('each demand of FAPI 2.0 names tests that exist (FAPI 2.0 SP, FAPI 2.0 MS)', () => {
  for (const { demand, tests } of demands) {
    expect(tests.length, demand).toBeGreaterThan(0);
    for (const test of tests) {
      const [file, title] = typeof test === 'string' ? ['conformance/fapi2.test.ts', test] : test;
      const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
      expect(source.includes(`'${title}`), `${file}: ${title}`).toBe(true);
    }
  }
});

test('docs/conformance.md says what Session OP and static clients of Form Post plans need', () => {
  const { current } = conformancePage();
  expect(current).toContain('Session OP needs a browser that allows third-party cookies');
  expect(current).toMatch(/their Form Post variants exist for dynamic and for static clients/);
});
