// Reads the facts for reviewing a client besides its own row: clients with similar names, known redirect hosts, its origin, and its usage.
// Each query uses indexes, and counts up to a limit.
import { type Sql, statement } from '../../database/database.ts';

/** A redirect host and its use by enabled clients. */
export interface KnownHost {
  host: string;
  /** When an enabled client first had this host; undefined if none ever had. */
  since: Date | undefined;
  /** Enabled clients that have it now, counted up to `maxHosts`. */
  clients: number;
}

/** An enabled client whose name users could confuse with another's, unless an administrator has dismissed the warning. */
export interface LookAlike {
  clientId: string;
  name: string;
  /** Whether the names look the same, and not only similar. */
  same: boolean;
}

/** A resource that one client claims and another client holds. */
export interface HeldResource {
  uri: string;
  resourceId: string;
  /** The client that holds it; undefined for the resource of an administrator without a client. */
  clientId: string | undefined;
  /** Of the client, or of the resource without a client. */
  name: string | undefined;
}

/** How a client was created: it registered itself, or an administrator created it. */
export interface Origin {
  by: 'registration' | 'administrator';
  actor: string | undefined;
  address: string | undefined;
}

/** The usage of a client, each figure counted up to a limit. */
export interface ClientFigures {
  /** Browser sessions in which the client takes part. */
  sessions: number;
  accessTokens: number;
  refreshTokens: number;
  /** Users who have granted it access. */
  grants: number;
  /** Users for whom it stores settings. */
  settings: number;
  /** Logouts of which it is not notified yet. */
  logouts: number;
}

/** One authorization of a client. */
export interface ClientSessionSummary {
  sub: string;
  username: string;
  scope: string;
  /** Whether it outlives the browser's session (offline_access). */
  offline: boolean;
  createdAt: Date;
  expiresAt: Date;
}

/** The limit for counting the enabled clients of one host. */
const maxHosts = 100;
const maxLookAlikes = 5;

const hosts = statement(
  'client_review.hosts',
  `SELECT wanted.host, known.since, (SELECT count(*)::int FROM (
            SELECT FROM clients c WHERE c.status = 'enabled' AND redirect_hosts(c.metadata) @> ARRAY[wanted.host] LIMIT $2) AS capped) AS clients
     FROM unnest($1::text[]) AS wanted (host) LEFT JOIN known_redirect_hosts known ON known.host = wanted.host`,
);
const heldResources = statement(
  'client_review.held_resources',
  `SELECT wanted.client_id AS of, wanted.uri, held.id AS resource_id, c.client_id, CASE WHEN c.client_id IS NULL THEN held.name ELSE c.metadata ->> 'client_name' END AS name
     FROM unnest($1::text[], $2::text[]) AS wanted (client_id, uri)
    CROSS JOIN held_resources(wanted.client_id, ARRAY[resource_key(wanted.uri)]) AS held
     LEFT JOIN clients c ON c.client_id = held.client_id
    ORDER BY wanted.uri, held.since LIMIT 1000`,
);
// a longer name that begins with another's whole name is similar, too: "Harbour sign-in"
const lookAlikes = statement(
  'client_review.look_alikes',
  `WITH wanted AS MATERIALIZED (
     SELECT client_id, name, left(name_skeleton(name), 200) AS skeleton FROM unnest($1::text[], $2::text[]) AS w (client_id, name))
   SELECT wanted.client_id AS of, found.client_id, found.name, found.same
     FROM wanted
    CROSS JOIN LATERAL (
      SELECT alike.client_id, alike.name, name_skeleton(alike.name) = name_skeleton(wanted.name) AS same
        FROM (SELECT c.client_id, c.metadata ->> 'client_name' AS name FROM clients c
               WHERE c.status = 'enabled' AND c.client_id <> wanted.client_id
                 AND name_neighbours(c.metadata ->> 'client_name') && (name_neighbours(wanted.name) || ARRAY(
                   SELECT left(wanted.skeleton, n) FROM generate_series(5, length(wanted.skeleton)) AS n))
                 AND NOT EXISTS (SELECT FROM dismissed_look_alikes d
                                  WHERE d.client_id = wanted.client_id AND d.other_client_id = c.client_id
                                    AND d.name = wanted.name AND d.other_name = c.metadata ->> 'client_name')
               LIMIT 20) AS alike
       ORDER BY same DESC, alike.name, alike.client_id LIMIT $3) AS found`,
);
const dismiss = statement(
  'client_review.dismiss',
  `INSERT INTO dismissed_look_alikes AS known (client_id, name, other_client_id, other_name) VALUES ($1, $2, $3, $4), ($3, $4, $1, $2)
   ON CONFLICT (client_id, other_client_id) DO UPDATE SET name = excluded.name, other_name = excluded.other_name, dismissed_at = excluded.dismissed_at
     WHERE (known.name, known.other_name) IS DISTINCT FROM (excluded.name, excluded.other_name)
   RETURNING client_id`,
);
// the first event of a client; a minute of tolerance, since the clocks of instances may differ
const origins = statement(
  'client_review.origins',
  `SELECT c.client_id, made.type, made.actor, made.address
     FROM unnest($1::text[]) AS wanted (client_id) JOIN clients c USING (client_id)
    CROSS JOIN LATERAL (
      SELECT e.type, e.actor, host(e.address) AS address FROM audit_events e
       WHERE e.client_id = c.client_id AND e.at < c.created_at + interval '1 minute' AND e.type IN ('client.registered', 'client.created')
       ORDER BY e.at, e.id LIMIT 1) AS made`,
);
/** Counts the rows of a select up to the limit $2. */
const capped = (select: string) => `(SELECT count(*)::int FROM (${select} LIMIT $2) AS capped)`;
// tokens belong to client sessions: only those of the first client sessions are counted, so that a client with millions costs no more
const figures = statement(
  'client_review.figures',
  `WITH families AS MATERIALIZED (SELECT id FROM client_sessions WHERE client_id = $1 AND expires_at > now() LIMIT $2)
   SELECT ${capped(`SELECT FROM session_clients sc JOIN sessions s ON s.id = sc.session_id AND s.idle_expires_at > now() WHERE sc.client_id = $1`)} AS sessions,
          ${capped(`SELECT FROM (
            SELECT FROM families f JOIN access_tokens t ON t.client_session_id = f.id AND t.expires_at > now()
            UNION ALL SELECT FROM access_tokens t WHERE t.client_id = $1 AND t.expires_at > now()) AS tokens`)} AS access_tokens,
          ${capped(`SELECT FROM families f JOIN refresh_tokens t ON t.client_session_id = f.id AND t.expires_at > now() AND t.spent_at IS NULL`)} AS refresh_tokens,
          ${capped('SELECT FROM grants WHERE client_id = $1')} AS grants,
          ${capped('SELECT FROM user_settings WHERE client_id = $1')} AS settings,
          ${capped(`SELECT FROM logout_deliveries WHERE client_id = $1 AND status = 'waiting'`)} AS logouts`,
);
// reads a limited number of rows, since one user may have many client sessions
const signedInUsers = statement(
  'client_review.signed_in_users',
  `SELECT count(DISTINCT sub)::int AS users, count(*)::int = $2 AS cut
     FROM (SELECT sub FROM client_sessions WHERE client_id = $1 AND expires_at > now() LIMIT $2) AS first`,
);
// the newest of the first thousand: for more, administrators use the list of each user's sessions
const sessions = statement(
  'client_review.sessions',
  `SELECT f.sub, u.username, f.scope, f.offline, f.created_at, f.expires_at
     FROM (SELECT * FROM client_sessions WHERE client_id = $1 AND expires_at > now() LIMIT 1000) AS f JOIN users u ON u.sub = f.sub
    ORDER BY f.created_at DESC, f.id DESC LIMIT $2`,
);

export function clientReviewRepository(sql: Sql) {
  return {
    /** The facts about redirect hosts, in the given order. */
    async hosts(wanted: readonly string[]): Promise<KnownHost[]> {
      const rows = await sql.query<{ host: string; since: Date | null; clients: number }>(hosts, [wanted, maxHosts]);
      return rows.map((row) => ({ ...row, since: row.since ?? undefined }));
    },
    /** Those of the resources that other clients hold, by the client that claims them. */
    async heldResources(claims: readonly { clientId: string; uri: string }[]): Promise<Map<string, HeldResource[]>> {
      const found = new Map<string, HeldResource[]>();
      if (claims.length === 0) return found;
      const values = [claims.map(({ clientId }) => clientId), claims.map(({ uri }) => uri)];
      const rows = await sql.query<{
        of: string;
        uri: string;
        resource_id: string;
        client_id: string | null;
        name: string | null;
      }>(heldResources, values);
      for (const { of, uri, resource_id: resourceId, client_id: clientId, name } of rows) {
        const held = { uri, resourceId, clientId: clientId ?? undefined, name: name ?? undefined };
        found.set(of, [...(found.get(of) ?? []), held]);
      }
      return found;
    },
    /** Enabled clients with similar names, by the given client; the first few of each. */
    async lookAlikes(
      named: readonly { clientId: string; name: string | undefined }[],
    ): Promise<Map<string, LookAlike[]>> {
      const asked = named.filter(({ name }) => name !== undefined);
      const found = new Map<string, LookAlike[]>();
      if (asked.length === 0) return found;
      const values = [asked.map(({ clientId }) => clientId), asked.map(({ name }) => name), maxLookAlikes];
      const rows = await sql.query<{ of: string; client_id: string; name: string; same: boolean }>(lookAlikes, values);
      for (const { of, client_id: clientId, name, same } of rows) {
        const others = found.get(of) ?? [];
        // a client is asked for with its name in each language
        const known = others.find((other) => other.clientId === clientId);
        if (!known) found.set(of, [...others, { clientId, name, same }]);
        else if (same) known.same = true;
      }
      return found;
    },
    /** Dismisses the warning that two clients look alike while they have these names. @returns false if it was dismissed before */
    async dismiss(
      one: { clientId: string; name: string },
      other: { clientId: string; name: string },
    ): Promise<boolean> {
      const values = [one.clientId, one.name, other.clientId, other.name];
      return (await sql.query<{ client_id: string }>(dismiss, values)).length > 0;
    },
    /** How clients were created, as far as the audit trail still contains it. */
    async origins(clientIds: readonly string[]): Promise<Map<string, Origin>> {
      const rows = await sql.query<{ client_id: string; type: string; actor: string | null; address: string | null }>(
        origins,
        [clientIds],
      );
      return new Map(
        rows.map((row) => [
          row.client_id,
          {
            by: row.type === 'client.registered' ? 'registration' : 'administrator',
            actor: row.actor ?? undefined,
            address: row.address ?? undefined,
          },
        ]),
      );
    },
    /** @param limit of each figure */
    async figures(clientId: string, limit: number): Promise<ClientFigures> {
      const [row] = await sql.query<{
        sessions: number;
        access_tokens: number;
        refresh_tokens: number;
        grants: number;
        settings: number;
        logouts: number;
      }>(figures, [clientId, limit]);
      const { access_tokens: accessTokens, refresh_tokens: refreshTokens, ...rest } = row!;
      return { ...rest, accessTokens, refreshTokens };
    },
    /** The users who are signed in to a client, counted up to a limit. */
    async signedInUsers(clientId: string, limit: number): Promise<{ count: number; more: boolean }> {
      const rows = await sql.query<{ users: number; cut: boolean }>(signedInUsers, [clientId, 10 * limit]);
      const { users, cut } = rows[0]!;
      return { count: Math.min(users, limit), more: users > limit || cut };
    },
    /** The newest client sessions of a client. */
    async sessions(clientId: string, limit: number): Promise<ClientSessionSummary[]> {
      const rows = await sql.query<{
        sub: string;
        username: string;
        scope: string;
        offline: boolean;
        created_at: Date;
        expires_at: Date;
      }>(sessions, [clientId, limit]);
      return rows.map((row) => ({
        sub: row.sub,
        username: row.username,
        scope: row.scope,
        offline: row.offline,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }));
    },
  };
}
