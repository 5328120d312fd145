// Serves the console's page of the accounts whose address was confirmed by a word only, in the domains over which a connection has authority.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { wordConfirmations } from '../../../domain/administration/confirmations.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';
import type { Store } from '../../../repositories/store.ts';
import { singleValued } from '../../../server/parameters.ts';
import { takeBackConfirmations } from '../../operations/confirmations.ts';
import { findConnection } from '../../operations/connections.ts';
import { type OperationContext, run } from '../../operations/operation.ts';
import type { AdminSession, Console } from '../admin-session.ts';

const path = '/admin/connections';
const pathOf = (id: string) => `${path}/${id}/word-confirmations`;

/** How many accounts the page lists. */
const mostListed = 100;

/** Leads from the page of a connection to that of the accounts, if there are any. */
export async function confirmationsOf(
  store: Store,
  connection: Connection,
): Promise<{ wordConfirmations?: { count: number; uri: string } }> {
  const { count } = await wordConfirmations(store, connection, 0);
  return count > 0 ? { wordConfirmations: { count, uri: pathOf(connection.id) } } : {};
}

/** After a change of a connection: the page of the accounts, if there are any; else the connection's own. */
export async function doneWith(
  admin: AdminSession,
  store: Store,
  connection: Connection,
  uri: string,
  notice: string,
): Promise<FastifyReply> {
  const { wordConfirmations: found } = await confirmationsOf(store, connection);
  return admin.done(found?.uri ?? uri, notice);
}

export async function consoleConfirmationsEndpoint(
  app: FastifyInstance,
  { store, console, operationContext }: { store: Store; console: Console; operationContext: OperationContext },
): Promise<void> {
  console.page(app, `${path}/:id/word-confirmations`, async (admin, request) => {
    const connection = await findConnection(store, (request.params as { id: string }).id);
    const { id, displayName, authoritativeDomains } = connection;
    const { accounts, count } = await wordConfirmations(store, connection, mostListed);
    return admin.send(
      'console-word-confirmations',
      {
        ...{ name: displayName, uri: `${path}/${id}`, domains: authoritativeDomains, count },
        accounts: accounts.map(({ sub, username, email }) => ({
          ...{ username, email, uri: `/admin/users/${encodeURIComponent(sub)}` },
        })),
        form: admin.form(pathOf(id)),
      },
      { section: 'connections' },
    );
  });

  app.post(`${path}/:id/word-confirmations`, async (request, reply) => {
    const { id } = await findConnection(store, (request.params as { id: string }).id);
    const action = pathOf(id);
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, { csrf: body['csrf'], action, back: action, fresh: true });
    if (!admin) return reply;
    await run(takeBackConfirmations, operationContext, { params: { id }, input: {}, actor: admin.by });
    return admin.done(`${path}/${id}`, 'confirmations-taken-back');
  });
}
