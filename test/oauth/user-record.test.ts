// Users as the rows of a table: what is written is read again as it was, whatever stands in it.
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readUsers, rowsOf, headOf } from '../../src/http/user-records.ts';
import { importReasons } from '../../src/oauth/import-reasons.ts';
import { readUserRow } from '../../src/oauth/user-record.ts';
import { translation } from '../http/page-states/index.ts';

async function written(record: Record<string, unknown>): Promise<unknown> {
  const text = headOf('csv', false) + rowsOf('csv', [record], false);
  for await (const row of readUsers(Readable.from([text]), 'csv')) return 'record' in row ? row.record : row;
  return undefined;
}

/** What separates, escapes, quotes and begins formulas, more often than chance would bring it. */
const odd = fc.constantFrom(';', '\\', "'", '"', ',', '=', '+', '-', '@', ' ', 'a', 'ü', '＝');
const word = fc
  .array(fc.oneof({ weight: 3, arbitrary: odd }, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join('').normalize('NFC').trim())
  .filter((text) => text !== '' && !/^\.{1,2}$/.test(text) && !/\p{Cc}|\ufffd/u.test(text) && text.isWellFormed());

test('any groups and names are read from a table as they were written into it (RFC 4180, issue 6)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), word, async (groups, username) => {
      expect(await written({ username, groups })).toEqual({ username, groups });
    }),
    { numRuns: 400 },
  );
});

test('a cell of another program is read as it looks: a lone backslash is one, and empty names are none (issue 6)', () => {
  const groups = (cell: string) => (readUserRow({ username: 'x', groups: cell }) as { groups?: string[] }).groups;
  expect(groups('a; b ;;c')).toEqual(['a', 'b', 'c']);
  expect(groups('a\\b;c')).toEqual(['a\\b', 'c']);
  expect(groups('a\\;b;c\\\\;d')).toEqual(['a;b', 'c\\', 'd']);
});

test('the English page says why a row is refused as the command line does (issue 6)', () => {
  const said = (name: string) => translation('en')[`console.users-import.reason.${name}`];
  for (const [name, reason] of Object.entries(importReasons))
    expect(said(name)).toBe(reason[0]!.toUpperCase() + reason.slice(1));
});
