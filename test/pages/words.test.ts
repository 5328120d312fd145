// Checks that each language has one word for one thing: the lists in words/ name the word, and others that no message uses for it.
import { describe, expect, it } from 'vitest';
import { catalogueOf } from './page-states/index.ts';
import { languages, wordListOf } from './words/index.ts';

/** The messages of a language by key, each with all its plural forms, without the names of what they are filled with. */
const messagesOf = (language: string): [key: string, text: string][] =>
  Object.entries(catalogueOf(language)).flatMap(([key, message]) =>
    (typeof message === 'string' ? [message] : Object.values(message)).map((text): [string, string] => [
      key,
      text.replaceAll(/\{\w+\}/g, '…'),
    ]),
  );

describe.each(languages)('the messages in %s', (language) => {
  it.each(wordListOf(language).words)(
    'say “$use” where others say $not (pages, words)',
    ({ not, except, where = () => true }) => {
      const wrong = messagesOf(language).filter(
        ([key, text]) => where(key) && not.test(except ? text.replaceAll(except, '…') : text),
      );
      expect(wrong).toEqual([]);
    },
  );
});
