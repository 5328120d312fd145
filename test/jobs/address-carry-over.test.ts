// An upgrade gives the addresses that were stored before the A-label of their domain, in the background.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { startService } from '../../src/start/service.ts';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { runFormerMigrations } from '../helpers/former-database.ts';

const secretKey = randomSecret();
let dataDir: string;
let database: TestDatabase;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-data-'));
  database = await createTestDatabase('template0');
  await runFormerMigrations(database, { before: '0200' });
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true });
  await database?.drop();
});

type Line = Record<string, unknown>;
async function start() {
  const logged: Line[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as Line) });
  const settings = { PORT: '0', DATABASE_URL: database.url, ADMIN_PASSWORD: randomSecret(), DATA_DIR: dataDir };
  const service = await startService(loadConfig({ ...settings, SECRET_KEY: secretKey }), undefined, undefined, log);
  return { service, logged };
}
const sql = <Row extends Line>(text: string, values: unknown[] = []) => database.sql<Row>(text, values);
const addresses = async () =>
  Object.fromEntries(
    (await sql<{ sub: string; email: string }>('SELECT sub, email FROM users WHERE email IS NOT NULL')).map(
      ({ sub, email }) => [sub, email],
    ),
  );
const within = { timeout: 60_000, interval: 20 };

test('addresses of before get the A-label of their domain once, and each that cannot is listed (security R158)', async () => {
  const before = {
    ada: 'Ada@münchen.example',
    berta: 'berta@MÜNCHEN.example',
    carl: 'carl@example.com',
    dora: 'dora@bücher.example',
    other: 'dora@xn--bcher-kva.example',
    emil: 'emil@example.com.',
    // the database has no such A-label
    fritz: 'fritz@münchen.x-',
    gero: 'gero@münchen.example',
  };
  for (const [sub, email] of Object.entries(before))
    await sql('INSERT INTO users (sub, username, email, email_verified) VALUES ($1, $1, $2, true)', [sub, email]);
  await sql(
    `INSERT INTO mailed_links (token_hash, purpose, sub, email, expires_at) VALUES (sha256('gero'), 'invitation', 'gero', $1, now() + interval '1 day')`,
    [before.gero],
  );
  await runFormerMigrations(database, { from: '0200' });
  // an instance that started before the migration and serves
  await sql(
    `INSERT INTO instances (id, secret_key_id, started_at) VALUES ($1, '0123456789abcdef', now() - interval '1 minute')`,
    [randomUUID()],
  );
  const early = await start();
  await vi.waitUntil(() => early.logged.some(({ left }) => left === 6), within);
  expect(await addresses()).toEqual(before);
  await early.service.stop();
  await sql(`DELETE FROM instances WHERE secret_key_id = '0123456789abcdef'`);

  const both = await Promise.all([start(), start()]);
  const after = { ...before, ada: 'Ada@xn--mnchen-3ya.example', berta: 'berta@xn--mnchen-3ya.example' };
  const left = 'SELECT FROM unstored_addresses WHERE tried_at IS NULL';
  await vi.waitUntil(async () => (await sql(left)).length <= 1, within);
  for (const { service } of both) await service.stop();
  expect(await addresses()).toEqual(after);
  expect(await sql(`SELECT sub FROM users WHERE email_verified AND email IS NOT NULL`)).toHaveLength(8);
  const events = `SELECT sub, actor, detail FROM audit_events WHERE type = 'user.changed' ORDER BY sub`;
  const detail = { members: ['email'] };
  expect(await sql(events)).toEqual([
    { sub: 'ada', actor: 'service', detail },
    { sub: 'berta', actor: 'service', detail },
  ]);

  // an invitation stays valid: its user's turn comes after it
  expect(await sql('SELECT FROM mailed_links WHERE used_at IS NULL')).toHaveLength(1);
  await sql('UPDATE mailed_links SET used_at = now()');
  const next = await start();
  await vi.waitUntil(async () => (await sql(left)).length === 0, within);
  await next.service.stop();
  expect((await addresses())['gero']).toBe('gero@xn--mnchen-3ya.example');

  // a later start lists what stays, as the command does, and tries nothing again
  const { service, logged } = await start();
  await service.stop();
  expect(logged.find(({ users }) => users !== undefined)).toMatchObject({
    level: 40,
    users: [{ sub: 'dora', other: 'other' }, { sub: 'emil' }, { sub: 'fritz' }],
  });
  expect(logged.some(({ converted, left: some }) => converted !== undefined || some !== undefined)).toBe(false);
  const { stdout } = await runCommand({ database, issuer: 'http://localhost', secretKey }, ['migrate']);
  expect(stdout).toContain('change the address:\ndora (other)\nemil\nfritz');
  await sql(`UPDATE users SET email = 'dora@example.com' WHERE sub = 'dora'`);
  await sql(`UPDATE users SET email = 'emil@example.com' WHERE sub = 'emil'`);
  await sql(`UPDATE users SET email = NULL WHERE sub = 'fritz'`);
  const mended = await runCommand({ database, issuer: 'http://localhost', secretKey }, ['migrate']);
  expect(mended.stdout).not.toContain('A-label');
});
