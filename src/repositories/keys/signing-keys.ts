// Reads and writes the table signing_keys.
import { type Sql, statement } from '../../database/database.ts';

export interface SigningKeyRow {
  kid: string;
  alg: 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
  publicJwk: Record<string, unknown>;
  privateKeyEncrypted: Buffer;
  createdAt: Date;
  activeAt: Date;
  expiresAt: Date | undefined;
}

const list = statement(
  'signing_keys.list',
  `SELECT *, now() AS now FROM signing_keys WHERE expires_at IS NULL OR expires_at > now() ORDER BY active_at DESC, kid`,
);
const lockTable = statement('signing_keys.lock_table', 'LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE');
const insert = statement(
  'signing_keys.insert',
  `INSERT INTO signing_keys (kid, alg, public_jwk, private_key_encrypted, active_at)
   VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))`,
);
// a key with a successor stays published until the last token that it signed has expired, for any client
const retire = statement(
  'signing_keys.retire',
  `UPDATE signing_keys SET expires_at = now() + make_interval(secs => $2::float8 + $3::float8
     + greatest($4::float8, (SELECT coalesce(max(id_token_lifetime), 0) FROM clients)))
    WHERE alg = $1 AND expires_at IS NULL AND kid <> $5`,
);
// a key that waits to sign later would replace the new one again
const removeLater = statement(
  'signing_keys.delete_later',
  'DELETE FROM signing_keys WHERE alg = $1 AND active_at > now() AND active_at >= now() + make_interval(secs => $2)',
);
const removeExpired = statement('signing_keys.delete_expired', 'DELETE FROM signing_keys WHERE expires_at <= now()');
const findDue = statement(
  'signing_keys.find_due',
  `SELECT alg FROM signing_keys GROUP BY alg
   HAVING max(created_at) <= now() - make_interval(secs => $1) ORDER BY alg`,
);
const remove = statement('signing_keys.delete', 'DELETE FROM signing_keys WHERE kid = $1');
const keepNewest = statement(
  'signing_keys.keep_newest',
  `UPDATE signing_keys SET expires_at = NULL WHERE expires_at IS NOT NULL AND kid = (
     SELECT kid FROM signing_keys WHERE alg = $1 AND (expires_at IS NULL OR expires_at > now())
      ORDER BY active_at DESC LIMIT 1)`,
);

export function signingKeysRepository(sql: Sql) {
  return {
    /** The keys to publish, newest first, with the database's time. */
    async list(): Promise<{ keys: SigningKeyRow[]; now: Date }> {
      const rows = await sql.query<{
        kid: string;
        alg: SigningKeyRow['alg'];
        public_jwk: Record<string, unknown>;
        private_key_encrypted: Buffer;
        created_at: Date;
        active_at: Date;
        expires_at: Date | null;
        now: Date;
      }>(list);
      return {
        now: rows[0]?.now ?? new Date(),
        keys: rows.map((row) => ({
          kid: row.kid,
          alg: row.alg,
          publicJwk: row.public_jwk,
          privateKeyEncrypted: row.private_key_encrypted,
          createdAt: row.created_at,
          activeAt: row.active_at,
          expiresAt: row.expires_at ?? undefined,
        })),
      };
    },
    /** Prevents other instances from changing the ring until the transaction ends. */
    async lock(): Promise<void> {
      await sql.query(lockTable);
    },
    /** @param key.lead seconds until it signs */
    async insert(
      key: Pick<SigningKeyRow, 'kid' | 'alg' | 'publicJwk' | 'privateKeyEncrypted'> & { lead: number },
    ): Promise<void> {
      await sql.query(insert, [key.kid, key.alg, key.publicJwk, key.privateKeyEncrypted, key.lead]);
    },
    /**
     * Sets the end of all older keys of an algorithm, in seconds: the time until the successor signs, the longest lifetime of an
     * ID Token, and a margin for caches and clocks.
     */
    async retire(
      alg: SigningKeyRow['alg'],
      after: { lead: number; idTokenLifetime: number; margin: number },
      successor: string,
    ): Promise<void> {
      await sql.query(retire, [alg, after.lead, after.margin, after.idTokenLifetime, successor]);
    },
    /** Deletes keys that would replace one that signs `lead` seconds from now. */
    async deleteLater(alg: SigningKeyRow['alg'], lead: number): Promise<void> {
      await sql.query(removeLater, [alg, lead]);
    },
    /** The algorithms whose newest key was made more than `interval` seconds ago. */
    async findDue(interval: number): Promise<SigningKeyRow['alg'][]> {
      return (await sql.query<{ alg: SigningKeyRow['alg'] }>(findDue, [interval])).map((row) => row.alg);
    },
    async delete(kid: string): Promise<void> {
      await sql.query(remove, [kid]);
    },
    /** Removes the end of the last key of an algorithm, whose successor was withdrawn. */
    async keepNewest(alg: SigningKeyRow['alg']): Promise<void> {
      await sql.query(keepNewest, [alg]);
    },
    async deleteExpired(): Promise<void> {
      await sql.query(removeExpired);
    },
  };
}
