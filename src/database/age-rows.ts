// Makes every stored row older, as if time had passed: for `gatehouse dev`, whose database is the embedded one (delivery 5).
import pg from 'pg';

/** Rows of the process and the schema, and keys: a token that was issued keeps its signature. */
const untouched = ['instances', 'signing_keys', 'service_settings', 'pgmigrations'];

/**
 * @param options for the embedded server, whose socket only its owner can open; its superuser switches off the rules about changes
 * @returns how many tables have rows with times
 */
export async function ageRows(
  options: { host: string; port: number; database: string },
  seconds: number,
): Promise<number> {
  const { host, port, database } = options;
  const client = new pg.Client({ host, port, database, user: 'postgres', ssl: false });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; columns: string[] }>(
      `SELECT c.table_name AS name, array_agg(c.column_name::text) AS columns
         FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.data_type = 'timestamp with time zone'
          AND c.is_generated = 'NEVER' AND NOT c.table_name = ANY($1)
        GROUP BY c.table_name`,
      [untouched],
    );
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    for (const { name, columns } of rows) {
      const aged = columns.map((column) => {
        const quoted = client.escapeIdentifier(column);
        return `${quoted} = ${quoted} - make_interval(secs => $1)`;
      });
      await client.query(`UPDATE public.${client.escapeIdentifier(name)} SET ${aged.join(', ')}`, [seconds]);
    }
    await client.query('COMMIT');
    return rows.length;
  } finally {
    await client.end();
  }
}
