// Rolls out a version: the next one starts beside the current one on one database, and takes over while users sign in. The older version is
// this tree; the newer one is a copy with one more migration and another text of a stored function that both call, as in every deploy. A
// shallow clone has no true predecessor.
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { freePort, startServer, stopServers } from '../helpers/server-process.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const password = 'correct horse battery';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-next-'));
  for (const part of ['bin', 'src', 'templates', 'migrations', 'package.json', '.env.example'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'migrations', '9999_tomorrow.sql'),
    `ALTER TABLE users ADD COLUMN of_tomorrow text;
     ALTER TABLE sessions ADD COLUMN of_tomorrow text NOT NULL DEFAULT '';
     CREATE INDEX users_of_tomorrow ON users (of_tomorrow);\n`,
  );
  const storeSession = join(folder, 'src/repositories/sessions/store_session.sql');
  const text = readFileSync(storeSession, 'utf8');
  writeFileSync(storeSession, text.replaceAll(`issue ->> 'user_agent'`, `(issue ->> 'user_agent') || ' of tomorrow'`));
});
afterAll(async () => {
  await stopServers();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('no sign-in fails while a version with one more migration starts, serves beside the current one and takes over (security F19)', async () => {
  const [port, nextPort] = [await freePort(), await freePort()];
  const issuer = `http://localhost:${port}`;
  const settings = {
    BASE_URL: issuer,
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64url'),
    ADMIN_PASSWORD: password,
    LIMIT_SIGN_IN_PER_NETWORK: '0',
  };
  const old = startServer({ ...settings, PORT: String(port), DATA_DIR: join(folder, 'old') });
  await old.ready();

  let serving = [issuer];
  let over = false;
  const seen: number[][] = [];
  /** Signs in at one instance after the other, and continues at the next. */
  async function signIns(): Promise<void> {
    for (let turn = 0; !over; turn++) {
      const [here, there] = [serving[turn % serving.length]!, serving[(turn + 1) % serving.length]!];
      const agent = new UserAgent({ issuer });
      const page = await agent.get(`${here}/login`);
      const fields = { ...hiddenFields(page.body), username: 'admin', password };
      const end = await agent.post(`${there}/login`, fields);
      seen.push([page.status, end.status, (await agent.get(`${here}/account`)).status]);
    }
  }
  const more = (count: number) => {
    const from = seen.length;
    return vi.waitUntil(() => seen.length >= from + count, { timeout: 30_000, interval: 10 });
  };
  const traffic = signIns();
  // the test reports a failure at the end, when no process runs any more
  traffic.catch(() => undefined);
  await more(3);
  const next = startServer({ ...settings, PORT: String(nextPort), DATA_DIR: join(folder, 'next') }, folder);
  await next.ready();
  const migrated = `SELECT FROM migrations WHERE name = '9999_tomorrow'`;
  expect(await database.sql(migrated)).toHaveLength(1);
  serving = [issuer, `http://localhost:${nextPort}`];
  await more(6);
  serving = serving.slice(1);
  // the old version has answered its last requests
  await more(2);
  old.kill('SIGTERM');
  expect(await old.exited).toMatchObject({ code: 0 });
  await more(2);
  over = true;
  await traffic;
  expect(new Set(seen.map(String))).toEqual(new Set(['200,303,200']));
  // each version called its own text of the function
  const agents = `SELECT DISTINCT user_agent LIKE '% of tomorrow' AS tomorrow FROM sessions`;
  expect(await database.sql(agents)).toHaveLength(2);

  // a start of the old version is refused, with the reason
  const again = startServer({ ...settings, PORT: String(port), DATA_DIR: join(folder, 'old') });
  expect((await again.exited).code).toBe(1);
  expect(again.stderr).toContain('start the newer version');
});
