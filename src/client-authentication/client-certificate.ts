// Authenticates clients by tls_client_auth and self_signed_tls_client_auth (RFC 8705 2).
import { isNamed } from '../oauth/certificate-names.ts';
import { invalidClient } from '../oauth/errors.ts';
import { FetchRefused } from '../outbound/guarded-fetch.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { PresentedCertificate } from '../server/client-certificate.ts';
import type { ClientAuthenticationMethod, MethodDependencies } from './method.ts';

type Verify = (client: Client, presented: PresentedCertificate) => void | Promise<void>;

/** By a certificate of an authority of the operator, which OpenSSL or the proxy has verified (RFC 8705 2.1). */
export const tlsClientAuth = (): ClientAuthenticationMethod =>
  byCertificate('tls_client_auth', false, ({ metadata }, { certificate, isVerified }) => {
    if (!isVerified) throw invalidClient('no authority of MTLS_CA_FILE or of the proxy stands behind the certificate');
    if (!isNamed(certificate, metadata))
      throw invalidClient('the certificate has another name than the registered one');
  });

/** By a certificate whose key the client has registered (RFC 8705 2.2). */
export const selfSignedTlsClientAuth = ({ clientKeys }: MethodDependencies): ClientAuthenticationMethod =>
  byCertificate('self_signed_tls_client_auth', true, async ({ metadata }, { certificate }) => {
    const isRegistered = async (fresh: boolean): Promise<boolean> => {
      const { keys } = await clientKeys(metadata, fresh);
      return keys.some((key) => certificate.hasKey(key));
    };
    try {
      // a new certificate may have come into jwks_uri since it was read
      const isKnown = (await isRegistered(false)) || (metadata.jwks_uri !== undefined && (await isRegistered(true)));
      if (!isKnown) throw invalidClient('the key of the certificate is not registered');
    } catch (error) {
      throw error instanceof FetchRefused ? invalidClient(error.message) : error;
    }
  });

function byCertificate(name: string, isCostly: boolean, verify: Verify): ClientAuthenticationMethod {
  return {
    name,
    accepts: (registered) => registered === name,
    carrier: { connection: true },
    read({ parameters: { client_id: clientId }, certificate }) {
      // RFC 8705 2: the certificate alone does not say which client it is
      if (clientId === undefined) throw invalidClient('no client_id');
      return {
        clientId,
        isCostly,
        suits: ({ metadata }) => metadata.token_endpoint_auth_method === name,
        async verify(client) {
          if (!certificate) throw invalidClient('no certificate');
          // anyone can register: nothing is fetched for a client that was never enabled (security R113)
          if (!client.everEnabled) throw invalidClient('a certificate of a client that was never enabled');
          if (!certificate.isCurrent) throw invalidClient('the certificate has expired, or is not valid yet');
          await verify(client, certificate);
        },
      };
    },
  };
}
