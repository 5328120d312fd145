// Searches users by words, group, status and administrator rights, newest first or by name. A page of a million users costs no more than one of a thousand.
import { type Sql, statement } from '../../database/database.ts';
import { toUser, type User, type UserRow } from './users.ts';

export interface UserFilter {
  /** Prefixes of words of the user name, the address and the names, all of which must match, without case and accents. */
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
  /** The `next` of the previous page. */
  after?: UserPlace | undefined;
}

/** The place of a user in the order by time or by name. */
export type UserPlace = { at: Date; id: string } | NamePlace;

export interface NamePlace {
  /** The key of the user name. */
  key: string;
  sub: string;
}

export interface FoundUsers {
  users: User[];
  /**
   * Whether more users match than are sorted: these are the first of `maxCandidates` matches, so others may be missing before and
   * between them. Another word, or a filter, makes the search exact.
   */
  broad: boolean;
  /** Where the next page begins; undefined after the last. */
  next: UserPlace | undefined;
}

/** How many users are first checked one by one, in order: a search with many matches finds its page among them, exactly. */
const nearest = 250;
/** Otherwise the index of words finds the matches, and at most this many are sorted. */
const maxCandidates = 10_000;

interface FoundRow extends UserRow {
  name_key: string;
}

const words = 'user_words(username, email, claims, groups, status, admin)';
const asked = 'user_search($3, $4, $5, $6)';
const orders = {
  newest: {
    after: '(created_at, sub) < ($1::timestamptz, $2::text)',
    order: 'created_at DESC, sub DESC',
  },
  name: {
    after: '(login_key(username) COLLATE "C", sub) > ($1::text, $2::text)',
    order: 'login_key(username) COLLATE "C", sub',
  },
};

function statementsOf(name: UserOrder) {
  const { after, order } = orders[name];
  return {
    all: statement(
      `user_search.${name}.all`,
      `SELECT *, login_key(username) AS name_key FROM users WHERE ${after} ORDER BY ${order} LIMIT $3`,
    ),
    nearest: statement(
      `user_search.${name}.nearest`,
      `SELECT *, login_key(username) AS name_key
         FROM (SELECT * FROM users WHERE ${after} ORDER BY ${order} LIMIT ${nearest}) AS users
        WHERE ${words} @@ ${asked} LIMIT $7`,
    ),
    candidates: statement(
      `user_search.${name}.candidates`,
      `SELECT *, login_key(username) AS name_key, count(*) OVER ()::int AS found
         FROM (SELECT * FROM users WHERE ${words} @@ ${asked} AND ${after} LIMIT ${maxCandidates + 1}) AS users
        ORDER BY ${order} LIMIT $7`,
    ),
  };
}
/** The statements by order; a test checks their plans. */
export const userSearchStatements = { newest: statementsOf('newest'), name: statementsOf('name') };

/** By the index of words, which a test checks: there are few administrators, and a service may have a million users. */
export const hasSeveralAdministrators = statement(
  'user_search.has_several_administrators',
  `SELECT count(*) > 1 AS several
     FROM (SELECT FROM users WHERE ${words} @@ user_search('', NULL, 'enabled', true) LIMIT 2) AS administrators`,
);

/** Whether the filter has any condition; otherwise all users are listed. */
export const asksAnything = (filter: UserFilter): boolean =>
  (filter.words ?? '').trim() !== '' ||
  filter.group !== undefined ||
  filter.status !== undefined ||
  filter.admin === true;

export function userSearchRepository(sql: Sql) {
  return {
    /** Whether more than one enabled user is an administrator. */
    async hasSeveralAdministrators(): Promise<boolean> {
      return (await sql.query<{ several: boolean }>(hasSeveralAdministrators, []))[0]!.several;
    },
    async find(filter: UserFilter, { order, limit, after }: UserPage): Promise<FoundUsers> {
      const place: [Date | string, string] = after
        ? 'key' in after
          ? [after.key, after.sub]
          : [after.at, after.id]
        : [order === 'name' ? '' : 'infinity', ''];
      const { all, nearest, candidates } = userSearchStatements[order];
      const answer = (rows: FoundRow[], broad = false): FoundUsers => {
        const last = rows.length === limit ? rows.at(-1) : undefined;
        const next =
          last && (order === 'name' ? { key: last.name_key, sub: last.sub } : { at: last.created_at, id: last.sub });
        return { users: rows.map(toUser), broad, next };
      };
      if (!asksAnything(filter)) return answer(await sql.query<FoundRow>(all, [...place, limit]));
      const values = [...place, filter.words ?? '', filter.group, filter.status, filter.admin ?? false, limit];
      const near = await sql.query<FoundRow>(nearest, values);
      if (near.length === limit) return answer(near);
      const rows = await sql.query<FoundRow & { found: number }>(candidates, values);
      return answer(rows, (rows[0]?.found ?? 0) > maxCandidates);
    },
  };
}
