// Serves GET /account/start: the applications that the user may use, each with a link to where it begins (federation 7).
import type { FastifyInstance } from 'fastify';
import { createAccountPages } from '../account-pages.ts';
import { tilesOf } from '../tiles.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import { singleValued } from '../../server/parameters.ts';

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
    const tiles = await tilesOf(store, config.issuer, user, from);
    // without case and accents, as the console searches
    const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    const words = folded(q).split(/\s+/).filter(Boolean);
    const matches = tiles.filter(({ name, host }) => words.every((word) => folded(`${name} ${host}`).includes(word)));
    return own.send('account-start', { q, tiles: matches, any: tiles.length > 0 });
  });
}
