// Reads the events of the audit trail, the oldest first.
import type { TestService } from './service.ts';

export interface TrailEvent {
  id: string;
  at: Date;
  type: string;
  outcome: 'success' | 'failure';
  actor: string;
  sub: string | null;
  client_id: string | null;
  detail: Record<string, unknown>;
  [column: string]: unknown;
}

/** @param of the type, the user and the client that the events must have; those that are not given do not matter */
export const eventsOf = (
  { database }: Pick<TestService, 'database'>,
  of: { type?: string; sub?: string; clientId?: string },
): Promise<TrailEvent[]> =>
  database.sql<TrailEvent>(
    `SELECT * FROM audit_events WHERE ($1::text IS NULL OR type = $1) AND ($2::text IS NULL OR sub = $2)
        AND ($3::text IS NULL OR client_id = $3) ORDER BY id`,
    [of.type, of.sub, of.clientId],
  );
