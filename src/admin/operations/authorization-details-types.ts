// Declares the operations on types of authorization details: those that every entity has.
import { authorizationDetailsTypeAdministration } from '../../domain/administration/authorization-details-types.ts';
import { authorizationDetailsTypes } from '../../entities/authorization-details-types.ts';
import { entityOperations } from './entities.ts';

export const authorizationDetailsTypeActs = entityOperations(authorizationDetailsTypes, {
  says: {
    list: 'Lists types of authorization details, newest first',
    create: 'Creates a type of authorization details, which clients can ask users to allow (RFC 9396)',
    show: 'Shows a type of authorization details',
    change: 'Changes a type of authorization details, but no token that was already issued; its name stays',
    delete: 'Deletes a type of authorization details; tokens that were already issued stay valid until they expire',
  },
  named: 'The id, or the type.',
  answers: { one: 'AuthorizationDetailsType', page: 'AuthorizationDetailsTypePage' },
  columns: {
    TYPE: ({ type }) => type,
    STATUS: ({ status }) => status,
    RESOURCES: ({ resources }) => resources.join(' '),
  },
  done: {
    create: ({ type }) =>
      `Created the type ${type}. Clients that are registered for it (authorization_details_types) can request it.`,
    change: ({ type, status }) => `Changed the type ${type}: it is ${status}.`,
    delete: ({ type }) => `Deleted the type ${type}.`,
  },
  forms: { schema: 'json-file' },
  repository: ({ store }) => store.authorizationDetailsTypes,
  administration: ({ store, config }) => authorizationDetailsTypeAdministration(store, config.issuer),
});
