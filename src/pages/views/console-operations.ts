// Declares what the console's pages about the service show: overview, sessions, keys, audit trail.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

/** A number that is exact, or about right where counting would take long. */
interface AmountView {
  count: number;
  exact: boolean;
}

/** What happened in one hour or on one day, by UTC. */
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

/** A link to a person or an application, by a name if there is one still. */
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

export interface OperationsPages {
  'console-overview': ConsoleFrame & {
    /** Registrations and changes that wait for a decision, counted up to the number that `more` speaks of. */
    waiting: number;
    /** There are more of them than were counted. */
    more?: boolean;
    waitingUri: string;
    /** The newest of them. */
    newest: { name: string; host: string; at: Date; uri: string }[];
    figures: ({ name: 'users' | 'clients' | 'sessions' | 'events'; uri: string } & AmountView)[];
    /** Of the last day: each leads to the list of just what it counts, if there is one. */
    lately: { name: 'signed-in' | 'failed' | 'refused' | 'granted'; count: number; uri?: string }[];
    charts: ChartView[];
    /** Set while the past is still being counted: how far that is. */
    countedUntil?: Date;
    health: {
      /** `roundTrip` in milliseconds, `size` in bytes. */
      database: { version: string; roundTrip: number; size: number; startedAt: Date };
      connections: { busy: number; idle: number; waiting: number };
      keys: { oldest: Date; next?: Date; uri: string };
      cleanUp: { at?: Date; late: boolean };
      /** What should have been sent by now; `since` is when the oldest was due. */
      mails: { waiting: number; since?: Date; late: boolean };
    };
  };
  'console-sessions': ConsoleFrame & {
    user?: string;
    address?: string;
    fault?: 'user' | 'address';
    sessions: {
      id: string;
      user: LinkedName;
      /** In short words, as far as it says so. */
      browser?: string;
      address?: string;
      signedInAt: Date;
      usedAt: Date;
      own: boolean;
      clients: LinkedName[];
    }[];
    form: FormView;
    firstUri?: string;
    nextUri?: string;
    /** With a person as the filter: all of their sessions. */
    endAllUri?: string;
  };
  'console-sessions-end': ConsoleFrame & {
    user: LinkedName;
    sessions: number;
    /** There are more than were counted. */
    more: boolean;
    own: boolean;
    form: FormView;
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
    /** When the service makes the next ones by itself. */
    next?: Date;
    rotateUri: string;
    /** Keys of SECRET_KEY that encrypted stored values, or with which instances encrypt now. */
    secretKeys: { id: string; isUsed: boolean; instances: number }[];
  };
  'console-keys-rotate': ConsoleFrame & {
    algorithms: string[];
    /** Seconds for which a new key is published before it signs. */
    lead: number;
    form: FormView;
    backUri: string;
    fault?: 'algorithms';
  };
  'console-keys-withdraw': ConsoleFrame & {
    kid: string;
    alg: string;
    state: 'waiting' | 'retired';
    /** What has to be typed: the beginning of the key's name. */
    beginning: string;
    typed?: string;
    fault?: 'typed';
    form: FormView;
    backUri: string;
  };
  'console-audit': ConsoleFrame & {
    filter: AuditFilterView;
    types: string[];
    faults: ('address' | 'since' | 'until')[];
    events: AuditEventRow[];
    /** The page ended after so many events that do not fit, at this one's time. */
    cut?: { lookedAt: number; at: Date };
    firstUri?: string;
    nextUri?: string;
    /** Posts `format`, with the filter in hidden fields; without it there is nothing to take along. */
    exportForm?: FormView;
  };
  'console-audit-event': ConsoleFrame & {
    event: AuditEventRow;
    detail: { member: string; value: string }[];
    /** The lists of what else happened to the same. */
    more: { of: 'actor' | 'user' | 'client' | 'address' | 'type'; uri: string }[];
  };
}
