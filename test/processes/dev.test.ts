// `gatehouse dev` as developers start it: a provider on a throwaway database, whose doors no other start has.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ConfigError, loadDevConfig } from '../../src/config.ts';
import { createDoors } from '../../src/dev/doors.ts';
import { freePort, launcher, startServer, stopServers, surroundings } from '../helpers/server-process.ts';
import { startTestService } from '../helpers/service.ts';

interface Ready {
  issuer: string;
  pid: number;
  clients: { client_id: string; client_secret?: string }[];
  users: { username: string; password: string; sub: string }[];
  administrator?: { username: string; password: string };
  dev_token?: string;
}

const redirectUri = 'http://127.0.0.1:5555/callback';
const doors = ['/dev/sign-in', '/dev/sign-out', '/dev/device', '/dev/time', '/dev/session'];
const started: ChildProcess[] = [];
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-dev-test-'));
const file = join(folder, 'gatehouse.yaml');
writeFileSync(
  file,
  `clients:
  shop:
    client_name: Shop
    redirect_uris: [${redirectUri}]
    grant_types: [authorization_code, refresh_token]
    client_secret: shop-secret
  made:
    grant_types: [client_credentials]
    client_secret: generate
users:
  alice: { password: alice, email: alice@example.com, email_verified: true, groups: [crew], claims: { name: Alice } }
groups:
  crew: {}
`,
);

/** Starts the program; `line` is what it prints first. */
function startDev(words: string[], environment: Record<string, string> = {}, program = launcher) {
  const child = spawn(program, words, {
    env: { ...surroundings, HOME: folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const line = async (): Promise<Ready> => {
    await vi.waitUntil(() => output.stdout.includes('\n') || child.exitCode !== null, { timeout: 120_000 });
    if (child.exitCode !== null) throw new Error(output.stderr);
    return JSON.parse(output.stdout.split('\n')[0]!) as Ready;
  };
  return { child, output, exited, line };
}

/** The folders of the databases of a process. */
const foldersOf = (pid: number): string[] =>
  [...new Set(['/dev/shm', tmpdir()])]
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path))
    .filter((name) => name.startsWith(`gatehouse-dev-${pid}-`));

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

let dev: ReturnType<typeof startDev>;
let ready: Ready;
beforeAll(async () => {
  dev = startDev(['dev', '--config', file]);
  ready = await dev.line();
});
afterAll(async () => {
  for (const child of started) child.kill('SIGTERM');
  await stopServers();
  rmSync(folder, { recursive: true, force: true });
});

const asked = (more: Record<string, string> = {}) => ({
  client_id: 'shop',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid profile email',
  state: 'xyz',
  ...more,
});
const signIn = async (more: object = {}) => {
  const response = await post(`${ready.issuer}/dev/sign-in`, {
    user: 'alice',
    authorization_request: asked(),
    ...more,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const redeem = async (redirect: unknown, refreshToken?: string) => {
  const code = new URL(String(redirect)).searchParams.get('code') ?? '';
  const response = await fetch(`${ready.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('shop:shop-secret').toString('base64')}` },
    body: new URLSearchParams(
      refreshToken === undefined
        ? { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
        : { grant_type: 'refresh_token', refresh_token: refreshToken },
    ),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
};

describe('a provider for tests', () => {
  test('prints one line of JSON with what a test needs, and the rest goes to standard error (delivery 5)', async () => {
    expect(dev.output.stdout.split('\n')).toEqual([expect.stringMatching(/^\{.*\}$/), '']);
    expect(ready).toMatchObject({
      issuer: expect.stringMatching(/^http:\/\/localhost:\d+$/),
      pid: dev.child.pid,
      clients: [
        { client_id: 'shop', client_secret: 'shop-secret', redirect_uris: [redirectUri] },
        { client_id: 'made', client_secret: expect.stringMatching(/^.{32,}$/) },
      ],
      users: [{ username: 'alice', password: 'alice', email: 'alice@example.com', sub: expect.any(String) }],
      administrator: { username: 'admin', password: expect.any(String) },
    });
    await vi.waitUntil(() => dev.output.stderr.includes('Gatehouse is ready'), { timeout: 60_000 });
  });

  test('signs a user in by one request, and the code buys real tokens (delivery 5)', async () => {
    const { status, body } = await signIn();
    expect({ status, redirect: body['redirect'] }).toEqual({
      status: 200,
      redirect: expect.stringContaining(`${redirectUri}?code=`),
    });
    expect(new URL(String(body['redirect'])).searchParams.get('state')).toBe('xyz');
    const tokens = await redeem(body['redirect']);
    const claims = JSON.parse(Buffer.from(tokens.body['id_token']!.split('.')[1]!, 'base64url').toString()) as object;
    expect(claims).toMatchObject({ iss: ready.issuer, aud: 'shop', sub: ready.users[0]!.sub });
    const userinfo = await fetch(`${ready.issuer}/user/info`, {
      headers: { authorization: `Bearer ${tokens.body['access_token']}` },
    });
    expect(await userinfo.json()).toMatchObject({ name: 'Alice', email: 'alice@example.com', email_verified: true });
  });

  test('takes a URL, too, and a denial, prompts, a form, and a browser that stays (delivery 5)', async () => {
    const url = `${ready.issuer}/authorize?${new URLSearchParams(asked()).toString()}`;
    expect((await signIn({ authorization_request: url })).body['redirect']).toContain('code=');
    const denied = { decision: 'deny', authorization_request: asked({ prompt: 'login consent' }) };
    expect((await signIn(denied)).body['redirect']).toContain('error=access_denied');
    const form = await signIn({ authorization_request: asked({ response_mode: 'form_post' }) });
    expect(form.body).toMatchObject({ redirect: redirectUri, form: { code: expect.any(String), state: 'xyz' } });
    const silent = asked({ prompt: 'none' });
    expect((await signIn({ authorization_request: silent })).body['redirect']).toContain('error=login_required');
    await signIn({ browser: 'kept' });
    expect((await signIn({ browser: 'kept', authorization_request: silent })).body['redirect']).toContain('code=');
  });

  test.each([
    [{ user: 'nobody' }, /there is no user nobody/],
    [{ user: 'alice\0' }, /text that is not well-formed/],
    [{ authorization_request: 'https://provider.example/authorize?client_id=shop' }, /must be an address of/],
    [{ authorization_request: { client_id: 'unknown' } }, /the browser stopped at \/login/],
    [{ usr: 'alice' }, /usr/],
  ])('says why it cannot go on: %j (delivery 5)', async (more, reason) => {
    const { status, body } = await signIn(more);
    expect({ status, body }).toMatchObject({ status: 400, body: { error_description: expect.stringMatching(reason) } });
  });

  test('makes stored rows older, so that a code, an access token and a session end (delivery 5)', async () => {
    const tokens = await redeem((await signIn()).body['redirect']);
    const waiting = (await signIn({ browser: 'aged' })).body['redirect'];
    const aged = await post(`${ready.issuer}/dev/time`, { seconds: 9 * 3600 });
    expect(await aged.json()).toMatchObject({ seconds: 9 * 3600 });
    expect((await redeem(waiting)).body).toMatchObject({ error: 'invalid_grant' });
    const userinfo = await fetch(`${ready.issuer}/user/info`, {
      headers: { authorization: `Bearer ${tokens.body['access_token']}` },
    });
    expect(userinfo.status).toBe(401);
    const silent = await signIn({ browser: 'aged', authorization_request: asked({ prompt: 'none' }) });
    expect(silent.body['redirect']).toContain('error=login_required');
  });

  test('writes a mail with its link to standard error (delivery 5)', async () => {
    const page = await fetch(`${ready.issuer}/password-reset`);
    const cookie = page.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const csrf = /name="csrf" value="([^"]*)"/.exec(await page.text())?.[1] ?? '';
    await fetch(`${ready.issuer}/password-reset`, {
      method: 'POST',
      headers: { cookie, origin: ready.issuer },
      body: new URLSearchParams({ csrf, email: 'alice@example.com' }),
    });
    await vi.waitUntil(() => /"to":"alice@example.com".*http:\/\/localhost:\d+\//.test(dev.output.stderr), {
      timeout: 60_000,
    });
  });

  test('refuses pages of a browser and forms at its doors (delivery 5)', async () => {
    const door = `${ready.issuer}/dev/time`;
    expect((await post(door, { seconds: 1 }, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await post(door, { seconds: 1 }, { 'sec-fetch-site': 'same-origin' })).status).toBe(403);
    const form = await fetch(door, { method: 'POST', body: new URLSearchParams({ seconds: '1' }) });
    expect(form.status).toBe(415);
    // a page may send this without asking first, too
    const plain = await fetch(door, {
      method: 'POST',
      body: '{"seconds":1}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
    const session = { user: ready.users[0]!.sub, amr: 'pwd' };
    expect((await post(`${ready.issuer}/dev/session`, session)).status).toBe(404);
    expect((await post(`${ready.issuer}/dev/session`, session, { 'x-within': '' })).status).toBe(404);
    expect((await fetch(`${ready.issuer}/dev/session`)).status).toBe(404);
  });
});

test('with another address its doors want the printed token (delivery 5)', async () => {
  // a loopback address in another form: no test listens on a network
  const other = startDev(['dev', '--listen', '::ffff:127.0.0.1']);
  const { issuer, dev_token: token = '', users, clients } = await other.line();
  expect(token).toMatch(/^.{32,}$/);
  expect({ users: users.map(({ username }) => username), clients: clients.map((one) => one.client_id) }).toEqual({
    users: ['alice'],
    clients: ['app'],
  });
  const at = issuer.replace('localhost', '127.0.0.1');
  expect((await post(`${at}/dev/time`, { seconds: 1 })).status).toBe(401);
  expect((await post(`${at}/dev/time`, { seconds: 1 }, { authorization: `Bearer ${token}x` })).status).toBe(401);
  expect((await post(`${at}/dev/time`, { seconds: 1 }, { authorization: `Bearer ${token}` })).status).toBe(200);
  const authorization_request = { ...asked({ client_id: 'app' }) };
  const signed = await post(
    `${at}/dev/sign-in`,
    { user: 'alice', authorization_request },
    { authorization: `Bearer ${token}` },
  );
  expect(await signed.json()).toMatchObject({ redirect: expect.stringContaining('code=') });
  other.child.kill('SIGKILL');
  await other.exited;
  // the next start removes what is left, with its server
  expect(foldersOf(other.child.pid!)).toHaveLength(1);
});

test('the end of its parent ends it, with its database and its folder (delivery 5)', async () => {
  const shell = startDev(['-c', `"${launcher}" dev --config "${file}" & wait`], {}, '/bin/sh');
  const { pid, issuer } = await shell.line();
  const folders = () => foldersOf(pid);
  expect(folders()).toHaveLength(1);
  for (const { pid: killed, signalCode } of started)
    if (signalCode === 'SIGKILL') expect(foldersOf(killed!)).toEqual([]);
  shell.child.kill('SIGKILL');
  await vi.waitUntil(() => folders().length === 0, { timeout: 60_000 });
  await vi.waitUntil(() => !existsSync(`/proc/${pid}`), { timeout: 60_000 });
  await expect(fetch(issuer)).rejects.toThrow();
});

test.each([
  ['DATABASE_URL', { DATABASE_URL: 'postgresql://db.example/app' }],
  ['DATABASE_URL_FILE', { DATABASE_URL_FILE: '/run/secrets/database' }],
  ['BASE_URL', { BASE_URL: 'https://id.example.com' }],
  ['BASE_URL', { BASE_URL: 'http://nas', ALLOW_HTTP: 'true' }],
])('does not start with %s of another service (delivery 5)', (name, variables) => {
  const options = { port: 1, host: 'localhost', dataDir: folder, adminPassword: 'long enough here' };
  expect(() => loadDevConfig(options, variables)).toThrow(ConfigError);
  expect(() => loadDevConfig(options, variables)).toThrow(`The setting ${name} is`);
});

test('refuses them as a process, also from a file of settings, before it makes a folder or prints a line (delivery 5)', async () => {
  const home = join(folder, 'refused');
  const settings = join(folder, 'settings.env');
  writeFileSync(settings, 'DATABASE_URL=postgresql://db.example/app\n');
  const refused = [
    { setting: 'DATABASE_URL', ...startDev(['dev'], { HOME: home, DATABASE_URL: 'postgresql://db.example/app' }) },
    { setting: 'BASE_URL', ...startDev(['dev'], { HOME: home, BASE_URL: 'https://id.example.com' }) },
    { setting: 'DATABASE_URL', ...startDev([`--env-file=${settings}`, 'dev'], { HOME: home }) },
  ];
  for (const { setting, child, output, exited, line } of refused) {
    // one that starts instead does not end
    await line().catch(() => exited);
    expect({ code: child.exitCode, ...output }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^The setting ${setting} is [^\\n]*\\.\\n$`)) as string,
    });
    expect(output.stderr).not.toContain('db.example');
    expect(foldersOf(child.pid!)).toEqual([]);
  }
  expect(existsSync(home)).toBe(false);
});

test('without a token its doors answer only this machine (delivery 5)', async () => {
  const door = (url: string, remoteAddress: string) => ({
    method: 'POST' as const,
    url,
    remoteAddress,
    payload: { seconds: 0 },
  });
  const service = await startTestService({ doors: createDoors({ token: undefined, age: async () => 0 }) });
  try {
    const statusOf = async (url: string, from: string) => (await service.apps[0]!.inject(door(url, from))).statusCode;
    for (const from of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
      expect(await statusOf('/dev/time', from), from).toBe(200);
    for (const from of ['192.0.2.1', '10.0.0.127', '2001:db8::1', '::ffff:192.0.2.1', '::127.0.0.1'])
      for (const url of doors) expect(await statusOf(url, from), `${url} from ${from}`).toBe(403);
  } finally {
    await service.stop();
  }
});

test('leaves out what leads to another service or its data, and keeps what a test sets (delivery 5)', () => {
  const options = { port: 4711, host: 'localhost', dataDir: folder, adminPassword: 'long enough here' };
  const variables = {
    PORT: '3000',
    // as vitest has it
    BASE_URL: '/',
    DATA_DIR: '/var/lib/gatehouse',
    SECRET_KEY_FILE: '/run/secrets/key',
    SMTP_URL: 'smtp://mail.example',
    CONFIG_FILE: '/etc/gatehouse',
    AUDIT_STREAM: 'https://collector.example',
    ACCESS_TOKEN_LIFETIME: '7',
    LIMIT_PUSHED_REQUESTS: '3',
  };
  const { issuer, dataDir, secretKeys, smtpUrl, configFile, auditStream, lifetimes, limits } = loadDevConfig(
    options,
    variables,
  );
  expect({ issuer, dataDir, secretKeys, smtpUrl, configFile, stream: auditStream.url }).toEqual({
    issuer: 'http://localhost:4711',
    dataDir: folder,
  });
  expect(lifetimes.accessToken).toBe(7);
  expect(limits).toMatchObject({ pushedRequests: 3, signInPerAccount: 0, mailedLinks: 0 });
});

test('a wrong configuration is one sentence, and prints nothing on standard output (delivery 5)', async () => {
  const wrong = join(folder, 'wrong.yaml');
  writeFileSync(wrong, 'clients: { shop: { redirect_uris: [http://rp.example.com/cb], client_secret: x } }\n');
  const { exited, output } = startDev(['dev', '--config', wrong]);
  expect({ code: await exited, ...output }).toMatchObject({ code: 1, stdout: '' });
  expect(output.stderr).toMatch(/The configuration is wrong: .*clients\.shop: .*http:\/\/|redirect/);
});

test('no other start has a door, whatever its environment says (delivery 5)', async () => {
  const statuses = (issuer: string) =>
    Promise.all(doors.map(async (path) => (await post(issuer + path, { user: 'alice', seconds: 1 })).status));
  const service = await startTestService();
  try {
    expect(await statuses(service.issuer)).toEqual([404, 404, 404, 404, 404]);
  } finally {
    await service.stop();
  }
  const tricks = {
    NODE_ENV: 'development',
    GATEHOUSE_DEV: 'true',
    DEV: '1',
    GATEHOUSE_COMMAND: 'dev',
    npm_lifecycle_script: 'dev',
  };
  const server = startServer({ ...tricks, PORT: String(await freePort()), DATA_DIR: join(folder, 'normal') });
  await server.ready();
  expect(await statuses(server.issuer)).toEqual([404, 404, 404, 404, 404]);
});

test('SIGTERM ends it, and leaves nothing behind (delivery 5)', async () => {
  expect(foldersOf(ready.pid)).toHaveLength(1);
  dev.child.kill('SIGTERM');
  expect(await dev.exited).toBe(0);
  expect(foldersOf(ready.pid)).toEqual([]);
});
