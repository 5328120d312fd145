// Reads and writes the table unstored_addresses: the users whose address was stored before without the A-label of its domain.
import { type Sql, statement } from '../../database/database.ts';
import { seenLately } from '../instances/instances.ts';

/** A user whose address stays as it is. */
export interface UnstoredAddress {
  sub: string;
  /** The user, or the client, that the address in its stored form names already; undefined if it has no such form. */
  other: string | undefined;
}

// Users in use are left for later, and so are those with an open link, such as an invitation, which another address would end. While an instance of before the migration serves, which does not find the stored form of an address, all are.
const next = statement(
  'unstored_addresses.next',
  `SELECT u.sub, u.email FROM unstored_addresses a JOIN users u USING (sub)
    WHERE a.tried_at IS NULL
      AND NOT EXISTS (SELECT FROM mailed_links l WHERE l.sub = u.sub AND l.used_at IS NULL AND l.expires_at > now())
      AND NOT EXISTS (SELECT FROM outbox o WHERE o.channel = 'mail' AND o.sub = u.sub)
      AND NOT EXISTS (
      SELECT FROM instances i WHERE i.started_at < a.found_at AND i.${seenLately})
    ORDER BY a.sub LIMIT $1 FOR UPDATE OF a, u SKIP LOCKED`,
);
const left = statement(
  'unstored_addresses.left',
  'SELECT count(*)::int AS count FROM unstored_addresses WHERE tried_at IS NULL',
);
const holder = statement(
  'unstored_addresses.holder',
  `SELECT coalesce(sub, 'client ' || (SELECT min(client_id) FROM clients WHERE login_key(client_id) = k.key)) AS other
     FROM login_keys k WHERE key = login_key($2) AND sub IS DISTINCT FROM $1`,
);
const store = statement(
  'unstored_addresses.store',
  'UPDATE users SET email = $2, updated_at = now() WHERE sub = $1 AND email IS DISTINCT FROM $2',
);
const forget = statement('unstored_addresses.forget', 'DELETE FROM unstored_addresses WHERE sub = $1');
const keep = statement(
  'unstored_addresses.keep',
  'UPDATE unstored_addresses SET tried_at = now(), other = $2 WHERE sub = $1',
);
const list = statement(
  'unstored_addresses.list',
  `SELECT a.sub, a.other FROM unstored_addresses a JOIN users u USING (sub)
    WHERE a.tried_at IS NOT NULL AND NOT has_a_label(u.email) ORDER BY a.sub LIMIT $1`,
);

/** What the operator does about list(). */
export const unstoredTexts =
  'the address of each of these users stays without the A-label of its domain, since it has none or names another user or client with it: change the address';

export function unstoredAddressesRepository(sql: Sql) {
  return {
    /** In a transaction: locks users whose addresses were not tried yet. */
    next: (limit: number): Promise<{ sub: string; email: string | null }[]> => sql.query(next, [limit]),
    /** The number of users whose addresses are not tried yet. */
    async left(): Promise<number> {
      return (await sql.query<{ count: number }>(left))[0]!.count;
    },
    /** The other user, or the client, that an address names. */
    async holder(sub: string, address: string): Promise<string | undefined> {
      return (await sql.query<{ other: string }>(holder, [sub, address]))[0]?.other;
    },
    /** Stores the address; its confirmation stays. */
    async store(sub: string, address: string): Promise<void> {
      await sql.query(store, [sub, address]);
    },
    async forget(sub: string): Promise<void> {
      await sql.query(forget, [sub]);
    },
    /** Leaves the address as it is, for good. */
    async keep(sub: string, other: string | undefined): Promise<void> {
      await sql.query(keep, [sub, other]);
    },
    /** The users whose addresses stay as they are. */
    list: async (limit: number): Promise<UnstoredAddress[]> =>
      (await sql.query<{ sub: string; other: string | null }>(list, [limit])).map(({ sub, other }) => ({
        sub,
        other: other ?? undefined,
      })),
  };
}
