// Reads the protected site of a host together with the session of a cookie, and stores and ends these sessions (tables site_hosts and site_sessions).
import { type Sql, statement } from '../../database/database.ts';
import { batchedSelect } from '../batched-select.ts';

/** An enabled site, as far as a request needs it. */
export interface Site {
  clientId: string;
  /** The digest of its proxy's secret. */
  secretHash: Buffer | undefined;
  headers: readonly string[];
  openPaths: readonly string[];
  /** In seconds; undefined for the end of the session. */
  sessionLifetime: number | undefined;
  networks: readonly string[];
  /** The level that a sign-in must have reached. */
  requiredAcr: string | undefined;
  /** The session of the presented cookie, whose user may use the site. */
  session: SiteSession | undefined;
}

export interface SiteSession {
  /** The browser's session, and whether its idle end should be extended. */
  id: string;
  stale: boolean;
  sid: string;
  authTime: Date;
  amr: string[];
  /** The subject of the user for the client. */
  subject: string;
  sub: string;
  username: string;
  email: string | undefined;
  emailVerified: boolean;
  groups: string[];
  claims: Record<string, unknown>;
}

interface Row {
  client_id: string;
  client_secret_hash: Buffer | null;
  headers: string[];
  open_paths: string[];
  session_lifetime: number | null;
  networks: string[];
  required_acr: string | null;
  id: string | null;
  stale: boolean;
  sid: string;
  auth_time: number;
  amr: string[];
  subject: string;
  sub: string;
  username: string;
  email: string | null;
  email_verified: boolean;
  groups: string[];
  claims: Record<string, unknown>;
}

// one statement by primary keys: the cookie counts at its host, with its session, client (at its epoch), user and access of this moment
// (federation FR42, FR44)
const find = batchedSelect(
  'sites.find',
  ['text', 'bytea', 'double precision'],
  (
    host,
    tokenHash,
    idleLifetime,
  ) => `SELECT c.client_id, c.client_secret_hash, c.headers, c.open_paths, c.session_lifetime, c.networks::text[] AS networks, c.required_acr,
          s.id, s.used_at < now() - make_interval(secs => ${idleLifetime}::float8 / 20) AS stale, s.sid,
          date_part('epoch', cs.auth_time) AS auth_time, cs.amr, coalesce(cs.subject, cs.sub) AS subject,
          u.sub, u.username, u.email, u.email_verified, u.groups, u.claims
     FROM site_hosts h
     JOIN clients c ON c.client_id = h.client_id AND c.status = 'enabled' AND c.kind = 'proxy'
     LEFT JOIN (site_sessions x
                JOIN client_sessions cs ON cs.id = x.client_session_id
                JOIN sessions s ON s.id = cs.session_id AND s.idle_expires_at > now()
                JOIN users u ON u.sub = cs.sub AND u.status = 'enabled')
            ON x.token_hash = ${tokenHash} AND x.host = h.host AND x.expires_at > now()
           AND cs.client_id = c.client_id AND cs.client_epoch = c.epoch
           AND has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, cs.connection_id)
    WHERE h.host = ${host}`,
);
// the client session lasts as long as the cookie, and the cookie no longer than the browser's session
const insert = statement(
  'sites.insert_session',
  `WITH lasting AS (
     SELECT cs.id, least(s.expires_at, now() + make_interval(secs => $4)) AS until
       FROM client_sessions cs JOIN sessions s ON s.id = cs.session_id WHERE cs.id = $2 FOR UPDATE OF cs),
   kept AS (
     UPDATE client_sessions cs SET expires_at = greatest(cs.expires_at, lasting.until) FROM lasting WHERE cs.id = lasting.id)
   INSERT INTO site_sessions (token_hash, client_session_id, host, expires_at)
   SELECT $1, id, $3, until FROM lasting RETURNING 1 AS stored`,
);
const end = statement(
  'sites.end_session',
  `WITH gone AS (DELETE FROM site_sessions WHERE token_hash = $1 AND host = $2 RETURNING client_session_id)
   DELETE FROM client_sessions cs USING gone WHERE cs.id = gone.client_session_id RETURNING cs.sub, cs.client_id`,
);

export function sitesRepository(sql: Sql) {
  return {
    /**
     * The enabled site of a host, with the session of a cookie.
     * @param tokenHash undefined without a cookie
     * @param idleLifetime of browsers' sessions, in seconds
     */
    async find(host: string, tokenHash: Buffer | undefined, idleLifetime: number): Promise<Site | undefined> {
      const [row] = await sql.query<Row>(find, [host, tokenHash, idleLifetime]);
      return row && toSite(row);
    },
    /**
     * Stores a cookie of a client session. @param lifetime in seconds; undefined for the end of the browser's session
     * @returns false if the client session has ended meanwhile
     */
    async insertSession(
      tokenHash: Buffer,
      clientSessionId: string,
      host: string,
      lifetime: number | undefined,
    ): Promise<boolean> {
      return (await sql.query(insert, [tokenHash, clientSessionId, host, lifetime])).length > 0;
    },
    /** Ends the session of a cookie, with its client session. */
    async endSession(tokenHash: Buffer, host: string): Promise<{ sub: string; clientId: string } | undefined> {
      const [row] = await sql.query<{ sub: string; client_id: string }>(end, [tokenHash, host]);
      return row && { sub: row.sub, clientId: row.client_id };
    },
  };
}

const toSite = (row: Row): Site => ({
  clientId: row.client_id,
  secretHash: row.client_secret_hash ?? undefined,
  headers: row.headers,
  openPaths: row.open_paths,
  sessionLifetime: row.session_lifetime ?? undefined,
  networks: row.networks,
  requiredAcr: row.required_acr ?? undefined,
  session:
    row.id === null
      ? undefined
      : {
          id: row.id,
          stale: row.stale,
          sid: row.sid,
          authTime: new Date(row.auth_time * 1000),
          amr: row.amr,
          subject: row.subject,
          sub: row.sub,
          username: row.username,
          email: row.email ?? undefined,
          emailVerified: row.email_verified,
          groups: row.groups,
          claims: row.claims,
        },
});
