// Tests that docs/specification.md is complete: its table and the tests of the specification name each other.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const folder = import.meta.dirname;
const own = 'table.test.ts';
const document = readFileSync(resolve(folder, '../../docs/specification.md'), 'utf8');

/** "file: title" of every test in the sources. */
function testsIn(sources: Record<string, string>): string[] {
  const call = /\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;
  return Object.entries(sources).flatMap(([file, source]) =>
    [...source.matchAll(call)].map(([, , title]) => `${file}: ${title!.replace(/\\(.)/g, '$1')}`),
  );
}

/** "file: title" of every row: row and decision together are the title of the test. */
function rowsIn(markdown: string): string[] {
  const cells = markdown.split('\n').map((line) => /^\| *(.+?) *\| *(.+?) *\| *`(\S+\.test\.ts)` *\|$/.exec(line));
  return cells.flatMap((match) => (match ? [`${match[3]}: ${match[1]}: ${match[2]}`] : []));
}

function sources(): Record<string, string> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.ts') && file !== own);
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

test('every row of the table names a test that exists, and every test of the specification is in the table', () => {
  const [rows, tests] = [rowsIn(document), testsIn(sources())];
  expect({
    'rows without a test': rows.filter((row) => !tests.includes(row)),
    'tests without a row': tests.filter((title) => !rows.includes(title)),
    'named twice': [...rows, ...tests].filter((name, _, all) => all.filter((other) => other === name).length > 2),
  }).toEqual({ 'rows without a test': [], 'tests without a row': [], 'named twice': [] });
});

test('every section of the specification is in the table', () => {
  const sections = [
    '1',
    '2.1',
    '2.2',
    '2.3',
    '2.4',
    '2.5',
    '2.6',
    '2.7',
    '2.8',
    '2.9',
    '2.10',
    '3',
    '4.1',
    '4.2',
    '4.3',
    '4.4',
    '4.5',
    '4.6',
    '4.7',
    '4.8',
    '5',
    '6',
    '7',
    '8',
    '9',
  ];
  const named = new Set(rowsIn(document).map((row) => row.split(': ')[1]!.split(' ')[0]));
  expect(sections.filter((section) => !named.has(section))).toEqual([]);
});

test('no test of the specification is skipped, alone, or made by a loop that hides its title', () => {
  for (const [file, source] of Object.entries(sources()))
    expect(source.match(/\b(?:test|it|describe)\.\w+|\b(?:it|describe|suite)\(|^[ \t]+test\(/gm) ?? [], file).toEqual(
      [],
    );
});

test('a planted row and a planted test are found', () => {
  expect(rowsIn('| 2.1 state | it is `kept` (decisions 3) | `x.test.ts` |\n| --- | --- | --- |')).toEqual([
    'x.test.ts: 2.1 state: it is `kept` (decisions 3)',
  ]);
  expect(testsIn({ 'x.test.ts': `test(\n  'it\\'s kept', () => {});` })).toEqual(["x.test.ts: it's kept"]);
});
