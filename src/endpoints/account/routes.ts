// The account page: who is signed in here and where else, what is stored, which applications were let in; ends, withdraws, hands out.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../http/browser-session.ts';
import { ownData as ownDataPage, secondFactors as secondFactorsPage } from '../../http/destination.ts';
import { noStore } from '../../http/errors.ts';
import { onlyForms } from '../../http/form-body.ts';
import { isFresh } from '../../http/fresh-sign-in.ts';
import { logoutFrames } from '../../http/front-channel-logout.ts';
import { clientAddress } from '../../http/network.ts';
import { accountView } from '../../http/page-response.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { FormView, Pages } from '../../http/views/index.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../repositories/administration.ts';
import type { Session } from '../../repositories/sessions.ts';
import { ownData } from './data.ts';
import { grantsView, profileView, sessionsView } from './view.ts';

const plain = z.object({ csrf: text(100) });
const withdrawal = z.object({ csrf: text(100), withdraw: text(255) });
const ending = z.object({ csrf: text(100), end: text(255) });

const most = { limit: 200, after: undefined };
// of settings: the download has all of them, whole
const longestValue = 100; // bytes
const mostSettings = 1000;

export async function accountEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { config, store, sessions, pages, audit } = options;
  const administration = createAdministration(store);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/account', async (request, reply) => {
    onlyNavigation(request);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, '/login');
    const { user, sid } = session;
    const [grants, settings, live, factors, recoveryCodes] = await Promise.all([
      store.grants.list(user.sub, most),
      store.userSettings.outline(user.sub, longestValue, mostSettings),
      store.sessions.list({ sub: user.sub }, most),
      store.secondFactors.list(user.sub),
      store.recoveryCodes.count(user.sub),
    ]);
    const form = (action: string): FormView => ({
      action,
      hidden: { csrf: sessions.formToken(request, reply, { action, session }) },
    });
    const data: Pages['account'] = {
      account: accountView(user),
      profile: profileView(user, grants),
      grants: grantsView(grants, settings),
      sessions: sessionsView(live, sid),
      secondFactors: { enrolled: factors.length > 0, recoveryCodes, uri: secondFactorsPage.path },
      passwordUri: '/account/password',
      logoutUri: `/logout`,
      form: form('/account'),
      sessionForm: form('/account/sessions'),
      dataForm: form('/account/data'),
    };
    if (live.some((other) => other.sid !== sid)) data.otherSessionsForm = form('/account/other-sessions');
    return pages.send(request, reply, 'account', data);
  });

  app.post('/account', async (request, reply) => {
    const { csrf, withdraw } = readParameters(withdrawal, request.body);
    const session = await submitted(request, reply, csrf, '/account');
    if (!session) return pages.redirect(reply, '/login');
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

  app.post('/account/sessions', async (request, reply) => {
    const { csrf, end } = readParameters(ending, request.body);
    const session = await submitted(request, reply, csrf, '/account/sessions');
    if (!session) return pages.redirect(reply, '/login');
    const own = end === session.sid;
    const frames = own ? await logoutFrames(store, config.issuer, session) : [];
    const { sub } = session.user;
    // one that is over already, or somebody else's, is no session of this person: the page shows those that are
    await administration.endSession(actor(request, session), end, sub).catch(unlessGone);
    if (!own) return pages.redirect(reply, '/account');
    sessions.forget(reply);
    // without a session this is the page that says so; frames cannot be handed on to it
    if (frames.length === 0) return pages.redirect(reply, '/logout');
    return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account', frames });
  });

  app.post('/account/other-sessions', async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await submitted(request, reply, csrf, '/account/other-sessions');
    if (!session) return pages.redirect(reply, '/login');
    await administration.endSessions(actor(request, session), session.user.sub, session.id).catch(unlessGone);
    return pages.redirect(reply, '/account');
  });

  app.post('/account/data', async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await submitted(request, reply, csrf, '/account/data');
    if (!session) return pages.redirect(reply, '/login');
    // a browser that was left open hands out nothing
    if (!isFresh(session)) return pages.redirect(reply, `/login?destination=${ownDataPage.value}`);
    const { user } = session;
    await audit(request, { type: 'user.data_downloaded', outcome: 'success', actor: user.sub, sub: user.sub });
    return noStore(reply)
      .header('content-disposition', 'attachment; filename="account.json"')
      .type('application/json; charset=utf-8')
      .send(Readable.from(ownData(store, config.issuer, user)));
  });

  /** The session whose page a form came from; undefined for nobody signed in. @throws OAuthError for another form */
  async function submitted(
    request: FastifyRequest,
    reply: FastifyReply,
    csrf: string,
    action: string,
  ): Promise<Session | undefined> {
    const session = await sessions.find(request, reply);
    if (session && !sessions.isOwnForm(request, csrf, { action, session }))
      throw invalidRequest('the form is too old or came from elsewhere');
    return session;
  }
}

const actor = (request: FastifyRequest, session: Session) => ({
  actor: session.user.sub,
  address: clientAddress(request),
});

function unlessGone(error: unknown): void {
  if (!(error instanceof OAuthError) || error.code !== 'not_found') throw error;
}
