// Authenticates clients by client_secret_jwt and private_key_jwt (RFC 7523, OpenID Connect Core 9).
import { digest } from '../crypto/secrets.ts';
import { invalidClient, invalidRequest } from '../oauth/errors.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import type { Client } from '../repositories/clients/clients.ts';
import {
  AssertionRefused,
  assertionMethod,
  assertionSubject,
  verifyClientAssertion,
} from '../tokens/client-assertion.ts';
import type { ClientAuthenticationMethod, CredentialSource, Credentials, MethodDependencies } from './method.ts';

type Name = ReturnType<typeof assertionMethod>;
const names: readonly string[] = ['client_secret_jwt', 'private_key_jwt'] satisfies Name[];

const carrier = { parameters: ['client_assertion', 'client_assertion_type'] };
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export const clientSecretJwt = (dependencies: MethodDependencies): ClientAuthenticationMethod =>
  assertion('client_secret_jwt', dependencies);
export const privateKeyJwt = (dependencies: MethodDependencies): ClientAuthenticationMethod =>
  assertion('private_key_jwt', dependencies);

function assertion(
  name: Name,
  { store, tokens, clientKeys, audiences }: MethodDependencies,
): ClientAuthenticationMethod {
  return {
    name,
    accepts: (registered) => registered === name,
    carrier,
    isMeant: ({ parameters: { client_assertion: text } }) => text !== undefined && assertionMethod(text) === name,
    read,
  };

  function read({ parameters }: CredentialSource): Credentials {
    const { client_assertion: text = '', client_assertion_type: type, client_id: given } = parameters;
    if (type !== assertionType) throw invalidRequest(`client_assertion_type must be ${assertionType}`);
    const clientId = assertionSubject(text);
    if (clientId === undefined || (given !== undefined && given !== clientId))
      throw invalidClient('the assertion names no or another client');
    return {
      clientId,
      isCostly: true,
      suits: ({ metadata }) => names.includes(metadata.token_endpoint_auth_method),
      verify: (client) => verify(client, text),
    };
  }

  async function verify(client: Client, text: string): Promise<void> {
    // anyone can register keys: none is used for a client that was never enabled (security R113)
    if (!client.everEnabled) throw invalidClient('an assertion of a client that was never enabled');
    const { clientId } = client;
    // the algorithm and jwks_uri are registered for the registered method: another one fetches nothing only to be refused
    const metadata =
      name === client.metadata.token_endpoint_auth_method
        ? client.metadata
        : { ...client.metadata, token_endpoint_auth_signing_alg: undefined, jwks_uri: undefined };
    const secret = name === 'client_secret_jwt' ? tokens.clientSecret(client) : undefined;
    if (name === 'client_secret_jwt' && !secret) throw invalidClient('the secret is not stored as a key');
    try {
      const keys = secret ? { secret } : { jwks: (fresh: boolean) => clientKeys(metadata, fresh) };
      const verified = await verifyClientAssertion(text, { clientId, metadata }, keys, audiences, tokens.now());
      if (!(await store.clients.useAssertion(clientId, digest('jti', verified.jti), verified.expiresAt))) {
        throw invalidClient('the assertion was used before');
      }
    } catch (error) {
      if (error instanceof AssertionRefused || error instanceof FetchRefused) throw invalidClient(error.message);
      throw error;
    }
  }
}
