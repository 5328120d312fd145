// Deletes clients that were never approved or collected, a part of clients.ts.
import { type Sql, statement } from '../../database/database.ts';

const deleteAbandoned = statement(
  'clients.delete_abandoned',
  `DELETE FROM clients WHERE client_id = ANY (ARRAY(
     SELECT client_id FROM clients WHERE self_registered AND status = 'disabled' AND approved_by IS NULL
        AND updated_at < now() - make_interval(secs => $1) ORDER BY updated_at LIMIT 1000 FOR UPDATE SKIP LOCKED))
   RETURNING client_id`,
);
const deleteUncollected = statement(
  'clients.delete_uncollected',
  `DELETE FROM clients WHERE client_id = ANY (ARRAY(
     SELECT client_id FROM clients c WHERE uncollected AND refused_at IS NULL AND NOT EXISTS (
       SELECT FROM deferred_registrations d WHERE d.client_id = c.client_id AND d.expires_at > now())
     LIMIT 1000 FOR UPDATE SKIP LOCKED))
   RETURNING client_id`,
);
const closeForUsers = statement(
  'clients.close_for_users',
  'UPDATE clients SET document_gone = true WHERE client_id = $1 AND ever_enabled AND NOT document_gone RETURNING client_id',
);

export const abandonedClients = (sql: Sql) => ({
  /** Deletes registrations that were not approved for `lifetime` seconds. Returns their ids. */
  async deleteAbandoned(lifetime: number): Promise<string[]> {
    return (await sql.query<{ client_id: string }>(deleteAbandoned, [lifetime])).map((row) => row.client_id);
  },
  /** Deletes clients whose credentials were not collected in time, except refused ones. Returns their ids. */
  async deleteUncollected(): Promise<string[]> {
    return (await sql.query<{ client_id: string }>(deleteUncollected, [])).map((row) => row.client_id);
  },
  /** Notes that the document of a client is gone; false if that is known, or no user could ever authorize the client. */
  async closeForUsers(clientId: string): Promise<boolean> {
    return (await sql.query(closeForUsers, [clientId])).length > 0;
  },
});
