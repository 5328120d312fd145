// Serves GET|POST /account/delete: deletes the user's account if ACCOUNT_DELETION allows it, after a recent sign-in and the typed username.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPageHelper, ownActor } from '../account-pages.ts';
import { ownDeletion } from '../../pages/return-to.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { logoutFrames } from '../../browser/front-channel-logout.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { unlessConflict, unlessGone } from '../../pages/refused-operations.ts';
import type { Pages } from '../../pages/views/index.ts';
import { notFound } from '../../oauth/errors.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = ownDeletion.path;

const deletion = z.object({ csrf: text(100), username: text(1000).optional() });

const most = { limit: 200, after: undefined };

interface AccountDeleteDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountDeleteEndpoint(app: FastifyInstance, options: AccountDeleteDependencies): Promise<void> {
  const { config, store, sessions, pages } = options;
  const administration = createAdministration(store);
  const helper = createAccountPageHelper(options);

  app.get(path, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    onlyWhereAllowed();
    return show(request, reply, session);
  });

  app.post(path, async (request, reply) => {
    const { csrf, username } = readParameters(deletion, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: path });
    if (!session) return reply;
    onlyWhereAllowed();
    if (!recentlyAuthenticated(session)) return pages.redirect(reply, reauthenticationPath(session, ownDeletion));
    const { user } = session;
    if (username?.trim() !== user.username.trim()) return show(request, reply, session, 'name');
    // the addresses for front-channel logout are deleted with the sessions
    const frames = await logoutFrames(store, config.issuer, session);
    const deleting = administration.deleteUser(ownActor(request, session), user.sub).catch(unlessGone);
    if ((await unlessConflict(deleting)) === 'conflict') return show(request, reply, session, 'last-administrator');
    sessions.forget(reply);
    return pages.send(request, reply, 'account-deleted', frames.length > 0 ? { frames } : {});
  });

  function onlyWhereAllowed(): void {
    if (!config.accountDeletion) throw notFound('people do not delete their accounts here: an administrator does');
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    fault?: Pages['account-delete']['fault'],
  ): Promise<FastifyReply> {
    const grants = await store.grants.list(session.user.sub, most);
    return helper.send(
      request,
      reply,
      session,
      'account-delete',
      {
        username: session.user.username,
        applications: grants.map(({ clientName }) => clientName),
        form: helper.form(request, reply, session, path),
        dataUri: '/account/data',
        ...(fault && { fault }),
      },
      { status: fault === undefined ? 200 : fault === 'name' ? 400 : 409 },
    );
  }
}
