// Gives example data of the console's pages about the service.
import type { AuditEventRow, BarView, LinkedName, OperationsPages } from '../../src/pages/views/console-operations.ts';
import { viewedTypes } from '../../src/repositories/audit/audit-view.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form, languages } from './parts.ts';

const at = new Date('2026-03-14T09:26:53Z');
const hour = 3_600_000;
const bars = (count: number, length: number): BarView[] =>
  Array.from({ length: count }, (_, index) => ({
    at: new Date(Date.UTC(2026, 2, 14, 9) - (count - 1 - index) * length),
    signedIn: (index * 37) % 91,
    failed: (index * 13) % 17,
    refused: index % 7 === 3 ? 4 : 0,
    granted: (index * 41) % 120,
  }));
const totals = { signedIn: 1044, failed: 193, refused: 12, granted: 1312 };
const none = { signedIn: 0, failed: 0, refused: 0, granted: 0 };
const empty = (count: number, length: number) => bars(count, length).map((bar) => ({ ...bar, ...none }));
const filterUri = '/admin/audit?type=user.signed_in';
const ada: LinkedName = { id: 'bq1k', name: 'ada', uri: '/admin/users/bq1k' };
const harbour: LinkedName = { id: 'harbour', name: 'Harbour', uri: '/admin/clients/harbour' };
const event: AuditEventRow = {
  id: '4711',
  at,
  type: 'user.sign_in_failed',
  failed: true,
  actor: ada,
  user: ada,
  client: harbour,
  address: '203.0.113.7',
  uri: '/admin/audit/4711',
};
const sessionsFrame = { ...consoleFrame, section: 'sessions' } as const;
const keysFrame = { ...consoleFrame, section: 'keys' } as const;
const auditFrame = { ...consoleFrame, section: 'audit' } as const;

export const operationsExamples: Examples<OperationsPages> = {
  'console-overview': [
    {
      ...consoleFrame,
      account: { username: 'a' },
      unencrypted: false,
      newest: [],
      figures: [],
      recent: [],
      chart: { period: 'month', bars: empty(30, 24 * hour), totals: none, most: 1 },
      health: {
        database: { version: '18.1', roundTrip: 0.4, size: 12_000_000, startedAt: at },
        connections: { busy: 0, idle: 1, waiting: 0 },
        keys: { late: false, uri: '/admin/keys' },
        cleanUp: { late: false },
        mails: { waiting: 0, late: false },
        stream: { waiting: 0, late: false },
      },
    },
    {
      ...consoleFrame,
      done: 'session-ended',
      unencrypted: true,
      languages: languages('/admin'),
      pending: { count: 1000, more: true },
      checklist: [
        { name: 'email', isDone: true, uri: '/admin/settings' },
        { name: 'administrator', isDone: false, uri: '/admin/users' },
        { name: 'passkey', isDone: false, uri: '/account/passkeys' },
        { name: 'client', isDone: true, uri: '/admin/clients/new' },
        { name: 'backup', isDone: false, form: form('/admin/checklist/backup') },
        { name: 'https', isDone: false, uri: '/admin/settings' },
      ],
      newest: [
        { name: 'Harbour', host: 'harbour.example', at, uri: '/admin/clients/harbour' },
        { name: 'Lighthouse', host: 'lighthouse.example', at, uri: '/admin/clients/lighthouse' },
      ],
      figures: [
        { name: 'users', count: 1_000_000, exact: false, uri: '/admin/users' },
        { name: 'clients', count: 9_876, exact: true, uri: '/admin/clients' },
        { name: 'sessions', count: 4_211, exact: true, uri: '/admin/sessions' },
        { name: 'events', count: 10_000_000, exact: false, uri: '/admin/audit' },
      ],
      recent: [
        { name: 'signed-in', count: 1044, uri: filterUri },
        { name: 'failed', count: 193, uri: filterUri },
        { name: 'refused', count: 205, uri: filterUri },
      ],
      chart: { period: 'day', bars: bars(24, hour), totals, most: 120 },
      countedUntil: at,
      health: {
        database: { version: '18.1', roundTrip: 1.2, size: 4_212_000_000, startedAt: at },
        connections: { busy: 2, idle: 3, waiting: 1 },
        keys: { next: new Date('2026-06-12T09:26:53Z'), late: true, uri: '/admin/keys' },
        cleanUp: { at, late: true },
        mails: { waiting: 3, since: at, late: true },
        stream: { waiting: 1200, since: at, failure: 'the collector answered 503', late: true },
      },
    },
  ],
  'console-sessions': [
    { ...sessionsFrame, sessions: [], form: form('/admin/sessions') },
    {
      ...sessionsFrame,
      user: 'ada',
      address: '203.0.113.7',
      fault: 'address',
      sessions: [
        {
          id: 's1',
          user: ada,
          browser: 'Firefox on Linux',
          browserName: 'Work <b>laptop</b>',
          address: '203.0.113.7',
          signedInAt: at,
          usedAt: at,
          until: at,
          own: true,
          clients: [harbour, { id: 'c-1', name: '', uri: '/admin/clients/c-1' }, harbour],
        },
        { id: 's2', user: { id: 'x' }, signedInAt: at, usedAt: at, own: false, clients: [] },
      ],
      form: form('/admin/sessions'),
      firstUri: '/admin/sessions?user=ada',
      nextUri: '/admin/sessions?user=ada&cursor=x',
      endAllUri: '/admin/sessions/end?sub=bq1k',
    },
  ],
  'console-sessions-end': [
    {
      ...sessionsFrame,
      user: { id: 'x' },
      sessions: 0,
      more: false,
      own: false,
      form: form('/admin/sessions/end'),
      backUri: '/admin/sessions',
    },
    {
      ...sessionsFrame,
      user: ada,
      sessions: 200,
      more: true,
      own: true,
      form: form('/admin/sessions/end'),
      typed: 'adam',
      problem: 'typed',
      backUri: '/admin/sessions?user=ada',
    },
  ],
  'console-keys': [
    { ...keysFrame, keys: [], rotateUri: '/admin/keys/rotate', secretKeys: [] },
    {
      ...keysFrame,
      done: 'keys-rotated',
      keys: [
        {
          kid: 'Jx9cQ0V5aT3hYk7n2mW8pR4sL6uD1eF0gB5iN8oX3zA',
          alg: 'RS256',
          state: 'waiting',
          createdAt: at,
          activeAt: new Date('2026-03-14T09:36:53Z'),
          withdrawUri: '/admin/keys/withdraw?kid=Jx9c',
        },
        {
          kid: 'b4KpZ7wQ2rT9yU6iO3aS8dF5gH1jL0kX',
          alg: 'RS256',
          state: 'signing',
          createdAt: at,
          activeAt: at,
          expiresAt: new Date('2026-03-14T10:46:53Z'),
        },
        {
          kid: 'm2NvC5xB8qW1eR4tY7uI0oP3',
          alg: 'EdDSA',
          state: 'retired',
          createdAt: at,
          activeAt: at,
          expiresAt: new Date('2026-03-14T10:46:53Z'),
          withdrawUri: '/admin/keys/withdraw?kid=m2Nv',
        },
      ],
      next: new Date('2026-06-12T09:26:53Z'),
      rotateUri: '/admin/keys/rotate',
      saml: {
        keys: [
          { id: 'k5ZK0Y7c2tXb9vQm8sW4tZ1yLp7kRj0aBc5dEf9gHi3', state: 'signing', validUntil: at, acts: [] },
          {
            id: 'm2NvC5xB8qW1eR4tY7uI0oP3sD6fG9hJ1kL4zX7cV0b',
            state: 'waiting',
            validUntil: at,
            acts: ['activate', 'delete'],
          },
        ],
        metadataUri: '/saml/metadata',
        form: form('/admin/keys/saml'),
        canCreate: true,
      },
      secretKeys: [
        { id: '0f1e2d3c4b5a6978', isUsed: false, instances: 2 },
        { id: '8796a5b4c3d2e1f0', isUsed: true, instances: 0 },
      ],
    },
  ],
  'console-keys-rotate': [
    {
      ...keysFrame,
      algorithms: ['RS256'],
      chosen: ['RS256'],
      immediate: false,
      name: 'id.example',
      lead: 600,
      form: form('/admin/keys/rotate'),
      backUri: '/admin/keys',
    },
    {
      ...keysFrame,
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      chosen: ['RS256', 'EdDSA'],
      immediate: true,
      name: 'id.example:8443',
      lead: 600,
      form: form('/admin/keys/rotate'),
      backUri: '/admin/keys',
      typed: 'id.example',
      fault: 'typed',
    },
  ],
  'console-keys-withdraw': [
    {
      ...keysFrame,
      kid: 'm2NvC5xB8qW1',
      alg: 'EdDSA',
      state: 'retired',
      beginning: 'm2NvC5xB',
      form: form('/admin/keys/withdraw'),
      backUri: '/admin/keys',
    },
    {
      ...keysFrame,
      kid: 'm2NvC5xB8qW1',
      alg: 'EdDSA',
      state: 'waiting',
      beginning: 'm2NvC5xB',
      typed: 'm2',
      fault: 'typed',
      form: form('/admin/keys/withdraw'),
      backUri: '/admin/keys',
    },
  ],
  'console-audit': [
    { ...auditFrame, filter: {}, types: [], faults: [], events: [] },
    {
      ...auditFrame,
      filter: {
        type: 'user.sign_in_failed',
        outcome: 'failure',
        actor: 'ada',
        user: 'ada',
        client: 'harbour',
        address: '203.0.113',
        since: '2026-03-01T00:00',
        until: 'tomorrow',
      },
      types: viewedTypes,
      faults: ['user', 'actor', 'address', 'since', 'until'],
      events: [
        event,
        { id: 'token-1', at, type: 'token.issued', failed: false, client: { id: 'c-1' }, actor: { id: 'service' } },
      ],
      cut: { lookedAt: 20_000, at },
      firstUri: '/admin/audit?type=user.sign_in_failed',
      nextUri: '/admin/audit?type=user.sign_in_failed&before=4711',
      exportForm: form('/admin/audit/export'),
    },
  ],
  'console-audit-event': [
    { ...auditFrame, event: { id: '1', at, type: 'keys.rotated', failed: false }, detail: [], more: [] },
    {
      ...auditFrame,
      event,
      detail: [
        { member: 'username', value: 'ada' },
        { member: 'members', value: 'client_name, redirect_uris' },
      ],
      more: (['actor', 'user', 'client', 'address', 'type'] as const).map((of) => ({ of, uri: filterUri })),
    },
  ],
};
