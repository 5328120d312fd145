// Defines the web application: its server keeps a secret and redeems the codes.
import type { ClientKind } from './client-kind.ts';

export const web: ClientKind = {
  name: 'web',
  metadata: {
    application_type: 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    // RFC 9700 2.1.1
    require_pkce: true,
  },
  asked: ['client_name', 'redirect_uris', 'post_logout_redirect_uris', 'start_uri'],
  unused: ['application_type'],
  snippets: [
    { name: 'openid-client', title: 'openid-client (Node.js)' },
    { name: 'spring', title: 'Spring Security' },
    { name: 'apache', title: 'Apache (mod_auth_openidc)' },
    { name: 'oauth2-proxy', title: 'oauth2-proxy' },
  ],
};
