// Reads and writes the table scim_users: the users of SCIM sources, as each source wrote them.
import { composedStatement, type Sql, statement } from '../../database/database.ts';
import type { Filter } from '../../rules/scim/filter.ts';
import { conditionOf, filterableUsers } from './filter-sql.ts';

export interface ScimUser {
  sub: string;
  externalId: string | undefined;
  userName: string;
  resource: Record<string, unknown>;
  adopted: boolean;
  /** The source disabled the user. */
  disabled: boolean;
  version: number;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | undefined;
  /** Whether the account is enabled. */
  active: boolean;
  /** The groups of the source that the user is in; empty if they were not asked for. */
  groups: { id: string; name: string }[];
}

interface Row {
  sub: string;
  external_id: string | null;
  user_name: string;
  resource: Record<string, unknown>;
  adopted: boolean;
  disabled: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
  active: boolean;
  groups: { id: string; name: string }[] | null;
}

export interface ScimPage {
  filter: Filter | undefined;
  /** From 0. */
  offset: number;
  limit: number;
}

/** What a source says about a user. */
export interface ScimUserValues {
  externalId: string | undefined;
  userName: string;
  resource: Record<string, unknown>;
}

const columns =
  's.sub, s.external_id, s.user_name, s.resource, s.adopted, s.disabled, s.version, s.created_at, s.updated_at, s.deleted_at';
const groupsOf = `(SELECT jsonb_agg(jsonb_build_object('id', g.id, 'name', g.display_name) ORDER BY g.place)
     FROM group_memberships m JOIN scim_groups g ON g.name = m.group_name AND g.source_id = s.source_id
    WHERE m.sub = s.sub AND m.source = 'scim:' || s.source_id AND m.source <> 'manual') AS groups`;
const from = `scim_users s JOIN users u ON u.sub = s.sub`;
const mine = `s.source_id = $1 AND s.deleted_at IS NULL`;

const find = statement(
  'scim_users.find',
  `SELECT ${columns}, u.status = 'enabled' AS active, ${groupsOf} FROM ${from} WHERE ${mine} AND s.sub = $2`,
);
const lock = statement(
  'scim_users.lock',
  `SELECT ${columns}, u.status = 'enabled' AS active, ${groupsOf} FROM ${from} WHERE s.source_id = $1 AND s.sub = $2 FOR UPDATE OF s`,
);
const byExternalId = statement(
  'scim_users.by_external_id',
  'SELECT sub, deleted_at IS NOT NULL AS gone FROM scim_users WHERE source_id = $1 AND external_id = $2',
);
const sourceOf = statement('scim_users.source_of', 'SELECT source_id FROM scim_users WHERE sub = $1');
const insert = statement(
  'scim_users.insert',
  `INSERT INTO scim_users (source_id, sub, external_id, user_name, resource, adopted) VALUES ($1, $2, $3, $4, $5, $6)`,
);
const update = statement(
  'scim_users.update',
  `UPDATE scim_users SET external_id = $3, user_name = $4, resource = $5, deleted_at = NULL, kept = false, version = version + 1,
     updated_at = date_trunc('milliseconds', clock_timestamp())
    WHERE source_id = $1 AND sub = $2`,
);
const setDisabled = statement(
  'scim_users.set_disabled',
  `UPDATE scim_users SET disabled = $2, version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp()) WHERE sub = $1`,
);
const remove = statement(
  'scim_users.remove',
  'UPDATE scim_users SET deleted_at = now() WHERE source_id = $1 AND sub = $2',
);
const touchGroups = statement(
  'scim_users.touch_groups',
  `UPDATE scim_groups g SET version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp())
    WHERE g.id = ANY (ARRAY(
      SELECT o.id FROM scim_groups o JOIN group_memberships m ON m.group_name = o.name AND m.source = 'scim:' || o.source_id
       WHERE o.source_id = $1 AND m.sub = $2 ORDER BY o.id FOR UPDATE OF o))`,
);
// made by the source, deleted by it long ago, and not enabled by an administrator since
const due = statement(
  'scim_users.due',
  `SELECT s.sub FROM scim_users s JOIN users u ON u.sub = s.sub
    WHERE s.deleted_at < now() - make_interval(days => $1) AND NOT s.adopted AND NOT s.kept AND u.status = 'disabled' AND NOT u.admin
    ORDER BY s.deleted_at LIMIT 100`,
);

export function scimUsersRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<ScimUser | undefined> => {
    const [row] = await rows;
    return row && toScimUser(row);
  };
  return {
    /** A user of the source that it did not delete. */
    find: (source: string, sub: string): Promise<ScimUser | undefined> => one(sql.query<Row>(find, [source, sub])),
    /** Locks the row, also of a deleted user, until the transaction ends. The row of the user is locked before. */
    lock: (source: string, sub: string): Promise<ScimUser | undefined> => one(sql.query<Row>(lock, [source, sub])),
    /** @throws ScimError invalidFilter */
    async list(source: string, { filter, offset, limit }: ScimPage, withGroups: boolean) {
      const condition = filter && conditionOf(filterableUsers, filter, 4);
      const where = `${mine}${condition ? ` AND ${condition.sql}` : ''}`;
      const groups = withGroups ? groupsOf : 'NULL::jsonb AS groups';
      // the rows before the page are only counted in the index, so that the last page of many takes about as long as the first
      const page = composedStatement(
        'scim_users.list',
        `SELECT ${columns}, u.status = 'enabled' AS active, ${groups} FROM ${from}
          WHERE ${mine} AND s.place = ANY (ARRAY(SELECT s.place FROM scim_users s WHERE ${where} ORDER BY s.place OFFSET $2 LIMIT $3))
          ORDER BY s.place`,
      );
      // the count has no page: its two parameters are for the same numbers
      const count = composedStatement(
        'scim_users.count',
        `SELECT count(*) AS total FROM scim_users s WHERE ${where} AND $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL`,
      );
      const values = [source, offset, limit, ...(condition?.values ?? [])];
      const [counted] = await sql.query<{ total: string }>(count, values);
      const total = Number(counted!.total);
      const rows = limit === 0 || offset >= total ? [] : await sql.query<Row>(page, values);
      return { total, users: rows.map(toScimUser) };
    },
    /** The user with this id of the source, also one that it deleted. */
    async byExternalId(source: string, externalId: string): Promise<{ sub: string; gone: boolean } | undefined> {
      const [row] = await sql.query<{ sub: string; gone: boolean }>(byExternalId, [source, externalId]);
      return row;
    },
    /** The source to which a user belongs. */
    async sourceOf(sub: string): Promise<string | undefined> {
      return (await sql.query<{ source_id: string }>(sourceOf, [sub]))[0]?.source_id;
    },
    async insert(source: string, sub: string, values: ScimUserValues, adopted: boolean): Promise<void> {
      const { externalId, userName, resource } = values;
      await sql.query(insert, [source, sub, externalId, userName, JSON.stringify(resource), adopted]);
    },
    /** Also brings a deleted one back. */
    async update(source: string, sub: string, { externalId, userName, resource }: ScimUserValues): Promise<void> {
      await sql.query(update, [source, sub, externalId, userName, JSON.stringify(resource)]);
    },
    /** Notes after a change of the status that the source made it. */
    async setDisabled(sub: string, disabled: boolean): Promise<void> {
      await sql.query(setDisabled, [sub, disabled]);
    },
    /** In a transaction, before memberships end: the groups of the user get another version. */
    async touchGroups(source: string, sub: string): Promise<void> {
      await sql.query(touchGroups, [source, sub]);
    },
    async remove(source: string, sub: string): Promise<void> {
      await sql.query(remove, [source, sub]);
    },
    /** Users that their source made, and deleted so many days ago. */
    due: async (days: number): Promise<string[]> =>
      (await sql.query<{ sub: string }>(due, [days])).map(({ sub }) => sub),
  };
}

const toScimUser = (row: Row): ScimUser => ({
  sub: row.sub,
  externalId: row.external_id ?? undefined,
  userName: row.user_name,
  resource: row.resource,
  adopted: row.adopted,
  disabled: row.disabled,
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  deletedAt: row.deleted_at ?? undefined,
  active: row.active,
  groups: row.groups ?? [],
});
