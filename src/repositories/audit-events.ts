// The table audit_events: the append-only trail of security-relevant acts.
import { type Sql, statement } from '../database/database.ts';

/** Every type of event, by the act that it records. */
export const auditEventTypes = [
  'user.signed_in',
  'user.sign_in_failed',
  'user.locked_out',
  'user.signed_out',
  'user.created',
  'user.changed',
  'user.disabled',
  'user.deleted',
  'user.password_changed',
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
  'registration_token.created',
] as const;
export type AuditEventType = (typeof auditEventTypes)[number];

export interface AuditEvent {
  type: AuditEventType;
  outcome: 'success' | 'failure';
  /** Who acted: a subject, a client id, "command line", "schedule" or "service". */
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  address?: string | undefined;
  /** Facts about the act; never a secret. */
  detail?: Record<string, string | number | boolean | string[] | undefined> | undefined;
}

const insert = statement(
  'audit_events.insert',
  `INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);

export function auditEventsRepository(sql: Sql) {
  return {
    async insert(event: AuditEvent): Promise<void> {
      await sql.query(insert, [
        event.type,
        event.outcome,
        event.actor,
        event.clientId,
        event.sub,
        event.address,
        event.detail ?? {},
      ]);
    },
  };
}
