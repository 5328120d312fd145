// Declares what the console's pages about the service show: overview, sessions, keys, audit trail.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

/** A number, or an estimate if counting would take long. */
interface AmountView {
  count: number;
  exact: boolean;
}

/** The events of one hour or day, by UTC. */
export interface BarView {
  at: Date;
  signedIn: number;
  failed: number;
  refused: number;
  granted: number;
}

export interface ChartView {
  period: 'day' | 'month';
  /** The oldest first. */
  bars: BarView[];
  totals: Omit<BarView, 'at'>;
  /** The top of the scale. */
  most: number;
}

/** A link to a user or a client, with its name while it exists. */
export interface LinkedName {
  id: string;
  name?: string;
  uri?: string;
}

export interface AuditEventRow {
  id: string;
  at: Date;
  type: string;
  failed: boolean;
  actor?: LinkedName;
  user?: LinkedName;
  client?: LinkedName;
  address?: string;
  uri?: string;
}

export interface AuditFilterView {
  type?: string;
  outcome?: string;
  actor?: string;
  user?: string;
  client?: string;
  address?: string;
  since?: string;
  until?: string;
}

/** What a new service needs. `uri` leads to where it is done; the service cannot see backups: an administrator confirms them by the form. */
export type ChecklistView = {
  name: 'email' | 'administrator' | 'passkey' | 'client' | 'backup' | 'https';
  isDone: boolean;
  uri?: string;
  form?: FormView;
}[];

export interface OperationsPages {
  'console-overview': ConsoleFrame & {
    /** Until all of it is done. */
    checklist?: ChecklistView;
    /** ALLOW_HTTP is on, and browsers come without encryption. */
    unencrypted: boolean;
    /** The newest pending registrations and changes. */
    newest: { name: string; host: string; at: Date; uri: string }[];
    figures: ({ name: 'users' | 'clients' | 'sessions' | 'events'; uri: string } & AmountView)[];
    /** Counts of the chart's period, each with a link to the list of the counted events, if there is one. */
    recent: { name: 'signed-in' | 'failed' | 'refused'; count: number; uri?: string }[];
    chart: ChartView;
    /** Set while past events are still being counted: the time up to which they are. */
    countedUntil?: Date;
    health: {
      /** `roundTrip` in milliseconds, `size` in bytes. */
      database: { version: string; roundTrip: number; size: number; startedAt: Date };
      connections: { busy: number; idle: number; waiting: number };
      /** `late`: the time of the next rotation has passed. */
      keys: { next?: Date; late: boolean; uri: string };
      cleanUp: { at?: Date; late: boolean };
      /** Mails that are due; `since` is the time when the oldest became due. */
      mails: { waiting: number; since?: Date; late: boolean };
      /** How far the collector of the audit stream is behind; absent without one. */
      stream?: { waiting: number; since?: Date; failure?: string; late: boolean };
    };
  };
  'console-sessions': ConsoleFrame & {
    user?: string;
    address?: string;
    fault?: 'user' | 'several' | 'address';
    sessions: {
      id: string;
      user: LinkedName;
      /** The name of the browser, if its header has one. */
      browser?: string;
      /** The name that the user gave the browser: untrusted text. */
      browserName?: string;
      address?: string;
      signedInAt: Date;
      usedAt: Date;
      /** When it ends, if the user chose to stay signed in. */
      until?: Date;
      own: boolean;
      clients: LinkedName[];
    }[];
    form: FormView;
    firstUri?: string;
    nextUri?: string;
    /** With a user as the filter: the page that ends all sessions of the user. */
    endAllUri?: string;
  };
  'console-sessions-end': ConsoleFrame & {
    user: LinkedName;
    sessions: number;
    /** Whether there are more than were counted. */
    more: boolean;
    own: boolean;
    form: FormView;
    /** The name that was typed, if it did not match. */
    typed?: string;
    problem?: 'typed';
    backUri: string;
  };
  'console-keys': ConsoleFrame & {
    keys: {
      kid: string;
      alg: string;
      state: 'waiting' | 'signing' | 'retired';
      createdAt: Date;
      activeAt: Date;
      expiresAt?: Date;
      withdrawUri?: string;
    }[];
    /** The time of the next scheduled rotation. */
    next?: Date;
    rotateUri: string;
    /** Those that sign for SAML applications, if there are any, and what each may do now. */
    saml?: {
      keys: {
        id: string;
        state: 'waiting' | 'signing' | 'retired';
        validUntil: Date;
        acts: ('activate' | 'delete')[];
      }[];
      metadataUri: string;
      form: FormView;
      canCreate: boolean;
    };
    /** Keys of SECRET_KEY that encrypted stored values, or with which instances encrypt now. */
    secretKeys: { id: string; isUsed: boolean; instances: number }[];
  };
  /** Posts `immediate` with the service's name as `typed`, so that the new keys sign at once. */
  'console-keys-rotate': ConsoleFrame & {
    algorithms: string[];
    chosen: string[];
    immediate: boolean;
    /** The host of the service. */
    name: string;
    typed?: string;
    /** Seconds for which a new key is published before it signs. */
    lead: number;
    form: FormView;
    backUri: string;
    fault?: 'algorithms' | 'typed';
  };
  'console-keys-withdraw': ConsoleFrame & {
    kid: string;
    alg: string;
    state: 'waiting' | 'retired';
    /** The beginning of the key's name, which the administrator has to type. */
    beginning: string;
    typed?: string;
    fault?: 'typed';
    form: FormView;
    backUri: string;
  };
  'console-audit': ConsoleFrame & {
    filter: AuditFilterView;
    types: readonly string[];
    /** `user` and `actor` fit more than one user. */
    faults: ('user' | 'actor' | 'address' | 'since' | 'until')[];
    events: AuditEventRow[];
    /** The number of events that did not match before the search stopped, and the time of the last one. */
    cut?: { lookedAt: number; at: Date };
    firstUri?: string;
    nextUri?: string;
    /** Posts `format`, with the filter in hidden fields; absent when there is nothing to export. */
    exportForm?: FormView;
  };
  'console-audit-event': ConsoleFrame & {
    event: AuditEventRow;
    detail: { member: string; value: string }[];
    /** Links to lists of related events. */
    more: { of: 'actor' | 'user' | 'client' | 'address' | 'type'; uri: string }[];
  };
}
