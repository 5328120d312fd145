// Declares what the console's pages about users show.
import type { ConsoleFrame, SortView } from './console.ts';
import type { AuditEventRow } from './console-operations.ts';
import type { AttributeField } from './attribute-field.ts';
import type { ClaimText, FieldGroup, FormView, RefusedView } from './parts.ts';

/** A user as a line of a list. */
export interface UserLine {
  sub: string;
  /** The path of the uploaded picture. */
  picture?: string;
  /** When the user last signed in, or used a session. */
  usedAt?: Date;
  username: string;
  email?: string;
  name?: string;
  disabled: boolean;
  admin: boolean;
  groups: string[];
  createdAt: Date;
  uri: string;
}

export interface ImportResult {
  counts: { created: number; updated: number; unchanged: number; refused: number };
  /** The first refused rows; a reason is a code, or the sentence that an older version stored. */
  refusals: { line: number; column: string; reason: string }[];
  /** The first rows that were stored, and of which an administrator should know. */
  notes: { line: number; column: string; reason: string }[];
}

/** Its message is `console.user.factor.{kind}`; `other` is a kind that this version does not support. */
export type FactorKind = string;

export interface ConsoleUsersPages {
  'console-users': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean; order: 'newest' | 'name' };
    users: UserLine[];
    sort: Record<'username' | 'created', SortView>;
    /** More users match than the service sorts. */
    broad: boolean;
    importUri: string;
    /** The export page, with the filter in the query. */
    exportUri: string;
    first?: string;
    next?: string;
  };
  /** Posts `users`, `update`, `with_admins` and `trust_confirmations`, and `act`: "check", or "import" for checked users. */
  'console-users-import': ConsoleFrame & {
    form: FormView;
    /** The users that the administrator typed or read from a file. */
    typed: string;
    update: boolean;
    admins: boolean;
    trustConfirmations: boolean;
    /** The maximum length in characters. */
    most: number;
    /** The result of the check. */
    result?: ImportResult;
    /** Set while the check runs: the page shows only its progress. */
    checking?: { line: number; lines: number };
    problem?: 'missing' | 'long' | 'head' | 'changed' | 'busy' | 'interrupted';
    /** The problem of the head, and the possible columns; `column` is empty if its name cannot be shown. */
    head?: {
      kind: 'missing' | 'unknown' | 'twice' | 'separator' | 'space' | 'encoding' | 'empty';
      column: string;
      columns: readonly string[];
    };
  };
  'console-users-import-status': ConsoleFrame & {
    state: 'running' | 'done' | 'stopped';
    /** The number of all lines, and of those that are done. */
    lines: number;
    line: number;
    startedAt: Date;
    result: ImportResult;
    uri: string;
  };
  /** Posts `format` and the filter. */
  'console-users-export': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean };
    form: FormView;
  };
  /** Posts `act`, with `group` or `client_id` for some operations. */
  'console-user': ConsoleFrame & {
    user: UserLine & { emailVerified: boolean; hasPassword: boolean; updatedAt: Date };
    claims: (ClaimText & { label?: Record<string, string> })[];
    /** `sources` names the connections that put the user there, and `manual` for an administrator. */
    groups: { name: string; uri: string; sources: string[] }[];
    sessions: { count: number; uri: string };
    grants: { clientId: string; clientName: string; createdAt: Date }[];
    factors: { kind: FactorKind; name: string; createdAt: Date; usedAt?: Date; removeUri: string }[];
    recoveryCodes: number;
    /** The connections to which the user is linked; absent where the service has none. */
    connections?: { names: string[]; uri: string };
    /** Present for a user who can be invited. */
    invitation?: {
      /** Whether an invitation is mailed; otherwise the administrator hands over its link. */
      byMail: boolean;
      /** The invitation that the user has not used; `expiresAt` is absent until its mail is sent. */
      pending?: { createdAt: Date; expiresAt?: Date; email?: string };
    };
    form: FormView;
    problem?: 'invitable';
    /** Why the user does not join the group that was typed. */
    refused?: RefusedView;
    typedGroup?: string;
    editUri: string;
    /** The page that checks the access to a client. */
    accessUri: string;
    passwordUri: string;
    /** The page that removes all second factors. */
    removeUri: string;
    /** The page that ends all sessions. */
    endUri: string;
    /** The latest events. */
    events: AuditEventRow[];
    auditUri: string;
  };
  /** Posts every field under its name; without a user it creates one, and also posts `access`, and `password` for that access. */
  'console-user-edit': ConsoleFrame & {
    user?: { username: string; uri: string };
    form: FormView;
    groups: FieldGroup[];
    /** Of an existing user. */
    attributes?: AttributeField[];
    /** How a new user gets access: by an invitation, which is mailed or shown as a link, or by a password of so many characters. */
    access?: {
      chosen: 'invite' | 'password';
      byMail: boolean;
      /** Of the invitation, in seconds. */
      lifetime: number;
      least: number;
      most: number;
    };
    passwordFault?: 'missing' | 'length' | 'common';
    problem?: 'changed' | 'busy';
  };
  /** Posts `act`: "link" with `lifetime`, or "set" with `new_password`. */
  'console-user-password': ConsoleFrame & {
    username: string;
    userUri: string;
    disabled: boolean;
    form: FormView;
    /** The lifetimes to choose from, in seconds, and the chosen one. */
    lifetimes: number[];
    lifetime: number;
    /** In characters. */
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    problem?: 'busy';
  };
  /** Shows once a link that the administrator hands over. */
  'console-user-link': ConsoleFrame & {
    /** The user, or the name of the sign-up link; then its page. */
    username: string;
    userUri: string;
    /** A link that sets a password, an invitation, of a user who may be new, or a sign-up link. */
    of: 'password' | 'invitation' | 'new-user' | 'sign-up-link';
    /** The whole address, with the base address. */
    uri: string;
    /** In seconds. */
    lifetime: number;
    expiresAt: Date;
    /** How many accounts a sign-up link can create. */
    uses?: number;
  };
  /** Lists the links of a user. Posts `act`: "remove" or "keep" with `connection`, or "mark" or "unmark" for the exception from an enforced domain. */
  'console-user-connections': ConsoleFrame & {
    username: string;
    userUri: string;
    links: {
      connection: string;
      name: string;
      uri: string;
      subject: string;
      since: Date;
      usedAt?: Date;
      /** It was made without a person: an administrator keeps or ends it before the user gets power. */
      unasked: boolean;
      /** Without it the user cannot sign in. */
      only: boolean;
    }[];
    /** Whether the user may sign in here although the domain of the address is enforced. */
    breakGlass: boolean;
    form: FormView;
  };
  /** Names the consequences of removing second factors. */
  'console-user-factors-remove': ConsoleFrame & {
    username: string;
    userUri: string;
    passwordUri: string;
    factors: { kind: FactorKind; name: string }[];
    /** The number of remaining second factors. */
    left: number;
    /** The number of recovery codes that are removed with the last second factor. */
    recoveryCodes: number;
    /** Whether the user can no longer sign in. */
    shutOut: boolean;
    form: FormView;
    problem?: 'only-way';
  };
  /** Names the consequences of an operation. One that cannot be undone asks for the user name, posted as `typed`. */
  'console-user-confirm': ConsoleFrame & {
    operation: 'disable' | 'make-admin' | 'no-admin' | 'delete';
    username: string;
    userUri: string;
    /** What ends with the operation, each counted up to `most`. */
    sessions: number;
    grants: number;
    most: number;
    form: FormView;
    /** Set for an operation that asks for the user name. */
    typed?: string;
    problem?: 'typed';
    refused?: RefusedView;
    /** Where links that were made without a person are kept or ended. */
    connectionsUri?: string;
  };
}
