// Reads a large file of JSON Lines, each with its place, in constant memory.
import { UsageError } from '../command.ts';
import { ofTheFile, openText } from '../file.ts';

export interface JsonLine {
  /** From 1. */
  line: number;
  /** The first byte. */
  place: number;
  /** Undefined if the line is not JSON. */
  value: unknown;
}

/** Bytes of a line: more than any entry of an export has. */
export const maxLine = 1024 * 1024;

/** @throws UsageError if the file cannot be read, or a line is too long */
export async function* readJsonLines(file: string): AsyncGenerator<JsonLine> {
  let rest = Buffer.alloc(0);
  let [line, place] = [0, 0];
  const take = (end: number): JsonLine => {
    const text = rest.toString('utf8', 0, end);
    const taken = { line: ++line, place, value: jsonOf(text) };
    place += end + 1;
    rest = rest.subarray(end + 1);
    return taken;
  };
  const stream = await openText(file);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) yield take(end);
      if (rest.length > maxLine) throw new UsageError(`Line ${line + 1} of the file ${file} has more than 1 MiB.`);
    }
  } catch (error) {
    throw ofTheFile(error, file);
  } finally {
    stream.destroy();
  }
  if (rest.length > 0) yield take(rest.length);
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text.trim() === '' ? 'null' : text);
  } catch {
    return undefined;
  }
}
