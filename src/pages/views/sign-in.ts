// Declares what the pages of sign-in, consent and sign-out show.
import type { MarkView } from '../connection-mark.ts';
import type { ReturnTo } from '../return-to.ts';
import type { AccountView, ApiView, ClaimText, ClientView, DetailView, Footer, FormView } from './parts.ts';

/**
 * Why the sign-in page shows a message; each is a key of the message catalogue under `login.problem.`. The refusals of the authenticators
 * have keys of their own.
 */
export type LoginProblem =
  | 'missing' // a field was left empty
  | 'expired' // the form or the request behind it is too old
  | 'tampered' // the anti-forgery token or the origin did not match
  | 'busy' // too many sign-ins at once: try again in a moment
  | 'throttled' // too many tries from this network
  | 'client' // unknown or disabled client, or wrong redirect_uri: the user cannot correct it, so there is no form
  | 'request' // the client sent a wrong request: the user cannot correct it, so there is no form
  | 'enforced' // the user's domain signs in by a connection, and by nothing else
  | 'untimed' // a connection did not say when the user signed in there, who has a password to confirm it
  | 'connection' // the connection gave no usable answer
  | 'cookies'; // the browser did not send the cookie that binds the request: cookies must be allowed

/** A connection, with the form that leads there. */
export interface WayView extends Partial<MarkView> {
  id: string;
  name: string;
  form: FormView;
}

/** A way to begin a sign-in. The template part-first-factor-{id} shows it. */
export interface FirstFactorMethod {
  id: string;
  form: FormView;
  /** A script that the part needs. */
  script?: string;
  /** What the browser asks a passkey for, as JSON (Web Authentication). */
  options?: string;
}

export interface SignInPages {
  /** Signs a user in. `methods` is absent if a sign-in could not help. */
  login: Footer & {
    client?: ClientView;
    methods?: FirstFactorMethod[];
    /** Answers the client that the user does not sign in. */
    cancel?: FormView;
    /** Connections, each with the form that leads there. */
    elsewhere?: WayView[];
    /** The typed name, or login_hint. */
    username?: string;
    /** A LoginProblem, or a key of the authenticator that refused. */
    problem?: string;
    /** The name of the only connection that the page shows. */
    connection?: string;
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /**
     * Fields that the problem is about: each gets its own sentence, `login.field.{field}.{problem}` or `login.field.{field}`. The first one is all that the
     * page says, if there is one field.
     */
    fields?: string[];
    /** Set when a signed-in user has to sign in again (prompt=login, max_age). */
    reauthentication?: AccountView;
    /** The page that lists the accounts of this browser; absent if there are none. */
    accountsUri?: string;
    /** Without a client: the page to which the user returns, if it is not the account page. */
    destination?: ReturnTo['name'];
    /** Where a password can be reset: a path of the service or an https address. Absent: no link is shown. */
    forgottenPasswordUri?: string;
    /** With the problem `client`: the page where a user signs in before an application that the service does not know yet. */
    newApplicationUri?: string;
    /** The page that requests an account; absent where sign-up is off. */
    signUpUri?: string;
    /** Whether the user chose to stay signed in; absent where the page does not offer it. */
    remember?: boolean;
    /** A short reference for the operator's log. */
    reference?: string;
  };
  /** Asks for the name of the account to whose address a code is sent; posts `login`. */
  'login-email': Footer & {
    client?: ClientView;
    form: FormView;
    login?: string;
    problem?: 'missing';
    /** Whether the user chose to stay signed in; absent where the page does not offer it. */
    remember?: boolean;
    /** The sign-in page. */
    backUri: string;
  };
  /** Asks for the code, whether one was sent or not; posts `code`. */
  'login-email-code': Footer & {
    client?: ClientView;
    form: FormView;
    problem?: 'code' | 'missing' | 'tampered' | 'throttled';
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    /** Of a wrong code, for administrators. */
    reference?: string;
    /** The page that sends another code. */
    againUri: string;
    backUri: string;
  };
  /** Lists the accounts with which users signed in in this browser; posts `continue` or `remove` with the sub of one. */
  'login-accounts': Footer & {
    client?: ClientView;
    /** The account of the session. */
    signedIn?: AccountView & { sub: string };
    /** The others, each with the page that asks for its credentials. */
    accounts: (AccountView & { sub: string; uri: string })[];
    form: FormView;
    /** Signs in as a user whom the browser does not know. */
    otherUri: string;
    problem?: 'tampered';
  };
  consent: Footer & {
    client: ClientView;
    account: AccountView;
    form: FormView;
    /** The page on which the user chooses another account, and which returns to this page. */
    switchAccountUri: string;
    /** The requested scopes, each with the claims that it would release. */
    /** `text` has the words of a scope of the operator, by language. */
    scopes: { scope: string; claims: ClaimText[]; text?: Record<string, string> }[];
    /** The APIs that the client wants to use as the user. */
    apis: ApiView[];
    /** The authorization details that it asks for, each in full. */
    details?: DetailView[];
    /** Single claims beside those of the scopes; the text is empty if there is no value yet. */
    claims?: ClaimText[];
    problem?: 'expired' | 'tampered';
  };
  /** "Continue to CLIENT as USER", one protected button (the /authenticate short form). */
  continue: { client: ClientView; account: AccountView; form: FormView };
  /** Asks whether to sign out. */
  logout: { client?: ClientView; account: AccountView; form: FormView; problem?: 'expired' | 'tampered' };
  /** Confirms the sign-out; `stayed` if the user chose to stay signed in. */
  'signed-out': {
    client?: ClientView;
    stayed: boolean;
    problem?: 'hint' | 'redirect';
    accountUri: string;
    /** The names of applications that were not told: SAML applications end their own sessions. */
    stillOpen?: string[];
    /** Applications to which the user can return, with the client_uri of each. */
    applications?: { name: string; uri: string }[];
    /** Front-channel logout: addresses to load in hidden frames; the policy's `frame-src` has to name their origins. */
    frames?: string[];
    /** The validated post-logout redirect URI with `state`, to which the page leads by itself, once the frames have loaded. */
    continueUri?: string;
    /** The address of this service to which the page leads by itself, and which redirects to the client. */
    leaveUri?: string;
  };
  /** Confirms the sign-out of one protected site; the session goes on until `signOutUri` ends it. */
  'site-signed-out': { client?: ClientView; signOutUri: string; againUri?: string };
  /** What each error code means, for developers. Every second part of a meaning is a name of the wire. */
  'error-codes': { codes: { code: string; meaning: string[] }[] };
  /** An error that no form could correct. `kind` is a key under `error.kind.` of the catalogue. */
  error: {
    kind:
      | 'not-found'
      | 'client'
      | 'request'
      | 'expired'
      | 'answered'
      | 'busy'
      | 'too-many'
      | 'unavailable'
      | 'server'
      | 'tampered'
      | 'logout-hint'
      | 'logout-redirect'
      | 'logout-unnamed'
      | 'navigation'
      | 'too-large'
      | 'method'
      | 'administrators'
      | 'permission';
    reference: string;
    client?: ClientView;
  };
  /** Tells a user that they may not use an application: it did not admit them, or an administrator of this service did not. */
  'access-denied': {
    by: 'client' | 'service';
    client?: ClientView;
    account?: AccountView;
    /** Why the service did not admit the user. */
    reason?: 'group' | 'network' | 'connection';
    /** Who can help: any text that was registered, often addresses. */
    contacts: string[];
    /** Sends the application its answer; absent if it waits for none. */
    form?: FormView;
    switchAccountUri?: string;
    problem?: 'tampered';
    /** By which an administrator learns why the service did not admit the user. */
    reference?: string;
  };
  /** Response mode form_post: submits itself by script, with a button for browsers without. */
  /** Leads by itself to the address of this service that answers the client. */
  leave: { uri: string; client?: ClientView };
  'form-post': { action: string; parameters: [string, string][]; client?: ClientView };
}
