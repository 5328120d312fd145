// Imports and exports of users, for the command line, the admin routes and the console: a stream in, a report out, and the other way round.
import type { Readable } from 'node:stream';
import { isUsableHash } from '../crypto/password-hashing.ts';
import { withNewDeadline } from '../database/deadline.ts';
import type { ImportReason } from '../oauth/import-reasons.ts';
import type { RecordProblem, UserRecord } from '../oauth/user-record.ts';
import type { Administration } from './administration/administration.ts';
import type { Store } from '../repositories/store.ts';
import type { ImportedUser } from '../repositories/users/user-batches.ts';
import type { ImportOptions, ImportOutcome } from './administration/user-import.ts';
import type { UserFilter } from '../repositories/users/user-search.ts';
import type { User } from '../repositories/users/users.ts';
import { userView } from './administrator-views.ts';
import { headOf, readUsers, rowsOf, type TransferFormat } from './user-records.ts';
import type { Actor } from '../repositories/audit/actor.ts';

/** Rows of a transaction: as many as surely fit into the time that it has. */
const batchSize = 200;
const exportSize = 500;

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

/** What an import says while it runs: of each row that was refused, and of where it is after each batch. */
export type ImportReport =
  | { kind: 'refused'; line: number; column: string; reason: ImportReason }
  /** Everything up to this line is stored, or refused. */
  | { kind: 'progress'; line: number; counts: ImportCounts };

/**
 * Imports a file, a batch a transaction. Who imports the same file again, after an interruption, finds what is done unchanged.
 * @param options.fromLine what stands before is read over
 * @returns by its last report the counts of all; an event in the trail says the same
 * @throws OAuthError invalid_request when the file's head is none of a table of users, DatabaseUnavailable
 */
export async function* importFile(
  parts: { store: Store; administration: Administration },
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
  /** The names of all rows so far: which of two of a name is meant, nobody knows but who made the file. */
  const names = new Set<string>();
  const claimed = options.dryRun ? claims(parts.store) : undefined;
  async function* store(): AsyncGenerator<ImportReport> {
    const read = batch;
    batch = [];
    const keys = read.length > 0 ? await keysOf(parts.store, read) : [];
    const rows: typeof batch = [];
    for (const [place, row] of read.entries()) {
      if (names.has(keys[place]!)) yield refuse(row.line, { column: 'username', reason: 'twice' });
      else rows.push(row);
      names.add(keys[place]!);
    }
    if (rows.length > 0) {
      const users = rows.map((row) => row.user);
      const outcomes = await parts.administration.importUsers(by, users, options);
      const judged = claimed ? await claimed(users, outcomes) : outcomes;
      for (const [place, outcome] of judged.entries()) {
        if (outcome.outcome === 'refused') yield refuse(rows[place]!.line, outcome);
        else counts[outcome.outcome]++;
      }
    }
    yield { kind: 'progress', line, counts: { ...counts } };
  }
  for await (const row of readUsers(stream, format)) {
    line = row.line;
    if (row.line < (options.fromLine ?? 0)) continue;
    const problem = 'problem' in row ? row.problem : problemOf(row.record, options);
    if (problem) yield refuse(row.line, problem);
    else if ('record' in row) batch.push({ line: row.line, user: importedUser(row.record) });
    if (batch.length >= batchSize) yield* store();
  }
  yield* store();
  const detail = { ...counts, update: options.update };
  if (!options.dryRun)
    await withNewDeadline(() =>
      parts.store.auditEvents.insert({ ...by, type: 'users.imported', outcome: 'success', detail }),
    );
  return counts;
}

const keysOf = (store: Store, rows: readonly { user: ImportedUser }[]): Promise<string[]> =>
  withNewDeadline(() => store.userBatches.keys(rows.map((row) => row.user.username)));

/**
 * What an import would have stored by now: a check stores nothing, and would not see that an earlier batch takes an address or a sub.
 * @returns the outcomes of a batch with those in mind
 */
function claims(store: Store) {
  const taken = new Set<string>();
  return async (users: readonly ImportedUser[], outcomes: readonly ImportOutcome[]): Promise<ImportOutcome[]> => {
    const emails = await withNewDeadline(() => store.userBatches.keys(users.map((user) => user.email ?? '')));
    return outcomes.map((outcome, place): ImportOutcome => {
      if (outcome.outcome !== 'created' && outcome.outcome !== 'updated') return outcome;
      const { sub } = users[place]!;
      const email = emails[place]!;
      const wanted = [...(email === '' ? [] : [`email ${email}`]), ...(sub === undefined ? [] : [`sub ${sub}`])];
      if (wanted.some((key) => taken.has(key)))
        return {
          outcome: 'refused',
          column: sub === undefined ? 'email' : 'email, sub',
          reason: 'taken',
        };
      for (const key of wanted) taken.add(key);
      return outcome;
    });
  };
}

function problemOf(record: UserRecord, { admins }: ImportOptions): RecordProblem | undefined {
  if (record.admin === true && !admins) return { column: 'admin', reason: 'administrator' };
  if (record.password_hash !== undefined && !isUsableHash(record.password_hash))
    return { column: 'password_hash', reason: 'hash' };
  return undefined;
}

const importedUser = ({ email_verified, password_hash, admin, ...record }: UserRecord): ImportedUser => ({
  ...record,
  emailVerified: email_verified,
  passwordHash: password_hash,
  ...(admin !== undefined && { admin }),
});

/**
 * All users as the text of a file, in the order of their names, in parts. What changes meanwhile may be in it or not.
 * @param options.filter those who match, and all without it
 * @param options.hashes with the password hashes: whoever has the file can try passwords at leisure
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
  yield headOf(format, hashes);
  let after: string | undefined;
  do {
    const page = await withNewDeadline(() => store.userBatches.export(exportSize, after, filter));
    yield rowsOf(
      format,
      page.users.map((user) => recordOf(user, hashes)),
      hashes,
    );
    after = page.next;
  } while (after !== undefined);
}

/** What was asked, as the trail says it. */
function filterDetail({ words, group, status, admin }: UserFilter): Record<string, string | boolean> {
  return {
    ...(words !== undefined && words.trim() !== '' && { words }),
    ...(group !== undefined && { group }),
    ...(status !== undefined && { status }),
    ...(admin && { admin }),
  };
}

function recordOf(user: User, hashes: boolean): Record<string, unknown> {
  return { ...userView(user), ...(hashes && { password_hash: user.passwordHash }) };
}
