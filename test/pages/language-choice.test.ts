// The pages choose the language that the user, the application or the browser asks for, and fall back to English.
import { describe, expect, it } from 'vitest';
import { createPages } from '../../src/pages/renderer.ts';
import { examples } from '../../templates/examples/index.ts';
import { signIn } from './page-states/index.ts';

const own = createPages({ basePath: '' }).availableLocales;

describe('the language of a page', () => {
  it('a missing message falls back to English, and the page names the direction of its language', () => {
    const several = createPages({
      basePath: '',
      catalogues: { de: { 'login.submit': 'Los' }, 'de-AT': { 'login.password': 'Passwort' }, he: {} },
    });
    expect(several.availableLocales).toEqual(['en', ...[...own.slice(1), 'de-AT', 'he'].sort()]);
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
    expect(chooseLocale('eo de-CH', 'en')).toBe('de');
    expect(chooseLocale('eo', 'pt, en;q=0.5')).toBe('pt-BR');
    expect(chooseLocale(undefined, 'eo, en;q=0.3, DE;q=0.7')).toBe('de');
    expect(chooseLocale(undefined, 'zh-Hans-CN')).toBe('zh-Hans');
    expect(chooseLocale(undefined, 'de;q=0, *')).toBe('en');
    expect(chooseLocale('"><b> __proto__ ', ';;,,q=,-,*;q=x')).toBe('en');
    expect(chooseLocale('-', 'de,'.repeat(100_000))).toBe('de');
  });

  it('a regional form takes the language without the region, or a relative in the same script (pages, languages)', () => {
    const { chooseLocale } = createPages({
      basePath: '',
      catalogues: { fr: {}, 'pt-BR': {}, 'zh-CN': {}, 'sr-Latn-RS': {} },
    });
    const chosen = (tag: string) => chooseLocale(undefined, `${tag}, de;q=0.5`);
    for (const tag of ['fr', 'fr-CA', 'fr-CH', 'FR-fr']) expect(chosen(tag), tag).toBe('fr');
    for (const tag of ['pt', 'pt-BR', 'pt-PT']) expect(chosen(tag), tag).toBe('pt-BR');
    for (const tag of ['zh', 'zh-CN', 'zh-Hans', 'zh-Hans-CN', 'zh-SG']) expect(chosen(tag), tag).toBe('zh-CN');
    for (const tag of ['zh-TW', 'zh-HK', 'zh-Hant', 'sr', 'sr-Cyrl']) expect(chosen(tag), tag).toBe('de');
    expect(chosen('sr-Latn')).toBe('sr-Latn-RS');
  });

  it('a page for administrators comes in the languages of the console only, and else in English with its tag (pages, languages)', () => {
    const catalogues = { eo: { 'login.submit': 'Ensaluti' }, 'de-AT': {}, sv: { 'console.skip': 'Hoppa' } };
    const pages = createPages({ basePath: '', catalogues });
    const overview = examples['console-overview'][1];
    const review = examples['registration-review'][1];
    expect(pages.chooseLocale('eo', 'eo', 'login')).toBe('eo');
    expect(pages.chooseLocale('eo', 'eo', 'console-overview')).toBe('en');
    // the next language that the browser asks for
    expect(pages.chooseLocale('eo', 'eo, de;q=0.5', 'registration-review')).toBe('de');
    for (const locale of ['de-AT', 'sv']) expect(pages.chooseLocale(locale, 'en', 'console-overview')).toBe(locale);
    expect(pages.render('login', signIn, { locale: 'eo' })).toContain('<html lang="eo"');
    expect(pages.render('console-overview', overview, { locale: 'eo' })).toContain('<html lang="en" dir="ltr">');
    expect(pages.render('registration-review', review, { locale: 'eo' })).toContain('<html lang="en" dir="ltr">');
    expect(pages.render('console-overview', overview, { locale: 'ar' })).toContain('<html lang="ar" dir="rtl">');
  });

  it('the menu names each language in its own words, and leads to the same page (pages, languages)', () => {
    const catalogues = { fr: {}, 'pt-BR': {}, 'zh-CN': {}, eo: {} };
    const { languages } = createPages({ basePath: '', catalogues });
    const names = new Map(languages('login', '/login').map(({ tag, name }) => [tag, name]));
    expect(['en', 'de', 'ar', 'fr', 'pt-BR', 'zh-CN'].map((tag) => names.get(tag))).toEqual([
      'English',
      'Deutsch',
      'العربية',
      'Français',
      'Português (Brasil)',
      '简体中文',
    ]);
    const link = (here: string) => languages('login', here).find(({ tag }) => tag === 'fr')!.uri;
    expect(link('/login')).toBe('/login?locale=fr');
    expect(link('/login?transaction=1')).toBe('/login?transaction=1&locale=fr');
    expect(languages('console-overview', '/admin').map(({ tag }) => tag)).toEqual(['en', 'ar', 'de']);
  });
});
