// Declares what the passkey page shows, and what a page needs that asks for a passkey.
import type { AccountView, ClientView, FormView } from './parts.ts';

/** A ceremony of the browser (Web Authentication): the script posts its result as `credential`. */
export interface PasskeyView {
  form: FormView;
  /** The options of the ceremony, as JSON. */
  options: string;
}

export interface PasskeyPages {
  /** The user's passkeys: adds, renames and removes them. */
  'account-passkeys': {
    /** That demands one, and is gone on to then. */
    client?: ClientView;
    account: AccountView;
    passkeys: {
      id: string;
      /** Empty for none. */
      name: string;
      madeAt: Date;
      usedAt?: Date;
      /** Kept on several devices. */
      synced: boolean;
    }[];
    /** Set where one that is added changes the sign-in by password: from then on it asks for a second factor, too. */
    first?: boolean;
    /** Absent where none can be added now. */
    add?: PasskeyView;
    /** Why none can be added: the sign-in is too long ago, there are enough, or the address of the service allows none. */
    closed?: 'stale' | 'full' | 'address';
    /** Where to sign in again. */
    signInUri: string;
    /** Posts `passkey`, the id, and `name`. */
    renameForm: FormView;
    /** Posts `passkey`, the id; after a sign-in, if the last one is not recent. */
    removeForm: FormView;
    securityUri: string;
    /** `refused`: what the browser sent is no passkey for here; `last`: nothing else lets the person in. */
    problem?: 'refused' | 'known' | 'expired' | 'last';
    /** What the person has just done here. */
    done?: 'added' | 'renamed' | 'removed';
  };
}
