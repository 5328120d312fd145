// Why a row of an import is refused: in English for command line and admin routes, and by a name under which pages say it in the reader's language.

/** The end of a sentence that begins with the column, or with the row. None repeats a value: some are secrets. */
export const importReasons = {
  object: 'is not a JSON object',
  'object-member': 'must be a JSON object',
  json: 'is not JSON',
  csv: 'is not CSV: is a quotation mark missing?',
  'csv-rest': 'from here on this is not CSV, or a row has more than 64 KiB',
  cells: 'has another number of cells than the head',
  long: 'has more than 64 KiB',
  unknown: 'is not known here',
  invalid: 'is not valid',
  encoding: 'holds characters that are no UTF-8',
  missing: 'is missing',
  empty: 'must not be empty',
  'most-characters': 'must have at most 255 characters',
  'control-characters': 'must not hold control characters',
  text: 'must be well-formed text',
  email: 'must be an email address',
  date: 'must be YYYY-MM-DD or YYYY',
  boolean: 'must be true or false',
  status: 'must be enabled or disabled',
  sub: 'must be 1 to 255 printable ASCII characters, and no reserved word',
  'most-groups': 'must be at most 1000',
  dots: 'must not be . or .., which no address can hold',
  administrator: 'makes an administrator, which this import may not do',
  hash: 'is of no kind that can be verified, or asks for too much work',
  twice: 'stands in an earlier row, too',
  taken: 'belongs to another user',
  'other-sub': 'is not that of the user of this name',
  'is-administrator': 'is an administrator, whom this import may not change',
  'last-administrator': 'is the last enabled administrator',
  value: 'holds a value that cannot be stored',
} as const;

export type ImportReasonName = keyof typeof importReasons;
export type ImportReason = (typeof importReasons)[ImportReasonName];

// the keys of an object with this very type: what Object.entries forgets
const names = new Map(Object.entries(importReasons).map(([name, text]) => [text as string, name as ImportReasonName]));

/** The name of a reason; undefined for one that another version gave. */
export const reasonName = (reason: string): ImportReasonName | undefined => names.get(reason);

export const isImportReason = (text: string): text is ImportReason => names.has(text);
