// Checks that commands act at the service whose database they open, whatever their shell says, and never create a database.
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { usualDataDir } from '../../src/config/data-dir.ts';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, dropDatabase } from '../helpers/database.ts';
import { execute } from '../helpers/global-setup.ts';
import { freePort, launcher, startServer, stopServers, surroundings } from '../helpers/server-process.ts';

type Place = Parameters<typeof runCommand>[0];
const secretKey = randomBytes(32).toString('base64url');
/** The shell of an operator without BASE_URL. */
const nothing = { issuer: '', secretKey, database: { url: '' } } as Place;
let folder: string;
let cleanUps: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-commands-'));
});
afterEach(async () => {
  await stopServers();
  for (const cleanUp of cleanUps) await cleanUp();
  cleanUps = [];
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  [['user', 'list']],
  [['migrate']],
  [['user', 'import', '-', '--format', 'csv']],
  [['group', 'add', 'crew', 'ada']],
  [['client', 'approve', 'some-client']],
  [['secret-key', 'reencrypt']],
])(
  '%j creates no database: it names the folder that it looked in, and the settings that name another (delivery D1)',
  async (words) => {
    const dataDir = join(folder, 'data');
    const command = await runCommand(nothing, words, { environment: { DATABASE_URL: '', DATA_DIR: dataDir } });
    expect(command).toMatchObject({ code: 1, stdout: '' });
    expect(command.stderr).toMatch(/^There is no database in [^\n]*\.\n$/);
    for (const word of [dataDir, 'DATA_DIR', 'DATABASE_URL', '--env-file']) expect(command.stderr).toContain(word);
    expect(existsSync(dataDir)).toBe(false);
  },
);

test('a command creates no schema in an empty database, except migrate (delivery D1)', async () => {
  const server = inject('postgres');
  const database = `test_${randomBytes(6).toString('hex')}`;
  await execute({ ...server, database: 'postgres' }, `CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`);
  cleanUps.push(() => dropDatabase(database));
  const url = `postgresql://${server.user}@/${database}?host=${encodeURIComponent(server.host)}&port=${server.port}`;
  const service = { ...nothing, database: { url } } as Place;
  const refused = await runCommand(service, ['user', 'list']);
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('no tables of Gatehouse') as string,
  });
  expect(await runCommand(service, ['migrate'])).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^\d+ migrations applied\.\n$/) as string,
  });
  expect(await runCommand(service, ['user', 'list'])).toMatchObject({ code: 0, stderr: '' });
});

test('a command uses the settings of the service, and says in one line where its shell has others (delivery D1)', async () => {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const port = String(await freePort());
  const settings = { DATABASE_URL: database.url, SECRET_KEY: secretKey };
  const server = startServer({
    ...settings,
    PORT: port,
    SMTP_URL: 'smtp://mailer:a-mail-secret@127.0.0.1:2525',
    PASSWORD_MIN_LENGTH: '20',

    OUTBOUND_ALLOW: '127.0.0.1:4711',
    PASSWORD_BREACH_CHECK: 'off',
    ADMIN_PASSWORD: 'nineteen characters and more',
  });
  await server.ready();
  const [stored] = await database.sql<{ settings: Record<string, string>; version: string }>(
    'SELECT * FROM service_settings',
  );
  expect(stored).toMatchObject({
    settings: { BASE_URL: `http://localhost:${port}`, SMTP_URL: 'smtp://127.0.0.1:2525', PASSWORD_MIN_LENGTH: '20' },
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
  });
  expect(JSON.stringify(stored)).not.toMatch(new RegExp(`a-mail-secret|${secretKey}|nineteen`));
  const service = { ...nothing, database } as Place;
  const run = (words: string[], environment: Record<string, string> = {}, stdin?: string) =>
    runCommand(service, words, { environment, ...(stdin && { stdin }) });

  // a shell without settings has nothing to disagree with
  const bare = await run(['user', 'invite', 'ada']);
  expect(bare).toMatchObject({ code: 0, stderr: '' });
  expect(bare.stdout).toContain(`http://localhost:${port}/invitation?token=`);
  const other = await run(['user', 'invite', 'bob'], {
    PORT: '4000',
    OUTBOUND_ALLOW: '127.0.0.1:1',
    DEVICE_GRANT: 'off',
  });
  expect(other.stdout).toContain(`http://localhost:${port}/invitation?token=`);
  expect(other.stderr).toBe(
    `This shell has other settings than the service. The command uses those of the service: BASE_URL=http://localhost:${port} OUTBOUND_ALLOW=127.0.0.1:4711\n`,
  );
  // rules, and how mail is sent
  const short = await run(['user', 'set-password', 'admin', '--password-stdin'], {}, 'harbour lights');
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('20')]);
  const mailed = await run(['user', 'invite', 'carol', '--email', 'carol@example.com']);
  expect([mailed.code, mailed.stdout]).toEqual([0, expect.not.stringContaining('token=')]);
  await database.sql(`UPDATE users SET email = 'admin@example.com' WHERE username = 'admin'`);
  const test = await run(['mail', 'test', '--user', 'admin']);
  expect(test).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/sends mail by 127\.0\.0\.1:2525.*SMTP_URL/) as string,
  });
});

test('DATA_DIR unset is the folder of the installation; data in the current folder is used while it is the only database (delivery D1)', () => {
  const [installed, current] = [join(folder, 'installed'), join(folder, 'current')];
  const make = (dataDir: string) => {
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n');
  };
  expect(usualDataDir(installed, current)).toEqual({ folder: installed });
  mkdirSync(current);
  expect(usualDataDir(installed, current)).toEqual({ folder: installed });
  make(current);
  const { notice, ...used } = usualDataDir(installed, current);
  expect(used).toEqual({ folder: current });
  expect(notice).toContain(current);
  expect(usualDataDir(current, current)).toEqual({ folder: current });
  make(installed);
  const { conflict } = usualDataDir(installed, current);
  for (const word of [installed, current]) expect(conflict).toContain(word);
  expect(readdirSync(folder).sort()).toEqual(['current', 'installed']);
  expect(loadConfig({ DATA_DIR: './data' }).dataDir).toBe('./data');
});

test.runIf(process.getuid?.() === 0)(
  'a data folder of another user is refused with one sentence, by the start and by a command (reports B9)',
  async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(join(dataDir, 'postgres'), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, 'secret-key'), `${secretKey}\n`, { mode: 0o600 });
    chmodSync(folder, 0o755);
    const nobody = 65_534;
    for (const words of [[], ['user', 'list']]) {
      const child = spawn(launcher, words, {
        uid: nobody,
        gid: nobody,
        cwd: '/',
        stdio: 'pipe',
        env: { ...surroundings, DATA_DIR: dataDir, PORT: String(await freePort()) },
      });
      const [printed, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
      expect([code, printed]).toEqual([1, expect.stringMatching(/^The setting DATA_DIR is wrong: [^\n]*\.\n$/)]);
      expect(printed).toMatch(/secret-key cannot be read \(permission denied\).*owner/);
    }
  },
  60_000,
);
