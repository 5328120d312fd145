// Reads the audit trail for the stream, in portions of transactions that have ended, and keeps its position.
// A serial id says nothing of the order of commits: a transaction that began first may commit last, with a lower id than events that were sent.
// So a portion has the events of all transactions between two horizons: no transaction before a horizon is still open (federation F107).
import { type Sql, statement } from '../../database/database.ts';
import { type EventRow, toEvent } from './event-row.ts';
import type { StoredEvent } from './audit-search.ts';

export interface StreamPosition {
  floor: string;
  /** The portion under way. */
  until: string | undefined;
}

/** How far the collector is behind. */
export interface StreamState {
  /** Events that the collector does not have, counted up to `mostCounted`. */
  waiting: number;
  /** When the oldest of them happened. */
  since: Date | undefined;
  failingSince: Date | undefined;
  /** Why the collector took none of late, without its address. */
  lastFailure: string | undefined;
}
/** Events that are counted. */
export const mostCounted = 10_000;

interface Row {
  floor: string;
  until_transaction: string | null;
}

const horizon = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint';
const end = 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint';
/** How many ids before the newest one a first position is: no open transaction has an older one. */
const startsBefore = 100_000;

const begin = statement(
  'audit_stream.begin',
  `INSERT INTO audit_streams (floor, before_transaction)
   SELECT greatest(0, coalesce(max(id), 0) - ${startsBefore}), ${horizon} FROM audit_events ON CONFLICT DO NOTHING`,
);
const hold = statement(
  'audit_stream.hold',
  `UPDATE audit_streams SET holder = $1, held_until = now() + make_interval(secs => $2)
    WHERE holder = $1 OR holder IS NULL OR held_until <= now() RETURNING floor::text, until_transaction::text`,
);
const release = statement(
  'audit_stream.release',
  'UPDATE audit_streams SET holder = NULL, held_until = NULL WHERE holder = $1',
);
// after a restore into another server its transactions are younger than the position: then every event after the floor is sent again
const open = statement(
  'audit_stream.open',
  `UPDATE audit_streams SET until_transaction = ${horizon}, sent_id = floor,
          before_transaction = CASE WHEN before_transaction > ${end} THEN 0 ELSE before_transaction END
    WHERE holder = $1 AND until_transaction IS NULL RETURNING floor::text, until_transaction::text`,
);
// xmin has the lower 32 bits of the transaction, which is near the horizon
const read = statement(
  'audit_stream.read',
  `SELECT e.id::text, e.at, e.type, e.outcome, e.actor, e.client_id, e.sub, host(e.address) AS address, e.detail
     FROM audit_streams s, audit_events e
    CROSS JOIN LATERAL (SELECT (s.until_transaction & ~4294967295::bigint) + e.xmin::text::bigint AS near) AS t
    CROSS JOIN LATERAL (SELECT CASE WHEN near > s.until_transaction + 2147483648 THEN near - 4294967296
                                    WHEN near < s.until_transaction - 2147483648 THEN near + 4294967296 ELSE near END AS transaction) AS x
    WHERE s.holder = $1 AND e.id > s.sent_id AND x.transaction >= s.before_transaction AND x.transaction < s.until_transaction
    ORDER BY e.id LIMIT $2`,
);
const sent = statement(
  'audit_stream.sent',
  `UPDATE audit_streams SET sent_id = $2, failing_since = NULL, last_failure = NULL WHERE holder = $1 AND until_transaction IS NOT NULL`,
);
const close = statement(
  'audit_stream.close',
  `UPDATE audit_streams SET before_transaction = until_transaction, until_transaction = NULL, sent_id = NULL, level_at = now(),
          floor = CASE WHEN $2::bigint IS NOT NULL AND until_transaction >= $3::bigint THEN greatest(floor, $2::bigint) ELSE floor END
    WHERE holder = $1 AND until_transaction IS NOT NULL RETURNING floor::text`,
);
const failed = statement(
  'audit_stream.failed',
  `UPDATE audit_streams SET failing_since = coalesce(failing_since, now()), last_failure = $2 WHERE holder = $1`,
);
const lastId = statement(
  'audit_stream.last_id',
  `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('audit_events', 'id')::regclass), 0)::text AS last`,
);
// who takes an id for a row has this lock on the table before, and until the end of the transaction
const writers = statement(
  'audit_stream.writers',
  `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'audit_events'::regclass AND mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
);
// the events after the position, without those of the portion under way that the collector has
const state = statement(
  'audit_stream.state',
  `SELECT count(w.id)::int AS waiting, min(w.at) AS since, s.failing_since AS "failingSince", s.last_failure AS "lastFailure"
     FROM audit_streams s
     LEFT JOIN LATERAL (
       SELECT e.id, e.at FROM audit_events e
        CROSS JOIN LATERAL (SELECT coalesce(s.until_transaction, ${horizon}) AS mark) AS m
        CROSS JOIN LATERAL (SELECT (mark & ~4294967295::bigint) + e.xmin::text::bigint AS near) AS t
        CROSS JOIN LATERAL (SELECT CASE WHEN near > mark + 2147483648 THEN near - 4294967296
                                        WHEN near < mark - 2147483648 THEN near + 4294967296 ELSE near END AS transaction) AS x
        WHERE e.id > s.floor AND x.transaction >= s.before_transaction
          AND (s.until_transaction IS NULL OR x.transaction >= s.until_transaction OR e.id > s.sent_id)
        ORDER BY e.id LIMIT ${mostCounted}) AS w ON true
    GROUP BY s.one`,
);
const next = statement('audit_stream.next', `SELECT ${end}::text AS next`);

const toPosition = ({ floor, until_transaction: until }: Row): StreamPosition => ({ floor, until: until ?? undefined });

export function auditStreamRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>) => {
    const [row] = await rows;
    return row && toPosition(row);
  };
  return {
    /** The first time: what is recorded from now on is sent. */
    async begin(): Promise<void> {
      await sql.query(begin);
    },
    /** Takes the stream for `lease` seconds, or keeps it; undefined while another instance has it. */
    hold: (holder: string, lease: number): Promise<StreamPosition | undefined> => one(sql.query(hold, [holder, lease])),
    async release(holder: string): Promise<void> {
      await sql.query(release, [holder]);
    },
    /** Begins a portion with the events of all transactions that have ended. */
    open: (holder: string): Promise<StreamPosition | undefined> => one(sql.query(open, [holder])),
    /** The next events of the portion, in the order of their ids; none for an instance that does not have the stream. */
    read: async (holder: string, limit: number): Promise<StoredEvent[]> =>
      (await sql.query<EventRow<StoredEvent['type']>>(read, [holder, limit])).map(toEvent),
    /** Records that the collector has the events of the portion up to an id. */
    async sent(holder: string, id: string): Promise<void> {
      await sql.query(sent, [holder, id]);
    },
    /** Ends the portion. @param settled an id up to which no event can come any more, once all transactions before `next` have been sent */
    async close(holder: string, settled?: { id: string; next: string }): Promise<string | undefined> {
      const [row] = await sql.query<{ floor: string }>(close, [holder, settled?.id, settled?.next]);
      return row?.floor;
    },
    async failed(holder: string, reason: string): Promise<void> {
      await sql.query(failed, [holder, reason]);
    },
    /** Undefined before the first instance with a stream has begun. */
    async state(): Promise<StreamState | undefined> {
      const [row] = await sql.query<{ [Name in keyof StreamState]: NonNullable<StreamState[Name]> | null }>(state);
      if (!row) return undefined;
      const { waiting, since, failingSince, lastFailure } = row;
      return {
        waiting: waiting!,
        since: since ?? undefined,
        failingSince: failingSince ?? undefined,
        lastFailure: lastFailure ?? undefined,
      };
    },
    /** The last id that any event took, whether its transaction has ended or not. */
    lastId: async (): Promise<string> => (await sql.query<{ last: string }>(lastId))[0]!.last,
    /** The transactions that may write events now. */
    writers: async (): Promise<string[]> => (await sql.query<{ writer: string }>(writers)).map(({ writer }) => writer),
    /** The transaction that would begin next. */
    next: async (): Promise<string> => (await sql.query<{ next: string }>(next))[0]!.next,
  };
}
