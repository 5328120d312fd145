// Reads and writes files of users row by row, as CSV with a head or as JSON Lines.
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { OAuthError } from '../../oauth/errors.ts';
import {
  identityColumns,
  isAttributeColumn,
  isProblem,
  readUserRecord,
  readUserRow,
  type RecordProblem,
  userColumns,
  type UserRecord,
  userRow,
} from '../../rules/users/user-record.ts';
import { markedCell } from '../../rules/users/table-cell.ts';

export const transferFormats = ['csv', 'jsonl'] as const;
export type TransferFormat = (typeof transferFormats)[number];

/** The media type of each format, for HTTP. */
export const mediaTypes: Record<TransferFormat, string> = { csv: 'text/csv', jsonl: 'application/jsonl' };

/** One row: a user, or a problem; `line` is the line at which the row begins, from 1. */
export type ReadRow = { line: number } & ({ record: UserRecord } | { problem: RecordProblem });

/** The maximum size of a row, in bytes; the message of a refusal names it. */
const maxRow = 64 * 1024;

/**
 * Reads a file. A table may be separated by commas, semicolons or tabs, as spreadsheets of different languages write it.
 * @throws HeadProblem if it is empty, not UTF-8, or its head is not that of a table of users
 */
export async function* readUsers(stream: Readable, format: TransferFormat): AsyncGenerator<ReadRow> {
  const chunks = chunksOf(stream);
  const begin = await beginningOf(chunks);
  if (!isUtf8Beginning(begin)) throw headProblems.encoding();
  const whole = Readable.from(joined(begin, chunks));
  let rows = 0;
  for await (const row of format === 'csv' ? readTable(whole, separatorOf(begin)) : readLines(whole)) {
    rows++;
    yield row;
  }
  if (rows === 0) throw headProblems.empty();
}

async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer | string>)
    yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

/** The first bytes: at least the first line, unless it is longer than any row. */
async function beginningOf(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let begin = Buffer.alloc(0);
  while (begin.length < maxRow && !begin.includes(10)) {
    const next = await chunks.next();
    if (next.done) break;
    begin = Buffer.concat([begin, next.value]);
  }
  return begin;
}

async function* joined(begin: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (begin.length > 0) yield begin;
  yield* rest;
}

/** A later row in another encoding is refused by itself. */
function isUtf8Beginning(bytes: Buffer): boolean {
  try {
    // the last character may be cut off
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, maxRow), { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** No name of a column has any of these, so the head tells. */
function separatorOf(begin: Buffer): string {
  const [head = ''] = begin.toString('utf8', 0, maxRow).split(/[\r\n]/);
  return [',', ';', '\t'].find((separator) => head.includes(separator)) ?? ',';
}

const rowOf = (line: number, record: UserRecord | RecordProblem): ReadRow =>
  isProblem(record) ? { line, problem: record } : { line, record };

async function* readTable(stream: Readable, delimiter: string): AsyncGenerator<ReadRow> {
  const skipped: { line: number; code: string }[] = [];
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    columns: (head: string[]) => columnsOf(head),
    skip_empty_lines: true,
    max_record_size: maxRow,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) =>
      void skipped.push({ line: Number(error?.['lines'] ?? 0), code: error?.code ?? '' }),
  });
  stream.on('error', (error) => parser.destroy(error));
  stream.pipe(parser);
  let line = 1;
  const problems = function* (): Generator<ReadRow> {
    for (const { line, code } of skipped.splice(0))
      yield {
        line,
        problem: {
          column: '',
          reason: code === 'CSV_RECORD_INCONSISTENT_COLUMNS' ? 'cells' : 'csv',
        },
      };
  };
  try {
    for await (const row of parser as AsyncIterable<{ record: Record<string, string>; info: { lines: number } }>) {
      yield* problems();
      yield rowOf(row.info.lines, readUserRow(row.record));
      line = row.info.lines + 1;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    yield* problems();
    yield {
      line,
      problem: { column: '', reason: 'csv-rest' },
    };
    return;
  } finally {
    stream.unpipe(parser);
    parser.destroy();
  }
  yield* problems();
}

/** Nothing of the file can be read: it is empty, not UTF-8, or its head is not that of a table of users. */
export class HeadProblem extends OAuthError {
  readonly kind: 'missing' | 'unknown' | 'twice' | 'separator' | 'space' | 'encoding' | 'empty';
  /** The name of the wrong column, or the separator, if a page can show it. */
  readonly column: string;
  constructor(kind: HeadProblem['kind'], column: string, description: string) {
    super('invalid_request', description);
    this.kind = kind;
    this.column = column;
  }
}

const headProblems = {
  empty: () => new HeadProblem('empty', 'username', 'the file has no users'),
  encoding: () =>
    new HeadProblem(
      'encoding',
      'UTF-8',
      'the file is not in UTF-8, but perhaps in Latin-1 or UTF-16: save it from the spreadsheet as CSV UTF-8',
    ),
  separator: (separator: string) =>
    new HeadProblem(
      separator === '' ? 'space' : 'separator',
      separator,
      `the columns in the first line are separated by ${separator || 'spaces'}: use a comma, a semicolon or a tab`,
    ),
};

/** Names of columns with another separator between them. */
const otherSeparator = /^["']?[a-z_.]+["']?\s*([|:^~#/]| {1,4})\s*["']?[a-z_.]+/i;

/** Compares names in any case. @throws HeadProblem */
function columnsOf(head: string[]): string[] {
  const names = head.map((cell) => cell.trim().toLowerCase());
  const known = [...userColumns, ...identityColumns];
  const unknown = names.findIndex((column) => !known.includes(column) && !isAttributeColumn(column));
  if (unknown >= 0) {
    const given = head[unknown]!.trim();
    const separator = head.length === 1 ? otherSeparator.exec(given)?.[1] : undefined;
    if (separator !== undefined) throw headProblems.separator(separator.trim());
    const column = /^[\w. -]{1,64}$/.test(given) ? given : '';
    throw new HeadProblem(
      'unknown',
      column,
      `the file's head names ${column === '' ? 'a column' : `the column ${column}`} that is unknown: the columns are ${userColumns.join(', ')}, and attributes.NAME for an attribute`,
    );
  }
  if (!names.includes('username'))
    throw new HeadProblem('missing', 'username', 'the file has no column username: its first line is the head');
  const twice = names.find((column, index) => names.indexOf(column) !== index);
  if (twice !== undefined) throw new HeadProblem('twice', twice, `the file's head names the column ${twice} twice`);
  return names;
}

async function* readLines(stream: Readable): AsyncGenerator<ReadRow> {
  let line = 0;
  for await (const text of linesOf(stream)) {
    line++;
    if (text === undefined) yield { line, problem: { column: '', reason: 'long' } };
    else if (text.trim() !== '') yield rowOf(line, readLine(text));
  }
}

function readLine(text: string): UserRecord | RecordProblem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { column: '', reason: 'json' };
  }
  return readUserRecord(value);
}

/** Yields the lines of a stream without their ends, or undefined for a line that is too long. */
async function* linesOf(stream: Readable): AsyncGenerator<string | undefined> {
  let kept: Buffer[] = [];
  let length = 0;
  const take = () => {
    const text =
      length > maxRow
        ? undefined
        : Buffer.concat(kept)
            .toString()
            .replace(/^\ufeff/, '');
    [kept, length] = [[], 0];
    return text;
  };
  const keep = (bytes: Buffer) => {
    length += bytes.length;
    if (length <= maxRow) kept.push(bytes);
    else kept = [];
  };
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      keep(rest.subarray(0, end));
      yield take();
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) keep(rest);
  }
  if (length > 0) yield take();
}

/** Writes the head of a file. @param hashes whether the file has password hashes @param attributes the names of attributes */
export function headOf(format: TransferFormat, hashes: boolean, attributes: readonly string[] = []): string {
  return format === 'csv' ? stringify([columnsToWrite(hashes, attributes)]) : '';
}

/** Writes rows. It marks a cell that a spreadsheet would run as a formula; an import removes the mark. */
export function rowsOf(
  format: TransferFormat,
  records: readonly Record<string, unknown>[],
  hashes: boolean,
  attributes: readonly string[] = [],
): string {
  if (format === 'jsonl') return records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const columns = columnsToWrite(hashes, attributes);
  return stringify(
    records.map((record) => userRow(record, columns)).map((row) => columns.map((column) => markedCell(row[column]!))),
  );
}

const columnsToWrite = (hashes: boolean, attributes: readonly string[]) => [
  ...userColumns.filter((column) => hashes || column !== 'password_hash'),
  ...attributes.map((name) => `attributes.${name}`),
];
