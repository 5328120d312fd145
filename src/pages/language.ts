// Chooses the language of a page, and writes its messages, names, numbers, dates and lists.
import type { Message } from './catalogue.ts';
import { initialsOf } from './faces.ts';
import { clean, cleanName, escape, Html } from './markup.ts';
import type { AccountView, FaultView, RefusedView } from './views/index.ts';

/** Language tags in the order of preference of an Accept-Language header; the length is bounded, since the header is untrusted. */
function acceptedLanguages(header: string): string[] {
  return header
    .slice(0, 1024)
    .split(',')
    .map((item) => {
      const [tag = '', ...parameters] = item.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
      return { tag, weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag);
}

/** RFC 4647 section 3.4: the tag itself, then shorter and shorter ones, then any relative in the same language and script. */
export function lookup(available: readonly string[], tag: string): string | undefined {
  const wanted = tag.toLowerCase().split('-');
  for (let length = wanted.length; length > 0; length--) {
    const range = wanted.slice(0, length).join('-');
    const match = available.find((locale) => locale.toLowerCase() === range);
    if (match !== undefined) return match;
  }
  const relatives = available.filter((locale) => locale.toLowerCase().startsWith(`${wanted[0]}-`));
  // a reader of traditional Chinese does not read the simplified one
  return relatives.find((locale) => scriptOf(locale) === scriptOf(tag));
}

/** The script that a language is written in, such as "Hans"; undefined for a malformed tag. */
function scriptOf(tag: string): string | undefined {
  try {
    return new Intl.Locale(tag).maximize().script;
  } catch {
    return undefined;
  }
}

/** The best available locale for OpenID Connect's `ui_locales`, else for the browser's Accept-Language, if any matches. */
export function preferredLocale(
  available: readonly string[],
  uiLocales: string | undefined,
  acceptLanguage: string | undefined,
): string | undefined {
  const wishes = [
    ...(uiLocales ?? '').slice(0, 1024).split(' '),
    ...(acceptLanguage === undefined ? [] : acceptedLanguages(acceptLanguage)),
  ];
  for (const tag of wishes) {
    const match = lookup(available, tag);
    if (match !== undefined) return match;
  }
  return undefined;
}

const rightToLeftScripts = new Set(['Arab', 'Hebr', 'Thaa', 'Syrc', 'Nkoo', 'Adlm', 'Rohg']);

function direction(locale: string): 'ltr' | 'rtl' {
  return rightToLeftScripts.has(scriptOf(locale) ?? '') ? 'rtl' : 'ltr';
}

/** The name of a language in that language. */
export function languageName(tag: string): string {
  try {
    return new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** The first letter of a name. */
function initial(name: string, locale: string, graphemes: () => Intl.Segmenter): string {
  // Intl handles other letters than ASCII, and letters that the next character may join
  const plain = /^([A-Za-z0-9])(?:[\x20-\x7e]|$)/.exec(name)?.[1];
  if (plain !== undefined && !/^i$/i.test(plain)) return plain.toUpperCase();
  const first = (isRight: (letter: string) => boolean): string | undefined => {
    for (const { segment } of graphemes().segment(name)) if (isRight(segment)) return segment;
    return undefined;
  };
  const letter = first((segment) => /^[\p{L}\p{N}]/u.test(segment)) ?? first(() => true) ?? '';
  return letter.toLocaleUpperCase(locale);
}

/** Units of time and their length in seconds, the longest first. */
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** The name of a language as a menu shows it: with a capital letter, and of Chinese by its script, as its readers say it. */
export function menuName(tag: string): string {
  const name = languageName(tag.startsWith('zh-') ? `zh-${scriptOf(tag)}` : tag);
  return name.replace(/^\p{L}/u, (letter) => letter.toLocaleUpperCase(tag));
}

/** What fills the braces of a message. The first number selects the plural form. */
type Params = Record<string, string | number | Html>;

/** Makes a value on first use: formatters take memory, and most languages never use most of them. */
function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** The functions that templates call, under `it`, beside the data of their page. */
export function languageTools(locale: string, messages: ReadonlyMap<string, Message>) {
  const numbers = lazy(() => new Intl.NumberFormat(locale));
  const plurals = lazy(() => new Intl.PluralRules(locale));
  const message = (key: string, params: Params): string => {
    const found = messages.get(key);
    if (found === undefined) throw new Error(`there is no message "${key}"`);
    if (typeof found === 'string') return found;
    const count = Object.values(params).find((value) => typeof value === 'number');
    return (count !== undefined && found[plurals().select(count)]) || found.other;
  };
  const product = messages.has('product') ? message('product', {}) : '';
  const productHtml = new Html(escape(product));
  const fill = (text: string, params: Params, show: (value: string | Html) => string): string =>
    text.replace(/\{(\w+)\}/g, (braces, name: string) => {
      if (!Object.hasOwn(params, name)) return braces;
      const value = params[name]!;
      return show(typeof value === 'number' ? numbers().format(value) : value);
    });
  /** A message as text: for titles and attributes. */
  const t = (key: string, params: Params = {}): string => {
    const text = message(key, params);
    // most messages have no parameters
    if (!text.includes('{')) return text;
    return fill(text, { product, ...params }, (value) => clean(typeof value === 'string' ? value : value.text));
  };
  /** A message as markup: its parameters keep their own writing direction, and stand out a little. */
  const rich = (key: string, params: Params = {}): Html =>
    new Html(
      fill(escape(message(key, params)), { product: productHtml, ...params }, (value) =>
        typeof value === 'string' ? `<bdi>${escape(clean(value))}</bdi>` : value.text,
      ),
    );
  /**
   * The sentence of a refusal: the form's own for its field and code, or for what breaks a rule of the field, else that of the code.
   * @param words the prefix of the own ones
   */
  const refusal = (words: string, { field, code, params, whole }: FaultView & Partial<RefusedView>): string => {
    const at = `${words}.${field}.refused`;
    const own = field === undefined ? [] : whole ? [`${at}.${code}`] : [`${at}.${code}`, at];
    const general = [code, code.split('.', 1)[0]!, 'invalid'].map((name) => `console.refused.${name}`);
    return t(
      [...own, ...general].find((key) => messages.has(key))!,
      params,
    );
  };
  const graphemes = lazy(() => new Intl.Segmenter(locale, { granularity: 'grapheme' }));
  const dates = lazy(() => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }));
  const times = lazy(() => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }));
  const moments = lazy(
    () =>
      new Intl.DateTimeFormat(locale, {
        dateStyle: 'medium',
        timeStyle: 'short',
        timeZone: 'UTC',
      }),
  );
  const bytes = lazy(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'byte', unitDisplay: 'long' }));
  const kilobytes = lazy(
    () => new Intl.NumberFormat(locale, { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 1 }),
  );
  const relative = lazy(() => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
  const lists = lazy(() => new Intl.ListFormat(locale, { type: 'conjunction' }));
  const minutes = lazy(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'minute', unitDisplay: 'long' }));
  const hours = lazy(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'hour', unitDisplay: 'long' }));
  const days = lazy(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' }));
  return {
    locale,
    dir: direction(locale),
    t,
    rich,
    refusal,
    has: (key: string): boolean => messages.has(key),
    /** The text in the language of the page, else in English, else in any. */
    inLanguage: (texts: Readonly<Record<string, string>>): string | undefined => {
      const tags = Object.keys(texts);
      return texts[lookup(tags, locale) ?? lookup(tags, 'en') ?? tags[0] ?? ''];
    },
    /** The name of a type of audit event; a type that only an earlier release recorded has none. */
    eventName: (type: string): string => (messages.has(`event.${type}`) ? t(`event.${type}`) : type),
    /** "Ada Lovelace (ada)", or the user name alone. */
    label: ({ username, name }: AccountView): string => {
      const shown = cleanName(name ?? '');
      return shown === '' ? cleanName(username) : t('account.label', { name: shown, username: cleanName(username) });
    },
    /** The letters of the tile of a user or a client. */
    initials: (name: string): string => initialsOf(name, (text) => initial(text, locale, graphemes)),
    date: (value: Date): string => dates().format(value),
    time: (value: Date): string => times().format(value),
    /** A date with a time to the minute; the text around it has to name UTC. */
    moment: (value: Date): string => moments().format(value),
    /** "2 hours ago", in the largest unit that fits. */
    ago: (value: Date): string => {
      const seconds = (value.getTime() - Date.now()) / 1000;
      const [unit, length] = units.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
      return relative().format(Math.round(seconds / length), unit);
    },
    /** "12,345". */
    number: (value: number): string => numbers().format(value),
    /** "12.5 kB". @param count in bytes */
    size: (count: number): string => (count < 1000 ? bytes().format(count) : kilobytes().format(count / 1000)),
    /** "Harbour, Lighthouse, and Pier": each keeps its own writing direction. */
    names: (values: string[]): Html =>
      new Html(
        lists()
          .formatToParts(values)
          .map(({ type, value }) => (type === 'element' ? `<bdi>${escape(cleanName(value))}</bdi>` : escape(value)))
          .join(''),
      ),
    /** "2 minutes", rounded up. @param seconds until then */
    minutes: (seconds: number): string => minutes().format(Math.max(1, Math.ceil(seconds / 60))),
    /** A lifetime: "30 minutes", "24 hours", "3 days". @param seconds */
    duration: (seconds: number): string => {
      if (seconds < 7200) return minutes().format(Math.max(1, Math.floor(seconds / 60)));
      return seconds < 2 * 86_400
        ? hours().format(Math.floor(seconds / 3600))
        : days().format(Math.floor(seconds / 86_400));
    },
  };
}
