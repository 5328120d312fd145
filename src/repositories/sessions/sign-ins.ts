// The one statement that signs somebody in: the session, the browser that is known from now on, the notice by mail and the event, all or nothing.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { type AuditEvent, type AuditLog, eventValues, type EventListener, eventTypes } from '../audit/audit-events.ts';
import { batchedCall } from '../batched-call.ts';
import { mostBrowsers, rememberBrowser } from './device-cookies.ts';
import type { MailOrder } from '../mails/mails.ts';
import { type NewSession, sessionValues, storeSession } from './sessions.ts';
import { failuresOf } from './sign-in-failures.ts';

export interface NewSignIn {
  session: NewSession;
  /** The same person's session in this browser, which goes on under the new cookie; undefined for a new session. */
  renews: string | undefined;
  /** By which token the browser is known, before and from now on; its lifetime in seconds. */
  browser: { hash: Buffer; previousHash: Buffer | undefined; lifetime: number };
  /** Sent to whoever was not known in this browser, at a verified address. */
  notice: MailOrder;
  event: AuditEvent;
  /** Whether strangers' failures with the password are forgotten. */
  forgives: boolean;
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
// of two of these one may hold the session that the other wants: each by itself
const renewingSignIn = statement('sign_ins.renew', signIn.text);

export function signInsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /**
     * Signs in; false when the user was disabled or the password changed meanwhile, and for whoever has a second factor and has not shown it.
     * @param log where the event's line is written
     */
    async insert(
      { session, renews, browser, notice, event, forgives, perUser }: NewSignIn,
      log?: AuditLog,
    ): Promise<boolean> {
      const [row] = await sql.query<{ ended: string[] | null }>(renews === undefined ? signIn : renewingSignIn, [
        ...sessionValues(session),
        renews,
        perUser,
        browser.hash,
        browser.previousHash,
        browser.lifetime,
        mostBrowsers,
        notice.name,
        notice.locale,
        notice.data ?? {},
        ...eventValues(event),
        forgives ? failuresOf({ sub: session.sub, name: '' }) : undefined,
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
