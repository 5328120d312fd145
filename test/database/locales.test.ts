// An upgrade carries names, searches, look-alikes and unique values over to one collation, and the database's own locale plays no part then.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { migrate } from '../../src/database/migrations.ts';
import { startService } from '../../src/start/service.ts';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { runFormerMigrations } from '../helpers/former-database.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const sealed = '\\x030011223344556677ff';
const metadata = {
  redirect_uris: [],
  grant_types: [],
  response_types: [],
  scope: '',
  token_endpoint_auth_method: 'none',
};

const secretKey = randomSecret();
let dataDir: string;
let database: TestDatabase;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-data-'));
  database = await createTestDatabase('template0', 'C');
  await runFormerMigrations(database, { before: '0200' });
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true });
  await database?.drop();
});

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  database.sql<Row>(text, values);
const found = async (typed: string) =>
  (await sql<{ sub: string }>('SELECT sub FROM users_of_login($1)', [typed])).map(({ sub }) => sub);

test('a database with the locale C is carried over: what differs by case alone is equal then, and each pair is listed (reports B4, security R153)', async () => {
  for (const [sub, username, email] of [
    ['anne', 'ÄNNE', null],
    ['twin', 'änne', null],
    ['ada', 'ada', 'ada@example.com'],
    ['stranger', 'ADA@example.com', null],
    ['sailor', 'boats', 'sailor@example.com'],
    ['berta', 'bÉrta', null],
  ])
    await sql('INSERT INTO users (sub, username, email, claims) VALUES ($1, $2, $3, $4)', [
      sub,
      username,
      email,
      { badge: username === 'ÄNNE' ? 'ÖL-1' : username === 'änne' ? 'öl-1' : username },
    ]);
  await sql(`INSERT INTO attributes (name, type, is_unique) VALUES ('badge', 'string', true)`);
  await sql(`INSERT INTO unique_attribute_values SELECT 'badge', attribute_digest(claims -> 'badge'), sub FROM users`);
  for (const [clientId, name] of [
    ['boats', 'Über Boats'],
    ['office', 'ÄRZTEKAMMER'],
  ])
    await sql(
      `INSERT INTO clients (client_id, status, metadata, shared_secret_encrypted) VALUES ($1, 'enabled', $2, $3)`,
      [clientId, { ...metadata, client_name: name }, sealed],
    );
  await runFormerMigrations(database, { from: '0200' });
  const { stdout, stderr } = await runCommand({ database, issuer: 'http://localhost', secretKey }, ['migrate']);
  expect(stderr).toBe('');
  expect(stdout).toContain('change that of one of the two:\nada and stranger\n');
  expect(stdout).toContain('anne and twin\nanne and twin (attribute badge)\n');
  expect(stdout).toContain('sailor and client boats');

  // each of a pair is found as before, and everyone else in any spelling
  expect(await found('änne')).toEqual(['twin', 'anne']);
  expect((await found('ÄNNE'))[0]).toBe('anne');
  expect((await found('ada@example.com'))[0]).toBe('stranger');
  expect(await found('BéRTA ')).toEqual(['berta']);
  const words = 'user_words(username, email, claims, groups, status, admin) @@ user_search($1, NULL, NULL, false)';
  expect(await sql(`SELECT sub FROM users WHERE ${words} ORDER BY sub`, ['ÄNNE'])).toEqual([
    { sub: 'anne' },
    { sub: 'twin' },
  ]);
  expect(
    await sql(`SELECT client_id FROM clients WHERE client_search_terms(client_id, metadata) @@ $1::tsquery`, [
      "'ärztekammer'",
    ]),
  ).toHaveLength(1);
  expect(await sql(`SELECT name_skeleton('ÄRZTEKAMMER') = name_skeleton('ärztekammer') AS same`)).toEqual([
    { same: true },
  ]);
  expect(await sql(`SELECT count(*)::int AS n FROM unique_attribute_values`)).toEqual([{ n: 5 }]);
  expect(await sql(`SELECT attribute_digest('"ÖL-1"') = attribute_digest('"öl-1"') AS same`)).toEqual([{ same: true }]);
  expect(
    await sql(`SELECT resource_key('HTTPS://ÄPI.example') = resource_key('https://äpi.example/') AS same`),
  ).toEqual([{ same: true }]);

  // each start tells them, too; no key of this service encrypted the rows above
  await sql('DELETE FROM clients');
  const logged: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) });
  const settings = { PORT: '0', DATABASE_URL: database.url, ADMIN_PASSWORD: randomSecret(), DATA_DIR: dataDir };
  const service = await startService(loadConfig({ ...settings, SECRET_KEY: secretKey }), undefined, undefined, log);
  await service.stop();
  expect(logged.find(({ pairs }) => pairs !== undefined)).toMatchObject({
    level: 40,
    pairs: [
      { sub: 'ada', other: 'stranger' },
      { sub: 'anne', other: 'twin' },
      { sub: 'anne', other: 'twin', attribute: 'badge' },
    ],
  });
});

test('a pair is exempt until one of the two is changed, and the other has the text alone then (security R153)', async () => {
  await sql(`UPDATE users SET groups = '{a}', password_hash = 'x' WHERE sub IN ('ada', 'stranger')`);
  expect(await found('ada@example.com')).toEqual(['stranger', 'ada']);
  await sql(`UPDATE users SET username = 'no-address' WHERE sub = 'stranger'`);
  expect(await found('ada@example.com')).toEqual(['ada']);
  await expect(sql(`UPDATE users SET username = 'ada@example.com' WHERE sub = 'stranger'`)).rejects.toMatchObject({
    code: '23505',
  });
  await sql(`DELETE FROM users WHERE sub = 'anne'`);
  expect(await found('ÄNNE')).toEqual(['twin']);
  const { stdout } = await runCommand({ database, issuer: 'http://localhost', secretKey }, ['migrate']);
  expect(stdout).not.toContain('attribute');
});

test('a service on such a database gives no twin the name of a user (reports B4, security R153)', async () => {
  let service: TestService | undefined;
  try {
    const fresh = await createTestDatabase('template0', 'C');
    await migrate(fresh.connection);
    service = await startTestService({ database: fresh });
    await service.createUser({ username: 'ÄNNE' });
    await expect(service.createUser({ username: 'änne' })).rejects.toThrow('already in use');
    expect((await service.store.users.findByLogin('\u00a0\tÄnnE\u3000'))?.username).toBe('ÄNNE');
    const listed = await service.store.userSearch.find({ words: 'änn' }, { order: 'name', limit: 10 });
    expect(listed.users.map(({ username }) => username)).toEqual(['ÄNNE']);
  } finally {
    await service?.stop();
  }
});
