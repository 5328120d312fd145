// Recognises the formats of files that commands read and write, writes such files, and explains their errors.
import { open, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { harmless } from '../admin/operations/text-table.ts';
import { type TransferFormat, transferFormats } from '../domain/users/user-records.ts';
import { OutputClosed, type Terminal, UsageError } from './command.ts';

/** The format of the option, or else of the file's name. @throws UsageError */
export function formatOf(given: string | undefined, file: string | undefined): TransferFormat {
  const name = given ?? /\.(csv|jsonl)$/i.exec(file ?? '')?.[1]?.toLowerCase();
  const format = transferFormats.find((known) => known === name);
  if (format === undefined) throw new UsageError('--format must be csv or jsonl.');
  return format;
}

const reasons: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a part of its path is not a folder',
  EEXIST: 'already exists and is not overwritten',
  EACCES: 'cannot be opened: permission denied',
  EPERM: 'cannot be opened: permission denied',
  EISDIR: 'is a directory',
  ENOSPC: 'cannot be written: the disk is full',
};

/** Turns an error of a file into a UsageError that names the file; returns any other error unchanged. */
export function ofTheFile(error: unknown, file: string | undefined): unknown {
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  if (!['open', 'read', 'write', 'stat', 'fstat', 'close'].includes(syscall)) return error;
  const reason = reasons[code] ?? `cannot be used (${code})`;
  return new UsageError(`The file ${file} ${reason}.`);
}

/** Opens a file to be read in parts, and finds out now whether that is possible. @throws UsageError */
export async function openText(file: string): Promise<Readable> {
  try {
    const handle = await open(file);
    const stats = await handle.stat();
    if (!stats.isDirectory()) return handle.createReadStream();
    await handle.close();
  } catch (error) {
    throw ofTheFile(error, file);
  }
  throw new UsageError(`The file ${file} is a directory.`);
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
      // a program gets the text as it is; a terminal could obey it (security R166)
      if (!terminal.stdout.write(terminal.stdout.isTTY ? harmlessLines(part) : part)) await drained(terminal);
      if (terminal.gone?.aborted) throw new OutputClosed();
    }
    return;
  }
  await writeFile(file, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw ofTheFile(error, file);
  });
}

/** Each part ends with a line, and a cell of a table may have several. */
const harmlessLines = (text: string): string => text.split('\n').map(harmless).join('\n');
