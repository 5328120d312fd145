// Declares the operations that import users from a file and export them to one, in parts.
import { importNotes, importReasons } from '../../rules/users/import-reasons.ts';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { mediaTypes, transferFormats } from '../../domain/users/user-records.ts';
import { exportUsers, importFile, type ImportReport } from '../../domain/users/user-transfer.ts';
import { DatabaseUnavailable } from '../../database/database.ts';
import { fileFormat, operation, type UploadedFile } from './operation.ts';
import { userFilter } from './users.ts';

/** Bytes: the maximum size of a file by HTTP, some tens of thousands of users; the command line reads files of any size. */
export const maxFileSize = 8 * 1024 * 1024;

const flag = z.enum(['true', 'false']).optional();
const path = '/admin/api/users';

const importUsers = operation({
  permission: 'users',
  method: 'POST',
  path: `${path}/import`,
  tag: 'users',
  summary: `Imports users from a file of up to ${maxFileSize / 1024 / 1024} MiB, with their password hashes; the lines of the response report the progress, each rejected row, each user whose name is an address other than the user’s own, and the last line the counts`,
  input: () =>
    z.object({
      update: flag.describe('Updates existing users; otherwise they are skipped.'),
      with_admins: flag.describe('Allows rows that create or change administrators.'),
      trust_confirmations: flag.describe(
        'Trusts the confirmed addresses of the file, as if an administrator had confirmed them.',
      ),
      dry_run: flag.describe('Checks the file and stores nothing.'),
    }),
  media: { body: Object.values(mediaTypes), answer: ['application/jsonl'] },
  async handler(context, { input, actor }) {
    const { content, type } = (input as { file?: UploadedFile }).file!;
    const format = transferFormats.find((known) => type.startsWith(mediaTypes[known]))!;
    const options = {
      update: input.update === 'true',
      admins: input.with_admins === 'true',
      trustConfirmations: input.trust_confirmations === 'true',
      guarded: guardedGroups(context.config),
      dryRun: input.dry_run === 'true',
    };
    const reports = importFile(context, actor, Readable.from([content]), format, options);
    // a refused head must be an error response, so it is read before the answer begins
    const first = await reports.next();
    return { type: 'application/jsonl', text: reportLines(first, reports) };
  },
});

export const exportAll = operation({
  permission: 'users',
  method: 'GET',
  path: `${path}/export`,
  tag: 'users',
  summary: 'Exports all users by name, or those that match a filter, without their password hashes',
  // the file contains the data of all users
  needsRecentSignIn: true,
  input: () => z.object({ format: fileFormat, ...userFilter }),
  // the hashes are never sent by HTTP: a reader of the file can try passwords without limit
  internalInput: z.object({ with_password_hashes: z.boolean().describe('Includes the password hashes.') }),
  media: { body: [], answer: Object.values(mediaTypes) },
  async handler({ store }, { input: { format, q, group, status, admin, with_password_hashes: hashes }, actor }) {
    const filter = { words: q, group, status, admin: admin === 'true' };
    return { type: mediaTypes[format], text: exportUsers(store, actor, format, { filter, ...(hashes && { hashes }) }) };
  },
  command: {
    name: 'user export',
    summary: 'Writes all users, or those that match a filter, to a new file, or to standard output',
    text: (_, { typed }) => (typed['file'] === undefined ? '' : `Exported the users to ${typed['file']}.`),
  },
});

export const transferOperations = [importUsers, exportAll];

function lineOf(report: ImportReport): object {
  if (report.kind === 'progress') return { line: report.line, ...report.counts };
  const { line, column } = report;
  if (report.kind === 'refused') return { line, column, reason: importReasons[report.reason] };
  return { line, column, note: importNotes[report.reason] };
}

/** Writes each report as a line of JSON; the last line reports the completion, or the reason for a failure. */
async function* reportLines(
  first: IteratorResult<ImportReport, object>,
  reports: AsyncGenerator<ImportReport, object>,
): AsyncGenerator<string> {
  let line = 0;
  try {
    let next = first;
    for (; !next.done; next = await reports.next()) {
      if (next.value.kind === 'progress') line = next.value.line;
      yield `${JSON.stringify(lineOf(next.value))}\n`;
    }
    yield `${JSON.stringify({ done: true, ...next.value })}\n`;
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    yield `${JSON.stringify({ done: false, line, error_description: 'the database is unavailable: everything up to this line is stored, send the file again' })}\n`;
  }
}
