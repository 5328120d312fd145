// Every page renders, obeys the content security policy and stays small, and an operator can replace its files.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { checkTemplates } from '../../src/pages/check-templates.ts';
import { createPages } from '../../src/pages/renderer.ts';
import type { PageName } from '../../src/pages/views/index.ts';
import { examples } from '../../templates/examples/index.ts';
import { startTestService } from '../helpers/service.ts';
import { everyView, signIn, translation, type View } from './page-states/index.ts';

const pages = createPages({ basePath: '' });
const stylesheet = pages.assets.get('style.css')!;
const script = pages.assets.get('page.js')!;
const english = { locale: 'en' };
const names = Object.keys(examples) as PageName[];

const folders: string[] = [];
/** Makes a folder with files of an operator. */
function operatorFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The limit in bytes, including everything that a page loads. */
function limitOf(name: PageName): number {
  if (name.startsWith('console')) return 73_000;
  // with the meter for a new password
  if (name === 'password-reset' || name === 'sign-up-complete' || name === 'invitation') return 30_000;
  // with every way to sign in
  if (name === 'login') return 28_000;
  return name.startsWith('account') ? 30_000 : 25_000;
}

const markOfProvider = /<svg class="provider"[^]*?<\/svg>/g;

const render = (view: View, locale = 'en'): string => pages.render(view.name, view.data, { locale });
const title = (html: string): string => /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? '';

describe('every page', () => {
  it.each(names)('%s renders with the least and with the most data', (name) => {
    for (const data of examples[name]) {
      const html = pages.render(name, data, english);
      expect(html).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
      expect(html.trimEnd()).toMatch(/<\/html>$/);
      expect(html).not.toMatch(/undefined|\[object|NaN|<%|%>/);
      expect(title(html)).toMatch(/^\S.* - Gatehouse$/);
    }
  });

  it('a page holds nothing that a strict content security policy refuses (security R96)', () => {
    for (const view of everyView) {
      const html = render(view);
      expect(html).not.toMatch(/\sstyle\s*=|<style|\son[a-z]+\s*=|javascript:/i);
      const inline = [...html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)].filter(
        ([, attributes]) => !/src=/.test(attributes!),
      );
      for (const [, , code] of inline) {
        const hash = createHash('sha256').update(code!).digest('base64');
        expect(pages.formPostScriptHash).toBe(`'sha256-${hash}'`);
      }
      expect(inline).toHaveLength(view.name === 'form-post' ? 1 : 0);
      const loaded = [...html.matchAll(/<(?:script|link)[^>]*(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
      for (const address of loaded) expect(address).toMatch(/^(\/assets\/|data:image\/svg)/);
    }
  });

  it('one faulty field says what is wrong, and has the focus; a notice at the top links to several (pages, forms)', () => {
    const counts = [0, 0];
    for (const view of everyView) {
      const html = render(view);
      const wrong = [...html.matchAll(/<(?:input|textarea|select)[^>]* aria-invalid="true"[^>]*>/g)].map(
        ([tag]) => tag,
      );
      if (wrong.length === 0) continue;
      for (const tag of wrong) {
        const [, described] = /aria-describedby="([^" ]+)/.exec(tag)!;
        expect(html, view.name).toContain(`class="fault" id="${described}">`);
      }
      const focused = [...html.matchAll(/<[^>]* autofocus(?: [^>]*)?>/g)].map(([tag]) => tag);
      expect(focused, view.name).toHaveLength(1);
      const [, notice] = /<div class="notice problem" id="problem"(.*?)<\/div>/s.exec(html) ?? [];
      if (wrong.length === 1 && notice) expect(notice, view.name).toContain('<p>');
      if (!notice) expect(focused, view.name).toEqual([wrong[0]]);
      counts[notice ? 1 : 0]!++;
    }
    expect(Math.min(...counts)).toBeGreaterThan(5);
  });

  it('every id is unique on its page, and every label and internal link refers to one', () => {
    // what a template holds is in no page until a script copies it there, in place of another part
    const template = /<template\b[^>]*>([^]*?)<\/template>/g;
    const parts = everyView.flatMap((view) => {
      const html = render(view);
      return [html.replace(template, ''), ...[...html.matchAll(template)].map(([, part]) => part!)];
    });
    for (const html of parts) {
      const ids = [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
      expect(new Set(ids).size).toBe(ids.length);
      const references = [
        ...html.matchAll(/(?:for|aria-labelledby|aria-describedby|aria-controls|href)="#?([\w-]+)"/g),
      ];
      for (const [, id] of references) expect(ids).toContain(id);
      expect([...html.matchAll(/\sautofocus/g)].length).toBeLessThanOrEqual(1);
    }
  });

  it('an example of what the user types stays on one line, and keeps its direction in Arabic (pages, forms)', () => {
    const example = /\d{4}[-\u2011]\d\d|:\/\/|\w@\w/;
    for (const locale of pages.availableLocales)
      for (const [key, message] of Object.entries(translation(locale))) {
        expect(message, key).not.toMatch(/\d{4}-\d\d/);
        if (locale === 'ar') expect(message.replace(/\u2066[^\u2069]*\u2069/g, ''), key).not.toMatch(example);
      }
  });

  it('the forms have stable ids and names for programs that fill them in', () => {
    const login = pages.render('login', signIn, english);
    expect(login).toContain('<form method="post" action="/login"');
    expect(login).toMatch(
      /<input id="username" name="username" type="text"[^>]*autocomplete="username webauthn"[^>]*autocapitalize="none"/,
    );
    expect(login).toMatch(/<input id="password" name="password" type="password"[^>]*autocomplete="current-password"/);
    expect(login).toMatch(/<button type="submit" id="sign-in"/);
    expect(login).toContain('<input type="hidden" name="csrf" value="token">');
    const button = (id: string, value: string): RegExp =>
      new RegExp(`<button type="submit"[^>]* id="${id}" name="decision" value="${value}"`);
    expect(pages.render('consent', examples.consent[1], english)).toMatch(button('allow', 'allow'));
    expect(pages.render('consent', examples.consent[1], english)).toMatch(button('deny', 'deny'));
    expect(pages.render('logout', examples.logout[1], english)).toMatch(button('sign-out', 'sign-out'));
    expect(pages.render('logout', examples.logout[1], english)).toMatch(button('stay-signed-in', 'stay'));
    expect(pages.render('continue', examples.continue[1], english)).toMatch(button('continue', 'continue'));
  });

  it('every address on a page is below the base path', () => {
    const below = createPages({ basePath: '/idp' });
    for (const view of everyView) {
      const html = below.render(view.name, view.data, english);
      for (const [, path] of html.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)) expect(path).toMatch(/^\/idp\//);
    }
    const leaving = { ...examples.logout[1], form: { action: '//evil.example', hidden: {} } };
    expect(() => below.render('logout', leaving, english)).toThrow(/not a path/);
  });

  it('a page weighs well under 30 KB with everything that it loads, and a page of the console under 73 KB', () => {
    for (const view of everyView.filter(({ name }) => name !== 'consent')) {
      const html = render(view);
      const loaded = [...pages.assets.values()].filter(({ path }) => html.includes(path));
      // beside the marks of the providers that it shows
      const parts = [html.replace(markOfProvider, ''), ...loaded.map(({ body }) => body)];
      for (const [mark] of html.matchAll(markOfProvider)) expect(Buffer.byteLength(mark)).toBeLessThan(1000);
      const weight = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
      const limit = limitOf(view.name);
      expect(weight, view.name).toBeLessThan(limit);
      expect(
        parts.reduce((sum, part) => sum + gzipSync(part).length, 0),
        view.name,
      ).toBeLessThan(limit / 2.5);
    }
  });
});

describe('an operator', () => {
  it('an operator replaces any single file by one of the same name', () => {
    const templatesDir = operatorFolder({
      'part-legal.eta': '<p>Ask at the <%= it.t("desk") %> & <%= it.client?.name %></p>',
      'messages/en.json': JSON.stringify({ product: 'Acme ID', desk: 'front <desk>' }),
      'messages/sv/sign-in.json': JSON.stringify({ 'login.submit': 'Logga in' }),
      'messages/sv/console/frame.json': JSON.stringify({ 'console.page.title': '{state} - Konsol' }),
      // the names of an earlier release
      'messages/da.json': JSON.stringify({ 'login.submit': 'Log ind' }),
      'messages/de.own.json': JSON.stringify({ 'login.submit': 'Los' }),
      'brand.css': '/* Acme */ :root { --accent: #123456; }',
    });
    const customized = createPages({ basePath: '', templatesDir });
    const html = customized.render('login', signIn, english);
    expect(html).toContain('<p>Ask at the front &lt;desk&gt; & Harbour</p>');
    expect(title(html)).toBe('Sign in to Harbour - Acme ID');
    expect(customized.availableLocales).toEqual(['en', ...[...pages.availableLocales.slice(1), 'da', 'sv'].sort()]);
    expect(customized.languages('console-overview', '/admin').map(({ tag }) => tag)).toEqual(['en', 'ar', 'de', 'sv']);
    expect(title(customized.render('login', signIn, { locale: 'de' }))).toBe('Bei Harbour anmelden - Acme ID');
    for (const [locale, words] of [
      ['sv', 'Logga in'],
      ['da', 'Log ind'],
      ['de', 'Los'],
    ] as const)
      expect(customized.render('login', signIn, { locale })).toContain(`>${words}</button>`);
    expect(customized.assets.get('style.css')!.body).toMatch(/:root\{--accent:#123456\}$/);
    expect(customized.assets.get('style.css')!.path).not.toBe(stylesheet.path);
    expect(html).toContain(customized.assets.get('style.css')!.path);
  });

  it.each<[mistake: string, file: string, text: string]>([
    ['does not compile', 'login.eta', '<% if ( { %>'],
    ['leaves a tag open', 'consent.eta', '<p><%= it.client.name </p>'],
    ['fails with certain data', 'error.eta', '<%= it.client.name.toUpperCase() %>'],
    ['includes a missing template', 'logout.eta', "<%~ include('part-nowhere') %>"],
    ['uses a missing message', 'part-who.eta', "<%= it.t('who.nobody') %>"],
    ['is not JSON', 'messages/de.json', '{ "login.submit": '],
    ['is not an object of strings', 'messages/de.json', '{ "login.submit": 1 }'],
    ['has no plural form for all other numbers', 'messages/de.json', '{ "login.submit": { "one": "x" } }'],
    ['names an unknown plural form', 'messages/de.json', '{ "login.submit": { "other": "x", "most": "y" } }'],
    ['is not named after a language', 'messages/deutsch_.json', '{}'],
    ['stands in a folder that is not named after a language', 'messages/deutsch_/login.json', '{}'],
    ['is not JSON, among those of the console', 'messages/de/console/frame.json', '{ "console.skip": '],
    ['ends its own element', 'form-post.js', 'x("</script>")'],
  ])('the start names the file of a template or catalogue that %s', async (_mistake, file, text) => {
    const templatesDir = operatorFolder({ [file]: text });
    const start = async () => checkTemplates(createPages({ basePath: '', templatesDir }));
    const { message } = await start().then(
      () => new Error('the templates passed'),
      (error: Error) => error,
    );
    expect(message).toContain(join(templatesDir, file));
    expect(message).toMatch(/^The .*\.$|own element\.$/);
    expect(message).not.toContain('\n');
  });

  it('the service does not start with a template that fails', async () => {
    const templatesDir = operatorFolder({ 'error.eta': '<%= it.client.name.toUpperCase() %>' });
    const started = startTestService({ environment: { TEMPLATES_DIR: templatesDir } });
    await expect(started).rejects.toThrow(`The template ${join(templatesDir, 'error.eta')} fails`);
  });

  it('the start fails when the folder does not exist', () => {
    expect(() => createPages({ basePath: '', templatesDir: '/nowhere/templates' })).toThrow(
      /\/nowhere\/templates does not exist/,
    );
  });
});

describe('the assets', () => {
  it('each asset is named after its content, so that browsers may cache it for ever', () => {
    expect(stylesheet.path).toMatch(/^\/assets\/style\.[0-9a-f]{16}\.css$/);
    expect(script.path).toMatch(/^\/assets\/page\.[0-9a-f]{16}\.js$/);
    expect(createPages({ basePath: '/idp' }).assets.get('style.css')!.path).toBe(stylesheet.path);
  });

  it('the stylesheet has no left and right, loads nothing, and defines each colour once', () => {
    const css = stylesheet.body;
    expect(css).not.toMatch(/[\s{;](?:margin|padding|border|inset)?-?(?:left|right)\s*:|text-align:\s*(?:left|right)/);
    expect(css).not.toMatch(/@import|url\(/);
    expect(css).not.toContain('/*');
    // the white behind logos is not a colour of the design
    const rules = css.slice(css.indexOf('*, ::before'));
    expect(rules.match(/#[0-9a-f]{3,8}\b/gi)).toEqual(['#fff']);
  });
});
