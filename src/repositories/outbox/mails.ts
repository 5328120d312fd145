// Queues mails: each is a row of the outbox until it is sent.
import { type Sql, statement } from '../../database/database.ts';

/** A mail to queue, or several if it concerns several recipients. */
export interface QueuedMail {
  name: string;
  sub?: string | undefined;
  clientId?: string | undefined;
  /** The session that requested the mail, if the mail is void after the end of the session. */
  sessionId?: string | undefined;
  /** The recipient, if not the user's own address. */
  recipient?: string | undefined;
  /** The language of the request, for users who have chosen none. */
  locale?: string | undefined;
  /** The content of the mail; never a secret. */
  data?: Record<string, unknown> | undefined;
}

// a conflict is with the one row about waiting registrations
const insert = statement(
  'mails.insert',
  `INSERT INTO outbox (channel, name, sub, client_id, recipient, locale, data, session_id) VALUES ('mail', $1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT DO NOTHING`,
);
// only users with a verified address get the mail
const notify = statement(
  'mails.notify',
  `INSERT INTO outbox (channel, name, sub, locale, data)
   SELECT 'mail', $1, sub, $3, $4 FROM users WHERE sub = $2 AND email_verified AND email IS NOT NULL`,
);
const toAdministrators = statement(
  'mails.to_administrators',
  `INSERT INTO outbox (channel, name, sub, data, client_id)
   SELECT 'mail', $1, sub, $2, $3 FROM users WHERE admin AND status = 'enabled' AND email_verified AND email IS NOT NULL`,
);
// it counts as queued from its due time: before that, it is not delayed
const later = statement(
  'mails.later',
  `INSERT INTO outbox (channel, name, data, created_at, next_attempt_at)
   VALUES ('mail', $1, $2, now() + make_interval(secs => $3), now() + make_interval(secs => $3)) ON CONFLICT DO NOTHING`,
);
// a mail that is scheduled for later is neither tried nor due
const waiting = statement(
  'mails.waiting',
  `SELECT count(*)::int AS waiting, min(CASE WHEN attempts = 0 THEN next_attempt_at ELSE created_at END) AS since
     FROM outbox WHERE channel = 'mail' AND (attempts > 0 OR next_attempt_at <= now())`,
);

export function mailsRepository(sql: Sql) {
  return {
    async insert({ name, sub, clientId, sessionId, recipient, locale, data = {} }: QueuedMail): Promise<void> {
      await sql.query(insert, [name, sub, clientId, recipient, locale, data, sessionId]);
    },
    /** Queues a mail to a user's verified address. For a user without one it stores nothing. */
    async notify({ name, sub, locale, data = {} }: QueuedMail & { sub: string }): Promise<void> {
      await sql.query(notify, [name, sub, locale, data]);
    },
    async insertForAdministrators({ name, clientId, data = {} }: QueuedMail): Promise<void> {
      await sql.query(toAdministrators, [name, data, clientId]);
    },
    /** Queues a mail for later. @param pause in seconds */
    async insertForLater({ name, data = {} }: QueuedMail, pause: number): Promise<void> {
      await sql.query(later, [name, data, pause]);
    },
    /** How many mails are overdue, and since when. */
    async waiting(): Promise<{ waiting: number; since: Date | undefined }> {
      const [row] = await sql.query<{ waiting: number; since: Date | null }>(waiting);
      return { waiting: row!.waiting, since: row!.since ?? undefined };
    },
  };
}
