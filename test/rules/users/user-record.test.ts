// Users are written to a table and read back unchanged, whatever their values contain.
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readUsers, rowsOf, headOf } from '../../../src/domain/users/user-records.ts';
import { importedName } from '../../../src/rules/users/administration.ts';
import { importReasons } from '../../../src/rules/users/import-reasons.ts';
import { markedCell, unmarkedCell } from '../../../src/rules/users/table-cell.ts';
import { readUserRow } from '../../../src/rules/users/user-record.ts';
import { translation } from '../../pages/page-states/index.ts';

async function written(record: Record<string, unknown>): Promise<unknown> {
  const text = headOf('csv', false) + rowsOf('csv', [record], false);
  for await (const row of readUsers(Readable.from([text]), 'csv')) return 'record' in row ? row.record : row;
  return undefined;
}

/** Characters that separate, escape, quote and begin formulas, with more weight than by chance. */
const odd = fc.constantFrom(';', '\\', "'", '"', ',', '=', '+', '-', '@', ' ', 'a', 'ü', '＝', '＋', '－', '＠');
const word = fc
  .array(fc.oneof({ weight: 3, arbitrary: odd }, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join('').normalize('NFC').trim())
  .filter((text) => text !== '' && !/^\.{1,2}$/.test(text) && !/\p{Cc}|\ufffd/u.test(text) && text.isWellFormed());
/** Some characters of groups are invisible, and refused in the name of a user. */
const userName = word.filter((text) => importedName.safeParse(text).success);

test('any groups and names are read from a table as they were written (RFC 4180, pages, imports)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), userName, async (groups, username) => {
      expect(await written({ username, groups })).toEqual({ username, groups });
    }),
    { numRuns: 400 },
  );
});

test('no cell of a table begins a formula, whatever precedes it, and each is read as it was written (security R126)', () => {
  const before = fc.array(
    fc.constantFrom("'", ' ', '\t', '\r', '\n', '\u00a0', '\u200b', '\ufeff', '\u3000', 'a', ';'),
    {
      maxLength: 4,
    },
  );
  const text = fc
    .tuple(before, fc.constantFrom('=', '+', '-', '@', '＝', '＋', '－', '＠', ''), fc.string({ maxLength: 3 }))
    .map(([spaces, sign, rest]) => spaces.join('') + sign + rest);
  fc.assert(
    fc.property(text, (cell) => {
      // nor after a semicolon, at which spreadsheets in many languages split a file
      expect(markedCell(cell)).not.toMatch(/(^|[;\t\r\n])[\s\u200b\ufeff]*[=+\-@＝＋－＠]|^[\t\r]/);
      expect(unmarkedCell(markedCell(cell))).toBe(cell);
    }),
    { numRuns: 2000 },
  );
});

test('a cell of another program is read literally: a single backslash is one, and empty names are ignored (pages, imports)', () => {
  const groups = (cell: string) => (readUserRow({ username: 'x', groups: cell }) as { groups?: string[] }).groups;
  expect(groups('a; b ;;c')).toEqual(['a', 'b', 'c']);
  expect(groups('a\\b;c')).toEqual(['a\\b', 'c']);
  expect(groups('a\\;b;c\\\\;d')).toEqual(['a;b', 'c\\', 'd']);
});

test('the English page and the command line give the same reason for a refused row (pages, imports)', () => {
  const message = (name: string) => translation('en')[`console.users-import.reason.${name}`];
  for (const [name, reason] of Object.entries(importReasons))
    expect(message(name)).toBe(reason[0]!.toUpperCase() + reason.slice(1));
});
