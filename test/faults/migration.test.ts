// Runs a migration of the next version while the previous one serves, and a long transaction holds the table that has to change.
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations.ts';
import { obtainTokens, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const known = fileURLToPath(new URL('../../migrations', import.meta.url));

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'));
  for (const file of readdirSync(known)) symlinkSync(join(known, file), join(folder, file));
  writeFileSync(join(folder, '9998_note.sql'), 'CREATE TABLE notes (id bigint PRIMARY KEY);\n');
  writeFileSync(join(folder, '9999_nickname.sql'), 'ALTER TABLE users ADD COLUMN nickname_of_tomorrow text;\n');
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a migration waits for a long transaction without making the requests wait, and finishes afterwards (security F19)', async () => {
  const user = await service.createUser();
  const { access_token: token } = await obtainTokens(service, await service.createClient(), user);
  const holder = new pg.Client(service.database.connection);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM users LIMIT 1');
  let ended = false;
  const migration = migrate(service.database.connection, { directory: folder }).finally(() => (ended = true));
  migration.catch(() => undefined);
  // the change waits for its lock, gives up, and waits again
  const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass AND mode = 'AccessExclusiveLock'`;
  const seen: boolean[] = [];
  while (seen.filter((waits, index) => waits && !seen[index - 1]).length < 2) {
    expect(ended).toBe(false);
    seen.push((await service.database.sql(waiting)).length > 0);
    // every request that queues behind the waiting change is served, at the latest when the change gives up
    expect(await userinfo(service.issuer, token)).toMatchObject({ status: 200 });
    await delay(10);
  }
  // the file before is in force already: each is a transaction of its own
  expect(await service.database.sql('SELECT * FROM notes')).toEqual([]);
  expect(ended).toBe(false);
  await holder.query('COMMIT');
  await holder.end();
  expect(await migration).toEqual(['9998_note', '9999_nickname']);
  expect(await userinfo(service.issuer, token)).toMatchObject({ status: 200 });
});
