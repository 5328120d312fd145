// GET /account: who is signed in here, and which applications were let in; a grant can be withdrawn.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../http/browser-session.ts';
import { onlyForms } from '../../http/form-body.ts';
import { accountView } from '../../http/page-response.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { Pages } from '../../http/views.ts';
import { invalidRequest } from '../../oauth/errors.ts';

const withdrawal = z.object({ csrf: text(100), withdraw: text(255) });

export async function accountEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { store, sessions, pages, audit } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/account', async (request, reply) => {
    onlyNavigation(request);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, '/login');
    const grants = await store.grants.list(session.user.sub);
    const data: Pages['account'] = {
      account: accountView(session.user),
      grants: grants.map((grant) => ({
        clientId: grant.clientId,
        name: grant.clientName,
        scopes: grant.scope,
        claims: grant.claims,
        since: grant.createdAt,
      })),
      logoutUri: `/logout`,
      form: {
        action: `/account`,
        hidden: { csrf: sessions.formToken(request, reply, { action: '/account', session }) },
      },
    };
    if (session.user.email !== undefined) data.email = session.user.email;
    return pages.send(request, reply, 'account', data);
  });

  app.post('/account', async (request, reply) => {
    const { csrf, withdraw } = readParameters(withdrawal, request.body);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, '/login');
    if (!sessions.isOwnForm(request, csrf, { action: '/account', session }))
      throw invalidRequest('the form is too old or came from elsewhere');
    const { sub } = session.user;
    await store.transaction(async (repositories) => {
      if (!(await repositories.grants.withdraw(sub, withdraw))) return;
      await audit(
        request,
        { type: 'consent.withdrawn', outcome: 'success', actor: sub, sub, clientId: withdraw },
        repositories,
      );
    });
    return pages.redirect(reply, '/account');
  });
}
