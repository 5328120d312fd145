// Signs a user in with one atomic statement: the session, the device cookie, the security notification and the event.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { SignInRefusal } from '../../rules/access/sign-in-decision.ts';
import { type AuditEvent, type AuditLog, eventMembers, type EventListener } from '../audit/audit-events.ts';
import { batchedCall } from '../batched-call.ts';
import { maxBrowsers, rememberBrowser } from './device-cookies.ts';
import type { QueuedMail } from '../outbox/mails.ts';
import { type NewSession, sessionMembers, storeSession } from './sessions.ts';
import { failuresOf } from './sign-in-failures.ts';

export interface NewSignIn {
  session: NewSession;
  /** The user's session in this browser to renew under the new cookie; undefined for a new session. */
  renews: string | undefined;
  /** The previous and the new token of the device cookie; the lifetime, and how long it spares a second factor from now on, in seconds. */
  browser: { hash: Buffer; previousHash: Buffer | undefined; lifetime: number; spares?: number | undefined };
  /** Sent to the user's verified address if the browser was unknown. */
  notice: QueuedMail;
  event: AuditEvent;
  /** Whether the sign-in resets the password failures of unknown browsers. */
  resetsFailures: boolean;
  /** How many sessions a user may have; 0 for no limit. */
  perUser: number;
}

const signInFunction = storedFunction(new URL('sign_in.sql', import.meta.url), [storeSession, rememberBrowser]);
const signIn = batchedCall('sign_ins.insert', {
  function: signInFunction,
  types: 'jsonb, jsonb',
  columns: 'r.*',
  // the user
  locks: `value_1 ->> 'sub'`,
});
// never batched: two renewals could each hold a session that the other needs
const renewingSignIn = statement('sign_ins.renew', signIn.text);

export function signInsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /**
     * Signs in; false when decideSignIn() refuses. The decision and its effects are one statement.
     * @param log the log for the event's line
     */
    async insert(
      { session, renews, browser, notice, event, resetsFailures, perUser }: NewSignIn,
      log?: AuditLog,
    ): Promise<boolean> {
      const { expected, issue } = sessionMembers(session, renews);
      const [row] = await sql.query<{ refusal: SignInRefusal | null; ended_sids: string[] | null }>(
        renews === undefined ? signIn : renewingSignIn,
        [
          { ...expected, max_sessions: perUser },
          {
            session: issue,
            browser: {
              token_hash: browser.hash.toString('hex'),
              previous_token_hash: browser.previousHash?.toString('hex'),
              lifetime_seconds: browser.lifetime,
              max_browsers: maxBrowsers,
              second_factor_seconds: browser.spares,
            },
            mail: { name: notice.name, locale: notice.locale, data: notice.data ?? {} },
            event: eventMembers(event),
            reset_failures: resetsFailures ? failuresOf({ sub: session.sub, name: '' }).toString('hex') : undefined,
          },
        ],
      );
      if (row!.refusal !== null) return false;
      const { sub, address } = session;
      for (const sid of row!.ended_sids!) {
        const detail = { session: sid, reason: 'limit' };
        onEvent({ type: 'session.ended', outcome: 'success', actor: sub, sub, address, detail }, log);
      }
      onEvent(event, log);
      return true;
    },
  };
}
