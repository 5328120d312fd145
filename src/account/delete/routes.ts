// Serves GET|POST /account/delete: deletes the user's account if ACCOUNT_DELETION allows it, after a recent sign-in and the typed username.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type AccountSession, createAccountPages, firstPage } from '../account-pages.ts';
import { ownDeletion } from '../../pages/return-to.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { logoutFrames } from '../../browser/front-channel-logout.ts';
import { text } from '../../oauth/text.ts';
import { unlessConflict, unlessGone } from '../../pages/refused-operations.ts';
import type { Pages } from '../../pages/views/index.ts';
import { notFound } from '../../oauth/errors.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = ownDeletion.path;

const deletion = z.object({ username: text(1000).optional() });

interface AccountDeleteDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountDeleteEndpoint(app: FastifyInstance, options: AccountDeleteDependencies): Promise<void> {
  const { config, store, sessions, pages } = options;
  const administration = createAdministration(store);
  const account = createAccountPages(options);

  account.page(app, path, async (own) => {
    onlyWhereAllowed();
    return show(own);
  });

  account.form(app, path, deletion, async (own, { username }, request, reply) => {
    const { session, by } = own;
    onlyWhereAllowed();
    if (!recentlyAuthenticated(session)) return pages.redirect(reply, reauthenticationPath(session, ownDeletion));
    const { user } = session;
    if (username?.trim() !== user.username.trim()) return show(own, 'name');
    // the addresses for front-channel logout are deleted with the sessions
    const frames = await logoutFrames(store, config.issuer, session);
    const deleting = administration.deleteUser(by, user.sub).catch(unlessGone);
    if ((await unlessConflict(deleting)) === 'conflict') return show(own, 'last-administrator');
    sessions.forget(reply);
    return pages.send(request, reply, 'account-deleted', frames.length > 0 ? { frames } : {});
  });

  function onlyWhereAllowed(): void {
    if (!config.accountDeletion) throw notFound('users cannot delete their accounts here: ask an administrator');
  }

  async function show(own: AccountSession, fault?: Pages['account-delete']['fault']): Promise<FastifyReply> {
    const { user } = own.session;
    const grants = await store.grants.list(user.sub, firstPage);
    return own.send(
      'account-delete',
      {
        username: user.username,
        applications: grants.map(({ clientName }) => clientName),
        form: own.form(path),
        dataUri: '/account/data',
        ...(fault && { fault }),
      },
      { status: fault === undefined ? 200 : fault === 'name' ? 400 : 409 },
    );
  }
}
