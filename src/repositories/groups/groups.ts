// Reads and writes the tables groups and group_changes: groups and their numbers of members. The memberships are in users.groups.
import { type Sql, statement } from '../../database/database.ts';
import { columnsOf, membersOf, starts, type Stored, storedOf } from '../../entities/entity.ts';
import { type Group, type GroupMembers, groups } from '../../entities/groups.ts';

type Row = Record<string, unknown>;

const columns = columnsOf(groups);
const members = membersOf(groups).flatMap(([name, declared]) => storedOf(name, declared));
const changeable = members.filter(({ column }) => column !== groups.key);
const names = (stored: readonly Stored[]): string => stored.map(({ column }) => column).join(', ');
const valuesOf = (stored: readonly Stored[], given: object): unknown[] =>
  stored.map(({ name }) => (given as Row)[name]);

/** The most rows of group_changes that are added up at a time. */
const batch = 10_000;

// in one statement, so that both parts are of the same time: changes that were added up, and later ones
const counted = `${columns.flatMap(({ column }) => (column === 'members' ? [] : [`g.${column}`])).join(', ')},
  greatest(0, g.members + coalesce((SELECT sum(c.change) FROM group_changes c WHERE c.name = g.name), 0))::bigint AS members`;

const find = statement('groups.find', `SELECT ${counted} FROM groups g WHERE g.name = $1`);
const list = statement('groups.list', `SELECT ${counted} FROM groups g WHERE g.name > $1 ORDER BY g.name LIMIT $2`);
// the index of words first: a plan that reads the groups in the order of their names would compare the words of each one
const search = statement(
  'groups.search',
  `WITH found AS MATERIALIZED (
     SELECT * FROM groups WHERE group_words(name, description) @@ user_search($3, NULL, NULL, NULL) AND name > $1)
   SELECT ${counted} FROM (SELECT * FROM found ORDER BY name LIMIT $2) AS g ORDER BY g.name`,
);
const insert = statement(
  'groups.insert',
  `INSERT INTO groups (${names(members)}) VALUES (${members.map((_, index) => `$${index + 1}`).join(', ')})
   ON CONFLICT DO NOTHING RETURNING ${names(columns)}`,
);
// always in the same order, and before any lock of users, so that two changes of groups cannot deadlock
const lock = statement('groups.lock', 'SELECT name FROM groups WHERE name = ANY ($1) ORDER BY name FOR UPDATE');
const keep = statement('groups.keep', 'SELECT name FROM groups WHERE name = $1 FOR KEY SHARE');
const update = statement(
  'groups.update',
  `UPDATE groups SET ${changeable.map(({ column }, index) => `${column} = coalesce($${index + 2}, ${column})`).join(', ')} WHERE name = $1`,
);
const remove = statement(
  'groups.delete',
  'WITH changes AS (DELETE FROM group_changes WHERE name = $1) DELETE FROM groups WHERE name = $1',
);
const settle = statement(
  'groups.settle',
  `WITH gone AS (
     DELETE FROM group_changes WHERE id = ANY (ARRAY(SELECT id FROM group_changes ORDER BY id LIMIT ${batch} FOR UPDATE SKIP LOCKED))
     RETURNING name, change),
   added AS (
     UPDATE groups g SET members = g.members + s.change
       FROM (SELECT name, sum(change) AS change FROM gone GROUP BY name) AS s WHERE g.name = s.name)
   SELECT count(*)::int AS settled FROM gone`,
);

const inGroup = `user_words(username, email, claims, groups, status, admin) @@ user_search('', $1, NULL, false) AND $1 = ANY (groups)`;
// always in the same order, so that two changes of the same users cannot deadlock
const lockMembers = statement(
  'groups.lock_members',
  `SELECT sub FROM users WHERE sub = ANY (ARRAY(SELECT sub FROM users WHERE ${inGroup} LIMIT $2)) ORDER BY sub FOR NO KEY UPDATE`,
);
const lockUsers = statement(
  'groups.lock_users',
  'SELECT sub FROM users WHERE sub = ANY ($1) ORDER BY sub FOR NO KEY UPDATE',
);
const join = statement(
  'groups.join',
  `UPDATE users SET groups = array_append(groups, $1), updated_at = now()
    WHERE sub = ANY ($2) AND NOT $1 = ANY (groups) AND cardinality(groups) < 1000 RETURNING sub`,
);
// a membership by hand beside one that another source gives
const joinByHand = statement(
  'groups.join_by_hand',
  `INSERT INTO group_memberships (sub, group_name, source)
   SELECT sub, $1, 'manual' FROM users WHERE sub = ANY ($2) AND $1 = ANY (groups) ON CONFLICT DO NOTHING`,
);
const leave = statement(
  'groups.leave',
  `UPDATE users SET groups = array_remove(groups, $1), updated_at = now() WHERE sub = ANY ($2) AND $1 = ANY (groups) RETURNING sub`,
);
// the memberships keep their sources under the new name
const moveMemberships = statement(
  'groups.move_memberships',
  `WITH gone AS (DELETE FROM group_memberships WHERE group_name = $1 AND sub = ANY ($2) RETURNING sub, source, since)
   INSERT INTO group_memberships (sub, group_name, source, since) SELECT sub, $3, source, since FROM gone ON CONFLICT DO NOTHING`,
);
// a user who is in both groups is in the new one once
const move = statement(
  'groups.move',
  `UPDATE users SET groups = CASE WHEN $3 = ANY (groups) THEN array_remove(groups, $1) ELSE array_replace(groups, $1, $3) END,
     updated_at = now()
    WHERE sub = ANY ($2) AND $1 = ANY (groups) RETURNING sub`,
);

export function groupsRepository(sql: Sql) {
  const subs = async (rows: Promise<{ sub: string }[]>) => (await rows).map((row) => row.sub);
  return {
    async find(name: string): Promise<Group | undefined> {
      const [row] = await sql.query<Row>(find, [name]);
      return row && toGroup(row);
    },
    /** By name. @param page after: the last name of the previous page; words: prefixes of words of the name or the description */
    async list(page: { limit: number; after?: string | undefined; words?: string | undefined }): Promise<Group[]> {
      const { after = '', limit, words = '' } = page;
      const rows =
        words.trim() === '' ? sql.query<Row>(list, [after, limit]) : sql.query<Row>(search, [after, limit, words]);
      return (await rows).map(toGroup);
    },
    /** Undefined when the name is taken. @param given other members have their defaults */
    async insert(given: Pick<GroupMembers, 'name'> & Partial<GroupMembers>): Promise<Group | undefined> {
      const [row] = await sql.query<Row>(insert, valuesOf(members, { ...starts(groups), ...given }));
      return row && toGroup(row);
    },
    /** Until the transaction ends, no other one adds users to these groups or changes them; returns those that exist. */
    async lock(...names: string[]): Promise<string[]> {
      return (await sql.query<{ name: string }>(lock, [names])).map((row) => row.name);
    },
    /** Until the transaction ends, no other one deletes the group; false when it does not exist. */
    async keep(name: string): Promise<boolean> {
      return (await sql.query(keep, [name])).length > 0;
    },
    /** @param change undefined members stay */
    async update(name: string, change: Partial<GroupMembers>): Promise<void> {
      await sql.query(update, [name, ...valuesOf(changeable, change)]);
    },
    async delete(name: string): Promise<void> {
      await sql.query(remove, [name]);
    },
    /** Locks up to `limit` members of a group, and returns them. */
    lockMembers: (name: string, limit: number): Promise<string[]> => subs(sql.query(lockMembers, [name, limit])),
    /** Locks those of the users that exist, and returns them. */
    lockUsers: (users: string[]): Promise<string[]> => subs(sql.query(lockUsers, [users])),
    /** Adds locked users to a group; returns the users who were not in it. */
    async join(name: string, users: string[]): Promise<string[]> {
      const joined = await subs(sql.query(join, [name, users]));
      await sql.query(joinByHand, [name, users]);
      return joined;
    },
    /** Removes locked users from a group, whatever source put them there; returns the users who were in it. */
    leave: (name: string, users: string[]): Promise<string[]> => subs(sql.query(leave, [name, users])),
    /** Moves locked users from one group to another. */
    async move(name: string, users: string[], to: string): Promise<string[]> {
      await sql.query(moveMemberships, [name, users, to]);
      return subs(sql.query(move, [name, users, to]));
    },
    /** Adds up a batch of group_changes and returns its size: after a full batch there may be more. */
    async settle(): Promise<number> {
      const [row] = await sql.query<{ settled: number }>(settle);
      return row!.settled;
    },
    batch,
  };
}

function toGroup(row: Row): Group {
  const values = Object.fromEntries(columns.map(({ column, name }) => [name, row[column]]));
  // the columns are those of the declaration; the driver reads a bigint as text
  return { ...values, members: Number(row['members']) } as Group;
}
