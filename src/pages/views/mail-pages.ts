// Declares what the pages show that request a mailed link, and the pages that such a link opens.
import type { AccountView, ClientView, Footer, FormView } from './parts.ts';
import type { PasskeyView } from './passkeys.ts';

/** Why no mail was requested: keys of the catalogue under `link.problem.`. */
export type OrderProblem = 'missing' | 'tampered' | 'throttled';

/** What is wrong with a display name: a key of the catalogue under `name.own.fault.`. */
type NameFault = 'text' | 'long';

export interface MailPages {
  /** Requests a link that sets a new password. */
  'password-forgotten': Footer & {
    form: FormView;
    typed?: string;
    problem?: OrderProblem;
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /** The request was accepted, whether the account exists or not. */
    sent?: boolean;
    /** The lifetime of the link, in seconds. */
    lifetime: number;
    loginUri: string;
  };
  /** The page of such a link. Posts `new_password`. */
  'password-reset': Footer & {
    username: string;
    form: FormView;
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    problem?: 'tampered' | 'busy';
  };
  /** Shows, confirms and changes the mail address of the account. Posts `email`. */
  'account-email': Footer & {
    account: AccountView;
    email?: string;
    verified: boolean;
    /** Absent where a connection owns the address: `owner` is its name. */
    form?: FormView;
    owner?: string;
    /** Mails a link to the present address; absent without an address, or when it is confirmed. */
    verificationForm?: FormView;
    typed?: string;
    /** `enforced`: users with the address sign in by a connection only. */
    fault?: 'invalid' | 'same' | 'enforced';
    problem?: 'throttled';
    wait?: number;
    /** The address that a link was mailed to. */
    sent?: string;
    profileUri: string;
  };
  /** The page of a link that confirms an address. Without `form` it is confirmed, or `taken`. */
  'address-confirm': {
    username: string;
    address: string;
    form?: FormView;
    taken?: boolean;
    accountUri: string;
  };
  /** The page by which the previous address stops a change. Without `form` it is stopped, or there is `nothing` to stop. */
  'address-stop': {
    username: string;
    form?: FormView;
    nothing?: boolean;
    /** The page that sets another password. */
    passwordUri: string;
    accountUri: string;
  };
  /** Requests an account. Posts `email`. */
  'sign-up': Footer & {
    /** The client of the pending sign-in. */
    client?: ClientView;
    form: FormView;
    typed?: string;
    fault?: 'invalid' | 'domain';
    problem?: 'tampered' | 'throttled';
    wait?: number;
    sent?: boolean;
    lifetime: number;
    /** The domains whose addresses may sign up; an empty list allows all. */
    domains: string[];
    loginUri: string;
  };
  /** The page of a link that creates an account. Posts `username`, `name` and `new_password`, or `act`: "passkey". */
  'sign-up-complete': Footer & {
    /** The client to which the user continues. */
    client?: ClientView;
    address: string;
    username?: string;
    form: FormView;
    /** The maximum length of the user name, in characters. */
    maxNameLength: number;
    least: number;
    most: number;
    /** The typed display name. */
    name?: string;
    /** Whether the page asks for a display name. */
    asksName: boolean;
    /** Whether the user may choose a passkey instead of a password. */
    offersPasskey: boolean;
    faults?: {
      username?: 'missing' | 'invalid' | 'taken';
      name?: NameFault;
      password?: 'missing' | 'length' | 'common';
    };
    problem?: 'tampered' | 'busy';
  };
  /** Creates a passkey, and with it the account. Posts `credential`. */
  'sign-up-passkey': Footer & {
    client?: ClientView;
    account: AccountView;
    passkey: PasskeyView;
    /** The page that asks for a password. */
    passwordUri: string;
    problem?: 'expired' | 'passkey';
  };
  /** The page of an invitation. Posts `new_password`, or `credential`; with both `name`. */
  invitation: Footer & {
    /** The client to which the user continues. */
    client?: ClientView;
    account: AccountView;
    /** The address that the invitation was mailed to. */
    address?: string;
    form: FormView;
    /** Absent if the service cannot offer passkeys. */
    passkey?: PasskeyView;
    /** The display name; absent where users do not change it. */
    name?: string;
    nameFault?: NameFault;
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    /** `passkey`: the browser's answer is no passkey of this service. */
    problem?: 'tampered' | 'busy' | 'expired' | 'passkey';
  };
  /** A link that was used or has expired. */
  'link-gone': { kind: 'password' | 'address' | 'sign-up' | 'sign-up-link' | 'invitation'; uri: string };
}
