// Reads and writes a user as one record of an import or export. No refusal repeats a value: some values are secrets.
import { z } from 'zod';
import { text } from '../../oauth/text.ts';
import { claimRules, email, groupName, importedName, isStorable } from './administration.ts';
import { loginKey, looksLikeSub } from './login-key.ts';
import { storableClaims } from '../../oauth/claim-names.ts';
import { type ImportReason, isImportReason } from './import-reasons.ts';
import { faultOf, rule } from '../../oauth/refusals.ts';
import { unmarkedCell } from './table-cell.ts';

const addressMembers = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country'];

/** The columns of a table of users, in the order of an export. An import ignores `created_at` and `updated_at`. */
export const userColumns: readonly string[] = [
  'sub',
  'username',
  'email',
  'email_verified',
  'status',
  'admin',
  'groups',
  ...storableClaims.flatMap((claim) =>
    claim === 'address' ? addressMembers.map((member) => `address.${member}`) : [claim],
  ),
  'password_hash',
  'created_at',
  'updated_at',
];

/** Columns of an import only: they name an existing user by an identity at a connection. */
export const identityColumns: readonly string[] = ['connection', 'subject'];

const connection = z.string().regex(/^[a-z][a-z0-9-]{1,39}$/);
const subject = z.string().refine((value) => {
  // the database counts bytes
  const bytes = Buffer.byteLength(value);
  return bytes >= 1 && bytes <= 255 && isStorable(value);
});
/** What a line of JSON adds to a new user. */
const additions = {
  totp: z
    .array(
      z.strictObject({
        secret: z.string(),
        algorithm: z.string().optional(),
        digits: z.number().optional(),
        period: z.number().optional(),
        name: text(60).optional(),
      }),
    )
    .max(10),
  links: z.array(z.strictObject({ connection, subject, issuer: text(500).optional() })).max(50),
  roles: z.record(text(512), z.array(text(100)).max(1000)),
};

const rules: Record<string, z.ZodType> = {
  connection,
  subject,
  ...additions,
  sub: z
    .string()
    // addresses of the admin routes use these words for something else
    .regex(/^(?!(?:\.{1,2}|me|import|export|new)$)[!-~]{1,255}$/, rule('sub')),
  username: importedName,
  email: email.nullable(),
  email_verified: z.boolean(),
  status: z.enum(['enabled', 'disabled'], rule('status')),
  admin: z.boolean(),
  groups: z.array(groupName).max(1000, rule('most-groups')),
  // as its product has it: crypto/hash-forms.ts reads it
  password_hash: z.union([z.string(), z.record(z.string(), z.unknown())]),
  ...Object.fromEntries(Object.entries(claimRules).map(([claim, rule]) => [claim, rule.nullable()])),
};
const skipped = new Set(['created_at', 'updated_at', 'has_password', 'email_confirmed_by']);

export interface UserRecord {
  sub?: string;
  username: string;
  email?: string | null;
  email_verified?: boolean;
  status?: 'enabled' | 'disabled';
  admin?: boolean;
  groups?: string[];
  /** The connection and the subject there of an existing user. */
  connection?: string;
  subject?: string;
  password_hash?: string | Record<string, unknown>;
  /** Secrets of authenticator apps. */
  totp?: z.infer<typeof additions.totp>;
  /** Identities at connections. */
  links?: z.infer<typeof additions.links>;
  /** Names of roles, by the client_id. */
  roles?: z.infer<typeof additions.roles>;
  claims?: Record<string, unknown>;
  /** Not yet compared with the definitions; each value of a table is text. */
  attributes?: Record<string, unknown>;
}

export interface RecordProblem {
  column: string;
  reason: ImportReason;
}

/** Reads a JSON value as a user. Claims may be members of the object itself or of its `claims`. */
export function readUserRecord(value: unknown): UserRecord | RecordProblem {
  if (!isObject(value)) return { column: '', reason: 'object' };
  const { claims = {}, attributes, ...rest } = value;
  if (attributes !== undefined && !isObject(attributes)) return { column: 'attributes', reason: 'object-member' };
  if (!isObject(claims)) return { column: 'claims', reason: 'object-member' };
  const record: Record<string, unknown> = {};
  const read: Record<string, unknown> = {};
  for (const [member, given] of [...Object.entries(rest), ...Object.entries(claims)]) {
    if (skipped.has(member) || given === undefined) continue;
    const isClaim = storableClaims.some((claim) => claim === member);
    if (!Object.hasOwn(rules, member) || (Object.hasOwn(claims, member) && !isClaim))
      return { column: /^[\w.-]{1,64}$/.test(member) ? member : '', reason: 'unknown' };
    const parsed = rules[member]!.safeParse(given);
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!;
      const column = [member, ...issue.path.map(String)].join('.');
      const { code } = faultOf(issue);
      return { column: column.slice(0, 100), reason: isImportReason(code) ? code : 'invalid' };
    }
    if (JSON.stringify(parsed.data).includes('\ufffd')) return { column: member, reason: 'encoding' };
    (isClaim ? read : record)[member] = parsed.data;
  }
  if (JSON.stringify(attributes ?? {}).includes('\ufffd')) return { column: 'attributes', reason: 'encoding' };
  if (record['username'] === undefined) return { column: 'username', reason: 'missing' };
  // a name that looks like a sub is that of its own user alone (security R153)
  if (
    looksLikeSub(String(record['username'])) &&
    loginKey(String(record['sub'])) !== loginKey(String(record['username']))
  )
    return { column: 'username', reason: 'like-sub' };
  if (Array.isArray(record['groups'])) record['groups'] = [...new Set(record['groups'] as string[])];
  // each member was parsed by its own rule; the compiler cannot follow that in a loop
  return {
    ...record,
    ...(Object.keys(read).length > 0 && { claims: read }),
    ...(attributes && { attributes }),
  } as unknown as UserRecord;
}

const booleans: Record<string, boolean> = { true: true, yes: true, '1': true, false: false, no: false, '0': false };
const booleanColumns = new Set(['email_verified', 'admin', 'phone_number_verified']);

/** Whether the name of a user is an address, and not the user's own: it is a key of this user all the same (security R154). */
export function hasOtherAddressAsName({
  username,
  email: own,
}: {
  username: string;
  email?: string | null | undefined;
}) {
  const address = email.safeParse(username.normalize('NFKC').trim()).data;
  return address !== undefined && loginKey(address) !== loginKey(own ?? '');
}

/** Whether it is the column of an attribute; an import compares its name with the definitions. */
export const isAttributeColumn = (column: string): boolean => /^attributes\.[a-z][a-z0-9_]{0,49}$/.test(column);

/** The entries of a cell: semicolons separate them. */
export const entriesOf = (text: string): string[] =>
  (text.match(/(?:\\[\\;]|[^;])+/g) ?? []).map((entry) => entry.replace(/\\([\\;])/g, '$1').trim()).filter(Boolean);

/** Reads the cells of a row as a user. An empty cell is a missing member. */
export function readUserRow(cells: Record<string, string>): UserRecord | RecordProblem {
  const value: Record<string, unknown> = {};
  const address: Record<string, string> = {};
  const attributes: Record<string, string> = {};
  for (const [column, cell] of Object.entries(cells)) {
    const text = unmarkedCell(cell).trim();
    if (text === '') continue;
    if (column.startsWith('address.')) address[column.slice('address.'.length)] = text;
    else if (isAttributeColumn(column)) attributes[column.slice('attributes.'.length)] = text;
    else if (column === 'groups') value['groups'] = entriesOf(text);
    else if (booleanColumns.has(column)) value[column] = booleans[text.toLowerCase()] ?? text;
    else value[column] = text;
  }
  if (Object.keys(address).length > 0) value['address'] = address;
  if (Object.keys(attributes).length > 0) value['attributes'] = attributes;
  for (const column of booleanColumns) if (typeof value[column] === 'string') return { column, reason: 'boolean' };
  return readUserRecord(value);
}

export const isProblem = (record: UserRecord | RecordProblem): record is RecordProblem => 'reason' in record;

/** Returns the cells of a user's row by column. Semicolons separate groups; a backslash escapes a semicolon or a backslash in a name. */
export function userRow(record: Record<string, unknown>, columns = userColumns): Record<string, string> {
  const claims = (record['claims'] ?? {}) as Record<string, unknown>;
  const attributes = (record['attributes'] ?? {}) as Record<string, unknown>;
  const address = (claims['address'] ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    columns.map((column) => {
      const value = column.startsWith('address.')
        ? address[column.slice('address.'.length)]
        : column.startsWith('attributes.')
          ? attributes[column.slice('attributes.'.length)]
          : (record[column] ?? claims[column]);
      const groups = Array.isArray(value) ? value.map((group) => String(group).replace(/[\\;]/g, '\\$&')) : undefined;
      return [column, groups ? groups.join(';') : cellOf(value)];
    }),
  );
}

function cellOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
