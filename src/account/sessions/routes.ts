// Serves GET|POST /account/sessions: lists the user's sessions by device, and ends one, all others, or all.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPageHelper, ownActor } from '../account-pages.ts';
import { logoutFrames } from '../../browser/front-channel-logout.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { unlessGone } from '../../pages/refused-operations.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { sessionsView } from './view.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = '/account/sessions';
const othersPath = '/account/other-sessions';
const allPath = '/account/all-sessions';

const plain = z.object({ csrf: text(100) });
const ending = z.object({ csrf: text(100), end: text(255) });

const most = { limit: 200, after: undefined };

interface AccountSessionsDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountSessionsEndpoint(
  app: FastifyInstance,
  options: AccountSessionsDependencies,
): Promise<void> {
  const { config, store, sessions, pages } = options;
  const administration = createAdministration(store);
  const helper = createAccountPageHelper(options);

  app.get(path, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    const live = await store.sessions.list({ sub: session.user.sub }, most);
    const others = live.some(({ sid }) => sid !== session.sid);
    return helper.send(request, reply, session, 'account-sessions', {
      sessions: sessionsView(live, session.sid),
      form: helper.form(request, reply, session, path),
      allForm: helper.form(request, reply, session, allPath),
      ...(others && { othersForm: helper.form(request, reply, session, othersPath) }),
    });
  });

  app.post(path, async (request, reply) => {
    const { csrf, end } = readParameters(ending, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: path });
    if (!session) return reply;
    const own = end === session.sid;
    const frames = own ? await logoutFrames(store, config.issuer, session) : [];
    const ended = await administration
      .endSession(ownActor(request, session), end, session.user.sub)
      .then(() => true, unlessGone);
    // the session has ended, or belongs to another user
    if (!own) return ended ? helper.done(reply, path, 'session-ended') : pages.redirect(reply, path);
    return signedOut(request, reply, frames);
  });

  app.post(othersPath, async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: othersPath });
    if (!session) return reply;
    await administration.endSessions(ownActor(request, session), session.user.sub, session.id).catch(unlessGone);
    return helper.done(reply, path, 'others-ended');
  });

  app.post(allPath, async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: allPath });
    if (!session) return reply;
    const frames = await logoutFrames(store, config.issuer, session);
    await administration.endSessions(ownActor(request, session), session.user.sub).catch(unlessGone);
    return signedOut(request, reply, frames);
  });

  /** Answers once the session of this browser has ended. */
  function signedOut(request: FastifyRequest, reply: FastifyReply, frames: string[]): FastifyReply {
    sessions.forget(reply);
    // the sign-out page confirms it; it cannot take over the frames
    if (frames.length === 0) return pages.redirect(reply, '/logout');
    return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account', frames });
  }
}
