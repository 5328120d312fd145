// Defines machine to machine: a program that gets tokens of its own, without a user (RFC 6749 4.4).
import { administratorScopes } from '../../../oauth/scope.ts';
import { type ClientKind, needlessWithoutUsers } from './client-kind.ts';

export const machine: ClientKind = {
  name: 'machine',
  metadata: {
    grant_types: ['client_credentials'],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: '',
  },
  asked: ['client_name', 'scope', 'introspect'],
  unused: needlessWithoutUsers,
  // the other scopes are about a user
  options: { scope: administratorScopes },
  snippets: [{ name: 'curl', title: 'curl' }],
};
