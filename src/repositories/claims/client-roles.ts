// Reads and writes the roles of clients, and the groups and users that have them.
import { type Sql, statement } from '../../database/database.ts';
import type { Subject } from '../../rules/claims/claims.ts';

export interface ClientRole {
  name: string;
  description: string;
  /** The groups whose members have the role. */
  groups: string[];
  /** The number of users to whom the role is given directly. */
  users: number;
}

export interface RoleHolder {
  sub: string;
  username: string;
}

const ofUser = statement('client_roles.of_user', 'SELECT user_roles($1, $2, $3) AS roles');
const list = statement(
  'client_roles.list',
  `SELECT r.name, r.description,
          ARRAY(SELECT h.group_name FROM client_role_holders h WHERE h.client_id = r.client_id AND h.role = r.name AND h.group_name IS NOT NULL
                 ORDER BY 1) AS groups,
          (SELECT count(*)::int FROM client_role_holders h WHERE h.client_id = r.client_id AND h.role = r.name AND h.sub IS NOT NULL) AS users
     FROM client_roles r WHERE r.client_id = $1 ORDER BY r.name`,
);
const holders = statement(
  'client_roles.holders',
  `SELECT u.sub, u.username FROM client_role_holders h JOIN users u USING (sub)
    WHERE h.client_id = $1 AND h.role = $2 ORDER BY login_key(u.username) COLLATE "C", u.sub LIMIT $3`,
);
const insert = statement(
  'client_roles.insert',
  `INSERT INTO client_roles (client_id, name, description)
   SELECT $1, $2, $3 WHERE (SELECT count(*) FROM client_roles WHERE client_id = $1) < $4 ON CONFLICT DO NOTHING RETURNING name`,
);
const update = statement(
  'client_roles.update',
  'UPDATE client_roles SET description = $3 WHERE client_id = $1 AND name = $2 RETURNING name',
);
const remove = statement(
  'client_roles.delete',
  'DELETE FROM client_roles WHERE client_id = $1 AND name = $2 RETURNING name',
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

export function clientRolesRepository(sql: Sql) {
  return {
    /** The roles of a user at a client, given to the user directly or to the user's groups. */
    async ofUser({ sub, groups }: Pick<Subject, 'sub' | 'groups'>, clientId: string): Promise<string[]> {
      return (await sql.query<{ roles: string[] | null }>(ofUser, [sub, groups, clientId]))[0]?.roles ?? [];
    },
    list: (clientId: string): Promise<ClientRole[]> => sql.query<ClientRole>(list, [clientId]),
    /** The users to whom the role is given directly. */
    holders: (clientId: string, role: string, limit: number): Promise<RoleHolder[]> =>
      sql.query<RoleHolder>(holders, [clientId, role, limit]),
    /** Inserts a role. False if the client has a role of this name, or has `most` roles already. */
    async insert(clientId: string, name: string, description: string, most: number): Promise<boolean> {
      return (await sql.query(insert, [clientId, name, description, most])).length > 0;
    },
    async update(clientId: string, name: string, description: string): Promise<boolean> {
      return (await sql.query(update, [clientId, name, description])).length > 0;
    },
    async delete(clientId: string, name: string): Promise<boolean> {
      return (await sql.query(remove, [clientId, name])).length > 0;
    },
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
