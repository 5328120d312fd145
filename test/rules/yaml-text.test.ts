// Reads hostile YAML: each text ends in one error with its line, soon and with little memory (federation F102).
import { describe, expect, test } from 'vitest';
import { readYaml, writeYaml, YamlFault } from '../../src/rules/files/yaml-text.ts';

const levels = 'bcdefghi';
const laughs = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...[...levels].map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(10)}]`),
].join('\n');
const indented = Array.from({ length: 1200 }, (_, index) => `${' '.repeat(index)}a:`).join('\n');

test.each<[string, string, number, RegExp]>([
  ['300,000 aliases', `a: &a x\nb: [${'*a,'.repeat(300_000)}]\n`, 2, /more than 100 aliases/],
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
  ['a leading zero', 'x: 1\na: 0777\n', 2, /0777 is ambiguous/],
  ['an infinite number', 'a: .inf\n', 1, /neither a text/],
  ['100 MB', 'a: x\n'.repeat(20_000_000), 1, /more than 1024 KiB/],
  ['a NUL', 'a: 1\nb: "\0"\n', 2, /control characters/],
  ['a tab', 'a:\n\tb: 1\n', 2, /tabs are not allowed/],
  ['two documents', 'a: 1\n---\nb: 2\n', 2, /more than one document/],
  ['500,000 brackets', `a: ${'['.repeat(500_000)}`, 1, /nested more than 32 deep/],
  ['400,000 hyphens', `a: ${'- '.repeat(400_000)}`, 1, /nested more than 32 deep/],
  ['1,200 levels', indented, 201, /nested more than 32 deep/],
  ['500,000 values', `a: [${'x,'.repeat(500_000)}]`, 1, /more than 100000 values/],
  ['a key that is no text', '? [a]\n: 1\n', 1, /a key must be a text/],
  ['a list', '- a\n', 1, /must be a mapping/],
  ['nothing', '', 1, /must be a mapping/],
  ['an open quotation mark', 'a: "x\n', 2, /not YAML/],
])('%s is one error with its line, within a second (federation F102, FR47)', async (_, text, line, sentence) => {
  const [begin, memory] = [process.cpuUsage(), process.memoryUsage().rss];
  const fault: unknown = await readYaml(text).catch((error: unknown) => error);
  const { user, system } = process.cpuUsage(begin);
  expect(fault).toBeInstanceOf(YamlFault);
  expect((fault as YamlFault).message).toMatch(sentence);
  expect((fault as YamlFault).line).toBeGreaterThanOrEqual(line);
  // the time of this process: other programs of the machine do not count
  expect((user + system) / 1e6).toBeLessThan(1);
  expect(process.memoryUsage().rss - memory).toBeLessThan(64 * 1024 * 1024);
});

describe('a text of YAML 1.1', () => {
  test('no, on and yes are texts, and numbers are those of the core schema (federation F102)', async () => {
    const { value } = await readYaml('a: no\nb: on\nc: yes\nd: ~\ne: 0x1f\nf: 1_000\ng: 2026-01-01\nno: 1\n12: x\n');
    expect(value).toEqual({ a: 'no', b: 'on', c: 'yes', d: null, e: 31, f: '1_000', g: '2026-01-01', no: 1, 12: 'x' });
  });

  test('thousands of keys are read soon, and 10 and 1e1 are two of them (federation F102)', async () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}: ${index}\n`).join('');
    const { value } = await readYaml(`${keys}10: a\n1e1: b\n`);
    expect(Object.keys(value)).toHaveLength(5_002);
    expect(value).toMatchObject({ '10': 'a', '1e1': 'b' });
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
