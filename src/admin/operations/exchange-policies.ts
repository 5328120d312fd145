// Declares the operations on exchange policies: those that every entity has.
import { exchangePolicyAdministration } from '../../domain/administration/exchange-policies.ts';
import { exchangePolicies } from '../../entities/exchange-policies.ts';
import { entityOperations } from './entities.ts';

export const exchangePolicyActs = entityOperations(exchangePolicies, {
  says: {
    list: 'Lists exchange policies, newest first',
    create: 'Creates an exchange policy: a client gets tokens for resources in exchange for tokens of users (RFC 8693)',
    show: 'Shows an exchange policy',
    change: 'Changes an exchange policy, but no token that was already issued; its client stays',
    delete: 'Deletes an exchange policy; tokens that were already issued stay valid until they expire',
  },
  named: 'The id, or the name.',
  answers: { one: 'ExchangePolicy', page: 'ExchangePolicyPage' },
  columns: {
    NAME: ({ name }) => name,
    CLIENT_ID: ({ clientId }) => clientId,
    MODE: ({ mode }) => mode,
    STATUS: ({ status }) => status,
    RESOURCES: ({ resources }) => resources.join(' '),
    SCOPES: ({ scopes }) => scopes.join(' '),
  },
  done: {
    create: ({ name, clientId }) =>
      `Created the exchange policy ${name}. The client ${clientId} also needs the grant type urn:ietf:params:oauth:grant-type:token-exchange.`,
    change: ({ name, status }) => `Changed the exchange policy ${name}: it is ${status}.`,
    delete: ({ name }) => `Deleted the exchange policy ${name}.`,
  },
  repository: ({ store }) => store.exchangePolicies,
  administration: ({ store, config }) => exchangePolicyAdministration(store, config.issuer),
});
