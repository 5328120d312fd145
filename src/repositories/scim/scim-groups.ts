// Reads and writes the table scim_groups: the groups of SCIM sources, and their members by set operations.
import { composedStatement, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { MemberChange } from '../../rules/scim/patch.ts';
import { conditionOf, filterableGroups } from './filter-sql.ts';
import type { ScimPage } from './scim-users.ts';

export interface ScimGroup {
  id: string;
  /** The group here. */
  name: string;
  displayName: string;
  externalId: string | undefined;
  version: number;
  createdAt: Date;
  updatedAt: Date;
  /** The subs of the members; empty if they were not asked for. */
  members: string[];
}

export interface MembersChanged {
  /** The first id that is none of a user of the source. */
  stranger: string | null;
  /** Whether the group is guarded, so that nothing changed unless it admits the source. */
  guards: boolean;
  joined: string[] | null;
  departed: string[] | null;
  skipped: string[] | null;
  changed: boolean;
}

interface Row {
  id: string;
  name: string;
  display_name: string;
  external_id: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
  members: string[] | null;
}

const columns = 's.id, s.name, s.display_name, s.external_id, s.version, s.created_at, s.updated_at';
const membersOf = `ARRAY(SELECT m.sub FROM group_memberships m
    WHERE m.source = 'scim:' || s.source_id AND m.source <> 'manual' AND m.group_name = s.name ORDER BY m.since, m.sub) AS members`;
const none = 'NULL::text[] AS members';

const find = statement(
  'scim_groups.find',
  `SELECT ${columns}, ${membersOf} FROM scim_groups s WHERE s.source_id = $1 AND s.id = $2`,
);
const findAlone = statement(
  'scim_groups.find_alone',
  `SELECT ${columns}, ${none} FROM scim_groups s WHERE s.source_id = $1 AND s.id = $2`,
);
const lock = statement(
  'scim_groups.lock',
  `SELECT ${columns}, ${none} FROM scim_groups s WHERE s.source_id = $1 AND s.id = $2 FOR UPDATE`,
);
const isLarge = statement(
  'scim_groups.is_large',
  `SELECT EXISTS (SELECT FROM group_memberships m WHERE m.source = 'scim:' || s.source_id AND m.source <> 'manual' AND m.group_name = s.name OFFSET 200) AS large
     FROM scim_groups s WHERE s.source_id = $1 AND s.id = $2`,
);
const isTaken = statement(
  'scim_groups.is_taken',
  'SELECT EXISTS (SELECT FROM scim_groups WHERE name = $1 AND id IS DISTINCT FROM $2) AS taken',
);
const insert = statement(
  'scim_groups.insert',
  'INSERT INTO scim_groups (source_id, name, display_name, external_id) VALUES ($1, $2, $3, $4) RETURNING id',
);
const update = statement(
  'scim_groups.update',
  `UPDATE scim_groups SET name = $3, display_name = $4, external_id = $5, version = version + 1,
     updated_at = date_trunc('milliseconds', clock_timestamp())
    WHERE source_id = $1 AND id = $2`,
);
// a group that is merged into that of another source belongs to the other one
const rename = statement(
  'scim_groups.rename',
  'UPDATE scim_groups SET name = $2 WHERE name = $1 AND NOT EXISTS (SELECT FROM scim_groups WHERE name = $2)',
);
const remove = statement('scim_groups.delete', 'DELETE FROM scim_groups WHERE source_id = $1 AND id = $2');
const changeMembers = storedFunction(new URL('change_scim_members.sql', import.meta.url));
const change = statement('scim_groups.change_members', `SELECT * FROM ${changeMembers.name}($1, $2, $3, $4, $5, $6)`);

export function scimGroupsRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<ScimGroup | undefined> => {
    const [row] = await rows;
    return row && toScimGroup(row);
  };
  return {
    find: (source: string, id: string, withMembers: boolean): Promise<ScimGroup | undefined> =>
      one(sql.query<Row>(withMembers ? find : findAlone, [source, id])),
    /** Locks the row until the transaction ends: it is locked before the group and its members. */
    lock: (source: string, id: string): Promise<ScimGroup | undefined> => one(sql.query<Row>(lock, [source, id])),
    /** @throws ScimError invalidFilter */
    async list(source: string, { filter, offset, limit }: ScimPage, withMembers: boolean) {
      const condition = filter && conditionOf(filterableGroups, filter, 4);
      const where = `s.source_id = $1${condition ? ` AND ${condition.sql}` : ''}`;
      const page = composedStatement(
        'scim_groups.list',
        `SELECT ${columns}, ${withMembers ? membersOf : none} FROM scim_groups s WHERE ${where} ORDER BY s.place OFFSET $2 LIMIT $3`,
      );
      const count = composedStatement(
        'scim_groups.count',
        `SELECT count(*) AS total FROM scim_groups s WHERE ${where} AND $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL`,
      );
      const values = [source, offset, limit, ...(condition?.values ?? [])];
      const [counted] = await sql.query<{ total: string }>(count, values);
      const total = Number(counted!.total);
      const rows = limit === 0 || offset >= total ? [] : await sql.query<Row>(page, values);
      return { total, groups: rows.map(toScimGroup) };
    },
    /** Whether the group has more than 200 members of the source. */
    isLarge: async (source: string, id: string): Promise<boolean> =>
      (await sql.query<{ large: boolean }>(isLarge, [source, id]))[0]?.large ?? false,
    /** Whether a source has a group of this name here. @param beside the id of one that does not count */
    async isTaken(name: string, beside?: string): Promise<boolean> {
      return (await sql.query<{ taken: boolean }>(isTaken, [name, beside]))[0]!.taken;
    },
    async insert(
      source: string,
      { name, displayName, externalId }: Pick<ScimGroup, 'name' | 'displayName' | 'externalId'>,
    ): Promise<string> {
      return (await sql.query<{ id: string }>(insert, [source, name, displayName, externalId]))[0]!.id;
    },
    async update(
      source: string,
      id: string,
      { name, displayName, externalId }: Pick<ScimGroup, 'name' | 'displayName' | 'externalId'>,
    ): Promise<void> {
      await sql.query(update, [source, id, name, displayName, externalId]);
    },
    /** Follows a group that an administrator renames. */
    async rename(from: string, to: string): Promise<void> {
      await sql.query(rename, [from, to]);
    },
    async delete(source: string, id: string): Promise<void> {
      await sql.query(remove, [source, id]);
    },
    /** In a transaction, in one statement. */
    async changeMembers(
      source: string,
      id: string,
      { all, add, remove: gone }: MemberChange,
      guarded: readonly string[],
    ): Promise<MembersChanged> {
      return (await sql.query<MembersChanged>(change, [source, id, all, [...add], [...gone], guarded]))[0]!;
    },
  };
}

const toScimGroup = (row: Row): ScimGroup => ({
  id: row.id,
  name: row.name,
  displayName: row.display_name,
  externalId: row.external_id ?? undefined,
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  members: row.members ?? [],
});
