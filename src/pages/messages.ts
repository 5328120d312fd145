// Gathers the messages of every language, and makes the tools by which a page shows them.
import { basename, dirname } from 'node:path';
import type { Brand } from '../domain/appearance/appearance.ts';
import { type Catalogue, readCatalogues } from './catalogue.ts';
import { languageTools, menuName } from './language.ts';
import { TemplateError } from './template-error.ts';
import type { AccountView } from './views/index.ts';

export const defaultLocale = 'en';

/** The pages of the console and those that review a registration: their texts come in fewer languages than those of users. */
export const isForAdministrators = (page: string): boolean => /^(console|registration)-/.test(page);

/** The key of a text of the console; every other key is a text for users. */
export const isOfConsole = (key: string): boolean => /^(console\.|copy\b|event\.|registration\.|setting\.)/.test(key);

type Tools = ReturnType<typeof languageTools>;
/** Where messages come from. */
type Source = { readonly catalogue: Catalogue };

/**
 * @param folders the folders `messages`: the built-in one first, then those of an operator, the more important ones last
 * @param more catalogues by locale, which go before those in files
 */
export function createMessages(folders: readonly string[], more: Readonly<Record<string, Catalogue>>) {
  const messages = new Map<string, Source[]>();
  const withConsole = new Set<string>();
  const add = (language: string, source: Source, name: string): string => {
    const locale = canonical(language);
    if (locale === undefined) throw new TemplateError(`The name of ${name} is not a language tag such as "de".`);
    messages.set(locale, [...(messages.get(locale) ?? []), source]);
    return locale;
  };
  const [builtIn = '', ...others] = folders;
  for (const source of readCatalogues(builtIn)) {
    const locale = add(source.language, source, source.file);
    if (basename(dirname(source.file)) === 'console') withConsole.add(locale);
  }
  // these are parsed at once, so that a fault in the folder of an operator stops the start
  const read = [
    ...others.flatMap(readCatalogues).map((source) => ({ source, language: source.language, name: source.file })),
    ...Object.entries(more).map(([tag, catalogue]) => ({
      source: { catalogue },
      language: tag,
      name: `catalogue "${tag}"`,
    })),
  ];
  for (const { source, language, name } of read) {
    const locale = add(language, source, name);
    if (Object.keys(source.catalogue).some(isOfConsole)) withConsole.add(locale);
  }

  const availableLocales = [...messages.keys()].sort((a, b) =>
    a === defaultLocale ? -1 : b === defaultLocale ? 1 : a < b ? -1 : 1,
  );
  const consoleLocales = availableLocales.filter((locale) => chainOf(locale).some((tag) => withConsole.has(tag)));

  /** The tools of a language under a name of the product. Most processes show few of the languages, so that each is made on first use. */
  const toolsUnder = (product: string | undefined) => {
    const made = new Map<string, Tools>();
    return (locale: string, passwordless: boolean): Tools => {
      const name = `${locale} ${passwordless}`;
      const found = made.get(name) ?? languageTools(locale, merged(locale, product, passwordless));
      made.set(name, found);
      return found;
    };
  };
  /** Sentence by sentence: de-AT, then de, then English. */
  const merged = (locale: string, product: string | undefined, passwordless: boolean) => {
    const chain = [defaultLocale, ...chainOf(locale)];
    const all = new Map(
      chain.flatMap((tag) => messages.get(tag) ?? []).flatMap(({ catalogue }) => Object.entries(catalogue)),
    );
    if (product !== undefined) all.set('product', product);
    if (!passwordless) return all;
    return new Map([...all].map(([key, text]) => [key, all.get(`${key}.passwordless`) ?? text]));
  };
  const usual = toolsUnder(undefined);
  /** The tools of each product name that a brand has. */
  const branded = new WeakMap<Brand, typeof usual>();
  /** Names in the language menu. */
  const names = new Map<string, string>();

  return {
    /** BCP 47 tags, English first. */
    availableLocales,
    /** Those in which the console is written. */
    consoleLocales,
    toolsOf(locale: string, brand: Brand | undefined, account?: AccountView): Tools {
      let tools = usual;
      if (brand?.productName !== undefined) {
        tools = branded.get(brand) ?? toolsUnder(brand.productName);
        branded.set(brand, tools);
      }
      return tools(messages.has(locale) ? locale : defaultLocale, account?.passwordless === true);
    },
    nameOf(tag: string): string {
      const name = names.get(tag) ?? menuName(tag);
      names.set(tag, name);
      return name;
    },
  };
}

function canonical(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/** "de-AT": de, de-AT. */
const chainOf = (locale: string): string[] =>
  locale.split('-').map((_part, index, parts) => parts.slice(0, index + 1).join('-'));
