// Declares what the console's pages about groups show.
import type { AuditEventRow } from './console-operations.ts';
import type { ConsoleFrame } from './console.ts';
import type { FieldView, FormView, RefusedView } from './parts.ts';

/** A member as a line of a group's list. */
export interface MemberLine {
  sub: string;
  username: string;
  name?: string;
  email?: string;
  disabled: boolean;
  uri: string;
  /** The connections that put the user there, and `manual` for an administrator. */
  sources: string[];
}

export interface ConsoleGroupsPages {
  /** Posts `name` and `description` to create a group. */
  'console-groups': ConsoleFrame & {
    q?: string;
    groups: { name: string; description: string; members: number; guarded: boolean; uri: string }[];
    form: FormView;
    fields: FieldView[];
    refused?: RefusedView;
    first?: string;
    next?: string;
  };
  /** Posts `users`, one on each line, to add them, or `remove`, a sub. */
  'console-group': ConsoleFrame & {
    group: { name: string; description: string; members: number; createdAt: Date };
    /** Whether its members need a second factor. */
    demandsSecondFactor: boolean;
    /** Whether only an administrator changes its members, and the connections that may do so, too. */
    guarded: boolean;
    guardedSources: string[];
    q?: string;
    people: MemberLine[];
    /** More users match than the service sorts. */
    broad: boolean;
    form: FormView;
    typed?: string;
    refused?: RefusedView;
    groupUri: string;
    editUri: string;
    deleteUri: string;
    usersUri: string;
    /** The latest events of the group and of its membership. */
    events: AuditEventRow[];
    first?: string;
    next?: string;
  };
  /** Posts `name` and `description`. */
  'console-group-edit': ConsoleFrame & {
    name: string;
    groupUri: string;
    members: number;
    /** With more members a group cannot be renamed here. */
    most: number;
    /** A guarded group has `guarded_sources`, the connections that it lets in. */
    fields: FieldView[];
    form: FormView;
    refused?: RefusedView;
  };
  /** Asks for the name in `typed`. */
  'console-group-delete': ConsoleFrame & {
    name: string;
    groupUri: string;
    members: number;
    /** With more members a group cannot be deleted here. */
    most: number;
    form: FormView;
    typed?: string;
    problem?: 'typed';
    refused?: RefusedView;
  };
}
