// Data keys: what is sealed before and after one is replaced, and databases from before there were any (security R29).
import { randomBytes } from 'node:crypto';
import { jwtVerify } from 'jose';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dataKeyOfSecretKey, newDataKey, secretKeyId, wrapDataKey } from '../../src/crypto/data-key.ts';
import { createSecretBox, openWith, sealWith } from '../../src/crypto/secret-box.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { openDataKeyRing } from '../../src/tokens/data-key-ring.ts';
import { addSecretKey, reencrypt, retireSecretKeys } from '../../src/tokens/secret-key-rotation.ts';
import { adminToken, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { endSessionAddress, signedOutUri, wholeClient } from '../spec/kit.ts';

const by = { actor: 'test' };
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
});
afterAll(() => service?.stop());

const versions = async () =>
  (await service.database.sql<{ version: number }>('SELECT version FROM data_keys ORDER BY version')).map(
    (row) => row.version,
  );
/** What the background job does to data keys whose time is over. */
async function cleanUp(): Promise<void> {
  await service.database.sql(`UPDATE data_keys SET expires_at = now() WHERE expires_at IS NOT NULL`);
  for (let kind = 0; kind < service.store.expired.kinds; kind++) await service.store.expired.deleteBatch(kind);
}

describe('a sealed value', () => {
  const key = newDataKey(300);
  const sealed = sealWith(key, 'a secret', 'clients.shared_secret_encrypted.x');

  test.each([
    ['another row', (value: Buffer) => openWith(key, value, 'clients.shared_secret_encrypted.y')],
    ['another column', (value: Buffer) => openWith(key, value, 'clients.client_secret_encrypted.x')],
    ['another table', (value: Buffer) => openWith(key, value, 'signing_keys.shared_secret_encrypted.x')],
    ['another key', (value: Buffer) => openWith(newDataKey(300), value, 'clients.shared_secret_encrypted.x')],
    ['no last byte', (value: Buffer) => openWith(key, value.subarray(0, -1), 'clients.shared_secret_encrypted.x')],
    ['nothing', () => openWith(key, Buffer.alloc(0), 'clients.shared_secret_encrypted.x')],
  ])('does not decrypt with %s (security R29)', (_what, open) => {
    expect(openWith(key, sealed, 'clients.shared_secret_encrypted.x').toString()).toBe('a secret');
    expect(() => open(sealed)).toThrow();
  });

  test('of the version before data keys is one of the first, and so are its digests (security R29)', async () => {
    // made by that version
    const secretKey = 'AAcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK-2vcTL0tk';
    const old = Buffer.from('014e2a3399789e94084124e3ce821041bd7757fcf7b66d6e8b904ee9f756fe64542248fb50', 'hex');
    const first = dataKeyOfSecretKey(secretKey);
    const box = createSecretBox({ current: first, all: [first], find: async () => first });
    expect((await box.open(old, 'clients.shared_secret_encrypted.x')).toString()).toBe('a secret');
    expect(box.mac('form', 'a', 'b')).toBe('16qoIAwcnBsB67IoW7YBIdZrqFuxxYfR5c3piOtlwbg');
  });
});

test('every column of encrypted values is known to the re-encryption (security R29)', async () => {
  const columns = await service.database.sql<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name LIKE '%encrypted'`,
  );
  expect(columns.map((column) => column.name).sort()).toEqual([...service.store.sealedValues.names].sort());
});

test('a new data key leaves secrets, forms, codes and approvals as they are, and the old one goes in its time (security R29)', async () => {
  const admin = await adminToken(service);
  const client = await service.createClient({ ...wholeClient, id_token_signed_response_alg: 'HS256' });
  const user = await service.createUser({ admin: true });
  const redirect_uris = ['https://rp.example.com/'];
  const { body: waiting } = await call(`${service.issuer}/register`, { body: { redirect_uris } });
  const { body: deferred } = await call(`${service.issuer}/register`, {
    body: { redirect_uris, client_name: 'Deferred', registration_mode: ['approval'] },
  });
  const agent = new UserAgent(service);
  const form = await agent.get('/login');
  const [before] = await versions();

  const { version } = await reencrypt(service.store, service.secretKey, 60, by);
  expect(await versions()).toEqual([before, version]);
  expect([...(await service.store.sealedValues.count()).keys()]).toEqual([version]);

  await agent.signIn(user, form);
  expect(await agent.get('/account')).toMatchObject({ status: 200 });
  const { id_token } = await obtainTokens(service, client, user, {}, agent);
  await jwtVerify(id_token, Buffer.from(client.clientSecret), { issuer: service.issuer });
  const shown = await agent.get(`/admin/registration?verification_code=${deferred['verification_code'] as string}`);
  expect(shown.body).toContain('Deferred');
  expect(await agent.get(await endSessionAddress(service, client))).toMatchObject({ location: signedOutUri });
  const approval = `${service.issuer}/admin/api/clients/${waiting['client_id'] as string}/approve`;
  expect(await call(approval, { token: admin, body: { version: 1 } })).toMatchObject({ status: 200 });
  await cleanUp();
  expect(await versions()).toEqual([version]);
});

test('nothing is stored under a data key that is gone, and none goes that something is stored under (security R29)', async () => {
  const stray = sealWith(newDataKey(77), 'x', 'y');
  await expect(
    service.database.sql(`UPDATE signing_keys SET private_key_encrypted = $1 WHERE alg = 'ES256'`, [stray]),
  ).rejects.toThrow('there is no data key 77');
  const [only] = await versions();
  await service.database.sql('UPDATE data_keys SET expires_at = now()');
  await cleanUp();
  expect(await versions()).toEqual([only]);
  await service.database.sql('UPDATE data_keys SET expires_at = NULL');
});

test('a data key that was altered, or is another one’s, stops the start with a sentence (security R29)', async () => {
  const [version] = await versions();
  const altered = `UPDATE data_key_wrappings SET wrapped = overlay(wrapped PLACING $1 FROM 20) WHERE version = $2`;
  const [kept] = await service.database.sql<{ wrapped: Buffer }>('SELECT wrapped FROM data_key_wrappings');
  await service.database.sql(altered, [Buffer.from('x'), version]);
  await expect(openDataKeyRing(service.store, service.secretKey)).rejects.toThrow(
    /^The data key \d+ cannot be decrypted/,
  );
  await service.database.sql('UPDATE data_key_wrappings SET wrapped = $1', [kept!.wrapped]);
  await openDataKeyRing(service.store, service.secretKey);
});

test('a re-encryption that was broken off goes on with the same data key (security R29)', async () => {
  const ring = await openDataKeyRing(service.store, service.secretKey);
  const next = newDataKey(ring.knows.newest + 1);
  await service.store.transaction(async ({ dataKeys }) => {
    await dataKeys.insert(next.version);
    await dataKeys.wrap(next.version, ring.knows.secretKeyId!, wrapDataKey(service.secretKey, next));
  });
  // announced, and nobody seals with it yet
  await ring.refresh();
  expect(ring.knows).toMatchObject({ newest: next.version, current: next.version - 1 });
  expect(await reencrypt(service.store, service.secretKey, 60, by)).toMatchObject({ version: next.version });
  expect([...(await service.store.sealedValues.count()).keys()]).toEqual([next.version]);
});

test('an instance opens what was sealed with a data key that it has not read yet (security R29)', async () => {
  const early = await openDataKeyRing(service.store, service.secretKey);
  const { version } = await reencrypt(service.store, service.secretKey, 60, by);
  expect(early.knows.newest).toBe(version - 1);
  const [value] = await service.store.sealedValues.sample();
  expect((await early.secretBox.open(value!.sealed, value!.place)).length).toBeGreaterThan(0);
  expect(early.knows.current).toBe(version);
});

test('a SECRET_KEY is retired only when no instance runs with it, by whatever version (security R29, R111)', async () => {
  const other = randomSecret();
  await addSecretKey(service.store, service.secretKey, other, by);
  await expect(retireSecretKeys(service.store, other, by)).rejects.toThrow('2 instances run with another SECRET_KEY');
  // an instance that has just lost its listening connection is no stranger to it
  await service.database.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'gatehouse listener%'`,
  );
  await expect(retireSecretKeys(service.store, other, by)).rejects.toThrow('with another SECRET_KEY');
  await expect(reencrypt(service.store, service.secretKey, 60, by)).rejects.toThrow('retire it first');
  const older = new pg.Client({ ...service.database.connection, application_name: 'gatehouse listener' });
  await older.connect();
  await expect(retireSecretKeys(service.store, service.secretKey, by)).rejects.toThrow('an instance runs with another');
  await older.end();
  // the service goes on with the first, and the second is forgotten
  await eventually(
    () => service.store.dataKeys.runningInstances(),
    (running) => running.length === 2,
    10_000,
  );
  expect(await retireSecretKeys(service.store, service.secretKey, by)).toEqual([secretKeyId(other)]);
  await expect(openDataKeyRing(service.store, other)).rejects.toThrow(/SECRET_KEY is not the one/);
});

test('an instance whose SECRET_KEY opens the data key no longer is not ready, and serves on (security R29)', async () => {
  const ready = () => fetch(`${service.issuer}/health/ready`).then(({ status }) => status);
  expect(await ready()).toBe(200);
  const kept = await service.database.sql<{ version: number; secret_key_id: string; wrapped: Buffer }>(
    'DELETE FROM data_key_wrappings RETURNING version, secret_key_id, wrapped',
  );
  await service.database.sql(`SELECT pg_notify('gatehouse', 'data-keys')`);
  await eventually(ready, (status) => status === 503);
  expect((await fetch(`${service.issuer}/jwks`)).status).toBe(200);
  for (const { version, secret_key_id, wrapped } of kept)
    await service.store.dataKeys.wrap(version, secret_key_id, wrapped);
  await service.database.sql(`SELECT pg_notify('gatehouse', 'data-keys')`);
  await eventually(ready, (status) => status === 200);
});

test('a database from before data keys opens with its SECRET_KEY and with no other, and its values stay readable to the version before (security R29, R111)', async () => {
  // as migration 0020 finds it: everything sealed with SECRET_KEY itself, and no data key made
  const legacy = dataKeyOfSecretKey(service.secretKey);
  const ring = await openDataKeyRing(service.store, service.secretKey);
  for (const [column] of service.store.sealedValues.names.entries()) {
    const found = await service.store.sealedValues.older(column, '', 0, 10_000);
    const values = await Promise.all(
      found.map(async ({ id, sealed }) => {
        const place = service.store.sealedValues.place(column, id);
        return { id, before: sealed, after: sealWith(legacy, await ring.secretBox.open(sealed, place), place) };
      }),
    );
    await service.database.sql(`INSERT INTO data_keys (version, active_at) VALUES (1, now()) ON CONFLICT DO NOTHING`);
    await service.store.sealedValues.replace(column, values);
  }
  await service.database.sql('DELETE FROM data_keys WHERE version > 1');
  await service.database.sql('DELETE FROM data_key_wrappings');
  await service.database.sql('UPDATE data_keys SET expires_at = NULL');

  await expect(openDataKeyRing(service.store, randomBytes(32).toString('base64url'))).rejects.toThrow(
    /SECRET_KEY is not the one/,
  );
  const opened = await openDataKeyRing(service.store, service.secretKey);
  const sealed = opened.secretBox.seal('a secret', 'somewhere');
  expect(openWith(legacy, sealed, 'somewhere').toString()).toBe('a secret');
  const [value] = await service.store.sealedValues.sample();
  await expect(opened.secretBox.open(value!.sealed, value!.place)).resolves.toBeDefined();
  // what runs already learns of it by the notification, and goes on
  const { version } = await reencrypt(service.store, service.secretKey, 60, by);
  expect(version).toBe(2);
  await eventually(
    () => service.store.dataKeys.runningInstances(),
    (running) => running.every((instance) => instance.current === 2),
    10_000,
  );
});
