// Defines a state of a page, and reads the messages of a language.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTemplates } from '../../../src/pages/renderer.ts';
import type { PageName, Pages } from '../../../src/pages/views/index.ts';

export type View = { [N in PageName]: { name: N; data: Pages[N] } }[PageName];

/** All messages of a language: those of every file, in the order of the files. */
export function translation(locale: string): Record<string, string> {
  const folder = join(builtInTemplates, 'messages');
  const files = readdirSync(folder).filter((name) => name.split('.')[0] === locale);
  return Object.assign(
    {},
    ...files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>),
  ) as Record<string, string>;
}
