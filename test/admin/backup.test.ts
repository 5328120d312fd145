// Makes dumps of a filled database in every format of pg_dump, asks `gatehouse backup check` about them, and restores one.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { migrate } from '../../src/database/migrations.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { emptiedAfterRestore, truncation } from '../../src/repositories/retention/after-restore.ts';
import { runCommand } from '../helpers/command-line.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, obtainTokens } from '../helpers/grants.ts';
import { PostgresServer } from '../helpers/postgres-server.ts';
import { type Directory, directoryOf, startDirectory } from '../helpers/scim.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

/** pg_dump reads no server that is newer than itself, so the database is on an installed server. */
const versions = '/usr/lib/postgresql';
const bin = (existsSync(versions) ? readdirSync(versions) : [])
  .map((version) => join(versions, version, 'bin'))
  .find((path) => existsSync(join(path, 'pg_dump')) && existsSync(join(path, 'initdb')));
const isHere = bin !== undefined;

let server: PostgresServer;
let service: TestService;
let folder: string;
let keyId: string;
let token: string;
let directory: Directory;
/** The path of a sign-up link. */
let signUp: string;
const other = randomBytes(32).toString('base64url');
const environment = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'id@harbour.example' };
/** A shell without the database: `backup check` opens none. */
const nowhere = 'postgresql://nobody@127.0.0.1:1/nothing';

beforeAll(async () => {
  if (!isHere) return;
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'));
  // PostgreSQL does not run as root
  chmodSync(folder, 0o755);
  server = await PostgresServer.create(join(folder, 'server'), bin);
  const database = databaseOf('gatehouse');
  await migrate(database.connection);
  service = await startTestService({ database, environment });
  keyId = parseSecretKey(service.secretKey).id;
  await service.store.serviceSettings.write({ settings: { BASE_URL: service.issuer }, version: '0.1.0' });
  await obtainTokens(service, await service.createClient(), await service.createUser(), {}, new UserAgent(service));
  token = await adminToken(service);
  directory = await startDirectory(service, token, 'hr');
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const link = { name: 'Open', uses: 5, expires_at: tomorrow };
  const made = await call(`${service.issuer}/admin/api/sign-up-links`, { token, body: link });
  signUp = String(made.body['uri']).slice(service.issuer.length);
  for (const format of ['plain', 'custom', 'directory', 'tar'])
    execFileSync(join(bin, 'pg_dump'), [`--format=${format}`, `--file=${join(folder, format)}`, service.database.url]);
  writeFileSync(join(folder, 'plain.gz'), gzipSync(readFileSync(join(folder, 'plain'))));
}, 60_000);
afterAll(async () => {
  if (!isHere) return;
  await service?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A database of the installed server. */
function databaseOf(name: string): TestDatabase {
  const connection = { host: '127.0.0.1', port: server.port, user: 'gatehouse', database: name };
  const pool = new pg.Pool({ ...connection, max: 2 });
  pool.on('error', () => undefined);
  return {
    connection,
    url: `postgresql://gatehouse@127.0.0.1:${server.port}/${name}`,
    async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<Row>(text, values)).rows;
    },
    drop: () => pool.end(),
  };
}

const check = (file: string, secretKey = service.secretKey, json = true) =>
  runCommand(service, ['backup', 'check', join(folder, file), ...(json ? ['--json'] : [])], {
    environment: { DATABASE_URL: nowhere, SECRET_KEY: secretKey },
  });

test.runIf(isHere).each(['plain', 'plain.gz', 'custom', 'directory', 'tar'])(
  'a dump in the format %s says which key it needs, who made it, and what to empty (delivery 1)',
  async (format) => {
    const known = await check(format);
    expect([known.code, known.stderr]).toEqual([0, '']);
    expect(JSON.parse(known.stdout)).toEqual({
      secret_key_ids: [keyId],
      missing: [],
      issuer: service.issuer,
      version: '0.1.0',
      pending_migrations: [],
      unknown_migrations: [],
      truncate: emptiedAfterRestore,
    });
  },
);

test.runIf(isHere)(
  'without its key the check exits with 1 and names the key, and no secret is printed (delivery 1, delivery D3)',
  async () => {
    const missing = await check('plain', other, false);
    expect(missing.code).toBe(1);
    expect(missing.stdout).toContain(`${keyId} (not in the SECRET_KEY of this shell)`);
    expect(missing.stdout).toContain(truncation);
    expect(missing.stdout).not.toContain(other);
  },
);

test.runIf(isHere)(
  'a dump of another version says so: one that is newer cannot be restored here (delivery 1)',
  async () => {
    const text = readFileSync(join(folder, 'plain'), 'utf8');
    const last = /^\d+\t(\d{4}_\w+)\t[^\t\n]+$/gm;
    const names = [...text.matchAll(last)].map(([line]) => line);
    writeFileSync(
      join(folder, 'newer'),
      text.replace(names.at(-1)!, `${names.at(-1)!}\n999\t9999_tomorrow\t2026-01-01`),
    );
    writeFileSync(join(folder, 'older'), text.replace(`${names.at(-1)!}\n`, ''));
    const newer = await check('newer');
    expect([newer.code, JSON.parse(newer.stdout)]).toMatchObject([1, { unknown_migrations: ['9999_tomorrow'] }]);
    const older = await check('older');
    expect([older.code, JSON.parse(older.stdout)]).toMatchObject([
      0,
      { pending_migrations: [expect.stringMatching(/^\d{4}_/) as string] },
    ]);
  },
);

test.runIf(isHere).each([
  ['missing', () => undefined, /does not exist/],
  ['other', (file: string) => writeFileSync(file, 'SELECT 1;\n'), /no dump of a database of Gatehouse/],
  ['data', (file: string) => mkdirSync(file), /neither .* nor a copy of DATA_DIR/],
  ['empty', (file: string) => writeFileSync(file, ''), /is empty/],
  ['inserts', (file: string) => writeFileSync(file, 'INSERT INTO public.users VALUES (1);\n'), /without --inserts/],
  ['broken.gz', (file: string) => writeFileSync(file, gzipSync('x'.repeat(9999)).subarray(0, 20)), /read to its end/],
  [
    'endless.gz',
    // 640 MB in one line, of ten parts of a gzip file
    (file: string) => writeFileSync(file, Buffer.concat(Array<Buffer>(10).fill(gzipSync(Buffer.alloc(64e6, 'x'))))),
    /line of more than 128 MiB/,
  ],
  ['broken.dump', (file: string) => writeFileSync(file, 'PGDMP and no more'), /pg_restore cannot read/],
] as const)('%s is refused in one sentence (delivery 1)', async (name, make, sentence) => {
  make(join(folder, name));
  const refused = await check(name);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/^[^\n]*\.\n$/);
  expect(refused.stderr).toMatch(sentence);
});

/** Where a file is cut off: within its tables, and just before its end. In a tar archive a copy of the statements follows the tables. */
const parts = [0.1, 0.5, 0.8, 0.95, 0.999];

test.runIf(isHere).each([
  ['plain', parts],
  ['plain.gz', parts],
  ['custom', parts],
  ['tar', parts.slice(0, 2)],
] as const)(
  'a dump in the format %s that is cut off is refused wherever it ends (delivery 1)',
  async (format, places) => {
    const whole = readFileSync(join(folder, format === 'plain.gz' ? 'plain' : format));
    for (const part of places) {
      const cut = whole.subarray(0, Math.floor(whole.length * part));
      // as `pg_dump | gzip` leaves it when pg_dump is killed
      writeFileSync(join(folder, 'cut'), format === 'plain.gz' ? gzipSync(cut) : cut);
      const refused = await check('cut');
      expect([refused.code, refused.stdout], `cut off at ${part}`).toEqual([1, '']);
      expect(refused.stderr).toMatch(/^[^\n]*\.\n$/);
    }
  },
);

test.runIf(isHere)('a folder of pg_dump without one of its files is refused (delivery 1)', async () => {
  const names = readdirSync(join(folder, 'directory')).filter((name) => name.endsWith('.gz'));
  const largest = names.toSorted(
    (one, other) => statSync(join(folder, 'directory', other)).size - statSync(join(folder, 'directory', one)).size,
  );
  cpSync(join(folder, 'directory'), join(folder, 'parts'), { recursive: true });
  for (const name of largest.slice(0, 3)) {
    rmSync(join(folder, 'parts', name));
    const refused = await check('parts');
    expect([refused.code, refused.stdout], name).toEqual([1, '']);
    expect(refused.stderr).toMatch(/pg_restore cannot read [^\n]*\.\n$/);
    cpSync(join(folder, 'directory', name), join(folder, 'parts', name));
  }
  expect((await check('parts')).code).toBe(0);
});

test.runIf(isHere)(
  'a recorded dump is an event with its time, size and keys, and a time to come is refused (delivery 1)',
  async () => {
    const made = new Date('2026-01-31T12:00:00Z');
    utimesSync(join(folder, 'custom'), made, made);
    const noted = await runCommand(service, ['backup', 'note', join(folder, 'custom'), '--json']);
    expect([noted.code, noted.stderr]).toEqual([0, '']);
    expect(await eventsOf(service, { type: 'backup.noted' })).toMatchObject([
      { actor: 'command line', detail: { made_at: made.toISOString(), secret_key_ids: [keyId] } },
    ]);
    const later = await runCommand(service, ['backup', 'note', '--made-at', '2999-01-01T00:00:00Z']);
    expect([later.code, later.stderr]).toEqual([1, '--made-at must not be in the future.\n']);
  },
);

test.runIf(isHere)(
  'after a restore and the documented statement nothing that was issued before is left (delivery 1; security F16)',
  async () => {
    await server.sql('CREATE DATABASE restored', 'postgres');
    const restored = databaseOf('restored');
    let later: TestService | undefined;
    try {
      execFileSync(join(bin!, 'pg_restore'), ['--no-owner', `--dbname=${restored.url}`, join(folder, 'custom')], {
        stdio: 'pipe',
      });
      expect(await restored.sql('SELECT FROM access_tokens')).not.toEqual([]);
      // what ends after the dump
      const tokens = `${service.issuer}/admin/api/scim-sources/hr/tokens`;
      const [one] = (await call(tokens, { token })).body['tokens'] as { id: string }[];
      expect((await call(`${tokens}/${one!.id}`, { token, method: 'DELETE' })).status).toBe(204);
      expect((await directory.send('GET', '/Users')).status).toBe(401);
      expect((await new UserAgent(service).get(signUp)).body).toContain('id="email"');
      await restored.sql(truncation);
      for (const table of [...emptiedAfterRestore, 'refresh_tokens', 'authorization_codes', 'session_clients'])
        expect(await restored.sql(`SELECT FROM ${table} LIMIT 1`), table).toEqual([]);
      expect(await restored.sql('SELECT FROM users')).not.toEqual([]);
      expect(await restored.sql('SELECT FROM grants')).toHaveLength(
        (await service.database.sql('SELECT FROM grants')).length,
      );
      later = await startTestService({ database: restored, secretKey: service.secretKey, environment });
      const again = directoryOf(`${later.issuer}/scim/v2/hr`, 'hr', directory.token);
      expect((await again.send('GET', '/Users')).status).toBe(401);
      expect((await new UserAgent(later).get(signUp)).body).not.toContain('id="email"');
      // the source is there, and gets a new token
      const renewed = await call(`${later.issuer}/admin/api/scim-sources/hr/tokens`, {
        method: 'POST',
        token: await adminToken(later),
      });
      const anew = directoryOf(`${later.issuer}/scim/v2/hr`, 'hr', String(renewed.body['token']));
      expect((await anew.send('GET', '/Users')).status).toBe(200);
    } finally {
      await (later ? later.stop() : restored.drop());
    }
  },
);

test("the operator's guide has the same statement (delivery 1)", () => {
  expect(readFileSync(new URL('../../docs/operator.md', import.meta.url), 'utf8')).toContain(`-c "${truncation}"`);
});
