// Declares what the console's page about a resource shows: an API with scopes of its own.
import type { ResourceBinding } from '../../oauth/binding.ts';
import type { ConsoleFrame } from './console.ts';

export interface ConsoleResourcesPages {
  'console-resource': ConsoleFrame & {
    resource: {
      name: string;
      resource: string;
      /** Each with its descriptions by language. */
      scopes: { value: string; description: Record<string, string> }[];
      open: boolean;
      binding: ResourceBinding;
      registered: boolean;
      /** The algorithm of its JWT access tokens; absent for opaque ones. */
      jwtAlg?: string;
      accessTokenLifetime?: number;
      /** The level of authentication that users must reach. */
      requiredAcr?: string;
      tokenClaims: readonly string[];
      public: boolean;
      createdAt: Date;
    };
    /** The document that the host of the API publishes, and where (RFC 9728); absent for a URI that is no web address. */
    metadata?: { uri: string; document: string };
    server?: { name: string; uri: string };
    editUri: string;
    deleteUri: string;
  };
}
