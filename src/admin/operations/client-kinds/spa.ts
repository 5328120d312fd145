// Defines the single-page application: a public client whose script redeems the codes; the refresh tokens of public clients rotate.
import { type ClientKind, needlessForPublic } from './client-kind.ts';

export const spa: ClientKind = {
  name: 'spa',
  metadata: {
    application_type: 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    require_pkce: true,
  },
  asked: ['client_name', 'redirect_uris', 'post_logout_redirect_uris', 'start_uri'],
  unused: needlessForPublic,
  snippets: [
    { name: 'oidc-client-ts', title: 'oidc-client-ts' },
    { name: 'browser', title: 'JavaScript' },
  ],
};
