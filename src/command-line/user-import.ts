// Defines the command that imports users from a file of any size.
import type { Readable } from 'node:stream';
import { importNotes, importReasons } from '../rules/users/import-reasons.ts';
import { guardedGroups } from '../domain/administration/guarded-groups.ts';
import { importFile } from '../domain/users/user-transfer.ts';
import { harmless } from '../admin/operations/text-table.ts';
import { by, type Command, parse, type Terminal, UsageError, withDatabase } from './command.ts';
import { formatOf, ofTheFile, openText } from './file.ts';
import { contextOf } from './operation-command.ts';

/** Shows the progress in one line on a terminal; elsewhere it writes a line for each hundred thousand rows. */
function progress({ stderr }: Terminal, rows: number, text: string): void {
  if (stderr.isTTY) stderr.write(`\r${text}`);
  else if (rows % 100_000 < 200 && rows > 200) stderr.write(`${text}\n`);
}

export const userImportCommands: Record<string, Command> = {
  'user import': {
    usage: 'FILE|- [--format csv|jsonl] [--update] [--with-admins] [--trust-confirmations] [--dry-run] [--from-line N]',
    summary:
      'Imports users from a file, with their password hashes. Without --update, existing users are skipped. Each rejected row is reported on standard error, and each user whose name is an address other than the user’s own.',
    options: [
      ['--format csv|jsonl', 'The format; by default, the file extension decides.'],
      ['--update', 'Updates existing users; otherwise they are skipped.'],
      ['--with-admins', 'Allows rows that create or change administrators.'],
      [
        '--trust-confirmations',
        'Trusts the confirmed addresses of the file, as if an administrator had confirmed them: only for a file from a system that you trust.',
      ],
      ['--dry-run', 'Checks the file and stores nothing.'],
      ['--from-line N', 'Starts at this line and skips the rows before it.'],
    ],
    async run(config, args, terminal) {
      const { values, positionals } = parse(
        args,
        {
          format: { type: 'string' },
          update: { type: 'boolean', default: false },
          'with-admins': { type: 'boolean', default: false },
          'trust-confirmations': { type: 'boolean', default: false },
          'dry-run': { type: 'boolean', default: false },
          'from-line': { type: 'string', default: '0' },
        },
        ['FILE'],
      );
      const file = positionals[0]!;
      const format = formatOf(values.format, file);
      const { stdin, stderr } = terminal;
      const fromLine = Number(values['from-line']);
      if (!Number.isSafeInteger(fromLine) || fromLine < 0) throw new UsageError('--from-line must be a line number.');
      // before the database is opened: an error of the file would come while nothing waits for it
      const stream: Readable = file === '-' ? stdin : await openText(file);
      const options = {
        dryRun: values['dry-run'],
        update: values.update,
        admins: values['with-admins'],
        trustConfirmations: values['trust-confirmations'],
        fromLine,
      };
      let done = 0;
      const counts = await withDatabase(config, terminal, async (parts) => {
        const guarded = guardedGroups(parts.config);
        const reports = importFile(contextOf(parts, terminal), by, stream, format, { ...options, guarded });
        for (;;) {
          const next = await reports.next();
          if (next.done) return next.value;
          const report = next.value;
          if (report.kind !== 'progress') {
            const where = [`line ${report.line}`, report.column].filter(Boolean).join(': ');
            const said = report.kind === 'refused' ? importReasons[report.reason] : importNotes[report.reason];
            stderr.write(`${stderr.isTTY ? '\r' : ''}${harmless(`${where} ${said}`)}\n`);
          } else {
            done = report.line;
            const { created, updated, unchanged, refused } = report.counts;
            progress(
              terminal,
              created + updated + unchanged + refused,
              `line ${done}: ${created} created, ${updated} updated, ${unchanged} unchanged, ${refused} rejected`,
            );
          }
        }
      }).catch((error: unknown) => {
        if (done > 0)
          stderr.write(`\nStopped. Everything up to line ${done} is stored: continue with --from-line ${done}.\n`);
        throw ofTheFile(error, file);
      });
      if (stderr.isTTY) stderr.write('\n');
      const { created, updated, unchanged, refused } = counts;
      return {
        code: counts.refused > 0 ? 1 : 0,
        json: { ...counts, dry_run: options.dryRun },
        text: `${options.dryRun ? 'Nothing was stored. An import would report: ' : ''}${created} created, ${updated} updated, ${unchanged} unchanged, ${refused} rejected.`,
      };
    },
  },
};
