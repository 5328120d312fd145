// Serves the console's pages that list and show clients, and decide pending registrations and changes, several at once.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { queryOf } from '../links.ts';
import { cursorOf, readCursor } from '../../../domain/paging.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { decideClients } from '../../operations/client-decisions.ts';
import { findClient } from '../../operations/clients.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import {
  clientPath,
  decidePath,
  factsOf,
  historyOf,
  reviewFactsOf,
  lookUpReviews,
  listPath,
  rowOf,
  waitingPath,
  waits,
} from './view.ts';
import type { Store } from '../../../repositories/store.ts';
import type { PageResponses } from '../../../pages/page-response.ts';

const filter = z.object({
  q: text(200).optional(),
  status: z.enum(['enabled', 'disabled']).optional(),
  registered: z.enum(['true', 'false']).optional(),
  waiting: z.enum(['true', 'false']).optional(),
  order: z.enum(['newest', 'oldest']).optional(),
  cursor: text(500).optional(),
});
const paged = z.object({ cursor: text(500).optional() });
const decision = z.object({
  csrf: text(100).optional(),
  shown: text(10_000),
  decision: z.enum(['approve', 'refuse']),
  reason: text(1000).optional(),
});
const pageLength = 25;
const waitingLength = 20;

export const byId = z.object({ id: text(255) });

interface ConsoleClientsDependencies {
  store: Store;
  pages: PageResponses;
  console: Console;
  operationContext: OperationContext;
}

export async function consoleClientsEndpoint(app: FastifyInstance, options: ConsoleClientsDependencies): Promise<void> {
  const { console, pages, store, operationContext } = options;
  // not from the cache: the administrator decides about the version that the page shows
  const find = (clientId: string) => findClient(store, clientId);

  console.page(app, listPath, async (admin, request, reply) => {
    const { q = '', status, registered, waiting, order = 'newest', cursor } = readParameters(filter, request.query);
    if (waiting === 'true') return pages.redirect(reply, waitingPath);
    const selfRegistered = registered === undefined ? undefined : registered === 'true';
    const found = await store.clients.list(
      { search: q, status, selfRegistered, oldestFirst: order === 'oldest' },
      { limit: pageLength + 1, after: readCursor(cursor) },
    );
    const filtered = q.trim() !== '' || status !== undefined || registered !== undefined;
    const filters = { q, status, registered };
    const ordered = { ...filters, order: order === 'oldest' ? order : undefined };
    const data: Omit<Pages['console-clients'], keyof ConsoleFrame> = {
      filter: { q, status: status ?? '', registered: registered ?? '', order },
      filtered,
      clients: found.slice(0, pageLength).map(rowOf),
      created: {
        now: order === 'newest' ? 'descending' : 'ascending',
        uri: listPath + queryOf({ ...filters, order: order === 'newest' ? 'oldest' : undefined }),
      },
      ...around(listPath, ordered, cursor, found, pageLength),
    };
    return admin.send('console-clients', data, { section: 'clients' });
  });

  console.page(app, waitingPath, (admin, request) => {
    const { cursor } = readParameters(paged, request.query);
    return showWaiting(admin, { cursor, reason: '' });
  });

  app.post(decidePath, async (request, reply) => {
    const sent = singleValued(request.body);
    const form = readParameters(decision, request.body);
    const admin = await console.submitted(request, reply, {
      csrf: form.csrf,
      action: decidePath,
      shown: form.shown,
      back: waitingPath,
      fresh: true,
    });
    if (!admin) return reply;
    const reason = form.reason?.trim() ?? '';
    const picked = form.shown
      .split(',')
      .filter((_client, index) => sent[`client.${index}`] !== undefined)
      .map((client) => client.split(' '))
      .map(([clientId = '', version]) => ({ client_id: clientId, version: Number(version) }));
    const refuses = form.decision === 'refuse';
    if (picked.length === 0) return showWaiting(admin, { reason, problem: 'nothing', status: 400 });
    if (refuses && reason === '') return showWaiting(admin, { reason, problem: 'reason', status: 400 });
    const input = { decision: form.decision, clients: picked, ...(refuses && { reason }) };
    const outcomes = await decideClients.handler(operationContext, { params: {}, input, actor: admin.by });
    const changed = outcomes.filter(({ outcome }) => outcome === 'changed');
    const gone = outcomes.filter(({ outcome }) => outcome === 'gone').length;
    const held = outcomes.filter(({ outcome }) => outcome === 'held');
    if (changed.length + held.length + gone === 0) {
      const only = sent['one'] === undefined ? undefined : picked[0];
      const stillWaits = only && !refuses && (await store.clients.find(only.client_id))?.pendingMetadata !== undefined;
      return admin.done(
        only ? clientPath(only.client_id) : waitingPath,
        refuses ? 'client-refused' : stillWaits ? 'client-enabled' : 'client-approved',
      );
    }
    const names = (of: typeof outcomes) => Promise.all(of.map(({ clientId }) => nameOf(clientId)));
    const decided = outcomes.length - changed.length - held.length - gone;
    const report = { decided, changed: await names(changed), held: await names(held), gone };
    return showWaiting(admin, { reason, report, status: 409 });
  });

  console.page(app, `${listPath}/:id`, async (admin, request) => {
    const client = await find(readParameters(byId, request.params).id);
    const [lookup, history] = await Promise.all([lookUpReviews(store, [client]), historyOf(store, client.clientId)]);
    const own = client.clientId === consoleClientId;
    const usable = client.status === 'enabled' && client.metadata.redirect_uris.length > 0 && !own;
    const decides = waits(client) || (client.status === 'disabled' && !client.uncollected);
    return admin.send(
      'console-client',
      {
        ...factsOf(client, lookup),
        ...history,
        own,
        ...(decides && { decision: decisionForm(admin, [client]) }),
        ...(usable && { tryUri: `/admin/try-it?client_id=${encodeURIComponent(client.clientId)}` }),
      },
      { section: 'clients' },
    );
  });

  async function nameOf(clientId: string): Promise<string> {
    const client = await store.clients.find(clientId);
    return client ? displayName(clientId, client.metadata) : clientId;
  }

  /** A form that decides about these clients, each at the shown version. */
  function decisionForm(admin: AdminSession, shown: readonly Client[]) {
    const bound = shown.map(({ clientId, version }) => `${clientId} ${version}`).join(',');
    const form = admin.form(decidePath, bound);
    return { ...form, hidden: { ...form.hidden, shown: bound } };
  }

  async function showWaiting(
    admin: AdminSession,
    state: { cursor?: string | undefined; reason: string; status?: number } & Pick<
      Partial<Pages['console-registrations']>,
      'report' | 'problem'
    >,
  ): Promise<FastifyReply> {
    const { cursor, status, ...rest } = state;
    const found = await store.clients.list({ waiting: true }, { limit: waitingLength + 1, after: readCursor(cursor) });
    const shown = found.slice(0, waitingLength);
    const lookup = await lookUpReviews(store, shown);
    return admin.send(
      'console-registrations',
      {
        ...rest,
        ...(shown.length > 0 && { form: decisionForm(admin, shown) }),
        waiting: shown.map((client) => reviewFactsOf(client, lookup)),
        ...around(waitingPath, {}, cursor, found, waitingLength),
      },
      { section: 'clients', status: status ?? 200 },
    );
  }
}

/** The addresses of the first and the next page, if they exist. */
function around(
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
