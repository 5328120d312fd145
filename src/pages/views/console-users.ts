// Declares what the console's pages about users show.
import type { ConsoleFrame } from './console.ts';
import type { ClaimText, FormView } from './parts.ts';

/** A user as a line of a list. */
export interface UserLine {
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
  /** The first of them; a reason is a code, or the sentence that an older version stored. */
  refusals: { line: number; column: string; reason: string }[];
}

/** Its words are `console.user.factor.{kind}`; `other` is a kind without an authenticator in this version. */
export type FactorKind = string;

export type UserFieldFault = 'missing' | 'long' | 'text' | 'email' | 'url' | 'date' | 'taken' | 'taken-email';

/** A field of the form: a claim, a member of the address, or what users have beside claims. */
export interface UserField {
  field: string;
  /** Of what is ticked or not: "true" or empty. */
  value: string;
  fault?: UserFieldFault;
  /** Characters, where it is too long. */
  most?: number;
}

export interface ConsoleUsersPages {
  'console-users': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean; order: 'newest' | 'name' };
    users: UserLine[];
    /** More match than could be put in order. */
    broad: boolean;
    importUri: string;
    /** Has the filter in its query. */
    exportUri: string;
    first?: string;
    next?: string;
  };
  /** Posts `users`, `update` and `with_admins`, and `act`: "check", or "import" what was checked. */
  'console-users-import': ConsoleFrame & {
    form: FormView;
    /** Users that were typed or read. */
    typed: string;
    update: boolean;
    admins: boolean;
    /** Characters that are taken. */
    most: number;
    /** What a check found. */
    result?: ImportResult;
    /** While the check goes on: nothing but how far it is is shown. */
    checking?: { line: number; lines: number };
    problem?: 'missing' | 'long' | 'head' | 'changed' | 'busy' | 'interrupted';
    /** What is wrong with the head, and which columns there are; `column` is empty where it has no name to show. */
    head?: { kind: 'missing' | 'unknown' | 'twice'; column: string; columns: readonly string[] };
  };
  'console-users-import-status': ConsoleFrame & {
    state: 'running' | 'done' | 'stopped';
    /** All lines, and up to which it is. */
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
  /** Posts `act`, and `group` with it or `client_id`. */
  'console-user': ConsoleFrame & {
    user: UserLine & { sub: string; emailVerified: boolean; hasPassword: boolean; updatedAt: Date };
    claims: ClaimText[];
    groups: { name: string; uri: string }[];
    /** Some of the groups that the user is not in. */
    offered: string[];
    sessions: { count: number; uri: string };
    grants: { clientId: string; clientName: string; createdAt: Date }[];
    factors: { kind: FactorKind; name: string; createdAt: Date; usedAt?: Date; removeUri: string }[];
    recoveryCodes: number;
    form: FormView;
    problem?: 'last-administrator' | 'group' | 'no-group' | 'many-groups';
    typedGroup?: string;
    editUri: string;
    passwordUri: string;
    /** Takes all second factors away. */
    removeUri: string;
    deleteUri: string;
    auditUri: string;
  };
  /** Posts every field under its name; without a user one is made, and `password` may be posted, too. */
  'console-user-edit': ConsoleFrame & {
    user?: { username: string; uri: string };
    form: FormView;
    fields: UserField[];
    /** What a first password has, in characters, and how long a link is good for in its place, in seconds. */
    password?: { least: number; most: number; link: number };
    passwordFault?: 'missing' | 'length' | 'common';
    problem?: 'changed' | 'busy';
  };
  /** Posts `act`: "link" with `lifetime`, or "set" with `new_password`. */
  'console-user-password': ConsoleFrame & {
    username: string;
    userUri: string;
    disabled: boolean;
    form: FormView;
    /** In seconds, and the one that is chosen. */
    lifetimes: number[];
    lifetime: number;
    /** In characters. */
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    problem?: 'busy';
  };
  /** A link by which somebody chooses a password, shown once. */
  'console-user-link': ConsoleFrame & {
    username: string;
    userUri: string;
    /** Whole, with the base address. */
    recoveryUri: string;
    /** In seconds. */
    lifetime: number;
    expiresAt: Date;
    /** For somebody who was just made. */
    made: boolean;
  };
  /** Says what goes with second factors of a user. */
  'console-user-factors-remove': ConsoleFrame & {
    username: string;
    userUri: string;
    passwordUri: string;
    factors: { kind: FactorKind; name: string }[];
    /** How many others stay. */
    left: number;
    /** How many go with the last one. */
    recoveryCodes: number;
    /** Nothing is left to sign in with. */
    shutOut: boolean;
    form: FormView;
    problem?: 'only-way';
  };
  /** Asks for the user name in `typed` before all of somebody goes. */
  'console-user-delete': ConsoleFrame & {
    username: string;
    userUri: string;
    sessions: number;
    grants: number;
    form: FormView;
    problem?: 'typed' | 'last-administrator';
  };
}
