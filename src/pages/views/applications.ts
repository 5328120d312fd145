// Declares what the page shows on which a user waits for a new application.
import type { AccountView } from './parts.ts';

export interface ApplicationPages {
  /** A signed-in user comes from an application whose document this service has not read before, or which waits for an administrator. */
  'new-application': {
    application: {
      /** The host of its document. */
      name: string;
      /** The client_name: untrusted text, which no administrator has reviewed. */
      claimedName?: string;
    };
    account: AccountView;
    /** `reading`: the document is being read. `unusable`: it is refused. `full`: too many applications wait. */
    state: 'waiting' | 'reading' | 'unusable' | 'throttled' | 'many' | 'full';
    /** With `unusable`: why, for the developer of the application. */
    reason?: string;
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /** The address of the request itself, which continues it once the application is approved. */
    againUri: string;
    accountUri: string;
  };
}
