// Serves GET|POST /account/applications: shows the clients with access, their scopes and stored settings, and withdraws a grant.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountPageHelper, ownActor } from '../account-pages.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { unlessGone } from '../../pages/refused-operations.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { grantsView } from './view.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = '/account/applications';
const withdrawPath = '/account';

const withdrawal = z.object({ csrf: text(100), withdraw: text(255) });

const most = { limit: 200, after: undefined };
// limits for the page: the download has all settings in full
const maxValue = 100; // bytes
const maxSettings = 1000;

interface AccountApplicationsDependencies {
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountApplicationsEndpoint(
  app: FastifyInstance,
  options: AccountApplicationsDependencies,
): Promise<void> {
  const { store, pages } = options;
  const administration = createAdministration(store);
  const helper = createAccountPageHelper(options);

  app.get(path, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    const { sub } = session.user;
    const [grants, settings] = await Promise.all([
      store.grants.list(sub, most),
      store.userSettings.outline(sub, maxValue, maxSettings),
    ]);
    return helper.send(request, reply, session, 'account-applications', {
      grants: grantsView(grants, settings),
      form: helper.form(request, reply, session, withdrawPath),
    });
  });

  app.post(withdrawPath, async (request, reply) => {
    const { csrf, withdraw } = readParameters(withdrawal, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: withdrawPath });
    if (!session) return reply;
    const withdrawn = await administration
      .withdrawGrant(ownActor(request, session), session.user.sub, withdraw)
      .then(() => true, unlessGone);
    // withdrawn before, or never granted
    return withdrawn ? helper.done(reply, path, 'withdrawn') : pages.redirect(reply, path);
  });
}
