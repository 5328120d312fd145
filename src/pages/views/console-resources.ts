// Declares what the console's pages about resources show: APIs with scopes of their own.
import type { ResourceBinding } from '../../oauth/binding.ts';
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

/** What a form about a resource has, as it was typed. */
export interface TypedResource {
  resource: string;
  name: string;
  client_id: string;
  /** A scope on each line, with what it allows. */
  scopes: string;
  clients: string;
  access_token_format: string;
  binding: string;
  access_token_lifetime: string;
  /** Names, separated by spaces. */
  token_claims: string;
  /** 'true', or empty. */
  public: string;
}

export interface ConsoleResourcesPages {
  'console-resources': ConsoleFrame & {
    resources: { name: string; resource: string; scopes: string[]; uri: string }[];
    newUri: string;
    first?: string;
    next?: string;
  };
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
  /** Posts the members of TypedResource; a new resource has its URI, too. */
  'console-resource-form': ConsoleFrame & {
    /** The resource that the form changes; undefined for a new one. */
    of?: { name: string; resource: string; uri: string };
    typed: TypedResource;
    form: FormView;
    problem?: 'taken' | 'resource' | 'own' | 'name' | 'client' | 'scopes' | 'lifetime' | 'claims';
  };
  /** Asks for the name in `typed`. */
  'console-resource-delete': ConsoleFrame & {
    name: string;
    resource: string;
    resourceUri: string;
    form: FormView;
    typed?: string;
    problem?: 'typed';
  };
}
