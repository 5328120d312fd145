// Reads and writes the tables logout_deliveries and logout_receivers: the queue of back-channel logouts, which outlives a process.
import { type Sql, statement } from '../../database/database.ts';
import type { Page } from '../clients/client-listing.ts';

export const logoutDeliveryStatuses = ['waiting', 'delivered', 'refused', 'given_up'] as const;
export type LogoutDeliveryStatus = (typeof logoutDeliveryStatuses)[number];

/** The end of one session, of which one client must be notified. */
export interface LogoutDelivery {
  id: string;
  clientId: string;
  sub: string;
  /** The subject of the user for the client: pairwise, or the user's own sub. */
  subject: string;
  sid: string;
  /** The number of attempts, including the current one. */
  attempts: number;
}

export interface LogoutDeliverySummary extends LogoutDelivery {
  status: LogoutDeliveryStatus;
  lastFailure: string | undefined;
  createdAt: Date;
  /** Undefined when it is finished. */
  nextAttemptAt: Date | undefined;
  finishedAt: Date | undefined;
}

interface Row {
  id: string;
  client_id: string;
  sub: string;
  subject: string;
  sid: string;
  attempts: number;
}

interface SummaryRow extends Row {
  status: LogoutDeliveryStatus;
  last_failure: string | null;
  created_at: Date;
  next_attempt_at: Date | null;
  finished_at: Date | null;
}

/*
 * Steps from client to client along the index, so that a long queue of a failing receiver costs no more than a short one.
 * A receiver that failed last time gets one attempt at a time, of the delivery with the fewest attempts: neither a failing
 * receiver nor a single delivery that never succeeds delays the others.
 */
const claim = statement(
  'logout_deliveries.claim',
  `WITH RECURSIVE waiting AS (
     (SELECT client_id FROM logout_deliveries WHERE status = 'waiting' ORDER BY client_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.client_id FROM logout_deliveries d
              WHERE d.status = 'waiting' AND d.client_id > w.client_id ORDER BY d.client_id LIMIT 1)
       FROM waiting w WHERE w.client_id IS NOT NULL),
   receivers AS MATERIALIZED (
     SELECT w.client_id, CASE WHEN r.client_id IS NULL THEN $3::int ELSE 1 END AS parallel
       FROM waiting w LEFT JOIN logout_receivers r ON r.client_id = w.client_id
      WHERE w.client_id <> ALL ($1::text[]) AND (r.client_id IS NULL OR r.retry_at <= now())
        AND EXISTS (SELECT FROM logout_deliveries d
                     WHERE d.client_id = w.client_id AND d.status = 'waiting' AND d.next_attempt_at <= now())
      ORDER BY (r.client_id IS NOT NULL), random() LIMIT $2)
   UPDATE logout_deliveries SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $4)
    WHERE id = ANY (ARRAY(
      SELECT due.id FROM receivers CROSS JOIN LATERAL (
        SELECT d.id FROM logout_deliveries d
         WHERE d.client_id = receivers.client_id AND d.status = 'waiting' AND d.next_attempt_at <= now()
         ORDER BY d.attempts, d.id LIMIT receivers.parallel FOR UPDATE SKIP LOCKED) AS due))
   RETURNING id, client_id, sub, coalesce(subject, sub) AS subject, sid, attempts, now() AS now`,
);
// any answer ends a receiver's pause
const finish = statement(
  'logout_deliveries.finish',
  `WITH receiver AS (DELETE FROM logout_receivers WHERE client_id = $2)
   UPDATE logout_deliveries SET status = $3, last_failure = coalesce($4, last_failure), finished_at = now(),
          expires_at = now() + make_interval(secs => $5)
    WHERE id = $1 AND status = 'waiting' RETURNING id`,
);
// the pause doubles with each consecutive failure, with jitter; several concurrent failures count as one
const fail = statement(
  'logout_deliveries.fail',
  `WITH receiver AS (
     INSERT INTO logout_receivers AS r (client_id, failures, retry_at)
     VALUES ($2, 1, now() + make_interval(secs => $4 * (0.5 + random() / 2)))
     ON CONFLICT (client_id) DO UPDATE SET failures = r.failures + 1,
            retry_at = now() + make_interval(secs => least($5, $4 * 2 ^ least(r.failures, 30)) * (0.5 + random() / 2))
      WHERE r.retry_at <= now()
     RETURNING retry_at)
   UPDATE logout_deliveries SET last_failure = $3,
          next_attempt_at = coalesce((SELECT retry_at FROM receiver), (SELECT retry_at FROM logout_receivers WHERE client_id = $2), now())
    WHERE id = $1 AND status = 'waiting'
   RETURNING extract(epoch FROM next_attempt_at - now())::float8 AS pause`,
);
const nextPause = statement(
  'logout_deliveries.next_pause',
  'SELECT extract(epoch FROM min(retry_at) - now())::float8 AS pause FROM logout_receivers WHERE retry_at > now()',
);
const giveUp = statement(
  'logout_deliveries.give_up',
  `UPDATE logout_deliveries SET status = 'given_up', finished_at = now(), expires_at = now() + make_interval(secs => $1)
    WHERE id = ANY (ARRAY(
      SELECT id FROM logout_deliveries WHERE status = 'waiting' AND created_at <= now() - make_interval(secs => $1)
       ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED))
   RETURNING id, client_id, sub, coalesce(subject, sub) AS subject, sid, attempts, last_failure`,
);
const listing = (client: string) =>
  `SELECT d.*, coalesce(d.subject, d.sub) AS subject, CASE WHEN d.status = 'waiting' THEN greatest(d.next_attempt_at, r.retry_at) END AS next_attempt_at
     FROM logout_deliveries d LEFT JOIN logout_receivers r ON r.client_id = d.client_id
    WHERE ${client} AND ($2::text IS NULL OR d.status = $2)
      AND ($3::timestamptz IS NULL OR (d.created_at, d.id) < ($3, $4::bigint))
    ORDER BY d.created_at DESC, d.id DESC LIMIT $5`;
const list = statement('logout_deliveries.list', listing('$1::text IS NULL'));
// a separate statement, so that it is planned with its own index
const listOfClient = statement('logout_deliveries.list_of_client', listing('d.client_id = $1'));

const firstPause = 1; // seconds
const maxPause = 60;

export function logoutDeliveriesRepository(sql: Sql) {
  return {
    /**
     * Leases due deliveries for `lease` seconds, of at most `receivers` clients that are not in `busy`. Each one has the database's time.
     * @param parallel the most deliveries of one client
     */
    async claim(options: {
      busy: string[];
      receivers: number;
      parallel: number;
      lease: number;
    }): Promise<(LogoutDelivery & { now: Date })[]> {
      const { busy, receivers, parallel, lease } = options;
      const rows = await sql.query<Row & { now: Date }>(claim, [busy, receivers, parallel, lease]);
      return rows.map((row) => ({ ...toDelivery(row), now: row.now }));
    },
    /** Records the receiver's answer; false when it was recorded before. @param retention seconds for which the row is kept */
    async finish(
      delivery: LogoutDelivery,
      status: 'delivered' | 'refused' | 'given_up',
      retention: number,
      reason?: string,
    ): Promise<boolean> {
      return (await sql.query(finish, [delivery.id, delivery.clientId, status, reason, retention])).length > 0;
    },
    /** Records a failed attempt; returns the seconds until the next one, or undefined when the delivery is finished. */
    async fail(delivery: LogoutDelivery, reason: string): Promise<number | undefined> {
      const values = [delivery.id, delivery.clientId, reason, firstPause, maxPause];
      const [row] = await sql.query<{ pause: number }>(fail, values);
      return row?.pause;
    },
    /** Seconds until the next pause of a receiver ends; undefined when no receiver pauses. */
    async nextPause(): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number | null }>(nextPause);
      return row?.pause ?? undefined;
    },
    /** Abandons a batch of deliveries that failed for `retention` seconds. */
    async giveUp(retention: number): Promise<(LogoutDelivery & { lastFailure: string | undefined })[]> {
      const rows = await sql.query<Row & { last_failure: string | null }>(giveUp, [retention]);
      return rows.map((row) => ({ ...toDelivery(row), lastFailure: row.last_failure ?? undefined }));
    },
    async list(
      filter: { clientId: string | undefined; status: LogoutDeliveryStatus | undefined },
      page: Page,
    ): Promise<LogoutDeliverySummary[]> {
      const values = [filter.clientId, filter.status, page.after?.at, page.after?.id, page.limit];
      const rows = await sql.query<SummaryRow>(filter.clientId === undefined ? list : listOfClient, values);
      return rows.map((row) => ({
        ...toDelivery(row),
        status: row.status,
        lastFailure: row.last_failure ?? undefined,
        createdAt: row.created_at,
        nextAttemptAt: row.next_attempt_at ?? undefined,
        finishedAt: row.finished_at ?? undefined,
      }));
    },
  };
}

function toDelivery(row: Row): LogoutDelivery {
  const { id, sub, subject, sid, attempts } = row;
  return { id, clientId: row.client_id, sub, subject, sid, attempts };
}
