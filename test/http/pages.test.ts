// The pages: what they let through, what they refuse to print, what they weigh, and what an operator may change.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { builtInTemplates, createPages, linkTarget } from '../../src/http/pages.ts';
import {
  examples,
  mailExamples,
  mailNames,
  type ClientView,
  type PageName,
  type Pages,
} from '../../src/http/views/index.ts';
import { everyView, signIn, translation, type View } from './page-states/index.ts';

const client = examples.continue[1].client;
const registration = examples['registration-review'][1];
const pages = createPages({ basePath: '' });
const stylesheet = pages.assets.get('style.css')!;
const script = pages.assets.get('page.js')!;
const english = { locale: 'en' };
const names = Object.keys(examples) as PageName[];
const catalogue = translation('en');
const templates = readdirSync(builtInTemplates).filter((name) => name.endsWith('.eta'));

const folders: string[] = [];
/** A folder of an operator's own files. */
function operatorFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  folders.push(folder);
  mkdirSync(join(folder, 'messages'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Bytes, with all that a page loads. */
function limitOf(name: PageName): number {
  if (name.startsWith('console')) return 60_000;
  // with the strength of a new password
  if (name === 'password-reset' || name === 'sign-up-complete') return 30_000;
  return name.startsWith('account') ? 30_000 : 20_000;
}

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

  it('holds nothing that a strict content security policy refuses (R96)', () => {
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

  it('has every id once, and every label and link inside the page leads to one', () => {
    for (const view of everyView) {
      const html = render(view);
      const ids = [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
      expect(new Set(ids).size).toBe(ids.length);
      const references = [
        ...html.matchAll(/(?:for|aria-labelledby|aria-describedby|aria-controls|href)="#?([\w-]+)"/g),
      ];
      for (const [, id] of references) expect(ids).toContain(id);
      expect([...html.matchAll(/\sautofocus/g)].length).toBeLessThanOrEqual(1);
    }
  });

  it('keeps an example that has to be typed in one line, and in its own direction in Arabic (pages.md)', () => {
    const example = /\d{4}[-\u2011]\d\d|:\/\/|\w@\w/;
    for (const locale of ['en', 'de', 'ar'])
      for (const [key, message] of Object.entries(translation(locale))) {
        expect(message, key).not.toMatch(/\d{4}-\d\d/);
        if (locale === 'ar') expect(message.replace(/\u2066[^\u2069]*\u2069/g, ''), key).not.toMatch(example);
      }
  });

  it('has stable ids and names for programs that fill the forms', () => {
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

  it('hangs below the path of the base address', () => {
    const below = createPages({ basePath: '/idp' });
    for (const view of everyView) {
      const html = below.render(view.name, view.data, english);
      for (const [, path] of html.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)) expect(path).toMatch(/^\/idp\//);
    }
    const leaving = { ...examples.logout[1], form: { action: '//evil.example', hidden: {} } };
    expect(() => below.render('logout', leaving, english)).toThrow(/not a path/);
  });

  it('weighs well under 30 KB with all that it loads, and a page of the console under 60', () => {
    for (const view of everyView.filter(({ name }) => name !== 'consent')) {
      const html = render(view);
      const loaded = [...pages.assets.values()].filter(({ path }) => html.includes(path));
      const parts = [html, ...loaded.map(({ body }) => body)];
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

describe('text from elsewhere', () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
  const evil: ClientView = {
    clientId: hostile,
    name: hostile,
    logoUri: 'javascript:alert(1)',
    policyUri: 'javascript:alert(1)//https://',
    tosUri: 'data:text/html,<script>alert(1)</script>',
    homeUri: 'https://user:password@harbour.example/',
    host: hostile,
    selfRegistered: true,
  };
  const account = { username: hostile, name: hostile };
  const form = { action: '/login', hidden: { csrf: hostile, [hostile]: hostile } };
  const attacks: View[] = [
    {
      name: 'login',
      data: {
        client: evil,
        form,
        username: hostile,
        problem: 'credentials',
        reference: hostile,
        reauthentication: account,
        forgottenPasswordUri: 'javascript:alert(1)',
      },
    },
    {
      name: 'consent',
      data: {
        client: evil,
        account,
        form,
        switchAccountUri: `/login?${hostile}`,
        scopes: [{ scope: hostile, claims: [{ claim: hostile, value: hostile }] }],
      },
    },
    { name: 'continue', data: { client: evil, account, form } },
    { name: 'logout', data: { client: evil, account, form } },
    {
      name: 'signed-out',
      data: {
        client: evil,
        stayed: false,
        accountUri: '/account',
        applications: [
          { name: hostile, uri: 'javascript:alert(1)' },
          { name: hostile, uri: 'https://a.example/"><script>' },
        ],
        frames: ['javascript:alert(1)', 'https://a.example/"><script>'],
        continueUri: 'javascript:alert(1)',
      },
    },
    { name: 'error', data: { kind: 'request', reference: hostile, client: evil } },
    { name: 'access-denied', data: { client: evil, account } },
    {
      name: 'form-post',
      data: {
        action: `https://a.example/?${hostile}`,
        parameters: [
          ['state', hostile],
          [hostile, hostile],
        ],
        client: evil,
      },
    },
    {
      name: 'login-second-factor',
      data: { ...examples['login-second-factor'][1], client: evil, account, form },
    },
    {
      name: 'account-second-factors',
      data: {
        ...examples['account-second-factors'][1],
        account,
        factors: [{ id: hostile, kind: 'authenticator', name: hostile, createdAt: new Date(0) }],
      },
    },
    {
      name: 'account-authenticator',
      data: { ...examples['account-authenticator'][1], account, form, name: hostile, signIn: { client: evil } },
    },
    {
      name: 'account-recovery-codes',
      data: { account, codes: [hostile], issuer: hostile, continueUri: '/account' },
    },
    { name: 'registration-code', data: { account, action: '/admin/registration', typed: hostile, problem: 'unknown' } },
    {
      name: 'registration-review',
      data: {
        ...registration,
        account,
        form,
        name: hostile,
        hosts: [{ host: hostile, clients: 0, local: false, fresh: true }],
        lookAlikes: [{ name: hostile, uri: '/admin/clients/x', same: true }],
        redirectUris: [hostile],
        responseTypes: [hostile],
        grantTypes: [hostile],
        scopes: [hostile],
        authenticationMethod: hostile,
        keys: [hostile],
        contacts: [hostile],
        uris: [{ member: 'tos_uri', uri: 'javascript:alert(1)' }],
        members: [{ member: hostile, value: hostile }],
      },
    },
    {
      name: 'registration-decided',
      data: { approved: false, name: hostile, reason: hostile, nextUri: '/admin/registration', accountUri: '/account' },
    },
    { name: 'account-password', data: { ...examples['account-password'][1], account, username: hostile } },
    {
      name: 'account',
      data: {
        ...examples.account[1],
        account,
        email: hostile,
        devices: [{ browser: hostile, system: hostile }, { browser: hostile }],
        applications: [hostile],
      },
    },
    {
      name: 'account-delete',
      data: { ...examples['account-delete'][1], account, username: hostile, applications: [hostile] },
    },
    {
      name: 'account-profile',
      data: { account, accountUri: '/account', profile: [{ claim: hostile, value: hostile, seenBy: [hostile] }] },
    },
    {
      name: 'account-profile-edit',
      data: {
        ...examples['account-profile-edit'][1],
        account,
        form,
        fields: examples['account-profile-edit'][1].fields.map((field) => ({
          ...field,
          value: hostile,
          seenBy: [hostile],
          ...(field.choices && { choices: [{ value: hostile, label: hostile }] }),
        })),
      },
    },
    {
      name: 'account-applications',
      data: {
        account,
        accountUri: '/account',
        form,
        grants: [
          {
            clientId: hostile,
            name: hostile,
            scopes: [hostile],
            claims: [hostile],
            since: new Date(0),
            settings: [{ key: hostile, value: hostile, size: 1 }],
          },
        ],
      },
    },
    {
      name: 'account-sessions',
      data: {
        account,
        accountUri: '/account',
        sessions: [
          {
            sid: hostile,
            browser: hostile,
            system: hostile,
            signedInAt: new Date(0),
            usedAt: new Date(0),
            applications: [hostile],
            current: false,
          },
        ],
        form,
        othersForm: form,
      },
    },
  ];

  it.each(attacks)('is inert on the page $name (R93, A16, A17)', (view) => {
    const html = render(view);
    expect(html).toContain('&lt;script&gt;');
    expect(html).not.toMatch(/<script>alert|<img src=x|"javascript:|"data:text\/html/i);
    expect(html).not.toContain('user:password');
    // Nothing that was handed in has ended an attribute early.
    expect(html.replace(/="[^"]*"/g, '')).not.toContain('onerror=alert(1)"');
  });

  it('keeps the parameters of a form_post exactly', () => {
    const state = `a&b "c" 'd' <e> \\ + % é 𝄞`;
    const html = pages.render('form-post', { action: 'https://a.example/', parameters: [['state', state]] }, english);
    expect(html).toContain(`value="a&amp;b &quot;c&quot; &#39;d&#39; &lt;e&gt; \\ + % é 𝄞"`);
    expect(() => pages.render('form-post', { action: 'javascript:alert(1)', parameters: [] }, english)).toThrow(/http/);
  });

  it('links only to https and to the own machine, without a trace (R93)', () => {
    expect(linkTarget('https://shop.example/terms')).toBe('https://shop.example/terms');
    expect(linkTarget('http://localhost:8080/')).toBe('http://localhost:8080/');
    expect(linkTarget('http://127.0.0.1/')).toBe('http://127.0.0.1/');
    expect(linkTarget('http://[::1]:3000/')).toBe('http://[::1]:3000/');
    for (const refused of [
      'http://shop.example/',
      'http://localhost.evil.example/',
      'http://127.0.0.1.evil.example/',
      'javascript:alert(1)',
      'JAVASCRIPT://%0aalert(1)',
      'data:text/html,x',
      'https://bank.example@evil.example/',
      'ftp://shop.example/',
      '//shop.example/',
      '/terms',
      '',
    ]) {
      expect(linkTarget(refused)).toBeUndefined();
    }
    const html = pages.render('login', signIn, english);
    const outward = [...html.matchAll(/<a [^>]*href="https:[^>]*>/g)];
    expect(outward).toHaveLength(2);
    for (const [link] of outward) expect(link).toContain('rel="noopener noreferrer"');
  });

  it('cannot pass itself off as something else (A64)', () => {
    const consent = (name: string): string =>
      pages.render('consent', { ...examples.consent[1], client: { ...client, name } }, english);
    expect(title(consent('A\u202Emoc.live\u2066\u0000\u200B\nB'))).toBe(
      'Error: Allow Amoc.live B to use your account? - Gatehouse',
    );
    expect(title(consent(' \u200B\u2060 '))).toContain('Allow harbour to use');
    expect(title(consent('x'.repeat(10_000)))).toHaveLength(
      'Error: Allow  to use your account? - Gatehouse'.length + 120,
    );
    expect(consent('Harbour')).toContain('This application registered itself');
    expect(consent('Harbour')).toContain('<bdi>harbour.example</bdi>');
    const looked = { ...examples.consent[1], client: { ...client, selfRegistered: false } };
    expect(pages.render('consent', looked, english)).not.toContain('registered itself');
  });

  it('shows what somebody typed again, but never a password', () => {
    const data = { ...signIn, username: 'ada & co', problem: 'credentials', password: 'hunter2' } as Pages['login'];
    const html = pages.render('login', data, english);
    expect(html).toContain('value="ada &amp; co"');
    expect(html).not.toContain('hunter2');
    expect(html).toMatch(/<input id="password"(?![^>]*value=)/);
    expect(html).toMatch(/id="problem"[^>]*tabindex="-1" autofocus/);
    expect(html).toContain('<a href="#username">');
    expect(html).toMatch(/<input id="username"[^>]*aria-invalid="true" aria-describedby="username-fault"/);
    expect(title(html)).toBe('Error: Sign in to Harbour - Gatehouse');
  });

  it('offers no form where signing in could not help', () => {
    const html = pages.render('login', { client, problem: 'client' }, english);
    expect(html).not.toMatch(/<form|<input/);
    expect(html).toContain('This is not your fault');
    expect(html).toContain('href="/account"');
  });
});

describe('the message catalogue', () => {
  /** A language in which every message is its own key between marks. */
  const marked = Object.fromEntries(
    Object.keys(catalogue).map((key) => [
      key,
      key === 'page.title' || key === 'page.title.problem' ? `⟦${key}⟧{state}` : `⟦${key}⟧`,
    ]),
  );
  const keyed = createPages({ basePath: '', catalogues: { tlh: marked } });
  const mails = mailNames.flatMap((name) =>
    mailExamples[name].map((content) => keyed.mail(name, content, { locale: 'tlh', issuer: '' })),
  );
  const rendered = [
    ...everyView.map((view) => keyed.render(view.name, view.data, { locale: 'tlh' })),
    ...mails.flatMap(({ subject, text, html }) => [subject, text, html]),
  ];

  it('holds no message that no page shows, and lacks none that one does', () => {
    const shown = new Set(rendered.flatMap((html) => [...html.matchAll(/⟦([^⟧]*)⟧/g)].map(([, key]) => key!)));
    // Both are only ever filled into another message, which this language does not do.
    shown.add('account.label');
    shown.add('about');
    // Parts that wait for the first list of the console.
    for (const key of ['console.paging.first', 'console.paging.next', 'console.time']) shown.add(key);
    expect(Object.keys(catalogue).filter((key) => !shown.has(key))).toEqual([]);
    expect([...shown].filter((key) => !Object.hasOwn(catalogue, key))).toEqual([]);
  });

  it('holds every word of the templates', () => {
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

  it('is printed raw by no template: only other templates are', () => {
    for (const file of templates) {
      const raw = [...readFileSync(join(builtInTemplates, file), 'utf8').matchAll(/<%~\s*([^]*?)%>/g)];
      for (const [, code] of raw) expect(code).toMatch(/^(include\('part-[\w-]+'|it\.body )/);
    }
  });

  it.each(['de', 'ar'])('has every sentence in %s too, with the same names to fill in', (locale) => {
    const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
    const translated = translation(locale);
    // what is the same in every language
    const shared = ['product', 'page.title', 'account.label'];
    const wanted = Object.entries(translation('en')).filter(([key]) => !shared.includes(key));
    expect(Object.entries(translated).map(([key, text]) => [key, names(text)])).toEqual(
      wanted.map(([key, text]) => [key, names(text)]),
    );
    for (const [key, text] of wanted)
      if (/[a-z]{3} /i.test(text)) expect(translated[key], `${key} is not translated`).not.toBe(text);
  });

  it('falls back to English sentence by sentence, and says which way a language runs', () => {
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
    expect(hebrew).toContain('Forgotten your password?');
    expect(several.render('login', signIn, { locale: 'ar' })).toContain('<html lang="ar" dir="rtl">');
    expect(several.render('login', signIn, { locale: 'xx' })).toContain('<html lang="en" dir="ltr">');
  });

  it('is chosen by ui_locales, then by the browser', () => {
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

describe('an operator', () => {
  it('replaces any single file by one of the same name', () => {
    const templatesDir = operatorFolder({
      'part-legal.eta': '<p>Ask at the <%= it.t("desk") %> & <%= it.client?.name %></p>',
      'messages/en.json': JSON.stringify({ product: 'Acme ID', desk: 'front <desk>' }),
      'messages/nl.json': JSON.stringify({ 'login.submit': 'Inloggen' }),
      'brand.css': '/* Acme */ :root { --accent: #123456; }',
    });
    const own = createPages({ basePath: '', templatesDir });
    const html = own.render('login', signIn, english);
    expect(html).toContain('<p>Ask at the front &lt;desk&gt; & Harbour</p>');
    expect(title(html)).toBe('Sign in to Harbour - Acme ID');
    expect(own.availableLocales).toEqual(['en', 'ar', 'de', 'nl']);
    expect(title(own.render('login', signIn, { locale: 'de' }))).toBe('Bei Harbour anmelden - Acme ID');
    expect(own.render('login', signIn, { locale: 'nl' })).toContain('>Inloggen</button>');
    expect(own.assets.get('style.css')!.body).toMatch(/:root \{ --accent: #123456\}$/);
    expect(own.assets.get('style.css')!.path).not.toBe(stylesheet.path);
    expect(html).toContain(own.assets.get('style.css')!.path);
  });

  it.each<[mistake: string, file: string, text: string]>([
    ['does not compile', 'login.eta', '<% if ( { %>'],
    ['leaves a tag open', 'consent.eta', '<p><%= it.client.name </p>'],
    ['fails with certain data', 'error.eta', '<%= it.client.name.toUpperCase() %>'],
    ['includes what is not there', 'logout.eta', "<%~ include('part-nowhere') %>"],
    ['uses a message that is not there', 'part-who.eta', "<%= it.t('who.nobody') %>"],
    ['is no JSON', 'messages/de.json', '{ "login.submit": '],
    ['is no object of texts', 'messages/de.json', '{ "login.submit": 1 }'],
    ['is no language', 'messages/deutsch_.json', '{}'],
    ['ends its own element', 'form-post.js', 'x("</script>")'],
  ])('is told at start which file it is when one %s', (_mistake, file, text) => {
    const templatesDir = operatorFolder({ [file]: text });
    expect(() => createPages({ basePath: '', templatesDir })).toThrow(join(templatesDir, file));
    try {
      createPages({ basePath: '', templatesDir });
    } catch (error) {
      expect((error as Error).message).toMatch(/^The .*\.$|own element\.$/);
      expect((error as Error).message).not.toContain('\n');
    }
  });

  it('is told when the folder is not there', () => {
    expect(() => createPages({ basePath: '', templatesDir: '/nowhere/templates' })).toThrow(
      /\/nowhere\/templates does not exist/,
    );
  });
});

describe('the assets', () => {
  it('are named by what they hold, so that they can be kept for ever', () => {
    expect(stylesheet.path).toMatch(/^\/assets\/style\.[0-9a-f]{16}\.css$/);
    expect(script.path).toMatch(/^\/assets\/page\.[0-9a-f]{16}\.js$/);
    expect(createPages({ basePath: '/idp' }).assets.get('style.css')!.path).toBe(stylesheet.path);
  });

  it('know no left and right, load nothing, and say their colours once', () => {
    const css = stylesheet.body;
    expect(css).not.toMatch(/[\s{;](?:margin|padding|border|inset)?-?(?:left|right)\s*:|text-align:\s*(?:left|right)/);
    expect(css).not.toMatch(/@import|url\(/);
    expect(css).not.toContain('/*');
    // The white behind logos is paper, not a colour of ours.
    const rules = css.slice(css.indexOf('*, ::before'));
    expect(rules.match(/#[0-9a-f]{3,8}\b/gi)).toEqual(['#fff']);
  });
});
