// Declares what the console's pages about clients show.
import type { ConsoleFrame } from './console.ts';
import type { LinkedName } from './console-operations.ts';
import type { FormView } from './parts.ts';

/** Where a client stands: what waits of it, and whether it is in use. */
export type ClientState = 'enabled' | 'disabled' | 'registration' | 'change' | 'refused' | 'collection';

/** One client of a list. All text here is untrusted. */
export interface ClientRow {
  name: string;
  clientId: string;
  uri: string;
  state: ClientState;
  hosts: string[];
  selfRegistered: boolean;
  createdAt: Date;
}

/** What a decision about a registration or a change hangs on. All text here is untrusted. */
export interface Judgement {
  name: string;
  clientId: string;
  uri: string;
  kind: 'registration' | 'change';
  /** The redirect hosts that it would have; `since` undefined for one that no enabled client ever had; `fresh` for what only the change adds. */
  hosts: { host: string; since?: Date; clients: number; local: boolean; fresh: boolean }[];
  /** Enabled clients whose names could be taken for this one. */
  lookAlikes: { name: string; uri: string; same: boolean }[];
  /** Resources that it claims and other clients hold: it cannot be approved before that is settled. */
  heldResources: { uri: string; holder: string; holderUri: string }[];
  /** Member by member what would change; of a registration all that it asks for. */
  changes: { member: string; added: string[]; removed: string[]; kept: string[] }[];
  contacts: string[];
  address?: string;
  at: Date;
  /** Registered in approval mode: whoever set it up can be asked for the code. */
  awaitsCollection: boolean;
  /** A change of a client that is disabled: what approves others only enables it, and the change goes on waiting. */
  disabled: boolean;
}

/** What is wrong with a field: a key of the catalogue under `console.fault.`, and what its sentence names. */
export interface FieldFault {
  code: FaultCode;
  values?: Readonly<Record<string, string>>;
}

export const faultCodes = [
  'address',
  'algorithm',
  'characters',
  'choice',
  'encryption-key',
  'entries',
  'grant',
  'https',
  'invalid',
  'json',
  'key',
  'keys',
  'keys-once',
  'length',
  'localhost',
  'missing',
  'name',
  'own-resource',
  'pairwise',
  'public',
  'refresh',
  'request',
  'resource',
  'seconds',
  'secret',
  'sector-document',
  'sector-hosts',
  'same-origin',
  'web-address',
] as const;
export type FaultCode = (typeof faultCodes)[number];

/** A field of the form that makes or changes a client. */
export interface ClientField {
  /** The member of the metadata, or what an administrator sets beside it. */
  name: string;
  kind: 'text' | 'address' | 'lines' | 'check' | 'choice' | 'choices' | 'number' | 'json';
  /** What was typed, as it was typed. */
  value: string;
  /** Of `choices`: those that are taken. */
  taken?: string[];
  options?: string[];
  /** What is wrong with it. */
  fault?: FieldFault;
}

export type Named = { name: string; clientId: string; clientUri: string };

export interface ConsoleClientPages {
  /** Clients, newest first, as far as the filter lets them through. */
  'console-clients': ConsoleFrame & {
    filter: { q: string; status: string; registered: string };
    filtered: boolean;
    clients: ClientRow[];
    /** Registrations and changes that wait, counted up to the number that `more` speaks of. */
    waiting: number;
    more: boolean;
    first?: string;
    next?: string;
  };
  /** What waits for a decision, with all that it hangs on; several are decided at once. */
  'console-registrations': ConsoleFrame & {
    form?: FormView;
    waiting: Judgement[];
    next?: string;
    first?: string;
    /** What became of the decisions just made, if not all could be carried out; `reason` is missing, or nothing was picked. */
    report?: { decided: number; changed: string[]; held: string[]; gone: number };
    problem?: 'nothing' | 'reason';
    reason: string;
  };
  'console-client': ConsoleFrame &
    Named & {
      state: ClientState;
      enabled: boolean;
      refusalReason?: string;
      facts: Pick<Judgement, 'hosts' | 'lookAlikes' | 'heldResources'>;
      judgement?: Judgement;
      /** Approves or refuses what waits, or enables a disabled client. */
      decision?: FormView;
      approvedBy?: 'administrator' | 'initial_access_token' | 'automatic';
      origin?: { by: 'registration' | 'administrator'; actor?: string; address?: string };
      selfRegistered: boolean;
      firstParty: boolean;
      selfManaged: boolean;
      createdAt: Date;
      updatedAt: Date;
      members: { member: string; values: string[] }[];
      homeUri?: string;
      /** What hangs on it, each counted up to the number of `most`. */
      figures: {
        name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings' | 'logouts';
        count: number;
      }[];
      most: number;
      sessions: { username: string; userUri: string; scope: string; offline: boolean; createdAt: Date }[];
      logouts: {
        status: 'waiting' | 'delivered' | 'refused' | 'given_up';
        attempts: number;
        failure?: string;
        createdAt: Date;
      }[];
      events: { type: string; success: boolean; actor?: LinkedName; at: Date }[];
      auditUri: string;
      tryUri?: string;
      /** The console's own client: it is not to be changed here. */
      own: boolean;
    };
  /** Makes a client, or changes one. */
  'console-client-edit': ConsoleFrame & {
    client?: Named;
    form: FormView;
    groups: { name: string; fields: ClientField[] }[];
    /** Why the database refused the client, in English: another client holds a resource. */
    problem?: string;
    changed?: boolean;
    /** A change of this client waits: approving it replaces what is saved here. */
    waits?: boolean;
  };
  /** Asks which secrets shall be new, and shows those that are, once. */
  'console-client-secrets': ConsoleFrame &
    Named & {
      form?: FormView;
      secrets: ('client_secret' | 'shared_secret' | 'registration_access_token')[];
      problem?: 'nothing' | 'changed';
      /** Shown once. */
      shown?: {
        name: 'client_id' | 'issuer' | 'client_secret' | 'shared_secret' | 'registration_access_token';
        value: string;
      }[];
      /** The client was made just now. */
      made?: boolean;
    };
  /** Says what disabling or deleting a client ends, and asks for its name. */
  'console-client-end': ConsoleFrame &
    Named & {
      act: 'disable' | 'delete';
      form: FormView;
      figures: { name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings'; count: number }[];
      most: number;
      typed: string;
      problem?: 'name';
    };
}
