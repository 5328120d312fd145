// Reads and writes the table mails: the queue of mails to send, which outlives a process.
import { type Sql, statement } from '../../database/database.ts';

/** An order for one mail, or for several if it concerns several recipients. */
export interface MailOrder {
  name: string;
  sub?: string | undefined;
  clientId?: string | undefined;
  /** The session that ordered the mail, if it is void after the session's end. */
  sessionId?: string | undefined;
  /** The recipient, if not the user's own address. */
  recipient?: string | undefined;
  /** The language of the request, for users who have chosen none. */
  locale?: string | undefined;
  /** The content of the mail; never a secret. */
  data?: Record<string, unknown> | undefined;
}

export interface QueuedMail extends MailOrder {
  id: string;
  messageId: string;
  data: Record<string, unknown>;
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

const insert = statement(
  'mails.insert',
  'INSERT INTO mails (name, sub, client_id, recipient, locale, data, session_id) VALUES ($1, $2, $3, $4, $5, $6, $7)',
);
// only users with a verified address get the mail
const notify = statement(
  'mails.notify',
  `INSERT INTO mails (name, sub, locale, data)
   SELECT $1, sub, $3, $4 FROM users WHERE sub = $2 AND email_verified AND email IS NOT NULL`,
);
const toAdministrators = statement(
  'mails.to_administrators',
  `INSERT INTO mails (name, sub, data)
   SELECT $1, sub, $2 FROM users WHERE admin AND status = 'enabled' AND email_verified AND email IS NOT NULL`,
);
// it counts as ordered from its due time: before that, it is not delayed
const later = statement(
  'mails.later',
  `INSERT INTO mails (name, data, created_at, next_attempt_at)
   VALUES ($1, $2, now() + make_interval(secs => $3), now() + make_interval(secs => $3)) ON CONFLICT DO NOTHING`,
);
const claim = statement(
  'mails.claim',
  `UPDATE mails SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $2)
    WHERE id = ANY (ARRAY(
      SELECT id FROM mails WHERE next_attempt_at <= now() ORDER BY next_attempt_at, id LIMIT $1 FOR UPDATE SKIP LOCKED))
   RETURNING *`,
);
const fail = statement(
  'mails.fail',
  `UPDATE mails SET last_failure = $2,
          next_attempt_at = now() + make_interval(secs => least($4, $3 * 2 ^ least(attempts - 1, 30)) * (0.5 + random() / 2))
    WHERE id = $1 RETURNING extract(epoch FROM next_attempt_at - now())::float8 AS pause`,
);
const waits = statement('mails.waits', 'SELECT 1 AS waits FROM mails WHERE id = $1');
const nextPause = statement(
  'mails.next_pause',
  'SELECT extract(epoch FROM min(next_attempt_at) - now())::float8 AS pause FROM mails WHERE next_attempt_at > now()',
);
const remove = statement('mails.delete', 'DELETE FROM mails WHERE id = $1 RETURNING id');
// a row for waiting registrations is not a mail itself: between two mails it has no attempts
const giveUp = statement(
  'mails.give_up',
  `DELETE FROM mails WHERE id = ANY (ARRAY(
     SELECT id FROM mails WHERE created_at <= now() - make_interval(secs => $1) AND name <> 'registrations'
      ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED))
   RETURNING *`,
);
// a mail that is scheduled for later is neither tried nor due
const waiting = statement(
  'mails.waiting',
  `SELECT count(*)::int AS waiting, min(CASE WHEN attempts = 0 THEN next_attempt_at ELSE created_at END) AS since
     FROM mails WHERE attempts > 0 OR next_attempt_at <= now()`,
);

const firstPause = 5; // seconds
const longestPause = 900;

export function mailsRepository(sql: Sql) {
  return {
    async insert({ name, sub, clientId, sessionId, recipient, locale, data = {} }: MailOrder): Promise<void> {
      await sql.query(insert, [name, sub, clientId, recipient, locale, data, sessionId]);
    },
    /** Orders a mail to a user's verified address. For a user without one it stores nothing. */
    async notify({ name, sub, locale, data = {} }: MailOrder & { sub: string }): Promise<void> {
      await sql.query(notify, [name, sub, locale, data]);
    },
    async insertForAdministrators({ name, data = {} }: MailOrder): Promise<void> {
      await sql.query(toAdministrators, [name, data]);
    },
    /** Orders a mail for later. @param pause in seconds */
    async insertForLater({ name, data = {} }: MailOrder, pause: number): Promise<void> {
      await sql.query(later, [name, data, pause]);
    },
    /** Leases due mails for `lease` seconds. */
    async claim(limit: number, lease: number): Promise<QueuedMail[]> {
      return (await sql.query<Row>(claim, [limit, lease])).map(toMail);
    },
    /** Records a failed attempt; returns the seconds until the next one, or undefined when the mail is gone. */
    async fail(id: string, reason: string): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number }>(fail, [id, reason, firstPause, longestPause]);
      return row?.pause;
    },
    /** False for an order that was cancelled, or completed by another instance. */
    async waits(id: string): Promise<boolean> {
      return (await sql.query(waits, [id])).length > 0;
    },
    /** Seconds until the next mail is due; undefined without a mail. */
    async nextPause(): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number | null }>(nextPause);
      return row?.pause ?? undefined;
    },
    /** False when it was deleted before. */
    async delete(id: string): Promise<boolean> {
      return (await sql.query(remove, [id])).length > 0;
    },
    /** Deletes a batch of mails that failed for `retention` seconds. */
    async giveUp(retention: number): Promise<QueuedMail[]> {
      return (await sql.query<Row>(giveUp, [retention])).map(toMail);
    },
    /** How many mails are overdue, and since when. */
    async waiting(): Promise<{ waiting: number; since: Date | undefined }> {
      const [row] = await sql.query<{ waiting: number; since: Date | null }>(waiting);
      return { waiting: row!.waiting, since: row!.since ?? undefined };
    },
  };
}

function toMail(row: Row): QueuedMail {
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
