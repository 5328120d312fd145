// Reads message catalogues: JSON objects of messages by key, in one folder for each language.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The plural categories of CLDR; each language uses some of them, and every language uses `other`. */
export const pluralCategories = ['zero', 'one', 'two', 'few', 'many', 'other'] as const;

/** A message: its text, or a text for each plural category that the language has. */
export type Message = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

export type Catalogue = Record<string, Message>;

function isMessage(value: unknown): value is Message {
  if (typeof value === 'string') return true;
  if (typeof value !== 'object' || value === null || !('other' in value)) return false;
  return Object.entries(value).every(
    ([category, text]) => pluralCategories.some((known) => known === category) && typeof text === 'string',
  );
}

/** @throws Error whose message is one sentence that names the file */
function readCatalogue(file: string, bytes: Buffer): Catalogue {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    throw new Error(`The message catalogue ${file} is not JSON: ${reason}.`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`The message catalogue ${file} must be one JSON object.`);
  for (const [key, message] of Object.entries(value)) {
    if (!isMessage(message))
      throw new Error(
        `The message "${key}" in ${file} must be a text, or texts by plural category (${pluralCategories.join(', ')}) with "other" among them.`,
      );
  }
  return value as Catalogue;
}

/** The messages of one file, and the name of its language. */
export class CatalogueFile {
  readonly language: string;
  readonly file: string;
  /** As it was at the start, whatever becomes of the file. */
  #bytes: Buffer | undefined;
  #catalogue: Catalogue | undefined;

  constructor(language: string, file: string) {
    this.language = language;
    this.file = file;
    this.#bytes = readFileSync(file);
  }

  /** Parsed on first use: most processes show few of the languages, and the objects take much more memory than the bytes. */
  get catalogue(): Catalogue {
    if (this.#bytes) this.#catalogue = readCatalogue(this.file, this.#bytes);
    this.#bytes = undefined;
    return this.#catalogue!;
  }
}

/**
 * Reads every catalogue below the folder `messages`: those of users in `LANGUAGE/`, and those of the console in `LANGUAGE/console/`. The former
 * names `LANGUAGE.json` and `LANGUAGE.PART.json` are still read, for the folder of an operator.
 */
export function readCatalogues(messages: string): CatalogueFile[] {
  const read = (language: string, path: string): CatalogueFile[] =>
    path.endsWith('.json') ? [new CatalogueFile(language, join(messages, path))] : [];
  return foldersAndFiles(messages).flatMap((entry) => {
    if (!entry.isDirectory()) return read(entry.name.split('.')[0]!, entry.name);
    const folders = [entry.name, join(entry.name, 'console')];
    return folders.flatMap((folder) =>
      foldersAndFiles(join(messages, folder))
        .filter((one) => !one.isDirectory())
        .flatMap(({ name }) => read(entry.name, join(folder, name))),
    );
  });
}

const foldersAndFiles = (folder: string) => (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []);
