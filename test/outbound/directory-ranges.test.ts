// Reads attributes that Active Directory returns in parts: recorded answers of a group with 3,500 members.
import { expect, test } from 'vitest';
import { readRanges } from '../../src/outbound/directory-ranges.ts';

const members = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `CN=m${from + index}`);
const attributes = (name: string, values: string[]) => new Map([[name, values]]);

/** What a domain controller answers to `member;range=FROM-*`, 1,500 values at a time. */
const recorded: Record<string, Map<string, string[]>> = {
  'member;range=1500-*': attributes('member;range=1500-2999', members(1500, 2999)),
  'member;range=3000-*': attributes('member;range=3000-*', members(3000, 3499)),
};
const read = async (name: string) => recorded[name] ?? new Map<string, string[]>();

test('all parts are read in order (federation 6, MS-ADTS 3.1.1.3.1.3.3)', async () => {
  const first = new Map([...attributes('member', []), ...attributes('member;range=0-1499', members(0, 1499))]);
  expect(await readRanges(first, 'member', read)).toEqual(members(0, 3499));
});

test('a short list comes at once, and an absent one is empty', async () => {
  expect(await readRanges(attributes('memberof', ['CN=a']), 'memberOf', read)).toEqual(['CN=a']);
  expect(await readRanges(new Map(), 'memberOf', read)).toEqual([]);
});

test.each([
  ['the next part is missing', new Map<string, string[]>()],
  ['the next part begins elsewhere', attributes('member;range=1600-*', members(1600, 1700))],
  ['the next part is the first again', attributes('member;range=0-1499', members(0, 1499))],
  ['the next part has fewer values than it says', attributes('member;range=1500-2999', members(1500, 1600))],
])('nothing is known if %s (federation FR15)', async (_title, next) => {
  const first = attributes('member;range=0-1499', members(0, 1499));
  expect(await readRanges(first, 'member', async () => next)).toBeUndefined();
});
