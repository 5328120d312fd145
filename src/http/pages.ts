// Turns a page's name and data into an HTML document, and holds the stylesheet and the scripts that pages use.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta, type TemplateFunction } from 'eta/core';
import {
  examples,
  mailExamples,
  mailNames,
  type AccountView,
  type ClientView,
  type MailContent,
  type MailName,
  type PageContext,
  type PageName,
  type Pages,
} from './views/index.ts';

/** A file that pages load. Its path holds a digest of its body, so it can be cached for ever. */
export interface Asset {
  /** Path below the base address, e.g. "/assets/style.0123456789abcdef.css". */
  path: string;
  contentType: string;
  body: string;
}

export interface RenderOptions {
  /** One of `availableLocales`; anything else is shown in English. */
  locale: string;
  /** Goes on inline scripts, for a policy that names a nonce; the hash alone is enough. */
  nonce?: string;
}

export interface PageRenderer {
  /** A complete HTML document. Throws only for a template's own mistake or an address that nobody validated. */
  render<N extends PageName>(name: N, data: Pages[N], options: RenderOptions): string;
  /** A mail's subject, and the mail as text and as HTML; the issuer says whom it comes from. Throws as render() does. */
  mail(
    name: MailName,
    content: MailContent,
    options: { locale: string; issuer: string },
  ): { subject: string; text: string; html: string };
  /** Stylesheets and scripts: every .css and .js file of the templates by its name, but what stands inside another one or a page. */
  assets: ReadonlyMap<string, Asset>;
  /** The source expression that lets the form_post page's inline script run, quotes included: `'sha256-…'`. */
  formPostScriptHash: string;
  /** BCP 47 tags of the catalogues, English first. */
  availableLocales: readonly string[];
  /** The best catalogue for OpenID Connect's `ui_locales`, else for the browser's Accept-Language, else English. */
  chooseLocale(uiLocales: string | undefined, acceptLanguage: string | undefined): string;
}

export interface PagesOptions {
  /** Files here stand in for those of the same name in /templates; further templates and catalogues are added. */
  templatesDir?: string | undefined;
  basePath: PageContext['basePath'];
  /** Catalogues by locale, laid over those in files. */
  catalogues?: Record<string, Record<string, string>>;
}

/** Where the pages' own templates are. */
export const builtInTemplates = fileURLToPath(new URL('../../templates/', import.meta.url));

const defaultLocale = 'en';
/** Scripts that are no files of their own to a browser: they stand in a page, or have a route for themselves. */
const inline = new Set(['form-post.js', 'check-session.js']);

/** Markup that is safe to print as it is: the only thing that escaping lets through (security R6, R93). */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(value: unknown): string {
  if (value instanceof Html) return value.text;
  if (value === undefined || value === null) return '';
  return String(value).replace(/[&<>"']/g, (character) => entities[character]!);
}

// Direction overrides, invisible characters and line breaks let a name look like another one, or like our own words.
const invisible =
  /[\p{Cc}\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** Text of unknown origin on one line and without characters that cannot be seen. */
function clean(value: string): string {
  return value.replace(/\s+/g, ' ').replace(invisible, '').trim();
}

/** Like `clean`, for names: short enough that what follows stays in sight. */
function cleanName(value: string): string {
  const text = clean(value);
  if (!/[\p{L}\p{N}\p{S}\p{P}]/u.test(text)) return '';
  const characters = [...text];
  return characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : text;
}

/**
 * The address to link to or to load an image from, or undefined for one that a page must not lead to: only https, or
 * http on the person's own machine, and never with a user name in it (security R93).
 */
export function linkTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (url.username !== '' || url.password !== '') return undefined;
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback) ? url.href : undefined;
}

/** A form_post's action. Registration validated it; were it not a web address, showing a page would be the worse answer. */
function postTarget(uri: string): string {
  if (!/^https?:\/\//i.test(uri) || !URL.canParse(uri))
    throw new Error('a response can only be posted to http or https');
  return uri;
}

/** A validated redirect target as a link. Native applications have schemes of their own, but none of these is theirs. */
function redirectTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  return /^(javascript|data|vbscript|blob|file|about|view-source):$/.test(new URL(uri).protocol) ? undefined : uri;
}

/** Language tags in the order of preference of an Accept-Language header; the length is bounded since anyone can send one. */
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

/** RFC 4647 section 3.4: the tag itself, then shorter and shorter ones, then any relative in the same language. */
function lookup(available: readonly string[], tag: string): string | undefined {
  const wanted = tag.toLowerCase().split('-');
  for (let length = wanted.length; length > 0; length--) {
    const range = wanted.slice(0, length).join('-');
    const match = available.find((locale) => locale.toLowerCase() === range);
    if (match !== undefined) return match;
  }
  return wanted[0] === '' ? undefined : available.find((locale) => locale.toLowerCase().startsWith(`${wanted[0]}-`));
}

const rightToLeftScripts = new Set(['Arab', 'Hebr', 'Thaa', 'Syrc', 'Nkoo', 'Adlm', 'Rohg']);

function direction(locale: string): 'ltr' | 'rtl' {
  return rightToLeftScripts.has(new Intl.Locale(locale).maximize().script ?? '') ? 'rtl' : 'ltr';
}

/** The first letter of a name, for the tile that stands where there is no logo. */
function initial(name: string, locale: string, graphemes: () => Intl.Segmenter): string {
  // what is no letter of ASCII, or may be joined by the next character, is left to those who know all scripts
  const plain = /^([A-Za-z0-9])(?:[\x20-\x7e]|$)/.exec(name)?.[1];
  if (plain !== undefined && !/^i$/i.test(plain)) return plain.toUpperCase();
  const letters = [...graphemes().segment(name)].map((part) => part.segment);
  const letter = letters.find((segment) => /^[\p{L}\p{N}]/u.test(segment)) ?? letters[0] ?? '';
  return letter.toLocaleUpperCase(locale);
}

/** Drops comments, indentation and what needs not stand before a closing brace: a stylesheet is read by people here and by browsers there. */
function shrinkCss(css: string): string {
  return css
    .replace(
      /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\*[^]*?\*\/|;?\s*(?=\})/g,
      (_all, quoted?: string) => quoted ?? '',
    )
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

/** Without lines that are comments, and without indentation; a script in which either may be part of a text stays as it is. */
function shrinkJs(js: string): string {
  const kept = /`|\/\*/.test(js) ? js : js.replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, '\n');
  return kept.trim();
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}

/** The files of a folder, or of the folder `messages` in it, that end in `extension`. */
function list(folder: string, extension: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.endsWith(extension));
}

function firstLine(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split('\n').map((line) => line.trim());
  // The engine begins with a heading of its own; what is wrong stands in the next line that says something.
  return lines.find((line) => line !== '' && line !== 'Bad template syntax') ?? 'unknown mistake';
}

/** A mistake in a template, with the file that holds it; so said once, by the innermost one. */
class TemplateError extends Error {}

function readCatalogue(file: string): Record<string, string> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new TemplateError(`The message catalogue ${file} is not JSON: ${firstLine(error)}.`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TemplateError(`The message catalogue ${file} must be one JSON object.`);
  }
  for (const [key, message] of Object.entries(value)) {
    if (typeof message !== 'string') throw new TemplateError(`The message "${key}" in ${file} must be a text.`);
  }
  return value as Record<string, string>;
}

/** Units of time and their length in seconds, the longest first. */
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

type Params = Record<string, string | Html>;

/** Made when it is first asked for: what writes dates and numbers takes memory, and most of it is never used in most languages. */
function later<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** What a template can call, besides the data of its page; templates see all of it under `it`. */
function languageTools(locale: string, messages: ReadonlyMap<string, string>) {
  const message = (key: string): string => {
    const text = messages.get(key);
    if (text === undefined) throw new Error(`there is no message "${key}"`);
    return text;
  };
  const product = messages.get('product') ?? '';
  const productHtml = new Html(escape(product));
  const fill = (text: string, params: Params, show: (value: string | Html) => string): string =>
    text.replace(/\{(\w+)\}/g, (braces, name: string) => (Object.hasOwn(params, name) ? show(params[name]!) : braces));
  /** A message as text: for titles and attributes. */
  const t = (key: string, params: Params = {}): string => {
    const text = message(key);
    // as most are: nothing is filled in
    if (!text.includes('{')) return text;
    return fill(text, { product, ...params }, (value) => clean(typeof value === 'string' ? value : value.text));
  };
  /** A message as markup: what is filled in keeps its own writing direction and stands out a little. */
  const rich = (key: string, params: Params = {}): Html =>
    new Html(
      fill(escape(message(key)), { product: productHtml, ...params }, (value) =>
        typeof value === 'string' ? `<bdi>${escape(clean(value))}</bdi>` : value.text,
      ),
    );
  const graphemes = later(() => new Intl.Segmenter(locale, { granularity: 'grapheme' }));
  const dates = later(() => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }));
  const times = later(() => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }));
  const moments = later(
    () =>
      new Intl.DateTimeFormat(locale, {
        dateStyle: 'medium',
        timeStyle: 'short',
        timeZone: 'UTC',
      }),
  );
  const bytes = later(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'byte', unitDisplay: 'long' }));
  const kilobytes = later(
    () => new Intl.NumberFormat(locale, { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 1 }),
  );
  const numbers = later(() => new Intl.NumberFormat(locale));
  const relative = later(() => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
  const lists = later(() => new Intl.ListFormat(locale, { type: 'conjunction' }));
  const minutes = later(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'minute', unitDisplay: 'long' }));
  const hours = later(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'hour', unitDisplay: 'long' }));
  const days = later(() => new Intl.NumberFormat(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' }));
  return {
    locale,
    dir: direction(locale),
    t,
    rich,
    has: (key: string): boolean => messages.has(key),
    /** "Ada Lovelace (ada)", or the user name alone. */
    label: ({ username, name }: AccountView): string => {
      const shown = cleanName(name ?? '');
      return shown === '' ? cleanName(username) : t('account.label', { name: shown, username: cleanName(username) });
    },
    initial: (name: string): string => initial(name, locale, graphemes),
    date: (value: Date): string => dates().format(value),
    time: (value: Date): string => times().format(value),
    /** A day and a time to the minute, which the text around it has to call UTC. */
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
    /** How long something is good for: "30 minutes", "24 hours", "3 days". @param seconds */
    duration: (seconds: number): string => {
      if (seconds < 7200) return minutes().format(Math.max(1, Math.floor(seconds / 60)));
      return seconds < 2 * 86_400
        ? hours().format(Math.floor(seconds / 3600))
        : days().format(Math.floor(seconds / 86_400));
    },
  };
}

/**
 * Compiles all templates and reads all catalogues, once. Throws an error whose message is one sentence naming the file
 * if one of them is broken. Those of a templates folder are rendered before the first person comes, since some fail with certain data only.
 */
export function createPages({ templatesDir, basePath, catalogues = {} }: PagesOptions): PageRenderer {
  if (templatesDir !== undefined && !existsSync(templatesDir)) {
    throw new TemplateError(`The templates folder ${templatesDir} does not exist.`);
  }
  const folders = templatesDir === undefined ? [builtInTemplates] : [builtInTemplates, templatesDir];
  const locate = (name: string): string => folders.map((folder) => join(folder, name)).findLast(existsSync)!;
  const read = (name: string): string => readFileSync(locate(name), 'utf8');

  const asset = (name: string, extension: string, contentType: string, body: string): Asset => ({
    path: `/assets/${name}.${digest(body)}.${extension}`,
    contentType,
    body,
  });
  // The brand's few values come last, so that they win over the stylesheet's own.
  const css = shrinkCss(`${read('style.css')}\n${read('brand.css')}`);
  const files = (extension: string): string[] => [...new Set(folders.flatMap((folder) => list(folder, extension)))];
  const assets = new Map<string, Asset>();
  for (const file of files('.css').filter((name) => name !== 'brand.css')) {
    const text = file === 'style.css' ? css : shrinkCss(read(file));
    assets.set(file, asset(basename(file, '.css'), 'css', 'text/css; charset=utf-8', text));
  }
  for (const file of files('.js').filter((name) => !inline.has(name)))
    assets.set(file, asset(basename(file, '.js'), 'js', 'text/javascript; charset=utf-8', shrinkJs(read(file))));
  const submitScript = read('form-post.js').trim();
  if (/<\/script/i.test(submitScript))
    throw new TemplateError(`${locate('form-post.js')} must not end its own element.`);

  const messages = new Map<string, Record<string, string>[]>();
  const addCatalogue = (name: string, catalogue: Record<string, string>, source: string): void => {
    let locale: string | undefined;
    try {
      locale = Intl.getCanonicalLocales(name)[0];
    } catch {
      // Said below: the name of the file is what an operator can mend.
    }
    if (locale === undefined) throw new TemplateError(`The name of ${source} is not a language tag such as "de".`);
    messages.set(locale, [...(messages.get(locale) ?? []), catalogue]);
  };
  for (const folder of folders) {
    for (const name of list(join(folder, 'messages'), '.json')) {
      const file = join(folder, 'messages', name);
      // "de.json", or a part of it such as "de.console.json"
      addCatalogue(name.split('.')[0]!, readCatalogue(file), file);
    }
  }
  for (const [locale, catalogue] of Object.entries(catalogues))
    addCatalogue(locale, catalogue, `catalogue "${locale}"`);
  const availableLocales = [...messages.keys()].sort((a, b) =>
    a === defaultLocale ? -1 : b === defaultLocale ? 1 : a < b ? -1 : 1,
  );
  const tools = new Map(
    availableLocales.map((locale) => {
      // Sentence by sentence: de-AT, then de, then English.
      const parts = locale.split('-');
      const chain = [defaultLocale, ...parts.map((_part, index) => parts.slice(0, index + 1).join('-'))];
      const merged = new Map(chain.flatMap((tag) => messages.get(tag) ?? []).flatMap((one) => Object.entries(one)));
      return [locale, languageTools(locale, merged)];
    }),
  );

  const eta = new Eta({ escapeFunction: escape, rmWhitespace: true });
  for (const file of files('.eta')) {
    const path = locate(file);
    let template: TemplateFunction;
    try {
      template = eta.compile(read(file));
    } catch (error) {
      throw new TemplateError(`The template ${path} is broken: ${firstLine(error)}.`, { cause: error });
    }
    eta.loadTemplate(basename(file, '.eta'), function (this: Eta, data, options) {
      try {
        return template.call(this, data, options);
      } catch (error) {
        if (error instanceof TemplateError) throw error;
        throw new TemplateError(`The template ${path} fails: ${firstLine(error)}.`, { cause: error });
      }
    });
  }

  const plainText = new Eta({
    escapeFunction: (value: unknown) => (value instanceof Html ? value.text : String(value ?? '')),
    autoTrim: false,
  });
  const mailTemplate = (kind: 'html' | 'text', engine: Eta): ((data: object) => string) => {
    const path = locate(`mail/${kind}.eta`);
    try {
      const template = engine.compile(readFileSync(path, 'utf8'));
      return (data) => {
        try {
          return template.call(engine, data);
        } catch (error) {
          throw new TemplateError(`The template ${path} fails: ${firstLine(error)}.`, { cause: error });
        }
      };
    } catch (error) {
      throw new TemplateError(`The template ${path} is broken: ${firstLine(error)}.`, { cause: error });
    }
  };
  const mailAsHtml = mailTemplate('html', eta);
  const mailAsText = mailTemplate('text', plainText);
  const mail: PageRenderer['mail'] = (name, content, { locale, issuer }) => {
    const it = { ...(tools.get(locale) ?? tools.get(defaultLocale)!), ...content, name, issuer, clean, cleanName };
    const values = { ...content.values, issuer };
    const data = { ...it, values, subject: it.t(`mail.${name}.subject`, values) };
    const text = mailAsText(data)
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    return { subject: data.subject, text: `${text}\n`, html: mailAsHtml(data) };
  };

  /** A path of the service, as the browser has to ask for it. Anything else could lead away from it. */
  const local = (path: string): string => {
    if (!/^\/(?![/\\])/.test(path)) throw new Error(`"${path}" is not a path of this service`);
    return basePath + path;
  };
  const fixed = {
    clean,
    cleanName,
    local,
    link: linkTarget,
    redirectTarget,
    postTarget,
    localOrLink: (uri: string | undefined): string | undefined => (uri?.startsWith('/') ? local(uri) : linkTarget(uri)),
    /** The address of a stylesheet or a script. */
    asset: (name: string): string => {
      const found = assets.get(name);
      if (!found) throw new Error(`there is no file "${name}" among the stylesheets and scripts`);
      return basePath + found.path;
    },
    submitScript: new Html(submitScript),
  };

  const render = <N extends PageName>(name: N, data: Pages[N], { locale, nonce }: RenderOptions): string => {
    const { client } = data as { client?: ClientView };
    return eta.render(name, {
      ...data,
      ...fixed,
      ...(tools.get(locale) ?? tools.get(defaultLocale)!),
      nonce,
      client: client && { ...client, name: cleanName(client.name) || cleanName(client.clientId) },
    });
  };
  // an operator's own ones are tried at the start; those that come with the service were, by its tests
  if (templatesDir !== undefined) {
    for (const name of Object.keys(examples) as PageName[]) {
      for (const example of examples[name]) render(name, example, { locale: defaultLocale });
    }
    for (const name of mailNames)
      for (const example of mailExamples[name]) mail(name, example, { locale: defaultLocale, issuer: '' });
  }

  return {
    render,
    mail,
    assets,
    formPostScriptHash: `'sha256-${createHash('sha256').update(submitScript).digest('base64')}'`,
    availableLocales,
    chooseLocale(uiLocales, acceptLanguage) {
      const wishes = [
        ...(uiLocales ?? '').slice(0, 1024).split(' '),
        ...(acceptLanguage === undefined ? [] : acceptedLanguages(acceptLanguage)),
      ];
      for (const tag of wishes) {
        const match = lookup(availableLocales, tag);
        if (match !== undefined) return match;
      }
      return defaultLocale;
    },
  };
}
