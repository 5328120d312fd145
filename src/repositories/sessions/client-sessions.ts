// Reads and writes the table client_sessions: one authorization of one client by one user, with all tokens that it led to.
import { type Sql, statement } from '../../database/database.ts';
import { batchedSelect } from '../batched-select.ts';
import { toUser, type User, type UserRow } from '../users/users.ts';

/** What an ID Token says of its client session. */
export interface NamedClientSession {
  id: string;
  sid: string;
  clientId: string;
  /** The subject of the user for that client. */
  subject: string;
}

const findNamed = batchedSelect(
  'client_sessions.find_named',
  ['bigint', 'text', 'text', 'text'],
  (id, sid, clientId, subject) =>
    `SELECT u.*, cs.scope, cs.amr, cs.auth_time FROM client_sessions cs
       JOIN sessions s ON s.id = cs.session_id AND s.sid = ${sid} AND s.idle_expires_at > now()
       JOIN clients c ON c.client_id = cs.client_id AND c.status = 'enabled' AND c.epoch = cs.client_epoch
       JOIN users u ON u.sub = cs.sub AND u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups)
        AND comes_by(c.connections, cs.connection_id)
      WHERE cs.id = ${id} AND cs.client_id = ${clientId} AND coalesce(cs.subject, cs.sub) = ${subject}`,
);

const findSubject = statement(
  'client_sessions.find_subject',
  `SELECT coalesce(sc.subject, s.sub) AS subject FROM session_clients sc JOIN sessions s ON s.id = sc.session_id
    WHERE sc.session_id = $1 AND sc.client_id = $2`,
);
// the addresses registered when the session ends
const frontchannelLogoutUris = statement(
  'client_sessions.frontchannel_logout_uris',
  `SELECT c.metadata ->> 'frontchannel_logout_uri' AS uri
     FROM session_clients sc JOIN clients c ON c.client_id = sc.client_id AND c.status = 'enabled'
    WHERE sc.session_id = $1 AND c.metadata ? 'frontchannel_logout_uri' ORDER BY c.client_id`,
);
const end = statement(
  'client_sessions.end',
  `WITH left_session AS (DELETE FROM session_clients WHERE session_id = $1 AND client_id = $2)
   DELETE FROM client_sessions WHERE session_id = $1 AND client_id = $2`,
);

const markAsDevice = statement(
  'client_sessions.mark_as_device',
  `UPDATE client_sessions SET by_device = true
    WHERE id = (SELECT client_session_id FROM authorization_codes WHERE code_hash = $1)`,
);

const listDevices = statement(
  'client_sessions.list_devices',
  `SELECT cs.id, coalesce(c.metadata ->> 'client_name', c.client_id) AS client_name, cs.created_at
     FROM client_sessions cs JOIN clients c ON c.client_id = cs.client_id AND c.status = 'enabled' AND c.epoch = cs.client_epoch
     LEFT JOIN sessions s ON s.id = cs.session_id AND s.idle_expires_at > now()
    WHERE cs.sub = $1 AND cs.by_device AND cs.expires_at > now() AND (cs.offline OR s.id IS NOT NULL)
    ORDER BY cs.created_at DESC, cs.id DESC LIMIT $2`,
);
const endDevice = statement(
  'client_sessions.end_device',
  'DELETE FROM client_sessions WHERE id = $1 AND sub = $2 AND by_device RETURNING client_id',
);

export function clientSessionsRepository(sql: Sql) {
  return {
    /** Records that the client session of a code was approved for a device. */
    async markAsDevice(codeHash: Buffer): Promise<void> {
      await sql.query(markAsDevice, [codeHash]);
    },
    /** The devices of a user that were approved by a code and may still have tokens, newest first. */
    async listDevices(sub: string, limit: number): Promise<{ id: string; clientName: string; signedInAt: Date }[]> {
      const rows = await sql.query<{ id: string; client_name: string; created_at: Date }>(listDevices, [sub, limit]);
      return rows.map((row) => ({ id: row.id, clientName: row.client_name, signedInAt: row.created_at }));
    },
    /** Ends all tokens of a device of the user; the client that it belonged to, or undefined when there is no such device. */
    async endDevice(id: string, sub: string): Promise<string | undefined> {
      const [row] = await sql.query<{ client_id: string }>(endDevice, [id, sub]);
      return row?.client_id;
    },
    /** The subject of a session's user for a client; undefined when the client takes no part in the session. */
    async findSubject(sessionId: string, clientId: string): Promise<string | undefined> {
      const [row] = await sql.query<{ subject: string }>(findSubject, [sessionId, clientId]);
      return row?.subject;
    },
    /** The addresses that notify the clients of a session of its end in the browser (Front-Channel Logout 1.0). */
    async frontchannelLogoutUris(sessionId: string): Promise<string[]> {
      return (await sql.query<{ uri: string }>(frontchannelLogoutUris, [sessionId])).map((row) => row.uri);
    },
    /** Ends a client's whole part in a session: codes, handles and all tokens. */
    async end(sessionId: string, clientId: string): Promise<void> {
      await sql.query(end, [sessionId, clientId]);
    },
    /** The client session that an ID Token names, if it is live, and of the session, client and user that the token names, too. */
    async findNamed({
      id,
      sid,
      clientId,
      subject,
    }: NamedClientSession): Promise<{ scope: string; amr: string[]; authTime: Date; user: User } | undefined> {
      const [row] = await sql.query<UserRow & { scope: string; amr: string[]; auth_time: Date }>(findNamed, [
        id,
        sid,
        clientId,
        subject,
      ]);
      return row && { scope: row.scope, amr: row.amr, authTime: row.auth_time, user: toUser(row) };
    },
  };
}
