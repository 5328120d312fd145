// Declares the operations on connected servers: those that every entity has.
import { connectedServerAdministration } from '../../domain/administration/connected-servers.ts';
import { connectedServers } from '../../entities/connected-servers.ts';
import { entityOperations } from './entities.ts';

export const connectedServerActs = entityOperations(connectedServers, {
  says: {
    list: 'Lists connected servers, newest first',
    create: 'Creates a connected server: clients get ID-JAGs about their users for it',
    show: 'Shows a connected server',
    change: 'Changes a connected server; its name and its issuer stay',
    delete: 'Deletes a connected server; ID-JAGs that were already signed stay valid for five minutes at most',
  },
  named: 'The id, or the name.',
  answers: { one: 'ConnectedServer', page: 'ConnectedServerPage' },
  columns: {
    NAME: ({ name }) => name,
    ISSUER: ({ issuer }) => issuer,
    STATUS: ({ status }) => status,
    SUBJECT: ({ subject }) => subject,
    CLIENTS: ({ clients }) => clients.map(({ client }) => client).join(' '),
  },
  done: {
    create: ({ name }) => `Created the connected server ${name}. ID-JAGs also need ID_JAG=on.`,
    change: ({ name, status }) => `Changed the connected server ${name}: it is ${status}.`,
    delete: ({ name }) => `Deleted the connected server ${name}.`,
  },
  repository: ({ store }) => store.connectedServers,
  administration: ({ store, config }) => connectedServerAdministration(store, config.issuer),
  // a command gives pairs: --client CLIENT='{"id": …}'
  prepare: ({ clients, ...given }) => ({
    ...given,
    ...(clients !== undefined && {
      clients: Object.entries(clients as object).map(([client, how]: [string, object]) => ({ client, ...how })),
    }),
  }),
});
