// How the database is, and how much there is in it, without counting what is much.
import { type Sql, statement } from '../../database/database.ts';

/** A number of rows: exact, or about as many where counting would take long. */
export interface Amount {
  count: number;
  exact: boolean;
}

export interface DatabaseState {
  /** As the server names it, such as "17.2". */
  version: string;
  /** In bytes. */
  size: number;
  startedAt: Date;
  /** How long the question took on its way, in milliseconds. */
  roundTrip: number;
}

/** Up to so many rows are counted. */
const mostCounted = 5_000;

const server = statement(
  'vital_signs.server',
  `SELECT current_setting('server_version') AS version, pg_database_size(current_database())::float8 AS size, pg_postmaster_start_time() AS started_at`,
);
const ping = statement('vital_signs.ping', 'SELECT 1 AS one');
/** What the statistics say, which are renewed as a table changes: -1 before they first were. */
const amount = (table: string, order: string, condition = 'true') =>
  statement(
    `vital_signs.amount_of_${table}`,
    `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${mostCounted + 1}) AS few) AS counted,
            greatest(reltuples, ${mostCounted})::float8 AS estimate FROM pg_class WHERE oid = '${table}'::regclass`,
  );
const amounts = {
  // in the order of an index, so that the table itself is not read
  users: amount('users', 'sub'),
  clients: amount('clients', 'client_id'),
  sessions: amount('sessions', 'idle_expires_at', 'idle_expires_at > now()'),
  auditEvents: amount('audit_events', 'id'),
};

export function vitalSignsRepository(sql: Sql) {
  return {
    async database(): Promise<DatabaseState> {
      const [row] = await sql.query<{ version: string; size: number; started_at: Date }>(server);
      const before = performance.now();
      await sql.query(ping);
      const { version, size, started_at: startedAt } = row!;
      return { version, size, startedAt, roundTrip: performance.now() - before };
    },
    async amount(of: keyof typeof amounts): Promise<Amount> {
      const [row] = await sql.query<{ counted: number; estimate: number }>(amounts[of]);
      const { counted, estimate } = row!;
      return counted > mostCounted ? { count: estimate, exact: false } : { count: counted, exact: true };
    },
  };
}
