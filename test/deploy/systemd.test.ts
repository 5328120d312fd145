// Checks the systemd unit of deploy/ by systemd's own programs, and starts its command with its settings and without rights.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { patience } from '../helpers/limits.ts';
import { freePort } from '../helpers/server-process.ts';

const root = resolve(import.meta.dirname, '../..');
const unit = readFileSync(join(root, 'deploy/systemd/gatehouse.service'), 'utf8');
const embedded = readFileSync(join(root, 'deploy/systemd/embedded.conf'), 'utf8');
const analyze = '/usr/bin/systemd-analyze';
const asRoot = process.getuid?.() === 0;
const NOBODY = 65534;

let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-systemd-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The values of a directive, in order. */
const all = (name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe.runIf(existsSync(analyze))('systemd', () => {
  test('systemd-analyze verifies the unit, and rates its exposure at 1.4 or better (delivery 4)', () => {
    const file = join(folder, 'gatehouse.service');
    writeFileSync(file, unit.replaceAll('/opt/gatehouse', root));
    // with the embedded database, too
    const other = join(folder, 'embedded');
    mkdirSync(join(other, 'gatehouse.service.d'), { recursive: true });
    writeFileSync(join(other, 'gatehouse.service'), unit.replaceAll('/opt/gatehouse', root));
    writeFileSync(join(other, 'gatehouse.service.d/embedded.conf'), embedded);
    const run = (...args: string[]) =>
      execFileSync(analyze, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    expect(run('verify', '--man=no', file)).toBe('');
    expect(run('verify', '--man=no', join(other, 'gatehouse.service'))).toBe('');
    // it exits with an error above the threshold, which is ten times the rating
    expect(run('security', '--offline=true', '--no-pager', '--threshold=14', file)).toMatch(
      /exposure level .*: 1\.\d OK/,
    );
  });
});

test('each secret of the unit comes as a credential, and none stands in it (delivery 4)', () => {
  const settings = all('#?Environment').flatMap((line) => line.split(' '));
  const files = settings.filter((line) => line.includes('_FILE='));
  const credentials = all('#?LoadCredential').map((line) => line.split(':')[0]);
  expect(files.map((line) => line.split('%d/')[1])).toEqual(credentials);
  expect(
    settings.filter((line) => /SECRET|PASSWORD|DATABASE_URL|SMTP_URL/.test(line) && !line.includes('_FILE=')),
  ).toEqual([]);
});

test.runIf(asRoot).each(['your PostgreSQL', 'the embedded one'])(
  'the command of the unit starts with %s as its user, without capabilities and with few files of /proc (delivery 4)',
  async (kind) => {
    const place = join(folder, kind.replaceAll(' ', '-'));
    const [credentials, state] = [join(place, 'credentials'), join(place, 'state')];
    for (const path of [place, credentials, state]) mkdirSync(path);
    const isEmbedded = kind === 'the embedded one';
    const unset = isEmbedded ? /^UnsetEnvironment=(.*)$/m.exec(embedded)![1]!.split(' ') : [];
    chmodSync(folder, 0o755);
    const port = await freePort();
    writeFileSync(join(credentials, 'secret-key'), `${randomBytes(32).toString('base64url')}\n`);
    writeFileSync(join(credentials, 'database-url'), `${database.url}\n`);
    execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, credentials, state]);
    const environment = Object.fromEntries(
      all('Environment')
        .flatMap((line) => line.replaceAll('%d', credentials).split(' '))
        .map((line) => line.split('=') as [string, string])
        .filter(([name]) => !unset.includes(name)),
    );
    const command = all('ExecStart')[0]!.replace('/opt/gatehouse', root);
    // systemd does the same: no new privileges, no capabilities, and /proc with the entries of processes alone
    const limits =
      'mount -t proc -o subset=pid proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$0"';
    const child = spawn('unshare', ['--mount', 'sh', '-c', limits, command], {
      env: {
        PATH: process.env['PATH'],
        ...environment,
        PORT: String(port),
        DATA_DIR: join(state, 'data'),
        NODE_COMPILE_CACHE: join(state, 'cache'),
        BASE_URL: `http://localhost:${port}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (printed += text.toString()));
    const closed = once(child, 'close');
    try {
      await vi.waitFor(
        async () => {
          if (child.exitCode !== null) throw new Error(printed);
          expect((await fetch(`http://localhost:${port}/health/ready`)).status).toBe(200);
        },
        { timeout: patience, interval: 50 },
      );
      expect(printed).toContain('Gatehouse is ready');
      expect(existsSync(join(state, 'data'))).toBe(isEmbedded);
      // root runs commands beside it, as docs/install.md says
      if (isEmbedded) {
        const env = { PATH: process.env['PATH'], DATA_DIR: join(state, 'data') };
        expect(execFileSync(join(root, 'bin/gatehouse'), ['user', 'list'], { env, encoding: 'utf8' })).toContain(
          'admin',
        );
      }
    } finally {
      child.kill(isEmbedded ? 'SIGTERM' : 'SIGKILL');
      await closed;
    }
  },
);
