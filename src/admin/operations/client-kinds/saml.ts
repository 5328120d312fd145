// Defines the SAML application: a client that gets assertions instead of tokens, and has no use for the metadata of OAuth (federation 9).
import { type ClientKind, needlessWithoutUsers } from './client-kind.ts';

export const saml: ClientKind = {
  name: 'saml',
  stored: 'saml',
  metadata: {
    grant_types: [],
    response_types: [],
    // it never authenticates here
    token_endpoint_auth_method: 'none',
    scope: '',
  },
  groups: ['about', 'access', 'saml'],
  asked: ['client_name', 'saml_preset', 'saml_metadata_uri', 'saml_metadata'],
  unused: [
    ...needlessWithoutUsers.filter((name) => !['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'].includes(name)),
    'scope',
    'introspect',
    'resource_uris',
    'access_token_lifetime',
    'token_endpoint_auth_method',
    'token_endpoint_auth_signing_alg',
    'jwks_uri',
    'jwks',
    'dpop_bound_access_tokens',
    'dpop_nonce',
    'upstream_tokens',
  ],
  snippets: [],
};
