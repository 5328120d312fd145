// Lists why an import refuses a row of users, each reason as a code with its English sentence.
import { userRules } from './refusals.ts';

/** The end of a sentence that begins with the column or the row. No sentence repeats a value: some values are secrets. */
export const importReasons = {
  ...userRules,
  object: 'is not a JSON object',
  'object-member': 'must be a JSON object',
  json: 'is not JSON',
  csv: 'is not CSV: is a quotation mark missing?',
  'csv-rest': 'from here on this is not CSV, or a row has more than 64 KiB',
  cells: 'has another number of cells than the head',
  long: 'has more than 64 KiB',
  encoding: 'holds characters that are no UTF-8',
  administrator: 'makes an administrator, which this import may not do',
  hash: 'is of no kind that can be verified, or asks for too much work',
  twice: 'stands in an earlier row, too',
  taken: 'belongs to another user',
  'other-sub': 'is not that of the user of this name',
  'is-administrator': 'is an administrator, whom this import may not change',
  'last-administrator': 'is the last enabled administrator',
  value: 'holds a value that cannot be stored',
} as const;

export type ImportReason = keyof typeof importReasons;

export const isImportReason = (code: string): code is ImportReason => Object.hasOwn(importReasons, code);
