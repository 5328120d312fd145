// The admin routes of what the service itself has: the audit trail, initial access tokens, signing keys.
import { isIP } from 'node:net';
import { z } from 'zod';
import { auditEventView, keyView } from '../../domain/administrator-views.ts';
import { exportEvents } from '../../domain/audit-export.ts';
import { pageOf, pageShape, readCursor } from '../../domain/paging.ts';
import { text } from '../../server/parameters.ts';
import { mediaTypes, transferFormats } from '../../domain/user-records.ts';
import { rule } from '../../oauth/refusals.ts';
import { auditEventTypes } from '../../repositories/audit/audit-events.ts';
import { isEventId, viewedTypes } from '../../repositories/audit/audit-view.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { keyAlgorithms } from '../../tokens/key-ring.ts';
import { adminRoute } from './route.ts';

const moment = z.iso.datetime({ offset: true });
const oneOf = <const T extends readonly string[]>(types: T) => z.enum(types, rule('one-of')).optional();
const auditFilter = z.object({
  outcome: z.enum(['success', 'failure']).optional(),
  actor: text(255).optional().describe('The sub, the client_id, or a word such as service, of who acted.'),
  address: text(45)
    .refine((address) => isIP(address) !== 0, rule('ip-address'))
    .optional(),
  client_id: text(255).optional(),
  sub: text(255).optional(),
  since: moment.optional(),
  until: moment.optional(),
});
const date = (time: string | undefined) => (time === undefined ? undefined : new Date(time));
const registrationToken = z.strictObject({
  lifetime: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .optional(),
});
const rotation = z.strictObject({
  immediate: z.boolean().optional(),
  algorithms: z.array(z.enum(keyAlgorithms)).min(1).max(keyAlgorithms.length).optional(),
});
const byKid = z.object({ kid: text(64) });

export const operationRoutes = [
  adminRoute({
    method: 'GET',
    path: '/admin/api/audit',
    tag: 'audit',
    summary: 'Lists the events of the audit trail and the issues of the tokens that are still stored, newest first',
    query: pageShape.extend({ type: oneOf(viewedTypes), ...auditFilter.shape }),
    answer: 'AuditEventPage',
    async handle({ store }, { query: { limit, cursor, client_id: clientId, since, until, ...filter } }) {
      const before = readCursor(cursor, isEventId)?.id;
      const time = { since: date(since), until: date(until) };
      const found = await store.auditView.list({ ...filter, ...time, clientId }, { limit, before });
      return pageOf('events', found, limit, auditEventView, (event) => ({ at: event.at, id: event.id }));
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/api/audit/export',
    tag: 'audit',
    summary: 'Gives out all events of the audit trail that a filter finds, newest first, and leaves an event of that',
    // everybody's acts at once, as a file
    dangerous: true,
    query: auditFilter.extend({ type: oneOf(auditEventTypes), format: z.enum(transferFormats).default('jsonl') }),
    media: { body: [], answer: Object.values(mediaTypes) },
    async handle({ store }, { query: { format, ...asked }, by }) {
      const { client_id: clientId, since, until, ...search } = asked;
      const time = { since: date(since), until: date(until) };
      const text = await exportEvents(store, by, format, { ...search, ...time, clientId }, asked);
      return { type: mediaTypes[format], text };
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/api/registration-tokens',
    tag: 'registration tokens',
    summary: 'Makes an initial access token, shown once: what registers with it is enabled at once',
    body: () => registrationToken,
    status: 201,
    answer: 'RegistrationToken',
    async handle({ administration, config }, { body: { lifetime = config.lifetimes.initialAccessToken }, by }) {
      const token = newOpaqueToken('initial_access_token');
      const expiresAt = await administration.createRegistrationToken(by, token.hash, lifetime);
      return { initial_access_token: token.token, expires_at: expiresAt.toISOString() };
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/api/keys',
    tag: 'keys',
    summary: 'Lists the signing keys, without their private halves',
    answer: 'Keys',
    handle: async ({ keyRing }) => ({ keys: keyRing.keys.map(keyView) }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/api/keys',
    tag: 'keys',
    summary:
      'Makes a new signing key of each algorithm, or of those in algorithms, which signs once everybody knows it, or after two seconds with immediate; until then its state is waiting',
    body: () => rotation,
    status: 201,
    answer: 'Keys',
    async handle({ config, keyRing }, { body: { immediate, algorithms }, by }) {
      const lead = immediate ? 0 : config.lifetimes.keyPublicationLead;
      await keyRing.rotate({ lead, algorithms: algorithms && [...new Set(algorithms)], by });
      return { keys: keyRing.keys.map(keyView) };
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: '/admin/api/keys/:kid',
    tag: 'keys',
    summary: 'Withdraws a signing key at once, as when it leaked: what it signed is not accepted any more',
    params: byKid,
    handle: ({ keyRing }, { params: { kid }, by }) => keyRing.withdraw(kid, by),
  }),
];
