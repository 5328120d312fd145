// The admin routes of what the service itself has: the audit trail, initial access tokens, signing keys.
import { z } from 'zod';
import { auditEventView, keyView } from '../../http/administrator-views.ts';
import { pageOf, pageShape, readNumericCursor } from '../../http/paging.ts';
import { text } from '../../http/parameters.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { adminRoute } from './route.ts';

const auditFilter = pageShape.extend({
  type: text(64).optional(),
  client_id: text(255).optional(),
  sub: text(255).optional(),
});
const registrationToken = z.strictObject({
  lifetime: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .optional(),
});
const rotation = z.strictObject({ immediate: z.boolean().optional() });

export const operationRoutes = [
  adminRoute({
    method: 'GET',
    path: '/admin/api/audit',
    tag: 'audit',
    summary: 'Lists the events of the audit trail, newest first',
    query: auditFilter,
    answer: 'AuditEventPage',
    async handle({ store }, { query: { limit, cursor, type, client_id, sub } }) {
      const found = await store.auditEvents.list(
        { type, clientId: client_id, sub },
        { limit, before: readNumericCursor(cursor)?.id },
      );
      return pageOf('events', found, limit, auditEventView, (event) => ({ at: event.at, id: event.id }));
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
      'Makes a new signing key of each algorithm, which signs once everybody knows it, or at once with immediate',
    body: () => rotation,
    status: 201,
    answer: 'Keys',
    async handle({ administration, config, keyRing }, { body: { immediate }, by }) {
      const kids = await keyRing.rotate({ lead: immediate ? 0 : config.lifetimes.keyPublicationLead });
      await administration.keysRotated(by, kids);
      return { keys: keyRing.keys.map(keyView) };
    },
  }),
];
