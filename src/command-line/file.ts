// Files that commands read and write: their formats, and what may be wrong with one.
import { writeFile } from 'node:fs/promises';
import { type TransferFormat, transferFormats } from '../domain/user-records.ts';
import { OutputClosed, type Terminal, UsageError } from './command.ts';

/** The format that is named, or that of the file by its name. @throws UsageError */
export function formatOf(given: string | undefined, file: string | undefined): TransferFormat {
  const name = given ?? /\.(csv|jsonl)$/i.exec(file ?? '')?.[1]?.toLowerCase();
  const format = transferFormats.find((known) => known === name);
  if (format === undefined) throw new UsageError('--format takes csv or jsonl.');
  return format;
}

/** What an error of a file is for whoever named the file; any other error as it is. */
export function ofTheFile(error: unknown, file: string | undefined): unknown {
  const reasons: Record<string, string> = {
    ENOENT: 'is not there',
    EEXIST: 'is there already: it is not written over',
    EACCES: 'may not be opened',
    EISDIR: 'is a folder',
  };
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined ? error : new UsageError(`The file ${file} ${reason}.`);
}

/** When the reader of the output has caught up, or has closed it. */
const drained = ({ stdout, gone }: Terminal) =>
  new Promise<void>((resolve) => {
    if (!stdout.once || gone?.aborted) return resolve();
    stdout.once('drain', resolve);
    gone?.addEventListener('abort', () => resolve(), { once: true });
  });

/** Writes a text into a new file for its owner only, and never over another one; to standard output without one. @throws UsageError */
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
