// Reads and writes who has the roles of clients, beside what every entity reads and writes.
import { type Sql, statement } from '../../database/database.ts';
import { roles } from '../../entities/roles.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import { entityRepository, entityTable } from '../entities.ts';

export interface RoleHolder {
  sub: string;
  username: string;
}

const ofUser = statement('client_roles.of_user', 'SELECT user_roles($1, $2, $3) AS roles');
const holders = statement(
  'client_roles.holders',
  `SELECT u.sub, u.username FROM client_role_holders h JOIN users u USING (sub)
    WHERE h.client_id = $1 AND h.role = $2 ORDER BY login_key(u.username) COLLATE "C", u.sub LIMIT $3`,
);
const give = statement(
  'client_roles.give',
  `INSERT INTO client_role_holders (client_id, role, group_name, sub)
   SELECT $1, $2, name, NULL FROM groups WHERE name = ANY ($3)
   UNION ALL SELECT $1, $2, NULL, sub FROM users WHERE sub = ANY ($4)
   ON CONFLICT DO NOTHING RETURNING role`,
);
const copyGroup = statement(
  'client_roles.copy_group',
  `INSERT INTO client_role_holders (client_id, role, group_name)
   SELECT client_id, role, $2 FROM client_role_holders WHERE group_name = $1 ON CONFLICT DO NOTHING`,
);
const take = statement(
  'client_roles.take',
  `DELETE FROM client_role_holders WHERE client_id = $1 AND role = $2 AND (group_name = ANY ($3) OR sub = ANY ($4)) RETURNING role`,
);

const all = statement(
  'client_roles.all',
  'SELECT client_id, name, description FROM client_roles ORDER BY client_id, name',
);

const table = entityTable(roles);

export function clientRolesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The roles of all clients, by the client_id. */
    async all(): Promise<Map<string, { name: string; description: string }[]>> {
      const rows = await sql.query<{ client_id: string; name: string; description: string }>(all);
      return Map.groupBy(rows, (row) => row.client_id);
    },
    /** The roles of a user at a client, given to the user directly or to the user's groups. */
    async ofUser({ sub, groups }: Pick<Subject, 'sub' | 'groups'>, clientId: string): Promise<string[]> {
      return (await sql.query<{ roles: string[] | null }>(ofUser, [sub, groups, clientId]))[0]?.roles ?? [];
    },
    /** The users to whom the role is given directly. */
    holders: (clientId: string, role: string, limit: number): Promise<RoleHolder[]> =>
      sql.query<RoleHolder>(holders, [clientId, role, limit]),
    /** Gives an existing role. Unknown groups and users are left out. @returns the number of groups and users that did not have it before */
    async give(clientId: string, role: string, groups: readonly string[], subs: readonly string[]): Promise<number> {
      return (await sql.query(give, [clientId, role, groups, subs])).length;
    },
    /** Gives a group the roles of another group. */
    async copyGroup(from: string, to: string): Promise<void> {
      await sql.query(copyGroup, [from, to]);
    },
    async take(clientId: string, role: string, groups: readonly string[], subs: readonly string[]): Promise<number> {
      return (await sql.query(take, [clientId, role, groups, subs])).length;
    },
  };
}
