// Serves the pages to which protected sites send their users: a sign-in that expired, and the end of a sign-out (federation 13).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../browser/session.ts';
import { maxClientId } from '../../oauth/client-document.ts';
import { text } from '../../oauth/text.ts';
import { clientView, type PageResponses, servePages } from '../../pages/page-response.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { expiredPath, signedOutPath } from './site-routes.ts';

const named = z.object({ client_id: text(maxClientId).optional() });

export async function sitePages(
  app: FastifyInstance,
  { pages, clients }: { pages: PageResponses; clients: Pick<ClientCache, 'find'> },
): Promise<void> {
  await servePages(app, pages);

  app.get(expiredPath, (request, reply) => {
    onlyNavigation(request);
    return pages.refuse(request, reply, 'expired');
  });

  app.get(signedOutPath, async (request, reply) => {
    onlyNavigation(request);
    const { client_id: clientId } = readParameters(named, singleValued(request.query));
    const client = clientId === undefined ? undefined : await clients.find(clientId);
    const site = client?.kind === 'proxy' && client.status === 'enabled' ? client : undefined;
    return pages.send(request, reply, 'site-signed-out', {
      signOutUri: '/logout',
      ...(site && { client: clientView(site), ...(site.startUri !== undefined && { againUri: site.startUri }) }),
    });
  });
}
