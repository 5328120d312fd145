// Defines a state of a page, and reads the messages of a language.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalogue, readCatalogue } from '../../../src/pages/catalogue.ts';
import { builtInTemplates } from '../../../src/pages/renderer.ts';
import type { PageName, Pages } from '../../../src/pages/views/index.ts';

export type View = { [N in PageName]: { name: N; data: Pages[N] } }[PageName];

/** All messages of a language: those of every file, in the order of the files. */
export function catalogueOf(locale: string): Catalogue {
  const folder = join(builtInTemplates, 'messages');
  const files = readdirSync(folder).filter((name) => name.split('.')[0] === locale);
  return Object.assign({}, ...files.map((file) => readCatalogue(join(folder, file)))) as Catalogue;
}

/** The texts of a language by key; of a message with plural forms, the form of most numbers. */
export function translation(locale: string): Record<string, string> {
  const entries = Object.entries(catalogueOf(locale));
  return Object.fromEntries(entries.map(([key, text]) => [key, typeof text === 'string' ? text : text.other]));
}
