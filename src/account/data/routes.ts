// Serves GET|POST /account/data: the user downloads all data that the service stores about them.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountPages } from '../account-pages.ts';
import { ownData as ownDataPage, ownDeletion } from '../../pages/return-to.ts';
import { noStore } from '../../server/errors.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { ownData } from './document.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuditTrail } from '../../server/audit.ts';

const path = ownDataPage.path;

interface AccountDataDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
  audit: AuditTrail;
}

export async function accountDataEndpoint(app: FastifyInstance, options: AccountDataDependencies): Promise<void> {
  const { config, store, pages, audit } = options;
  const account = createAccountPages(options);

  account.page(app, path, async (own) => {
    return own.send('account-data', {
      form: own.form(path),
      ...(config.accountDeletion && { deleteUri: ownDeletion.path }),
    });
  });

  account.form(app, path, z.object({}), async ({ session }, _typed, request, reply) => {
    // an unattended browser must not hand out the data
    if (!recentlyAuthenticated(session)) return pages.redirect(reply, reauthenticationPath(session, ownDataPage));
    const { user } = session;
    await audit(request, { type: 'user.data_downloaded', outcome: 'success', actor: user.sub, sub: user.sub });
    return noStore(reply)
      .header('content-disposition', 'attachment; filename="account.json"')
      .type('application/json; charset=utf-8')
      .send(Readable.from(ownData(store, config.issuer, user)));
  });
}
