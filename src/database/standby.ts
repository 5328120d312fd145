// Keeps away from a standby: what it shows may be older than what was acknowledged, so that a live token would look dead.
import type pg from 'pg';
import { patience } from './deadline.ts';

/**
 * To be asked once for each connection: a server that is demoted restarts, and one that is promoted was refused before.
 * @throws Error when the server only follows another one
 */
export async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const query = { text: 'SELECT pg_is_in_recovery() AS standby', query_timeout: patience };
  const { rows } = await client.query<{ standby: boolean }>(query);
  if (rows[0]?.standby !== false) throw new Error('the database server is a standby');
}
