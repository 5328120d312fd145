// The one statement that signs somebody in: the session, the browser that is known from now on, the notice by mail and the event, all or nothing.
import { type Sql, statement } from '../database/database.ts';
import { type AuditEvent, type AuditLog, eventValues, type EventListener, intoAuditEvents } from './audit-events.ts';
import { mostBrowsers } from './known-browsers.ts';
import { intoMails, type MailOrder } from './mails.ts';
import { insertedSession, type NewSession, renewedSession, sessionValues } from './sessions.ts';

export interface NewSignIn {
  session: NewSession;
  /** The same person's session in this browser, which goes on under the new cookie; undefined for a new session. */
  renews: string | undefined;
  /** By which token the browser is known, before and from now on; its lifetime in seconds. */
  browser: { hash: Buffer; previousHash: Buffer | undefined; lifetime: number };
  /** Sent to whoever was not known in this browser, at a verified address. */
  notice: MailOrder;
  event: AuditEvent;
  /** How many sessions a user may have; 0 for no limit. */
  perUser: number;
}

// The user's row first, so that sign-ins of one person come one after another, and a change of the password sees what they made or is seen.
// The browser is called by another token from now on, for everybody who is known in it. What is surplus is counted once all that is there.
const signIn = (session: string, most: string) => `
  WITH ${session},
  before AS (
    DELETE FROM known_browsers k USING made m WHERE k.token_hash = $13 AND k.sub = m.sub RETURNING k.expires_at > now() AS live),
  renamed AS (
    UPDATE known_browsers k SET token_hash = $12 FROM made m WHERE k.token_hash = $13 AND k.sub <> m.sub),
  known AS (
    INSERT INTO known_browsers (token_hash, sub, expires_at) SELECT $12, sub, now() + make_interval(secs => $14) FROM made
    RETURNING sub),
  mail AS (
    ${intoMails} SELECT $15, u.sub, $16, $17 FROM made JOIN users u USING (sub)
     WHERE u.email_verified AND u.email IS NOT NULL AND NOT EXISTS (SELECT FROM before WHERE live)),
  event AS (
    ${intoAuditEvents} SELECT $18, $19, $20, $21, $22, $23, $24 FROM made)
  SELECT drop_sign_in_surplus(sub, id, ${most}, ${mostBrowsers}, $9) AS ended FROM made JOIN known USING (sub)`;
const inNewSession = statement('sign_ins.in_new_session', signIn(insertedSession, '$11'));
// no session more than before
const inOldSession = statement('sign_ins.in_old_session', signIn(renewedSession, '0'));

export function signInsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /** Signs in; false when the user was disabled or the password changed meanwhile. @param log where the event's line is written */
    async insert({ session, renews, browser, notice, event, perUser }: NewSignIn, log?: AuditLog): Promise<boolean> {
      const [row] = await sql.query<{ ended: string[] }>(renews === undefined ? inNewSession : inOldSession, [
        ...sessionValues(session),
        renews ?? perUser,
        browser.hash,
        browser.previousHash,
        browser.lifetime,
        notice.name,
        notice.locale,
        notice.data ?? {},
        ...eventValues(event),
      ]);
      if (!row) return false;
      const { sub, address } = session;
      for (const ended of row.ended) {
        const detail = { session: ended, reason: 'limit' };
        onEvent({ type: 'session.ended', outcome: 'success', actor: sub, sub, address, detail }, log);
      }
      onEvent(event, log);
      return true;
    },
  };
}
