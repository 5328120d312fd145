// Another SECRET_KEY, and everything encrypted anew, while two instances behind a balancer serve: the procedure of docs/operator.md.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { call, eventually } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { freePort, runCommand, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const password = 'correct horse battery';
const redirectUri = 'https://rp.example.com/callback';

/** Passes each connection on to the next of the instances that are up. */
class Balancer {
  readonly up: number[] = [];
  readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private turn = 0;

  constructor() {
    this.server = createServer((incoming) => {
      const outgoing = connect(this.up[this.turn++ % this.up.length]!, 'localhost');
      for (const [from, to] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        this.sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  /** Whoever asks next begins a new connection. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}

let database: TestDatabase;
let receiver: LogoutReceiver;
let balancer: Balancer;
beforeEach(async () => {
  database = await createTestDatabase();
  receiver = await new LogoutReceiver().start();
  balancer = new Balancer();
});
afterEach(async () => {
  await stopServers();
  balancer.cut();
  balancer.server.close();
  await receiver.stop();
  await database.drop();
}, 60_000);

test('SECRET_KEY is replaced and all is encrypted anew while two instances serve, and nothing fails meanwhile (security R29, R111)', async () => {
  const port = await freePort();
  await new Promise<void>((resolve) => balancer.server.listen(port, 'localhost', resolve));
  const issuer = `http://localhost:${port}`;
  const ports = [await freePort(), await freePort()];
  const oldKey = randomSecret();
  const settings = (secretKey: string) => ({
    ...{ BASE_URL: issuer, DATABASE_URL: database.url, SECRET_KEY: secretKey, ADMIN_PASSWORD: password },
    ...{ REGISTRATION_APPROVAL: 'automatic', OUTBOUND_ALLOW: receiver.host, LIMIT_SIGN_IN_PER_NETWORK: '0' },
  });
  const start = async (index: number, secretKey: string) => {
    const server = startServer({ ...settings(secretKey), PORT: String(ports[index]) });
    await server.ready();
    balancer.up.push(ports[index]!);
    return server;
  };
  const instances: ServerProcess[] = await Promise.all([start(0, oldKey), start(1, oldKey)]);

  // its secret signs its ID Tokens and Logout Tokens, its shared secret ends its session: both are stored encrypted
  const { body: client } = await call(`${issuer}/register`, {
    body: {
      ...{ redirect_uris: [redirectUri], id_token_signed_response_alg: 'HS256' },
      ...{ post_logout_redirect_uris: [redirectUri], backchannel_logout_uri: receiver.uri('/logout') },
    },
  });
  const { body: signed } = await call(`${issuer}/register`, { body: { redirect_uris: [redirectUri] } });
  const credentials = (of: Record<string, unknown>) => ({
    ...{ clientId: of['client_id'] as string, redirectUri },
    basic: `Basic ${Buffer.from(`${of['client_id'] as string}:${of['client_secret'] as string}`).toString('base64')}`,
  });

  /** Sign-in, consent, code, tokens by a secret and by a signing key, the signed end of a session, and a told logout. */
  async function visit(): Promise<void> {
    const agent = new UserAgent({ issuer });
    for (const of of [client, signed]) {
      const { code } = responseParameters(
        await agent.authorize(credentials(of), { username: 'admin', password }, { scope: 'openid' }),
      );
      const redemption = { grant_type: 'authorization_code', code: code!, redirect_uri: redirectUri };
      const { status, body } = await tokenRequest(issuer, credentials(of), redemption);
      expect(status).toBe(200);
      const idToken = body['id_token'] as string;
      if (of === client) await jwtVerify(idToken, Buffer.from(client['client_secret'] as string), { issuer });
      else expect(decodeProtectedHeader(idToken).alg).toBe('RS256');
    }
    const told = receiver.received.length;
    expect((await agent.submit(await agent.get('/logout'), { decision: 'sign-out' })).body).toContain('signed out');
    await eventually(
      async () => receiver.received.length,
      (count) => count > told,
      20_000,
    );
    await jwtVerify(receiver.received.at(-1)!.token, Buffer.from(client['client_secret'] as string), { issuer });
    await agent.authorize(credentials(client), { username: 'admin', password }, { scope: 'openid' });
    const request = await new SignJWT({ jti: randomUUID(), redirect_uri: redirectUri })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(client['client_id'] as string)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(Buffer.from(client['shared_secret'] as string));
    expect(await agent.get(`/end-session?request=${request}`)).toMatchObject({ status: 302, location: redirectUri });
  }

  let visits = 0;
  let running = true;
  let held: Promise<unknown> = Promise.resolve();
  let failure: unknown;
  const visitors = (async () => {
    while (running) {
      await held;
      await visit();
      visits++;
    }
  })().catch((error: unknown) => (failure = error));
  /** One whole visit from now on. */
  const visited = async () => {
    const begun = visits;
    await eventually(
      async () => failure !== undefined || visits > begun,
      (done) => done,
      60_000,
    );
    expect(failure).toBeUndefined();
  };
  /** As an operator replaces an instance: the balancer leaves it out first. */
  async function replace(index: number, secretKey: string): Promise<void> {
    let resume!: () => void;
    const begun = visits;
    held = new Promise<void>((resolve) => (resume = resolve));
    await eventually(
      async () => failure !== undefined || visits > begun,
      (done) => done,
      60_000,
    );
    balancer.up.splice(balancer.up.indexOf(ports[index]!), 1);
    balancer.cut();
    resume();
    instances[index]!.kill('SIGTERM');
    await instances[index]!.exited;
    instances[index] = await start(index, secretKey);
  }
  const command = (secretKey: string, ...args: string[]) => runCommand(args, settings(secretKey));

  await visited();
  const rotated = await command(oldKey, 'secret-key', 'rotate');
  const newKey = rotated['secret_key'] as string;
  expect(newKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
  await replace(0, newKey);
  await visited();
  await expect(command(newKey, 'secret-key', 'retire')).rejects.toThrow('An instance runs with another SECRET_KEY');
  await replace(1, newKey);
  await expect(command(newKey, 'secret-key', 'reencrypt')).rejects.toThrow('retire it first');
  const { retired } = await command(newKey, 'secret-key', 'retire');
  expect(retired).toHaveLength(1);

  const late = startServer({ ...settings(oldKey), PORT: String(await freePort()) });
  expect(await late.exited).toMatchObject({ code: 1 });
  expect(late.stderr).toContain('The setting SECRET_KEY is not the one that this database was encrypted under');
  expect(late.stderr).toContain(rotated['secret_key_id'] as string);
  for (const key of [oldKey, newKey]) expect(late.stderr).not.toContain(key);

  expect(await command(newKey, 'secret-key', 'reencrypt')).toEqual({ data_key: 2, values: 4 + 3 });
  await visited();
  running = false;
  await visitors;
  expect(failure).toBeUndefined();
  expect(await command(newKey, 'secret-key', 'status')).toMatchObject({
    secret_keys: [{ id: rotated['secret_key_id'], given: true }],
    data_keys: [
      { version: 1, values: 0, encrypts: false, expires_at: expect.any(String) },
      { version: 2, values: 7, encrypts: true },
    ],
    instances: [{ data_key: 2 }, { data_key: 2 }],
  });
  const events = await database.sql<{ type: string }>(`SELECT type FROM audit_events WHERE type ~ '_key' ORDER BY id`);
  expect(events.map((event) => event.type)).toEqual([
    ...['secret_key.added', 'secret_key.retired', 'data_key.created', 'data_key.retired'],
  ]);
  for (const instance of instances) expect(instance.stderr).not.toMatch(/"level":(50|60)/);
}, 240_000);

test('the SECRET_KEY that is kept in DATA_DIR is replaced there by one that is piped in, and is not shown (security R29, R111)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-key-'));
  try {
    const settings = { DATA_DIR: join(folder, 'data') };
    const file = join(settings.DATA_DIR, 'secret-key');
    await runCommand(['migrate'], settings);
    const before = readFileSync(file, 'utf8');
    const piped = randomSecret();
    const short = runCommand(['secret-key', 'rotate', '--key-stdin'], settings, piped.slice(1));
    await expect(short).rejects.toThrow(/The key must be 32 random bytes/);
    await expect(short).rejects.not.toThrow(piped.slice(1));
    const rotated = await runCommand(['secret-key', 'rotate', '--key-stdin'], settings, `${piped}\n`);
    expect(rotated).toEqual({ secret_key_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(readFileSync(file, 'utf8')).toBe(`${piped}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await runCommand(['secret-key', 'retire'], settings)).toMatchObject({ retired: [expect.any(String)] });
    writeFileSync(file, before);
    await expect(runCommand(['secret-key', 'status'], settings)).rejects.toThrow('SECRET_KEY is not the one');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
