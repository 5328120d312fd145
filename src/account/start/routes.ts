// Serves GET /account/start: the applications that the user may use, each with a link to where it begins (federation 7).
import type { FastifyInstance } from 'fastify';
import { createAccountPages } from '../account-pages.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { mayUse } from '../../oauth/access.ts';
import { displayName } from '../../oauth/client-metadata.ts';
import { startAddress } from '../../oauth/start-address.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import { singleValued } from '../../server/parameters.ts';

/** The most applications that the page reads. */
const most = 500;

interface AccountStartDependencies {
  config: Config;
  store: Pick<Store, 'clients'>;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountStartEndpoint(app: FastifyInstance, options: AccountStartDependencies): Promise<void> {
  const { config, store } = options;
  const account = createAccountPages(options);

  account.page(app, '/account/start', async (own, request) => {
    const { user } = own.session;
    const from = { address: clientAddress(request) };
    const q = (singleValued(request.query)['q'] ?? '').trim().slice(0, 100);
    const tiles = (await store.clients.listStarts(most)).flatMap((client) => {
      const startUri = startAddress(client, config.issuer);
      if (startUri === undefined || mayUse(user, client, { from }) !== 'yes') return [];
      const name = displayName(client.clientId, client.metadata);
      return [{ name, startUri, host: new URL(startUri).host }];
    });
    // without case and accents, as the console searches
    const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    const words = folded(q).split(/\s+/).filter(Boolean);
    const matches = tiles.filter(({ name, host }) => words.every((word) => folded(`${name} ${host}`).includes(word)));
    return own.send('account-start', { q, tiles: matches, any: tiles.length > 0 });
  });
}
