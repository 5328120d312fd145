// Signs a user in with one atomic statement: the session, the device cookie, the security notification and the event.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { type AuditEvent, type AuditLog, eventValues, type EventListener, eventTypes } from '../audit/audit-events.ts';
import { batchedCall } from '../batched-call.ts';
import { maxBrowsers, rememberBrowser } from './device-cookies.ts';
import type { MailOrder } from '../outbox/mails.ts';
import { type NewSession, sessionValues, storeSession } from './sessions.ts';
import { failuresOf } from './sign-in-failures.ts';

export interface NewSignIn {
  session: NewSession;
  /** The user's session in this browser to renew under the new cookie; undefined for a new session. */
  renews: string | undefined;
  /** The previous and the new token of the device cookie; the lifetime in seconds. */
  browser: { hash: Buffer; previousHash: Buffer | undefined; lifetime: number };
  /** Sent to the user's verified address if the browser was unknown. */
  notice: MailOrder;
  event: AuditEvent;
  /** Whether the sign-in resets the password failures of unknown browsers. */
  resetsFailures: boolean;
  /** How many sessions a user may have; 0 for no limit. */
  perUser: number;
}

const signInFunction = storedFunction(new URL('sign_in.sql', import.meta.url), [storeSession, rememberBrowser]);
const signIn = batchedCall('sign_ins.insert', {
  function: signInFunction,
  types: `bytea, text, text, text, text[], double precision, double precision, text, inet, timestamptz, bigint,
    integer, bytea, bytea, double precision, integer, text, text, jsonb, ${eventTypes}, bytea`,
  columns: 'r AS ended',
  locks: 'value_3',
});
// never batched: two renewals could each hold a session that the other needs
const renewingSignIn = statement('sign_ins.renew', signIn.text);

export function signInsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /**
     * Signs in; false when the user was disabled or the password changed meanwhile, or the user has a second factor but has not shown it.
     * @param log the log for the event's line
     */
    async insert(
      { session, renews, browser, notice, event, resetsFailures, perUser }: NewSignIn,
      log?: AuditLog,
    ): Promise<boolean> {
      const [row] = await sql.query<{ ended: string[] | null }>(renews === undefined ? signIn : renewingSignIn, [
        ...sessionValues(session),
        renews,
        perUser,
        browser.hash,
        browser.previousHash,
        browser.lifetime,
        maxBrowsers,
        notice.name,
        notice.locale,
        notice.data ?? {},
        ...eventValues(event),
        resetsFailures ? failuresOf({ sub: session.sub, name: '' }) : undefined,
      ]);
      const ended = row!.ended;
      if (!ended) return false;
      const { sub, address } = session;
      for (const name of ended) {
        const detail = { session: name, reason: 'limit' };
        onEvent({ type: 'session.ended', outcome: 'success', actor: sub, sub, address, detail }, log);
      }
      onEvent(event, log);
      return true;
    },
  };
}
