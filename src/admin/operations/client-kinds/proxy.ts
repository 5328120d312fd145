// Defines the protected site: an application without a protocol, whose proxy asks this service about each request (federation 13).
import { metadataOfHosts } from '../../../rules/sites/addresses.ts';
import { identityHeaders } from '../../../rules/sites/identity-headers.ts';
import { type ClientKind, needlessWithoutUsers } from './client-kind.ts';

export const proxy: ClientKind = {
  name: 'proxy',
  stored: 'proxy',
  metadata: {
    application_type: 'web',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    // the secret of its proxy
    token_endpoint_auth_method: 'client_secret_basic',
    require_pkce: true,
    scope: 'openid',
  },
  // the site belongs to the same organization, and gets no token that a user could decide about
  settings: { first_party: true, headers: [...identityHeaders] },
  derived: ({ hosts = [] }, { issuer }) => metadataOfHosts(hosts, issuer),
  groups: ['about', 'access', 'site'],
  asked: ['client_name', 'hosts', 'access', 'access_groups'],
  unused: [...needlessWithoutUsers, 'scope', 'upstream_tokens'],
  snippets: [{ name: 'protected-site', title: 'nginx, Caddy, Traefik, Envoy' }],
};
