// Reads values of a large JSON file one after the other, in constant memory.
import { JSONParser } from '@streamparser/json';
import { UsageError } from '../command.ts';
import { ofTheFile, openText } from '../file.ts';

export interface StreamedValue {
  /** The names and places of the value, from the root. */
  path: (string | number)[];
  value: unknown;
}

/** Bytes: more than any entry of an export has. */
const maxEntry = 64 * 1024 * 1024;

/**
 * @param paths of the values to read, such as `$.users.*`; the others are skipped
 * @throws UsageError if the file cannot be read, or is not JSON
 */
export async function* readJson(file: string, paths: readonly string[]): AsyncGenerator<StreamedValue> {
  const found: StreamedValue[] = [];
  const parser = new JSONParser({ paths: [...paths], keepStack: false });
  let fault: Error | undefined;
  parser.onError = (error) => (fault ??= error);
  parser.onValue = ({ value, key, stack }) => {
    const path = [...stack.slice(1).map((level) => level.key), key].filter((part) => part !== undefined);
    found.push({ path, value });
  };
  let since = 0;
  try {
    for await (const chunk of (await openText(file)) as AsyncIterable<Buffer>) {
      parser.write(chunk);
      if (fault) break;
      since = found.length > 0 ? 0 : since + chunk.length;
      if (since > maxEntry) throw new UsageError(`The file ${file} has an entry of more than 64 MiB.`);
      yield* found.splice(0);
    }
  } catch (error) {
    throw ofTheFile(error, file);
  }
  if (fault || !parser.isEnded) throw new UsageError(`The file ${file} is not valid JSON, or is cut off.`);
  yield* found;
}
