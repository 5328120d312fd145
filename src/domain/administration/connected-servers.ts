// Adds the rules of connected servers to their creation and change: another server, and clients that exist and are no public ones.
import { connectedServers } from '../../entities/connected-servers.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { isAtIssuer } from '../../oauth/own-resource.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';

export const connectedServerAdministration = (store: Store, issuer: string) =>
  entityAdministration(store, connectedServers, {
    repository: (repositories) => repositories.connectedServers,
    taken: refusal('connected-server.taken', 'issuer'),
    facts: ({ name, issuer: named }, act) => ({
      detail: { connected_server: name, ...(act === 'created' && { issuer: named }) },
    }),
    async check({ clients, groups }, after, members) {
      if (isAtIssuer(issuer, after.issuer)) throw invalidRequest(refusal('trusted-issuer.own', 'issuer'));
      if (!members.includes('clients')) return;
      for (const name of new Set(after.clients.flatMap((entry) => entry.groups)))
        if (!(await groups.find(name))) throw invalidRequest(refusal('group.unknown', 'clients', { name }));
      for (const { client } of after.clients) {
        const found = client.includes('\0') ? undefined : await clients.find(client);
        if (!found) throw invalidRequest(refusal('unknown', 'clients'));
        if (found.rules.isPublic) throw invalidRequest(refusal('exchange-client', 'clients'));
      }
    },
  });
