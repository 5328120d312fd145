// Copies the folder of an embedded database, and asks `gatehouse backup check` about the copy.
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { runCommandProcess } from '../helpers/command-line.ts';
import { freePort, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';

let folder: string;
let server: ServerProcess;
let keyId: string;
const at = (name: string) => join(folder, name);
const start = async (dataDir: string) => {
  const started = startServer({
    DATA_DIR: at(dataDir),
    PORT: String(await freePort()),
    BASE_URL: 'https://id.home.test',
  });
  await started.ready();
  return started;
};
/** In the shell of the owner, who has no setting but DATA_DIR. */
const run = (...words: string[]) =>
  runCommandProcess({ issuer: '', database: { url: '' } as never, secretKey: '' }, words, {
    environment: { DATA_DIR: at('data') },
  });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-folder-'));
  server = await start('data');
  keyId = parseSecretKey(readFileSync(at('data/secret-key'), 'utf8').trim()).id;
  cpSync(at('data'), at('running'), { recursive: true, verbatimSymlinks: true });
  server.kill('SIGTERM');
  await server.exited;
  cpSync(at('data'), at('copy'), { recursive: true, verbatimSymlinks: true });
}, 120_000);
afterAll(async () => {
  await stopServers();
  rmSync(folder, { recursive: true, force: true });
});

test('a copy of DATA_DIR says whether its own key fits, who made it and what to empty, and stays as it is (delivery 1)', async () => {
  const before = readdirSync(at('copy'), { recursive: true }).sort();
  const checked = await run('backup', 'check', at('copy'));
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toMatch(/^Issuer +https:\/\/id\.home\.test$/m);
  expect(checked.stdout).toContain(`${keyId} (in ${at('copy')}/secret-key)`);
  expect(checked.stdout).toContain('TRUNCATE');
  expect(readdirSync(at('copy'), { recursive: true }).sort()).toEqual(before);
  const noted = await run('backup', 'note', at('copy'));
  expect(noted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Recorded a backup of 20/) as string });
  expect((await run('doctor')).stdout).toMatch(/^ok +backups/m);
}, 120_000);

test('a copy without its key, or with another one, exits with 1, and shows no key (delivery 1, delivery D3)', async () => {
  cpSync(at('copy'), at('keyless'), { recursive: true, verbatimSymlinks: true });
  rmSync(at('keyless/secret-key'));
  // the key of the service in DATA_DIR still fits
  expect(await run('backup', 'check', at('keyless'))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${keyId} (set here)`) as string,
  });
  const other = randomBytes(32).toString('base64url');
  writeFileSync(at('keyless/secret-key'), other, { mode: 0o600 });
  const wrong = await run('backup', 'check', at('keyless'));
  expect([wrong.code, wrong.stderr]).toEqual([1, '']);
  expect(wrong.stdout).toContain(`${keyId} (not in ${at('keyless')}/secret-key)`);
  expect(wrong.stdout).not.toContain(other);
}, 120_000);

test('a copy that was made while the service ran, and a server that does not start, are refused in one sentence (delivery 1)', async () => {
  const live = await run('backup', 'check', at('running'));
  expect(live).toMatchObject({ code: 1, stdout: '' });
  expect(live.stderr).toMatch(
    /^The folder [^\n]* is not the copy of a database that was stopped: stop the service[^\n]*\.\n$/,
  );
  // without the file of the process, the state of the database tells
  rmSync(at('running/postgres/postmaster.pid'));
  expect((await run('backup', 'note', at('running'))).stderr).toBe(live.stderr);
  cpSync(at('copy'), at('broken'), { recursive: true, verbatimSymlinks: true });
  rmSync(at('broken/postgres/pg_wal'), { recursive: true });
  const broken = await run('backup', 'check', at('broken'));
  expect(broken).toMatchObject({ code: 1, stdout: '' });
  expect(broken.stderr).toMatch(/^The database in [^\n]* does not start, so it cannot be restored: [^\n]*\.\n$/);
}, 120_000);
