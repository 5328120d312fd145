// Reads the state of the database and the sizes of its tables, estimating large ones.
import { type Sql, statement } from '../../database/database.ts';

/** A number of rows: exact, or estimated where counting would take long. */
export interface Amount {
  count: number;
  exact: boolean;
}

export interface DatabaseState {
  /** The server's name for it, such as "17.2". */
  version: string;
  /** In bytes. */
  size: number;
  startedAt: Date;
  /** The round-trip time of the query, in milliseconds. */
  roundTrip: number;
}

/** The limit for counting rows. */
const maxCounted = 5_000;

const server = statement(
  'database_status.server',
  `SELECT current_setting('server_version') AS version, pg_database_size(current_database())::float8 AS size, pg_postmaster_start_time() AS started_at`,
);
/** Whether the server has handed its log of changes to an archive within a day, from which it can be restored. */
const archived = statement(
  'database_status.archived',
  `SELECT coalesce(max(last_archived_time) > now() - interval '1 day', false) AS archived FROM pg_stat_archiver`,
);
const ping = statement('database_status.ping', 'SELECT 1 AS one');
/** The planner's statistics, which PostgreSQL renews as a table changes: -1 before the first time. */
const amount = (table: string, order: string, condition = 'true') =>
  statement(
    `database_status.amount_of_${table}`,
    `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${maxCounted + 1}) AS few) AS counted,
            greatest(reltuples, ${maxCounted})::float8 AS estimate FROM pg_class WHERE oid = '${table}'::regclass`,
  );
const amounts = {
  // ordered by an index, so that the table itself is not read
  users: amount('users', 'sub'),
  clients: amount('clients', 'client_id'),
  sessions: amount('sessions', 'idle_expires_at', 'idle_expires_at > now()'),
  auditEvents: amount('audit_events', 'id'),
};

export function databaseStatusRepository(sql: Sql) {
  return {
    async database(): Promise<DatabaseState> {
      const [row] = await sql.query<{ version: string; size: number; started_at: Date }>(server);
      const before = performance.now();
      await sql.query(ping);
      const { version, size, started_at: startedAt } = row!;
      return { version, size, startedAt, roundTrip: performance.now() - before };
    },
    async isArchived(): Promise<boolean> {
      const [row] = await sql.query<{ archived: boolean }>(archived);
      return row!.archived;
    },
    async amount(of: keyof typeof amounts): Promise<Amount> {
      const [row] = await sql.query<{ counted: number; estimate: number }>(amounts[of]);
      const { counted, estimate } = row!;
      return counted > maxCounted ? { count: estimate, exact: false } : { count: counted, exact: true };
    },
  };
}
