// Names the addresses of the SAML identity provider, below the issuer (federation 2), and its entity ID.
import { samlStartPath } from '../clients/start-address.ts';

export const samlPaths = {
  metadata: '/saml/metadata',
  signOn: '/saml/sso',
  logout: '/saml/logout',
  start: `${samlStartPath}/:client_id`,
} as const;

/** The address of the metadata is the name of the identity provider (SAML Metadata 4.1). */
export const samlEntityId = (issuer: string): string => issuer + samlPaths.metadata;
