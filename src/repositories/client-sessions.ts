// The table client_sessions: one authorization of one client by one user, the family of all that came of it.
import { type Sql, statement } from '../database/database.ts';
import { toUser, type User, type UserRow } from './users.ts';

const findBySid = statement(
  'client_sessions.find_by_sid',
  `SELECT u.*, cs.scope, cs.amr FROM client_sessions cs
     JOIN sessions s ON s.id = cs.session_id AND s.idle_expires_at > now()
     JOIN clients c ON c.client_id = cs.client_id AND c.status = 'enabled' AND c.epoch = cs.client_epoch
     JOIN users u ON u.sub = cs.sub AND u.status = 'enabled'
    WHERE s.sid = $1 AND cs.client_id = $2 AND cs.sub = $3 ORDER BY cs.id DESC LIMIT 1`,
);

export function clientSessionsRepository(sql: Sql) {
  return {
    /** The newest live client session of a session and a client. */
    async findBySid(
      sid: string,
      clientId: string,
      sub: string,
    ): Promise<{ scope: string; amr: string[]; user: User } | undefined> {
      const [row] = await sql.query<UserRow & { scope: string; amr: string[] }>(findBySid, [sid, clientId, sub]);
      return row && { scope: row.scope, amr: row.amr, user: toUser(row) };
    },
  };
}
