// Reads and writes the tables webhook_deliveries and webhook_receivers: the queue of messages to webhooks, which outlives a process.
import { type Sql, statement } from '../../database/database.ts';
import type { Page } from '../clients/client-listing.ts';

/** The answer of a receiver: its time is in milliseconds, and its start the first characters of its body. */
export interface WebhookAnswer {
  status: number;
  time: number;
  start: string;
}

export interface WebhookMessage {
  eventId: string;
  type: string;
  body: string;
}

export interface WebhookDelivery extends WebhookMessage {
  id: string;
  webhookId: string;
  /** The number of attempts, including the current one. */
  attempts: number;
}

export interface WebhookDeliverySummary extends Omit<WebhookDelivery, 'body'> {
  status: 'waiting' | 'delivered' | 'given_up';
  answer: WebhookAnswer | undefined;
  lastFailure: string | undefined;
  createdAt: Date;
  /** Undefined when it is finished. */
  nextAttemptAt: Date | undefined;
  finishedAt: Date | undefined;
}

interface Row {
  id: string;
  webhook_id: string;
  event_id: string;
  type: string;
  body: string;
  attempts: number;
}

interface SummaryRow extends Omit<Row, 'body'> {
  status: WebhookDeliverySummary['status'];
  answer_status: number | null;
  answer_time: number | null;
  answer_start: string | null;
  last_failure: string | null;
  created_at: Date;
  next_attempt_at: Date | null;
  finished_at: Date | null;
}

const insert = statement(
  'webhook_deliveries.insert',
  `WITH made AS (
     INSERT INTO webhook_deliveries (webhook_id, event_id, type, body)
     SELECT id, $2, $3, $4 FROM webhooks WHERE id = ANY ($1::text[]) RETURNING id)
   SELECT id::text, pg_notify('gatehouse', 'webhook') FROM made`,
);
/*
 * Steps from webhook to webhook along the index, so that a long queue costs no more than a short one. A receiver that failed last time
 * gets one message at a time: what is due first.
 */
const claim = statement(
  'webhook_deliveries.claim',
  `WITH RECURSIVE waiting AS (
     (SELECT webhook_id FROM webhook_deliveries WHERE status = 'waiting' ORDER BY webhook_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.webhook_id FROM webhook_deliveries d
              WHERE d.status = 'waiting' AND d.webhook_id > w.webhook_id ORDER BY d.webhook_id LIMIT 1)
       FROM waiting w WHERE w.webhook_id IS NOT NULL),
   receivers AS MATERIALIZED (
     SELECT h.id, CASE WHEN r.webhook_id IS NULL THEN $3::int ELSE 1 END AS parallel
       FROM waiting w JOIN webhooks h ON h.id = w.webhook_id AND h.status = 'enabled'
       LEFT JOIN webhook_receivers r ON r.webhook_id = h.id
      WHERE h.id <> ALL ($1::text[]) AND (r.webhook_id IS NULL OR r.retry_at <= now())
      ORDER BY (r.webhook_id IS NOT NULL), random() LIMIT $2)
   UPDATE webhook_deliveries SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $4)
    WHERE id = ANY (ARRAY(
      SELECT due.id FROM receivers CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d
         WHERE d.webhook_id = receivers.id AND d.status = 'waiting' AND d.next_attempt_at <= now()
         ORDER BY d.next_attempt_at, d.id LIMIT receivers.parallel FOR UPDATE SKIP LOCKED) AS due))
   RETURNING id::text, webhook_id, event_id::text, type, body, attempts`,
);
const answered = `answer_status = $3, answer_time = $4, answer_start = $5`;
// a good answer ends the pause of a receiver
const deliver = statement(
  'webhook_deliveries.deliver',
  `WITH receiver AS (DELETE FROM webhook_receivers WHERE webhook_id = $2)
   UPDATE webhook_deliveries SET status = 'delivered', ${answered}, finished_at = now(), expires_at = now() + make_interval(secs => $6)
    WHERE id = $1 AND status = 'waiting' RETURNING id`,
);
// the pause doubles with each failure after another; several failures at the same time count as one
const failReceiver = `INSERT INTO webhook_receivers AS r (webhook_id, failures, failing_since, retry_at)
     SELECT id, 1, now(), now() + make_interval(secs => $7) FROM webhooks WHERE id = $2
     ON CONFLICT (webhook_id) DO UPDATE SET failures = r.failures + 1,
            retry_at = now() + make_interval(secs => least($8, $7 * 2 ^ least(r.failures, 20)))
      WHERE r.retry_at <= now()`;
const fail = statement(
  'webhook_deliveries.fail',
  `WITH receiver AS (${failReceiver})
   UPDATE webhook_deliveries d SET ${answered}, last_failure = $6, next_attempt_at = now() + make_interval(secs => $9)
    WHERE id = $1 AND status = 'waiting'
   RETURNING (SELECT r.failing_since <= now() - make_interval(secs => $10) FROM webhook_receivers r WHERE r.webhook_id = $2) AS long`,
);
const end = statement(
  'webhook_deliveries.end',
  `WITH receiver AS (${failReceiver})
   UPDATE webhook_deliveries SET status = 'given_up', ${answered}, last_failure = $6, finished_at = now(),
          expires_at = now() + make_interval(secs => $9)
    WHERE id = $1 AND status = 'waiting' RETURNING id`,
);
const nextPause = statement(
  'webhook_deliveries.next_pause',
  `SELECT extract(epoch FROM least(
            (SELECT min(next_attempt_at) FROM webhook_deliveries WHERE status = 'waiting' AND next_attempt_at > now()),
            (SELECT min(retry_at) FROM webhook_receivers WHERE retry_at > now())) - now())::float8 AS pause`,
);
const giveUp = statement(
  'webhook_deliveries.give_up',
  `UPDATE webhook_deliveries SET status = 'given_up', finished_at = now(), expires_at = now() + make_interval(secs => $2)
    WHERE id = ANY (ARRAY(
      SELECT id FROM webhook_deliveries WHERE status = 'waiting' AND created_at <= now() - make_interval(secs => $1)
       ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED))
   RETURNING id::text, webhook_id, event_id::text, type, body, attempts, last_failure`,
);
const forgive = statement(
  'webhook_deliveries.forgive',
  `WITH receiver AS (DELETE FROM webhook_receivers WHERE webhook_id = $1) SELECT pg_notify('gatehouse', 'webhook')`,
);
const endPause = statement(
  'webhook_deliveries.end_pause',
  'UPDATE webhook_receivers SET retry_at = now() WHERE webhook_id = $1 AND retry_at > now()',
);
const list = statement(
  'webhook_deliveries.list',
  `SELECT id::text, webhook_id, event_id::text, type, attempts, status, answer_status, answer_time, answer_start, last_failure, created_at, finished_at,
          CASE WHEN status = 'waiting' THEN next_attempt_at END AS next_attempt_at
     FROM webhook_deliveries
    WHERE webhook_id = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3::bigint))
    ORDER BY created_at DESC, id DESC LIMIT $4`,
);

/** Seconds: the pause of a receiver after its first failure, and the longest one. */
const firstPause = 5;
const maxPause = 300;
/** For how long a finished delivery is kept. */
const kept = 7 * 86_400;

const valuesOf = (answer: WebhookAnswer | undefined) => [answer?.status, answer?.time, answer?.start];

export function webhookDeliveriesRepository(sql: Sql) {
  return {
    /** @returns how many webhooks still exist, and get the message */
    insert: async (webhookIds: readonly string[], { eventId, type, body }: WebhookMessage): Promise<number> =>
      (await sql.query(insert, [webhookIds, eventId, type, body])).length,
    /** Leases due messages for `lease` seconds, of at most `receivers` webhooks that are not in `busy`. @param parallel the most messages of one webhook */
    async claim(options: {
      busy: string[];
      receivers: number;
      parallel: number;
      lease: number;
    }): Promise<WebhookDelivery[]> {
      const { busy, receivers, parallel, lease } = options;
      return (await sql.query<Row>(claim, [busy, receivers, parallel, lease])).map(toDelivery);
    },
    /** Records a good answer; false when the delivery was ended before. */
    deliver: async ({ id, webhookId }: WebhookDelivery, answer: WebhookAnswer): Promise<boolean> =>
      (await sql.query(deliver, [id, webhookId, ...valuesOf(answer), kept])).length > 0,
    /**
     * Records a failed attempt. @param pause in seconds until the next one
     * @returns undefined when the delivery was ended before; otherwise whether the receiver has failed for `limit` seconds
     */
    async fail(
      { id, webhookId }: WebhookDelivery,
      reason: string,
      answer: WebhookAnswer | undefined,
      { pause, limit }: { pause: number; limit: number },
    ): Promise<{ isLong: boolean } | undefined> {
      const values = [id, webhookId, ...valuesOf(answer), reason, firstPause, maxPause, pause, limit];
      const [row] = await sql.query<{ long: boolean | null }>(fail, values);
      return row && { isLong: row.long === true };
    },
    /** Ends a delivery that no attempt can help; false when it was ended before. */
    async end({ id, webhookId }: WebhookDelivery, reason: string, answer: WebhookAnswer | undefined): Promise<boolean> {
      const values = [id, webhookId, ...valuesOf(answer), reason, firstPause, maxPause, kept];
      return (await sql.query(end, values)).length > 0;
    },
    /** Seconds until a message is due, or a pause of a receiver ends; undefined when none waits. */
    async nextPause(): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number | null }>(nextPause);
      return row?.pause ?? undefined;
    },
    /** Ends a batch of messages that have waited for `most` seconds, such as those of a disabled webhook. */
    async giveUp(most: number): Promise<(WebhookDelivery & { lastFailure: string | undefined })[]> {
      const rows = await sql.query<Row & { last_failure: string | null }>(giveUp, [most, kept]);
      return rows.map((row) => ({ ...toDelivery(row), lastFailure: row.last_failure ?? undefined }));
    },
    /** Forgets that a receiver failed: it is another one, or an administrator has corrected it. */
    async forgive(webhookId: string): Promise<void> {
      await sql.query(forgive, [webhookId]);
    },
    /** Ends the pause of a receiver: an administrator wants to see its answer now. */
    async endPause(webhookId: string): Promise<void> {
      await sql.query(endPause, [webhookId]);
    },
    /** Newest first. */
    async list(webhookId: string, { limit, after }: Page): Promise<WebhookDeliverySummary[]> {
      const rows = await sql.query<SummaryRow>(list, [webhookId, after?.at, after?.id, limit]);
      return rows.map(toSummary);
    },
  };
}

const toDelivery = ({ id, webhook_id: webhookId, event_id: eventId, type, body, attempts }: Row): WebhookDelivery => ({
  id,
  webhookId,
  eventId,
  type,
  body,
  attempts,
});

const toSummary = (row: SummaryRow): WebhookDeliverySummary => ({
  id: row.id,
  webhookId: row.webhook_id,
  eventId: row.event_id,
  type: row.type,
  attempts: row.attempts,
  status: row.status,
  answer:
    row.answer_status === null
      ? undefined
      : { status: row.answer_status, time: row.answer_time ?? 0, start: row.answer_start ?? '' },
  lastFailure: row.last_failure ?? undefined,
  createdAt: row.created_at,
  nextAttemptAt: row.next_attempt_at ?? undefined,
  finishedAt: row.finished_at ?? undefined,
});
