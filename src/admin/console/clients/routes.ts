// Serves the console's list of clients.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findClients, usesOfClients } from '../../operations/pages/clients.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { queryOf } from '../links.ts';
import { cursorOf, readCursor } from '../../../domain/administration/paging.ts';
import { readParameters } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { listPath, rowOf, waitingPath } from './view.ts';
import type { PageResponses } from '../../../pages/page-response.ts';

const filter = z.object({
  q: text(200).optional(),
  status: z.enum(['enabled', 'disabled']).optional(),
  registered: z.enum(['true', 'false']).optional(),
  waiting: z.enum(['true', 'false']).optional(),
  order: z.enum(['newest', 'oldest']).optional(),
  cursor: text(500).optional(),
});
const pageLength = 25;

interface ConsoleClientsDependencies {
  pages: PageResponses;
  console: Console;
}

export async function consoleClientsEndpoint(app: FastifyInstance, options: ConsoleClientsDependencies): Promise<void> {
  const { console, pages } = options;

  const show = async (admin: AdminSession, request: FastifyRequest, reply: FastifyReply) => {
    const { q = '', status, registered, waiting, order = 'newest', cursor } = readParameters(filter, request.query);
    if (waiting === 'true') return pages.redirect(reply, waitingPath);
    const selfRegistered = registered === undefined ? undefined : registered === 'true';
    const found = await admin.run(findClients, {
      filter: { search: q, status, selfRegistered, oldestFirst: order === 'oldest' },
      page: { limit: pageLength + 1, after: readCursor(cursor) },
    });
    const shown = found.slice(0, pageLength);
    const uses = await admin.run(
      usesOfClients,
      shown.map(({ clientId }) => clientId),
    );
    const filtered = q.trim() !== '' || status !== undefined || registered !== undefined;
    const filters = { q, status, registered };
    const ordered = { ...filters, order: order === 'oldest' ? order : undefined };
    const data: Omit<Pages['console-clients'], keyof ConsoleFrame> = {
      filter: { q, status: status ?? '', registered: registered ?? '', order },
      filtered,
      clients: shown.map((client) => rowOf(client, uses.get(client.clientId))),
      created: {
        now: order === 'newest' ? 'descending' : 'ascending',
        uri: listPath + queryOf({ ...filters, order: order === 'newest' ? 'oldest' : undefined }),
      },
      ...around(listPath, ordered, cursor, found, pageLength),
    };
    return admin.send('console-clients', data, { section: 'clients' });
  };

  console.page(app, listPath, show, { needs: findClients });
}

/** The addresses of the first and the next page, if they exist. */
export function around(
  path: string,
  query: object,
  cursor: string | undefined,
  found: readonly Client[],
  length: number,
): { first?: string; next?: string } {
  const last = found.length > length ? found[length - 1] : undefined;
  return {
    ...(cursor !== undefined && { first: path + queryOf(query) }),
    ...(last && { next: path + queryOf({ ...query, cursor: cursorOf({ at: last.createdAt, id: last.clientId }) }) }),
  };
}
