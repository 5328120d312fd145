// Reads and writes the table upstream_tokens: the encrypted tokens that a provider issued at the last sign-in of a linked user.
import { type Sql, statement } from '../../database/database.ts';

export interface SealedTokens {
  id: string;
  sealed: Buffer;
}

const store = statement(
  'upstream_tokens.store',
  `INSERT INTO upstream_tokens (id, link_id, sealed_encrypted)
   SELECT $3, id, $4 FROM linked_identities WHERE connection_id = $1 AND sub = $2
   ON CONFLICT (link_id) DO UPDATE SET id = excluded.id, sealed_encrypted = excluded.sealed_encrypted, updated_at = now()`,
);
const ofLink = `FROM upstream_tokens t JOIN linked_identities l ON l.id = t.link_id WHERE l.connection_id = $1 AND l.sub = $2`;
const find = statement('upstream_tokens.find', `SELECT t.id, t.sealed_encrypted AS sealed ${ofLink}`);
const lock = statement('upstream_tokens.lock', `SELECT t.id, t.sealed_encrypted AS sealed ${ofLink} FOR UPDATE OF t`);
const removeAll = statement(
  'upstream_tokens.remove_all',
  'DELETE FROM upstream_tokens WHERE link_id IN (SELECT id FROM linked_identities WHERE connection_id = $1)',
);

export function upstreamTokensRepository(sql: Sql) {
  return {
    /** Replaces the tokens of a linked user. Stores nothing if the link is gone. */
    async store(connectionId: string, sub: string, { id, sealed }: SealedTokens): Promise<void> {
      await sql.query(store, [connectionId, sub, id, sealed]);
    },
    async find(connectionId: string, sub: string): Promise<SealedTokens | undefined> {
      return (await sql.query<SealedTokens>(find, [connectionId, sub]))[0];
    },
    /** In a transaction: as find(), but locks the row, so that a second refresh waits for the first. */
    async lock(connectionId: string, sub: string): Promise<SealedTokens | undefined> {
      return (await sql.query<SealedTokens>(lock, [connectionId, sub]))[0];
    },
    /** Deletes the tokens of all users of a connection. */
    async removeAll(connectionId: string): Promise<void> {
      await sql.query(removeAll, [connectionId]);
    },
  };
}
