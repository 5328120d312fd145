// Lists why an import refuses a row of users, each reason as a code with its English sentence.
import { userRules } from '../../oauth/refusals.ts';

/** The end of a sentence that begins with the column or the row. No sentence repeats a value: some values are secrets. */
export const importReasons = {
  ...userRules,
  attribute: 'is not a defined attribute, or has an invalid value',
  object: 'is not a JSON object',
  'object-member': 'must be a JSON object',
  json: 'is not valid JSON',
  csv: 'is not valid CSV. Is a quotation mark missing?',
  'csv-rest': 'the rest of the file is not valid CSV, or a row exceeds 64 KiB',
  cells: 'has a different number of cells than the header',
  long: 'exceeds 64 KiB',
  encoding: 'contains characters that are not valid UTF-8: save the file as CSV UTF-8',
  administrator: 'would create an administrator, which this import does not allow',
  hash: 'has an unsupported format, or its verification is too costly',
  twice: 'duplicates an earlier row',
  taken: 'belongs to another user',
  'other-sub': 'differs from the sub of the user with this name',
  'other-identity': 'is not an identity of the user with this name',
  linked: 'belongs to a user with a linked identity: identify the user by sub, or by connection and subject',
  'other-spelling': 'differs from the stored name in more than upper and lower case: identify the user by sub',
  'undecided-links': 'has sites that were connected automatically: keep or remove them on the user’s page first',
  'no-way-in': 'would have no way to sign in: create a recovery link first',
  'is-administrator': 'is an administrator, which this import does not allow to be changed',
  'last-administrator': 'is the last enabled administrator',
  'code-secret': 'must be a secret in base32 of at least 80 bits',
  'code-kind': 'must be of codes with six digits, every 30 seconds, by SHA-1',
  connection: 'names a connection that does not exist',
  issuer: 'must be an issuer of the connection',
  role: 'names a role that the client does not have',
  value: 'contains a value that cannot be stored',
} as const;

/** What an import says about a row that it stores. */
export const importNotes = {
  'other-address': 'is an address, and not that of this user: no other user can have this address',
} as const;

export type ImportNote = keyof typeof importNotes;

export type ImportReason = keyof typeof importReasons;

export const isImportReason = (code: string): code is ImportReason => Object.hasOwn(importReasons, code);
