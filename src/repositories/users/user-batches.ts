// Stores and reads users by the hundred, for imports and exports.
import { type Sql, statement } from '../../database/database.ts';
import { otherForm } from '../../rules/connections/mail-domain.ts';
import { asksAnything, type NamePlace, type UserFilter } from './user-search.ts';
import type { IdentityKey } from '../connections/linked-identities.ts';
import type { TotpAuthenticator } from '../second-factors/totp-authenticators.ts';
import { ambiguousUser, type Confirmation, toUser, type User, type UserRow } from './users.ts';

/** What an import adds to a new user. */
export interface UserAdditions {
  authenticators: (TotpAuthenticator & { name: string })[];
  links: IdentityKey[];
  roles: { clientId: string; role: string }[];
}

/** One user of an import, whose members are already validated. Null removes a member, undefined keeps it. */
export interface ImportedUser {
  sub?: string | undefined;
  username: string;
  email?: string | null | undefined;
  /** Null for an address that is not confirmed; undefined keeps what is stored. */
  confirmedBy?: Confirmation | null | undefined;
  passwordHash?: string | undefined;
  status?: 'disabled' | 'enabled' | undefined;
  admin?: boolean | undefined;
  groups?: string[] | undefined;
  claims?: Record<string, unknown> | undefined;
  /** Names an existing user by an identity. */
  connection?: string | undefined;
  subject?: string | undefined;
  /** Not yet compared with the definitions; they become members of `claims`. */
  attributes?: Record<string, unknown> | undefined;
  additions?: UserAdditions | undefined;
}

// in the order of their keys, so that two imports of the same users cannot deadlock
const insert = statement(
  'user_batches.insert',
  `INSERT INTO users (sub, username, email, email_verified, email_confirmed_by, password_hash, status, admin, groups, claims, username_given)
   SELECT coalesce(sub, gen_random_uuid()::text), username, email, confirmed_by IS NOT NULL, confirmed_by, password_hash,
          coalesce(status, 'enabled'), coalesce(admin, false), coalesce(groups, '{}'), coalesce(claims, '{}'), true
     FROM jsonb_to_recordset($1) AS n (sub text, username text, email text, confirmed_by text, password_hash text,
          status text, admin boolean, groups text[], claims jsonb)
    WHERE NOT EXISTS (SELECT FROM login_keys k WHERE k.key IN (login_key(n.username), login_key(n.email), login_key(n.sub)))
    ORDER BY login_key(username) COLLATE "C"
   ON CONFLICT DO NOTHING RETURNING *, login_key(username) AS name_key`,
);
const lock = statement(
  'user_batches.lock',
  `SELECT *, login_key(username) AS name_key FROM users
    WHERE sub IN (SELECT u.sub FROM unnest($1::text[]) AS name, users_of_login(name) AS u WHERE login_key(u.username) = login_key(name))
    ORDER BY login_key(username) COLLATE "C", sub FOR NO KEY UPDATE`,
);
const keys = statement(
  'user_batches.keys',
  'SELECT login_key(name) AS key FROM unnest($1::text[]) WITH ORDINALITY AS n (name, place) ORDER BY place',
);
const taken = statement('user_batches.taken', 'SELECT key FROM login_keys WHERE key = ANY ($1::text[])');
const page = `SELECT *, login_key(username) AS name_key FROM users
   WHERE (login_key(username) COLLATE "C", sub) > ($1, $2) ORDER BY login_key(username) COLLATE "C", sub LIMIT $3`;
const exportPage = statement('user_batches.export', page);
// reads all users in the order of an index, for any filter: an export omits no user, and each page costs the same
const exportMatching = statement(
  'user_batches.export_matching',
  `WITH page AS MATERIALIZED (${page})
   SELECT (SELECT count(*)::int FROM page) AS looked_at, last.name_key AS last_key, last.sub AS last_sub, found.*
     FROM (SELECT 1) AS one
     LEFT JOIN (SELECT name_key, sub FROM page ORDER BY name_key COLLATE "C" DESC, sub DESC LIMIT 1) AS last ON true
     LEFT JOIN (SELECT * FROM page WHERE user_words(username, email, claims, groups, status, admin) @@ user_search($4, $5, $6, $7))
       AS found ON true
    ORDER BY found.name_key COLLATE "C", found.sub`,
);
// as users.find_named does: the sub first
const named = statement(
  'user_batches.named',
  `SELECT ARRAY(SELECT sub FROM users WHERE sub = n.typed UNION SELECT u.sub FROM users_of_login(n.typed) AS u) AS subs
     FROM unnest($1::text[]) WITH ORDINALITY AS n (typed, place) ORDER BY n.place`,
);

interface MatchingRow extends Omit<KeyedRow, 'sub'> {
  /** Null where no user of the page matches. */
  sub: string | null;
  last_key: string | null;
  last_sub: string | null;
  looked_at: number;
}

interface KeyedRow extends UserRow {
  name_key: string;
}

const byKey = (rows: readonly KeyedRow[]) => new Map(rows.map((row) => [row.name_key, toUser(row)]));

export function userBatchesRepository(sql: Sql) {
  return {
    /** Stores the users whose name, address and sub are free, and returns them by the keys of their names. */
    async insert(users: readonly ImportedUser[]): Promise<Map<string, User>> {
      const rows = users.map(({ confirmedBy, passwordHash, ...user }) => ({
        ...user,
        additions: undefined,
        confirmed_by: confirmedBy,
        password_hash: passwordHash,
      }));
      return byKey(await sql.query<KeyedRow>(insert, [JSON.stringify(rows)]));
    },
    /** The keys by which the database compares names, addresses and subs, in the order of the texts. */
    async keys(texts: readonly string[]): Promise<string[]> {
      return (await sql.query<{ key: string }>(keys, [texts])).map((row) => row.key);
    },
    /** Those of the keys that users or clients have. */
    async taken(keys: readonly string[]): Promise<Set<string>> {
      return new Set((await sql.query<{ key: string }>(taken, [keys])).map((row) => row.key));
    },
    /**
     * The subs of the users with these subs, names or addresses, in their order; undefined where no user has one.
     * @throws OAuthError if a text fits several users (security R153)
     */
    async named(texts: readonly string[]): Promise<(string | undefined)[]> {
      const forms = texts.map((text) => otherForm(text) ?? text);
      const rows = await sql.query<{ subs: string[] }>(named, [[...texts, ...forms]]);
      return texts.map((text, index) => {
        const subs = new Set([...rows[index]!.subs, ...rows[texts.length + index]!.subs]);
        if (subs.size > 1) throw ambiguousUser(text);
        return [...subs][0];
      });
    },
    /** Locks the users with these names, and returns them by the keys of their names. */
    async lock(usernames: readonly string[]): Promise<Map<string, User>> {
      return byKey(await sql.query<KeyedRow>(lock, [usernames]));
    },
    /** Reads `limit` users by name and returns those that match, possibly none. @param after the `next` of the previous page */
    async export(
      limit: number,
      after: NamePlace | undefined,
      filter: UserFilter = {},
    ): Promise<{ users: User[]; next: NamePlace | undefined }> {
      const place = [after?.key ?? '', after?.sub ?? ''];
      if (asksAnything(filter)) {
        const asked = [filter.words ?? '', filter.group, filter.status, filter.admin ?? false];
        const rows = await sql.query<MatchingRow>(exportMatching, [...place, limit, ...asked]);
        const users = rows.flatMap(({ sub, ...row }) => (sub === null ? [] : [toUser({ ...row, sub })]));
        const { looked_at: lookedAt, last_key: key, last_sub: sub } = rows[0]!;
        return { users, next: lookedAt === limit && key !== null && sub !== null ? { key, sub } : undefined };
      }
      const rows = await sql.query<KeyedRow>(exportPage, [...place, limit]);
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { users: rows.map(toUser), next: last && { key: last.name_key, sub: last.sub } };
    },
  };
}
