// Declares the operations on the audit trail: list its events, and export them.
import { maxClientId } from '../../oauth/client-document.ts';
import { rule } from '../../oauth/refusals.ts';
import { isIP } from 'node:net';
import { z } from 'zod';
import { auditEventView } from '../../domain/administration/administrator-views.ts';
import { exportEvents } from '../../domain/audit/audit-export.ts';
import { pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { mediaTypes } from '../../domain/users/user-records.ts';
import { text } from '../../oauth/text.ts';
import { auditEventTypes } from '../../repositories/audit/audit-events.ts';
import { isEventId, viewedTypes } from '../../repositories/audit/audit-view.ts';
import { fileFormat, operation } from './operation.ts';
import { table } from './text-table.ts';

const section = { permission: 'audit', tag: 'audit' } as const;
const path = '/admin/api/audit';
const time = z.iso.datetime({ offset: true }).optional();
const oneOf = <const T extends readonly string[]>(types: T) =>
  z.enum(types, rule('one-of')).optional().describe('Only events of this type.');
const filter = z.object({
  outcome: z.enum(['success', 'failure']).optional().describe('Only events with this outcome.'),
  actor: text(maxClientId)
    .optional()
    .describe('Only events of this actor: the sub of a user, a client_id, or a name such as service.'),
  address: text(45)
    .refine((address) => isIP(address) !== 0, rule('ip-address'))
    .optional()
    .describe('Only events from this IP address.'),
  client_id: text(maxClientId).optional().describe('Only events that concern this client.'),
  sub: text(255).optional().describe('Only events that concern the user with this sub.'),
  since: time.describe('Only events at this time or later.'),
  until: time.describe('Only events before this time.'),
});
const search = ({ client_id: clientId, since, until, ...rest }: z.infer<typeof filter>) => ({
  ...rest,
  clientId,
  since: since === undefined ? undefined : new Date(since),
  until: until === undefined ? undefined : new Date(until),
});
const filterOptions = {
  type: 'type',
  outcome: 'outcome',
  actor: 'actor',
  address: 'address',
  client: 'client_id',
  sub: 'sub',
  since: 'since',
  until: 'until',
};

const listEvents = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists the events of the audit trail, with the issued tokens that are still stored, newest first',
  input: () => pageShape.extend({ type: oneOf(viewedTypes), ...filter.shape }),
  internalInput: z.object({
    before: z.string().refine(isEventId, rule('event-id')).describe('Only events that follow this one in the list.'),
  }),
  answer: 'AuditEventPage',
  async handler({ store }, { input: { limit, cursor, type, before: event, ...rest } }) {
    const before = event ?? readCursor(cursor, isEventId)?.id;
    return { limit, events: await store.auditView.list({ type, ...search(rest) }, { limit, before }) };
  },
  view: ({ limit, events }) =>
    pageOf('events', events, limit, auditEventView, (event) => ({ at: event.at, id: event.id })),
  command: {
    name: 'audit list',
    options: { ...filterOptions, limit: 'limit', before: 'before' },
    limit: 50,
    text({ limit, events }) {
      const rows = events.map((event) => [
        event.id,
        event.at.toISOString(),
        event.type,
        event.outcome,
        event.actor ?? '',
        event.clientId ?? '',
        event.sub ?? '',
      ]);
      const more = events.length === limit ? `\n\nThere may be more events: add --before ${events.at(-1)!.id}` : '';
      return table(['ID', 'AT', 'TYPE', 'OUTCOME', 'ACTOR', 'CLIENT', 'SUB'], rows) + more;
    },
    json: ({ events }) => events.map(auditEventView),
  },
});

const exportTrail = operation({
  method: 'GET',
  path: `${path}/export`,
  ...section,
  summary: 'Exports all events of the audit trail that match a filter, newest first, and records that as an event',
  // the file contains the operations of all users
  needsRecentSignIn: true,
  input: () => filter.extend({ type: oneOf(auditEventTypes), format: fileFormat }),
  media: { body: [], answer: Object.values(mediaTypes) },
  async handler({ store }, { input: { format, type, ...rest }, actor }) {
    const events = await exportEvents(store, actor, format, { type, ...search(rest) }, { type, ...rest });
    return { type: mediaTypes[format], text: events };
  },
  command: {
    name: 'audit export',
    options: { format: 'format', ...filterOptions },
    text: (_, { typed }) => (typed['file'] === undefined ? '' : `Exported the events to ${typed['file']}.`),
  },
});

export const auditOperations = [listEvents, exportTrail];
