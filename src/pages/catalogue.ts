// Reads message catalogues: JSON objects of messages by key, one file or several for each language.
import { readFileSync } from 'node:fs';

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
export function readCatalogue(file: string): Catalogue {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
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
