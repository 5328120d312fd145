// Gives example data of the pages about sign-in by a connection.
import type { ConnectionPages } from '../../src/pages/views/connections.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { rulesOfConnection } from './console-rules.ts';
import { account as ada, client, form, languages } from './parts.ts';

const account = { account: ada, accountUri: '/account' };
const frame = { ...consoleFrame, section: 'connections' as const };
const since = new Date('2026-03-14T09:26:53Z');
const uri = '/admin/connections/corporate';
const news = { newUri: '/admin/connections/new', newDirectoryUri: '/admin/connections/new/directory' };
const redirectUri = 'https://id.example.com/connections/corporate/callback';
const longName = 'Donaudampfschifffahrtsgesellschaft, Abteilung Elektrizität';
const leadsTo = { id: 'corporate', name: longName, form: form('/connections/corporate') };
/** The fields that a form of each type has are those that the console makes. */
const text = (name: string, value = '', required = false) => ({
  name,
  kind: 'text' as const,
  value,
  required,
  most: 500,
});
const lines = (name: string, value = '') => ({ name, kind: 'lines' as const, value, writing: 'ltr' as const });
const check = (name: string, value = '') => ({ name, kind: 'check' as const, value });
const choice = (name: string, value: string, ...choices: string[]) => ({
  name,
  kind: 'radio' as const,
  value,
  choices,
});
const secret = { name: 'secret', kind: 'secret' as const, value: '', most: 16_384 };
const more = { group: 'more' };
const common = [
  secret,
  choice('status', 'enabled', 'disabled', 'enabled', 'link_only'),
  choice('linking', 'domain', 'ask', 'domain', 'never'),
  choice('provisioning', 'on', 'off', 'invited', 'on'),
  text('username_from', 'upn'),
  check('username_local_part', 'true'),
  check('username_suffix', 'true'),
  check('trust_email'),
  lines('domains', 'example.com'),
  lines('authoritative_domains', 'example.com'),
  lines('default_groups', 'guests'),
  check('trust_mfa', 'true'),
  { name: 'position', kind: 'number' as const, value: '1', most: 9, ...more },
  { name: 'session_lifetime', kind: 'number' as const, value: '', most: 9, ...more },
  { ...choice('logout', '', 'local', 'propagate'), ...more },
  { ...check('subdomains', 'true'), ...more },
  { ...check('enforced', 'true'), ...more },
  { ...check('hidden'), ...more },
  { ...check('store_tokens'), ...more },
];
const name = text('display_name', longName, true);
const openId = [
  text('issuer', 'https://login.example.com/tenant', true),
  text('client_id', 'gatehouse', true),
  text('scope', 'openid profile email'),
  text('groups_claim', 'groups'),
  choice(
    'token_endpoint_auth_method',
    'client_secret_basic',
    'client_secret_basic',
    'client_secret_post',
    'private_key_jwt',
  ),
  choice('response_mode', 'query', 'query', 'form_post'),
];
const types = (['google', 'microsoft', 'github', 'apple', 'oidc', 'oauth', 'saml', 'directory'] as const).map(
  (name) => ({
    name,
    uri: `/admin/connections/new/${name}`,
  }),
);

export const connectionExamples: Examples<ConnectionPages> = {
  'connection-problem': [
    { problem: 'expired', signInUri: '/login', reference: '0a1b2c3d' },
    {
      problem: 'elsewhere',
      name: longName,
      client,
      signInUri: '/login?transaction=x',
      leadsTo,
      reference: '0a1b2c3d',
      languages: languages(''),
      languageForm: { action: '/language', hidden: { shown: 'sealed' } },
    },
  ],
  'login-leave': [
    { name: 'Corporate', uri: 'https://login.example.com/authorize?client_id=gatehouse' },
    { name: longName, client, uri: 'https://login.example.com/authorize?client_id=gatehouse' },
  ],
  'login-connect': [
    { name: 'Corporate', address: 'ada@example.com', signInUri: '/login?destination=connect' },
    {
      name: longName,
      client,
      address: 'ada.lovelace@a-very-long-name-of-a-domain.example.com',
      other: true,

      form: form('/login/connect'),
      signInUri: '/login?destination=connect',
      languages: languages('/login/connect'),
    },
  ],
  'login-name': [
    { name: 'Corporate', form: form('/login/name'), username: '' },
    {
      name: longName,
      client,
      form: form('/login/name'),
      username: 'ada',
      fault: 'taken',
      languages: languages('/login/name'),
    },
  ],
  'account-connections': [
    { ...account, links: [], open: [], form: form('/account/connections') },
    {
      ...account,
      links: [
        { connection: 'corporate', name: longName, since, usedAt: since },
        { connection: 'github', name: 'GitHub', since },
      ],
      open: [{ connection: 'partners', name: 'Partners', mark: 'organization' }],
      form: form('/account/connections'),
      waiting: { connection: 'partners', name: longName, identity: 'ada.lovelace@partners.example.com' },
      problem: 'only-way',
      name: longName,
    },
  ],
  'console-connections': [
    { ...frame, connections: [], ...news },
    {
      ...frame,
      connections: [
        { name: longName, id: 'corporate', kind: 'oidc', status: 'enabled', mark: 'organization', usedAt: since, uri },
        { name: 'Partners', id: 'partners', kind: 'oidc', status: 'link_only', mark: 'microsoft', uri },
        { name: 'Old', id: 'old', kind: 'oidc', status: 'disabled', mark: 'key', uri },
      ],
      ...news,
    },
  ],
  'console-connection-types': [
    { ...frame, types: types.slice(0, 1) },
    { ...frame, types },
  ],
  'console-connection': [
    {
      ...frame,
      connection: {
        id: 'corporate',
        name: 'Corporate',
        kind: 'oidc',
        status: 'disabled',
        issuer: 'https://login.example.com',
        clientId: 'x',
        linking: 'ask',
        provisioning: 'off',
        authoritativeDomains: [],
        trustMfa: false,
        domains: [],
        subdomains: false,
        enforced: false,
        hidden: false,
        createdAt: since,
      },
      redirectUri,
      rules: rulesOfConnection('console.connection', false),
      editUri: `${uri}/edit`,
      deleteUri: `${uri}/delete`,
      logoutUris: {
        backchannel: redirectUri.replace('callback', 'backchannel-logout'),
        frontchannel: redirectUri.replace('callback', 'frontchannel-logout'),
        'signed-out': redirectUri.replace('callback', 'signed-out'),
      },
    },
    {
      ...frame,
      wordConfirmations: { count: 12, uri: `${uri}/word-confirmations` },
      connection: {
        id: 'corporate',
        name: longName,
        kind: 'oidc',
        status: 'enabled',
        clientId: 'gatehouse',
        issuer: 'https://login.example.com/3f2504e0-4f89-11d3-9a0c-0305e82c3301/v2.0',
        linking: 'domain',
        provisioning: 'on',
        authoritativeDomains: ['example.com', 'example.org'],
        trustMfa: true,
        secretSince: since,
        discoveredAt: since,
        createdAt: since,
        preset: 'microsoft',
        domains: ['example.com', 'example.net'],
        subdomains: true,
        enforced: true,
        hidden: true,
      },
      keyUri: 'https://id.example.com/connections/corporate/jwks',
      redirectUri,
      rules: rulesOfConnection('console.connection', true),
      editUri: `${uri}/edit`,
      deleteUri: `${uri}/delete`,
    },
  ],
  'console-connection-form': [
    {
      ...frame,
      redirectUri,
      type: 'oidc',
      fields: [text('id', '', true), name, ...openId, ...common],
      form: form('/admin/connections/new/oidc'),
    },
    {
      ...frame,
      of: { name: longName, uri },
      redirectUri,
      type: 'oidc',
      fields: [name, ...openId, { ...secret, hint: 'secret.kept' }, ...common.slice(1)],
      form: form(`${uri}/edit`),
      refused: { field: 'issuer', member: 'settings.issuer', code: 'connection.other-issuer', whole: true },
    },
  ],
  'console-word-confirmations': [
    { ...frame, name: 'Corporate', uri, domains: ['example.com'], count: 0, accounts: [], form: form('/x') },
    {
      ...frame,
      name: longName,
      uri: '/admin/connections/corporate',
      domains: ['example.com', 'example.org'],
      count: 120,
      accounts: [
        { username: 'ada', email: 'ada@example.com', uri: '/admin/users/1' },
        { username: longName, email: `${'x'.repeat(60)}@example.org`, uri: '/admin/users/2' },
      ],
      form: form('/admin/connections/corporate/word-confirmations'),
    },
  ],
  'console-connection-delete': [
    { ...frame, id: 'corporate', name: 'Corporate', uri, people: 0, form: form(`${uri}/delete`) },
    {
      ...frame,
      id: 'corporate',
      name: longName,
      uri,
      people: 1234,
      form: form(`${uri}/delete`),
      typed: 'x',
      problem: 'typed',
    },
  ],
};
