// Declares what the pages of second factors show, in the account and during a sign-in.
import type { QrCode } from '../qr-code.ts';
import type { AccountView, ClientView, Footer, FormView } from './parts.ts';

/** A method of the second step. The template part-second-factor-{id} shows it, and its form posts to the page. */
export interface SecondFactorMethod {
  id: string;
  /** The `id` of the input element for a code. Its sentence in the catalogue is `second-factors.login.field.{input}`. */
  input?: string;
  /** True if it is offered for the case that no other method can be used. */
  fallback?: boolean;
  /** A script that the part needs. */
  script?: string;
  /** What the browser asks a passkey for, as JSON (Web Authentication). */
  options?: string;
}

export interface SecondFactorPages {
  /** After the password: each method posts a field of its own. */
  'login-second-factor': Footer & {
    client?: ClientView;
    account: AccountView;
    form: FormView;
    methods: SecondFactorMethod[];
    /** The method that failed, or `tampered` if the form came from elsewhere. */
    problem?: Pick<SecondFactorMethod, 'id' | 'input'> | 'tampered' | undefined;
    /** Of the refusal, for administrators. */
    reference?: string;
    /** Starts the sign-in again, as another user. */
    restartUri: string;
    /** For how many days this browser can spare the second factor, and whether the user chose it; absent where it cannot. */
    spare?: { days: number; chosen: boolean };
  };
  /** The second factors of the user; posts `remove` with the id of one. */
  'account-second-factors': Footer & {
    account: AccountView;
    /** The words of a kind are `second-factors.kind.{kind}`. */
    factors: { id: string; kind: string; name: string; createdAt: Date; usedAt?: Date }[];
    form: FormView;
    /** Kinds that have a page of their own, with its words in `second-factors.page.{kind}`, and how many the user has. */
    pages: { kind: string; uri: string; count: number }[];
    /** How many are left. Absent if the user has no second factor. */
    recoveryCodes?: { left: number; all: number; form: FormView };
    /** Kinds of which the user may add another one; the words are `second-factors.add.{kind}`. */
    add: { kind: string; uri: string }[];
    securityUri: string;
    /** With `needed`, something else needs one first. */
    done?: 'added' | 'removed' | 'needed';
  };
  /** Sets up an authenticator; posts `code` and `name`. */
  'account-authenticator': Footer & {
    account: AccountView;
    form: FormView;
    /** In groups of four. */
    secret: string;
    /** What an app on the same device opens. */
    uri: string;
    qr: QrCode;
    /** What was typed. */
    name?: string;
    problem?: 'code' | 'expired' | 'tampered';
    /** Present within a sign-in, which continues afterwards. */
    signIn?: { client?: ClientView };
    backUri: string;
  };
  /** Shows recovery codes once. */
  'account-recovery-codes': {
    account: AccountView;
    codes: string[];
    /** Named in the file that the user can download. */
    issuer: string;
    continueUri: string;
  };
}
