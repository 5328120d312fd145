// Serves the console's page of the accounts whose address was confirmed by a word only, in the domains over which a connection has authority.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Connection } from '../../../entities/connections.ts';
import { takeBackConfirmations } from '../../operations/confirmations.ts';
import { showConnection } from '../../operations/connections.ts';
import { confirmationsByWord } from '../../operations/pages/connections.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { submittedForms } from '../submitted-form.ts';

const path = '/admin/connections';
const pathOf = (id: string) => `${path}/${id}/word-confirmations`;

/** How many accounts the page lists. */
const mostListed = 100;

/** Leads from the page of a connection to that of the accounts, if there are any. */
export async function confirmationsOf(
  admin: AdminSession,
  connection: Connection,
): Promise<{ wordConfirmations?: { count: number; uri: string } }> {
  const { count } = await admin.run(confirmationsByWord, { connection, most: 0 });
  return count > 0 ? { wordConfirmations: { count, uri: pathOf(connection.id) } } : {};
}

/** After a change of a connection: the page of the accounts, if there are any; else the connection's own. */
export async function doneWith(
  admin: AdminSession,
  connection: Connection,
  uri: string,
  notice: string,
): Promise<FastifyReply> {
  const { wordConfirmations: found } = await confirmationsOf(admin, connection);
  return admin.done(found?.uri ?? uri, notice);
}

export async function consoleConfirmationsEndpoint(
  app: FastifyInstance,
  { console }: { console: Console },
): Promise<void> {
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;

  const show = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await admin.run(showConnection, { id: idOf(request) });
    const { id, displayName, authoritativeDomains } = connection;
    const { accounts, count } = await admin.run(confirmationsByWord, { connection, most: mostListed });
    return admin.send(
      'console-word-confirmations',
      {
        name: displayName,
        uri: `${path}/${id}`,
        domains: authoritativeDomains,
        count,
        accounts: accounts.map(({ sub, username, email }) => ({
          username,
          email,
          uri: `/admin/users/${encodeURIComponent(sub)}`,
        })),
        form: admin.form(pathOf(id)),
      },
      { section: 'connections' },
    );
  };

  const submitted = submittedForms(console);

  console.page(app, `${path}/:id/word-confirmations`, show, { needs: confirmationsByWord });

  app.post(`${path}/:id/word-confirmations`, async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, pathOf(id), takeBackConfirmations);
    if (!sent) return reply;
    await sent.admin.run(takeBackConfirmations, { id });
    return sent.admin.done(`${path}/${id}`, 'confirmations-taken-back');
  });
}
