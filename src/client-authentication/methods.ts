// Lists the client authentication methods.
import { invalidClient } from '../oauth/errors.ts';
import { clientSecretJwt, privateKeyJwt } from './client-assertion.ts';
import { selfSignedTlsClientAuth, tlsClientAuth } from './client-certificate.ts';
import { clientSecretBasic, clientSecretPost } from './client-secret.ts';
import type { ClientAuthenticationMethod, MethodDependencies } from './method.ts';

/** A public client only names itself. */
const none: ClientAuthenticationMethod = {
  name: 'none',
  accepts: (registered) => registered === 'none',
  // a request without credentials of another method
  carrier: {},
  read({ parameters: { client_id: clientId } }) {
    if (clientId === undefined) throw invalidClient('no credentials');
    return {
      clientId,
      isCostly: false,
      suits: ({ metadata }) => metadata.token_endpoint_auth_method === 'none',
      verify({ metadata: { token_endpoint_auth_method: registered } }) {
        if (registered !== 'none') throw invalidClient(`the client is registered for ${registered}`);
      },
    };
  },
};

/** One line for each. Its name is also among the `clientAuthenticationMethods` that clients register (oauth/registrable-values.ts). */
export const authenticationMethods: ((dependencies: MethodDependencies) => ClientAuthenticationMethod)[] = [
  () => clientSecretBasic,
  () => clientSecretPost,
  clientSecretJwt,
  privateKeyJwt,
  tlsClientAuth,
  selfSignedTlsClientAuth,
  () => none,
];
