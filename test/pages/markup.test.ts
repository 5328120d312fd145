// Untrusted text stays text on the pages, links to nothing harmful, and cannot imitate other text.
import { describe, expect, it, test } from 'vitest';
import { linkTarget, nameInMail } from '../../src/pages/markup.ts';
import { createPages } from '../../src/pages/renderer.ts';
import type { ClientView, Pages } from '../../src/pages/views/index.ts';
import { examples } from '../../templates/examples/index.ts';
import { signIn, type View } from './page-states/index.ts';

const client = examples.continue[1].client;
const registration = examples['registration-review'][1];
const pages = createPages({ basePath: '' });
const english = { locale: 'en' };
const title = (html: string): string => /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? '';

describe('untrusted text', () => {
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
        methods: [{ id: 'password', form }],
        username: hostile,
        problem: 'credentials',
        fields: ['password'],
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
        apis: [{ name: hostile, host: hostile, scopes: [{ scope: hostile, description: { en: hostile } }] }],
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
    { name: 'access-denied', data: { by: 'client', contacts: [], client: evil, account } },
    {
      name: 'access-denied',
      data: { by: 'service', reason: 'group', contacts: [hostile], client: evil, account },
    },
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
    { name: 'device-code', data: { account, action: '/device', typed: hostile, problem: 'unknown' } },
    {
      name: 'device-review',
      data: {
        ...examples['device-review'][1],
        client: evil,
        account,
        form,
        switchAccountUri: `/login?${hostile}`,
        scopes: [{ scope: hostile, claims: [{ claim: hostile, value: hostile }] }],
      },
    },
    { name: 'device-decided', data: { client: evil, approved: true, accountUri: '/account' } },
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
            apis: [{ name: hostile, host: hostile, scopes: [{ scope: hostile, description: {} }] }],
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
        devices: [{ id: hostile, clientName: hostile, signedInAt: new Date(0) }],
        sessions: [
          {
            sid: hostile,
            browser: hostile,
            system: hostile,
            address: hostile,
            since: new Date(),
            signedInAt: new Date(0),
            usedAt: new Date(0),
            applications: [hostile],
            current: false,
          },
        ],
        form,
        othersForm: form,
        allForm: form,
      },
    },
  ];

  it.each(attacks)('the page $name shows untrusted text inertly (security R93, A16, A17)', (view) => {
    const html = pages.render(view.name, view.data, english);
    expect(html).toContain('&lt;script&gt;');
    expect(html).not.toMatch(/<script>alert|<img src=x|"javascript:|"data:text\/html/i);
    expect(html).not.toContain('user:password');
    // no value ended an attribute early
    expect(html.replace(/="[^"]*"/g, '')).not.toContain('onerror=alert(1)"');
  });

  it('a form_post page keeps the parameters exactly', () => {
    const state = `a&b "c" 'd' <e> \\ + % é 𝄞`;
    const html = pages.render('form-post', { action: 'https://a.example/', parameters: [['state', state]] }, english);
    expect(html).toContain(`value="a&amp;b &quot;c&quot; &#39;d&#39; &lt;e&gt; \\ + % é 𝄞"`);
    expect(() => pages.render('form-post', { action: 'javascript:alert(1)', parameters: [] }, english)).toThrow(/http/);
  });

  it('the pages link only to https and to the loopback host, without a referrer (security R93)', () => {
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
    const external = [...html.matchAll(/<a [^>]*href="https:[^>]*>/g)];
    expect(external).toHaveLength(2);
    for (const [link] of external) expect(link).toContain('rel="noopener noreferrer"');
  });

  it("a client's name cannot imitate other text (security A64)", () => {
    const consent = (name: string): string =>
      pages.render('consent', { ...examples.consent[1], client: { ...client, name } }, english);
    expect(title(consent('A\u202Emoc.live\u2066\u0000\u200B\nB'))).toBe(
      'Error: Allow Amoc.live B to use your account? - Gatehouse',
    );
    expect(title(consent(' \u200B\u2060 '))).toContain('Allow harbour to use');
    expect(title(consent('x'.repeat(10_000)))).toHaveLength(
      'Error: Allow  to use your account? - Gatehouse'.length + 120,
    );
    expect(consent('Harbour')).toContain('This application is not verified');
    expect(consent('Harbour')).toContain('<bdi>harbour.example</bdi>');
    const reviewed = { ...examples.consent[1], client: { ...client, selfRegistered: false } };
    expect(pages.render('consent', reviewed, english)).not.toContain('registered itself');
  });

  it('a form shows again what the user typed, but never a password', () => {
    const refused = { problem: 'credentials', fields: ['password'] };
    const data = { ...signIn, ...refused, username: 'ada & co', password: 'hunter2' } as Pages['login'];
    const html = pages.render('login', data, english);
    expect(html).toContain('value="ada &amp; co"');
    expect(html).not.toContain('hunter2');
    expect(html).toMatch(/<input id="password"(?![^>]*value=)/);
    // one sentence at the form says it, once
    expect(html).not.toContain('id="problem"');
    expect(html).toMatch(/<input id="password"[^>]*aria-invalid="true" autofocus aria-describedby="password-fault"/);
    expect(html.split('Incorrect user name or password')).toHaveLength(2);
    expect(title(html)).toBe('Error: Sign in to Harbour - Gatehouse');
  });

  it('the login page has no form where a sign-in could not help', () => {
    const html = pages.render('login', { client, problem: 'client' }, english);
    expect(html).not.toMatch(/<form|<input/);
    expect(html).toContain('This isn’t your fault');
    expect(html).toContain('href="/account"');
  });
});

test('a joiner, which some scripts need between letters, hides no address in a name from the mails (security R124)', () => {
  for (const name of [
    'go to evil\u200c.example now',
    'go to evil.\u200dexample now',
    'go to https\u200c://evil\u200c.example/x now',
  ])
    expect(nameInMail(name)).toBe('go to … now');
  expect(nameInMail('می\u200cخواهم')).toBe('می\u200cخواهم');
});
