// Processes the table outbox: leases due rows of a channel, postpones those that fail, and deletes those that are done.
import { type Sql, statement } from '../../database/database.ts';

/** A row that this instance has leased. */
export interface OutboxRow {
  id: string;
  /** Of the mail, or of the subscriber. */
  name: string;
  sub: string | undefined;
  clientId: string | undefined;
  sessionId: string | undefined;
  recipient: string | undefined;
  locale: string | undefined;
  data: Record<string, unknown>;
  messageId: string;
  /** The number of attempts, including the current one. */
  attempts: number;
  lastFailure: string | undefined;
}

interface Row {
  id: string;
  name: string;
  sub: string | null;
  client_id: string | null;
  session_id: string | null;
  recipient: string | null;
  locale: string | null;
  data: Record<string, unknown>;
  message_id: string;
  attempts: number;
  last_failure: string | null;
}

const claim = statement(
  'outbox.claim',
  `UPDATE outbox SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $3)
    WHERE id = ANY (ARRAY(
      SELECT id FROM outbox WHERE channel = $1 AND next_attempt_at <= now()
       ORDER BY next_attempt_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))
   RETURNING *`,
);
const fail = statement(
  'outbox.fail',
  `UPDATE outbox SET last_failure = $2,
          next_attempt_at = now() + make_interval(secs => least($4, $3 * 2 ^ least(attempts - 1, 30)) * (0.5 + random() / 2))
    WHERE id = $1 RETURNING extract(epoch FROM next_attempt_at - now())::float8 AS pause`,
);
const waits = statement('outbox.waits', 'SELECT 1 AS waits FROM outbox WHERE id = $1');
const nextPause = statement(
  'outbox.next_pause',
  `SELECT extract(epoch FROM min(next_attempt_at) - now())::float8 AS pause
     FROM outbox WHERE channel = $1 AND next_attempt_at > now()`,
);
const remove = statement('outbox.delete', 'DELETE FROM outbox WHERE id = ANY ($1::bigint[]) RETURNING id');
// the row about waiting registrations is not a mail itself: between two mails it has no attempts
const giveUp = statement(
  'outbox.give_up',
  `DELETE FROM outbox WHERE id = ANY (ARRAY(
     SELECT id FROM outbox WHERE channel = $1 AND created_at <= now() - make_interval(secs => $2) AND name <> 'registrations'
      ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED))
   RETURNING *`,
);

const firstPause = 5; // seconds
const maxPause = 900;

export function outboxRepository(sql: Sql) {
  return {
    /** Leases due rows of a channel for `lease` seconds, in the order in which they became due. */
    async claim(channel: string, limit: number, lease: number): Promise<OutboxRow[]> {
      const rows = await sql.query<Row>(claim, [channel, limit, lease]);
      return rows.map(toOutboxRow).sort((one, other) => Number(one.id) - Number(other.id));
    },
    /** Records a failed attempt; returns the seconds until the next one, or undefined when the row is gone. */
    async fail(id: string, reason: string): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number }>(fail, [id, reason, firstPause, maxPause]);
      return row?.pause;
    },
    /** False for a row that was cancelled, or completed by another instance. */
    async waits(id: string): Promise<boolean> {
      return (await sql.query(waits, [id])).length > 0;
    },
    /** Seconds until the next row of a channel is due; undefined without one. */
    async nextPause(channel: string): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number | null }>(nextPause, [channel]);
      return row?.pause ?? undefined;
    },
    /** Deletes a row; false when it was deleted before. */
    async delete(id: string): Promise<boolean> {
      return (await sql.query(remove, [[id]])).length > 0;
    },
    /** Deletes rows, and returns the ids of those that were not deleted before. */
    async deleteAll(ids: readonly string[]): Promise<Set<string>> {
      return new Set((await sql.query<{ id: string }>(remove, [ids])).map(({ id }) => id));
    },
    /** Deletes a batch of a channel's rows that failed for `retention` seconds. */
    async giveUp(channel: string, retention: number): Promise<OutboxRow[]> {
      return (await sql.query<Row>(giveUp, [channel, retention])).map(toOutboxRow);
    },
  };
}

function toOutboxRow(row: Row): OutboxRow {
  return {
    id: row.id,
    name: row.name,
    sub: row.sub ?? undefined,
    clientId: row.client_id ?? undefined,
    sessionId: row.session_id ?? undefined,
    recipient: row.recipient ?? undefined,
    locale: row.locale ?? undefined,
    data: row.data,
    messageId: row.message_id,
    attempts: row.attempts,
    lastFailure: row.last_failure ?? undefined,
  };
}
