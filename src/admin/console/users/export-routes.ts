// Serves GET|POST /admin/users/export: exports the users that match a filter as a file.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { noStore } from '../../../server/errors.ts';
import { singleValued } from '../../../server/parameters.ts';
import { mediaTypes } from '../../../domain/users/user-records.ts';
import { exportUsers } from '../../../domain/users/user-transfer.ts';
import { listPath, queryOfFilter, readFilter, shownFilter } from './view.ts';
import type { Store } from '../../../repositories/store.ts';
import type { Console } from '../admin-session.ts';

const path = `${listPath}/export`;
const exportTimeout = 30 * 60_000; // milliseconds: a million users take some minutes

interface ExportRoutesDependencies {
  store: Store;
  console: Console;
}

export async function userExportRoutes(
  app: FastifyInstance,
  { console, store }: ExportRoutesDependencies,
): Promise<void> {
  console.page(app, path, (admin, request) => {
    return admin.send(
      'console-users-export',
      {
        filter: shownFilter(readFilter(singleValued(request.query))),
        form: admin.form(path),
      },
      { section: 'users' },
    );
  });

  app.post(path, { handlerTimeout: exportTimeout }, async (request, reply) => {
    const body = singleValued(request.body);
    const filter = readFilter(body);
    const admin = await console.submitted(request, reply, {
      ...{ csrf: body['csrf'], action: path, back: `${path}?${new URLSearchParams(queryOfFilter(filter))}` },
      // the file contains the data of all users
      fresh: true,
    });
    if (!admin) return reply;
    const format = body['format'] === 'jsonl' ? 'jsonl' : 'csv';
    return noStore(reply)
      .header('content-disposition', `attachment; filename="users.${format}"`)
      .type(`${mediaTypes[format]}; charset=utf-8`)
      .send(Readable.from(exportUsers(store, admin.by, format, { filter })));
  });
}
