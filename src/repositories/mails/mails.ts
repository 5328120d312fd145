// The table mails: what has yet to be sent, whoever ordered it; it survives the process that has to send it.
import { type Sql, statement } from '../../database/database.ts';

/** An order for a mail, or for as many as it turns out to concern. */
export interface MailOrder {
  name: string;
  sub?: string | undefined;
  clientId?: string | undefined;
  /** The session that ordered it, where it is worth nothing without. */
  sessionId?: string | undefined;
  /** Where it goes, if not to the user's own address. */
  recipient?: string | undefined;
  /** Of the request that ordered it, for people who have chosen none. */
  locale?: string | undefined;
  /** What the mail says; never a secret. */
  data?: Record<string, unknown> | undefined;
}

export interface QueuedMail extends MailOrder {
  id: string;
  messageId: string;
  data: Record<string, unknown>;
  /** How often it was tried, the attempt under way included. */
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
// only people whose address is known to be theirs are told
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
// it counts as ordered when it is due: until then it waits for nothing
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
// a request for what waits was never a mail: it rests between two
const giveUp = statement(
  'mails.give_up',
  `DELETE FROM mails WHERE id = ANY (ARRAY(
     SELECT id FROM mails WHERE created_at <= now() - make_interval(secs => $1) AND name <> 'registrations'
      ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED))
   RETURNING *`,
);
// what is scheduled for later was not tried yet, and is not due
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
    /** Orders a mail to a user's verified address; of whoever has none nothing is stored. */
    async notify({ name, sub, locale, data = {} }: MailOrder & { sub: string }): Promise<void> {
      await sql.query(notify, [name, sub, locale, data]);
    },
    async insertForAdministrators({ name, data = {} }: MailOrder): Promise<void> {
      await sql.query(toAdministrators, [name, data]);
    },
    /** An order for later. @param pause in seconds */
    async insertForLater({ name, data = {} }: MailOrder, pause: number): Promise<void> {
      await sql.query(later, [name, data, pause]);
    },
    /** Takes what is due for `lease` seconds. */
    async claim(limit: number, lease: number): Promise<QueuedMail[]> {
      return (await sql.query<Row>(claim, [limit, lease])).map(toMail);
    },
    /** Records that it could not be sent; returns the seconds until the next attempt, or undefined when it is gone. */
    async fail(id: string, reason: string): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number }>(fail, [id, reason, firstPause, longestPause]);
      return row?.pause;
    },
    /** False for an order that was taken back, or done by somebody else. */
    async waits(id: string): Promise<boolean> {
      return (await sql.query(waits, [id])).length > 0;
    },
    /** Seconds until the next one is due; undefined when none is. */
    async nextPause(): Promise<number | undefined> {
      const [row] = await sql.query<{ pause: number | null }>(nextPause);
      return row?.pause ?? undefined;
    },
    /** False when it was gone before. */
    async delete(id: string): Promise<boolean> {
      return (await sql.query(remove, [id])).length > 0;
    },
    /** Deletes what could not be sent for so many seconds, a batch at a time. */
    async giveUp(patience: number): Promise<QueuedMail[]> {
      return (await sql.query<Row>(giveUp, [patience])).map(toMail);
    },
    /** How much waits that was to be sent by now, and since when. */
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
