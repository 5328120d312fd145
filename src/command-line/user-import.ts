// Defines the command that imports users from a file of any size.
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { importReasons } from '../oauth/import-reasons.ts';
import { importFile } from '../domain/user-transfer.ts';
import { harmless } from '../admin/operations/text-table.ts';
import { by, type Command, parse, type Terminal, UsageError, withDatabase } from './command.ts';
import { formatOf, ofTheFile } from './file.ts';

/** Shows the progress in one line on a terminal; elsewhere it writes a line for each hundred thousand rows. */
function progress({ stderr }: Terminal, rows: number, text: string): void {
  if (stderr.isTTY) stderr.write(`\r${text}`);
  else if (rows % 100_000 < 200 && rows > 200) stderr.write(`${text}\n`);
}

export const userImportCommands: Record<string, Command> = {
  'user import': {
    usage: 'FILE|- [--format csv|jsonl] [--update] [--with-admins] [--dry-run] [--from-line N]',
    summary:
      'Imports users from a file, with their password hashes. Existing users stay unchanged without --update. Standard error reports each refused row.',
    options: [
      ['--format csv|jsonl', 'The format; without it the name of the file decides.'],
      ['--update', 'Changes users that exist; without it they stay as they are.'],
      ['--with-admins', 'Rows may make and change administrators.'],
      ['--dry-run', 'Checks the file and stores nothing.'],
      ['--from-line N', 'Skips the rows before this line.'],
    ],
    async run(config, args, terminal) {
      const { values, positionals } = parse(
        args,
        {
          format: { type: 'string' },
          update: { type: 'boolean', default: false },
          'with-admins': { type: 'boolean', default: false },
          'dry-run': { type: 'boolean', default: false },
          'from-line': { type: 'string', default: '0' },
        },
        ['FILE'],
      );
      const file = positionals[0]!;
      const format = formatOf(values.format, file);
      const { stdin, stderr } = terminal;
      const fromLine = Number(values['from-line']);
      if (!Number.isSafeInteger(fromLine) || fromLine < 0)
        throw new UsageError('--from-line takes a number of a line.');
      const stream: Readable = file === '-' ? stdin : createReadStream(file);
      const options = {
        update: values.update,
        admins: values['with-admins'],
        dryRun: values['dry-run'],
        fromLine,
      };
      let done = 0;
      const counts = await withDatabase(config, async (parts) => {
        const reports = importFile(parts, by, stream, format, options);
        for (;;) {
          const next = await reports.next();
          if (next.done) return next.value;
          const report = next.value;
          if (report.kind === 'refused') {
            const where = [`line ${report.line}`, report.column].filter(Boolean).join(': ');
            stderr.write(`${stderr.isTTY ? '\r' : ''}${harmless(`${where} ${importReasons[report.reason]}`)}\n`);
          } else {
            done = report.line;
            const { created, updated, unchanged, refused } = report.counts;
            progress(
              terminal,
              created + updated + unchanged + refused,
              `line ${done}: ${created} made, ${updated} changed, ${unchanged} unchanged, ${refused} refused`,
            );
          }
        }
      }).catch((error: unknown) => {
        if (done > 0) stderr.write(`\nStopped; all is stored up to line ${done}: go on with --from-line ${done}.\n`);
        throw ofTheFile(error, file);
      });
      if (stderr.isTTY) stderr.write('\n');
      const { created, updated, unchanged, refused } = counts;
      return {
        code: counts.refused > 0 ? 1 : 0,
        json: { ...counts, dry_run: options.dryRun },
        text: `${options.dryRun ? 'Nothing is stored; of this file there would be: ' : ''}${created} made, ${updated} changed, ${unchanged} unchanged, ${refused} refused.`,
      };
    },
  },
};
