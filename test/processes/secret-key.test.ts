// Replaces a key of SECRET_KEY while two instances behind a load balancer serve, as docs/operator.md describes it.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { type Authenticator, setUpAuthenticator } from '../helpers/authenticator.ts';
import { runCommand as runHere } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { call, eventually } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { MailServer } from '../helpers/mail-server.ts';
import {
  freePort,
  runCommand,
  type ServerProcess,
  startCommand,
  startServer,
  stopServers,
} from '../helpers/server-process.ts';
import { hiddenFields, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const password = 'correct horse battery';
const redirectUri = 'https://rp.example.com/callback';

/** Passes each connection to the next of the instances that are up. */
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

  /** Makes the next request open a new connection. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}

let database: TestDatabase;
let receiver: LogoutReceiver;
let balancer: Balancer;
const mailServer = new MailServer();
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
  await mailServer.stop();
  await database.drop();
});

/** Runs a command in this process, as most tests do, and returns what it printed as JSON. */
async function commandHere(
  secretKey: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const place = { issuer: 'http://localhost:3000', database, secretKey };
  const { code, stdout, stderr } = await runHere(place, [...args, '--json'], { stdin: password, environment });
  if (code !== 0) throw new Error(`the command ${args.join(' ')} failed: ${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('an operator replaces a key of SECRET_KEY while two instances serve, and no request fails at any step (decisions section 8, security R29, R111)', async () => {
  const port = await freePort();
  await new Promise<void>((resolve) => balancer.server.listen(port, 'localhost', resolve));
  const issuer = `http://localhost:${port}`;
  const ports = [await freePort(), await freePort()];
  mailServer.port = await freePort();
  const [oldKey, newKey] = [randomSecret(), randomSecret()];
  const [oldId, newId] = [parseSecretKey(oldKey).id, parseSecretKey(newKey).id];
  const settings = (secretKey: string) => ({
    BASE_URL: issuer,
    DATABASE_URL: database.url,
    SECRET_KEY: secretKey,
    ADMIN_PASSWORD: password,
    OUTBOUND_ALLOW: receiver.host,
    LIMIT_SIGN_IN_PER_NETWORK: '0',
    SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
  });
  const start = async (index: number, secretKey: string) => {
    const server = startServer({ ...settings(secretKey), PORT: String(ports[index]) });
    await server.ready();
    balancer.up.push(ports[index]!);
    return server;
  };
  const instances: ServerProcess[] = await Promise.all([start(0, oldKey), start(1, oldKey)]);

  // its secret signs its ID Tokens and Logout Tokens, its shared secret ends its session: both are stored encrypted
  const created = await commandHere(oldKey, ['registration-token', 'create'], { BASE_URL: issuer });
  const token = created['initial_access_token'] as string;
  const { body: client } = await call(`${issuer}/register`, {
    token,
    body: {
      redirect_uris: [redirectUri],
      id_token_signed_response_alg: 'HS256',
      post_logout_redirect_uris: [redirectUri],
      backchannel_logout_uri: receiver.uri('/logout'),
    },
  });
  const { body: signed } = await call(`${issuer}/register`, { token, body: { redirect_uris: [redirectUri] } });
  const credentials = (of: Record<string, unknown>) => ({
    clientId: of['client_id'] as string,
    redirectUri,
    basic: `Basic ${Buffer.from(`${of['client_id'] as string}:${of['client_secret'] as string}`).toString('base64')}`,
  });

  // an authenticator, whose key is stored encrypted
  const ada = { username: 'ada', password, email: 'ada@example.com' };
  await commandHere(oldKey, ['user', 'create', '--username', 'ada', '--email', ada.email, '--password-stdin']);
  await database.sql('UPDATE users SET email_verified = true WHERE username = $1', [ada.username]);
  const first = new UserAgent({ issuer });
  await first.signIn(ada);
  const { app }: { app: Authenticator } = await setUpAuthenticator(first);
  // a session, a mail that cannot be sent yet, and a registration that waits for an administrator with a verification code
  const steady = new UserAgent({ issuer });
  await steady.signIn({ username: 'admin', password });
  const forgotten = await first.get('/password/forgotten');
  await first.post('/password/forgotten', { ...hiddenFields(forgotten.body), login: ada.username });
  const { body: deferred } = await call(`${issuer}/register`, {
    body: { redirect_uris: [redirectUri], client_name: 'Deferred', registration_mode: ['approval'] },
  });
  const browserState = steady.cookies.get('GATEHOUSE_BROWSER_STATE');
  expect(browserState).toBeDefined();

  /** Runs sign-in, consent, codes, tokens signed by a secret and by a key, a delivered logout, and the signed end of a session. */
  async function runFlows(): Promise<void> {
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
    const delivered = receiver.received.length;
    expect((await agent.submit(await agent.get('/logout'), { decision: 'sign-out' })).body).toContain('signed out');
    await eventually(
      async () => receiver.received.length,
      (count) => count > delivered,
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

  let runs = 0;
  let running = true;
  let held: Promise<unknown> = Promise.resolve();
  let failure: unknown;
  const traffic = (async () => {
    while (running) {
      await held;
      await runFlows();
      runs++;
    }
  })().catch((error: unknown) => (failure = error));
  /** Waits until the current run has ended. */
  const runEnds = async () => {
    const begun = runs;
    await eventually(
      async () => failure !== undefined || runs > begun,
      (done) => done,
    );
    expect(failure).toBeUndefined();
  };
  /** Restarts an instance as an operator does: first the load balancer leaves it out. Flows that were open before continue afterwards. */
  async function restart(index: number, ...keys: string[]): Promise<void> {
    const agent = new UserAgent({ issuer });
    const form = await agent.get('/login');
    await database.sql('UPDATE authenticators SET last_step = 0');
    const guest = new UserAgent({ issuer });
    const secondStep = await guest.signIn(ada);
    expect(secondStep.url).toContain('/login/second-factor');

    let resume!: () => void;
    held = new Promise<void>((resolve) => (resume = resolve));
    await runEnds();
    balancer.up.splice(balancer.up.indexOf(ports[index]!), 1);
    balancer.cut();
    resume();
    instances[index]!.kill('SIGTERM');
    expect(await instances[index]!.exited).toMatchObject({ code: 0 });
    instances[index] = await start(index, keys.join(','));

    await runEnds();
    expect((await agent.signIn({ username: 'admin', password }, form)).url).toBe(`${issuer}/account`);
    expect((await guest.submit(secondStep, { code: app.code(1) })).url).toBe(`${issuer}/account`);
    expect((await steady.get('/account')).status).toBe(200);
    // a code of the old key is valid as long as SECRET_KEY lists that key
    const code = deferred['verification_code'] as string;
    const review = await steady.get(`/admin/registration?verification_code=${code}`);
    if (keys.includes(oldKey)) expect(review.body).toContain('Deferred');
  }
  const reencrypt = (...keys: string[]) => commandHere(keys.join(','), ['secret-key', 'reencrypt']);

  await runEnds();
  await restart(0, oldKey, newKey);
  await restart(1, oldKey, newKey);
  await expect(reencrypt(newKey, oldKey)).rejects.toThrow(`2 instances encrypt with the key ${oldId}`);
  await restart(0, newKey, oldKey);
  await expect(reencrypt(newKey, oldKey)).rejects.toThrow(`An instance encrypts with the key ${oldId}`);
  await expect(reencrypt(oldKey, newKey)).rejects.toThrow(`An instance encrypts with the key ${newId}`);
  await restart(1, newKey, oldKey);
  // the key that is no longer first is still needed
  const early = startServer({ ...settings(newKey), PORT: String(await freePort()) });
  expect(await early.exited).toMatchObject({ code: 1 });
  expect(early.stderr).toMatch(
    new RegExp(`^The setting SECRET_KEY, [^\n]* lacks the key ${oldId}, [^\n]* holds ${newId}\\)\\.\n$`),
  );
  // the outcomes of the forms of the sign-ins above, which are kept for ten seconds
  await database.sql('DELETE FROM form_outcomes');
  // four signing keys, three shared secrets, one client secret, one authenticator
  const encrypted = { secret_key_id: newId, not_needed: [oldId], not_needed_in: 1800 };
  expect(await reencrypt(newKey, oldKey)).toEqual({ ...encrypted, values: 9 });
  expect(await reencrypt(newKey, oldKey)).toEqual({ ...encrypted, values: 0 });
  await runEnds();
  // relying parties saw no change of the session in all this time
  expect(steady.cookies.get('GATEHOUSE_BROWSER_STATE')).toBe(browserState);
  await restart(0, newKey);
  await restart(1, newKey);
  expect(await reencrypt(newKey)).toEqual({ secret_key_id: newId, not_needed: [], not_needed_in: 0, values: 0 });
  running = false;
  await traffic;
  expect(failure).toBeUndefined();

  await mailServer.start();
  await database.sql('UPDATE outbox SET next_attempt_at = now()');
  await vi.waitUntil(() => mailServer.mails.some(({ link }) => link !== undefined), { timeout: 30_000, interval: 50 });
  const { link } = mailServer.mails.find((mail) => mail.link !== undefined)!;
  expect((await new UserAgent({ issuer }).get(link!)).status).toBe(200);

  const late = startServer({ ...settings(oldKey), PORT: String(await freePort()) });
  expect(await late.exited).toMatchObject({ code: 1 });
  expect(late.stderr).toContain(`lacks the key ${newId}`);
  const events = await database.sql<{ detail: object }>(
    `SELECT detail FROM audit_events WHERE type = 'secret_key.reencrypted' ORDER BY id`,
  );
  expect(events.map(({ detail }) => detail)).toEqual([
    { secret_key_id: newId, values: 9, not_needed: [oldId] },
    { secret_key_id: newId, values: 0, not_needed: [oldId] },
    { secret_key_id: newId, values: 0, not_needed: [] },
  ]);
  for (const { stdout, stderr } of [...instances, early, late])
    for (const key of [oldKey, newKey]) expect(stdout + stderr).not.toContain(key);
  for (const instance of instances) expect(instance.stderr).not.toMatch(/"level":(50|60)/);
});

test('the file in DATA_DIR holds a list of keys as SECRET_KEY does (decisions section 8, security R29, R111)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-key-'));
  try {
    const settings = { DATA_DIR: join(folder, 'data') };
    const file = join(settings.DATA_DIR, 'secret-key');
    const first = startServer({ ...settings, PORT: String(await freePort()) });
    await first.ready();
    first.kill('SIGTERM');
    await first.exited;
    const before = readFileSync(file, 'utf8').trim();
    const [oldId, added] = [parseSecretKey(before).id, randomSecret()];
    writeFileSync(file, `${added},${before.slice(1)}\n`);
    const short = runCommand(['keys', 'list'], settings);
    await expect(short).rejects.toThrow(/The file .*secret-key does not contain secret keys: .*SECRET_KEY/);
    await expect(short).rejects.not.toThrow(before.slice(1));
    writeFileSync(file, `${added}\n`);
    await expect(runCommand(['keys', 'list'], settings)).rejects.toThrow(`lacks the key ${oldId}`);
    writeFileSync(file, `${added},${before}\n`);
    expect(await runCommand(['secret-key', 'reencrypt'], settings)).toMatchObject({ values: 4, not_needed: [oldId] });
    writeFileSync(file, `${added}\n`);
    expect(await runCommand(['keys', 'list'], settings)).toHaveLength(4);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a re-encryption that is killed in the middle is completed by the next one (decisions section 8, security R29)', async () => {
  const [oldKey, newKey] = [randomSecret(), randomSecret()];
  const settings = (secretKey: string) => ({ DATABASE_URL: database.url, SECRET_KEY: secretKey });
  await commandHere(oldKey, ['user', 'create', '--username', 'ada', '--password-stdin']);
  await commandHere(oldKey, ['keys', 'list']);
  const count = 2_000;
  const names = Array.from({ length: count }, (_, index) => `authenticator ${index}`);
  const open = (key: string) => createSecretBox([parseSecretKey(key)]);
  const box = open(oldKey);
  await database.sql(
    `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step)
     SELECT n.id, u.sub, '', n.sealed, 0 FROM users u, unnest($1::text[], $2::bytea[]) AS n (id, sealed) WHERE u.username = 'ada'`,
    [names, names.map((name) => box.seal(`key of ${name}`, `authenticators.secret_encrypted.${name}`))],
  );
  const list = `${newKey},${oldKey}`;
  // the command waits in the middle for a row that a transaction holds
  const holder = new pg.Client(database.url);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(
    'SELECT FROM authenticators WHERE id = (SELECT id FROM authenticators ORDER BY id OFFSET $1 LIMIT 1) FOR UPDATE',
    [count * 0.75],
  );
  const waiting = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const killed = startCommand(['secret-key', 'reencrypt'], settings(list));
  await eventually(
    () => database.sql(`SELECT pid ${waiting}`),
    (found) => found.length > 0,
  );
  expect(killed.stderr).toContain(`of ${count + 4} values`);
  killed.kill('SIGKILL');
  await killed.exited;
  // what waits may not go on once the row is free: PostgreSQL would only then learn that the command is gone
  await eventually(
    () => database.sql(`SELECT pg_terminate_backend(pid) ${waiting}`),
    (found) => found.length === 0,
  );
  await holder.end();
  const left = async () =>
    (
      await database.sql<{ n: number }>(
        'SELECT count(*)::int AS n FROM authenticators WHERE sealed_key_id(secret_encrypted) = $1',
        [parseSecretKey(oldKey).id],
      )
    )[0]!.n;
  const rest = await left();
  expect(rest).toBeGreaterThan(0);
  expect(rest).toBeLessThan(count);

  expect(await commandHere(list, ['secret-key', 'reencrypt'])).toMatchObject({ values: rest });
  expect(await left()).toBe(0);
  const stored = await database.sql<{ id: string; sealed: Buffer }>(
    'SELECT id, secret_encrypted AS sealed FROM authenticators',
  );
  for (const { id, sealed } of stored)
    expect(open(newKey).open(sealed, `authenticators.secret_encrypted.${id}`).toString()).toBe(`key of ${id}`);
  expect(await commandHere(newKey, ['keys', 'list'])).toHaveLength(4);
});
