// Defines a state of a page, and reads the messages of a language.
import { join } from 'node:path';
import { type Catalogue, readCatalogues } from '../../../src/pages/catalogue.ts';
import { builtInTemplates } from '../../../src/pages/renderer.ts';
import { settingGroups } from '../../../src/config/setting-descriptions.ts';
import type { RefusalCode } from '../../../src/oauth/refusals.ts';
import type { PageName, Pages } from '../../../src/pages/views/index.ts';
import type { RefusedView } from '../../../src/pages/views/parts.ts';

export type View = { [N in PageName]: { name: N; data: Pages[N] } }[PageName];

const files: { language: string; file: string; catalogue: Catalogue }[] = readCatalogues(
  join(builtInTemplates, 'messages'),
);
// the English explanations of the settings are those of .env.example
const settings = settingGroups().flatMap((group) => group.settings);
const explained = Object.fromEntries(settings.map(({ name, meaning }) => [`setting.${name}.text`, meaning]));
const place = files.findIndex(({ language, file }) => language === 'en' && file.endsWith('setting-names.json'));
files.splice(place + 1, 0, { language: 'en', file: '.env.example', catalogue: explained });

/** All messages of a language: those of every file, in the order of the files. */
export function catalogueOf(locale: string): Catalogue {
  const own = files.filter(({ language }) => language === locale);
  return Object.assign({}, ...own.map(({ catalogue }) => catalogue)) as Catalogue;
}

/** The texts of a language by key; of a message with plural forms, the form of most numbers. */
export function translation(locale: string): Record<string, string> {
  const entries = Object.entries(catalogueOf(locale));
  return Object.fromEntries(entries.map(([key, text]) => [key, typeof text === 'string' ? text : text.other]));
}

const general = 'console.refused.';
/** The codes for which the catalogue has a sentence, without those of a form only; some are the first part of several codes. */
export const refusedCodes = Object.keys(catalogueOf('en'))
  .filter((key) => key.startsWith(general))
  .map((key) => key.slice(general.length) as RefusalCode);

/** What the sentences name. */
export const refusedParams = Object.fromEntries(
  ['least', 'most', 'grant', 'domain', 'connection', 'name', 'user', 'connections', 'names', 'sentence'].map((name) => [
    name,
    '12',
  ]),
);

/** A refusal for each sentence that a form has of its own. @param words the prefix of these in the catalogue */
export const ownRefusals = (words: string): RefusedView[] =>
  Object.keys(catalogueOf('en')).flatMap((key) => {
    const [, field, code = 'invalid'] = /^\.(\w+)\.refused(?:\.(.+))?$/.exec(key.slice(words.length)) ?? [];
    if (!key.startsWith(words) || field === undefined) return [];
    return [{ field, member: field, code: code as RefusalCode, params: refusedParams, whole: false }];
  });
