// Declares the operations on trusted issuers: those that every entity has.
import { trustedIssuerAdministration } from '../../domain/administration/trusted-issuers.ts';
import { trustedIssuers } from '../../entities/trusted-issuers.ts';
import { entityOperations } from './entities.ts';

export const trustedIssuerActs = entityOperations(trustedIssuers, {
  says: {
    list: 'Lists trusted issuers, newest first',
    create: 'Creates a trusted issuer: clients get tokens for its users by its assertions (RFC 7523)',
    show: 'Shows a trusted issuer',
    change: 'Changes a trusted issuer; its name and its issuer stay',
    delete: 'Deletes a trusted issuer, and ends the tokens that its assertions got',
  },
  named: 'The id, or the name.',
  answers: { one: 'TrustedIssuer', page: 'TrustedIssuerPage' },
  columns: {
    NAME: ({ name }) => name,
    ISSUER: ({ issuer }) => issuer,
    STATUS: ({ status }) => status,
    SUBJECT: ({ subject }) => subject,
    RESOURCES: ({ resources }) => resources.join(' '),
    SCOPES: ({ scopes }) => scopes.join(' '),
  },
  done: {
    create: ({ name }) =>
      `Created the trusted issuer ${name}. Its clients also need the grant type urn:ietf:params:oauth:grant-type:jwt-bearer.`,
    change: ({ name, status }) => `Changed the trusted issuer ${name}: it is ${status}.`,
    delete: ({ name }) => `Deleted the trusted issuer ${name}. The tokens that its assertions got have ended.`,
  },
  repository: ({ store }) => store.trustedIssuers,
  administration: ({ store, config }) => trustedIssuerAdministration(store, config.issuer),
  // a command gives pairs: --link SUBJECT=USER
  prepare: ({ links, ...given }) => ({
    ...given,
    ...(links !== undefined && {
      links: Object.entries(links as object).map(([subject, user]) => ({ subject, user: String(user) })),
    }),
  }),
});
