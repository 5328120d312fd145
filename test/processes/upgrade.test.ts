// Upgrades the filled database of a release: this version starts on it beside an instance of the release, users sign in at both, and the way back is open.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { execute } from '../helpers/global-setup.ts';
import { refresh, userinfo } from '../helpers/grants.ts';
import { releasedDatabase, releasedDump, unpackReleased } from '../helpers/released.ts';
import { freePort, runCommand, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const version = '0.1.0';
const kept = releasedDatabase(version);
const { users } = kept;
/** What no start, sign-in or clean-up may make fewer. */
const passing =
  /^(instances|rate_limits|outbox|webhook_deliveries|logout_deliveries|event_subscriptions|refusals|stored_functions|authorization_requests|used_\w+|registration_keys|kept_forms|form_outcomes|doctor_probes|group_changes|provisioning_runs)$/;

let database: TestDatabase;
let folder: string;
let tree: string;
let settings: Record<string, string>;
let issuer: string;
let released: ServerProcess;
let current: ServerProcess;
/** The migrations that the release did not have. */
let newer: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-upgrade-'));
  tree = unpackReleased(version, folder);
  database = await createTestDatabase('template0');
  await execute(database.connection, releasedDump(version));
  const ofRelease = readdirSync(join(tree, 'migrations'));
  newer = readdirSync(join(import.meta.dirname, '../../migrations')).filter((file) => !ofRelease.includes(file));
  const port = await freePort();
  issuer = `http://localhost:${port}`;
  settings = {
    BASE_URL: issuer,
    DATABASE_URL: database.url,
    SECRET_KEY: kept.secretKey,
    LIMIT_SIGN_IN_PER_NETWORK: '0',
    TRUST_PROXY: '127.0.0.1,::1',
    MTLS_BASE_URL: 'https://mtls.example',
    CLIENT_CERT_HEADER: 'Client-Cert',
    CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
  };
  released = startServer({ ...settings, PORT: String(port), DATA_DIR: join(folder, 'old') }, tree);
  await released.ready();
  const next = String(await freePort());
  current = startServer({ ...settings, PORT: next, DATA_DIR: join(folder, 'new') });
  await current.ready();
}, 120_000);
afterAll(async () => {
  await stopServers();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const base = (server: ServerProcess) => `http://localhost:${server.port}`;

/** Signs in at one instance, and reads the account at the other. */
async function signIn(here: ServerProcess, there: ServerProcess, username: string): Promise<UserAgent> {
  const agent = new UserAgent({ issuer });
  const page = await agent.get(`${base(here)}/login`);
  const fields = { ...hiddenFields(page.body), username, password: users.password };
  const end = await agent.post(`${base(there)}/login`, fields);
  expect(end.status, end.body).toBe(303);
  return agent;
}

test('users sign in at the release and at this version on one database, and each knows the sessions of the other (delivery 7)', async () => {
  for (const [here, there] of [
    [released, current],
    [current, released],
  ] as const)
    for (const username of [users.plain, users.administrator]) {
      const agent = await signIn(here, there, username);
      for (const server of [released, current])
        expect((await agent.get(`${base(server)}/account`)).status, `${username} at ${server.port}`).toBe(200);
    }
});

test('a second factor of the release is asked for and accepted (delivery 7)', async () => {
  const agent = await signIn(current, current, users.second);
  const page = await agent.get(`${base(current)}/login/second-factor`);
  const code = new TOTP({ secret: Secret.fromBase32(users.totp) }).generate();
  const end = await agent.post(`${base(current)}/login/second-factor`, { ...hiddenFields(page.body), code });
  expect([page.status, end.status]).toEqual([200, 303]);
  expect((await agent.get(`${base(released)}/account`)).status).toBe(200);
});

test('tokens of the release are valid at both, and a refresh token buys new ones at this version that the release accepts (delivery 7)', async () => {
  for (const server of [released, current]) expect((await userinfo(base(server), kept.accessToken)).status).toBe(200);
  const bought = await refresh(base(current), kept.client, kept.refreshToken);
  expect(bought.status, JSON.stringify(bought.body)).toBe(200);
  expect((await userinfo(base(released), String(bought.body['access_token']))).status).toBe(200);
  const again = await refresh(base(released), kept.client, String(bought.body['refresh_token']));
  expect(again.status).toBe(200);
});

test('nothing is lost: every table has at least the rows of the dump, and the configuration of the release can be exported (delivery 7)', async () => {
  const fewer: string[] = [];
  for (const [table, before] of Object.entries(kept.rows)) {
    if (passing.test(table)) continue;
    const [row] = await database.sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
    if (row!.count < before) fewer.push(`${table}: ${before} rows, then ${row!.count}`);
  }
  expect(fewer).toEqual([]);
  expect(Object.keys(kept.rows).length).toBeGreaterThan(35);
  // the runner throws for a command that fails
  await runCommand(['config', 'export', join(folder, 'exported.yaml')], { ...settings, DATA_DIR: folder });
  const everything = readFileSync(join(folder, 'exported.yaml'), 'utf8');
  for (const name of ['every-application', 'every-site', 'every-native', 'Every exchange', 'crew'])
    expect(everything).toContain(name);
});

test('the way back: the release serves on after this version has stopped, and starts again unless a migration has run (delivery 7)', async () => {
  current.kill('SIGTERM');
  expect(await current.exited).toMatchObject({ code: 0 });
  const agent = await signIn(released, released, users.plain);
  expect((await agent.get('/account')).status).toBe(200);
  released.kill('SIGTERM');
  await released.exited;
  const again = startServer({ ...settings, PORT: String(released.port), DATA_DIR: join(folder, 'old') }, tree);
  if (newer.length > 0) {
    expect((await again.exited).code).toBe(1);
    expect(again.stderr).toContain('start the newer version');
  } else {
    await again.ready();
    await signIn(again, again, users.plain);
  }
});
