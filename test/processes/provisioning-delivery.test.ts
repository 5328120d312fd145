// Kills instances between a request to a provisioning target and its record, and expects one account for each user, and nothing lost.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { eventually } from '../helpers/grants.ts';
import { ScimApplications } from '../helpers/scim-application.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';

let folder: string;
let database: TestDatabase;
let applications: ScimApplications;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-provisioning-'));
  database = await createTestDatabase();
  applications = await new ScimApplications().start();
});
afterEach(async () => {
  await stopServers();
  await applications.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const users = 40;

test('instances that are killed between a request and its record double no account, and lose no change (federation F82, FR37)', async () => {
  const shared = {
    DATABASE_URL: database.url,
    SECRET_KEY: randomSecret(),
    ADMIN_PASSWORD: 'correct horse battery',
    BASE_URL: 'https://id.example.com',
    OUTBOUND_ALLOW: applications.host,
  };
  const start = async () => {
    const server = startServer({
      ...shared,
      PORT: String(await freePort()),
      DATA_DIR: join(folder, randomSecret().slice(0, 8)),
    });
    await server.ready();
    return server;
  };
  const settings = { ...shared, DATA_DIR: join(folder, 'commands') };
  /** Answers as the application, and kills the instances before the answer arrives: the request is done, and not recorded. */
  const killAt = (method: string, servers: Awaited<ReturnType<typeof start>>[]) =>
    new Promise<void>((resolve) => {
      applications.answers.set('app', (request, response) => {
        if (request.method !== method) return undefined;
        applications.answers.delete('app');
        for (const server of servers) server.kill('SIGKILL');
        applications.answer(request, response);
        void Promise.all(servers.map(({ exited }) => exited)).then(() => resolve());
        return 'answered';
      });
    });
  /** Lets the leases of the killed instances end. */
  const leasesEnd = () =>
    database.sql(
      `WITH a AS (UPDATE provisioned_users SET leased_until = NULL), o AS (UPDATE outbox SET next_attempt_at = now() WHERE channel = 'provisioning')
       SELECT pg_notify('gatehouse', 'provisioned'), pg_notify('gatehouse', 'provisioning')`,
    );
  const accounts = () => [...applications.of('app').values()];

  let servers = [await start(), await start()];
  const client = String(
    (await runCommand(['client', 'create', '--name', 'App', '--redirect-uri', 'https://app.example/cb'], settings))[
      'client_id'
    ],
  );
  await database.sql(`UPDATE clients SET access = 'groups', access_groups = '{staff}' WHERE client_id = $1`, [client]);
  await database.sql(
    `INSERT INTO users (username, groups) SELECT 'user-' || n, '{staff}' FROM generate_series(1, $1::int) AS n`,
    [users],
  );
  const target = ['provisioning-target', 'create', client, '--base-url', applications.uri('app'), '--bearer-token'];
  await runCommand(target, settings, 'token');
  await eventually(
    () => database.sql('SELECT FROM provisioned_users'),
    (rows) => rows.length === users,
  );

  const created = killAt('POST', servers);
  await runCommand(['provisioning-target', 'approve', client], settings);
  await created;
  await leasesEnd();
  servers = [await start(), await start()];
  await eventually(
    async () => accounts().length,
    (count) => count >= users,
  );
  await eventually(
    () => database.sql(`SELECT FROM provisioned_users WHERE state = 'active' AND NOT waiting`),
    (rows) => rows.length === users,
  );

  const changed = killAt('PATCH', servers);
  await database.sql(`UPDATE users SET username = 'renamed-' || username WHERE 'staff' = ANY (groups)`);
  await changed;
  // a user leaves while no instance runs
  await database.sql(`UPDATE users SET status = 'disabled' WHERE username = 'renamed-user-1'`);
  await leasesEnd();
  await start();
  const [left] = await database.sql<{ sub: string }>(`SELECT sub FROM users WHERE status = 'disabled'`);
  const others = () => accounts().filter((one) => one['externalId'] !== left!.sub);
  await eventually(
    async () => accounts().find((one) => one['externalId'] === left!.sub)?.['active'],
    (active) => active === false,
  );
  await eventually(
    async () => others().filter((one) => String(one['userName']).startsWith('renamed-')).length,
    (count) => count === users - 1,
  );
  expect(new Set(accounts().map((one) => one['externalId'])).size).toBe(users);
  expect(accounts()).toHaveLength(users);
  expect(accounts().filter((one) => one['active'] === true)).toHaveLength(users - 1);
});
