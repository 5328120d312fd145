// Reads a YAML file as plain data: within bounds, without merge keys, and without tags that are not named (federation FR47).
import { open } from 'node:fs/promises';
import { isCollection, isNode, isScalar, parseDocument, visit, type CollectionTag, type ScalarTag } from 'yaml';
import { UsageError } from '../command.ts';
import { ofTheFile } from '../file.ts';

/** Bytes. */
const maxSize = 16 * 1024 * 1024;

/** A value with a tag that is named, as data: what the product would look up is unknown here. */
export interface Tagged {
  tag: string;
  value: unknown;
}
export const isTagged = (value: unknown): value is Tagged =>
  typeof value === 'object' && value !== null && 'tag' in value && Object.hasOwn(value, 'tag') && Tags.has(value);
/** No mapping of a file can look like a tagged value. */
const Tags = new WeakSet<object>();

/** A tag in its three forms: of a text, a list and a mapping. */
function formsOf(tag: string): (ScalarTag | CollectionTag)[] {
  const resolve = (value: unknown) => {
    const tagged: Tagged = { tag, value };
    Tags.add(tagged);
    return tagged;
  };
  const plain = (node: unknown): unknown => (isScalar(node) || isCollection(node) ? (node.toJSON() as unknown) : node);
  return [
    { tag, resolve },
    { tag, collection: 'seq', resolve: (seq) => resolve(plain(seq)) },
    { tag, collection: 'map', resolve: (map) => resolve(plain(map)) },
  ];
}

/** @param tags such as `!Find` @throws UsageError if the file cannot be read, or is no YAML document */
export async function readYaml(file: string, tags: readonly string[] = []): Promise<unknown> {
  const text = await readText(file);
  const document = parsed(text, file, tags);
  const fault = document.errors[0] ?? document.warnings[0];
  const refused = (line: number) => new UsageError(`The file ${file} is no YAML that can be read: line ${line}.`);
  if (fault) throw refused(fault.linePos?.[0].line ?? 1);
  visit(document, {
    Map(_key, { items }) {
      const keys = new Set<string>();
      for (const { key } of items) {
        const name = String(isScalar(key) ? key.value : key);
        if (keys.has(name)) throw refused(text.slice(0, isNode(key) ? key.range?.[0] : 0).split('\n').length);
        keys.add(name);
      }
    },
  });
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch {
    throw new UsageError(`The file ${file} has too many aliases.`);
  }
}

function parsed(text: string, file: string, tags: readonly string[]) {
  try {
    return parseDocument(text, {
      version: '1.2',
      schema: 'core',
      merge: false,
      prettyErrors: true,
      // the library would compare each key with every other one
      uniqueKeys: false,
      customTags: tags.flatMap(formsOf),
    });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`The values of the file ${file} are nested too deep.`);
    throw error;
  }
}

async function readText(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      if ((await handle.stat()).size > maxSize) throw new UsageError(`The file ${file} has more than 16 MiB.`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw ofTheFile(error, file);
  }
}
