// The message catalogue holds exactly the messages that the pages and mails show, in each language.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Brand } from '../../src/domain/appearance/appearance.ts';
import { type Message, readCatalogues } from '../../src/pages/catalogue.ts';
import { languageTools } from '../../src/pages/language.ts';
import { isForAdministrators, isOfConsole } from '../../src/pages/messages.ts';
import { builtInTemplates, createPages } from '../../src/pages/renderer.ts';
import { mailNames } from '../../src/pages/views/index.ts';
import { mailExamples } from '../../templates/examples/index.ts';
import { viewedTypes } from '../../src/repositories/audit/audit-view.ts';
import { everyView, signIn, translation, type View } from './page-states/index.ts';

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
  const render = (views: View[]) => views.map((view) => keyed.render(view.name, view.data, { locale: 'tlh' }));
  const forUsers = [
    ...render(everyView.filter(({ name }) => !isForAdministrators(name))),
    ...mails.flatMap(({ subject, text, html }) => [subject, text, html]),
    keyed.render('login', signIn, { locale: 'tlh', brand }),
  ];
  const forAdministrators = render(everyView.filter(({ name }) => isForAdministrators(name)));
  const keysOf = (pages: string[]) =>
    new Set(pages.flatMap((html) => [...html.matchAll(/⟦([^⟧]*)⟧/g)].map(([, key]) => key!)));

  it('the catalogue lacks no message that a page or mail shows, and holds no other', () => {
    const shown = keysOf([...forUsers, ...forAdministrators]);
    // only filled into other messages, which this language does not do
    shown.add('account.label').add('console.rules.more');
    // written into the finished page, where its form is
    for (const key of ['notice', 'files', 'secret', 'soon', 'too-large']) shown.add(`console.kept.${key}`);
    expect(Object.keys(catalogue).filter((key) => !shown.has(key))).toEqual([]);
    expect([...shown].filter((key) => !Object.hasOwn(catalogue, key))).toEqual([]);
  });

  it('the folder console has the messages that no user and no mail sees, and no other, so that few texts are translated (pages, languages)', () => {
    const seen = keysOf(forUsers).add('account.label');
    const folder = join(builtInTemplates, 'messages');
    const files = readCatalogues(folder).filter(({ language }) => language === 'en');
    for (const { file, catalogue } of files)
      for (const key of Object.keys(catalogue)) {
        const ofConsole = file.startsWith(join(folder, 'en', 'console'));
        expect({ key, ofConsole }).toEqual({ key, ofConsole: !seen.has(key) });
        expect({ key, ofConsole: isOfConsole(key) }).toEqual({ key, ofConsole });
      }
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
});
