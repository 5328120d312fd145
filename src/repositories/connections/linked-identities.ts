// Reads and writes the tables linked_identities and removed_links: the links between users and their identities at connections.
import { type Sql, statement } from '../../database/database.ts';

export const linkKinds = ['person', 'administrator', 'domain', 'provisioned', 'imported'] as const;

/** Whether a link was made automatically, by no user and no administrator. It must not give access to an administrator's account (security R165). */
export const isUnasked = ({ how }: Pick<LinkedIdentity, 'how'>): boolean => how === 'domain' || how === 'provisioned';

/** The identity of a user at a connection, byte for byte (federation FR1). */
export interface IdentityKey {
  connectionId: string;
  issuer: string;
  subject: string;
}

export interface LinkedIdentity extends IdentityKey {
  sub: string;
  how: (typeof linkKinds)[number];
  emailThen: string | undefined;
  createdAt: Date;
  lastUsedAt: Date | undefined;
}

interface Row {
  connection_id: string;
  issuer: string;
  subject: string;
  sub: string;
  how: LinkedIdentity['how'];
  email_then: string | null;
  created_at: Date;
  last_used_at: Date | null;
}

const columns = 'connection_id, issuer, subject, sub, how, email_then, created_at, last_used_at';
// only one transaction at a time decides about an identity; it takes this lock before any other
const claim = statement(
  'linked_identities.claim',
  `SELECT pg_advisory_xact_lock(51, hashtext($1 || chr(10) || $2 || chr(10) || $3))`,
);
// in one order, so that two imports cannot deadlock
const claimAll = statement(
  'linked_identities.claim_all',
  `SELECT pg_advisory_xact_lock(51, key)
     FROM (SELECT DISTINCT hashtext(connection || chr(10) || issuer || chr(10) || subject) AS key
             FROM unnest($1::text[], $2::text[], $3::text[]) AS n (connection, issuer, subject) ORDER BY 1) AS keys`,
);
const find = statement(
  'linked_identities.find',
  `SELECT ${columns} FROM linked_identities WHERE connection_id = $1 AND issuer = $2 AND subject = $3`,
);
const ofUser = statement(
  'linked_identities.of_user',
  `SELECT ${columns} FROM linked_identities WHERE sub = $1 ORDER BY created_at, id`,
);
const ofUsers = statement(
  'linked_identities.of_users',
  `SELECT ${columns} FROM linked_identities WHERE sub = ANY ($1) ORDER BY sub, created_at, id`,
);
const keep = statement(
  'linked_identities.keep',
  `UPDATE linked_identities SET how = 'administrator' WHERE connection_id = $1 AND sub = $2 RETURNING ${columns}`,
);
const noteAddress = statement(
  'linked_identities.note_address',
  `UPDATE linked_identities SET email_last = $3
    WHERE connection_id = $1 AND sub = $2 AND coalesce(email_last, email_then) IS DISTINCT FROM $3 RETURNING id`,
);
const hasRemoved = statement('linked_identities.has_removed', 'SELECT FROM removed_links WHERE sub = $1 LIMIT 1');
const isUsed = statement('linked_identities.is_used', 'SELECT FROM linked_identities WHERE connection_id = $1 LIMIT 1');
const isRemoved = statement(
  'linked_identities.is_removed',
  'SELECT FROM removed_links WHERE connection_id = $1 AND sub = $2',
);
const insert = statement(
  'linked_identities.insert',
  `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how, email_then, last_used_at)
   VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() END) ON CONFLICT DO NOTHING RETURNING id`,
);
const forgive = statement(
  'linked_identities.forgive',
  'DELETE FROM removed_links WHERE connection_id = $1 AND sub = $2',
);
// writes at most once an hour for each user
const touch = statement(
  'linked_identities.touch',
  `UPDATE linked_identities SET last_used_at = now()
    WHERE connection_id = $1 AND issuer = $2 AND subject = $3 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
);
const remove = statement(
  'linked_identities.remove',
  `DELETE FROM linked_identities WHERE connection_id = $1 AND sub = $2 RETURNING ${columns}`,
);
const remember = statement(
  'linked_identities.remember',
  'INSERT INTO removed_links (connection_id, sub) VALUES ($1, $2) ON CONFLICT DO NOTHING',
);

export function linkedIdentitiesRepository(sql: Sql) {
  const keyOf = ({ connectionId, issuer, subject }: IdentityKey) => [connectionId, issuer, subject];
  return {
    /** Until the transaction ends, no other transaction decides about this identity. A transaction takes this lock before any other. */
    async claim(key: IdentityKey): Promise<void> {
      await sql.query(claim, keyOf(key));
    },
    /** As claim(), of several. */
    async claimAll(keys: readonly IdentityKey[]): Promise<void> {
      const columns = keys.map(keyOf);
      if (keys.length > 0)
        await sql.query(
          claimAll,
          [0, 1, 2].map((index) => columns.map((key) => key[index]!)),
        );
    },
    async find(key: IdentityKey): Promise<LinkedIdentity | undefined> {
      const [row] = await sql.query<Row>(find, keyOf(key));
      return row && toLinkedIdentity(row);
    },
    /** The links of a user, the oldest first. */
    async ofUser(sub: string): Promise<LinkedIdentity[]> {
      return (await sql.query<Row>(ofUser, [sub])).map(toLinkedIdentity);
    },
    async ofUsers(subs: readonly string[]): Promise<LinkedIdentity[]> {
      return (await sql.query<Row>(ofUsers, [subs])).map(toLinkedIdentity);
    },
    /** In a transaction that holds the user's row: marks the link as kept by an administrator, however it was made. */
    async keep(connectionId: string, sub: string): Promise<LinkedIdentity | undefined> {
      const [row] = await sql.query<Row>(keep, [connectionId, sub]);
      return row && toLinkedIdentity(row);
    },
    /** Notes an address that the service did not store for the user. False if the identity had the same address before. */
    noteAddress: async (connectionId: string, sub: string, address: string): Promise<boolean> =>
      (await sql.query(noteAddress, [connectionId, sub, address])).length > 0,
    /** Whether a link of the user to any connection was removed. */
    hasRemoved: async (sub: string): Promise<boolean> => (await sql.query(hasRemoved, [sub])).length > 0,
    /** Whether the connection has links. */
    isUsed: async (connectionId: string): Promise<boolean> => (await sql.query(isUsed, [connectionId])).length > 0,
    /** Whether the user, or an administrator, removed a link of the user to the connection. */
    async isRemoved(connectionId: string, sub: string): Promise<boolean> {
      return (await sql.query(isRemoved, [connectionId, sub])).length > 0;
    },
    /**
     * In a transaction that holds the user's row: inserts a link. False if the identity, or the user at this connection, is linked already.
     * @param used whether the user signs in with the identity now
     */
    async insert(link: Omit<LinkedIdentity, 'createdAt' | 'lastUsedAt'>, used: boolean): Promise<boolean> {
      const rows = await sql.query(insert, [...keyOf(link), link.sub, link.how, link.emailThen, used]);
      if (rows.length > 0) await sql.query(forgive, [link.connectionId, link.sub]);
      return rows.length > 0;
    },
    /** Notes that the user signed in with the identity. */
    async touch(key: IdentityKey): Promise<void> {
      await sql.query(touch, keyOf(key));
    },
    /** In a transaction that holds the user's row: removes the link. No later sign-in restores it by the address (federation FR8). */
    async remove(connectionId: string, sub: string): Promise<LinkedIdentity | undefined> {
      const [row] = await sql.query<Row>(remove, [connectionId, sub]);
      if (!row) return undefined;
      await sql.query(remember, [connectionId, sub]);
      return toLinkedIdentity(row);
    },
  };
}

const toLinkedIdentity = (row: Row): LinkedIdentity => ({
  connectionId: row.connection_id,
  issuer: row.issuer,
  subject: row.subject,
  sub: row.sub,
  how: row.how,
  emailThen: row.email_then ?? undefined,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at ?? undefined,
});
