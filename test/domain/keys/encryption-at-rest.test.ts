// A database accepts only a SECRET_KEY with the keys of all its encrypted values, which the re-encryption moves to the first key.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseSecretKey } from '../../../src/crypto/secret-key.ts';
import { randomSecret } from '../../../src/crypto/secrets.ts';
import { type Database, openDatabase } from '../../../src/database/database.ts';
import { openEncryption, reencrypt } from '../../../src/domain/keys/encryption-at-rest.ts';
import { parseClientMetadata } from '../../../src/oauth/client-metadata.ts';
import { createAdministration } from '../../../src/domain/administration/administration.ts';
import { createStore, type Store } from '../../../src/repositories/store.ts';
import { newCredentials } from '../../../src/tokens/client-credentials.ts';
import { openKeyRing } from '../../../src/tokens/key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.ts';

const by = { actor: 'test' };
const [oldKey, newKey] = [randomSecret(), randomSecret()];
const [oldId, newId] = [parseSecretKey(oldKey).id, parseSecretKey(newKey).id];
const both = [newKey, oldKey];

let database: TestDatabase;
let connection: Database;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  connection = openDatabase({ connection: database.connection, poolSize: 4, onError: () => undefined });
  store = createStore(connection);
  const { secretBox } = await openEncryption(store, [oldKey]);
  await openKeyRing({ store, secretBox, idTokenLifetime: 600 });
  const metadata = parseClientMetadata(
    { redirect_uris: ['https://rp.example.com/callback'], id_token_signed_response_alg: 'HS256' },
    { admin: true },
  );
  const { stored } = newCredentials(secretBox, 'harbour', metadata);
  const client = { clientId: 'harbour', metadata, status: 'enabled', approvedBy: 'administrator' } as const;
  await createAdministration(store).createClient(by, {
    ...client,
    selfRegistered: false,
    firstParty: false,
    ...stored,
  });
});
afterAll(async () => {
  await connection?.close();
  await database?.drop();
});

const run = async (keys = both) => reencrypt(store, await openEncryption(store, keys), by, () => undefined);
const keyIds = () => store.sealedValues.keyIds();

test('the re-encryption covers every encrypted column, and each has an index by key (security R29)', async () => {
  const columns = await database.sql<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name LIKE '%encrypted'`,
  );
  const names = columns.map(({ name }) => name).sort();
  expect(names).toEqual([...store.sealedValues.names].sort());
  const indexes = await database.sql<{ name: string }>(
    `SELECT tablename || '.' || substring(indexdef FROM 'sealed_key_id\\((\\w+)\\)') AS name FROM pg_indexes
      WHERE indexdef LIKE '%sealed_key_id(%'`,
  );
  expect(indexes.map(({ name }) => name).sort()).toEqual(names);
});

test('a SECRET_KEY without the key of a stored value is refused with a sentence that shows only key ids (decisions section 8)', async () => {
  expect(await keyIds()).toEqual([oldId]);
  const refusal = openEncryption(store, [newKey]);
  await expect(refusal).rejects.toThrow(`lacks the key ${oldId}`);
  await expect(refusal).rejects.toThrow(/^The setting SECRET_KEY, or the file secret-key in DATA_DIR, [^\n]*\.$/);
  for (const key of both) await expect(refusal).rejects.not.toThrow(key);
  await openEncryption(store, both);
  await openEncryption(store, [oldKey, newKey]);
});

test('the re-encryption refuses while an instance encrypts with another key, and ignores instances that have ended (decisions section 8)', async () => {
  const instances = [randomUUID(), randomUUID(), randomUUID()] as const;
  for (const id of instances) await store.instances.heartbeat(id, oldId);
  await expect(run()).rejects.toThrow(
    `3 instances encrypt with the key ${oldId}, and this command with the key ${newId}`,
  );
  // one instance stops, one restarts with another first key, and one was killed
  await store.instances.remove(instances[0]);
  await store.instances.remove(instances[1]);
  await store.instances.heartbeat(randomUUID(), newId);
  await expect(run()).rejects.toThrow(`an instance encrypts with the key ${oldId}`);
  await database.sql(`UPDATE instances SET seen_at = now() - interval '99 seconds' WHERE id = $1`, [instances[2]]);
  await expect(run()).rejects.toThrow(`an instance encrypts with the key ${oldId}`);
  expect(await keyIds()).toEqual([oldId]);
  await database.sql(`UPDATE instances SET seen_at = now() - interval '101 seconds' WHERE id = $1`, [instances[2]]);
  await expect(run([oldKey, newKey])).rejects.toThrow(`an instance encrypts with the key ${newId}`);
  expect(await database.sql(`SELECT FROM audit_events WHERE type = 'secret_key.reencrypted'`)).toHaveLength(0);
});

test('an altered value stops the re-encryption with a sentence that names its row, and the other values do not change (security R29)', async () => {
  const set = 'UPDATE signing_keys SET private_key_encrypted = $1 WHERE alg = $2';
  const [original] = await database.sql<{ kid: string; value: Buffer }>(
    `SELECT kid, private_key_encrypted AS value FROM signing_keys WHERE alg = 'EdDSA'`,
  );
  const altered = Buffer.from(original!.value);
  altered[20]! ^= 1;
  await database.sql(set, [altered, 'EdDSA']);
  await expect(run()).rejects.toThrow(`signing_keys.private_key_encrypted.${original!.kid} cannot be decrypted`);
  await database.sql(set, [original!.value, 'EdDSA']);
});

test('the re-encryption moves every value to the first key, records one event, and changes no client version (decisions section 8)', async () => {
  const versions = () => database.sql('SELECT client_id, version, updated_at FROM clients');
  const before = await versions();
  expect(await run()).toEqual({ values: 6, notNeeded: [oldId] });
  expect(await keyIds()).toEqual([newId]);
  expect(await versions()).toEqual(before);
  const events = await database.sql(`SELECT actor, detail FROM audit_events WHERE type = 'secret_key.reencrypted'`);
  expect(events).toEqual([{ actor: 'test', detail: { secret_key_id: newId, values: 6, not_needed: [oldId] } }]);
  const { secretBox } = await openEncryption(store, [newKey]);
  await openKeyRing({ store, secretBox, idTokenLifetime: 600 });
  await expect(openEncryption(store, [oldKey])).rejects.toThrow(`lacks the key ${newId}`);
});

test('a value that is encrypted with another key during the re-encryption is detected (decisions section 8)', async () => {
  const lateValue = (await openEncryption(store, [oldKey, newKey])).secretBox.seal(
    'late',
    'clients.shared_secret_encrypted.harbour',
  );
  // as if an instance stored the value right after the batch
  await database.sql(
    `CREATE FUNCTION store_late() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN NEW.shared_secret_encrypted := '\\x${lateValue.toString('hex')}'; RETURN NEW; END $$;
     CREATE TRIGGER store_late BEFORE UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION store_late()`,
  );
  await database.sql('UPDATE clients SET self_registered = self_registered');
  await expect(run()).rejects.toThrow('encrypted with another key in the meantime');
  await database.sql('DROP FUNCTION store_late CASCADE');
  expect(await run()).toEqual({ values: 1, notNeeded: [oldId] });
});
