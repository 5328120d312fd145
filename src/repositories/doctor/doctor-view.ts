// Reads what `gatehouse doctor` judges: the server and its rights, the schema, the work that waits, and what weakens the service. It changes nothing.
import { type Sql, statement } from '../../database/database.ts';
import { type InstanceRow, type RunningInstance, runningIn, seenLately } from '../instances/instances.ts';

export interface ServerFacts {
  /** Such as "17.2". */
  version: string;
  major: number;
  encoding: string;
  /** Whether the collation und-x-icu is there, and whether its indexes were sorted by the rules of another version. */
  hasIcu: boolean;
  icuChanged: boolean;
  /** The same for the collation of the database itself. */
  collationChanged: boolean;
  role: string;
  schema: string | null;
  superuser: boolean;
  mayCreate: boolean | null;
  /** Tables that the role may not read and write. */
  closedTables: string[];
  /** Connections that roles without special rights may have, and those that are open. */
  connections: number;
  open: number;
  size: number;
}

export interface WaitingWork {
  /** Rows of each channel that should have ended long ago, and why the last attempt failed. */
  outbox: { channel: string; rows: number; oldest: Date; failure: string | null }[];
  /** Imports of directories and the end of their lease, if it has passed. */
  imports: { connection: string; since: Date | null }[];
  /** Transactions that have been open for minutes: they keep deleted rows alive, and stop migrations. */
  transactions: { pid: number; program: string; since: Date }[];
}

const server = statement(
  'doctor.server',
  `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
          current_setting('server_encoding') AS encoding,
          EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu' AND collprovider = 'i') AS "hasIcu",
          EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu' AND collversion <> pg_collation_actual_version(oid)) AS "icuChanged",
          coalesce(d.datcollversion <> pg_database_collation_actual_version(d.oid), false) AS "collationChanged",
          quote_ident(current_user) AS role, quote_ident(current_schema()) AS schema, r.rolsuper AS superuser,
          has_schema_privilege(current_schema(), 'CREATE') AS "mayCreate",
          ARRAY(SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'r'
                   AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                            AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) ORDER BY 1) AS "closedTables",
          current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
          (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS open,
          pg_database_size(d.oid)::float8 AS size
     FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user`,
);
const clock = statement('doctor.clock', 'SELECT clock_timestamp() AS now');
const migrations = statement('doctor.migrations', 'SELECT name FROM migrations ORDER BY id');
const instances = statement(
  'doctor.instances',
  `SELECT secret_key_id AS "secretKeyId", started_at AS "startedAt", to_jsonb(instances) AS facts FROM instances
    WHERE ${seenLately} ORDER BY started_at`,
);
// a row of the outbox is tried every quarter of an hour; the row about waiting registrations stays
const outbox = statement(
  'doctor.outbox',
  `SELECT channel, count(*)::int AS rows, min(created_at) AS oldest, max(last_failure) AS failure FROM outbox
    WHERE created_at < now() - interval '1 hour' AND name <> 'registrations' GROUP BY channel
   UNION ALL
   SELECT 'logout', count(*)::int, min(created_at), max(last_failure) FROM logout_deliveries
    WHERE status = 'waiting' AND created_at < now() - interval '1 hour' HAVING count(*) > 0
   ORDER BY 1`,
);
const imports = statement(
  'doctor.imports',
  `SELECT connection_id AS connection, started_at AS since FROM directory_imports
    WHERE (holder IS NOT NULL AND held_until < now() - interval '10 minutes') OR requested_at < now() - interval '1 hour' ORDER BY 1`,
);
const transactions = statement(
  'doctor.transactions',
  `SELECT pid, application_name AS program, xact_start AS since FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start < now() - interval '5 minutes' AND backend_type = 'client backend' ORDER BY xact_start LIMIT 5`,
);
const groups = statement(
  'doctor.groups',
  'SELECT named.name FROM unnest($1::text[]) AS named (name) WHERE NOT EXISTS (SELECT FROM groups g WHERE g.name = named.name)',
);
// the value after attribute: is the name
const writtenNameIds = statement(
  'doctor.written_name_ids',
  `SELECT client_id AS "clientId", substr(name_id, 11) AS name FROM clients
    WHERE name_id LIKE 'attribute:%'
      AND (substr(name_id, 11) = ANY ($1) OR EXISTS (SELECT FROM attributes a WHERE a.name = substr(name_id, 11) AND a.person = 'write'))
    ORDER BY 1 LIMIT 20`,
);

export function doctorViewRepository(sql: Sql) {
  return {
    async server(): Promise<ServerFacts> {
      return (await sql.query<ServerFacts>(server))[0]!;
    },
    /** The time by the clock of the database server. */
    async clock(): Promise<Date> {
      return (await sql.query<{ now: Date }>(clock))[0]!.now;
    },
    /** The names of the migrations that have run. */
    async migrations(): Promise<string[]> {
      return (await sql.query<{ name: string }>(migrations)).map(({ name }) => name);
    },
    instances: async (): Promise<RunningInstance[]> => (await sql.query<InstanceRow>(instances)).map(runningIn),
    async work(): Promise<WaitingWork> {
      const [waiting, held, open] = await Promise.all([
        sql.query<WaitingWork['outbox'][number]>(outbox),
        sql.query<WaitingWork['imports'][number]>(imports),
        sql.query<WaitingWork['transactions'][number]>(transactions),
      ]);
      return { outbox: waiting, imports: held, transactions: open };
    },
    /** The SAML applications whose NameID users write themselves. @param editable the claims that users change in their profile */
    writtenNameIds: (editable: readonly string[]): Promise<{ clientId: string; name: string }[]> =>
      sql.query<{ clientId: string; name: string }>(writtenNameIds, [editable]),
    /** Those of the names that no group has. */
    async missingGroups(names: readonly string[]): Promise<string[]> {
      return (await sql.query<{ name: string }>(groups, [names])).map(({ name }) => name);
    },
  };
}
