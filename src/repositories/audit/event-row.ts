// Reads a row of the audit trail, for its search and for the view that also shows issued tokens.
import type { AuditEvent } from './audit-events.ts';

export interface EventRow<Type extends string> {
  id: string;
  at: Date;
  type: Type;
  outcome: 'success' | 'failure';
  actor: string | null;
  client_id: string | null;
  sub: string | null;
  address: string | null;
  detail: NonNullable<AuditEvent['detail']>;
}

export function toEvent<Type extends string>(row: EventRow<Type>) {
  return {
    id: row.id,
    at: row.at,
    type: row.type,
    outcome: row.outcome,
    actor: row.actor ?? undefined,
    clientId: row.client_id ?? undefined,
    sub: row.sub ?? undefined,
    address: row.address ?? undefined,
    detail: row.detail,
  };
}
