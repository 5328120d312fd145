// Declares what the console's pages that create a client show.
import type { Named, SamlValues } from './console-clients.ts';
import type { ConsoleFrame } from './console.ts';
import type { FieldGroup, FieldView, FormView } from './parts.ts';
import type { SnippetView } from './snippet.ts';

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
        name: 'client_id' | 'issuer' | 'client_secret' | 'proxy_secret' | 'shared_secret' | 'registration_access_token';
        value: string;
      }[];
      snippets: SnippetView[];
      /** Of a SAML application. */
      saml?: SamlValues;
      /** Of a kind that has resources: the pages of those that were created with the client. */
      resources?: { resource: string; uri: string }[];
    };
}
