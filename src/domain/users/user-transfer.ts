// Imports users from a stream and exports them as text, for the command line, the admin routes and the console.
import type { Readable } from 'node:stream';
import { storedHash } from '../../crypto/hash-forms.ts';
import { withNewDeadline } from '../../database/deadline.ts';
import type { ImportNote, ImportReason } from '../../rules/users/import-reasons.ts';
import type { RecordProblem, UserRecord } from '../../rules/users/user-record.ts';
import { type AdditionParts, createAdditionsReader } from './imported-additions.ts';
import type { Administration } from '../administration/administration.ts';
import type { Store } from '../../repositories/store.ts';
import type { ImportedUser } from '../../repositories/users/user-batches.ts';
import { columnsIn, type ImportOptions, type ImportOutcome, keysOfUsers } from '../administration/user-import.ts';
import type { NamePlace, UserFilter } from '../../repositories/users/user-search.ts';
import type { User } from '../../repositories/users/users.ts';
import { userView } from '../administration/administrator-views.ts';
import { headOf, readUsers, rowsOf, type TransferFormat } from './user-records.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

/** Rows of one transaction, few enough for the deadline of its statements. */
const batchSize = 200;
const exportSize = 500;

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

/** A report of a running import: a refused row, a row that an administrator should know of, or the progress after a batch. */
export type ImportReport =
  | { kind: 'refused'; line: number; column: string; reason: ImportReason }
  /** The row is stored. */
  | { kind: 'noted'; line: number; column: string; reason: ImportNote }
  /** Every row up to this line is stored or refused. */
  | { kind: 'progress'; line: number; counts: ImportCounts };

export interface ImportParts extends AdditionParts {
  administration: Administration;
}

/**
 * Imports a file, each batch in one transaction. After an interruption the same file can be imported again: stored rows are unchanged.
 * @param options.fromLine the rows before this line are skipped
 * @returns the counts of all rows, which an audit event also records
 * @throws OAuthError invalid_request if the head is not that of a table of users, DatabaseUnavailable
 */
export async function* importFile(
  parts: ImportParts,
  by: Actor,
  stream: Readable,
  format: TransferFormat,
  options: ImportOptions & { fromLine?: number },
): AsyncGenerator<ImportReport, ImportCounts> {
  const counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  let batch: { line: number; user: ImportedUser }[] = [];
  let line = 0;
  const refuse = (at: number, { column, reason }: RecordProblem): ImportReport => {
    counts.refused++;
    return { kind: 'refused', line: at, column, reason };
  };
  /** The names of all rows so far: a second row of the same name is refused, since the file does not say which one is meant. */
  const names = new Set<string>();
  const claimed = options.dryRun ? claims(parts.store) : undefined;
  async function* store(): AsyncGenerator<ImportReport> {
    const read = batch;
    batch = [];
    const keys = read.length > 0 ? await keysOf(parts.store, read) : [];
    const rows: typeof batch = [];
    for (const [index, row] of read.entries()) {
      if (names.has(keys[index]!)) yield refuse(row.line, { column: 'username', reason: 'twice' });
      else rows.push(row);
      names.add(keys[index]!);
    }
    if (rows.length > 0) {
      const users = rows.map((row) => row.user);
      const outcomes = await parts.administration.importUsers(by, users, options);
      const results = claimed ? await claimed(users, outcomes) : outcomes;
      for (const [index, outcome] of results.entries()) {
        const at = rows[index]!.line;
        if (outcome.outcome === 'refused') yield refuse(at, outcome);
        else {
          counts[outcome.outcome]++;
          if (outcome.note) yield { kind: 'noted', line: at, column: 'username', reason: outcome.note };
        }
      }
    }
    yield { kind: 'progress', line, counts: { ...counts } };
  }
  const readAdditions = createAdditionsReader(parts);
  const readUser = async (record: UserRecord): Promise<ImportedUser | RecordProblem> => {
    const problem = problemOf(record, options);
    if (problem) return problem;
    const additions = await readAdditions(record);
    return additions && 'reason' in additions ? additions : { ...importedUser(record, options), additions };
  };
  for await (const row of readUsers(stream, format)) {
    line = row.line;
    if (row.line < (options.fromLine ?? 0)) continue;
    const user = 'problem' in row ? row.problem : await readUser(row.record);
    if ('reason' in user) yield refuse(row.line, user);
    else batch.push({ line: row.line, user });
    if (batch.length >= batchSize) yield* store();
  }
  yield* store();
  const detail = {
    ...counts,
    update: options.update,
    ...(options.trustConfirmations && { trust_confirmations: true }),
  };
  if (!options.dryRun)
    await withNewDeadline(() =>
      parts.store.auditEvents.insert({ ...by, type: 'users.imported', outcome: 'success', detail }),
    );
  return counts;
}

const keysOf = (store: Store, rows: readonly { user: ImportedUser }[]): Promise<string[]> =>
  withNewDeadline(() => store.userBatches.keys(rows.map((row) => row.user.username)));

/**
 * Remembers the names, addresses and subs of earlier rows of a dry run, which stores nothing that would refuse a second use.
 * @returns a function that corrects the outcomes of a batch accordingly
 */
function claims(store: Store) {
  const taken = new Set<string>();
  return async (users: readonly ImportedUser[], outcomes: readonly ImportOutcome[]): Promise<ImportOutcome[]> => {
    const keys = await withNewDeadline(() => keysOfUsers(store.userBatches, users));
    return outcomes.map((outcome, index): ImportOutcome => {
      if (outcome.outcome !== 'created' && outcome.outcome !== 'updated') return outcome;
      const own = keys[index]!;
      const column = columnsIn(own, taken);
      if (column !== '') return { outcome: 'refused', column, reason: 'taken' };
      for (const key of Object.values(own)) taken.add(key);
      return outcome;
    });
  };
}

function problemOf(record: UserRecord, { admins }: ImportOptions): RecordProblem | undefined {
  if (record.admin === true && !admins) return { column: 'admin', reason: 'administrator' };
  if (record.password_hash !== undefined && storedHash(record.password_hash) === undefined)
    return { column: 'password_hash', reason: 'hash' };
  return undefined;
}

/** The word of a file that an address is confirmed; undefined keeps what is stored. */
function confirmationOf(isConfirmed: boolean | undefined, { trustConfirmations = false }: ImportOptions) {
  if (isConfirmed === undefined) return undefined;
  return isConfirmed ? (trustConfirmations ? ('administrator' as const) : ('word' as const)) : null;
}

const importedUser = (
  { email_verified: isConfirmed, password_hash, admin, ...rest }: UserRecord,
  options: ImportOptions,
): ImportedUser => ({
  ...rest,
  confirmedBy: confirmationOf(isConfirmed, options),
  passwordHash: storedHash(password_hash),
  ...(admin !== undefined && { admin }),
});

/**
 * Exports users as the text of a file in parts, ordered by name. A concurrent change may be in the file or not.
 * @param options.filter exports only the users that match
 * @param options.hashes adds the password hashes: a reader of the file can try passwords without limit
 */
export async function* exportUsers(
  store: Store,
  by: Actor,
  format: TransferFormat,
  { hashes = false, filter = {} }: { hashes?: boolean; filter?: UserFilter } = {},
): AsyncGenerator<string> {
  await store.auditEvents.insert({
    ...by,
    type: 'users.exported',
    outcome: 'success',
    detail: { format, password_hashes: hashes, ...filterDetail(filter) },
  });
  const attributes = (await store.attributes.list()).map(({ name }) => name);
  yield headOf(format, hashes, attributes);
  let after: NamePlace | undefined;
  do {
    const page = await withNewDeadline(() => store.userBatches.export(exportSize, after, filter));
    yield rowsOf(
      format,
      page.users.map((user) => recordOf(user, hashes)),
      hashes,
      attributes,
    );
    after = page.next;
  } while (after !== undefined);
}

/** The filter, as the audit event records it. */
function filterDetail({ words, group, status, admin }: UserFilter): Record<string, string | boolean> {
  return {
    // the words themselves may be the name or the address of a user (federation 14)
    ...(words !== undefined && words.trim() !== '' && { words: true }),
    ...(group !== undefined && { group }),
    ...(status !== undefined && { status }),
    ...(admin && { admin }),
  };
}

function recordOf(user: User, hashes: boolean): Record<string, unknown> {
  return { ...userView(user), ...(hashes && { password_hash: user.passwordHash }) };
}
