// The message catalogue holds exactly the messages that the pages and mails show, in each language.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Brand } from '../../src/domain/appearance/appearance.ts';
import type { Message } from '../../src/pages/catalogue.ts';
import { languageTools } from '../../src/pages/language.ts';
import { builtInTemplates, createPages } from '../../src/pages/renderer.ts';
import { mailNames } from '../../src/pages/views/index.ts';
import { mailExamples } from '../../templates/examples/index.ts';
import { viewedTypes } from '../../src/repositories/audit/audit-view.ts';
import { catalogueOf, everyView, signIn, translation } from './page-states/index.ts';

const catalogue = translation('en');
const templates = readdirSync(builtInTemplates).filter((name) => name.endsWith('.eta'));

describe('the message catalogue', () => {
  /** A language in which each message is its key between marks. */
  const marked = Object.fromEntries(
    Object.keys(catalogue).map((key) => [
      key,
      key === 'page.title' || key === 'page.title.problem' ? `⟦${key}⟧{state}` : `⟦${key}⟧`,
    ]),
  );
  const keyed = createPages({ basePath: '', catalogues: { tlh: marked } });
  const brand = { supportUrl: 'https://help.example/' } as Brand;
  const mails = mailNames.flatMap((name) =>
    mailExamples[name].map((content) => keyed.mail(name, content, { locale: 'tlh', issuer: '' })),
  );
  const rendered = [
    ...everyView.map((view) => keyed.render(view.name, view.data, { locale: 'tlh' })),
    ...mails.flatMap(({ subject, text, html }) => [subject, text, html]),
    keyed.render('login', signIn, { locale: 'tlh', brand }),
  ];

  it('the catalogue lacks no message that a page or mail shows, and holds no other', () => {
    const shown = new Set(rendered.flatMap((html) => [...html.matchAll(/⟦([^⟧]*)⟧/g)].map(([, key]) => key!)));
    // both are only filled into other messages, which this language does not do
    shown.add('account.label');
    shown.add('about');
    // written into the finished page, where its form is
    for (const key of ['notice', 'files', 'secret', 'soon', 'too-large']) shown.add(`console.kept.${key}`);
    expect(Object.keys(catalogue).filter((key) => !shown.has(key))).toEqual([]);
    expect([...shown].filter((key) => !Object.hasOwn(catalogue, key))).toEqual([]);
  });

  it('the catalogue holds every word of the templates', () => {
    for (const file of templates) {
      const text = readFileSync(join(builtInTemplates, file), 'utf8')
        .replace(/<%[^]*?%>/g, '')
        .replace(/<script[^]*?<\/script>|<svg[^]*?<\/svg>/g, '')
        .replace(/<[^>]*>/g, '');
      expect({ file, text: text.replace(/[\s":>]+/g, '') }).toEqual({ file, text: '' });
      const spoken = [
        ...readFileSync(join(builtInTemplates, file), 'utf8').matchAll(
          /\s(?:alt|title|aria-label|placeholder)="([^"]*)"/g,
        ),
      ];
      for (const [, value] of spoken) expect(value).toMatch(/^(<%=[^]*)?$/);
    }
  });

  it.each(['en', 'de', 'ar'])(
    'every type of event that the service records has a name of its own in the language %s (pages, words)',
    (locale) => {
      const words = translation(locale);
      const names = viewedTypes.map((type) => words[`event.${type}`]);
      // a name is a few words, and no identifier such as "user.signed_in"
      for (const name of names) expect(name).toMatch(/^\p{Lu}[^._]*$|^\p{Script=Arabic}[^._]*$/u);
      expect(new Set(names).size).toBe(viewedTypes.length);
    },
  );

  it('no template prints a message unescaped: only other templates are included so', () => {
    for (const file of templates) {
      const raw = [...readFileSync(join(builtInTemplates, file), 'utf8').matchAll(/<%~\s*([^]*?)%>/g)];
      for (const [, code] of raw) expect(code).toMatch(/^(include\('part-[\w-]+'|it\.body )/);
    }
  });

  it.each(['de', 'ar'])('the catalogue has every message in %s too, with the same placeholders', (locale) => {
    const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
    const translated = translation(locale);
    // these are the same in every language
    const shared = ['product', 'page.title', 'account.label'];
    const wanted = Object.entries(translation('en')).filter(([key]) => !shared.includes(key));
    expect(Object.entries(translated).map(([key, text]) => [key, names(text)])).toEqual(
      wanted.map(([key, text]) => [key, names(text)]),
    );
    for (const [key, text] of wanted)
      if (/[a-z]{3} /i.test(text)) expect(translated[key], `${key} is not translated`).not.toBe(text);
  });

  it.each(['en', 'de', 'ar'])('has each plural form that %s distinguishes, and no other (pages, words)', (locale) => {
    const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories.toSorted();
    const plurals = Object.entries(catalogueOf(locale)).filter(([, text]) => typeof text !== 'string');
    expect(plurals.length).toBeGreaterThan(0);
    for (const [key, forms] of plurals) expect([key, Object.keys(forms).sort()]).toEqual([key, categories]);
    expect(plurals.map(([key]) => key)).toEqual(
      Object.entries(catalogueOf('en')).flatMap(([key, text]) => (typeof text === 'string' ? [] : [key])),
    );
  });

  it('chooses the plural form by the first number, and writes numbers as the language does (pages, words)', () => {
    const files = {
      one: 'Import {count} user',
      other: 'Import {count} users',
    };
    const say = (locale: string, count: number, message: Message) =>
      languageTools(locale, new Map([['message', message]])).t('message', { count });
    expect(say('en', 1, files)).toBe('Import 1 user');
    expect(say('en', 0, files)).toBe('Import 0 users');
    expect(say('en', 12_345, files)).toBe('Import 12,345 users');
    expect(say('de', 12_345, '{count} Benutzer')).toBe('12.345 Benutzer');
    const forms = { zero: '0', one: '1', two: '2', few: '3-10', many: '11-99', other: '100' };
    expect([0, 1, 2, 3, 11, 100, 103].map((count) => say('ar', count, forms))).toEqual([
      '0',
      '1',
      '2',
      '3-10',
      '11-99',
      '100',
      '3-10',
    ]);
    // a language without its own forms takes the message for all other numbers
    expect(say('de', 1, { other: '{count} weitere' })).toBe('1 weitere');
  });

  it('a missing message falls back to English, and the page names the direction of its language', () => {
    const several = createPages({
      basePath: '',
      catalogues: { de: { 'login.submit': 'Los' }, 'de-AT': { 'login.password': 'Passwort' }, he: {} },
    });
    expect(several.availableLocales).toEqual(['en', 'ar', 'de', 'de-AT', 'he']);
    const html = several.render('login', signIn, { locale: 'de-AT' });
    expect(html).toContain('<html lang="de-AT" dir="ltr">');
    expect(html).toContain('>Los</button>');
    expect(html).toContain('>Passwort</label>');
    expect(html).toContain('Passwort vergessen?');
    const hebrew = several.render('login', signIn, { locale: 'he' });
    expect(hebrew).toContain('<html lang="he" dir="rtl">');
    expect(hebrew).toContain('Forgot password?');
    expect(several.render('login', signIn, { locale: 'ar' })).toContain('<html lang="ar" dir="rtl">');
    expect(several.render('login', signIn, { locale: 'xx' })).toContain('<html lang="en" dir="ltr">');
  });

  it('the language is chosen by ui_locales, then by the browser', () => {
    const { chooseLocale } = createPages({ basePath: '', catalogues: { de: {}, 'pt-BR': {}, 'zh-Hans': {} } });
    expect(chooseLocale(undefined, undefined)).toBe('en');
    expect(chooseLocale('de', 'en')).toBe('de');
    expect(chooseLocale('fr de-CH', 'en')).toBe('de');
    expect(chooseLocale('fr', 'pt, en;q=0.5')).toBe('pt-BR');
    expect(chooseLocale(undefined, 'fr, en;q=0.3, DE;q=0.7')).toBe('de');
    expect(chooseLocale(undefined, 'zh-Hans-CN')).toBe('zh-Hans');
    expect(chooseLocale(undefined, 'de;q=0, *')).toBe('en');
    expect(chooseLocale('"><b> __proto__ ', ';;,,q=,-,*;q=x')).toBe('en');
    expect(chooseLocale('-', 'de,'.repeat(100_000))).toBe('de');
  });
});
