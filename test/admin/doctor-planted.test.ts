// Plants faults at a PostgreSQL server of its own and on a small disk, and reads what `gatehouse doctor` says about each.
import { randomBytes } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { startEmbeddedPostgres } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrations.ts';
import { runCommand } from '../helpers/command-line.ts';
import { copyCluster } from '../helpers/global-setup.ts';
import { PostgresServer } from '../helpers/postgres-server.ts';

interface Line {
  check: string;
  state: 'ok' | 'warning' | 'fault';
  says: string;
  todo?: string;
}

/** No instance runs here: the checks of the database need none. */
const issuer = 'http://localhost:1';
const secretKey = randomBytes(32).toString('base64url');
let folder: string;
let server: PostgresServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-doctor-'));
  // PostgreSQL does not run as root
  chmodSync(folder, 0o755);
  server = await PostgresServer.create(join(folder, 'server'));
  // the former role made the tables, and the present one got its rights one by one
  await server.sql(
    'CREATE ROLE former LOGIN; CREATE ROLE present LOGIN; GRANT ALL ON SCHEMA public TO former, present',
  );
  await migrate({ ...server.connection, user: 'former' });
  await server.sql('GRANT ALL ON ALL TABLES IN SCHEMA public TO present');
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the doctor says of the server, as one of its roles. */
async function examined(environment: Record<string, string> = {}, role = 'present'): Promise<Line[]> {
  const url = `postgresql://${role}@127.0.0.1:${server.port}/gatehouse`;
  const { stdout, stderr } = await runCommand({ issuer, database: { url } as never, secretKey }, ['doctor', '--json'], {
    environment,
  });
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as { checks: Line[] }).checks;
}

const of = async (check: string, ...where: Parameters<typeof examined>): Promise<Line[]> =>
  (await examined(...where)).filter((line) => line.check === check);
const well = (check: string) => [{ check, state: 'ok', says: expect.any(String) as string }];
const ill = (check: string, state: 'warning' | 'fault', says: RegExp, todo: RegExp) => [
  { check, state, says: expect.stringMatching(says) as string, todo: expect.stringMatching(todo) as string },
];

test('a role without a right is named with its tables, and with the statement that mends it (delivery 1)', async () => {
  expect(await of('rights')).toEqual(well('rights'));
  await server.sql('REVOKE UPDATE ON users FROM present');
  expect(await of('rights')).toEqual(
    ill(
      'rights',
      'fault',
      /^the role present may not read and write users$/,
      /REASSIGN OWNED BY the_former_role TO present;/,
    ),
  );
  await server.sql(
    'REVOKE DELETE ON sessions FROM present; REVOKE INSERT ON clients FROM present; REVOKE SELECT ON grants FROM present',
  );
  expect(await of('rights')).toEqual(
    ill('rights', 'fault', /may not read and write clients, grants, sessions and 1 more$/, /REASSIGN OWNED/),
  );
  await server.sql('REVOKE CREATE ON SCHEMA public FROM present; REASSIGN OWNED BY former TO present');
  const missing = await of('rights');
  expect(missing).toEqual(
    ill('rights', 'fault', /may not create tables in the schema public$/, /GRANT CREATE ON SCHEMA public TO present;/),
  );
  await server.sql(/GRANT [^;]+;/.exec(missing[0]!.todo!)![0]);
  expect(await of('rights')).toEqual(well('rights'));
  expect(await of('rights', {}, 'gatehouse')).toEqual(
    ill('rights', 'warning', /gatehouse is a superuser/, /role of its own/),
  );
});

test('a server whose connections are nearly used, or used up, is named (delivery 1)', async () => {
  expect(await of('max-connections')).toEqual(well('max-connections'));
  expect(await of('max-connections', { DATABASE_POOL_SIZE: '80' })).toEqual(
    ill(
      'max-connections',
      'warning',
      /^1 × 81 connections may be needed, and the server allows 57$/,
      /max_connections of PostgreSQL to 101 /,
    ),
  );
  const held: pg.Client[] = [];
  const hold = async (count: number) => {
    while (held.length < count) {
      const client = new pg.Client({ ...server.connection, user: 'present' });
      client.on('error', () => undefined);
      // the server may still be ending a connection that the doctor has closed
      const isConnected = await client.connect().then(
        () => true,
        (error: { code?: string }) => {
          if (error.code !== '53300') throw error;
          return false;
        },
      );
      if (isConnected) held.push(client);
    }
  };
  try {
    await hold(54);
    expect(await of('max-connections')).toEqual(
      ill('max-connections', 'warning', /^5\d of 57 connections of the server are in use$/, /pg_stat_activity/),
    );
    await hold(57);
    expect(await of('database')).toEqual(
      ill('database', 'fault', /all connections of the server are in use$/, /max_connections/),
    );
  } finally {
    await Promise.all(held.map((client) => client.end()));
  }
  const open = `SELECT count(*)::int AS open FROM pg_stat_activity WHERE usename = 'present'`;
  await vi.waitUntil(async () => (await server.sql<{ open: number }>(open))[0]!.open === 0, { timeout: 60_000 });
  expect(await of('max-connections')).toEqual(well('max-connections'));
});

test('a clock of the database that differs is named with the seconds (delivery 1)', async () => {
  expect(await of('clock')).toEqual(well('clock'));
  // in the place of the server's own function, for this role
  await server.sql('ALTER ROLE present SET search_path = public, pg_catalog');
  const shift = (seconds: number) =>
    server.sql(
      `CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
         AS 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => ${seconds})'`,
    );
  await shift(-61);
  expect(await of('clock')).toEqual(
    ill('clock', 'fault', /^the clock of this machine is 6[01](\.\d)? s ahead of that of the database$/, /NTP/),
  );
  await shift(9);
  expect(await of('clock')).toEqual(
    ill('clock', 'warning', /^the clock of this machine is [89](\.\d)? s behind that of the database$/, /NTP/),
  );
  await shift(0);
  expect(await of('clock')).toEqual(well('clock'));
});

test('a database that refuses or is not there is named with its reason (delivery 1)', async () => {
  const at = (role: string, name: string, port = server.port) => ({
    DATABASE_URL: `postgresql://${role}:a-password-of-it@127.0.0.1:${port}/${name}`,
  });
  const cases: [Record<string, string>, RegExp, RegExp][] = [
    [at('present', 'elsewhere'), /no database of this name$/, /Correct the name in DATABASE_URL/],
    [at('nobody', 'gatehouse'), /refuses the role$/, /Correct the user in DATABASE_URL/],
    [at('present', 'gatehouse', 1), /no server listens there$/, /Start PostgreSQL/],
  ];
  for (const [environment, says, todo] of cases) {
    const lines = await examined(environment);
    expect(lines.filter(({ state }) => state === 'fault')).toEqual(ill('database', 'fault', says, todo));
    expect(JSON.stringify(lines)).not.toContain('a-password-of-it');
  }
});

// only root may mount, and root in a container may lack the right
const mayMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
test.runIf(mayMount)('a disk that is nearly full is named with what is free (delivery 1)', async () => {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=190m,mode=755', 'tmpfs', disk]);
  try {
    const dataDir = join(disk, 'data');
    const made = inject('cluster');
    if (made !== undefined) copyCluster(made, dataDir);
    else await (await startEmbeddedPostgres({ dataDir, log: () => undefined })).stop();
    const seen = async () => {
      const options = { environment: { DATA_DIR: dataDir, DATABASE_URL: '', BASE_URL: issuer } };
      const { stdout } = await runCommand(
        { issuer, database: { url: '' } as never, secretKey },
        ['doctor', '--json'],
        options,
      );
      return (JSON.parse(stdout) as { checks: Line[] }).checks.filter(({ check }) => check === 'disk');
    };
    expect(await seen()).toEqual(
      ill('disk', 'fault', /^1?\d\d MiB are free in .*\/disk\/data$/, /move DATA_DIR to a larger disk/),
    );
    execFileSync('mount', ['-o', 'remount,size=4g', disk]);
    expect(await seen()).toEqual(well('disk'));
  } finally {
    // the last process of its server may still be ending
    execFileSync('umount', ['--lazy', disk]);
  }
});
