// Reads and writes the table saml_sessions: what assertions told SAML applications of a session, by which they end it.
import { type Sql, statement } from '../../database/database.ts';

// the client session of this response is the newest one: the transaction holds the lock of the session
const insert = statement(
  'saml_sessions.insert',
  `INSERT INTO saml_sessions (client_session_id, client_id, session_index, name_id, expires_at)
   SELECT id, $2, $3, $4, expires_at FROM client_sessions WHERE session_id = $1 AND client_id = $2 ORDER BY id DESC LIMIT 1`,
);
const find = statement(
  'saml_sessions.find',
  `SELECT DISTINCT s.id, s.sid, s.sub FROM saml_sessions m
     JOIN client_sessions c ON c.id = m.client_session_id JOIN sessions s ON s.id = c.session_id
    WHERE m.client_id = $1 AND m.name_id = $2 AND ($3::text[] = '{}' OR m.session_index = ANY ($3)) ORDER BY s.id`,
);
const listOfSession = statement(
  'saml_sessions.list_of_session',
  `SELECT DISTINCT coalesce(c.metadata ->> 'client_name', c.client_id) AS name FROM session_clients sc
     JOIN clients c ON c.client_id = sc.client_id WHERE sc.session_id = $1 AND c.kind = 'saml' ORDER BY name`,
);

/** A session of a browser. */
export interface NamedSession {
  id: string;
  sid: string;
  sub: string;
}

export function samlSessionsRepository(sql: Sql) {
  return {
    /** Keeps what the newest client session of a client in a session was told, in the transaction that made it. */
    async insert(of: { sessionId: string; clientId: string; sessionIndex: string; nameId: string }): Promise<void> {
      await sql.query(insert, [of.sessionId, of.clientId, of.sessionIndex, of.nameId]);
    },
    /** The live sessions that a client knows by a NameID. @param indexes only those with one of these session indexes; empty for all */
    find: (clientId: string, nameId: string, indexes: readonly string[]): Promise<NamedSession[]> =>
      sql.query(find, [clientId, nameId, indexes]),
    /** The names of the SAML applications in a session. */
    async namesIn(sessionId: string): Promise<string[]> {
      return (await sql.query<{ name: string }>(listOfSession, [sessionId])).map(({ name }) => name);
    },
  };
}
