// Reads and writes the table users: the users with their password hashes and claims.
import { endSparing } from '../sessions/device-cookies.ts';
import { type Sql, statement } from '../../database/database.ts';
import { conflict } from '../../oauth/errors.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import { otherForm } from '../../rules/connections/mail-domain.ts';
import { refusal } from '../../oauth/refusals.ts';
import { batchedSelect } from '../batched-select.ts';

/**
 * Who confirmed the address of a user: our own mail, an administrator, a connection with authority over its domain, or a connection, or
 * the file of an import, by its word only (security R156).
 */
export const confirmations = ['mail', 'administrator', 'authority', 'word'] as const;
export type Confirmation = (typeof confirmations)[number];

export interface User extends Subject {
  /** Undefined while the address is not confirmed. */
  confirmedBy: Confirmation | undefined;
  passwordHash: string | undefined;
  status: 'disabled' | 'enabled';
  admin: boolean;
  createdAt: Date;
}

export interface NewUser {
  /** Undefined for a generated sub. */
  sub?: string | undefined;
  username: string;
  /** Whether an administrator, an import or a source gave the name: any other may be the choice of the user. */
  isNameGiven?: boolean | undefined;
  email?: string | undefined;
  /** Who confirmed the address; undefined if it is not confirmed. */
  confirmedBy?: Confirmation | undefined;
  passwordHash?: string | undefined;
  admin?: boolean | undefined;
  groups?: string[] | undefined;
  claims?: Record<string, unknown> | undefined;
}

/** Undefined keeps a member as it is. */
export interface UserChange {
  username?: string | undefined;
  email?: string | null | undefined;
  /** Null takes the confirmation back. Another address without it is not confirmed. */
  confirmedBy?: Confirmation | null | undefined;
  status?: 'disabled' | 'enabled' | undefined;
  admin?: boolean | undefined;
  groups?: string[] | undefined;
  claims?: Record<string, unknown> | undefined;
}

export interface UserRow {
  sub: string;
  username: string;
  email: string | null;
  email_verified: boolean;
  email_confirmed_by: Confirmation | null;
  password_hash: string | null;
  status: 'disabled' | 'enabled';
  admin: boolean;
  groups: string[];
  claims: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
}

/** The columns of a user `u` that toUser() reads, without the keys of searches. */
export const userColumns =
  'u.sub, u.username, u.email, u.email_verified, u.email_confirmed_by, u.password_hash, u.status, u.admin, u.groups, u.claims, u.created_at, u.updated_at';

/** Joins the user of a result `r`, by the index for any number of results. */
export const withUser = `LEFT JOIN LATERAL (SELECT ${userColumns} FROM users u WHERE u.sub = r.sub LIMIT 1) AS u ON true`;

const find = statement('users.find', 'SELECT * FROM users WHERE sub = $1');
const lock = statement('users.lock', 'SELECT * FROM users WHERE sub = $1 FOR NO KEY UPDATE');
const findByLogin = batchedSelect(
  'users.find_by_login',
  ['text'],
  (login) => `SELECT ${userColumns} FROM users_of_login(${login}) u`,
);
const findByEmail = statement(
  'users.find_by_email',
  'SELECT u.* FROM users_of_login($1) u WHERE login_key(u.email) = login_key($1)',
);
const findByUsername = statement(
  'users.find_by_username',
  'SELECT u.* FROM users_of_login($1) u WHERE login_key(u.username) = login_key($1)',
);
const findNamed = statement(
  'users.find_named',
  'SELECT * FROM users WHERE sub IN (SELECT $1::text UNION SELECT u.sub FROM users_of_login($1) u)',
);
const isTaken = statement(
  'users.is_taken',
  'SELECT EXISTS (SELECT FROM login_keys WHERE key = login_key($1) AND (is_client OR sub IS DISTINCT FROM $2)) AS taken',
);
const isNameGiven = statement('users.is_name_given', 'SELECT username_given FROM users WHERE sub = $1');
const insert = statement(
  'users.insert',
  `INSERT INTO users (username, email, email_verified, email_confirmed_by, password_hash, admin, groups, claims, sub, username_given)
   VALUES ($1, $2, $3::text IS NOT NULL, $3, $4, $5, $6, $7, coalesce($8, gen_random_uuid()::text), $9) RETURNING *`,
);
// one administrator, and only while there is none (security R92)
const insertFirstAdmin = statement(
  'users.insert_first_admin',
  `INSERT INTO users (username, password_hash, admin, username_given)
   SELECT $1, $2, true, true WHERE NOT EXISTS (SELECT FROM users WHERE admin AND status = 'enabled') RETURNING *`,
);
// always in the same order, so that of two administrators who remove each other's rights the second waits, and then sees the first change
const lockAdmins = statement(
  'users.lock_admins',
  `SELECT sub FROM users WHERE admin AND status = 'enabled' ORDER BY sub FOR NO KEY UPDATE`,
);
const hasAdmin = statement(
  'users.has_admin',
  `SELECT EXISTS (SELECT FROM users WHERE admin AND status = 'enabled' AND sub IS DISTINCT FROM $1) AS present`,
);
const hasAdminWhoCanSignIn = statement(
  'users.has_admin_with_way_in',
  `SELECT EXISTS (SELECT FROM users u WHERE admin AND status = 'enabled'
     AND (password_hash IS NOT NULL OR EXISTS (SELECT FROM passkeys p WHERE p.sub = u.sub))) AS present`,
);
const lockTable = statement('users.lock_table', 'LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
/** Whether the change leaves the address as it was, confirmed. */
const staysConfirmed = 'email_verified AND NOT ($3 AND $4 IS DISTINCT FROM email)';
// a confirmation stays, unless a better one replaces a word; users choose their name once at most, so that another name is given
const update = statement(
  'users.update',
  `UPDATE users SET
     username = coalesce($2, username),
     username_given = username_given OR coalesce($2 <> username, false),
     email = CASE WHEN $3 THEN $4 ELSE email END,
     email_verified = CASE WHEN $10 THEN $5::text IS NOT NULL ELSE ${staysConfirmed} END,
     email_confirmed_by = CASE
       WHEN $10 AND $5::text IS NULL OR NOT $10 AND NOT (${staysConfirmed}) THEN NULL
       WHEN ${staysConfirmed} AND (coalesce($5, 'word') = 'word' OR email_confirmed_by <> 'word')
       THEN email_confirmed_by ELSE $5 END,
     status = coalesce($6, status),
     admin = coalesce($7, admin),
     groups = coalesce($8, groups),
     claims = coalesce($9, claims),
     updated_at = now()
   WHERE sub = $1 RETURNING *`,
);
const decideStatus = statement('users.decide_status', 'SELECT decide_status($1) AS decided');
const setPassword = statement(
  'users.set_password',
  'UPDATE users SET password_hash = $2, updated_at = now() WHERE sub = $1 RETURNING sub',
);
// separate statements after the change: they see the session of a sign-in that the change waited for (security R54)
const endSessions = statement(
  'users.end_sessions',
  'DELETE FROM sessions WHERE sub = $1 AND ($2::bigint IS NULL OR id <> $2) RETURNING idle_expires_at > now() AS live',
);
const endClientSessions = statement(
  'users.end_client_sessions',
  `WITH spared AS (${endSparing})
   DELETE FROM client_sessions WHERE sub = $1 AND ($2::bigint IS NULL OR session_id IS DISTINCT FROM $2)
   RETURNING expires_at > now() AS live`,
);
// a stronger hash of the same password is not recorded in the audit trail: its trigger reads this setting
const rehash = statement(
  'users.rehash',
  `UPDATE users SET password_hash = $3
    WHERE sub = $1 AND password_hash = $2 AND set_config('gatehouse.rehash', 'on', true) = 'on'
   RETURNING sub`,
);
// subs alone: a log is no place for names and addresses
const pairs = statement(
  'users.pairs',
  `SELECT DISTINCT least(k.sub, s.sub) AS sub, greatest(k.sub, s.sub) AS other, NULL AS attribute FROM shared_login_keys s JOIN login_keys k USING (key)
     JOIN users u ON u.sub IN (k.sub, s.sub) AND s.key IN (login_key(u.username), login_key(u.email))
   UNION ALL
   SELECT k.sub, 'client ' || c.client_id, NULL FROM login_keys k JOIN clients c ON login_key(c.client_id) = k.key
    WHERE k.is_client AND k.sub IS NOT NULL
   UNION ALL
   SELECT least(v.sub, s.sub), greatest(v.sub, s.sub), s.name FROM shared_attribute_values s
     JOIN unique_attribute_values v ON v.name = s.name AND v.digest = s.digest AND v.sub <> s.sub
     JOIN users u ON u.sub = s.sub AND attribute_digest(u.claims -> s.name) = s.digest
   ORDER BY sub, other, attribute NULLS FIRST LIMIT $1`,
);
const remove = statement('users.delete', 'DELETE FROM users WHERE sub = $1 RETURNING sub');

/** Two users, or a user and a client, by sub and id. */
export interface Pair {
  sub: string;
  other: string;
  /** The unique attribute of which both have the same value; undefined if they share a name or an identifier. */
  attribute?: string;
}

/** What the operator does about pairs(). */
export const sharedTexts =
  'each of these pairs shares a user name, an address, an identifier or the value of a unique attribute: change that of one of the two';

/** Names none of the users whom a text fits. */
export const ambiguousUser = (text: string) => conflict({ ...refusal('several-users', 'users'), value: text });

/** Looks for a text as it was typed, then for the form in which an address with the domain of another script is stored (security R158). */
async function inEachForm<T>(typed: string, look: (text: string) => Promise<T | undefined>): Promise<T | undefined> {
  const other = otherForm(typed);
  return (await look(typed)) ?? (other === undefined ? undefined : look(other));
}

export function usersRepository(sql: Sql) {
  const one = async (rows: Promise<UserRow[]>): Promise<User | undefined> => {
    const [row] = await rows;
    return row && toUser(row);
  };
  return {
    find: (sub: string): Promise<User | undefined> => one(sql.query<UserRow>(find, [sub])),
    /** Finds and locks the row until the transaction ends. */
    lock: (sub: string): Promise<User | undefined> => one(sql.query<UserRow>(lock, [sub])),
    /** By user name or email address, in any spelling (security R61). */
    findByLogin: (login: string): Promise<User | undefined> =>
      inEachForm(login, async (text) => one(sql.query<UserRow>(findByLogin, [text]))),
    findByEmail: (email: string): Promise<User | undefined> =>
      inEachForm(email, async (text) => one(sql.query<UserRow>(findByEmail, [text]))),
    findByUsername: (username: string): Promise<User | undefined> =>
      one(sql.query<UserRow>(findByUsername, [username])),
    /**
     * By sub, user name or email address, for texts that administrators give.
     * @throws OAuthError if the text fits several users: the error names none of them (security R153)
     */
    findNamed: (named: string): Promise<User | undefined> =>
      inEachForm(named, async (text) => {
        const rows = await sql.query<UserRow>(findNamed, [text]);
        if (rows.length > 1) throw ambiguousUser(text);
        return rows[0] && toUser(rows[0]);
      }),
    /**
     * Whether a text already names a user or a client, as a name, an address, a sub or a client_id (security R153).
     * @param beside a user who does not count
     */
    async isTaken(text: string, beside?: string): Promise<boolean> {
      return (await sql.query<{ taken: boolean }>(isTaken, [text, beside]))[0]!.taken;
    },
    /** Whether an administrator, an import or a source gave the user name. */
    async isNameGiven(sub: string): Promise<boolean> {
      return (await sql.query<{ username_given: boolean }>(isNameGiven, [sub]))[0]?.username_given ?? false;
    },
    async insert(user: NewUser): Promise<User> {
      const [row] = await sql.query<UserRow>(insert, [
        user.username,
        user.email,
        user.confirmedBy,
        user.passwordHash,
        user.admin ?? false,
        user.groups ?? [],
        user.claims ?? {},
        user.sub,
        user.isNameGiven ?? false,
      ]);
      return toUser(row!);
    },
    /** @param beside a user who does not count */
    async hasAdmin(beside?: string): Promise<boolean> {
      const [row] = await sql.query<{ present: boolean }>(hasAdmin, [beside]);
      return row!.present;
    },
    /** Whether any administrator has a means to sign in. */
    async hasAdminWhoCanSignIn(): Promise<boolean> {
      const [row] = await sql.query<{ present: boolean }>(hasAdminWhoCanSignIn);
      return row!.present;
    },
    /** Prevents other transactions from removing an administrator's rights until this one ends. It is taken before any other lock. */
    async lockAdmins(): Promise<void> {
      await sql.query(lockAdmins);
    },
    /** Creates the first administrator if there is none, in a transaction, so that concurrently starting instances create only one. */
    async insertFirstAdmin(username: string, passwordHash: string): Promise<User | undefined> {
      await sql.query(lockTable);
      return one(sql.query<UserRow>(insertFirstAdmin, [username, passwordHash]));
    },
    update: (sub: string, change: UserChange): Promise<User | undefined> =>
      one(
        sql.query<UserRow>(update, [
          sub,
          change.username,
          change.email !== undefined,
          change.email,
          change.confirmedBy,
          change.status,
          change.admin,
          change.groups,
          change.claims,
          change.confirmedBy !== undefined,
        ]),
      ),
    /** In a transaction that holds the user's row: no source that disabled the user enables the user again; false if there was none. */
    async decideStatus(sub: string): Promise<boolean> {
      return (await sql.query<{ decided: boolean }>(decideStatus, [sub]))[0]!.decided;
    },
    /** In a transaction: sets the password and ends all sessions of the user but `keepSession`; false for an unknown user. */
    async setPassword(sub: string, passwordHash: string, keepSession?: string): Promise<boolean> {
      if ((await sql.query(setPassword, [sub, passwordHash])).length === 0) return false;
      await this.endSessions(sub, keepSession);
      return true;
    },
    /**
     * In a transaction that holds the user's row: ends all sessions of the user but `keepSession`, with everything issued in them
     * and in earlier ones, including refresh tokens with offline_access (security R54); returns how many of both were live.
     */
    async endSessions(sub: string, keepSession?: string): Promise<{ sessions: number; clientSessions: number }> {
      const sessions = await sql.query<{ live: boolean }>(endSessions, [sub, keepSession]);
      const clientSessions = await sql.query<{ live: boolean }>(endClientSessions, [sub, keepSession]);
      const live = (rows: { live: boolean }[]) => rows.filter((row) => row.live).length;
      return { sessions: live(sessions), clientSessions: live(clientSessions) };
    },
    /** Replaces a hash by a stronger one of the same password; false when it is no longer the current one. */
    async rehash(sub: string, oldHash: string, newHash: string): Promise<boolean> {
      return (await sql.query(rehash, [sub, oldHash, newHash])).length > 0;
    },
    /** Pairs from before the rule that no text names two users or clients, and that the locale of the database plays no part (security R153). */
    pairs: async (limit: number): Promise<Pair[]> =>
      (await sql.query<{ sub: string; other: string; attribute: string | null }>(pairs, [limit])).map(
        ({ attribute, ...pair }) => (attribute === null ? pair : { ...pair, attribute }),
      ),
    async delete(sub: string): Promise<boolean> {
      return (await sql.query(remove, [sub])).length > 0;
    },
  };
}

export function toUser(row: UserRow): User {
  return {
    sub: row.sub,
    username: row.username,
    email: row.email ?? undefined,
    emailVerified: row.email_verified,
    confirmedBy: row.email_verified ? (row.email_confirmed_by ?? 'word') : undefined,
    passwordHash: row.password_hash ?? undefined,
    status: row.status,
    admin: row.admin,
    groups: row.groups,
    claims: row.claims,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
