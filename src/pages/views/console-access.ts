// Declares what the console shows about the access of a user to a client: the check of what would happen now, and what happened.
import type { AccessReason, AccessCheck } from '../../rules/access/check-access.ts';
import type { LinkedName } from './console-operations.ts';
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

/** The button that changes a reason: a link, or an act of the form of the user's page. */
export type ReasonAct =
  | { act: 'enable-user' }
  | { act: 'join'; group: string }
  | { act: 'edit-access' | 'enable-client' | 'user' | 'invite'; uri: string };

export interface ReasonView {
  code: AccessReason;
  /** What its sentence names: groups, connections or networks. */
  names: readonly string[];
  until?: Date;
  acts: ReasonAct[];
}

export interface AccessCheckView {
  user: { name: string; uri: string };
  client: { name: string; uri: string };
  reasons: ReasonView[];
  /** The name of the connection, absent for a sign-in by the service itself. */
  ways: { name?: string; accepted: boolean }[];
  /** From which the client can be used; empty if that is everywhere, or if it was checked. */
  networks: readonly string[];
  secondFactor?: {
    by: NonNullable<AccessCheck['secondFactor']>;
    setUp: boolean;
    /** What demands it: the client, the setting, or the user's own factors. */
    uri: string;
  };
  consent: AccessCheck['consent'];
  granted: readonly string[];
  /** Posts `act` to the page of the user. */
  form: FormView;
}

/** What a sign-in, or a consent, was refused by; `Why?` has words for each. */
export const refusedFactors = [
  'unknown_user',
  'no_password',
  'wrong_password',
  'wrong_directory_password',
  'second_factor',
  'email_code',
  'consent_denied',
  'access_refused',
] as const;

export interface ConsoleAccessPages {
  /** Sends `client` and `address` in its address. */
  'console-user-access': ConsoleFrame & {
    username: string;
    userUri: string;
    /** Where the form leads. */
    uri: string;
    typed: { client: string; address: string };
    problem?: 'unknown' | 'several' | 'address';
    check?: AccessCheckView;
  };
  /** Explains what happened by the reference of a page. Without `found` nothing is stored under it. */
  'console-why': ConsoleFrame & {
    reference: string;
    found?: {
      at: Date;
      path?: string;
      /** The rule that refused, if it has words of its own, or the address that is not registered. */
      code?: AccessReason | (typeof refusedFactors)[number] | 'redirect';
      /** In English, for administrators. */
      description: string;
      reason?: string;
      user?: LinkedName;
      client?: LinkedName;
      connection?: LinkedName;
      address?: string;
      sent?: string;
      registered?: readonly string[];
      hint?: string;
      act?: { act: 'edit-redirects' | 'connection' | 'user'; uri: string };
      /** The event of the refusal. */
      eventUri?: string;
      /** What would happen now. */
      check?: AccessCheckView;
    };
  };
}
