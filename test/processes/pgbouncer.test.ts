// Runs two instances behind PgBouncer in transaction mode: they hold no session for longer than a transaction, and everything still works.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort, runCommand, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const program = '/usr/sbin/pgbouncer';
const sessions = 3; // of the server, for all instances together

let service: TestService;
let client: TestClient;
let servers: [ServerProcess, ServerProcess];
let settings: Record<string, string>;
let pooler: { url: string; stop(): Promise<void> };

beforeAll(async () => {
  if (!existsSync(program)) return;
  service = await startTestService();
  client = await service.createClient({ grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] });
  pooler = await startPgBouncer();
  settings = {
    DATABASE_URL: pooler.url,
    DATABASE_DIRECT_URL: service.database.url,
    DATABASE_PREPARED_STATEMENTS: 'false',
    SECRET_KEY: service.secretKey,
    BASE_URL: service.issuer,
  };
  // the two processes take the place of the service that runs in this one
  await service.leave();
  servers = [
    startServer({ ...settings, PORT: new URL(service.issuer).port }),
    startServer({ ...settings, PORT: String(await freePort()) }),
  ];
  for (const server of servers) await server.ready();
});
afterAll(async () => {
  if (!existsSync(program)) return;
  await stopServers();
  await pooler?.stop();
  await service?.stop();
});

/** Starts PgBouncer with the file that docs/scaling.md shows, on the loopback, with few sessions and without passwords. */
async function startPgBouncer() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pgbouncer-'));
  const { host, port, user, database } = service.database.connection;
  const listens = await freePort();
  let text = readFileSync(join(import.meta.dirname, '../../deploy/patroni/pgbouncer.ini'), 'utf8');
  for (const [from, to] of [
    [
      'gatehouse = host=10.0.0.20 port=5000 dbname=gatehouse',
      `${database} = host=${host} port=${port} dbname=${database}`,
    ],
    ['default_pool_size = 40', `default_pool_size = ${sessions}`],
    ['listen_addr = 10.0.0.21', 'listen_addr = 127.0.0.1'],
    ['listen_port = 6432', `listen_port = ${listens}`],
    ['auth_type = scram-sha-256', 'auth_type = trust'],
    ['/etc/pgbouncer/userlist.txt', join(folder, 'users')],
  ] as const) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(join(folder, 'pgbouncer.ini'), text);
  writeFileSync(join(folder, 'users'), `"${user}" ""\n`);
  chmodSync(folder, 0o755);
  // it refuses to run as root
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { ...owner, cwd: folder, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const url = `postgresql://${user}@127.0.0.1:${listens}/${database}`;
  for (let up = false; !up; await delay(20)) {
    if (child.exitCode !== null) throw new Error('PgBouncer does not start');
    const probe = new pg.Client({ connectionString: url });
    up = await probe.connect().then(
      () => true,
      () => false,
    );
    await probe.end().catch(() => undefined);
  }
  return {
    url,
    async stop() {
      child.kill('SIGINT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where PgBouncer is not installed, test/run.ts says so. */
const behindPgBouncer = test.runIf(existsSync(program));
const idOf = (flag: '-u' | '-g') => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
async function isActive(server: ServerProcess, token: string): Promise<unknown> {
  const response = await fetch(`${server.address}/introspect`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token }),
  });
  return response.status === 200 ? ((await response.json()) as { active: boolean }).active : response.status;
}

/** Waits until the check succeeds; the limit is in milliseconds. */
async function timeUntil(condition: () => Promise<boolean>): Promise<number> {
  const begin = performance.now();
  while (!(await condition())) await delay(10);
  return performance.now() - begin;
}

behindPgBouncer(
  'users sign in and clients get tokens at two instances whose statements are spread over three sessions (decisions 8)',
  async () => {
    const flows = Array.from({ length: 4 }, async () => {
      const user = await service.createUser();
      const browser = new UserAgent(service);
      const page = await browser.authorize(client, user, { scope: 'openid profile' });
      const { code } = responseParameters(page);
      const form = { grant_type: 'authorization_code', code: code!, redirect_uri: client.redirectUri };
      const issued = await tokenRequest(servers[1].address, client, form);
      expect(issued).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
      const form2 = { grant_type: 'refresh_token', refresh_token: String(issued.body['refresh_token']) };
      expect(await tokenRequest(servers[0].address, client, form2)).toMatchObject({ status: 200 });
      return String(issued.body['access_token']);
    });
    const tokens = await Promise.all(flows);
    const many = Array.from({ length: 120 }, (_, index) =>
      isActive(servers[index % 2]!, tokens[index % tokens.length]!),
    );
    expect(new Set(await Promise.all(many))).toEqual(new Set([true]));
  },
);

behindPgBouncer(
  'a token revoked at one instance, and a client disabled there, is refused at the other within a second (decisions 8, security R92)',
  async () => {
    const { body } = await tokenRequest(servers[0].address, client, { grant_type: 'client_credentials' });
    const token = String(body['access_token']);
    expect(await isActive(servers[1], token)).toBe(true);
    const revoked = await fetch(`${servers[0].address}/revoke`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ token }),
    });
    expect(revoked.status).toBe(200);
    expect(await timeUntil(async () => (await isActive(servers[1], token)) === false)).toBeLessThan(1000);
    // by the command line, which connects the same way
    await runCommand(['client', 'disable', client.clientId], settings);
    const refused = async (server: ServerProcess) =>
      (await tokenRequest(server.address, client, { grant_type: 'client_credentials' })).status !== 200;
    const times = await Promise.all(servers.map((server) => timeUntil(() => refused(server))));
    for (const time of times) expect(time).toBeLessThan(1000);
  },
);

behindPgBouncer('a time limit also applies to statements that go through the pooler (security R108)', async () => {
  const through = new pg.Client({ connectionString: pooler.url });
  await through.connect();
  await expect(through.query('SELECT pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
  await through.end();
});

behindPgBouncer(
  'an answer is 503 with Retry-After while the pooler has no free session to lend (security R108)',
  async () => {
    const holders = await Promise.all(
      Array.from({ length: sessions }, async () => {
        const holder = new pg.Client({ connectionString: pooler.url });
        await holder.connect();
        await holder.query('BEGIN');
        return holder;
      }),
    );
    const other = await service.createClient({ grant_types: ['client_credentials'] });
    const refused = await fetch(`${servers[0].address}/token`, {
      method: 'POST',
      headers: { authorization: other.basic },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    for (const holder of holders) await holder.end();
  },
);
