// Revokes an access token alone, or by any other token the client's whole part in the session (RFC 7009, decisions section 4).
import { type Sql, statement } from '../../database/database.ts';

export type Revocable = 'access_token' | 'refresh_token' | 'authorization_code' | 'client_session_handle';

/** The result. `foreign`: the token belongs to another client, and stays valid. */
export type RevocationResult = { outcome: 'revoked' | 'foreign'; sub: string | undefined } | { outcome: 'unknown' };

const accessToken = statement(
  'revocation.access_token',
  `WITH token AS (
     SELECT coalesce(t.client_id, cs.client_id) AS client_id, cs.sub
       FROM access_tokens t LEFT JOIN client_sessions cs ON cs.id = t.client_session_id WHERE t.token_hash = $1),
   gone AS (DELETE FROM access_tokens USING token WHERE token_hash = $1 AND token.client_id = $2)
   SELECT sub, client_id = $2 AS own FROM token`,
);
// all client sessions of the client in that session, not only the token's own;
// the deletion waits for a refresh under way, and also deletes what that issued
const clientSession = (table: string, column: string) =>
  statement(
    `revocation.${table}`,
    `WITH named AS (
       SELECT cs.id, cs.session_id, cs.client_id, cs.sub FROM ${table} x JOIN client_sessions cs ON cs.id = x.client_session_id
        WHERE x.${column} = $1),
     gone AS (
       DELETE FROM client_sessions cs USING named
        WHERE named.client_id = $2 AND cs.client_id = $2 AND (cs.id = named.id OR cs.session_id = named.session_id))
     SELECT sub, client_id = $2 AS own FROM named`,
  );
const statements: Record<Revocable, ReturnType<typeof statement>> = {
  access_token: accessToken,
  refresh_token: clientSession('refresh_tokens', 'token_hash'),
  authorization_code: clientSession('authorization_codes', 'code_hash'),
  client_session_handle: clientSession('client_session_handles', 'handle_hash'),
};

const end = (table: string, column: string) =>
  statement(
    `client_sessions.end_of_${table}`,
    `DELETE FROM client_sessions cs USING ${table} x WHERE x.${column} = $1 AND cs.id = x.client_session_id`,
  );
const ends = {
  authorization_code: end('authorization_codes', 'code_hash'),
  client_session_handle: end('client_session_handles', 'handle_hash'),
};

export function revocationRepository(sql: Sql) {
  return {
    /** Ends the client session of a handle that was sent in a forbidden place. */
    async end(kind: 'authorization_code' | 'client_session_handle', hash: Buffer): Promise<void> {
      await sql.query(ends[kind], [hash]);
    },
    /** Revokes a token. When this returns, no revoked token is active on any instance (security R35). */
    async revoke(kind: Revocable, hash: Buffer, clientId: string): Promise<RevocationResult> {
      const [row] = await sql.query<{ sub: string | null; own: boolean }>(statements[kind], [hash, clientId]);
      return row ? { outcome: row.own ? 'revoked' : 'foreign', sub: row.sub ?? undefined } : { outcome: 'unknown' };
    },
  };
}
