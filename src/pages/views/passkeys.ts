// Declares what the passkey page shows, and what a page needs that asks for a passkey.
import type { AccountView, ClientView, Footer, FormView } from './parts.ts';

/** A ceremony of the browser (Web Authentication): the script posts its result as `credential`. */
export interface PasskeyView {
  form: FormView;
  /** The options of the ceremony, as JSON. */
  options: string;
}

export interface PasskeyPages {
  /** The user's passkeys: adds, renames and removes them. */
  'account-passkeys': Footer & {
    /** The client that demands a passkey, and to which the user continues. */
    client?: ClientView;
    account: AccountView;
    passkeys: {
      id: string;
      /** Empty if the passkey has no name. */
      name: string;
      madeAt: Date;
      usedAt?: Date;
      /** Whether several devices have it. */
      synced: boolean;
    }[];
    /** Set if a new passkey changes the sign-in by password, which then also asks for a second factor. */
    first?: boolean;
    /** Absent if the user cannot add a passkey now. */
    add?: PasskeyView;
    /** Why the user cannot add a passkey: the sign-in is not recent, there are too many, or the address of the service allows none. */
    closed?: 'stale' | 'full' | 'address' | 'http';
    /** The page that signs the user in again. */
    signInUri: string;
    /** Posts `passkey`, the id, and `name`. */
    renameForm: FormView;
    /** Posts `passkey`, the id; after a sign-in, if the last one is not recent. */
    removeForm: FormView;
    securityUri: string;
    /** `refused`: the browser's answer is no passkey of this service; `last`: the user could not sign in without it. */
    problem?: 'refused' | 'known' | 'expired' | 'last';
    /** The operation just done. */
    done?: 'added' | 'renamed' | 'removed';
  };
}
