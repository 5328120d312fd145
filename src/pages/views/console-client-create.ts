// Declares what the console's pages that create a client show.
import type { Named } from './console-clients.ts';
import type { ConsoleFrame } from './console.ts';
import type { FieldGroup, FieldView, FormView } from './parts.ts';

/** A program or a configuration for the new client: a file in templates/snippets, and the values that it contains. */
export interface SnippetView {
  name: string;
  /** The library or the program, the same in every language. */
  title: string;
  values: SnippetValues;
}

export interface SnippetValues {
  issuer: string;
  clientId: string;
  redirectUri: string | undefined;
  postLogoutRedirectUri: string | undefined;
  scope: string;
  /** The URI of the first resource of the client. */
  resource: string | undefined;
  /** Whether the client may introspect the tokens of others. */
  introspects: boolean;
}

export interface ConsoleClientCreatePages {
  /** Asks what kind of client to create. */
  'console-client-kinds': ConsoleFrame & { kinds: { name: string; uri: string }[] };
  /** Creates a client: the fields that its kind asks for, and all others of use to it. */
  'console-client-create': ConsoleFrame & {
    kind: string;
    form: FormView;
    asked: FieldView[];
    advanced: FieldGroup[];
  };
  'console-client-created': ConsoleFrame &
    Named & {
      kind: string;
      /** Shown once. */
      credentials: {
        name: 'client_id' | 'issuer' | 'client_secret' | 'shared_secret' | 'registration_access_token';
        value: string;
      }[];
      snippets: SnippetView[];
      /** Of a kind that has resources: the pages of those that were created with the client. */
      resources?: { resource: string; uri: string }[];
    };
}
