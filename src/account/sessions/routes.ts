// Serves GET|POST /account/sessions: lists the user's sessions by browser and the devices allowed with a code, names a browser, and ends one, all others, or all.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type AccountSession, createAccountPages, firstPage } from '../account-pages.ts';
import { logoutFrames } from '../../browser/front-channel-logout.ts';
import { text } from '../../oauth/text.ts';
import { unlessGone } from '../../pages/refused-operations.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { sessionsView } from './view.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import { isShortName, maxShortName } from '../../config/appearance-types.ts';

const path = '/account/sessions';
const othersPath = '/account/other-sessions';
const allPath = '/account/all-sessions';

const plain = z.object({});
const act = z.union([
  z.object({ end: text(255) }),
  z.object({ device: z.string().regex(/^\d{1,18}$/) }),
  z.object({ rename: text(255), name: z.string().max(1000).default('') }),
]);

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
  const account = createAccountPages(options);

  account.page(app, path, (own) => show(own));

  async function show(own: AccountSession, refused?: Pages['account-sessions']['refused']): Promise<FastifyReply> {
    const { session } = own;
    const live = await store.sessions.list({ sub: session.user.sub }, firstPage);
    const devices = await store.clientSessions.listDevices(session.user.sub, firstPage.limit);
    const others = live.some(({ sid }) => sid !== session.sid);
    const data = {
      sessions: sessionsView(live, session.sid),
      devices,
      form: own.form(path),
      allForm: own.form(allPath),
      ...(others && { othersForm: own.form(othersPath) }),
      ...(refused && { refused }),
    };
    return own.send('account-sessions', data, { status: refused ? 400 : 200 });
  }

  account.form(app, path, act, async (own, ended, request, reply) => {
    const { session, by } = own;
    if ('rename' in ended) return rename(own, ended.rename, ended.name, reply);
    if ('device' in ended) return endDevice(own, ended.device, reply);
    const { end } = ended;
    const isThis = end === session.sid;
    const frames = isThis ? await logoutFrames(store, config.issuer, session) : [];
    const done = await administration.endSession(by, end, session.user.sub).then(() => true, unlessGone);
    // the session has ended, or belongs to another user
    if (!isThis) return done ? own.done(path, 'session-ended') : pages.redirect(reply, path);
    return signedOut(request, reply, frames);
  });

  account.form(app, othersPath, plain, async (own) => {
    const { session, by } = own;
    await administration.endSessions(by, session.user.sub, session.id).catch(unlessGone);
    return own.done(path, 'others-ended');
  });

  account.form(app, allPath, plain, async ({ session, by }, _typed, request, reply) => {
    const frames = await logoutFrames(store, config.issuer, session);
    await administration.endSessions(by, session.user.sub).catch(unlessGone);
    return signedOut(request, reply, frames);
  });

  /** Names the browser of one of the user's sessions; an empty name removes it. */
  async function rename(own: AccountSession, sid: string, typed: string, reply: FastifyReply): Promise<FastifyReply> {
    const name = typed.normalize('NFC').trim();
    if (name !== '' && !isShortName(name))
      return show(own, { sid, name, fault: [...name].length > maxShortName ? 'long' : 'text' });
    // a session of another user reads like one that has ended
    const done = await store.sessions.nameBrowser(sid, own.session.user.sub, name === '' ? undefined : name);
    return done ? own.done(path, 'browser-named') : pages.redirect(reply, path);
  }

  /** Ends everything that was issued to a device. */
  async function endDevice(own: AccountSession, id: string, reply: FastifyReply): Promise<FastifyReply> {
    const { sub } = own.session.user;
    const clientId = await store.transaction(async ({ clientSessions, auditEvents }) => {
      const endedClient = await clientSessions.endDevice(id, sub);
      if (endedClient === undefined) return undefined;
      await auditEvents.insert({
        type: 'client_session.ended',
        outcome: 'success',
        ...own.by,
        sub,
        clientId: endedClient,
      });
      return endedClient;
    });
    return clientId === undefined ? pages.redirect(reply, path) : own.done(path, 'device-ended');
  }

  /** Answers once the session of this browser has ended. */
  function signedOut(request: FastifyRequest, reply: FastifyReply, frames: string[]): FastifyReply {
    sessions.forget(reply);
    // the sign-out page confirms it; it cannot take over the frames
    if (frames.length === 0) return pages.redirect(reply, '/logout');
    return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account', frames });
  }
}
