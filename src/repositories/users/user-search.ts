// Users by their words, group, status and power, newest first or by name: a page of a million costs what a page of a thousand does.
import { type Sql, statement } from '../../database/database.ts';
import { toUser, type User, type UserRow } from './users.ts';

export interface UserFilter {
  /** Beginnings of words of the user name, the address and the names, all of which are there; case and accents do not count. */
  words?: string | undefined;
  group?: string | undefined;
  status?: 'disabled' | 'enabled' | undefined;
  /** Administrators only. */
  admin?: boolean | undefined;
}

export type UserOrder = 'newest' | 'name';

export interface UserPage {
  order: UserOrder;
  limit: number;
  /** Where the page before ended: its `next`. */
  after?: UserPlace | undefined;
}

/** Of a user in the order of the newest, or of the names. */
export type UserPlace = { at: Date; id: string } | { key: string };

export interface FoundUsers {
  users: User[];
  /**
   * More match than are put in order: these are the first of `mostCandidates` of them, and others may stand before and between
   * them. Another word, or a filter, makes the search exact.
   */
  broad: boolean;
  /** Where the next page begins; undefined after the last. */
  next: UserPlace | undefined;
}

/** So many of the next in order are looked at one by one: what many match is found among them, exactly, without reading the others. */
export const nearest = 250;
/** Else the index of words finds them, and so many are put in order at most. */
export const mostCandidates = 10_000;

interface FoundRow extends UserRow {
  username_key: string;
}

const words = 'user_words(username, email, claims, groups, status, admin)';
const asked = 'user_search($3, $4, $5, $6)';
const orders = {
  newest: {
    after: '(created_at, sub) < ($1::timestamptz, $2::text)',
    order: 'created_at DESC, sub DESC',
  },
  // $1 has to have a type
  name: { after: `username_key > $2::text AND $1::timestamptz IS NOT NULL`, order: 'username_key' },
};

function statementsOf(name: UserOrder) {
  const { after, order } = orders[name];
  return {
    all: statement(`user_search.${name}.all`, `SELECT * FROM users WHERE ${after} ORDER BY ${order} LIMIT $3`),
    nearest: statement(
      `user_search.${name}.nearest`,
      `SELECT * FROM (SELECT * FROM users WHERE ${after} ORDER BY ${order} LIMIT ${nearest}) AS users
        WHERE ${words} @@ ${asked} LIMIT $7`,
    ),
    candidates: statement(
      `user_search.${name}.candidates`,
      `SELECT *, count(*) OVER ()::int AS found
         FROM (SELECT * FROM users WHERE ${words} @@ ${asked} AND ${after} LIMIT ${mostCandidates + 1}) AS users
        ORDER BY ${order} LIMIT $7`,
    ),
  };
}
/** By order; a test looks at their plans. */
export const userSearchStatements = { newest: statementsOf('newest'), name: statementsOf('name') };

/** Whether anything is asked; without it all users are listed. */
export const asksAnything = (filter: UserFilter): boolean =>
  (filter.words ?? '').trim() !== '' ||
  filter.group !== undefined ||
  filter.status !== undefined ||
  filter.admin === true;

export function userSearchRepository(sql: Sql) {
  return {
    async find(filter: UserFilter, { order, limit, after }: UserPage): Promise<FoundUsers> {
      const place: [Date | string, string] =
        after === undefined
          ? ['infinity', '']
          : 'key' in after
            ? ['infinity', after.key]
            : [after.at, order === 'name' ? '' : after.id];
      const { all, nearest, candidates } = userSearchStatements[order];
      const answer = (rows: FoundRow[], broad = false): FoundUsers => {
        const last = rows.length === limit ? rows.at(-1) : undefined;
        const next = last && (order === 'name' ? { key: last.username_key } : { at: last.created_at, id: last.sub });
        return { users: rows.map(toUser), broad, next };
      };
      if (!asksAnything(filter)) return answer(await sql.query<FoundRow>(all, [...place, limit]));
      const values = [...place, filter.words ?? '', filter.group, filter.status, filter.admin ?? false, limit];
      const near = await sql.query<FoundRow>(nearest, values);
      if (near.length === limit) return answer(near);
      const rows = await sql.query<FoundRow & { found: number }>(candidates, values);
      return answer(rows, (rows[0]?.found ?? 0) > mostCandidates);
    },
  };
}
