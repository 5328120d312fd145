// Declares what the pages of the user's account show.
import type { Fault as ImageFault } from '../../rules/images/cut.ts';
import type { ProfileFault, ProfileField } from '../../rules/users/own-profile.ts';
import type { AttributeField } from './attribute-field.ts';
import type { AccountView, ApiView, ClaimText, ClientView, DetailView, FaceView, Footer, FormView } from './parts.ts';

/** What a page of the account reports as done: keys of the catalogue under `account.done.`. */
export const accountNotices = [
  'withdrawn',
  'session-ended',
  'device-ended',
  'others-ended',
  'browser-named',
  'profile-saved',
  'picture-saved',
  'picture-removed',
  'password-changed',
  'welcome',
  'connection-linked',
  'connection-removed',
  'request-allowed',
  'request-denied',
] as const;
export type AccountNotice = (typeof accountNotices)[number];

/** What every page of the account shows beside its own data. */
export interface AccountFrame extends Footer {
  account: AccountView;
  accountUri: string;
  done?: AccountNotice;
}

/** A sign-in method: keys of the catalogue under `account.method.`, each with `.set` and `.unset`. */
export interface SignInMethod {
  method: 'password' | 'passkeys' | 'second-factors' | 'recovery-codes' | 'connections';
  /** The page that sets it up. */
  uri: string;
  set: boolean;
  /** For recovery codes: how many are left. */
  left?: number;
}

/** A browser by its User-Agent header: untrusted text. */
interface Device {
  browser?: string;
  system?: string;
}

export interface AccountPages {
  /** The overview, which links to the other pages. */
  account: AccountFrame & {
    email: string | undefined;
    /** Mails a link to that address; absent without an address, or when it is confirmed. */
    verificationForm?: FormView;
    /** What the user should do, each with its page: requests wait, the password alone signs in, or few recovery codes are left. */
    attention: { kind: 'unprotected' | 'recovery-codes' | 'requests'; uri: string; count: number }[];
    /** The methods that are set up. */
    methods: SignInMethod['method'][];
    /** The devices used last, and the number of others. */
    devices: Device[];
    moreDevices: number;
    /** The names of applications with access, and the number of others. */
    applications: string[];
    moreApplications: number;
    profileUri: string;
    securityUri: string;
    sessionsUri: string;
    applicationsUri: string;
    dataUri: string;
    /** The applications that the user may use; absent where there are none. */
    startUri?: string;
    /** Present for an administrator. */
    consoleUri?: string;
    switchAccountUri: string;
    logoutUri: string;
  };
  /** The backchannel requests of clients that wait for the user, newest first. */
  'account-requests': AccountFrame & {
    requests: {
      id: string;
      /** `host` is empty if the client registered no address. */
      client: ClientView;
      /** The user compares it with what the client shows. */
      message?: string;
      /** As on the page for a device. */
      scopes: { scope: string; claims: ClaimText[]; text?: Record<string, string> }[];
      apis: ApiView[];
      /** The authorization details that it asks for, each in full. */
      details?: DetailView[];
      requestedAt: Date;
      expiresAt: Date;
    }[];
    /** Posts `decision` with `request`, the id of a request. */
    form: FormView;
    /** Denies all requests; absent with fewer than two. */
    denyForm?: FormView;
    /** `unmet` if the application demands a sign-in that the user’s factors do not reach. */
    problem?: 'gone' | 'unmet';
  };
  /** The stored claims, each with the names of the applications whose grant covers it. */
  'account-profile': AccountFrame & {
    /** `by` is the name of the connection that owns it. */
    profile: (ClaimText & { seenBy: string[]; label?: Record<string, string>; by?: string })[];
    /** Absent when users may change nothing themselves. */
    editUri?: string;
    /** Absent where users may upload no picture. */
    pictureUri?: string;
  };
  /** Posts `picture`, a file, with `act`: "save", or "remove". */
  'account-picture': AccountFrame & {
    form: FormView;
    profileUri: string;
    /** Whether there is a picture, also one that is elsewhere. */
    present: boolean;
    fault?: 'missing' | ImageFault;
  };
  /** Posts each field under its name. */
  'account-profile-edit': AccountFrame & {
    fields: {
      field: ProfileField;
      value: string;
      /** The names of the applications that may see it. */
      seenBy: string[];
      choices?: { value: string; label: string }[];
      fault?: ProfileFault;
    }[];
    /** What connections own, so that the user cannot change it here; `by` is the name of the connection. */
    kept: (ClaimText & { by: string; label?: Record<string, string> })[];
    /** Those that the user may change. */
    attributes?: AttributeField[];
    /** In characters. */
    maxLength: number;
    form: FormView;
    profileUri: string;
    /** Another actor changed the profile meanwhile. */
    problem?: 'changed';
  };
  /** The sign-in methods, each with its page. */
  'account-security': AccountFrame & {
    methods: SignInMethod[];
    /** Whether the user has no second factor: the first one changes how the user signs in. */
    unprotected: boolean;
  };
  /** The user's sessions, this browser's first. */
  'account-sessions': AccountFrame & {
    sessions: (Device & {
      sid: string;
      /** The name that the user gave the browser. */
      name?: string;
      /** From the second browser of the same name on. */
      ordinal?: number;
      /** The IP address of the sign-in. */
      address?: string;
      /** When the session began; its user may have signed in again since. */
      since: Date;
      signedInAt: Date;
      usedAt: Date;
      /** When it ends, if the user chose to stay signed in. */
      until?: Date;
      /** The names of the applications in the session. */
      applications: string[];
      current: boolean;
    })[];
    /** The devices that the user allowed with a code, newest first. */
    devices: { id: string; clientName: string; signedInAt: Date }[];
    /** Posts `end` with the sid of the session to end, `device` with the id of a device, or `rename` with a sid and `name`. */
    form: FormView;
    /** The name that was refused, for the session with this sid. */
    refused?: { sid: string; name: string; fault: 'text' | 'long' };
    /** Ends all sessions but this one; absent when there is no other. */
    othersForm?: FormView;
    /** Ends all sessions, including this one. */
    allForm: FormView;
  };
  /** The applications that the user may use, each with the address at which it begins; `q` is what the user typed. */
  'account-start': AccountFrame & {
    q: string;
    tiles: (FaceView & { startUri: string; host: string })[];
    /** Whether there are applications at all, whatever was typed. */
    any: boolean;
    /** For administrators: applications without an address to start at, each with the page that sets one. */
    lacking: (FaceView & { editUri: string })[];
  };
  /** Applications with a remembered grant, and the settings that they store for the user. */
  'account-applications': AccountFrame & {
    grants: {
      clientId: string;
      name: string;
      /** The path of the uploaded logo. */
      logo?: string | undefined;
      scopes: readonly string[];
      apis: ApiView[];
      claims?: readonly string[];
      /** The authorization details that the user allowed and that the service remembers, as they were allowed. */
      details?: readonly DetailView[];
      since: Date;
      /** Each value as JSON; for a long one only its size in bytes. */
      settings: { key: string; value?: string; size: number }[];
    }[];
    /** Posts `withdraw` with the client_id of the grant to end. */
    form: FormView;
  };
  /** The form answers with a file, after a new sign-in if the last one is not recent. */
  'account-data': AccountFrame & {
    form: FormView;
    /** Absent when users may not delete their accounts themselves. */
    deleteUri?: string;
  };
  /** Posts `username`, which has to be that of the account. */
  'account-delete': AccountFrame & {
    username: string;
    /** The names of the applications that lose their access. */
    applications: string[];
    form: FormView;
    dataUri: string;
    fault?: 'name' | 'last-administrator';
  };
  /** Confirms the deletion. */
  'account-deleted': { frames?: string[] };
  /** Changes the user's own password: posts `current_password` and `new_password`. */
  'account-password': Footer & {
    account: AccountView;
    /** For password managers, which store it with the password. */
    username: string;
    form: FormView;
    /** The minimum and maximum length of a new password, in characters. */
    least: number;
    most: number;
    securityUri: string;
    /** The fault of each field: keys of the catalogue under `password.current.` and `password.new.`. */
    faults?: { current?: 'missing' | 'wrong'; password?: 'missing' | 'length' | 'common' | 'same' };
    /** The form was not evaluated: the user tries again in a moment, with `throttled` after `wait` seconds. */
    pause?: 'busy' | 'throttled';
    wait?: number;
    /** That of a wrong current password, for the operator. */
    reference?: string;
  };
}
