// Defines a client authentication method: how a request carries its credentials, and how they are verified.
import type { IncomingHttpHeaders } from 'node:http';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import type { ClientCertificates, PresentedCertificate } from '../server/client-certificate.ts';
import type { ClientKeys } from '../tokens/client-keys.ts';
import type { TokenService } from '../tokens/token-service.ts';

/** The parts of a request that may carry credentials. */
export interface CredentialSource {
  headers: IncomingHttpHeaders;
  /** Of the form body, each at most once. */
  parameters: Readonly<Record<string, string>>;
  /** The certificate that the request comes with. */
  certificate?: PresentedCertificate | undefined;
}

/** The credentials of one request. */
export interface Credentials {
  clientId: string;
  /** Whether the cached client makes it pointless to read the stored one. */
  suits(cached: Client): boolean;
  /** Whether verifying may check a signature or fetch keys. */
  isCostly: boolean;
  /** @throws OAuthError invalid_client */
  verify(client: Client): void | Promise<void>;
}

export interface ClientAuthenticationMethod {
  /** Of its value in oauth/registrable-values.ts, which says what it proves. */
  readonly name: string;
  /** Whether a client that is registered for this method may use the present one. */
  accepts(registered: string): boolean;
  /**
   * The header and the form parameters that carry its credentials. A request uses one carrier only; methods may share the value of one. A
   * certificate of the connection is a credential only of clients that are registered for it: others come with one to bind their tokens.
   */
  readonly carrier: { readonly header?: string; readonly parameters?: readonly string[]; readonly connection?: true };
  /** Whether the credentials are of this method, and not of another one with the same carrier. */
  readonly isMeant?: (source: CredentialSource) => boolean;
  /** @throws OAuthError invalid_request or invalid_client */
  read(source: CredentialSource): Credentials;
}

/** Everything that a method can depend on; each declares what it needs. */
export interface MethodDependencies {
  clients: ClientCache;
  store: Pick<Store, 'clients'>;
  tokens: TokenService;
  clientKeys: ClientKeys;
  /** Undefined where the service takes no certificates. */
  certificates?: ClientCertificates | undefined;
  /** Valid audiences of assertions, the issuer first. */
  audiences: string[];
}
