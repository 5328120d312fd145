// Declares what the pages of the user's account show.
import type { ProfileFault, ProfileField } from '../../oauth/own-profile.ts';
import type { AccountView, ClaimText, FormView } from './parts.ts';

/** What a page of the account says that was just done: keys of the catalogue under `account.done.`. */
export const accountNotices = [
  'withdrawn',
  'session-ended',
  'others-ended',
  'profile-saved',
  'password-changed',
] as const;
export type AccountNotice = (typeof accountNotices)[number];

/** What every page of the account shows besides its own. */
export interface AccountFrame {
  account: AccountView;
  accountUri: string;
  done?: AccountNotice;
}

/** A way to sign in: keys of the catalogue under `account.method.`, which says `.set` or `.unset` of each. */
export interface SignInMethod {
  method: 'password' | 'passkeys' | 'second-factors';
  /** The page on which it is set up. */
  uri: string;
  set: boolean;
  /** Of a second factor: how many are left. */
  recoveryCodes?: number;
}

/** A browser by what it calls itself: untrusted text. */
interface Device {
  browser?: string;
  system?: string;
}

export interface AccountPages {
  /** The page from which the others hang. */
  account: AccountFrame & {
    email: string | undefined;
    /** Mails a link to that address; absent where there is none, or it is confirmed. */
    verificationForm?: FormView;
    /** Those that are set up. */
    methods: SignInMethod['method'][];
    /** Where one is signed in: the last used, and how many more. */
    devices: Device[];
    moreDevices: number;
    /** Names of those with access, and how many more. */
    applications: string[];
    moreApplications: number;
    profileUri: string;
    securityUri: string;
    sessionsUri: string;
    applicationsUri: string;
    dataUri: string;
    logoutUri: string;
  };
  /** What is stored about the person, and the names of the applications with a grant that covers it. */
  'account-profile': AccountFrame & {
    profile: (ClaimText & { seenBy: string[] })[];
    /** Absent: people change nothing themselves. */
    editUri?: string;
  };
  /** Posts each field under its name. */
  'account-profile-edit': AccountFrame & {
    fields: {
      field: ProfileField;
      value: string;
      /** Those that may see it. */
      seenBy: string[];
      choices?: { value: string; label: string }[];
      fault?: ProfileFault;
    }[];
    /** In characters. */
    longest: number;
    form: FormView;
    profileUri: string;
    /** Somebody else changed the profile meanwhile. */
    problem?: 'changed';
  };
  /** The ways to sign in, each with its page. */
  'account-security': AccountFrame & { methods: SignInMethod[] };
  /** Where one is signed in, this browser first. */
  'account-sessions': AccountFrame & {
    sessions: (Device & {
      sid: string;
      signedInAt: Date;
      usedAt: Date;
      /** Names of those that take part. */
      applications: string[];
      current: boolean;
    })[];
    /** Posts `end` with the sid of the session to end. */
    form: FormView;
    /** Ends all sessions but this one. Absent: there is no other. */
    othersForm?: FormView;
    /** Ends all sessions, this one too. */
    allForm: FormView;
  };
  /** Applications with a remembered grant, and what they keep about the person. */
  'account-applications': AccountFrame & {
    grants: {
      clientId: string;
      name: string;
      scopes: string[];
      claims?: string[];
      since: Date;
      /** Each value as JSON, or for a long one its size in bytes. */
      settings: { key: string; value?: string; size: number }[];
    }[];
    /** Posts `withdraw` with the client_id of the grant to end. */
    form: FormView;
  };
  /** The form answers with a file; after a sign-in, if the last one is not recent. */
  'account-data': AccountFrame & {
    form: FormView;
    /** Absent: people do not delete their accounts themselves. */
    deleteUri?: string;
  };
  /** Posts `username`, which has to be the own. */
  'account-delete': AccountFrame & {
    username: string;
    /** Names of those that lose their access. */
    applications: string[];
    form: FormView;
    dataUri: string;
    fault?: 'name' | 'last-administrator';
  };
  /** There is no account any more. */
  'account-deleted': { frames?: string[] };
  /** A person changes the own password: posts `current_password` and `new_password`. */
  'account-password': {
    account: AccountView;
    /** For password managers, which keep it beside the password. */
    username: string;
    form: FormView;
    /** How many characters a new password has. */
    least: number;
    most: number;
    securityUri: string;
    /** What is wrong with each field: keys of the catalogue under `password.current.` and `password.new.`. */
    faults?: { current?: 'missing' | 'wrong'; password?: 'missing' | 'length' | 'common' | 'same' };
    /** Nothing was looked at; try again in a moment, with `throttled` after `wait` seconds. */
    pause?: 'busy' | 'throttled';
    wait?: number;
  };
}
