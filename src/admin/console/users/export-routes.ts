// Serves GET|POST /admin/users/export: exports the users that match a filter as a file.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { noStore } from '../../../server/errors.ts';
import { singleValued } from '../../../server/parameters.ts';
import { mediaTypes } from '../../../domain/users/user-records.ts';
import { exportAll } from '../../operations/transfer.ts';
import { listPath, queryOfFilter, readFilter, shownFilter } from './view.ts';
import type { Console } from '../admin-session.ts';

const path = `${listPath}/export`;
const exportTimeout = 30 * 60_000; // milliseconds: a million users take some minutes

interface ExportRoutesDependencies {
  console: Console;
}

export async function userExportRoutes(app: FastifyInstance, { console }: ExportRoutesDependencies): Promise<void> {
  console.page(
    app,
    path,
    (admin, request) => {
      const filter = shownFilter(readFilter(singleValued(request.query)));
      return admin.send('console-users-export', { filter, form: admin.form(path) }, { section: 'users' });
    },
    { needs: exportAll },
  );

  app.post(path, { handlerTimeout: exportTimeout }, async (request, reply) => {
    const body = singleValued(request.body);
    const filter = readFilter(body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: `${path}?${new URLSearchParams(queryOfFilter(filter))}`,
      // the file contains the data of all users
      fresh: true,
      needs: exportAll,
    });
    if (!admin) return reply;
    const format = body['format'] === 'jsonl' ? 'jsonl' : 'csv';
    const { words: q, group, status, admin: onlyAdmins } = filter;
    const input = { format, q, group, status, ...(onlyAdmins && { admin: 'true' as const }) } as const;
    const { text } = await admin.run(exportAll, {}, input);
    return noStore(reply)
      .header('content-disposition', `attachment; filename="users.${format}"`)
      .type(`${mediaTypes[format]}; charset=utf-8`)
      .send(Readable.from(text));
  });
}
