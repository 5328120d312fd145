// Checks that each citation in a title or a comment names a section of docs/, a requirement or case of docs/security.md, or a published standard.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { attacksIn, clausesIn } from '../../scripts/security/citations.ts';
import {
  attackCases,
  faults,
  federationCases,
  federationRequirements,
  protocolCases,
  requirements,
} from '../../scripts/security/requirements.ts';

const self = basename(import.meta.filename);
const root = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** What a citation of a page of ours begins with. What follows is a number, a key, or the name of a section. */
const own =
  /^(decisions|specification|federation|protocols|reports|delivery|pages|architecture|security)(?: sections?)?(?: (.+))?$/;
/** The beginnings of citations of texts that others have published. */
const published = new RegExp(
  `^(?:${[
    'RFC \\d+', 'draft-[a-z-]+', 'OAuth 2\\.0 Security', '(?:OAuth )?Multiple Response Types', 'JARM', 'FAPI 2\\.0', 'FAPI-CIBA',
    'OpenID Connect [A-Z]', 'Core \\d', '(?:RP-Initiated|Front-Channel|Back-Channel) Logout', 'Session Management',
    'Form Post Response Mode', 'Initiating User Registration', 'MCP Authorization', 'OpenAPI', 'Web Authentication',
    'SAML (?:Core|Bindings|Profiles|Metadata)', 'XML', 'NIST SP', 'W3C Trace Context', 'WCAG', 'POSIX', 'MS-[A-Z]+', 'CVE-\\d+', 'Storm-\\d+', 'keycloak#\\d+',
  ].join('|')})`,
);
const number = /^(?:sections? |appendix |steps? |MS |SP )?[A-Z]?[\d.-]+$/;
/** A citation in a sentence. */
const within =
  /\b(decisions|specification|federation|protocols|reports|delivery|security)(?: sections?)? ([A-Z]{0,2}\d+(?:\.\d+)*)\b/g;
const key = /^[A-Z]{0,2}\d/;

/** Every citation of a page of ours that has a text, such as "decisions 4", "reports A1" or "pages lists". */
const resolvable = new Set([
  ...headings('docs/specification.md', /^([\d.]+) /).map((section) => `specification ${section}`),
  ...headings('docs/architecture.md', /^(.+)$/).map((name) => `architecture ${lowerFirst(name)}`),
  ...headings('docs/decisions.md', /^([A-Z][a-z]+:? [\w. -]+)/).map((name) => lowerFirst(name).replace(':', '')),
  ...[...read('docs/decisions.md').matchAll(/^- \*\*([A-F]\d+)\*\* /gm)].map(([, name]) => `reports ${name}`),
  ...Object.values(requirements).flatMap((group) => keys('R', Object.keys(group), ['security', 'protocols'])),
  ...keys('FR', Object.keys(federationRequirements), ['federation', 'security']),
  ...keys('A', attackCases, ['security']),
  ...keys('P', protocolCases, ['protocols', 'security']),
  ...keys('F', Object.keys(faults), ['security']),
  ...keys('F', federationCases, ['federation']),
]);

test('each clause at the end of a title names a section of a page, a requirement, a case or a standard', () => {
  const clauses = sources('test').flatMap((file) => clausesIn(file, read(file)).map((clause) => ({ file, clause })));
  expect(clauses.length).toBeGreaterThan(2000);
  const wrong = clauses.flatMap(({ file, clause }) =>
    unresolved(clause).map((item) => `${file}: ${item} in (${clause})`),
  );
  expect(wrong).toEqual([]);
});

test('each section, requirement and case that a comment cites is in the repository', () => {
  // this file has citations that lead nowhere on purpose
  const files = ['src', 'test', 'migrations', 'scripts', 'bench'].flatMap(sources).filter((file) => !file.endsWith(self));
  const wrong = files.flatMap((file) => {
    const text = read(file);
    const clauses = [...text.matchAll(/\(([^()\n]*)\)/g)].flatMap(([, clause]) => unresolvedIn(clause!));
    const sentences = [...text.matchAll(within)].filter(([, page, place]) => !resolvable.has(`${page} ${place}`));
    return [...clauses, ...sentences.map(([citation]) => citation)].map((item) => `${file}: ${item}`);
  });
  expect(wrong).toEqual([]);
});

test('the source of each attack case is published, or a section of a page', () => {
  const wrong = sources('test/attacks').flatMap((file) =>
    attacksIn(file, read(file)).flatMap(({ id, source }) => (unpublished(source) ? [`${id}: ${source}`] : [])),
  );
  expect(wrong).toEqual([]);
});

test.each([
  ['RFC 6749 4.1.2, security R17', []],
  ['decisions sections 1 and 8; pages, kept forms', []],
  ['OpenID Connect Core 3.1, 5.3 and 12, federation 4, FR1, F2', []],
  ['decisions 12', ['decisions 12']],
  ['pages', ['pages']],
  ['federation 4, FR99', ['FR99']],
  ['security R15, issue 6', ['issue 6']],
  ['design, pages', ['design', 'pages']],
  ['the usual way', ['the usual way']],
] as const)('of the clause (%s), these citations lead nowhere: %j', (clause, wrong) => {
  expect(unresolved(clause)).toEqual(wrong);
});

/** The citations of a clause that lead nowhere; a value that is known only at run time is taken for right. */
function unresolved(clause: string): string[] {
  let source = '';
  const items = clause.split(/[,;] | and (?=\d)| to (?=[A-Z]+\d)/);
  return items.filter((item, index) => {
    if (item.includes('…')) return false;
    const [, page, place] = own.exec(item) ?? [];
    if (page) {
      source = page;
      const follows = index + 1 < items.length && resolvable.has(`${page} ${items[index + 1]}`);
      return place === undefined ? !follows : !resolvable.has(`${page} ${place}`);
    }
    if (published.test(item)) source = 'published';
    return source === 'published' ? !published.test(item) && !number.test(item) : !resolvable.has(`${source} ${item}`);
  });
}

/** The same for parentheses in any text, of which only what looks like a citation of ours counts. */
function unresolvedIn(clause: string): string[] {
  if (/^(?:issue \d|design, )/.test(clause)) return [clause];
  const items = clause.split(/[,;] /);
  const first = items.findIndex((item) => key.test(own.exec(item)?.[2] ?? ''));
  if (first < 0) return [];
  return unresolved(items.slice(first).join(', ')).filter((item) => key.test(own.exec(item)?.[2] ?? item));
}

function unpublished(source: string): boolean {
  return /\bmeasurements? [A-Z]\d|\.md\b/.test(source) || unresolvedIn(source).length > 0;
}

/** What the pattern finds in the headings of a page below its title. */
function headings(page: string, pattern: RegExp): string[] {
  return [...read(page).matchAll(/^##+ (.+)$/gm)].flatMap(([, heading]) => pattern.exec(heading!)?.[1] ?? []);
}

function keys(letters: string, numbers: readonly (string | number)[], pages: readonly string[]): string[] {
  return pages.flatMap((page) => numbers.map((one) => `${page} ${letters}${one}`));
}

function lowerFirst(name: string): string {
  return name[0]!.toLowerCase() + name.slice(1);
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|sql)$/.test(file))
    .map((file) => `${folder}/${file}`);
}
