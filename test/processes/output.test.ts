// Checks what the processes print: the service its greeting and lines of the log, a command its result or one clear line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCommandProcess } from '../helpers/command-line.ts';
import { freePort, launcher, startServer, stopServers, surroundings } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let bed: TestService;
let folder: string;
beforeAll(async () => {
  bed = await startTestService();
  await bed.database.sql(
    `INSERT INTO users (sub, username) SELECT 'many-' || i, 'many-' || i || repeat('x', 200) FROM generate_series(1, 3000) i`,
  );
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-output-'));
});
afterEach(async () => void (await stopServers()));
afterAll(async () => {
  await bed?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Code that runs in a process before our own, as the code of a package could. */
const preload = (code: string) => ({ NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(code)}"` });
const settings = async () => ({
  DATABASE_URL: bed.database.url,
  SECRET_KEY: bed.secretKey,
  PORT: String(await freePort()),
  // beside the instances of the bed, and beside those that have just crashed
  BASE_URL: bed.issuer,
  DATA_DIR: folder,
});
const linesOf = (printed: string) => printed.split('\n').filter((line) => line !== '');
const linesOutsideLog = (printed: string) => linesOf(printed).filter((line) => !line.startsWith('{"level":'));

/** Runs the service on a pseudo terminal, whose keyboard is standard input; Debian has script(1) in every installation. */
function onTerminal(environment: Record<string, string>) {
  const child = spawn('script', ['--quiet', '--return', '--command', `exec '${launcher}'`, '/dev/null'], {
    env: { ...surroundings, SHELL: '/bin/sh', TERM: 'xterm', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (screen += part));
  return {
    exited: once(child, 'close').then(([code]) => code as number),
    press: (keys: string) => child.stdin.write(keys),
    lines: () => stripVTControlCharacters(screen).split('\r\n'),
    get screen() {
      return screen;
    },
    shows: (words: string) => vi.waitUntil(() => screen.includes(words), { timeout: 30_000, interval: 10 }),
  };
}

describe('the service on a terminal', () => {
  test('the service greets the operator with the address of the console, prints readable lines, and ends on Ctrl-C (decisions section 8)', async () => {
    const given = await settings();
    const hostile = preload(`setTimeout(() => console.error('a package \\x1b[2J\\x9b2J\\u202e printed this'), 1);`);
    const terminal = onTerminal({ ...given, ...hostile });
    await terminal.shows('bin/gatehouse help');
    const { issuer } = bed;
    expect(terminal.lines()).toEqual(
      expect.arrayContaining([`  Gatehouse is ready at ${issuer}`, `  Console      ${issuer}/admin`]),
    );
    terminal.press('\x03');
    expect(await terminal.exited).toBe(0);
    const logged = terminal.lines().filter((line) => /^\S/.test(line));
    for (const line of logged) expect(line).toMatch(/^(\^C)?\d\d:\d\d:\d\d (info |error) \S/);
    expect(logged).toEqual(
      expect.arrayContaining([
        expect.stringMatching(`info {2}Gatehouse is ready issuer=${issuer} port=\\d+ database=external$`),
        expect.stringMatching(/info {2}stopping after the requests in progress signal=SIGINT$/),
        // text from a request does not reach the terminal as a control sequence (security R126)
        expect.stringContaining('printed="a package \\u001b[2J?2J? printed this"'),
      ]),
    );
    expect(terminal.screen).toContain('\x1b[32minfo');
  });

  test('the service prints an error with its stack, and without colours if NO_COLOR is set (decisions section 8)', async () => {
    const failing = preload(`
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (...what) => {
        setTimeout(() => { throw new Error('thrown by a package'); }, 10);
        return write(...what);
      };`);
    const terminal = onTerminal({ ...(await settings()), ...failing, NO_COLOR: '1' });
    expect(await terminal.exited).toBe(1);
    const lines = terminal.lines();
    const fatal = lines.findIndex((line) => / fatal unhandled error, exiting: thrown by a package$/.test(line));
    expect(lines[fatal + 1]).toMatch(/^ +at /);
    expect(terminal.screen).not.toContain('\x1b');
  });
});

describe('the service', () => {
  test.each([['1'], ['2']])(
    'the service logs what packages print and warn of, with WORKERS=%s (security R126)',
    async (workers) => {
      const code = `
        const say = () => {
          process.emitWarning('a warning of a package');
          process.emitWarning('it is old', 'DeprecationWarning', 'DEP9999');
          console.error(new Error('a package printed its trouble'));
          console.log('a package', 'talks');
        };
        // when our first file is loaded, and later
        const { log } = console;
        const watch = setInterval(() => {
          if (console.log === log) return;
          clearInterval(watch);
          say();
          setTimeout(say, 500);
        }, 1);`;
      const server = startServer({ ...(await settings()), ...preload(code), WORKERS: workers });
      await server.ready();
      await vi.waitUntil(
        () =>
          ['a warning of a package', 'DEP9999', 'a package printed its trouble', 'a package talks'].every((words) =>
            server.stderr.includes(words),
          ),
        { timeout: 10_000, interval: 20 },
      );
      server.kill('SIGTERM');
      await server.exited;
      expect(linesOutsideLog(server.stderr)).toEqual([]);
      expect(server.stdout).not.toContain('a package');
      // Node's own listener would print each warning, too, and console.error would log it a second time
      const printed = linesOf(server.stderr).map((line) => (JSON.parse(line) as { printed?: string }).printed ?? '');
      expect(printed.filter((words) => words.includes('a warning of a package'))).toEqual([]);
    },
  );

  test('the service logs an error that no code handled, and exits (security R126)', async () => {
    const afterTheGreeting = (code: string) => `
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (...what) => {
        setTimeout(() => { ${code} }, 10);
        return write(...what);
      };`;
    for (const code of [
      `throw new Error('thrown by a package');`,
      `void Promise.reject(new Error('thrown by a package'));`,
    ].map(afterTheGreeting)) {
      const server = startServer({ ...(await settings()), ...preload(code) });
      expect((await server.exited).code).toBe(1);
      expect(linesOutsideLog(server.stderr)).toEqual([]);
      // an earlier line may arrive after the last one, which is written at once
      const lines = linesOf(server.stderr).map((line) => JSON.parse(line) as Record<string, unknown>);
      const fatal = lines.filter(({ level }) => level === 60);
      expect(fatal).toEqual([
        expect.objectContaining({ err: expect.objectContaining({ message: 'thrown by a package' }) }),
      ]);
    }
  });

  test('the service says in one sentence why it does not start, even if the driver prints a warning (security R126)', async () => {
    const url = `postgresql://gatehouse@127.0.0.1:1/gatehouse`;
    const warning = preload(`process.emitWarning('SECURITY WARNING of a driver');`);
    const server = startServer({ ...(await settings()), ...warning, DATABASE_URL: url, DATABASE_WAIT: '0' });
    expect((await server.exited).code).toBe(1);
    expect(linesOutsideLog(server.stderr)).toEqual([expect.stringMatching(/^The database of DATABASE_URL/)]);
    expect(server.stderr).toContain('SECURITY WARNING');
  });
});

/** Runs a command whose output is closed before it writes. */
async function runUnread(args: string[], which: 'stdout' | 'stderr' = 'stdout') {
  const child = spawn(launcher, args, {
    env: { ...surroundings, DATABASE_URL: bed.database.url, SECRET_KEY: bed.secretKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const other = which === 'stdout' ? 'stderr' : 'stdout';
  child[which].destroy();
  const [printed, [code, signal]] = await Promise.all([text(child[other]), once(child, 'close')]);
  return { printed, code: code as number | null, signal: signal as string | null };
}

describe('a command', () => {
  test.each([
    ['help'],
    ['user list'],
    ['user list --json'],
    ['client list'],
    ['session list'],
    ['audit list'],
    ['user export --format csv'],
    ['user export --format jsonl'],
    ['audit export --format csv'],
  ])('a command ends silently when its output is closed: %s (POSIX)', async (words) => {
    expect(await runUnread(words.split(' '))).toEqual({ printed: '', code: 141, signal: null });
  });

  test('a command does its work even if no process reads its output (POSIX)', async () => {
    const name = `unread-${randomBytes(4).toString('hex')}`;
    expect(await runUnread(['group', 'create', name])).toMatchObject({ printed: '', code: 141 });
    expect(await bed.database.sql('SELECT name FROM groups WHERE name = $1', [name])).toHaveLength(1);
    expect(await runUnread(['user', 'disable', 'nobody at all'], 'stderr')).toMatchObject({ printed: '', code: 141 });
  });

  test('a command that cannot write its output says so in one line (security R126)', async () => {
    const child = spawn('/bin/sh', ['-c', `exec "$0" user list > /dev/full`, launcher], {
      env: { ...surroundings, DATABASE_URL: bed.database.url, SECRET_KEY: bed.secretKey },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [printed, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([linesOf(printed), code]).toEqual([[expect.stringContaining('ENOSPC')], 1]);
  });

  test('a command prints one clear line for an unexpected error, and for a warning of a package (security R126)', async () => {
    const bare = { ...bed, issuer: '' };
    const thrown = preload(`setTimeout(() => { throw new Error('thrown by a package\\n at the second line'); }, 1);`);
    const failed = await runCommandProcess(bare, ['user', 'list'], { environment: thrown });
    expect(failed.code).toBe(1);
    const warning = preload(`setTimeout(() => process.emitWarning('SECURITY WARNING\\n of a driver'), 1);`);
    const warned = await runCommandProcess(bare, ['user', 'list'], { environment: warning });
    for (const { stderr } of [failed, warned]) {
      expect(stderr).not.toMatch(/^\s+at |node:/m);
      expect(linesOf(stderr).length).toBeLessThanOrEqual(2);
    }
    expect(warned.stderr).toMatch(/^Warning: SECURITY WARNING/);
    expect(linesOf(warned.stderr).filter((line) => line.includes('SECURITY WARNING'))).toHaveLength(1);
  });
});
