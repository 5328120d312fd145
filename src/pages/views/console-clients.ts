// The console's pages about clients: what each shows, and examples.
import { consoleFrame, type ConsoleFrame } from './console.ts';
import type { LinkedName } from './console-operations.ts';
import { form, type Examples, type FormView } from './parts.ts';

/** Where a client stands: what waits of it, and whether it is in use. */
export type ClientState = 'enabled' | 'disabled' | 'registration' | 'change' | 'refused' | 'collection';

/** One client of a list. All text here is untrusted. */
export interface ClientRow {
  name: string;
  clientId: string;
  uri: string;
  state: ClientState;
  hosts: string[];
  selfRegistered: boolean;
  createdAt: Date;
}

/** What a decision about a registration or a change hangs on. All text here is untrusted. */
export interface Judgement {
  name: string;
  clientId: string;
  uri: string;
  kind: 'registration' | 'change';
  /** The redirect hosts that it would have; `since` undefined for one that no enabled client ever had; `fresh` for what only the change adds. */
  hosts: { host: string; since?: Date; clients: number; local: boolean; fresh: boolean }[];
  /** Enabled clients whose names could be taken for this one. */
  lookAlikes: { name: string; uri: string; same: boolean }[];
  /** Resources that it claims and other clients hold: it cannot be approved before that is settled. */
  heldResources: { uri: string; holder: string; holderUri: string }[];
  /** Member by member what would change; of a registration all that it asks for. */
  changes: { member: string; added: string[]; removed: string[]; kept: string[] }[];
  contacts: string[];
  address?: string;
  at: Date;
  /** Registered in approval mode: whoever set it up can be asked for the code. */
  awaitsCollection: boolean;
  /** A change of a client that is disabled: what approves others only enables it, and the change goes on waiting. */
  disabled: boolean;
}

/** What is wrong with a field: a key of the catalogue under `console.fault.`, and what its sentence names. */
export interface FieldFault {
  code: FaultCode;
  values?: Readonly<Record<string, string>>;
}

export const faultCodes = [
  'address',
  'algorithm',
  'characters',
  'choice',
  'encryption-key',
  'entries',
  'grant',
  'https',
  'invalid',
  'json',
  'key',
  'keys',
  'keys-once',
  'length',
  'localhost',
  'missing',
  'name',
  'own-resource',
  'pairwise',
  'public',
  'refresh',
  'request',
  'resource',
  'seconds',
  'secret',
  'sector-document',
  'sector-hosts',
  'same-origin',
  'web-address',
] as const;
export type FaultCode = (typeof faultCodes)[number];

/** A field of the form that makes or changes a client. */
export interface ClientField {
  /** The member of the metadata, or what an administrator sets beside it. */
  name: string;
  kind: 'text' | 'address' | 'lines' | 'check' | 'choice' | 'choices' | 'number' | 'json';
  /** What was typed, as it was typed. */
  value: string;
  /** Of `choices`: those that are taken. */
  taken?: string[];
  options?: string[];
  /** What is wrong with it. */
  fault?: FieldFault;
}

type Named = { name: string; clientId: string; clientUri: string };

export interface ConsoleClientPages {
  /** Clients, newest first, as far as the filter lets them through. */
  'console-clients': ConsoleFrame & {
    filter: { q: string; status: string; registered: string };
    filtered: boolean;
    clients: ClientRow[];
    /** Registrations and changes that wait, counted up to the number that `more` speaks of. */
    waiting: number;
    more: boolean;
    first?: string;
    next?: string;
  };
  /** What waits for a decision, with all that it hangs on; several are decided at once. */
  'console-registrations': ConsoleFrame & {
    form?: FormView;
    waiting: Judgement[];
    next?: string;
    first?: string;
    /** What became of the decisions just made, if not all could be carried out; `reason` is missing, or nothing was picked. */
    report?: { decided: number; changed: string[]; held: string[]; gone: number };
    problem?: 'nothing' | 'reason';
    reason: string;
  };
  'console-client': ConsoleFrame &
    Named & {
      state: ClientState;
      enabled: boolean;
      refusalReason?: string;
      facts: Pick<Judgement, 'hosts' | 'lookAlikes' | 'heldResources'>;
      judgement?: Judgement;
      /** Approves or refuses what waits, or enables a disabled client. */
      decision?: FormView;
      approvedBy?: 'administrator' | 'initial_access_token' | 'automatic';
      origin?: { by: 'registration' | 'administrator'; actor?: string; address?: string };
      selfRegistered: boolean;
      firstParty: boolean;
      selfManaged: boolean;
      createdAt: Date;
      updatedAt: Date;
      members: { member: string; values: string[] }[];
      homeUri?: string;
      /** What hangs on it, each counted up to the number of `most`. */
      figures: {
        name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings' | 'logouts';
        count: number;
      }[];
      most: number;
      sessions: { username: string; userUri: string; scope: string; offline: boolean; createdAt: Date }[];
      logouts: {
        status: 'waiting' | 'delivered' | 'refused' | 'given_up';
        attempts: number;
        failure?: string;
        createdAt: Date;
      }[];
      events: { type: string; success: boolean; actor?: LinkedName; at: Date }[];
      auditUri: string;
      tryUri?: string;
      /** The console's own client: it is not to be changed here. */
      own: boolean;
    };
  /** Makes a client, or changes one. */
  'console-client-edit': ConsoleFrame & {
    client?: Named;
    form: FormView;
    groups: { name: string; fields: ClientField[] }[];
    /** Why the database refused the client, in English: another client holds a resource. */
    problem?: string;
    changed?: boolean;
    /** A change of this client waits: approving it replaces what is saved here. */
    waits?: boolean;
  };
  /** Asks which secrets shall be new, and shows those that are, once. */
  'console-client-secrets': ConsoleFrame &
    Named & {
      form?: FormView;
      secrets: ('client_secret' | 'shared_secret' | 'registration_access_token')[];
      problem?: 'nothing' | 'changed';
      /** Shown once. */
      shown?: {
        name: 'client_id' | 'issuer' | 'client_secret' | 'shared_secret' | 'registration_access_token';
        value: string;
      }[];
      /** The client was made just now. */
      made?: boolean;
    };
  /** Says what disabling or deleting a client ends, and asks for its name. */
  'console-client-end': ConsoleFrame &
    Named & {
      act: 'disable' | 'delete';
      form: FormView;
      figures: { name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings'; count: number }[];
      most: number;
      typed: string;
      problem?: 'name';
    };
}

const frame: ConsoleFrame = { ...consoleFrame, section: 'clients' };
const named: Named = { name: 'Harbour', clientId: 'harbour', clientUri: '/admin/clients/harbour' };
const at = new Date('2026-03-14T09:26:53Z');
const hosts: Judgement['hosts'] = [
  { host: 'harbour.example', since: new Date('2025-06-01T00:00:00Z'), clients: 2, local: false, fresh: false },
  { host: 'harb0ur.example:8443', clients: 0, local: false, fresh: true },
  { host: '127.0.0.1:8081', clients: 0, local: true, fresh: true },
];
const lookAlikes = [
  { name: 'Harbour', uri: '/admin/clients/harbour', same: true },
  { name: 'Harbour Desk', uri: '/admin/clients/desk', same: false },
];
const change: Judgement = {
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
  disabled: false,
};
export const consoleJudgements: Judgement[] = [
  change,
  { ...change, clientId: 'c-4f82', uri: '/admin/clients/c-4f82', name: 'Pier', disabled: true },
  {
    ...change,
    clientId: 'c-5a02',
    uri: '/admin/clients/c-5a02',
    name: 'Lantern',
    kind: 'registration',
    hosts: [{ host: 'lantern.example', clients: 0, local: false, fresh: true }],
    lookAlikes: [],
    heldResources: [],
    changes: [{ member: 'scope', added: ['openid', 'profile', 'email'], removed: [], kept: [] }],
    awaitsCollection: true,
  },
];
const figures = (['sessions', 'accessTokens', 'refreshTokens', 'grants', 'settings'] as const).map((name, index) => ({
  name,
  count: [12, 40, 1000, 9, 0][index]!,
}));
const text = (name: string, value: string, rest: Partial<ClientField> = {}): ClientField => ({
  name,
  kind: 'text',
  value,
  ...rest,
});

export const consoleClientExamples: Examples<ConsoleClientPages> = {
  'console-clients': [
    { ...frame, filter: { q: '', status: '', registered: '' }, filtered: false, clients: [], waiting: 0, more: false },
    {
      ...frame,
      done: 'client-saved',
      filter: { q: 'harb', status: 'enabled', registered: 'true' },
      filtered: true,
      clients: [
        {
          ...named,
          uri: named.clientUri,
          state: 'enabled',
          hosts: ['harbour.example', '127.0.0.1:8081'],
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
      waiting: 1000,
      more: true,
      first: '/admin/clients?q=harb',
      next: '/admin/clients?q=harb&cursor=x',
    },
  ],
  'console-registrations': [
    { ...frame, waiting: [], reason: '' },
    {
      ...frame,
      form: form('/admin/clients/decide'),
      waiting: consoleJudgements,
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
      judgement: change,
      decision: form('/admin/clients/decide'),
      approvedBy: 'administrator',
      origin: { by: 'registration', actor: 'harbour', address: '203.0.113.7' },
      selfRegistered: true,
      firstParty: true,
      selfManaged: true,
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
        { type: 'client.registered', success: true, actor: { id: 'bq1k', name: 'ada', uri: '/admin/users/bq1k' }, at },
        { type: 'client.authentication_failed', success: false, at },
      ],
      auditUri: '/admin/audit?client_id=harbour',
      tryUri: '/admin/try-it?client_id=harbour',
      own: false,
    },
  ],
  'console-client-edit': [
    { ...frame, form: form('/admin/clients/new'), groups: [] },
    {
      ...frame,
      client: named,
      form: form('/admin/clients/harbour/edit'),
      problem:
        'resource_uris: the client quay holds https://api.example: disable that client first, or refuse this claim',
      changed: true,
      waits: true,
      groups: [
        {
          name: 'about',
          fields: [
            text('client_name', 'Harbour'),
            text('client_uri', 'http://harbour', { kind: 'address', fault: { code: 'address' } }),
            text('contacts', 'ops@harbour.example\nHarbour desk', { kind: 'lines' }),
          ],
        },
        {
          name: 'rights',
          fields: [
            text('grant_types', '', {
              kind: 'choices',
              options: ['authorization_code', 'implicit'],
              taken: ['authorization_code'],
            }),
            text('require_pkce', 'true', { kind: 'check' }),
          ],
        },
        {
          name: 'authentication',
          fields: [
            text('token_endpoint_auth_method', 'none', { kind: 'choice', options: ['client_secret_basic', 'none'] }),
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
      made: true,
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
      act: 'disable',
      form: form('/admin/clients/harbour/disable'),
      figures: [],
      most: 1000,
      typed: '',
    },
    {
      ...frame,
      ...named,
      act: 'delete',
      form: form('/admin/clients/harbour/delete'),
      figures,
      most: 1000,
      typed: 'harbor',
      problem: 'name',
    },
  ],
};
