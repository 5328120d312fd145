// Serves GET|POST /account/data: the user downloads all data that the service stores about them.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountPageHelper } from '../account-pages.ts';
import { ownData as ownDataPage, ownDeletion } from '../../pages/return-to.ts';
import { noStore } from '../../server/errors.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { ownData } from './document.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuditTrail } from '../../server/audit.ts';

const path = ownDataPage.path;

const plain = z.object({ csrf: text(100) });

interface AccountDataDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
  audit: AuditTrail;
}

export async function accountDataEndpoint(app: FastifyInstance, options: AccountDataDependencies): Promise<void> {
  const { config, store, pages, audit } = options;
  const helper = createAccountPageHelper(options);

  app.get(path, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    return helper.send(request, reply, session, 'account-data', {
      form: helper.form(request, reply, session, path),
      ...(config.accountDeletion && { deleteUri: ownDeletion.path }),
    });
  });

  app.post(path, async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await helper.submitted(request, reply, { csrf, action: path });
    if (!session) return reply;
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
