// Reads hostile YAML: each text ends in one error with its line, soon and with little memory (federation F102). A walk reads the largest texts.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../../src/command-line/command.ts';
import { readYaml as readExport } from '../../src/command-line/importers/yaml-file.ts';
import { readYaml, writeYaml, YamlFault } from '../../src/rules/files/yaml-text.ts';

const isWalk = process.env['WALKS'] === 'all';
/** A count beyond every limit, and in a walk as many as a file of 16 MiB has. */
const large = (most: number, beyond = 600_000): number => (isWalk ? most : beyond);

const levels = 'bcdefghi';
const laughs = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...[...levels].map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(10)}]`),
].join('\n');
const indented = Array.from({ length: 1200 }, (_, index) => `${' '.repeat(index)}a:`).join('\n');

/** Where an export of another product has another answer, as its files are larger, and written by other rules. */
interface Foreign {
  text?: string;
  sentence: RegExp | 'none';
}
type Case = [title: string, text: string, line: number, sentence: RegExp, foreign?: Foreign];
const cases: Case[] = [
  [
    '300,000 aliases',
    `a: &a x\nb: [${'*a,'.repeat(300_000)}]\n`,
    2,
    /more than 100 aliases/,
    { text: `a: &a x\nb: [${'*a,'.repeat(large(5_000_000, 30_000))}]\n`, sentence: /more than 1000 aliases/ },
  ],
  ['aliases of aliases', laughs, 4, /too many/],
  ['an alias of itself', 'a: &a [*a]\n', 1, /nested more than 32 deep|too many/],
  ['an unknown alias', 'a: 1\nb: *none\n', 2, /alias|not YAML/],
  ['a tag', 'a: 1\nb: !!js/function x\n', 2, /tags are not allowed/],
  ['a tag of another program', 'a:\n  b: !Env X\n', 2, /tags are not allowed/],
  ['a directive', '%TAG ! tag:x,2000:\n---\na: 1\n', 1, /directives are not allowed/],
  ['a merge key', 'a: &a {x: 1}\nb:\n  <<: *a\n', 3, /merge keys/],
  ['a double key', 'a: 1\nb: 2\na: 3\n', 3, /stands twice/],
  ['two spellings of one key', 'a: 1\n"a": 3\n', 2, /stands twice/],
  ['__proto__', 'a: 1\n__proto__: {admin: true}\n', 2, /__proto__ is a reserved name/],
  ['a leading zero', 'x: 1\na: 0777\n', 2, /0777 is ambiguous/, { sentence: 'none' }],
  ['an infinite number', 'a: .inf\n', 1, /neither a text/, { sentence: 'none' }],
  ['100 MB', 'a: x\n'.repeat(20_000_000), 1, /more than 1024 KiB/, { sentence: /more than 16 MiB/ }],
  ['a NUL', 'a: 1\nb: "\0"\n', 2, /control characters/],
  ['a tab', 'a:\n\tb: 1\n', 2, /tabs are not allowed/],
  ['two documents', 'a: 1\n---\nb: 2\n', 2, /more than one document/],
  [
    '500,000 brackets',
    `a: ${'['.repeat(500_000)}`,
    1,
    /nested more than 32 deep/,
    { text: `a: ${'['.repeat(16_000_000)}`, sentence: /nested more than 32 deep/ },
  ],
  [
    '400,000 hyphens',
    `a: ${'- '.repeat(400_000)}`,
    1,
    /nested more than 32 deep/,
    { text: `a: ${'- '.repeat(8_000_000)}`, sentence: /nested more than 32 deep/ },
  ],
  [
    '400,000 marks of keys',
    `${'? '.repeat(400_000)}`,
    1,
    /a key must be a text/,
    { sentence: /nested more than 32 deep/ },
  ],
  ['1,200 levels', indented, 201, /nested more than 32 deep/],
  [
    '500,000 values',
    `a: [${'x,'.repeat(500_000)}]`,
    1,
    /more than 100000 values/,
    { text: `a: [${'x,'.repeat(large(8_000_000))}]`, sentence: /more than 500000 values/ },
  ],
  [
    '1,000,000 empty lines',
    `a:${'\n'.repeat(1_000_000)}x`,
    100_000,
    /more than 100000 lines/,
    { text: `a:${'\n'.repeat(large(16_000_000))}x`, sentence: /more than 500000 lines/ },
  ],
  ['1,000,000 commas', `a: [${','.repeat(1_000_000)}]`, 1, /more commas than values/],
  [
    '300,000 anchors',
    `a: ${'&a '.repeat(300_000)}`,
    1,
    /more than 1000 anchors/,
    { text: `a: ${'&a '.repeat(large(5_000_000, 30_000))}`, sentence: /more than 10000 anchors/ },
  ],
  [
    '300,000 quoted values',
    `a: [${'"",'.repeat(300_000)}]`,
    1,
    /more than 100000 values/,
    { text: `a: [${'"",'.repeat(large(5_000_000))}]`, sentence: /more than 500000 values/ },
  ],
  ['a key that is no text', '? [a]\n: 1\n', 1, /a key must be a text/],
  ['a list', '- a\n', 1, /must be a mapping/, { sentence: 'none' }],
  ['nothing', '', 1, /must be a mapping/, { sentence: 'none' }],
  ['an open quotation mark', 'a: "x\n', 2, /not YAML/],
];

const keysOf = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: ${index % 10}\n`).join('');

/** One row for each text and reader; a walk prints them. */
const table: Record<string, unknown>[] = [];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-yaml-'));
});
afterAll(async () => {
  if (isWalk) console.table(table);
  await rm(folder, { recursive: true });
});

/** Reads a text, and says what came of it and what that took of this process: other programs of the machine do not count. */
async function answerTo(reader: string, title: string, text: string, read: () => Promise<unknown>) {
  const [begin, memory] = [process.cpuUsage(), process.memoryUsage().rss];
  const fault: unknown = await read().then(
    () => undefined,
    (error: unknown) => error,
  );
  const { user, system } = process.cpuUsage(begin);
  const [seconds, megabytes] = [(user + system) / 1e6, (process.memoryUsage().rss - memory) / 2 ** 20];
  const said = fault instanceof Error ? fault.message.replace(folder, '') : 'read';
  table.push({ reader, title, bytes: text.length, said, seconds: seconds.toFixed(3), MiB: megabytes.toFixed(0) });
  return { fault, seconds, megabytes };
}

describe.each(cases)('%s', (title, text, line, sentence, foreign) => {
  test('in a configuration file is one error with its line (federation F102, FR47)', async () => {
    const { fault, seconds, megabytes } = await answerTo('configuration', title, text, () => readYaml(text));
    expect(fault).toBeInstanceOf(YamlFault);
    expect((fault as YamlFault).message).toMatch(sentence);
    expect((fault as YamlFault).line).toBeGreaterThanOrEqual(line);
    // other threads of this process count too, and a machine may be slow: the figures are those of a walk
    if (isWalk) expect(seconds).toBeLessThan(1);
    if (isWalk) expect(megabytes).toBeLessThan(64);
  });

  test('in an export of another product is one error with its line, or data (federation F102, FR47)', async () => {
    const file = join(folder, 'export.yaml');
    const given = foreign?.text ?? text;
    await writeFile(file, given);
    const { fault, megabytes } = await answerTo('export', title, given, () => readExport(file));
    if (foreign?.sentence === 'none') expect(fault).toBeUndefined();
    else {
      expect(fault).toBeInstanceOf(UsageError);
      expect((fault as UsageError).message).toMatch(foreign?.sentence ?? sentence);
      expect((fault as UsageError).message).toMatch(/line \d+: |16 MiB/);
    }
    // the text itself, and the tokens of a part of it
    if (isWalk) expect(megabytes).toBeLessThan(128);
  });
});

describe('a text of YAML 1.1', () => {
  test('no, on and yes are texts, and numbers are those of the core schema (federation F102)', async () => {
    const { value } = await readYaml('a: no\nb: on\nc: yes\nd: ~\ne: 0x1f\nf: 1_000\ng: 2026-01-01\nno: 1\n12: x\n');
    expect(value).toEqual({ a: 'no', b: 'on', c: 'yes', d: null, e: 31, f: '1_000', g: '2026-01-01', no: 1, 12: 'x' });
  });

  test('thousands of keys are read soon, and 10 and 1e1 are two of them (federation F102)', async () => {
    const { value } = await readYaml(`${keysOf(45_000)}10: a\n1e1: b\n`);
    expect(Object.keys(value)).toHaveLength(45_002);
    expect(value).toMatchObject({ '10': 'a', '1e1': 'b' });
  });

  // to compare each key with each other one would take many minutes
  test('very many keys of an export are read soon (federation F102)', async () => {
    const keys = large(240_000, 60_000);
    const file = join(folder, 'keys.yaml');
    await writeFile(file, keysOf(keys));
    expect(Object.keys((await readExport(file)) as object)).toHaveLength(keys);
  });

  test('a few aliases stand for what they name (federation F102)', async () => {
    const { value } = await readYaml('a: &a {x: 1}\nb: *a\nc: [*a, *a]\n');
    expect(value).toEqual({ a: { x: 1 }, b: { x: 1 }, c: [{ x: 1 }, { x: 1 }] });
  });

  test('what is written is read back, also by readers of YAML 1.1 (federation F102)', async () => {
    const value = {
      a: 'no',
      b: '0777',
      c: 'x: y # z',
      d: [],
      e: {},
      f: 'on\nline',
      g: 'ünï',
      h: '',
      i: '1',
      j: 'null',
      k: ' x ',
      l: `\u0085\u007f\ufffe and \\u0085`,
      'm\u0090': `a\n${' '.repeat(250)}b`,
    };
    const text = await writeYaml(value);
    expect(text).toContain('a: "no"\nb: "0777"\n');
    expect((await readYaml(text)).value).toEqual(value);
  });

  test('the line of a value is that of its key (federation 10)', async () => {
    const { lineOf } = await readYaml('a:\n  b:\n    - x\n    - y: 1\nc: 1\n');
    expect([['a'], ['a', 'b'], ['a', 'b', '1', 'y'], ['c'], ['a', 'none']].map((path) => lineOf(path))).toEqual([
      1, 2, 4, 5, 1,
    ]);
  });
});
