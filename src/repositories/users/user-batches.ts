// Stores and reads users by the hundred, for imports and exports.
import { type Sql, statement } from '../../database/database.ts';
import { asksAnything, type UserFilter } from './user-search.ts';
import { toUser, type User, type UserRow } from './users.ts';

/** One user of an import, whose members are already validated. Null removes a member, undefined keeps it. */
export interface ImportedUser {
  sub?: string | undefined;
  username: string;
  email?: string | null | undefined;
  emailVerified?: boolean | undefined;
  passwordHash?: string | undefined;
  status?: 'disabled' | 'enabled' | undefined;
  admin?: boolean | undefined;
  groups?: string[] | undefined;
  claims?: Record<string, unknown> | undefined;
  /** Not yet compared with the definitions; they become members of `claims`. */
  attributes?: Record<string, unknown> | undefined;
}

// in the order of their keys, so that two imports of the same users cannot deadlock
const insert = statement(
  'user_batches.insert',
  `INSERT INTO users (sub, username, email, email_verified, password_hash, status, admin, groups, claims)
   SELECT coalesce(sub, gen_random_uuid()::text), username, email, coalesce(email_verified, false), password_hash,
          coalesce(status, 'enabled'), coalesce(admin, false), coalesce(groups, '{}'), coalesce(claims, '{}')
     FROM jsonb_to_recordset($1) AS n (sub text, username text, email text, email_verified boolean, password_hash text,
          status text, admin boolean, groups text[], claims jsonb)
    ORDER BY lower(normalize(btrim(username), NFKC))
   ON CONFLICT DO NOTHING RETURNING *`,
);
const lock = statement(
  'user_batches.lock',
  `SELECT * FROM users WHERE username_key = ANY (ARRAY(SELECT lower(normalize(btrim(name), NFKC)) FROM unnest($1::text[]) AS name))
    ORDER BY username_key FOR NO KEY UPDATE`,
);
const keys = statement(
  'user_batches.keys',
  'SELECT lower(normalize(btrim(name), NFKC)) AS key FROM unnest($1::text[]) WITH ORDINALITY AS n (name, place) ORDER BY place',
);
const subs = statement(
  'user_batches.subs',
  `SELECT found.sub FROM unnest($1::text[]) WITH ORDINALITY AS n (login, place)
     LEFT JOIN LATERAL (
       SELECT u.sub FROM users u
        WHERE u.username_key = lower(normalize(btrim(n.login), NFKC)) OR u.email_key = lower(normalize(btrim(n.login), NFKC))
        ORDER BY (u.username_key = lower(normalize(btrim(n.login), NFKC))) DESC LIMIT 1) AS found ON true
    ORDER BY n.place`,
);
const exportPage = statement(
  'user_batches.export',
  'SELECT * FROM users WHERE username_key > $1 ORDER BY username_key LIMIT $2',
);
// reads all users in the order of an index, for any filter: an export omits no user, and each page costs the same
const exportMatching = statement(
  'user_batches.export_matching',
  `WITH page AS MATERIALIZED (SELECT * FROM users WHERE username_key > $1 ORDER BY username_key LIMIT $2)
   SELECT last.key AS last_key, last.count AS looked_at, found.*
     FROM (SELECT max(username_key) AS key, count(*)::int AS count FROM page) AS last
     LEFT JOIN (SELECT * FROM page WHERE user_words(username, email, claims, groups, status, admin) @@ user_search($3, $4, $5, $6))
       AS found ON true
    ORDER BY found.username_key`,
);

interface MatchingRow extends Omit<KeyedRow, 'sub'> {
  /** Null where no user of the page matches. */
  sub: string | null;
  last_key: string | null;
  looked_at: number;
}

interface KeyedRow extends UserRow {
  username_key: string;
}

const byKey = (rows: readonly KeyedRow[]) => new Map(rows.map((row) => [row.username_key, toUser(row)]));

export function userBatchesRepository(sql: Sql) {
  return {
    /** Stores the users whose name, address and sub are free, and returns them by the keys of their names. */
    async insert(users: readonly ImportedUser[]): Promise<Map<string, User>> {
      const rows = users.map(({ emailVerified, passwordHash, ...user }) => ({
        ...user,
        email_verified: emailVerified,
        password_hash: passwordHash,
      }));
      return byKey(await sql.query<KeyedRow>(insert, [JSON.stringify(rows)]));
    },
    /** The keys by which the database compares user names, in the order of the names. */
    async keys(usernames: readonly string[]): Promise<string[]> {
      return (await sql.query<{ key: string }>(keys, [usernames])).map((row) => row.key);
    },
    /** The subs of the users with these names or addresses, in their order; undefined where no user has one. */
    async subs(logins: readonly string[]): Promise<(string | undefined)[]> {
      return (await sql.query<{ sub: string | null }>(subs, [logins])).map((row) => row.sub ?? undefined);
    },
    /** Locks the users with these names, and returns them by the keys of their names. */
    async lock(usernames: readonly string[]): Promise<Map<string, User>> {
      return byKey(await sql.query<KeyedRow>(lock, [usernames]));
    },
    /** Reads `limit` users by name and returns those that match, possibly none. @param after the `next` of the previous page */
    async export(
      limit: number,
      after = '',
      filter: UserFilter = {},
    ): Promise<{ users: User[]; next: string | undefined }> {
      if (asksAnything(filter)) {
        const asked = [filter.words ?? '', filter.group, filter.status, filter.admin ?? false];
        const rows = await sql.query<MatchingRow>(exportMatching, [after, limit, ...asked]);
        const users = rows.flatMap(({ sub, ...row }) => (sub === null ? [] : [toUser({ ...row, sub })]));
        return { users, next: rows[0]!.looked_at === limit ? (rows[0]!.last_key ?? undefined) : undefined };
      }
      const rows = await sql.query<KeyedRow>(exportPage, [after, limit]);
      return { users: rows.map(toUser), next: rows.length === limit ? rows.at(-1)!.username_key : undefined };
    },
  };
}
