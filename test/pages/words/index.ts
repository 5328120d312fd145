// Lists the languages of the pages, English first, each with its word list.
import { createPages } from '../../../src/pages/renderer.ts';
import type { WordList } from './word-list.ts';

const pages = createPages({ basePath: '' });

export const languages = pages.availableLocales;

const lists = new Map<string, WordList>();
for (const language of languages) {
  const { list } = (await import(`./${language}.ts`)) as { list: WordList };
  lists.set(language, list);
}

export const wordListOf = (language: string): WordList => lists.get(language)!;
