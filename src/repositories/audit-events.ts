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
  'registration_token.created',
] as const;
export type AuditEventType = (typeof auditEventTypes)[number];

export interface AuditEvent {
  type: AuditEventType;
  outcome: 'success' | 'failure';
  /** Who acted: a subject, a client id, "command line" or "service". */
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  address?: string | undefined;
  /** Facts about the act; never a secret. */
  detail?: Record<string, string | number | boolean | string[] | undefined> | undefined;
}

export interface StoredAuditEvent extends AuditEvent {
  id: string;
  at: Date;
}

const insert = statement(
  'audit_events.insert',
  `INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);
const list = statement(
  'audit_events.list',
  `SELECT id, at, type, outcome, actor, client_id, sub, host(address) AS address, detail FROM audit_events
    WHERE ($1::text IS NULL OR type = $1) AND ($2::text IS NULL OR client_id = $2) AND ($3::text IS NULL OR sub = $3)
      AND ($4::bigint IS NULL OR id < $4) ORDER BY id DESC LIMIT $5`,
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
    async list(
      filter: { type: string | undefined; clientId: string | undefined; sub: string | undefined },
      page: { limit: number; before: string | undefined },
    ): Promise<StoredAuditEvent[]> {
      const rows = await sql.query<{
        id: string;
        at: Date;
        type: AuditEventType;
        outcome: 'success' | 'failure';
        actor: string | null;
        client_id: string | null;
        sub: string | null;
        address: string | null;
        detail: NonNullable<AuditEvent['detail']>;
      }>(list, [filter.type, filter.clientId, filter.sub, page.before, page.limit]);
      return rows.map((row) => ({
        id: row.id,
        at: row.at,
        type: row.type,
        outcome: row.outcome,
        actor: row.actor ?? undefined,
        clientId: row.client_id ?? undefined,
        sub: row.sub ?? undefined,
        address: row.address ?? undefined,
        detail: row.detail,
      }));
    },
  };
}
