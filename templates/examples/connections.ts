// Gives example data of the pages about sign-in by a connection.
import type { ConnectionPages } from '../../src/pages/views/connections.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
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
const text = (name: string) => ({ name, type: 'text' as const, required: true, most: 500 });
const lines = (name: string) => ({ name, type: 'lines' as const });
const choice = (name: string, ...values: string[]) => ({ name, type: 'choice' as const, values });
const common = [
  { name: 'secret', type: 'secret' as const, most: 16_384 },
  choice('status', 'disabled', 'enabled', 'link_only'),
  choice('linking', 'ask', 'domain', 'never'),
  choice('provisioning', 'off', 'invited', 'on'),
  text('username_from'),
  ...['username_local_part', 'username_suffix', 'trust_email'].map((name) => ({ name, type: 'check' as const })),
  lines('domains'),
  lines('authoritative_domains'),
  lines('group_rules'),
  lines('default_groups'),
  { name: 'trust_mfa', type: 'check' as const },
  ...['position', 'session_lifetime'].map((name) => ({ name, type: 'number' as const, most: 9, more: true })),
  { name: 'logout', type: 'choice' as const, values: ['local', 'propagate'], more: true },
  ...['subdomains', 'enforced', 'hidden', 'store_tokens'].map((name) => ({ name, type: 'check' as const, more: true })),
];
const named = [text('id'), text('display_name')];
const openId = [
  text('issuer'),
  text('client_id'),
  text('scope'),
  text('groups_claim'),
  choice('token_endpoint_auth_method', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'),
  choice('response_mode', 'query', 'form_post'),
];
const typed = {
  id: 'corporate',
  display_name: longName,
  issuer: 'https://login.example.com/tenant',
  client_id: 'gatehouse',
  secret: '',
  scope: 'openid profile email',
  token_endpoint_auth_method: 'client_secret_basic',
  status: 'enabled',
  linking: 'domain',
  provisioning: 'on',
  authoritative_domains: 'example.com',
  groups_claim: 'groups',
  group_rules: 'Staff = staff',
  default_groups: 'guests',
  trust_mfa: 'true',
  position: '1',
  hidden: '',
  domains: 'example.com',
  subdomains: 'true',
  enforced: 'true',
  session_lifetime: '',
  response_mode: 'query',
  username_from: 'upn',
  username_local_part: 'true',
  username_suffix: 'true',
};
const types = (['oidc', 'google', 'microsoft', 'github', 'apple', 'oauth'] as const).map((name) => ({
  name,
  uri: `/admin/connections/new/${name}`,
}));

export const connectionExamples: Examples<ConnectionPages> = {
  'connection-problem': [
    { problem: 'expired', signInUri: '/login', reference: '0a1b2c3d' },
    { problem: 'elsewhere', name: longName, client, signInUri: '/login?transaction=x', leadsTo, reference: '0a1b2c3d' },
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
      open: [{ connection: 'partners', name: 'Partners' }],
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
        { name: longName, id: 'corporate', kind: 'oidc', status: 'enabled', uri },
        { name: 'Partners', id: 'partners', kind: 'oidc', status: 'link_only', uri },
        { name: 'Old', id: 'old', kind: 'oidc', status: 'disabled', uri },
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
      editUri: `${uri}/edit`,
      deleteUri: `${uri}/delete`,
    },
  ],
  'console-connection-form': [
    {
      ...frame,
      redirectUri,
      type: 'oidc',
      fields: [...named, ...openId, ...common],
      typed: { ...typed, id: '' },
      form: form('/admin/connections/new/oidc'),
    },
    {
      ...frame,
      of: { id: 'corporate', name: longName, uri, secretSince: since },
      redirectUri,
      typed,
      type: 'oidc',
      fields: [text('display_name'), ...openId, ...common],

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
