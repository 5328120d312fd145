// Refuses connections to a standby, which may lag behind what was acknowledged, so that a valid token would look invalid.
import type pg from 'pg';
import { databaseLimits } from './deadline.ts';

/**
 * Called once for each connection: a server that is demoted restarts, and one that is promoted was refused before.
 * @throws Error when the server is a standby
 */
export async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const query = { text: 'SELECT pg_is_in_recovery() AS standby', query_timeout: databaseLimits.deadline };
  const { rows } = await client.query<{ standby: boolean }>(query);
  if (rows[0]?.standby !== false) throw new Error('the database server is a standby');
}
