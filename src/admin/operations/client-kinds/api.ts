// Defines the API: a resource server, whose clients get tokens for it, and which introspects them with credentials of its own (RFC 7662, RFC 9068).
import { type ClientKind, needlessWithoutUsers } from './client-kind.ts';

export const api: ClientKind = {
  name: 'api',
  metadata: {
    // an API may also call others
    grant_types: ['client_credentials'],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: '',
  },
  asked: ['client_name', 'resource_uris'],
  unused: [...needlessWithoutUsers, 'scope'],
  // verifies tokens by itself, and may introspect them nevertheless
  resource: { access_token_format: 'jwt' },
  snippets: [
    { name: 'api-jose', title: 'jose (Node.js)', needsResource: true },
    { name: 'api-spring', title: 'Spring Security', needsResource: true },
    { name: 'api-curl', title: 'curl' },
  ],
};
