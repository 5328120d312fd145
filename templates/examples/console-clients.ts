// Gives example data of the console's client pages.
import type { ConsoleClientPages, ReviewFacts, Named } from '../../src/pages/views/console-clients.ts';
import type { Examples, FieldView } from '../../src/pages/views/parts.ts';
import type { ConsoleFrame } from '../../src/pages/views/console.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const frame: ConsoleFrame = { ...consoleFrame, section: 'clients' };
const named: Named = { name: 'Harbour', clientId: 'harbour', clientUri: '/admin/clients/harbour' };
const at = new Date('2026-03-14T09:26:53Z');
const hosts: ReviewFacts['hosts'] = [
  { host: 'harbour.example', since: new Date('2025-06-01T00:00:00Z'), clients: 2, local: false, fresh: false },
  { host: 'harb0ur.example:8443', clients: 0, local: false, fresh: true },
  { host: '127.0.0.1:8081', clients: 0, local: true, fresh: true },
];
const lookAlikes = [
  { name: 'Harbour', uri: '/admin/clients/harbour', same: true, dismissal: form('/admin/clients/c-4f81/look-alikes') },
  { name: 'Harbour Desk', uri: '/admin/clients/desk', same: false },
];
const change: ReviewFacts = {
  name: 'Hаrbour',
  clientId: 'c-4f81',
  uri: '/admin/clients/c-4f81',
  kind: 'change',
  hosts,
  lookAlikes,
  heldResources: [{ uri: 'https://api.harbour.example/', holder: 'Harbour Desk', holderUri: '/admin/clients/desk' }],
  changes: [
    {
      member: 'redirect_uris',
      added: ['https://harb0ur.example:8443/callback'],
      removed: ['https://harbour.example/old'],
      kept: ['https://harbour.example/callback'],
    },
    { member: 'scope', added: ['phone'], removed: [], kept: ['openid', 'profile'] },
  ],
  contacts: ['ops@harbour.example'],
  address: '203.0.113.7',
  at,
  awaitsCollection: false,
  waitingAddresses: [],
  disabled: false,
};
export const consoleReviews: ReviewFacts[] = [
  change,
  {
    ...change,
    clientId: 'c-4f82',
    uri: '/admin/clients/c-4f82',
    name: 'Pier',
    disabled: true,
    waitingAddresses: ['cursor://pier/callback'],
  },
  {
    ...change,
    clientId: 'c-5a02',
    uri: '/admin/clients/c-5a02',
    name: 'Lantern',
    kind: 'registration',
    waitingAddresses: ['cursor://harbour/callback'],
    hosts: [{ host: 'lantern.example', clients: 0, local: false, fresh: true }],
    lookAlikes: [],
    heldResources: [],
    changes: [{ member: 'scope', added: ['openid', 'profile', 'email'], removed: [], kept: [] }],
    awaitsCollection: true,
  },
  {
    ...change,
    clientId: 'https://editor.example/client.json',
    uri: '/admin/clients/https%3A%2F%2Feditor.example%2Fclient.json',
    name: 'Harbour Editor',
    kind: 'registration',
    document: {
      name: 'editor.example',
      uri: 'https://editor.example/client.json',
      askers: { count: 7, usernames: ['ada', 'grace', 'katherine@example.org'] },
      otherHosts: ['callback.example'],
      onlyLoopback: true,
      gone: true,
    },
    hosts: [{ host: 'callback.example', clients: 0, local: false, fresh: true }],
    lookAlikes: [],
    heldResources: [],
    changes: [{ member: 'scope', added: ['openid', 'profile', 'email'], removed: [], kept: [] }],
  },
];
const figures = (['sessions', 'accessTokens', 'refreshTokens', 'grants', 'settings'] as const).map((name, index) => ({
  name,
  count: [12, 40, 1000, 9, 0][index]!,
}));
const text = (name: string, value: string, rest: Partial<FieldView> = {}): FieldView => ({
  name,
  kind: 'text',
  value,
  ...rest,
});

export const consoleClientExamples: Examples<ConsoleClientPages> = {
  'console-clients': [
    {
      ...frame,
      filter: { q: '', status: '', registered: '', order: 'newest' },
      filtered: false,
      clients: [],
      created: { now: 'descending', uri: '/admin/clients?order=oldest' },
    },
    {
      ...frame,
      pending: { count: 1000, more: true },
      done: 'client-saved',
      filter: { q: 'harb', status: 'enabled', registered: 'true', order: 'oldest' },
      filtered: true,
      clients: [
        {
          ...named,
          uri: named.clientUri,
          state: 'enabled',
          hosts: ['harbour.example', 'staging.harbour.example', '127.0.0.1:8081'],
          selfRegistered: true,
          createdAt: at,
        },
        {
          name: '',
          clientId: 'c-4f81',
          uri: '/admin/clients/c-4f81',
          state: 'registration',
          hosts: [],
          selfRegistered: false,
          createdAt: at,
        },
        {
          name: 'Desk',
          clientId: 'desk',
          uri: '/admin/clients/desk',
          state: 'change',
          hosts: ['com.example.desk:'],
          selfRegistered: false,
          createdAt: at,
        },
      ],
      created: { now: 'ascending', uri: '/admin/clients' },
      first: '/admin/clients?q=harb',
      next: '/admin/clients?q=harb&cursor=x',
    },
  ],
  'console-registrations': [
    { ...frame, waiting: [], selected: [], reason: '' },
    {
      ...frame,
      form: form('/admin/clients/decide'),
      waiting: consoleReviews.map((review) => ({ ...review, decision: form('/admin/clients/decide') })),
      selected: ['c-4f82'],
      next: '/admin/clients/waiting?cursor=x',
      first: '/admin/clients/waiting',
      report: { decided: 2, changed: ['Pier'], held: ['Quay'], gone: 1 },
      reason: 'Nobody here knows this application.',
    },
  ],
  'console-client': [
    {
      ...frame,
      ...named,
      name: '',
      state: 'disabled',
      enabled: false,
      facts: { hosts: [], lookAlikes: [], heldResources: [] },
      selfRegistered: false,
      firstParty: false,
      selfManaged: false,
      weakSecret: false,
      createdAt: at,
      updatedAt: at,
      members: [],
      figures: [],
      most: 1000,
      sessions: [],
      logouts: [],
      events: [],
      auditUri: '/admin/audit?client_id=harbour',
      own: true,
    },
    {
      ...frame,
      ...named,
      state: 'change',
      enabled: true,
      refusalReason: 'Nobody here knows this address.',
      facts: { hosts, lookAlikes, heldResources: change.heldResources },
      review: change,
      decision: form('/admin/clients/decide'),
      approvedBy: 'administrator',
      origin: { actor: { id: 'bq1k', name: 'ada', uri: '/admin/users/bq1k' }, address: '203.0.113.7' },
      selfRegistered: true,
      firstParty: true,
      selfManaged: true,
      weakSecret: true,
      access: [{ name: 'crew', uri: '/admin/groups/crew' }],
      networks: ['192.0.2.0/24', '2001:db8::/32'],
      connections: [{ id: 'corporate', uri: '/admin/connections/corporate' }],
      createdAt: at,
      updatedAt: at,
      members: [
        { member: 'redirect_uris', values: ['https://harbour.example/callback', 'http://127.0.0.1:8081/callback'] },
        { member: 'scope', values: ['openid', 'profile'] },
      ],
      homeUri: 'https://harbour.example/',
      figures: [...figures, { name: 'logouts', count: 1 }],
      most: 1000,
      sessions: [
        { username: 'ada', userUri: '/admin/users/ada', scope: 'openid profile', offline: true, createdAt: at },
        { username: 'bob', userUri: '/admin/users/bob', scope: 'openid', offline: false, createdAt: at },
      ],
      logouts: [
        { status: 'waiting', attempts: 3, failure: 'no answer within 5 seconds', createdAt: at },
        { status: 'delivered', attempts: 1, createdAt: at },
      ],
      events: [
        {
          id: '9',
          type: 'consent.granted',
          failed: false,
          at,
          uri: '/admin/audit/9',
          actor: { id: 'bq1k', name: 'ada', uri: '/admin/users/bq1k' },
          user: { id: 'bq1k', name: 'ada', uri: '/admin/users/bq1k' },
        },
        { id: 'token-8', type: 'client.authentication_failed', failed: true, at },
      ],
      auditUri: '/admin/audit?client_id=harbour',
      tryUri: '/admin/try-it?client_id=harbour',
      own: false,
    },
  ],
  'console-client-edit': [
    { ...frame, client: named, form: form('/admin/clients/harbour/edit'), groups: [] },
    {
      ...frame,
      client: named,
      form: form('/admin/clients/harbour/edit'),
      changed: true,
      waits: true,
      groups: [
        {
          name: 'about',
          fields: [
            text('client_name', 'Harbour'),
            text('client_uri', 'http://harbour', { kind: 'address', fault: { code: 'web-address' } }),
            text('contacts', 'ops@harbour.example\nHarbour desk', { kind: 'lines' }),
          ],
        },
        {
          name: 'rights',
          fields: [
            text('grant_types', 'authorization_code', { kind: 'boxes', choices: ['authorization_code', 'implicit'] }),
            text('require_pkce', 'true', { kind: 'check' }),
          ],
        },
        {
          name: 'authentication',
          fields: [
            text('token_endpoint_auth_method', 'none', { kind: 'select', choices: ['client_secret_basic', 'none'] }),
            text('jwks', '', { kind: 'json' }),
          ],
        },
        { name: 'tokens', fields: [text('access_token_lifetime', '600', { kind: 'number' })] },
      ],
    },
  ],
  'console-client-secrets': [
    { ...frame, ...named, secrets: [], form: form('/admin/clients/harbour/secrets') },
    {
      ...frame,
      ...named,
      secrets: ['client_secret', 'shared_secret', 'registration_access_token'],
      problem: 'nothing',
      shown: [
        { name: 'client_id', value: 'harbour' },
        { name: 'issuer', value: 'https://id.example' },
        { name: 'client_secret', value: 'nX2vQm8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxY' },
        { name: 'shared_secret', value: '8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxYnX2vQm' },
        { name: 'registration_access_token', value: 'gh_r_8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxYnX2vQm' },
      ],
    },
  ],
  'console-client-end': [
    {
      ...frame,
      ...named,
      name: '',
      operation: 'disable',
      form: form('/admin/clients/harbour/disable'),
      users: { count: 0, more: false },
      figures: [],
      most: 1000,
    },
    {
      ...frame,
      ...named,
      operation: 'delete',
      form: form('/admin/clients/harbour/delete'),
      users: { count: 1000, more: true },
      figures,
      most: 1000,
      typed: 'harbor',
      problem: 'name',
    },
  ],
};
