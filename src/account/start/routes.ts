// Serves GET /account/start: the applications that the user may use, each with a link to where it begins (federation 7).
import type { FastifyInstance } from 'fastify';
import { createAccountPages } from '../account-pages.ts';
import { tilesOf } from '../tiles.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { displayName } from '../../oauth/client-metadata.ts';
import { logoOf } from '../../rules/images/address.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import { singleValued } from '../../server/parameters.ts';

/** The most applications without an address that the page lists for administrators. */
const mostLacking = 20;

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
    const lacking = user.admin ? await store.clients.listWithoutStart(mostLacking) : [];
    return own.send('account-start', {
      q,
      tiles: matches,
      any: tiles.length > 0,
      lacking: lacking.map((client) => ({
        id: client.clientId,
        name: displayName(client.clientId, client.metadata),
        image: logoOf(client),
        editUri: `/admin/clients/${encodeURIComponent(client.clientId)}/edit`,
      })),
    });
  });
}
