// Reads and writes the tables initial_access_tokens and registration_keys, which permit registrations and recognise repeated ones.
import { type Sql, statement } from '../../database/database.ts';

const insert = statement(
  'initial_access_tokens.insert',
  `INSERT INTO initial_access_tokens (token_hash, expires_at) VALUES ($1, now() + make_interval(secs => $2)) RETURNING expires_at`,
);
const find = statement(
  'initial_access_tokens.find',
  'SELECT 1 AS present FROM initial_access_tokens WHERE token_hash = $1 AND expires_at > now()',
);
const findKey = statement(
  'registration_keys.find',
  'SELECT client_id, body_hash FROM registration_keys WHERE key_hash = $1 AND expires_at > now()',
);
const insertKey = statement(
  'registration_keys.insert',
  `INSERT INTO registration_keys (key_hash, body_hash, client_id, expires_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))
   ON CONFLICT (key_hash) DO UPDATE SET body_hash = excluded.body_hash, client_id = excluded.client_id, expires_at = excluded.expires_at
     WHERE registration_keys.expires_at <= now()
        OR EXISTS (SELECT FROM clients c WHERE c.client_id = registration_keys.client_id AND c.ever_enabled)
   RETURNING 1 AS stored`,
);

export function registrationTokensRepository(sql: Sql) {
  return {
    /** Stores an initial access token. @param lifetime in seconds */
    async insert(tokenHash: Buffer, lifetime: number): Promise<Date> {
      const [row] = await sql.query<{ expires_at: Date }>(insert, [tokenHash, lifetime]);
      return row!.expires_at;
    },
    async isValid(tokenHash: Buffer): Promise<boolean> {
      return (await sql.query(find, [tokenHash])).length > 0;
    },
    /** The registration that was made under an Idempotency-Key. */
    async findByKey(keyHash: Buffer): Promise<{ clientId: string; bodyHash: Buffer } | undefined> {
      const [row] = await sql.query<{ client_id: string; body_hash: Buffer }>(findKey, [keyHash]);
      return row && { clientId: row.client_id, bodyHash: row.body_hash };
    },
    /** Stores an Idempotency-Key; false when another registration, never enabled, holds it. @param lifetime in seconds */
    async insertKey(keyHash: Buffer, bodyHash: Buffer, clientId: string, lifetime: number): Promise<boolean> {
      return (await sql.query(insertKey, [keyHash, bodyHash, clientId, lifetime])).length > 0;
    },
  };
}
