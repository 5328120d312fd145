// Recognises the formats of files that commands read and write, writes such files, and explains their errors.
import { writeFile } from 'node:fs/promises';
import { type TransferFormat, transferFormats } from '../domain/user-records.ts';
import { OutputClosed, type Terminal, UsageError } from './command.ts';

/** The format of the option, or else of the file's name. @throws UsageError */
export function formatOf(given: string | undefined, file: string | undefined): TransferFormat {
  const name = given ?? /\.(csv|jsonl)$/i.exec(file ?? '')?.[1]?.toLowerCase();
  const format = transferFormats.find((known) => known === name);
  if (format === undefined) throw new UsageError('--format must be csv or jsonl.');
  return format;
}

/** Turns an error of a file into a UsageError that names the file; returns any other error unchanged. */
export function ofTheFile(error: unknown, file: string | undefined): unknown {
  const reasons: Record<string, string> = {
    ENOENT: 'does not exist',
    EEXIST: 'already exists and is not overwritten',
    EACCES: 'cannot be opened: permission denied',
    EISDIR: 'is a directory',
  };
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined ? error : new UsageError(`The file ${file} ${reason}.`);
}

/** Resolves when the reader of the output has read what was written, or has closed it. */
const drained = ({ stdout, gone }: Terminal) =>
  new Promise<void>((resolve) => {
    if (!stdout.once || gone?.aborted) return resolve();
    stdout.once('drain', resolve);
    gone?.addEventListener('abort', () => resolve(), { once: true });
  });

/** Writes a text to a new file that only its owner can read, or to standard output; it never overwrites a file. @throws UsageError */
export async function writeText(
  terminal: Terminal,
  file: string | undefined,
  text: AsyncIterable<string>,
): Promise<void> {
  if (file === undefined) {
    for await (const part of text) {
      if (!terminal.stdout.write(part)) await drained(terminal);
      if (terminal.gone?.aborted) throw new OutputClosed();
    }
    return;
  }
  await writeFile(file, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw ofTheFile(error, file);
  });
}
