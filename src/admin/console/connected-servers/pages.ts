// Serves the console's pages about connected servers: those of every entity.
import { connectedServers } from '../../../entities/connected-servers.ts';
import { connectedServerActs } from '../../operations/connected-servers.ts';
import { entityPages } from '../entity-pages.ts';

export const connectedServerPages = entityPages(connectedServers, connectedServerActs, {
  known: ({ issuer }) => issuer,
});
