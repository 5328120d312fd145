// Walks the guides of nginx, Caddy and Traefik with oauth2-proxy, and that of Miniflux, by their own blocks: sign-in, a lost group, a disabled user. Go builds both programs, and pip installs Traefik. npm run walks -- guides-go
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { createTestDatabase, dropDatabase, type TestDatabase } from '../helpers/database.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { fetchProxies } from '../proxies/fetch.ts';
import { build, buildFolder, fetchedParties, run } from '../relying-parties/fetched-parties.ts';

const root = join(import.meta.dirname, '../..');
const read = (guide: string) => readFileSync(join(root, 'docs/guides', guide), 'utf8');
const blockOf = (guide: string, language: string) => new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(read(guide))![1]!;
const host = 'app.example.com';

interface Case {
  proxy: string;
  program: string;
  /** What the guide adds to the configuration of oauth2-proxy. */
  more: string;
  /** Writes the configuration into a folder. @returns the arguments */
  arrange(folder: string, port: number, upstream: number, application: number): Promise<string[]>;
  /** The header in which the application gets a part of the identity. */
  header: (part: 'user' | 'groups') => string;
}

const cases: Case[] = [
  {
    proxy: 'nginx',
    program: '/usr/sbin/nginx',
    more: '',
    async arrange(folder, port, upstream, application) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`);
      const block = blockOf('nginx.md', 'nginx')
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replaceAll('127.0.0.1:4180', `127.0.0.1:${upstream}`)
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${application}`);
      writeFileSync(
        join(folder, 'main.conf'),
        `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')} ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;
proxy_buffer_size 32k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k;
${block} }\n`,
      );
      return ['-e', 'stderr', '-p', folder, '-c', join(folder, 'main.conf')];
    },
    header: (part) => `x-${part}`,
  },
  {
    proxy: 'Caddy',
    program: '/usr/bin/caddy',
    more: blockOf('caddy.md', 'toml'),
    async arrange(folder, port, upstream) {
      const block = blockOf('caddy.md', 'caddyfile')
        .replaceAll('127.0.0.1:4180', `127.0.0.1:${upstream}`)
        .replace('{\n', `{\n  tls ${folder}/server.pem ${folder}/server.key\n`);
      const options = `{\n  admin off\n  http_port ${await freePort()}\n  https_port ${port}\n  default_bind 127.0.0.1\n  auto_https disable_redirects\n  storage file_system ${folder}/caddy\n}\n`;
      writeFileSync(join(folder, 'Caddyfile'), options + block);
      return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
    },
    header: (part) => (part === 'user' ? 'x-forwarded-preferred-username' : 'x-forwarded-groups'),
  },
  {
    proxy: 'Traefik',
    program: fetchProxies()('traefik'),
    more: `\n${/`(upstreams = .*?)`/.exec(read('traefik.md'))![1]!}\n`,
    async arrange(folder, port, upstream, application) {
      const block = blockOf('traefik.md', 'yaml')
        .replaceAll('127.0.0.1:4180', `127.0.0.1:${upstream}`)
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${application}`);
      const certificate = `tls:\n  certificates: [{ certFile: ${folder}/server.pem, keyFile: ${folder}/server.key }]\n`;
      writeFileSync(join(folder, 'site.yml'), block + certificate);
      return [
        `--entryPoints.websecure.address=127.0.0.1:${port}`,
        `--providers.file.filename=${join(folder, 'site.yml')}`,
        '--global.checkNewVersion=false',
        '--global.sendAnonymousUsage=false',
      ];
    },
    header: (part) => (part === 'user' ? 'x-auth-request-preferred-username' : 'x-auth-request-groups'),
  },
];

/** The path of an address of the site, which may have the port of the test. */
const within = (address: string) => new URL(address, `https://${host}`).pathname + new URL(address, `https://${host}`).search;
const refusalOf = (answer: Answer) => (answer.status === 200 ? undefined : answer);

interface Answer {
  status: number;
  location: string | undefined;
  body: string;
}

let service: TestService;
let application: Server;
let token: string;
beforeAll(async () => {
  fetchedParties.find(({ folder }) => folder === 'oauth2-proxy')!.fetch!();
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  // it answers with the headers that it got
  application = createServer((incoming, outgoing) => outgoing.end(JSON.stringify(incoming.headers)));
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  application?.close();
  await service?.stop();
});

describe.each(cases)('$proxy with oauth2-proxy', ({ program, more, arrange, header }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
  const children: ChildProcess[] = [];
  const cookies = new Map<string, string>();
  let port: number;
  let user: TestUser;
  let printed = '';

  /** Sends a request to the proxy as a browser does, and keeps the cookies of the answer. */
  function open(path: string): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const where = { host: '127.0.0.1', port, servername: host, rejectUnauthorized: false, agent: false, setHost: false };
    return new Promise((resolve, reject) => {
      const sent = request({ ...where, path, headers: { host, ...(cookie && { cookie }) } }, (response) => {
        for (const line of response.headers['set-cookie'] ?? []) {
          const [name = '', value = ''] = line.split(';')[0]!.split(/=(.*)/s);
          if (value === '') cookies.delete(name);
          else cookies.set(name, value);
        }
        let body = '';
        response.on('data', (part: Buffer) => (body += part.toString())).on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, location: response.headers.location, body }));
      });
      sent.on('error', reject).end();
    });
  }
  const start = (path: string, args: string[]) => {
    const child = spawn(path, args, { env: { PATH: process.env['PATH'], HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (printed += part.toString()));
    children.push(child);
  };

  beforeAll(async () => {
    expect(existsSync(program), `${program} is not installed`).toBe(true);
    makeCertificates(folder, { name: host });
    const upstream = await freePort();
    port = await freePort();
    const { port: behind } = application.address() as AddressInfo;
    const client = await service.createClient({
      redirect_uris: [`https://${host}/oauth2/callback`],
      scope: 'openid profile email groups',
    });
    user = await service.createUser({ username: `ada-${port}`, email: `ada${port}@example.com`, emailVerified: true, groups: ['staff', 'crew'] });
    const values: [string, string][] = [
      ['https://id.example.com', service.issuer],
      ['CLIENT_ID', client.clientId],
      ['CLIENT_SECRET', client.clientSecret!],
      ['COOKIE_SECRET', '0123456789abcdef0123456789abcdef'],
      ['127.0.0.1:4180', `127.0.0.1:${upstream}`],
      ['127.0.0.1:8080', `127.0.0.1:${behind}`],
      // the test does not wait for five minutes: oauth2-proxy asks at each request
      ['cookie_refresh = "5m"', 'cookie_refresh = "1ms"'],
    ];
    const text = values.reduce((made, [name, value]) => made.replaceAll(name, value), blockOf('README.md', 'toml') + more);
    writeFileSync(join(folder, 'oauth2-proxy.cfg'), text);
    start(join(buildFolder('oauth2-proxy'), 'oauth2-proxy'), ['--config', join(folder, 'oauth2-proxy.cfg')]);
    start(program, await arrange(folder, port, upstream, behind));
    await vi.waitUntil(async () => (await open('/oauth2/sign_in').catch(() => undefined))?.status === 302, { interval: 50 });
    cookies.clear();
  });
  afterAll(async () => {
    await Promise.all(
      children.map(async (child) => {
        const ended = new Promise((resolve) => child.once('close', resolve));
        child.kill('SIGTERM');
        if (child.exitCode === null) await ended;
      }),
    );
    rmSync(folder, { recursive: true, force: true });
  });

  const change = async (body: object) => {
    const answer = await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body });
    expect(answer.status).toBe(200);
  };
  const groups = (answer: Answer) => ((JSON.parse(answer.body) as Record<string, string>)[header('groups')] ?? '').split(',').sort();

  test('a visitor signs in, the application gets the user with groups, a lost group is gone with the next refresh, and a disabled user is sent to the sign-in (decisions section 8)', async () => {
    let answer = await open('/page?a=1&b=2');
    for (let hops = 0; answer.status === 302 && !answer.location!.startsWith(service.issuer) && hops < 3; hops++)
      answer = await open(within(answer.location!));
    expect(answer.location, printed).toContain(`${service.issuer}/authorize?`);
    const agent = new UserAgent(service);
    let page = await agent.signIn(user, await agent.follow(await agent.get(answer.location!)));
    if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
    expect(page.location).toContain(`https://${host}/oauth2/callback?`);
    const back = await open(within(page.location!));
    expect([back.status, back.location]).toEqual([302, expect.stringMatching(/\/page\?a=1&b=2$/)]);
    const shown = await open('/page?a=1');
    expect(shown.status, printed).toBe(200);
    expect((JSON.parse(shown.body) as Record<string, string>)[header('user')]).toBe(user.username);
    expect(groups(shown)).toEqual(['crew', 'staff']);

    const former = [...cookies].join();
    await change({ groups: ['staff'] });
    // the age of a session counts in whole seconds there
    await vi.waitUntil(async () => groups(await open('/page')).join() === 'staff', { interval: 100 });
    // the refresh replaces the cookie, and the proxy passes the new one on
    expect([...cookies].join()).not.toBe(former);

    await change({ status: 'disabled' });
    const refused = await vi.waitUntil(async () => refusalOf(await open('/page')), { interval: 100 });
    expect([302, 401, 403], printed).toContain(refused.status);
    expect(refused.body).not.toContain(user.username);
  });
});

describe('Miniflux', () => {
  const folder = buildFolder('miniflux');
  const cookies = new Map<string, string>();
  let database: TestDatabase;
  let child: ChildProcess | undefined;
  let address: string;
  let printed = '';

  async function open(path: string): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(new URL(path, address), { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split(/=(.*)/s);
      cookies.set(name, value);
    }
    return { status: answer.status, location: answer.headers.get('location') ?? undefined, body: await answer.text() };
  }

  beforeAll(async () => {
    build(folder, () => {
      cpSync(join(root, 'test/relying-parties/miniflux/go.mod'), join(folder, 'go.mod'));
      run('go', ['build', '-o', 'miniflux', 'miniflux.app/v2'], { cwd: folder, env: { GOFLAGS: '-mod=mod -modcacherw' } });
    });
    database = await createTestDatabase('template0');
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const client = await service.createClient({ redirect_uris: [`${address}/oauth2/oidc/callback`], scope: 'openid profile email groups' });
    const values: [string, string][] = [
      ['https://reader.example.com', address],
      ['https://id.example.com', service.issuer],
      ['CLIENT_ID', client.clientId],
      ['CLIENT_SECRET', client.clientSecret!],
    ];
    // the names of the settings contain those of the values
    const settings = /^```sh\n(BASE_URL=.*?)^```$/ms.exec(read('miniflux.md'))![1]!.trim().split('\n').map((line) => line.split(/=(.*)/s));
    const env = Object.fromEntries(
      settings.map(([name, value = '']) => [name, values.reduce((made, [word, by]) => made.replace(word, by), value)]),
    );
    const { host: socket, user: owner, port: at, database: name } = database.connection;
    child = spawn(join(folder, 'miniflux'), [], {
      env: {
        PATH: process.env['PATH'],
        ...env,
        LISTEN_ADDR: `127.0.0.1:${port}`,
        RUN_MIGRATIONS: '1',
        DATABASE_URL: `host=${socket} port=${at} user=${owner} dbname=${name} sslmode=disable`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (printed += part.toString()));
    await vi.waitUntil(async () => {
      expect(child!.exitCode, printed).toBeNull();
      return (await open('/healthcheck').catch(() => undefined))?.status === 200;
    }, { interval: 50 });
  });
  afterAll(async () => {
    if (child?.exitCode === null) {
      const ended = new Promise((resolve) => child!.once('close', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    // its sessions are no secrets of this service
    if (database) await dropDatabase(database.connection.database);
  });

  /** Signs in with a new browser. @returns where the service sent it */
  async function signIn(user: TestUser): Promise<string> {
    cookies.clear();
    const { location } = await open('/oauth2/oidc/redirect');
    expect(location, printed).toContain(`${service.issuer}/authorize?`);
    const agent = new UserAgent(service);
    let page = await agent.signIn(user, await agent.follow(await agent.get(location!)));
    if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
    return page.location ?? page.body;
  }

  test('a user signs in as an administrator by a group, loses the role at the next sign-in, and stays signed in when disabled, but signs in no more (decisions section 8)', async () => {
    const user = await service.createUser({ username: 'reader', groups: ['reader-admins'] });
    const change = async (body: object) => {
      const answer = await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body });
      expect(answer.status).toBe(200);
    };
    const back = await open(await signIn(user));
    expect([back.status, printed]).toEqual([302, expect.anything()]);
    expect((await open('/users')).status).toBe(200);

    await change({ groups: [] });
    expect((await open('/users')).status).toBe(200);
    expect((await open(await signIn(user))).status).toBe(302);
    expect((await open('/users')).status).toBe(403);

    await change({ status: 'disabled' });
    expect((await open('/unread')).status).toBe(200);
    expect(await signIn(user)).toContain('Incorrect user name or password.');
  });
});
