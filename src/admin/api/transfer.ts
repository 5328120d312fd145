// The admin routes that take over users from a file, and give all of them out: not JSON, and in parts.
import { Readable } from 'node:stream';
import { z } from 'zod';
import { mediaTypes, type TransferFormat, transferFormats } from '../../domain/user-records.ts';
import { exportUsers, importFile, type ImportReport } from '../../domain/user-transfer.ts';
import { text } from '../../server/parameters.ts';
import { importReasons } from '../../oauth/import-reasons.ts';
import { DatabaseUnavailable } from '../../database/database.ts';
import { adminRoute } from './route.ts';

/** Bytes of a file by HTTP, some tens of thousands of users; the command line takes files of any size. */
export const largestFile = 8 * 1024 * 1024;

const flag = z.enum(['true', 'false']).optional();
const path = '/admin/api/users';

export const transferRoutes = [
  adminRoute({
    method: 'POST',
    path: `${path}/import`,
    tag: 'users',
    summary: `Makes users of a file of up to ${largestFile / 1024 / 1024} MiB, with their password hashes; the answer tells line by line how far it is, which rows are refused, and at its end how many there were of each kind`,
    query: z.object({
      update: flag.describe('Changes those that there are already; without it they stay as they are.'),
      with_admins: flag.describe('Whether rows may make and change administrators.'),
      dry_run: flag.describe('Nothing is stored.'),
    }),
    media: { body: Object.values(mediaTypes), answer: ['application/jsonl'] },
    async handle({ store, administration }, { query, body, by }) {
      const { content, type } = body as { content: Buffer; type: string };
      const format = transferFormats.find((known) => type.startsWith(mediaTypes[known]))!;
      const options = {
        update: query.update === 'true',
        admins: query.with_admins === 'true',
        dryRun: query.dry_run === 'true',
      };
      const reports = importFile({ store, administration }, by, Readable.from([content]), format, options);
      // a head that is refused is refused before anything is answered
      const first = await reports.next();
      return { type: 'application/jsonl', text: reportLines(first, reports) };
    },
  }),
  adminRoute({
    method: 'GET',
    path: `${path}/export`,
    tag: 'users',
    summary: 'Gives out all users by name, or those that are looked for, without their password hashes',
    // everybody's data at once, as a file
    dangerous: true,
    query: z.object({
      format: z.enum(transferFormats).default('jsonl'),
      q: text(255).optional(),
      group: text(255).optional(),
      status: z.enum(['enabled', 'disabled']).optional(),
      admin: z.enum(['true']).optional(),
    }),
    media: { body: [], answer: Object.values(mediaTypes) },
    handle: async ({ store }, { query, by }) => ({
      type: mediaTypes[query.format as TransferFormat],
      text: exportUsers(store, by, query.format as TransferFormat, {
        filter: { words: query.q, group: query.group, status: query.status, admin: query.admin === 'true' },
      }),
    }),
  }),
];

/** A line of JSON for each report; the last says that all is done, or why it is not. */
async function* reportLines(
  first: IteratorResult<ImportReport, object>,
  reports: AsyncGenerator<ImportReport, object>,
): AsyncGenerator<string> {
  let line = 0;
  try {
    let next = first;
    for (; !next.done; next = await reports.next()) {
      const report = next.value;
      if (report.kind === 'progress') line = report.line;
      yield `${JSON.stringify(
        report.kind === 'progress'
          ? { line, ...report.counts }
          : { line: report.line, column: report.column, reason: importReasons[report.reason] },
      )}\n`;
    }
    yield `${JSON.stringify({ done: true, ...next.value })}\n`;
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    yield `${JSON.stringify({ done: false, line, error_description: 'the database cannot be asked just now: all up to this line is stored, send the file again' })}\n`;
  }
}
