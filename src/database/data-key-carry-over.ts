// Re-encrypts the values of a database that has data keys with SECRET_KEY itself, once, before the database is adopted.
import type { ClientBase } from 'pg';
import type { KeyObject } from 'node:crypto';
import { decrypt } from '../crypto/authenticated-encryption.ts';
import { createSecretBox } from '../crypto/secret-box.ts';
import { deriveKey, parseSecretKey } from '../crypto/secret-key.ts';
import { MigrationError } from './migration-error.ts';

/** The encrypted columns of that schema. Its triggers would refuse a new value that no data key encrypted. */
const columns = [
  { table: 'signing_keys', column: 'private_key_encrypted', key: 'kid', trigger: 'signing_keys_sealed' },
  { table: 'clients', column: 'shared_secret_encrypted', key: 'client_id', trigger: 'clients_sealed' },
  { table: 'clients', column: 'client_secret_encrypted', key: 'client_id', trigger: 'clients_sealed' },
  { table: 'authenticators', column: 'secret_encrypted', key: 'id', trigger: 'authenticators_sealed' },
] as const;
const batch = 500;
const logInterval = 10_000; // values

/**
 * That schema stores each data key encrypted under each SECRET_KEY in use. A value's first bytes name the version of its data key.
 * @param secretKeys the keys of SECRET_KEY as text: the first encrypts, any of them may decrypt the data keys
 * @returns a function for the transaction of the adoption; it skips values that are already re-encrypted
 * @throws MigrationError when no key of SECRET_KEY decrypts the data keys, or a value was altered
 */
export function carryOverDataKeys(
  secretKeys: readonly string[],
  log: (line: string) => void,
): (client: ClientBase) => Promise<void> {
  return async (client) => {
    const [first, ...others] = secretKeys.map(parseSecretKey);
    const secretBox = createSecretBox([first!, ...others]);
    const dataKeys = await readDataKeys(client, secretKeys);
    const open = (associatedData: string, sealed: Buffer): Buffer => {
      const [version, body] =
        sealed[0] === 2 && sealed.length > 4 ? [sealed.readUInt32BE(1), sealed.subarray(5)] : [1, sealed.subarray(1)];
      for (const key of dataKeys.get(version) ?? []) {
        try {
          return decrypt(key, body, associatedData);
        } catch {
          // another key encrypted it, or it was altered
        }
      }
      throw new MigrationError(
        `The value ${associatedData} cannot be decrypted: its row was altered, or SECRET_KEY does not belong to this database. Restore or delete the row, or set the right SECRET_KEY.`,
      );
    };

    for (const { table, trigger } of columns) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`);
    // a re-encrypted secret makes no new version of its client
    await client.query(`SELECT set_config('gatehouse.reencrypt', 'on', true)`);
    const isLeft = (column: string) => `substr(${column}, 1, 1) <> '\\x03'`;
    const counts = columns.map(({ table, column }) => `(SELECT count(*) FROM ${table} WHERE ${isLeft(column)})`);
    const { rows } = await client.query<{ total: number }>(`SELECT (${counts.join(' + ')})::int AS total`);
    const { total } = rows[0]!;
    let done = 0;
    for (const { table, column, key } of columns) {
      for (let after = ''; ;) {
        const found = await client.query<{ id: string; sealed: Buffer }>(
          `SELECT ${key} AS id, ${column} AS sealed FROM ${table} WHERE ${key} > $1 AND ${isLeft(column)} ORDER BY ${key} LIMIT ${batch}`,
          [after],
        );
        if (found.rows.length === 0) break;
        const again = found.rows.map(({ id, sealed }) => {
          const associatedData = `${table}.${column}.${id}`;
          return secretBox.seal(open(associatedData, sealed), associatedData);
        });
        await client.query(
          `UPDATE ${table} t SET ${column} = n.sealed FROM unnest($1::text[], $2::bytea[]) AS n (id, sealed) WHERE t.${key} = n.id`,
          [found.rows.map(({ id }) => id), again],
        );
        const before = done;
        done += again.length;
        if (Math.floor(done / logInterval) > Math.floor(before / logInterval) || done === total)
          log(`${done} of ${total} values are encrypted with SECRET_KEY itself`);
        after = found.rows.at(-1)!.id;
      }
    }
    await client.query(`SELECT set_config('gatehouse.reencrypt', '', true)`);
  };
}

/** The keys that may have encrypted the values of each version. */
async function readDataKeys(client: ClientBase, secretKeys: readonly string[]): Promise<Map<number, KeyObject[]>> {
  const roots = new Map(secretKeys.map((text) => [parseSecretKey(text).id, Buffer.from(text, 'base64url')]));
  const { rows } = await client.query<{ version: number; secret_key_id: string; wrapped: Buffer }>(
    'SELECT version, secret_key_id, wrapped FROM data_key_wrappings ORDER BY version',
  );
  // no version with data keys has started on this database: SECRET_KEY itself is the first data key
  if (rows.length === 0)
    return new Map([[1, [...roots.values()].map((root) => deriveKey(root, 'encryption at rest'))]]);
  const keys = new Map<number, KeyObject[]>();
  for (const { version, secret_key_id: id, wrapped } of rows) {
    const root = roots.get(id);
    if (!root) continue;
    try {
      const dataKey = decrypt(
        deriveKey(root, 'wrapping of data keys'),
        wrapped,
        `data_key_wrappings.wrapped.${version}.${id}`,
      );
      keys.set(version, [deriveKey(dataKey, 'encryption at rest')]);
    } catch (error) {
      throw new MigrationError(
        `The data key ${version} cannot be decrypted: its row in the database was altered. Restore it from a backup.`,
        { cause: error },
      );
    }
  }
  if (keys.size === 0) {
    const known = [...new Set(rows.map((row) => row.secret_key_id))].join(' and ');
    throw new MigrationError(
      `The setting SECRET_KEY, or the file secret-key in DATA_DIR, is not the one that this database was encrypted under (its id is ${[...roots.keys()].join(' and ')}; the database knows ${known}): set that one.`,
    );
  }
  return keys;
}
