// Writes the tables of docs/conformance.md from the plans and the demands of test/conformance. Usage: node scripts/conformance.ts
// test/conformance/counts.test.ts generates it again and compares, so that a change of the plans also changes the page.
import { readFileSync, writeFileSync } from 'node:fs';
import { demands } from '../test/conformance/fapi2-demands.ts';
import { type ClientRegistration, type Plan, plans, skipped } from '../test/conformance/plans.ts';

const page = new URL('../docs/conformance.md', import.meta.url);
const begin = '<!-- made by: node scripts/conformance.ts -->';
const end = '<!-- end -->';
const beginDemands = '<!-- FAPI 2.0, made by: node scripts/conformance.ts -->';

/** The current page, and the page with new tables. */
export function conformancePage(): { current: string; made: string } {
  const current = readFileSync(page, 'utf8');
  return { current, made: withTable(withTable(current, begin, table()), beginDemands, tableOfDemands()) };
}

function withTable(text: string, mark: string, made: string): string {
  const from = text.indexOf(mark) + mark.length;
  return `${text.slice(0, from)}\n\n${made}\n\n${text.slice(text.indexOf(end, from))}`;
}

function tableOfDemands(): string {
  const rows = demands.map(({ clause, demand, suite = '', tests }) => {
    const shown = tests.map((test) => {
      const [file, title] = typeof test === 'string' ? ['conformance/fapi2.test.ts', test] : test;
      return `[${title.replaceAll('%s', '…').replaceAll('%j', '…')}](../test/${file})`;
    });
    return [demand, clause, suite, shown.join('; ')];
  });
  return [['Demand', 'Clause', 'Suite', 'Shown by'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function table(): string {
  const heads = [
    'Profile',
    'Modules of its plan',
    'Tests with dynamic clients',
    'with static clients',
    'of them passed',
  ];
  const all = plans.map((plan) => plan.cases.length).reduce((a, b) => a + b);
  const allSkipped = plans.map(skippedOf).reduce((a, b) => a + b);
  return [
    [...heads, 'skipped by the suite', 'Settings that it needs'],
    heads.concat('', '').map(() => '---'),
    ...plans.map((plan) => [
      plan.profile,
      figuresOf(plan),
      String(countOf(plan, 'dynamic_client')),
      String(countOf(plan, 'static_client')),
      String(plan.cases.length - skippedOf(plan)),
      String(skippedOf(plan)),
      settingsOf(plan).join(', ') || 'none',
    ]),
    ['all', '', '', String(all), String(all - allSkipped), String(allSkipped), ''],
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function figuresOf({ figures }: Plan): string {
  const each = Object.values(figures);
  return each.length > 1 ? `${each.join(' + ')} = ${each.reduce((a, b) => a + b)}` : String(each[0]);
}

function countOf(plan: Plan, registration: ClientRegistration): number {
  return plan.cases.filter((test) => test.registration === registration).length;
}

function skippedOf(plan: Plan): number {
  return plan.cases.filter(({ module }) => module in skipped).length;
}

/** Modules in which the service fetches a document of the suite, or posts to it. */
const fetched =
  /-registration-(jwks|sector)-|-request-uri-signed-|-rp-key-rotation$|^oidcc-backchannel-rp-initiated-logout$/;
/** Modules without a sign-in. */
const withoutSignIn = /-discovery-endpoint-verification$|^oidcc-3rd_party-init-login/;

function settingsOf({ cases }: Plan): string[] {
  const some = (wanted: (test: Plan['cases'][number]) => boolean) => cases.some(wanted);
  const signsIn = some(({ module }) => !withoutSignIn.test(module));
  const approves = some(({ module, registration }) => registration === 'dynamic_client' && !withoutSignIn.test(module));
  const needs: [string, boolean][] = [
    ['`REGISTRATION_APPROVAL=automatic` (dynamic clients)', approves],
    ['`USERINFO_POST=true`', some(({ module }) => module.startsWith('oidcc-userinfo-post-'))],
    ['`OUTBOUND_ALLOW`', some(({ module }) => fetched.test(module))],
    ['limits off', signsIn],
  ];
  return needs.filter(([, needed]) => needed).map(([setting]) => setting);
}

if (import.meta.main) writeFileSync(page, conformancePage().made);
