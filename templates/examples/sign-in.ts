// Gives example data of the sign-in pages.
import type { SignInPages } from '../../src/pages/views/sign-in.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { client, bareClient, account, form, image, languages } from './parts.ts';

export const signInExamples: Examples<SignInPages> = {
  login: [
    {},
    {
      client,
      methods: [
        { id: 'password', form: form('/login') },
        { id: 'passkey', form: form('/login/passkey'), script: 'passkey.js', options: '{"challenge":"AAAA"}' },
        { id: 'email-code', form: form('/login/email') },
      ],
      elsewhere: (
        [
          ['Corporate', 'organization'],
          ['Partners & Friends', 'key'],
          ['GitHub', 'github'],
          ['Apple', 'apple'],
          ['Google', 'google'],
          ['Microsoft', 'microsoft'],
        ] as const
      ).map(([name, mark], index) => ({
        id: `c${index}`,
        name,
        mark,
        ...(mark === 'key' && { logo: image }),
        form: form(`/connections/c${index}`),
      })),
      cancel: form('/login/cancel'),
      username: 'ada',
      problem: 'credentials',
      fields: ['password'],
      reauthentication: account,
      accountsUri: '/login/accounts',
      forgottenPasswordUri: '/password/forgotten',
      signUpUri: '/sign-up',
      remember: true,
      reference: '7F3K-9QXD',
      languages: languages('/login'),
    },
  ],
  'login-email': [
    { form: form('/login/email'), backUri: '/login' },
    { client, form: form('/login/email'), login: 'ada', problem: 'missing', remember: true, backUri: '/login' },
  ],
  'login-email-code': [
    { form: form('/login/email/code'), againUri: '/login/email', backUri: '/login' },
    {
      client,
      form: form('/login/email/code'),
      problem: 'code',
      reference: '3f9c01ab',
      againUri: '/login/email',
      backUri: '/login',
    },
  ],
  'login-accounts': [
    { accounts: [], form: form('/login/accounts'), otherUri: '/login?account=other' },
    {
      client,
      signedIn: { ...account, sub: 'sub-1' },
      accounts: [
        { username: 'grace', name: 'Grace Hopper', sub: 'sub-2', uri: '/login?account=sub-2' },
        { username: 'katherine@example.org', sub: 'sub-3', uri: '/login?account=sub-3' },
      ],
      form: form('/login/accounts'),
      otherUri: '/login?account=other',
      problem: 'tampered',
      languages: languages('/login/accounts'),
    },
  ],
  consent: [
    {
      client: bareClient,
      account: { username: '' },
      form: form('/consent'),
      switchAccountUri: '/login',
      scopes: [],
      apis: [],
    },
    {
      client,
      account,
      details: [
        {
          type: 'payment',
          text: { en: 'Pay {amount} to {payee.name}' },
          values: { amount: '123.50', 'payee.name': 'Merchant A' },
          members: [
            { path: 'amount', value: '123.50' },
            { path: 'payee.name', value: 'Merchant A' },
          ],
          keep: 'keep_0',
        },
      ],
      form: form('/consent'),
      switchAccountUri: '/login/accounts?transaction=request',
      languages: languages('/consent?transaction=request'),
      scopes: [
        { scope: 'openid', claims: [] },
        {
          scope: 'profile',
          claims: [
            { claim: 'name', value: 'Ada Lovelace' },
            { claim: 'birthdate', value: '1815-12-10' },
            { claim: 'zoneinfo', value: 'Europe/London' },
            { claim: 'updated_at', value: '2026-03-14', day: new Date('2026-03-14T09:26:53Z') },
          ],
        },
        {
          scope: 'email',
          claims: [
            { claim: 'email', value: 'ada@example.org' },
            { claim: 'email_verified', value: 'false', flag: false },
          ],
        },
        { scope: 'phone', claims: [] },
        { scope: 'offline_access', claims: [] },
      ],
      apis: [
        {
          name: 'Logbook',
          host: 'api.harbour.example',
          scopes: [
            { scope: 'log.read', description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' } },
            { scope: 'log.write', description: {} },
          ],
        },
      ],
      claims: [
        { claim: 'nickname', value: 'ada' },
        { claim: 'picture', value: '' },
      ],
      problem: 'expired',
    },
  ],
  continue: [
    { client: bareClient, account: { username: '' }, form: form('/authenticate') },
    { client, account, form: form('/authenticate') },
  ],
  logout: [
    { account: { username: '' }, form: form('/logout') },
    { client, account, form: form('/logout'), problem: 'tampered' },
  ],
  'signed-out': [
    { stayed: false, accountUri: '/account' },
    {
      client,
      stayed: false,
      problem: 'redirect',
      accountUri: '/account',
      applications: [{ name: 'Lighthouse', uri: 'https://lighthouse.example/' }],
      stillOpen: ['Beacon', 'Lighthouse'],
      frames: ['https://lighthouse.example/logout?sid=1'],
      continueUri: 'https://harbour.example/bye?state=1',
    },
  ],
  'site-signed-out': [
    { signOutUri: '/logout' },
    { client, signOutUri: '/logout', againUri: 'https://wiki.example.com/' },
  ],
  'error-codes': [
    { codes: [] },
    {
      codes: [
        { code: 'invalid_grant', meaning: ['The code is unknown'] },
        { code: 'login_required', meaning: ['', 'prompt=none', ', but no user is signed in'] },
      ],
    },
  ],
  error: [
    { kind: 'server', reference: '' },
    { kind: 'request', reference: '7F3K-9QXD', client },
  ],
  'access-denied': [
    { by: 'client', contacts: [] },
    {
      by: 'service',
      reason: 'group',
      client,
      account,
      contacts: ['help@harbour.example', 'Harbour desk'],
      form: { action: '/access-denied', hidden: { csrf: 'c', transaction: 't' } },
      reference: '0a1b2c3d',
      switchAccountUri: '/login/accounts?transaction=t',
      problem: 'tampered',
    },
  ],
  leave: [{ uri: '/authorize?transaction=x' }, { uri: '/authorize?transaction=x', client }],
  'form-post': [
    { action: 'https://harbour.example/callback', parameters: [] },
    {
      action: 'https://harbour.example/callback?tenant=1',
      parameters: [
        ['code', 'c0de'],
        ['state', 'st4te'],
        ['iss', 'https://id.example'],
      ],
      client,
    },
  ],
};
