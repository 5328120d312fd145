// Every language has every text: the same keys, placeholders and plural forms as English, and no text that stayed English.
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/pages/catalogue.ts';
import { isOfConsole } from '../../src/pages/messages.ts';
import { catalogueOf } from './page-states/index.ts';
import { languages, wordListOf } from './words/index.ts';

const english = catalogueOf('en');
/** The same in every language. */
const shared = ['product', 'page.title', 'account.label'];
/** Names of products, which no language translates. */
const productName = /^console\.option\.saml_preset\./;
/** `LANGUAGE_CHECKED=fr` checks one language. */
const chosen = languages.filter((language) => [undefined, '', language].includes(process.env['LANGUAGE_CHECKED']));
const translated = chosen.filter((language) => language !== 'en');

const placeholders = (text: string) => [...new Set([...text.matchAll(/\{\w+\}/g)].map(String))].sort();
const formsOf = (message: Message): [form: string, text: string][] =>
  Object.entries(typeof message === 'string' ? { other: message } : message);

/** The plural forms that whole numbers below a million have, and the form of all others. Some languages have one more for whole millions. */
function categoriesOf(language: string): string[] {
  const rules = new Intl.PluralRules(language);
  const numbers = [...Array(1000).keys(), 1000, 10_000, 100_000];
  return [...new Set([...numbers.map((number) => rules.select(number)), 'other'])].sort();
}

describe.each(translated)('the texts in %s', (language) => {
  const catalogue = catalogueOf(language);
  const hasConsole = Object.keys(catalogue).some(isOfConsole);
  const wanted = Object.keys(english).filter((key) => !shared.includes(key) && (hasConsole || !isOfConsole(key)));
  const pairs = wanted.filter((key) => catalogue[key] !== undefined).map((key) => [key, catalogue[key]!] as const);

  it('are all there, in the order of the English ones, and no other (pages, languages)', () => {
    const keys = Object.keys(catalogue);
    expect({ missing: wanted.filter((key) => !keys.includes(key)) }).toEqual({ missing: [] });
    expect({ unknown: keys.filter((key) => !wanted.includes(key)) }).toEqual({ unknown: [] });
    expect(keys).toEqual(wanted);
  });

  it('have the placeholders of the English ones; a form for one or two things may leave out the number (pages, languages)', () => {
    const wrong = pairs.flatMap(([key, message]) =>
      formsOf(message).flatMap(([form, text]) => {
        const [own, all] = [placeholders(text), placeholders(formsOf(english[key]!).at(-1)![1])];
        const spoken = ['zero', 'one', 'two'].includes(form) && own.every((name) => all.includes(name));
        return spoken || own.join() === all.join()
          ? []
          : [`${key} (${form}): ${own.join(' ')} instead of ${all.join(' ')}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('have each plural form that the language distinguishes, and no other (pages, words)', () => {
    const categories = categoriesOf(language);
    const plural = pairs.filter(([key, message]) => typeof message !== 'string' || typeof english[key] !== 'string');
    for (const [key, message] of plural)
      expect({
        key,
        forms: formsOf(message)
          .map(([form]) => form)
          .sort(),
      }).toEqual({ key, forms: categories });
  });

  it('are not English, except the words that its word list names (pages, languages)', () => {
    const { same } = wordListOf(language);
    const isText = (key: string, text: string) =>
      (isOfConsole(key) ? /[a-z]{3} /i : /\p{L}/u).test(text.replaceAll(/\{\w+\}/g, ''));
    const equal = pairs.flatMap(([key, message]) => {
      if (productName.test(key)) return [];
      const model = formsOf(english[key]!).map(([, text]) => text);
      return formsOf(message).flatMap(([, text]) => (isText(key, text) && model.includes(text) ? [text] : []));
    });
    // a word that no text is any more would hide another text that stays English
    expect([...new Set(equal)].sort()).toEqual([...same].sort());
  });

  it('begin and end as the English ones do, and are not much longer (pages, languages)', () => {
    const ends = (text: string) => /[.?!:…。？！：।؟]["”»«』」]?$/u.test(text);
    const wrong = pairs
      .filter(([key]) => !isOfConsole(key))
      .flatMap(([key, message]) => {
        const model = formsOf(english[key]!).at(-1)![1];
        return formsOf(message)
          .filter(
            ([, text]) => text !== text.trim() || ends(text) !== ends(model) || text.length > 2 * model.length + 20,
          )
          .map(([, text]) => `${key}: ${text}`);
      });
    expect(wrong).toEqual([]);
  });
});

it('every language of the pages has its texts in English order, and English has its own plural forms (pages, words)', () => {
  expect(languages[0]).toBe('en');
  for (const [key, message] of Object.entries(english))
    if (typeof message !== 'string')
      expect({ key, forms: Object.keys(message) }).toEqual({ key, forms: ['one', 'other'] });
});
