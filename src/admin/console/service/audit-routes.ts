// Serves GET /admin/audit, GET /admin/audit/{id} and POST /admin/audit/export: searches the audit trail, shows one event, exports the found events.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { exportEvents } from '../../../domain/audit/audit-export.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { noStore } from '../../../server/errors.ts';
import { eventRows } from '../linked-names.ts';
import { singleValued } from '../../../server/parameters.ts';
import { mediaTypes } from '../../../domain/users/user-records.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { notFound } from '../../../oauth/errors.ts';
import { maxScanned } from '../../../repositories/audit/audit-search.ts';
import { isEventId, tokenIssued, viewedTypes } from '../../../repositories/audit/audit-view.ts';
import { readAuditFilter, type AuditFilterRead } from './audit-filter.ts';
import { queryOf } from '../links.ts';
import type { Store } from '../../../repositories/store.ts';

const list = '/admin/audit';
const exportPath = `${list}/export`;
const section = 'audit';
const limit = 50;
const exportTimeout = 3_600_000; // milliseconds: ten million events take some minutes

interface AuditRoutesDependencies {
  store: Store;
  console: Console;
}

export async function auditRoutes(app: FastifyInstance, { console, store }: AuditRoutesDependencies): Promise<void> {
  console.page(app, list, async (admin, request) => {
    const query = singleValued(request.query);
    const read = await readAuditFilter(query, store);
    const { shown, faults } = read;
    const before = query['before'] !== undefined && isEventId(query['before']) ? query['before'] : undefined;
    const found = faults.length > 0 ? { events: [], next: undefined, cut: false } : await find(read, before);
    const events = await eventRows(store, found.events);
    const data: Omit<Pages['console-audit'], keyof ConsoleFrame> = {
      filter: shown,
      types: viewedTypes,
      faults,
      events,
      ...(faults.length === 0 && !read.issues && { exportForm: exportForm(admin, read.query) }),
      ...(before !== undefined && { firstUri: list + queryOf(read.query) }),
      ...(found.next && { nextUri: list + queryOf({ ...read.query, before: found.next.id }) }),
      ...(found.cut && found.next && { cut: { lookedAt: maxScanned, at: found.next.at } }),
    };
    return admin.send('console-audit', data, {
      section,
      status: faults.length > 0 ? 400 : 200,
    });
  });

  app.post(exportPath, { handlerTimeout: exportTimeout }, async (request, reply) => {
    const body = singleValued(request.body);
    const read = await readAuditFilter(body, store);
    const admin = await console.submitted(request, reply, {
      ...{ csrf: body['csrf'], action: exportPath, back: list + queryOf(read.query) },
      // the file contains the operations of all users
      fresh: true,
    });
    if (!admin) return reply;
    const format = body['format'] === 'jsonl' ? 'jsonl' : 'csv';
    if (read.faults.length > 0 || read.issues) throw notFound('this filter is not valid for an export');
    const text = await exportEvents(store, admin.by, format, read.search, { ...read.shown });
    return noStore(reply)
      .header('content-disposition', `attachment; filename="audit.${format}"`)
      .type(`${mediaTypes[format]}; charset=utf-8`)
      .send(Readable.from(text));
  });

  console.page(app, `${list}/:id`, async (admin, request) => {
    const { id = '' } = singleValued(request.params);
    const event = /^\d{1,18}$/.test(id) ? await store.auditSearch.find(id) : undefined;
    if (!event) throw notFound('there is no such event');
    const [row] = await eventRows(store, [event]);
    const { actor, sub: user, clientId: client, address, type } = event;
    const others = Object.entries({ actor, user, client, address, type }).filter(([, value]) => value !== undefined);
    return admin.send(
      'console-audit-event',
      {
        event: row!,
        detail: Object.entries(event.detail ?? {}).map(([member, value]) => ({ member, value: textOf(value) })),
        more: others.map(([of, value]) => ({
          of: of as Pages['console-audit-event']['more'][number]['of'],
          uri: list + queryOf({ [of === 'actor' ? 'by' : of === 'user' ? 'sub' : of]: value }),
        })),
      },
      { section },
    );
  });

  function exportForm(admin: AdminSession, filter: AuditFilterRead['query']) {
    const form = admin.form(exportPath);
    return { ...form, hidden: { ...filter, ...form.hidden } };
  }

  /** Finds events, or issued tokens: those are no events, and are found while they are stored. */
  async function find({ search, issues }: AuditFilterRead, before: string | undefined) {
    if (!issues)
      return store.auditSearch.search(search, { limit, before: before?.startsWith('token-') ? undefined : before });
    const { actor, address, outcome, sub, clientId, since, until } = search;
    if (actor !== undefined || address !== undefined || outcome === 'failure')
      return { events: [], next: undefined, cut: false };
    const events = await store.auditView.list({ type: tokenIssued, sub, clientId, since, until }, { limit, before });
    return { events, next: events.length === limit ? events.at(-1) : undefined, cut: false };
  }
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
}
