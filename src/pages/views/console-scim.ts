// Declares what the console's pages about a SCIM source show.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

export interface ConsoleScimPages {
  'console-scim-source': ConsoleFrame & {
    source: {
      id: string;
      name: string;
      isEnabled: boolean;
      /** To enter at the directory. */
      address: string;
      connection?: string;
      adopts: boolean;
      deletes: boolean;
      groupPrefix: string;
      createdAt: Date;
    };
    tokens: { id: string; createdAt: Date; lastUsedAt?: Date }[];
    /** Of a further token; absent when there are two. */
    tokenForm?: FormView;
    /** Posts `token`. */
    removeForm: FormView;
    editUri: string;
    deleteUri: string;
  };
  /** Shows a token once. */
  'console-scim-token': ConsoleFrame & { name: string; uri: string; address: string; token: string };
}
