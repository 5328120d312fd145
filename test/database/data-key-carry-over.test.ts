// A start re-encrypts the values of a database with data keys under SECRET_KEY itself, all of them or none.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { exportJWK, generateKeyPair } from 'jose';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { encrypt } from '../../src/crypto/authenticated-encryption.ts';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { deriveKey, parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import { dropDatabase } from '../helpers/database.ts';
import { execute } from '../helpers/global-setup.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';

const fixture = new URL('../fixtures/before-baseline.sql', import.meta.url);
const count = 12_000;
const names = Array.from({ length: count }, (_, index) => `authenticator ${index}`);

const [oldKey, newKey] = [randomSecret(), randomSecret()];
const roots = [randomBytes(32), randomBytes(32)] as const;
let connection: { host: string; port: number; user: string; database: string };
let client: pg.Client;
/** The plaintexts by table, column and row. */
let stored: Map<string, string>;

const settings = (secretKey: string) => ({
  DATABASE_URL: `postgresql://${connection.user}@/${connection.database}?host=${encodeURIComponent(connection.host)}&port=${connection.port}`,
  SECRET_KEY: secretKey,
});

/** Encrypts as the version with data keys did: the byte 1 for the first data key, else the byte 2 and the version. */
function sealed(version: number, root: Buffer, plaintext: string, associatedData: string): Buffer {
  const header = version === 1 ? Buffer.of(1) : Buffer.of(2, 0, 0, 0, version);
  return Buffer.concat([header, encrypt(deriveKey(root, 'encryption at rest'), plaintext, associatedData)]);
}

async function wrap(version: number, root: Buffer, secretKey: string): Promise<void> {
  const { id } = parseSecretKey(secretKey);
  const key = deriveKey(Buffer.from(secretKey, 'base64url'), 'wrapping of data keys');
  const wrapped = encrypt(key, root, `data_key_wrappings.wrapped.${version}.${id}`);
  await client.query('INSERT INTO data_key_wrappings (version, secret_key_id, wrapped) VALUES ($1, $2, $3)', [
    version,
    id,
    wrapped,
  ]);
}

/** Encrypts a value of a row with the data key of the version. */
function seal(version: number, plaintext: string, associatedData: string): Buffer {
  stored.set(associatedData, plaintext);
  return sealed(version, roots[version - 1]!, plaintext, associatedData);
}

beforeEach(async () => {
  const server = inject('postgres');
  connection = { ...server, database: `test_${randomBytes(6).toString('hex')}` };
  await execute(
    { ...server, database: 'postgres' },
    `CREATE DATABASE ${connection.database} ENCODING 'UTF8' TEMPLATE template0`,
  );
  await execute(connection, readFileSync(fixture, 'utf8'));
  client = new pg.Client(connection);
  await client.connect();
  for (const table of ['authenticators', 'clients', 'signing_keys', 'data_key_wrappings'])
    await client.query(`DELETE FROM ${table}`);
  await client.query('INSERT INTO data_keys (version, active_at) VALUES (2, now())');

  stored = new Map();
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  await client.query(
    `INSERT INTO signing_keys (kid, alg, active_at, public_jwk, private_key_encrypted) VALUES ('key', 'ES256', now(), $1, $2)`,
    [
      { ...(await exportJWK(publicKey)), kid: 'key', alg: 'ES256', use: 'sig' },
      seal(1, JSON.stringify(await exportJWK(privateKey)), 'signing_keys.private_key_encrypted.key'),
    ],
  );
  const metadata = parseClientMetadata({ redirect_uris: ['https://rp.example.com/callback'] }, { admin: true });
  await client.query(
    `INSERT INTO clients (client_id, status, approved_by, metadata, client_secret_hash, shared_secret_encrypted, client_secret_encrypted)
     VALUES ('harbour', 'enabled', 'administrator', $1, sha256('x'), $2, $3)`,
    [
      metadata,
      seal(2, 'shared secret', 'clients.shared_secret_encrypted.harbour'),
      seal(1, 'client secret', 'clients.client_secret_encrypted.harbour'),
    ],
  );
  await client.query(`INSERT INTO users (sub, username) VALUES ('noor', 'noor')`);
  await client.query(
    `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step)
     SELECT n.id, 'noor', '', n.sealed, 0 FROM unnest($1::text[], $2::bytea[]) AS n (id, sealed)`,
    [
      names,
      names.map((name, index) => seal(1 + (index % 2), `key of ${name}`, `authenticators.secret_encrypted.${name}`)),
    ],
  );
});
afterEach(async () => {
  await stopServers();
  await client.end();
  await dropDatabase(connection.database);
});

/** Every stored value decrypts to its plaintext with this key alone. */
async function expectEncryptedWith(secretKey: string): Promise<void> {
  const box = createSecretBox([parseSecretKey(secretKey)]);
  const { rows } = await client.query<{ associated_data: string; value: Buffer }>(
    `SELECT 'signing_keys.private_key_encrypted.' || kid AS associated_data, private_key_encrypted AS value FROM signing_keys WHERE kid = 'key'
     UNION ALL SELECT 'clients.shared_secret_encrypted.' || client_id, shared_secret_encrypted FROM clients
     UNION ALL SELECT 'clients.client_secret_encrypted.' || client_id, client_secret_encrypted FROM clients
     UNION ALL SELECT 'authenticators.secret_encrypted.' || id, secret_encrypted FROM authenticators`,
  );
  const found = new Map(
    rows.map(({ associated_data, value }) => [associated_data, box.open(value, associated_data).toString()]),
  );
  expect(found).toEqual(stored);
}

test('a start with either of two keys of SECRET_KEY carries over two data keys, in batches that the log shows (decisions section 8)', async () => {
  for (const key of [oldKey, newKey]) for (const [index, root] of roots.entries()) await wrap(index + 1, root, key);
  const clients = 'SELECT client_id, version, updated_at FROM clients';
  const before = (await client.query(clients)).rows;
  const events = (await client.query(`SELECT type FROM audit_events WHERE client_id = 'harbour'`)).rows;
  const port = String(await freePort());
  const server = startServer({ ...settings(newKey), PORT: port });
  await server.ready();
  expect(server.stderr + server.stdout).toContain(`10003 of ${count + 3} values`);
  expect(server.stderr + server.stdout).toContain(`${count + 3} of ${count + 3} values`);
  await expectEncryptedWith(newKey);
  expect((await client.query(clients)).rows).toEqual(before);
  expect((await client.query(`SELECT type FROM audit_events WHERE client_id = 'harbour'`)).rows).toEqual(events);
  const left = await client.query(`SELECT FROM pg_class WHERE relname LIKE 'data_key%'`);
  expect(left.rows).toEqual([]);
  // the key that signs is still the same
  const { keys } = (await (await fetch(`${server.issuer}/jwks`)).json()) as { keys: { kid: string }[] };
  expect(keys.map(({ kid }) => kid)).toContain('key');
});

test('a start that is killed during the carry-over leaves the database as it was, and the next start completes it (decisions section 8)', async () => {
  for (const [index, root] of roots.entries()) await wrap(index + 1, root, oldKey);
  const holder = new pg.Client(connection);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM authenticators WHERE id = (SELECT max(id) FROM authenticators) FOR UPDATE');
  const killed = startServer({ ...settings(oldKey), PORT: String(await freePort()) });
  await vi.waitUntil(() => (killed.stdout + killed.stderr).includes(`of ${count + 3} values`), {
    timeout: 60_000,
    interval: 5,
  });
  killed.kill('SIGKILL');
  await killed.exited;
  await holder.query('COMMIT');
  await holder.end();
  const { rows } = await client.query(`SELECT FROM authenticators WHERE substr(secret_encrypted, 1, 1) = '\\x03'`);
  expect(rows).toEqual([]);
  expect(await runCommand(['keys', 'list'], settings(`${newKey},${oldKey}`))).toHaveLength(4);
  await expectEncryptedWith(newKey);
});

test('a start carries over a database from before data keys, whose values SECRET_KEY itself encrypted (decisions section 8)', async () => {
  await client.query('DELETE FROM authenticators');
  for (const associatedData of stored.keys())
    if (associatedData.startsWith('authenticators')) stored.delete(associatedData);
  for (const [associatedData, plaintext] of stored) {
    const [table, column, id] = associatedData.split('.');
    const value = sealed(1, Buffer.from(oldKey, 'base64url'), plaintext, associatedData);
    const key = table === 'clients' ? 'client_id' : 'kid';
    await client.query(`UPDATE ${table} SET ${column} = $1 WHERE ${key} = $2`, [value, id]);
  }
  await expect(runCommand(['keys', 'list'], settings(newKey))).rejects.toThrow('SECRET_KEY does not belong');
  expect(await runCommand(['keys', 'list'], settings(`${newKey},${oldKey}`))).toHaveLength(4);
  await expectEncryptedWith(newKey);
});

test('a start with a SECRET_KEY that opens no data key, or with an altered value, stops with a sentence and changes nothing (decisions section 8)', async () => {
  for (const [index, root] of roots.entries()) await wrap(index + 1, root, oldKey);
  const refused = runCommand(['keys', 'list'], settings(newKey));
  await expect(refused).rejects.toThrow(
    `The setting SECRET_KEY, or the file secret-key in DATA_DIR, is not the one that this database was encrypted under (its id is ${parseSecretKey(newKey).id}; the database knows ${parseSecretKey(oldKey).id})`,
  );
  await client.query(
    `UPDATE clients SET shared_secret_encrypted = set_byte(shared_secret_encrypted, 20, 1 # get_byte(shared_secret_encrypted, 20))`,
  );
  await expect(runCommand(['keys', 'list'], settings(oldKey))).rejects.toThrow(
    'The value clients.shared_secret_encrypted.harbour cannot be decrypted',
  );
  await client.query('UPDATE data_key_wrappings SET wrapped = set_byte(wrapped, 20, 1 # get_byte(wrapped, 20))');
  await expect(runCommand(['keys', 'list'], settings(oldKey))).rejects.toThrow('The data key 1 cannot be decrypted');
  const { rows } = await client.query(`SELECT FROM data_key_wrappings`);
  expect(rows).toHaveLength(2);
});
