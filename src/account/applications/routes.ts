// Serves GET|POST /account/applications: shows the clients with access, their scopes and stored settings, and withdraws a grant.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountPages, firstPage } from '../account-pages.ts';
import { text } from '../../oauth/text.ts';
import { unlessGone } from '../../pages/refused-operations.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { grantsView } from './view.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = '/account/applications';
const withdrawPath = '/account';

const withdrawal = z.object({ withdraw: text(255) });

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
  const account = createAccountPages(options);

  account.page(app, path, async (own) => {
    const { sub } = own.session.user;
    const [grants, settings] = await Promise.all([
      store.grants.list(sub, firstPage),
      store.userSettings.outline(sub, maxValue, maxSettings),
    ]);
    return own.send('account-applications', {
      grants: grantsView(grants, settings),
      form: own.form(withdrawPath),
    });
  });

  account.form(app, withdrawPath, withdrawal, async (own, { withdraw }, _request, reply) => {
    const withdrawn = await administration
      .withdrawGrant(own.by, own.session.user.sub, withdraw)
      .then(() => true, unlessGone);
    // withdrawn before, or never granted
    return withdrawn ? own.done(path, 'withdrawn') : pages.redirect(reply, path);
  });
}
