// Runs bin/gatehouse and npm start as operators do: from any folder, with any Node on PATH, and until a signal ends them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { freePort, postmasterOf, surroundings } from '../helpers/server-process.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
/** The path of a checkout, with spaces, that has the code and its packages, and whose files a test may change. */
let checkout: string;
const packages = () => join(checkout, 'node_modules');

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse launcher ')));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  checkout = mkdtempSync(join(folder, 'a checkout '));
  for (const part of ['bin', 'src', 'package.json'])
    cpSync(join(root, part), join(checkout, part), { recursive: true });
  mkdirSync(packages());
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.bin' && name !== 'node') symlinkSync(join(root, 'node_modules', name), join(packages(), name));
});

/** Makes a folder for PATH with the programs that the launcher calls, and with this Node or one that only prints a version. */
function path(node?: string): string {
  const programs = mkdtempSync(join(folder, 'programs '));
  symlinkSync('/usr/bin/readlink', join(programs, 'readlink'));
  if (node === undefined) symlinkSync(process.execPath, join(programs, 'node'));
  else if (node !== '') writeFileSync(join(programs, 'node'), `#!/bin/sh\necho ${node}\n`, { mode: 0o755 });
  return programs;
}

/** Gives the checkout the Node that npm installs. */
function installNode(): void {
  mkdirSync(join(packages(), '.bin'));
  symlinkSync(process.execPath, join(packages(), '.bin/node'));
}

async function run(program: string, args: string[], environment: Record<string, string>, cwd = '/') {
  const child = spawn(program, args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code: code as number };
}

/** Code that prints, in place of the service, how Node was started. */
const reportStart = `--import="data:text/javascript,${encodeURIComponent(`
  const { execPath, execArgv, argv, env } = process;
  const { GLIBC_TUNABLES: allocator, NODE_COMPILE_CACHE: cache, PORT: port } = env;
  process.stdout.write(JSON.stringify({ execPath, execArgv, argv: argv.slice(1), allocator, cache, port }));
  process.exit();`)}"`;
interface StartReport {
  execPath: string;
  execArgv: string[];
  argv: string[];
  allocator: string;
  cache: string;
  port?: string;
}
async function startReport(
  args: string[],
  environment: Record<string, string>,
  program = join(checkout, 'bin/gatehouse'),
) {
  const options = `${environment['NODE_OPTIONS'] ?? ''} ${reportStart}`;
  const { stdout, stderr } = await run(program, args, { PATH: path(), ...environment, NODE_OPTIONS: options });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as StartReport;
}

describe('the launcher', () => {
  test('the launcher starts the service or a command with the Node of the checkout, through a symbolic link and from any folder (decisions section 8)', async () => {
    installNode();
    const link = join(folder, 'gatehouse');
    symlinkSync(join(checkout, 'bin/gatehouse'), link);
    const old = { PATH: path('v20.20.2') };
    const wrong = await run(link, [], { ...old, PORT: 'none' });
    expect(wrong).toEqual({ code: 1, stdout: '', stderr: 'The setting PORT must be a port number from 0 to 65535.\n' });
    expect((await startReport(['start'], old, link)).argv).toEqual([join(checkout, 'src/server.ts'), 'start']);
    expect(await run('gatehouse', ['help'], { PATH: `${folder}:${path('v20.20.2')}` }, tmpdir())).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('client create') as string,
    });
    expect((await startReport(['user', 'list', '--search', 'a b'], old, link)).argv).toEqual([
      join(checkout, 'src/cli.ts'),
      'user',
      'list',
      '--search',
      'a b',
    ]);
    // a command whose last argument ends as a call of the service would
    for (const args of [['user', 'list', '--search', 'Doe,'], ['group', 'create', 'a,start'], ['']])
      expect((await startReport(args, old, link)).argv).toEqual([join(checkout, 'src/cli.ts'), ...args]);
    // npm run idp without a command prints the help
    expect((await startReport([], { npm_lifecycle_event: 'idp' })).argv).toEqual([join(checkout, 'src/cli.ts')]);
  });

  test('the launcher uses the Node of PATH if the checkout has none, and refuses one before 24 in one sentence (decisions section 8)', async () => {
    expect(await startReport([], {})).toMatchObject({
      execPath: process.execPath,
      argv: [join(checkout, 'src/server.ts')],
    });
    // a package whose program was never installed, and a Node that refuses options of the operator
    mkdirSync(join(packages(), '.bin'));
    symlinkSync('../node/bin/node', join(packages(), '.bin/node'));
    expect(await startReport([], { NODE_OPTIONS: '--no-deprecation' })).toMatchObject({ execPath: process.execPath });
    for (const node of ['v22.15.0', 'v8.0.0', 'nothing', ''])
      expect(await run(join(checkout, 'bin/gatehouse'), [], { PATH: path(node) }), node).toEqual({
        code: 1,
        stdout: '',
        stderr: `Gatehouse needs Node 24 or later: install it, or run npm ci in ${checkout}.\n`,
      });
  });

  test('the launcher says in one sentence that packages are missing (decisions section 8)', async () => {
    rmSync(packages(), { recursive: true });
    expect(await run(join(checkout, 'bin/gatehouse'), [], { PATH: path() })).toEqual({
      code: 1,
      stdout: '',
      stderr: `The packages of Gatehouse are not installed: run npm ci in ${checkout}.\n`,
    });
  });

  test('the launcher sets the allocator, the compile cache and the options of V8, unless the operator has set them', async () => {
    const usual = await startReport([], {});
    // the names of the launcher's variables have no effect
    expect(await startReport([], { settings: '--trace-gc', young: '--trace-gc', node: '/bin/false' })).toEqual(usual);
    expect(usual).toMatchObject({
      execArgv: Array.from({ length: 5 }, () => expect.any(String) as string),
      allocator: expect.stringMatching(/^glibc\./) as string,
      cache: join(checkout, 'node_modules/.cache/gatehouse'),
    });
    expect(await startReport(['help'], {})).toMatchObject({ ...usual, argv: [join(checkout, 'src/cli.ts'), 'help'] });
    expect(await startReport([], { GLIBC_TUNABLES: '', NODE_COMPILE_CACHE: '/elsewhere' })).toEqual({
      ...usual,
      allocator: '',
      cache: '/elsewhere',
    });
    const own = await startReport([], { NODE_OPTIONS: '--max-semi-space-size=32' });
    expect(own.execArgv).toEqual(usual.execArgv.filter((option) => !option.includes('semi-space')));
  });

  test('Node also reads NODE_EXTRA_CA_CERTS of the file that --env-file names, unless the environment has it (decisions section 8)', async () => {
    const file = join(checkout, 'authorities.env');
    for (const line of [
      'NODE_EXTRA_CA_CERTS=/nowhere/ca.pem',
      `NODE_EXTRA_CA_CERTS = '/nowhere/ca.pem'`,
      'export NODE_EXTRA_CA_CERTS="/nowhere/ca.pem" # our "own" authority',
    ]) {
      writeFileSync(file, `PORT=none\n${line}`);
      const { stderr } = await run(join(checkout, 'bin/gatehouse'), [`--env-file=${file}`], { PATH: path() });
      // Node says what it read before any code runs
      expect(stderr).toContain('Ignoring extra certs from `/nowhere/ca.pem`');
    }
    writeFileSync(file, 'PORT=none\n# NODE_EXTRA_CA_CERTS=/nowhere/ca.pem');
    expect((await run(join(checkout, 'bin/gatehouse'), [`--env-file=${file}`], { PATH: path() })).stderr).toBe(
      'The setting PORT must be a port number from 0 to 65535.\n',
    );
    writeFileSync(file, 'PORT=none\nNODE_EXTRA_CA_CERTS=/nowhere/ca.pem');
    const environment = { PATH: path(), NODE_EXTRA_CA_CERTS: '/nowhere/own.pem' };
    const { stderr } = await run(join(checkout, 'bin/gatehouse'), [`--env-file=${file}`], environment);
    expect(stderr).toContain('Ignoring extra certs from `/nowhere/own.pem`');
  });

  test('the launcher reads the settings of a file that --env-file names (decisions section 8)', async () => {
    const file = join(folder, 'my settings');
    writeFileSync(file, 'PORT=4711\n');
    for (const args of [[], ['start'], ['user', 'list']])
      expect(await startReport([`--env-file=${file}`, ...args], {})).toMatchObject({
        port: '4711',
        argv: [expect.stringMatching(args[0] === 'user' ? /cli\.ts$/ : /server\.ts$/), ...args],
      });
    // secrets that another program decrypts come from a pipe, which can be read only once
    const piped = spawn(
      '/bin/sh',
      ['-c', 'printf "PORT=none\\n" | "$0" --env-file=/dev/stdin', join(checkout, 'bin/gatehouse')],
      {
        env: { PATH: path() },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    expect(await text(piped.stderr)).toBe('The setting PORT must be a port number from 0 to 65535.\n');
  });
});

test('without DATA_DIR, a command looks in the folder of the installation, and refuses to choose between two databases (delivery D1)', async () => {
  const place = mkdtempSync(join(folder, 'elsewhere '));
  const list = () => run(join(checkout, 'bin/gatehouse'), ['user', 'list'], { PATH: path() }, place);
  const make = (dataDir: string) => {
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n');
  };
  expect(await list()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`There is no database in ${join(checkout, 'data')}`) as string,
  });
  expect([readdirSync(place), readdirSync(checkout).includes('data')]).toEqual([[], false]);
  make(join(place, 'data'));
  const used = await list();
  expect(used.stderr.split('\n')[0]).toContain(`only ${join(place, 'data')} holds a database, so it is used`);
  make(join(checkout, 'data'));
  const { code, stderr } = await list();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The setting DATA_DIR is missing: [^\n]*\.\n$/)]);
  for (const one of [place, checkout]) expect(stderr).toContain(join(one, 'data'));
});

describe('npm', () => {
  let npm: ChildProcess | undefined;
  let dataDir: string;
  let issuer: string;
  let printed: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(folder, 'data '));
  });
  afterEach(async () => {
    if (npm && npm.exitCode === null && npm.signalCode === null) process.kill(-npm.pid!, 'SIGKILL');
    npm = undefined;
    await vi.waitUntil(() => postmasterOf(dataDir) === undefined, { timeout: 20_000, interval: 10 });
  });

  /** Runs a script of npm in a new process group, as a terminal's shell does. */
  async function npmRun(script: string): Promise<{ child: ChildProcess; exited: Promise<unknown[]> }> {
    const port = await freePort();
    issuer = `http://localhost:${port}`;
    npm = spawn('npm', ['run', script], {
      cwd: root,
      env: { ...surroundings, PORT: String(port), DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    printed = '';
    for (const output of [npm.stdout!, npm.stderr!])
      output.setEncoding('utf8').on('data', (part: string) => (printed += part));
    return { child: npm, exited: once(npm, 'exit') };
  }
  const until = (state: () => boolean) => vi.waitUntil(state, { timeout: 60_000, interval: 5 });

  test.each<[string, NodeJS.Signals, boolean]>([
    ['SIGTERM to npm', 'SIGTERM', false],
    ['SIGINT to npm', 'SIGINT', false],
    ['a SIGINT of the terminal, to npm and the service', 'SIGINT', true],
  ])('%s ends the service gracefully, and npm after it (decisions section 8)', async (_what, signal, group) => {
    const { child, exited } = await npmRun('start');
    await until(() => printed.includes('Gatehouse is ready at'));
    process.kill(group ? -child.pid! : child.pid!, signal);
    expect(await exited).toEqual([0, null]);
    await expect(fetch(`${issuer}/health/live`)).rejects.toThrow('fetch failed');
    expect(postmasterOf(dataDir)).toBeUndefined();
    expect(printed).toContain('stopping after the requests in progress');
  });

  test('a SIGINT of the terminal during the start ends the service gracefully, although npm repeats it (decisions section 8)', async () => {
    const { child, exited } = await npmRun('start');
    await until(() => postmasterOf(dataDir) !== undefined);
    process.kill(-child.pid!, 'SIGINT');
    expect(await exited).toEqual([0, null]);
    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  test('npm run dev starts again when a file of the source is written, and ends by SIGINT with its database', async () => {
    const { child, exited } = await npmRun('dev');
    const starts = () => printed.split('Gatehouse is ready at').length - 1;
    await until(() => starts() === 1);
    utimesSync(join(root, 'src/server.ts'), new Date(), new Date());
    await until(() => starts() === 2);
    expect((await fetch(`${issuer}/health/live`)).status).toBe(200);
    process.kill(-child.pid!, 'SIGINT');
    await exited;
    await until(() => postmasterOf(dataDir) === undefined);
    await expect(fetch(`${issuer}/health/live`)).rejects.toThrow('fetch failed');
  });
});
