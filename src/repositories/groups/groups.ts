// The tables groups and group_changes: groups with how many members they have. Who is in which, users.groups says.
import { type Sql, statement } from '../../database/database.ts';

export interface Group {
  name: string;
  description: string;
  members: number;
  createdAt: Date;
}

interface Row {
  name: string;
  description: string;
  members: string;
  created_at: Date;
}

/** So many rows of changes are added up at a time. */
const batch = 10_000;

// in one statement, thus of one moment: what was added up already, and what was not yet
const counted = `g.name, g.description, g.created_at,
  greatest(0, g.members + coalesce((SELECT sum(c.change) FROM group_changes c WHERE c.name = g.name), 0))::bigint AS members`;

const find = statement('groups.find', `SELECT ${counted} FROM groups g WHERE g.name = $1`);
const list = statement('groups.list', `SELECT ${counted} FROM groups g WHERE g.name > $1 ORDER BY g.name LIMIT $2`);
// what was found by the index is put in order first: only of what is shown the members are added up
const search = statement(
  'groups.search',
  `SELECT ${counted} FROM (
     SELECT * FROM groups WHERE group_words(name, description) @@ user_search($3, NULL, NULL, NULL) AND name > $1 ORDER BY name LIMIT $2) AS g
    ORDER BY g.name`,
);
const insert = statement(
  'groups.insert',
  `INSERT INTO groups (name, description) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING name, description, created_at, 0::bigint AS members`,
);
// always in one order, and always before the locks of users: of two who change groups the second waits, and neither for the other
const lock = statement('groups.lock', 'SELECT name FROM groups WHERE name = ANY ($1) ORDER BY name FOR UPDATE');
const keep = statement('groups.keep', 'SELECT name FROM groups WHERE name = $1 FOR KEY SHARE');
const describe = statement('groups.describe', 'UPDATE groups SET description = $2 WHERE name = $1');
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
// always in one order: of two who change the same users the second waits, and neither waits for the other
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
const leave = statement(
  'groups.leave',
  `UPDATE users SET groups = array_remove(groups, $1), updated_at = now() WHERE sub = ANY ($2) AND $1 = ANY (groups) RETURNING sub`,
);
// who is in both is in the new one once
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
    /** By name. @param page after: the last name of the page before; words: beginnings of words of the name or the description */
    async list(page: { limit: number; after?: string | undefined; words?: string | undefined }): Promise<Group[]> {
      const { after = '', limit, words = '' } = page;
      const rows =
        words.trim() === '' ? sql.query<Row>(list, [after, limit]) : sql.query<Row>(search, [after, limit, words]);
      return (await rows).map(toGroup);
    },
    /** undefined when there is one of this name. */
    async insert(name: string, description: string): Promise<Group | undefined> {
      const [row] = await sql.query<Row>(insert, [name, description]);
      return row && toGroup(row);
    },
    /** Until the transaction ends nobody joins these groups, nor changes them; returns those that there are. */
    async lock(...names: string[]): Promise<string[]> {
      return (await sql.query<{ name: string }>(lock, [names])).map((row) => row.name);
    },
    /** Until the transaction ends nobody deletes the group; false when there is none. */
    async keep(name: string): Promise<boolean> {
      return (await sql.query(keep, [name])).length > 0;
    },
    async describe(name: string, description: string): Promise<void> {
      await sql.query(describe, [name, description]);
    },
    async delete(name: string): Promise<void> {
      await sql.query(remove, [name]);
    },
    /** Locks up to `limit` members of a group, and returns them. */
    lockMembers: (name: string, limit: number): Promise<string[]> => subs(sql.query(lockMembers, [name, limit])),
    /** Locks those of the users that there are, and returns them. */
    lockUsers: (users: string[]): Promise<string[]> => subs(sql.query(lockUsers, [users])),
    /** Puts locked users into a group; returns those who were not in it. */
    join: (name: string, users: string[]): Promise<string[]> => subs(sql.query(join, [name, users])),
    /** Takes locked users out of a group; returns those who were in it. */
    leave: (name: string, users: string[]): Promise<string[]> => subs(sql.query(leave, [name, users])),
    /** Moves locked users from one group to another. */
    move: (name: string, users: string[], to: string): Promise<string[]> => subs(sql.query(move, [name, users, to])),
    /** Adds up some of the changes of counts; returns how many, and a full batch may have more behind it. */
    async settle(): Promise<number> {
      const [row] = await sql.query<{ settled: number }>(settle);
      return row!.settled;
    },
    batch,
  };
}

function toGroup(row: Row): Group {
  return { name: row.name, description: row.description, members: Number(row.members), createdAt: row.created_at };
}
