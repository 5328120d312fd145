// Writes the table audit_events: the append-only trail of security-relevant operations.
import { type Sql, statement } from '../../database/database.ts';

/** Every type of event, named after the operation that it records (security R101). */
export const auditEventTypes = [
  'user.signed_in',
  'user.first_factor_shown',
  'user.sign_in_failed',
  'user.locked_out',
  'user.failures_forgotten',
  'user.signed_out',
  'user.created',
  'user.changed',
  'user.disabled',
  'user.deleted',
  'user.password_changed',
  'user.second_factor_added',
  'user.second_factor_removed',
  'user.recovery_codes_renewed',
  'user.recovery_code_used',
  'user.data_downloaded',
  'user.signed_up',
  'user.email_verified',
  'user.email_changed',
  'user.email_change_stopped',
  'users.imported',
  'users.exported',
  'group.created',
  'group.changed',
  'group.deleted',
  'consent.granted',
  'consent.denied',
  'consent.withdrawn',
  'client.registered',
  'client.collected',
  'client.updated',
  'client.credentials_renewed',
  'client.created',
  'client.approved',
  'client.refused',
  'client.expired',
  'client.disabled',
  'client.deleted',
  'client.authentication_failed',
  'code.replayed',
  'code.misused',
  'code.burned',
  'refresh_token.reused',
  'refresh_token.misused',
  'token.revoked',
  'session.ended',
  'client_session.ended',
  'logout_token.delivered',
  'logout_token.refused',
  'logout_token.given_up',
  'keys.rotated',
  'keys.withdrawn',
  'secret_key.reencrypted',
  'registration_token.created',
  'link.sent',
  'link.created',
  'link.used',
  'mail.given_up',
  'audit_events.expired',
  'audit_events.exported',
] as const;
export type AuditEventType = (typeof auditEventTypes)[number];

export interface AuditEvent {
  type: AuditEventType;
  outcome: 'success' | 'failure';
  /** The actor: a subject, a client id, "command line", "schedule" or "service". */
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  address?: string | undefined;
  /** Facts about the operation; never a secret. */
  detail?: Record<string, string | number | boolean | string[] | undefined> | undefined;
  /** Accept-Language of the request: the language of the mail to an actor who has chosen none. It is not stored. */
  languages?: string | undefined;
}

/** The log that an event's line is written to. */
export interface AuditLog {
  info(line: Record<string, unknown>, message: string): void;
}

/** Called once for each stored event, after its transaction. */
export type EventListener = (event: AuditEvent, log: AuditLog | undefined) => void;

const intoAuditEvents = 'INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail)';
const insert = statement('audit_events.insert', `${intoAuditEvents} VALUES ($1, $2, $3, $4, $5, $6, $7)`);
// the trigger that orders the security notification reads the setting
const insertWithLanguages = statement(
  'audit_events.insert_with_languages',
  `${intoAuditEvents} SELECT $1, $2, $3, $4, $5, $6, $7 FROM set_config('gatehouse.languages', $8, true)`,
);
const insertMany = statement(
  'audit_events.insert_many',
  `${intoAuditEvents} SELECT type, outcome, actor, client_id, sub, address, coalesce(detail, '{}') FROM jsonb_to_recordset($1) AS
     e (type text, outcome text, actor text, client_id text, sub text, address inet, detail jsonb)`,
);
// without waiting for the disk: the time of a second flush would reveal that the client exists
const insertForClient = statement(
  'audit_events.insert_for_client',
  `${intoAuditEvents} SELECT $1, $2, $3, client_id, $5, $6, $7 FROM clients, set_config('synchronous_commit', 'off', true)
    WHERE client_id = $4 RETURNING 1 AS done`,
);

export function auditEventsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /** @param log the log for the event's line, if not the common one */
    async insert(event: AuditEvent, log?: AuditLog): Promise<void> {
      const { languages } = event;
      await (languages === undefined
        ? sql.query(insert, eventValues(event))
        : sql.query(insertWithLanguages, [...eventValues(event), languages]));
      onEvent(event, log);
    },
    /** Inserts many events in one statement. */
    async insertMany(events: readonly AuditEvent[]): Promise<void> {
      if (events.length === 0) return;
      const rows = events.map(({ clientId, ...event }) => ({ ...event, client_id: clientId }));
      await sql.query(insertMany, [JSON.stringify(rows)]);
      for (const event of events) onEvent(event, undefined);
    },
    /** Inserts an event if the client is registered: invented names must not fill the trail, and must take as long as others (security R39). */
    async insertForClient(event: AuditEvent & { clientId: string }, log?: AuditLog): Promise<void> {
      if ((await sql.query(insertForClient, eventValues(event))).length > 0) onEvent(event, log);
    },
  };
}

/** The types of the columns that eventValues() returns. */
export const eventTypes = 'text, text, text, text, text, inet, jsonb';

/** The columns type, outcome, actor, client_id, sub, address and detail. */
export function eventValues({ type, outcome, actor, clientId, sub, address, detail = {} }: AuditEvent): unknown[] {
  return [type, outcome, actor, clientId, sub, address, detail];
}

/** Writes an event as one line of the log. All events have the same members in the same order. */
export function logEvent(log: AuditLog, event: AuditEvent): void {
  const { type, outcome, actor, clientId, sub, address, detail = {} } = event;
  log.info({ event: type, outcome, actor, client_id: clientId, sub, address, detail }, 'audit');
}
