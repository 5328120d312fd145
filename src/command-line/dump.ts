// Reads a dump of pg_dump as lines of SQL, whatever its format, and finds in it what a restore needs to know.
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { sealedColumns } from '../repositories/keys/sealed-values.ts';
import { UsageError } from './command.ts';
import { ofTheFile } from './file.ts';

export interface DumpFacts {
  /** The ids of the keys that encrypted its values. */
  keyIds: string[];
  /** The names of its migrations. */
  migrations: string[];
  /** The issuer and the version of the service that started last on the database; undefined if none has. */
  issuer: string | undefined;
  version: string | undefined;
  /** When it was made: the time of its file. */
  madeAt: Date;
  /** In bytes; undefined for a folder. */
  size: number | undefined;
}

const magic = { custom: 'PGDMP', gzip: '\x1f\x8b' };
/** Where a tar archive names its format. */
const tarOffset = 257;

/** @throws UsageError with one sentence */
export async function readDump(file: string): Promise<DumpFacts> {
  const stats = await stat(file).catch((error: unknown) => {
    throw ofTheFile(error, file);
  });
  if (stats.isFile() && stats.size === 0) throw new UsageError(`The file ${file} is empty.`);
  const tables = await tablesIn(file, await linesOf(file, stats.isDirectory()));
  const names = tables.get('migrations')?.map((row) => row['name'] ?? '') ?? [];
  if (names.length === 0)
    throw new UsageError(`The file ${file} is no dump of a database of Gatehouse: it has no migrations.`);
  const [service] = tables.get('service_settings') ?? [];
  const keyIds = [...tables].flatMap(([table, rows]) =>
    sealedColumns.filter((sealed) => sealed.table === table).flatMap(({ column }) => rows.map((row) => row[column])),
  );
  return {
    keyIds: [...new Set(keyIds.filter((id) => id !== undefined))].sort(),
    migrations: names,
    issuer: issuerIn(service?.['settings']),
    version: service?.['version'],
    madeAt: stats.mtime,
    size: stats.isDirectory() ? undefined : stats.size,
  };
}

async function linesOf(file: string, isFolder: boolean): Promise<Readable> {
  const start = isFolder ? undefined : await startOf(file);
  if (isFolder) {
    await stat(join(file, 'toc.dat')).catch(() => {
      throw new UsageError(`The folder ${file} is neither a dump of pg_dump nor a copy of DATA_DIR.`);
    });
  }
  if (start === undefined || start.startsWith(magic.custom) || start.slice(tarOffset, tarOffset + 5) === 'ustar')
    return throughPgRestore(file);
  const bytes = createReadStream(file);
  return start.startsWith(magic.gzip) ? bytes.pipe(createGunzip()).on('error', () => bytes.destroy()) : bytes;
}

async function startOf(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw ofTheFile(error, file);
  }
}

const wanted = new Set(['migrations', 'service_settings', ...sealedColumns.map(({ table }) => table)]);

/** Starts that program on a dump; `complaint` is what it says when it fails. */
function pgRestore(file: string, options: readonly string[]) {
  const child = spawn('pg_restore', ['--data-only', ...options, '--', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const complaint = new Promise<string | undefined>((resolve) => {
    child.on('close', (code) => {
      const reason = printed.trim().replace(/\s+/g, ' ').slice(0, 200).replace(/\.$/, '');
      resolve(code === 0 ? undefined : `pg_restore cannot read ${file}: ${reason}.`);
    });
  });
  return { child, complaint };
}

/** Only that program knows the formats of its own. */
function throughPgRestore(file: string): Readable {
  const some = pgRestore(file, ['--file=-', ...[...wanted].map((table) => `--table=${table}`)]);
  // of a dump that is cut off, another table may be the one that is missing
  const all = pgRestore(file, ['--file=/dev/null']);
  all.child.on('error', () => undefined);
  const { stdout } = some.child;
  some.child.on('error', () =>
    stdout.destroy(
      new UsageError(
        `The dump ${file} can be read only by pg_restore, which is not installed: install the client programs of PostgreSQL, or make a dump with --format=plain.`,
      ),
    ),
  );
  some.child.on('close', (code) => code === 0 || all.child.kill());
  // the output ends before the exit code is known, so its end is held back until then
  complaints.set(
    stdout,
    some.complaint.then((complaint) => complaint ?? all.complaint),
  );
  return stdout;
}

/** The complaint of pg_restore, by the stream of its lines; undefined if it has none. */
const complaints = new WeakMap<Readable, Promise<string | undefined>>();

type Row = Record<string, string | undefined>;

/** The columns that matter, of the tables that matter. */
async function tablesIn(file: string, bytes: Readable): Promise<Map<string, Row[]>> {
  try {
    const read = await copiesIn(file, linesIn(file, bytes));
    const archive = complaints.get(bytes);
    const complaint = archive
      ? await archive
      : read.isCutOff
        ? `The dump ${file} is cut off: the last line of pg_dump, “${lastLine}”, is missing.`
        : undefined;
    if (complaint !== undefined) throw new UsageError(complaint);
    return read.tables;
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`The file ${file} cannot be read to its end.`);
  }
}

/** Characters. A row has less: the longest value that the service stores is an import of 32 MiB. */
const longestLine = 128 * 1024 * 1024;

/** The lines of a text. @throws UsageError if one is so long that it is no row of the service, so that it does not fill the memory */
async function* linesIn(file: string, bytes: Readable): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const text of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    const [end = '', ...others] = text.split('\n');
    parts.push(end);
    length += end.length;
    if (length > longestLine)
      throw new UsageError(`The file ${file} has a line of more than 128 MiB: no dump of Gatehouse has one.`);
    for (const begin of others) {
      yield parts.join('').replace(/\r$/, '');
      parts = [begin];
      length = begin.length;
    }
  }
  if (length > 0) yield parts.join('');
}

/** What pg_dump writes at the beginning and at the end of a plain dump. */
const firstLine = '-- PostgreSQL database dump';
const lastLine = '-- PostgreSQL database dump complete';

async function copiesIn(
  file: string,
  lines: AsyncIterable<string>,
): Promise<{ tables: Map<string, Row[]>; isCutOff: boolean }> {
  const tables = new Map<string, Row[]>();
  let columns: string[] = [];
  let rows: Row[] | undefined;
  let isCopy = false;
  let isOpen = false;
  for await (const line of lines) {
    if (isCopy) {
      if (line === '\\.') isCopy = false;
      else rows?.push(rowOf(line, columns));
      continue;
    }
    const copy = /^COPY (?:"?[^".]+"?\.)?"?(\w+)"? \((.+)\) FROM stdin;$/.exec(line);
    if (copy) {
      const [, table = '', names = ''] = copy;
      isCopy = true;
      columns = names.split(', ').map((name) => name.replaceAll('"', ''));
      rows = wanted.has(table) ? [] : undefined;
      if (rows) tables.set(table, rows);
    } else if (line.startsWith('INSERT INTO '))
      throw new UsageError(`The dump ${file} has INSERT statements: make it again without --inserts.`);
    else if (line === firstLine || line === lastLine) isOpen = line === firstLine;
  }
  return { tables, isCutOff: isOpen || isCopy };
}

const sealedNames = new Set(sealedColumns.map(({ column }) => column));
const plainNames = ['name', 'settings', 'version'];

/** A row of COPY: values separated by tabs. Of an encrypted value only the id of its key stays. */
function rowOf(line: string, columns: readonly string[]): Row {
  const cells = line.split('\t');
  return Object.fromEntries(
    columns.flatMap((column, index) => {
      const cell = cells[index];
      if (cell === undefined || cell === '\\N') return [];
      if (plainNames.includes(column)) return [[column, cell.replaceAll('\\\\', '\\')]];
      if (!sealedNames.has(column)) return [];
      // the byte 3, and the 8 bytes of the id
      const id = /^\\\\x03([0-9a-f]{16})/.exec(cell)?.[1];
      return id === undefined ? [] : [[column, id]];
    }),
  );
}

function issuerIn(settings: string | undefined): string | undefined {
  try {
    const read: unknown = JSON.parse(settings ?? '');
    const issuer = (read as Record<string, unknown>)['BASE_URL'];
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    return undefined;
  }
}
