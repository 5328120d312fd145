// Counts what a change of configuration ends for users, before it is made: their sessions, their tokens, and the clients that they lose (federation 10).
import { type Sql, statement } from '../../database/database.ts';

/** What users lose. */
export interface PlanEffects {
  users: number;
  sessions: number;
  tokens: number;
}

/** Counts what ends of `x`, a client session or a session with a client `c` and a user `u`. */
const ended = (name: string, ends: string, own = '') =>
  statement(
    `plan_effects.ended.${name}`,
    `WITH families AS MATERIALIZED (
       SELECT x.id, x.sub FROM client_sessions x JOIN users u ON u.sub = x.sub JOIN clients c ON c.client_id = x.client_id
        WHERE x.expires_at > now() AND ${ends}),
     parts AS MATERIALIZED (
       SELECT x.sub FROM session_clients sc JOIN sessions x ON x.id = sc.session_id AND x.idle_expires_at > now()
         JOIN users u ON u.sub = x.sub JOIN clients c ON c.client_id = sc.client_id
        WHERE ${ends})
     SELECT (SELECT count(*)::int FROM (SELECT sub FROM families UNION SELECT sub FROM parts) AS losing) AS users,
            (SELECT count(*)::int FROM parts) AS sessions,
            (SELECT count(*)::int FROM (
               SELECT FROM families f JOIN access_tokens t ON t.client_session_id = f.id AND t.expires_at > now()
               UNION ALL
               SELECT FROM families f JOIN refresh_tokens t ON t.client_session_id = f.id AND t.expires_at > now() AND t.spent_at IS NULL
               ${own}) AS tokens) AS tokens`,
  );
const clientEnds = ended(
  'client',
  'c.client_id = $1',
  // those that no user gave it
  'UNION ALL SELECT FROM access_tokens t WHERE t.client_id = $1 AND t.expires_at > now()',
);
const accessEnds = ended(
  'access',
  'c.client_id = $1 AND NOT (has_access(u.groups, $2, $3) AND comes_by($4, x.connection_id))',
);
const groupEnds = ended(
  'group',
  'u.groups @> ARRAY[$1] AND has_access(u.groups, c.access, c.access_groups) AND NOT has_access(array_remove(u.groups, $1), c.access, c.access_groups)',
);
const connectionEnds = statement(
  'plan_effects.connection',
  `SELECT (SELECT count(*)::int FROM sessions WHERE connection_id = $1 AND idle_expires_at > now()) AS sessions,
          (SELECT count(*)::int FROM client_sessions f JOIN access_tokens t ON t.client_session_id = f.id AND t.expires_at > now()
            WHERE f.connection_id = $1)
          + (SELECT count(*)::int FROM client_sessions f
               JOIN refresh_tokens t ON t.client_session_id = f.id AND t.expires_at > now() AND t.spent_at IS NULL
              WHERE f.connection_id = $1) AS tokens`,
);

const withValue = statement('plan_effects.with_value', 'SELECT count(*)::int AS users FROM users WHERE claims ? $1');

export function planEffectsRepository(sql: Sql) {
  return {
    /** A client is disabled or deleted. */
    async ofClient(clientId: string): Promise<PlanEffects> {
      const [row] = await sql.query<PlanEffects>(clientEnds, [clientId]);
      return row!;
    },
    /** A client admits other users, or other connections. */
    async ofAccess(
      clientId: string,
      { access, groups, connections }: { access: string; groups: readonly string[]; connections: readonly string[] },
    ): Promise<PlanEffects> {
      const [row] = await sql.query<PlanEffects>(accessEnds, [clientId, access, groups, connections]);
      return row!;
    },
    /** A group is deleted. */
    async ofGroup(name: string): Promise<PlanEffects> {
      const [row] = await sql.query<PlanEffects>(groupEnds, [name]);
      return row!;
    },
    /** An attribute is deleted. @returns how many users have a value */
    async ofAttribute(name: string): Promise<number> {
      const [row] = await sql.query<{ users: number }>(withValue, [name]);
      return row!.users;
    },
    /** A connection is deleted. */
    async ofConnection(id: string): Promise<Omit<PlanEffects, 'users'>> {
      const [row] = await sql.query<Omit<PlanEffects, 'users'>>(connectionEnds, [id]);
      return row!;
    },
  };
}
