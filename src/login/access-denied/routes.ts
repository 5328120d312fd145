// Serves GET|POST /access-denied: tells a user that they may not use a client and whom to ask, then sends the client its answer. A client may send browsers here, too.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { digest } from '../../crypto/secrets.ts';
import { denialReference } from '../../interaction/denial-reference.ts';
import type { InteractionFlow, ConsentQuestion } from '../../interaction/relying-party.ts';
import { continueOrExpire } from '../../interaction/repeated-form.ts';
import { continuationPath, signInPath } from '../../interaction/sign-in.ts';
import { mayUse, wayOf } from '../../rules/access/access.ts';
import { text } from '../../oauth/text.ts';
import { notAdmitted, refusedReason } from '../../pages/access-reason.ts';
import { accountView, clientView, type PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { onlyForms } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';

const form = z.object({ csrf: text(100).optional(), transaction: text(100) });
const action = '/access-denied';

interface AccessDeniedDependencies {
  store: Pick<Store, 'transaction' | 'authorizationRequests'>;
  clients: ClientCache;
  sessions: BrowserSessions;
  pages: PageResponses;
  flow: InteractionFlow;
}

export async function accessDeniedEndpoint(app: FastifyInstance, options: AccessDeniedDependencies): Promise<void> {
  const { store, clients, sessions, pages, flow } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(action, { errorHandler: flow.errors }, async (request, reply) => {
    const { client_id, transaction } = singleValued(request.query);
    if (transaction !== undefined) {
      onlyNavigation(request);
      return flow.resume(request, reply, transaction, {
        'access-denied': (question, session) => show(request, reply, transaction, question, session),
      });
    }
    const client = client_id === undefined ? undefined : await clients.find(client_id);
    const session = await sessions.find(request, reply);
    const data: Pages['access-denied'] = { by: 'client', contacts: [] };
    if (client?.status === 'enabled') data.client = clientView(client);
    if (session) data.account = accountView(session.user);
    return pages.send(request, reply, 'access-denied', data, { status: 403 });
  });

  app.post(action, async (request, reply) => {
    const { csrf, transaction } = readParameters(form, request.body);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const question = pending && (await flow.questionOf(pending));
    if (!question) return continueOrExpire(options, request, reply);
    if (!session) return pages.redirect(reply, signInPath('/login', { transaction }));
    const { clientId } = question.client;
    const binding = { action, transaction, session, shown: clientId };
    if (!sessions.isOwnForm(request, csrf, binding)) {
      const problem = sessions.isEarlierForm(request, csrf, binding) ? 'earlier' : 'tampered';
      return show(request, reply, transaction, question, session, problem);
    }
    const { sub } = session.user;
    const idHash = digest('transaction', transaction);
    await store.transaction(async ({ authorizationRequests, auditEvents }) => {
      const stored = await authorizationRequests.lock(idHash);
      if (!stored || stored.decision?.sub === sub) return;
      await authorizationRequests.decide(idHash, { allowed: false, sub }, sessions.formHash(request));
      const event = { type: 'access.refused', outcome: 'failure', actor: sub, sub, clientId } as const;
      const detail = { reference: denialReference(pending, sub) };
      await auditEvents.insert({ ...event, address: clientAddress(request), detail }, request.log);
    });
    return pages.redirect(reply, continuationPath({ transaction }));
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    { client, redirectUri, uiLocales }: ConsentQuestion,
    session: Session,
    problem?: 'tampered' | 'earlier',
  ): Promise<FastifyReply> {
    const situation = { from: { address: clientAddress(request) }, by: wayOf(session) };
    const access = mayUse(session.user, client, situation);
    const csrf = sessions.formToken(request, reply, { action, transaction, session, shown: client.clientId });
    const data: Pages['access-denied'] = {
      by: 'service',
      reason: refusedReason(access),
      client: clientView(client, redirectUri),
      account: accountView(session.user),
      contacts: client.metadata.contacts ?? [],
      form: { action, hidden: { csrf, transaction } },
      // another account does not help where another way to sign in is needed
      switchAccountUri:
        access === 'connection_not_allowed'
          ? `${signInPath('/login', { transaction })}&account=other`
          : signInPath('/login/accounts', { transaction }),
      reference: await pages.explain(request, notAdmitted(access, client, session.user.sub, situation)),
    };
    if (problem === 'tampered') data.problem = problem;
    const status = problem ? 400 : 403;
    const here = `${action}?transaction=${transaction}`;
    return pages.send(request, reply, 'access-denied', data, { status, uiLocales, here });
  }
}
