// The importers remember any number of names: a repeated one is found, and memory stays the same.
import { expect, test } from 'vitest';
import { SeenKeys } from '../../src/command-line/importers/seen-keys.ts';

test('a name that comes again is found among a hundred thousand, with the number of its row (federation F103)', () => {
  const keys = new SeenKeys();
  const names = Array.from({ length: 100_000 }, (_, index) => `user ${index}`);
  expect(names.filter((name, index) => keys.add(name, index * 1e9))).toEqual([]);
  expect(names.filter((name, index) => keys.get(name) !== index * 1e9)).toEqual([]);
  expect(names.filter((name) => !keys.add(name))).toEqual([]);
  expect(names.filter((name) => keys.has(`${name} `))).toEqual([]);
});
