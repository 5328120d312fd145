// Serves GET /admin/audit, GET /admin/audit/{id} and POST /admin/audit/export: searches the audit trail, shows one event, exports the found events.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdminSession, Console } from '../admin-session.ts';
import { noStore } from '../../../server/errors.ts';
import { eventRows } from '../linked-names.ts';
import { singleValued } from '../../../server/parameters.ts';
import { mediaTypes } from '../../../domain/users/user-records.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { notFound } from '../../../oauth/errors.ts';
import { maxScanned } from '../../../repositories/audit/audit-search.ts';
import { isEventId, viewedTypes } from '../../../repositories/audit/audit-view.ts';
import { readAuditFilter, type AuditFilterRead, readQuery } from './audit-filter.ts';
import { queryOf } from '../links.ts';
import { exportFound, findEvent, findEvents } from '../../operations/pages/service.ts';

const list = '/admin/audit';
const exportPath = `${list}/export`;
const section = 'audit';
const limit = 50;
const exportTimeout = 3_600_000; // milliseconds: ten million events take some minutes

export async function auditRoutes(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const showList = async (admin: AdminSession, request: FastifyRequest) => {
    const query = singleValued(request.query);
    const read = await readAuditFilter(query, admin);
    const { shown, faults, search, issues } = read;
    const before = query['before'] !== undefined && isEventId(query['before']) ? query['before'] : undefined;
    const none = { events: [], next: undefined, cut: false, names: [] };
    const found = faults.length > 0 ? none : await admin.run(findEvents, { search, issues, before, limit });
    const data: Omit<Pages['console-audit'], keyof ConsoleFrame> = {
      filter: shown,
      types: viewedTypes,
      faults,
      events: eventRows(found.names, found.events),
      ...(faults.length === 0 && !read.issues && { exportForm: exportForm(admin, read.query) }),
      ...(before !== undefined && { firstUri: list + queryOf(read.query) }),
      ...(found.next && { nextUri: list + queryOf({ ...read.query, before: found.next.id }) }),
      ...(found.cut && found.next && { cut: { lookedAt: maxScanned, at: found.next.at } }),
    };
    return admin.send('console-audit', data, {
      section,
      status: faults.length > 0 ? 400 : 200,
    });
  };

  console.page(app, list, showList, { needs: findEvents });

  app.post(exportPath, { handlerTimeout: exportTimeout }, async (request, reply) => {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: exportPath,
      back: list + queryOf(readQuery(body)),
      // the file contains the operations of all users
      fresh: true,
      needs: exportFound,
    });
    if (!admin) return reply;
    const read = await readAuditFilter(body, admin);
    const format = body['format'] === 'jsonl' ? 'jsonl' : 'csv';
    if (read.faults.length > 0 || read.issues) throw notFound('this filter is not valid for an export');
    const text = await admin.run(exportFound, { format, search: read.search, asked: { ...read.shown } });
    return noStore(reply)
      .header('content-disposition', `attachment; filename="audit.${format}"`)
      .type(`${mediaTypes[format]}; charset=utf-8`)
      .send(Readable.from(text));
  });

  const showEvent = async (admin: AdminSession, request: FastifyRequest) => {
    const { id = '' } = singleValued(request.params);
    const found = await admin.run(findEvent, id);
    if (!found) throw notFound('there is no such event');
    const { event, names } = found;
    const [row] = eventRows(names, [event]);
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
  };

  console.page(app, `${list}/:id`, showEvent, { needs: findEvent });

  function exportForm(admin: AdminSession, filter: AuditFilterRead['query']) {
    const form = admin.form(exportPath);
    return { ...form, hidden: { ...filter, ...form.hidden } };
  }
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
}
