// Writes docs/security.md from the code and the tests that cite a requirement. Usage: node scripts/security.ts
// test/security.test.ts generates it again and compares, so that a requirement without a place or a test fails the build.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type AttackCase, attacksIn, citationsIn, type CitingTest, testsIn } from './security/citations.ts';
import {
  attackCases,
  faults,
  federationCases,
  federationRequirements,
  protocolCases,
  requirements,
} from './security/requirements.ts';

const root = join(import.meta.dirname, '..');
/** The folders that implement requirements, and those that measure them. */
const places = ['src', 'migrations', 'templates', '.ci', '.npmrc', 'Dockerfile', 'package.json'];
const measurements = ['bench', 'scripts'];
const table = ['scripts/security.ts', 'scripts/security/'];

interface Row {
  /** Files that cite it. */
  kept: string[];
  /** Programs that measure it. */
  measured: string[];
  /** Titles of tests, by file. */
  tests: Map<string, string[]>;
}

/** The files and tests that cite each requirement, attack case and fault. */
export interface Evidence {
  rows: Map<string, Row>;
  attacks: (AttackCase & { file: string })[];
}

/** Reads the whole tree, without running it. */
export function evidence(): Evidence {
  const rows = new Map<string, Row>();
  const rowOf = (key: string) => {
    const row = rows.get(key) ?? { kept: [], measured: [], tests: new Map<string, string[]>() };
    rows.set(key, row);
    return row;
  };
  for (const file of places.flatMap(filesBelow)) {
    for (const key of citationsIn(read(file))) rowOf(key).kept.push(file);
  }
  for (const file of measurements.flatMap(filesBelow).filter((file) => !table.some((own) => file.startsWith(own)))) {
    for (const key of citationsIn(read(file))) rowOf(key).measured.push(file);
  }
  const attacks: Evidence['attacks'] = [];
  for (const file of filesBelow('test').filter((file) => file.endsWith('.test.ts'))) {
    const found = attacksIn(file, read(file));
    attacks.push(...found.map((attack) => ({ ...attack, file })));
    const byAttack: CitingTest[] = found.map(({ id, name, requirements }) => ({
      title: `${id}: ${name}`,
      keys: [id, ...requirements],
    }));
    for (const { title, keys } of [...testsIn(file, read(file)), ...byAttack]) {
      for (const key of keys) {
        const { tests } = rowOf(key);
        tests.set(file, [...(tests.get(file) ?? []), title]);
      }
    }
  }
  return {
    rows,
    attacks: attacks.sort((a, b) => a.id.charCodeAt(0) - b.id.charCodeAt(0) || numberOf(a.id) - numberOf(b.id)),
  };
}

/** The gaps that fail the build. */
export function gaps({ rows, attacks }: Evidence) {
  const numbers = [
    ...Object.values(requirements).flatMap((group) => Object.keys(group).map((number) => `R${number}`)),
    ...Object.keys(federationRequirements).map((number) => `FR${number}`),
  ];
  const cases = [
    ...attackCases.map((n) => `A${n}`),
    ...protocolCases.map((n) => `P${n}`),
    ...federationCases.map(federationCase),
  ];
  const known = [...numbers, ...cases, ...Object.keys(faults).map((n) => `F${n}`)];
  const ids = attacks.map(({ id }) => id as string);
  return {
    'requirements without a place': numbers.filter((key) => !rows.get(key)?.kept.length),
    'requirements without a test': numbers.filter((key) => !rows.get(key)?.tests.size),
    'cited but unknown': [...rows.keys()].filter((key) => !known.includes(key) && !isReport(key)).sort(),
    'attack cases told twice': ids.filter((id, index) => ids.indexOf(id) !== index),
    // the title of a test may cite a case instead
    'attack cases without a test': cases.filter((id) => !ids.includes(id) && !rows.get(id)?.tests.size),
    'faults without a test': Object.keys(faults)
      .map((n) => `F${n}`)
      .filter((key) => !rows.get(key)?.tests.size && !rows.get(key)?.measured.length),
  };
}

/** The text of docs/security.md. */
export function securityPage({ rows, attacks } = evidence()): string {
  return `# Security

Made from the code and the tests by \`node scripts/security.ts\`; do not edit it by hand.

Gatehouse has many endpoints, but only a few modules make decisions. One issuing routine creates every code, token and handle: its statement checks that
user, client, consent and session are still valid at the moment when it stores the result. One revocation routine handles everything that
ends a token (a logout, a revoked grant, a second redemption, a disabled user): the token is invalid on every instance before the answer is sent. An
endpoint only translates: it parses its parameters strictly, calls these routines, and returns their result. Stored secrets are hashed, or
encrypted for their own row; optional features are off by default; everything that unauthenticated requests can fill has a limit and expires.

**To report a vulnerability**, do not open an issue: [SECURITY.md](../SECURITY.md) links to GitHub's private vulnerability reporting, and says
what you can expect from us.

- [Requirements](#requirements)
- [Attack cases](#attack-cases)
- [Faults](#faults)

## Requirements

“Kept in” lists the files that implement a requirement: a comment at the line cites it, as \`(security R15)\`. “Shown by” lists the tests whose titles cite
it, and the programs that measure what a test cannot. What else comments and titles cite is in [the decisions](decisions.md) and [the architecture](architecture.md). A requirement without a file or without a test fails the build. In a title, ${code('…')} replaces the values of a test with
many cases.

${Object.entries(requirements)
  .map(([heading, group]) => `### ${heading}\n\n${requirementTable('R', group, rows)}`)
  .join('\n\n')}

### Identities from elsewhere

${requirementTable('FR', federationRequirements, rows)}

## Attack cases

Attacks on other identity providers, attempted or successful, and the answer of this service. The last column is the test that performs the attack.

${tableOf(
  ['', 'Case', 'Request', 'Answer', 'Source', 'For', 'Test'],
  attacks.map(({ id, name, request, answer, source, requirements, file }) => [
    id,
    ...[name, request, answer, source].map(plain),
    requirements.join(', '),
    link(file),
  ]),
)}

Tests show these further cases, on the protocols beyond OpenID Connect; their titles say what is refused.

${tableOf(
  ['', 'Shown by'],
  protocolCases
    .map((number) => `P${number}`)
    .filter((id) => !attacks.some((attack) => (attack.id as string) === id))
    .map((id) => [id, shownBy(rows.get(id))]),
)}

And these, on identities that come from elsewhere:

${tableOf(
  ['', 'Shown by'],
  federationCases.map(federationCase).map((id) => [id.replace('federation ', ''), shownBy(rows.get(id))]),
)}

And these, on what public reports tell of other identity providers; [the decisions](decisions.md#reports) have the rule of each:

${tableOf(
  ['', 'Shown by'],
  [...rows.keys()]
    .filter(isReport)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((id) => [id.replace('reports ', ''), shownBy(rows.get(id))]),
)}

## Faults

Faults around the service, and the rule for each. These rules hold for all of them: no success without its stored rows, no revoked token that is active, no
wrong answer because of the fault, and no secret in a log.

${tableOf(
  ['', 'Fault', 'What holds', 'Shown by'],
  Object.entries(faults).map(([number, [fault, rule]]) => [`F${number}`, fault, rule, shownBy(rows.get(`F${number}`))]),
)}
`;
}

function requirementTable(letters: 'R' | 'FR', group: Record<number, string>, rows: Evidence['rows']): string {
  return tableOf(
    ['', 'What holds', 'Kept in', 'Shown by'],
    Object.entries(group).map(([number, sentence]) => {
      const row = rows.get(`${letters}${number}`);
      return [`${letters}${number}`, sentence, row?.kept.map(link).join('<br>') ?? '', shownBy(row)];
    }),
  );
}

function shownBy(row: Row | undefined): string {
  if (!row) return '';
  const tests = [...row.tests].map(([file, titles]) => `${link(file)}: ${titles.map(plain).join('; ')}`);
  return [...tests, ...row.measured.map((file) => `measured by ${link(file)}`)].join('<br>');
}

function link(file: string): string {
  const name = file.replace(/^(?:src|test)\//, '').replace(/(?:\.browser)?(?:\.test)?\.ts$/, '');
  return `[${name}](../${file})`;
}

/** Text whose characters Markdown does not take for emphasis. */
function plain(text: string): string {
  return text.replaceAll(/[*`]|__/g, (mark) => [...mark].map((character) => `\\${character}`).join(''));
}

function code(text: string): string {
  return `\`${text}\``;
}

function tableOf(head: string[], lines: string[][]): string {
  // titles and answers are text: markup in them is shown as it is
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/<(?!br>)/g, '&lt;');
  const line = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...lines.map(line)].join('\n');
}

/** The files below a folder, or the file itself, in a fixed order. */
function filesBelow(path: string): string[] {
  try {
    return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [path];
    throw error;
  }
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Whether a title cites a case of public reports by this key. */
function isReport(key: string): boolean {
  return key.startsWith('reports ');
}

/** The key of a case on federation, whose numbers are those of faults, too. */
function federationCase(number: number): string {
  return `federation F${number}`;
}

function numberOf(id: string): number {
  return Number(id.slice(1));
}

if (import.meta.main) writeFileSync(join(root, 'docs/security.md'), securityPage());
