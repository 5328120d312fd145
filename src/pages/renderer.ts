// Renders pages and mails from templates, and prepares the stylesheets and scripts that pages load.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta, type TemplateFunction } from 'eta/core';
import type { Brand } from '../domain/appearance/appearance.ts';
import type { Catalogue } from './catalogue.ts';
import { tileOf } from './faces.ts';
import { preferredLocale } from './language.ts';
import { clean, cleanLines, cleanName, escape, Html, linkTarget, postTarget, redirectTarget } from './markup.ts';
import { createMessages, defaultLocale, isForAdministrators } from './messages.ts';
import { TemplateError } from './template-error.ts';
import type {
  AccountView,
  ClientView,
  LanguageLink,
  MailContent,
  MailName,
  PageContext,
  PageName,
  Pages,
} from './views/index.ts';

/** A file that pages load. Its path contains a digest of its body, so that browsers cache it for ever. */
export interface Asset {
  /** Path below the base address, e.g. "/assets/style.0123456789abcdef.css". */
  path: string;
  contentType: string;
  body: string;
}

export interface RenderOptions {
  /** One of `availableLocales`; a page that lacks the language is shown in English. */
  locale: string;
  /** The nonce of inline scripts, for a policy that names one; the hash alone is enough. */
  nonce?: string;
  /** The look that replaces the service's own. */
  brand?: Brand | undefined;
}

export interface PageRenderer {
  /** A complete HTML document. Throws only for a mistake in a template, or for an address that was not validated. */
  render<N extends PageName>(name: N, data: Pages[N], options: RenderOptions): string;
  /** A mail: the product that it is from, its subject, the mail as text and as HTML, and the logo in it. Throws as render() does. */
  mail(
    name: MailName,
    content: MailContent,
    options: { locale: string; issuer: string; brand?: Brand | undefined },
  ): { product: string; subject: string; text: string; html: string; logo: Buffer | undefined };
  /** Stylesheets and scripts: every .css and .js file of the templates by its name, except those that another file or a page contains. */
  assets: ReadonlyMap<string, Asset>;
  /** The source expression that lets the form_post page's inline script run, quotes included: `'sha256-…'`. */
  formPostScriptHash: string;
  /** BCP 47 tags of the languages of the pages for users, English first. */
  availableLocales: readonly string[];
  /**
   * The best language for OpenID Connect's `ui_locales`, else for the browser's Accept-Language, else English.
   * @param page the page that needs it: those for administrators have fewer languages
   */
  chooseLocale(uiLocales: string | undefined, acceptLanguage: string | undefined, page?: PageName): string;
  /** A sentence of the catalogue. */
  text(key: string, locale: string): string;
  /** The links of the language menu of a page at an address below the base path. */
  languages(page: PageName, here: string): LanguageLink[];
}

export interface PagesOptions {
  /** Files in this folder replace those of the same name in /templates; further templates and catalogues are added. */
  templatesDir?: string | undefined;
  basePath: PageContext['basePath'];
  /** Catalogues by locale, which take precedence over those in files. */
  catalogues?: Record<string, Catalogue>;
}

/** The folder of the templates that come with the service. */
export const builtInTemplates = fileURLToPath(new URL('../../templates/', import.meta.url));

/** Scripts that browsers do not load as files: a page contains them, or they have a route of their own. */
const inline = new Set(['form-post.js', 'check-session.js']);

/** Removes comments, indentation, the last semicolon of a block, and the spaces beside colons, semicolons and braces. */
function shrinkCss(css: string): string {
  return css
    .replace(
      /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\*[^]*?\*\/|;?\s*(?=\})|(?<=[:;{]) | (?=\{)/g,
      (_all, quoted?: string) => quoted ?? '',
    )
    .replace(/\s*\n\s*/g, '\n')
    .replace(/(?<=[{};])\n/g, '')
    .trim();
}

/** Removes comment lines and indentation; a script in which either may be part of a string stays unchanged. */
function shrinkJs(js: string): string {
  const kept = /`|\/\*/.test(js) ? js : js.replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, '\n');
  return kept.trim();
}

/** The focus goes to the notice at the top, or, on a page without one, to the first field that has to be corrected. */
function focusFault(html: string): string {
  const isWrong = html.includes(' aria-invalid="true"') && !html.includes(' id="problem"');
  return isWrong ? html.replace(' aria-invalid="true"', ' aria-invalid="true" autofocus') : html;
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
  // the engine's messages begin with a heading; the next line that is not empty names the mistake
  return lines.find((line) => line !== '' && line !== 'Bad template syntax') ?? 'unknown mistake';
}

/**
 * Reads all templates and the catalogues of the operator, once. Throws an error whose message is one sentence naming the file
 * if one of them is broken. A template may still fail with certain data: checkTemplates() renders an operator's own ones.
 */
export function createPages({ templatesDir, basePath, catalogues = {} }: PagesOptions): PageRenderer {
  if (templatesDir !== undefined && !statSync(templatesDir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new TemplateError(`The templates folder ${templatesDir} does not exist, or is not a folder.`);
  }
  const folders = templatesDir === undefined ? [builtInTemplates] : [builtInTemplates, templatesDir];
  const locate = (name: string): string => folders.map((folder) => join(folder, name)).findLast(existsSync)!;
  const read = (name: string): string => readFileSync(locate(name), 'utf8');

  const asset = (name: string, extension: string, contentType: string, body: string): Asset => ({
    path: `/assets/${name}.${digest(body)}.${extension}`,
    contentType,
    body,
  });
  // the brand comes last, so that its values take precedence
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

  const messages = createMessages(
    folders.map((folder) => join(folder, 'messages')),
    catalogues,
  );
  const { toolsOf } = messages;

  const eta = new Eta({ escapeFunction: escape, rmWhitespace: true });
  /** A template of ours is compiled when it is first needed; a start names a broken one of the operator. */
  const templateOf = (name: string, engine: Eta): TemplateFunction => {
    const path = locate(name);
    const source = readFileSync(path, 'utf8');
    const compile = (): TemplateFunction => {
      try {
        return engine.compile(source);
      } catch (error) {
        throw new TemplateError(`The template ${path} is broken: ${firstLine(error)}.`, { cause: error });
      }
    };
    let template = path === join(builtInTemplates, name) ? undefined : compile();
    return function (this: Eta, data, options) {
      template ??= compile();
      try {
        return template.call(this, data, options);
      } catch (error) {
        if (error instanceof TemplateError) throw error;
        throw new TemplateError(`The template ${path} fails: ${firstLine(error)}.`, { cause: error });
      }
    };
  };
  for (const file of files('.eta')) eta.loadTemplate(basename(file, '.eta'), templateOf(file, eta));

  const plainText = new Eta({
    escapeFunction: (value: unknown) => (value instanceof Html ? value.text : String(value ?? '')),
    autoTrim: false,
  });
  /** A template that is no page, such as `mail/text.eta`. */
  const fragment = (file: string, engine: Eta): ((data: object) => string) => {
    const template = templateOf(file, engine);
    return (data) => template.call(engine, data);
  };
  const mailAsHtml = fragment('mail/html.eta', eta);
  const mailAsText = fragment('mail/text.eta', plainText);
  const snippets = new Map(
    [...new Set(folders.flatMap((folder) => list(join(folder, 'snippets'), '.eta')))].map((file) => [
      basename(file, '.eta'),
      fragment(`snippets/${file}`, plainText),
    ]),
  );
  const mail: PageRenderer['mail'] = (name, content, { locale, issuer, brand }) => {
    const it = { ...toolsOf(locale, brand), ...content, name, issuer, brand, clean, cleanLines, cleanName };
    const values = { ...content.values, issuer };
    const data = { ...it, values, subject: it.t(`mail.${name}.subject`, values) };
    const text = mailAsText(data)
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    return {
      product: it.t('product'),
      subject: data.subject,
      text: `${text}\n`,
      html: mailAsHtml(data),
      logo: brand?.mailLogo,
    };
  };

  /** A path of the service with the base path. Throws for anything else, which could lead away from the service. */
  const local = (path: string): string => {
    if (!/^\/(?![/\\])/.test(path)) throw new Error(`"${path}" is not a path of this service`);
    return basePath + path;
  };
  const fixed = {
    clean,
    cleanLines,
    cleanName,
    local,
    link: linkTarget,
    redirectTarget,
    postTarget,
    localOrLink: (uri: string | undefined): string | undefined => (uri?.startsWith('/') ? local(uri) : linkTarget(uri)),
    /** The number of the colour of a tile. */
    tile: tileOf,
    /** An address as markup that breaks after a separator before it breaks inside a word. */
    breakable: (address: string): Html =>
      new Html(
        clean(address)
          .split(/(?<=[/.@?&=_])(?=[\p{L}\p{N}])/u)
          .map(escape)
          .join('<wbr>'),
      ),
    /** A text as markup in which the name of each setting leads to it in the console. */
    settingLinks: (text: string): Html =>
      new Html(
        escape(text).replace(
          /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g,
          (name) => `<a href="${basePath}/admin/settings?q=${name}">${name}</a>`,
        ),
      ),
    /** The address of a stylesheet or a script. */
    asset: (name: string): string => {
      const found = assets.get(name);
      if (!found) throw new Error(`there is no file "${name}" among the stylesheets and scripts`);
      return basePath + found.path;
    },
    submitScript: new Html(submitScript),
    /** A program or a configuration for a client, as text. */
    snippet: (name: string, values: object): string => {
      const template = snippets.get(name);
      if (!template) throw new Error(`there is no file "${name}" among the snippets`);
      return template(values).trim();
    },
  };

  const localesOf = (page: PageName | undefined): readonly string[] =>
    page !== undefined && isForAdministrators(page) ? messages.consoleLocales : messages.availableLocales;
  const render = <N extends PageName>(name: N, data: Pages[N], { locale, nonce, brand }: RenderOptions): string => {
    const { client, account } = data as { client?: ClientView; account?: AccountView };
    const html = eta.render(name, {
      ...data,
      ...fixed,
      ...toolsOf(localesOf(name).includes(locale) ? locale : defaultLocale, brand, account),
      brand,
      nonce,
      client: client && { ...client, name: cleanName(client.name) || cleanName(client.clientId) },
    });
    return focusFault(html);
  };
  return {
    render,
    mail,
    assets,
    formPostScriptHash: `'sha256-${createHash('sha256').update(submitScript).digest('base64')}'`,
    availableLocales: messages.availableLocales,
    chooseLocale(uiLocales, acceptLanguage, page) {
      return preferredLocale(localesOf(page), uiLocales, acceptLanguage) ?? defaultLocale;
    },
    text: (key, locale) => toolsOf(locale, undefined).t(key),
    languages(page, here) {
      const query = here.includes('?') ? '&' : '?';
      return localesOf(page).map((tag) => ({ tag, name: messages.nameOf(tag), uri: `${here}${query}locale=${tag}` }));
    },
  };
}
