// Declares what the pages show that request a mailed link, and those that such a link opens.
import type { AccountView, ClientView, FormView } from './parts.ts';

/** Why nothing was ordered: keys of the catalogue under `link.problem.`, and what stands at the field. */
export type OrderProblem = 'missing' | 'tampered' | 'throttled';

export interface MailPages {
  /** Somebody asks for a link by which to choose a new password. */
  'password-forgotten': {
    form: FormView;
    typed?: string;
    problem?: OrderProblem;
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /** The order is taken, whoever it was about. */
    sent?: boolean;
    /** Of the link, in seconds. */
    lifetime: number;
    loginUri: string;
  };
  /** Where such a link leads. Posts `new_password`. `form` absent: it is done. */
  'password-reset': {
    username: string;
    form?: FormView;
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    problem?: 'tampered' | 'busy';
    loginUri: string;
  };
  /** A person sees, confirms and changes the address of the account. Posts `email`. */
  'account-email': {
    account: AccountView;
    email?: string;
    verified: boolean;
    form: FormView;
    /** Sends a link to the present address; absent when there is none, or it is confirmed. */
    verificationForm?: FormView;
    typed?: string;
    fault?: 'invalid' | 'same';
    problem?: 'throttled';
    wait?: number;
    /** Where a link is on its way to. */
    sent?: string;
    profileUri: string;
  };
  /** Where a link leads that proves an address. `form` absent: it is done, or `taken`. */
  'address-confirm': {
    username: string;
    address: string;
    form?: FormView;
    taken?: boolean;
    accountUri: string;
  };
  /** Where the address before stops a change of it. `form` absent: it is stopped, or there is `nothing` left to stop. */
  'address-stop': {
    username: string;
    form?: FormView;
    nothing?: boolean;
    /** Where another password is chosen. */
    passwordUri: string;
    accountUri: string;
  };
  /** Somebody without an account asks for one. Posts `email`. */
  'sign-up': {
    /** For whose sign-in. */
    client?: ClientView;
    form: FormView;
    typed?: string;
    fault?: 'invalid' | 'domain';
    problem?: 'tampered' | 'throttled';
    wait?: number;
    sent?: boolean;
    lifetime: number;
    /** Those whose addresses are let in; none: all are. */
    domains: string[];
    loginUri: string;
  };
  /** Where the link leads that proves the address of an account to be. Posts `username` and `new_password`. `form` absent: it is done. */
  'sign-up-complete': {
    /** Where one goes on after signing in. */
    client?: ClientView;
    address: string;
    username?: string;
    form?: FormView;
    /** Of the user name, in characters. */
    longestName: number;
    least: number;
    most: number;
    faults?: { username?: 'missing' | 'invalid' | 'taken'; password?: 'missing' | 'length' | 'common' };
    problem?: 'tampered' | 'busy';
    loginUri: string;
  };
  /** A link that is used up, or whose time is over. */
  'link-gone': { kind: 'password' | 'address' | 'sign-up'; uri: string };
}
