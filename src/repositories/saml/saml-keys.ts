// Reads and writes the table saml_keys: the keys that sign for SAML applications, with their certificates.
import { type Sql, statement } from '../../database/database.ts';

export interface SamlKeyRow {
  id: string;
  certificate: string;
  privateKeyEncrypted: Buffer;
  createdAt: Date;
  /** Since when it signs; undefined for one that is only published. */
  activeAt: Date | undefined;
}

// the one that signs is first
const list = statement(
  'saml_keys.list',
  'SELECT * FROM saml_keys ORDER BY active_at DESC NULLS LAST, created_at DESC, id',
);
const lockTable = statement('saml_keys.lock_table', 'LOCK TABLE saml_keys IN SHARE ROW EXCLUSIVE MODE');
const insert = statement(
  'saml_keys.insert',
  `INSERT INTO saml_keys (id, certificate, private_key_encrypted, active_at)
   VALUES ($1, $2, $3, CASE WHEN $4 THEN clock_timestamp() END)`,
);
const activate = statement(
  'saml_keys.activate',
  'UPDATE saml_keys SET active_at = clock_timestamp() WHERE id = $1 AND active_at IS NULL RETURNING 1 AS done',
);
const remove = statement('saml_keys.delete', 'DELETE FROM saml_keys WHERE id = $1');

export function samlKeysRepository(sql: Sql) {
  return {
    /** All of them: the one that signs is first. */
    async list(): Promise<SamlKeyRow[]> {
      const rows = await sql.query<{
        id: string;
        certificate: string;
        private_key_encrypted: Buffer;
        created_at: Date;
        active_at: Date | null;
      }>(list);
      return rows.map((row) => ({
        id: row.id,
        certificate: row.certificate,
        privateKeyEncrypted: row.private_key_encrypted,
        createdAt: row.created_at,
        activeAt: row.active_at ?? undefined,
      }));
    },
    /** Prevents other instances from changing the keys until the transaction ends. */
    async lock(): Promise<void> {
      await sql.query(lockTable);
    },
    /** @param signs whether it signs at once */
    async insert(key: Pick<SamlKeyRow, 'id' | 'certificate' | 'privateKeyEncrypted'>, signs: boolean): Promise<void> {
      await sql.query(insert, [key.id, key.certificate, key.privateKeyEncrypted, signs]);
    },
    /** Lets a published key sign; false if it does or did. */
    async activate(id: string): Promise<boolean> {
      return (await sql.query(activate, [id])).length > 0;
    },
    async delete(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
  };
}
