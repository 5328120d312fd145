// Plants faults at a running service behind a proxy with TLS, and reads what `gatehouse doctor` says about each.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Finished, runCommand, runCommandProcess } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { freePort, startServer, stopServers } from '../helpers/server-process.ts';

interface Line {
  check: string;
  state: 'ok' | 'warning' | 'fault';
  says: string;
  todo?: string;
}

const secretKey = randomBytes(32).toString('base64url');
const mailPassword = 'let me in';
const mail = new MailServer();
/** How the proxy treats a request. */
const proxy = { from: '127.0.0.1', forwards: true, host: '', hsts: true, most: 64 * 1024, status: 0 };
const well = { ...proxy };
let folder: string;
let database: TestDatabase;
let front: https.Server;
let issuer: string;
let place: Parameters<typeof runCommand>[0];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-doctor-'));
  makeCertificates(folder, { days: 365 });
  database = await createTestDatabase();
  await mail.start();
  const port = await freePort();
  front = https.createServer(
    { key: readFileSync(join(folder, 'server.key')), cert: readFileSync(join(folder, 'server.pem')) },
    (request, response) => forward(port, request, response),
  );
  front.listen(0, 'localhost');
  await once(front, 'listening');
  issuer = `https://localhost:${(front.address() as AddressInfo).port}`;
  place = { issuer, database, secretKey };
  const server = startServer({
    PORT: String(port),
    HOST: '127.0.0.1',
    BASE_URL: issuer,
    DATABASE_URL: database.url,
    SECRET_KEY: secretKey,
    TRUST_PROXY: '127.0.0.1',
    SMTP_URL: `smtp://gatehouse:${encodeURIComponent(mailPassword)}@127.0.0.1:${mail.port}`,
    DATA_DIR: folder,
  });
  await server.ready();
}, 60_000);
afterAll(async () => {
  await stopServers();
  front?.close();
  await mail.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Forwards a request as the proxy of this moment does. */
function forward(port: number, request: http.IncomingMessage, response: http.ServerResponse): void {
  const { from, forwards, host, hsts, most, status } = { ...proxy };
  if (status !== 0) return void response.writeHead(status).end();
  const headers: http.OutgoingHttpHeaders = {
    ...request.headers,
    ...(host !== '' && { host }),
    ...(forwards && { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https' }),
  };
  const onward = http.request(
    { port, host: '127.0.0.1', localAddress: from, path: request.url, headers, maxHeaderSize: 64 * 1024 },
    (answer) => {
      const size = answer.rawHeaders.join('').length;
      if (size > most) return void response.writeHead(502).end();
      const kept = { ...answer.headers };
      if (!hsts) delete kept['strict-transport-security'];
      response.writeHead(answer.statusCode!, kept);
      answer.pipe(response);
    },
  );
  request.pipe(onward);
}

const credentials = { SMTP_URL: '' };

async function examined(environment: Record<string, string> = {}): Promise<{ code: number | null; lines: Line[] }> {
  const done = await runCommand(place, ['doctor', '--json'], { environment: { ...credentials, ...environment } });
  return { code: done.code, lines: linesOf(done) };
}

function linesOf({ stdout }: Finished): Line[] {
  for (const secret of [secretKey, mailPassword, encodeURIComponent(mailPassword)])
    expect(stdout).not.toContain(secret);
  return (JSON.parse(stdout) as { checks: Line[] }).checks;
}

/** What a check says that is not well. */
const of = (lines: readonly Line[], name: string) =>
  lines.filter(({ check, state }) => check === name && state !== 'ok');

test('a service in good order is well: the doctor exits with 0, has changed nothing, and shows no secret (delivery 1)', async () => {
  const noted = await runCommand(place, ['backup', 'note']);
  expect(noted).toMatchObject({ code: 0, stderr: '' });
  const before = await database.sql('SELECT count(*) FROM audit_events');
  const done = await runCommandProcess(place, ['doctor', '--json'], {
    environment: {
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
      SMTP_URL: `smtp://gatehouse:${encodeURIComponent(mailPassword)}@127.0.0.1:${mail.port}`,
    },
  });
  const lines = linesOf(done);
  // on an installed server the tests' role is a superuser, and the doctor says so
  const [role] = await database.sql<{ super: boolean }>(
    'SELECT rolsuper AS super FROM pg_roles WHERE rolname = current_user',
  );
  expect(lines.filter(({ state }) => state !== 'ok').map(({ check }) => check)).toEqual(role!.super ? ['rights'] : []);
  expect([done.code, done.stderr]).toEqual([role!.super ? 1 : 0, '']);
  for (const name of ['issuer', 'proxy', 'tls', 'headers', 'database', 'mail', 'clock'])
    expect(lines.map(({ check }) => check)).toContain(name);
  expect(mail.mails).toEqual([]);
  expect(await database.sql('SELECT FROM doctor_probes')).toEqual([]);
  expect(await database.sql('SELECT count(*) FROM audit_events')).toEqual(before);
  const screen = await runCommand(place, ['doctor']);
  expect(screen.stdout.split('\n').length).toBeLessThan(40);
});

test('every planted fault is named with what to do, and the exit code is 2 (delivery 1)', async () => {
  Object.assign(proxy, { from: '127.0.0.2', host: 'inner:3000', hsts: false, most: 4096 });
  await database.sql(
    `INSERT INTO connections (id, kind, display_name, status, settings)
     VALUES ('far', 'oidc', 'Far', 'enabled', '{"issuer": "https://127.0.0.1:1", "client_id": "here"}')`,
  );
  await database.sql(
    `INSERT INTO outbox (channel, name, created_at, next_attempt_at, attempts, last_failure)
     VALUES ('mail', 'invitation', now() - interval '2 hours', now() + interval '1 day', 9, 'no such mailbox')`,
  );
  const weak = join(folder, 'weak');
  writeFileSync(weak, 'a-weak-one\n');
  const options = ['--name', 'Easy', '--redirect-uri', 'https://rp.example.com/callback', '--client-id', 'easy'];
  const created = await runCommand(place, [
    'client',
    'create',
    ...options,
    '--client-secret-file',
    weak,
    '--weak-secret',
  ]);
  expect([created.code, created.stderr]).toEqual([0, '']);
  const trial = await runCommand(place, [
    'client',
    'create',
    '--name',
    'Trial',
    '--client-id',
    'trial',
    '--development',
    '--redirect-uri',
    'http://app.lan/callback',
  ]);
  expect([trial.code, trial.stderr]).toEqual([0, '']);
  await database.sql(`DELETE FROM migrations WHERE name = '0175_doctor_probes'`);
  await database.sql(
    `UPDATE service_settings SET version = '0.0.9', settings = settings ||
       '{"SMTP_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "accounts@gatehouse.invalid", "SIGN_UP_DOMAINS": "example.com"}'`,
  );
  await database.sql(`ALTER TABLE audit_events DISABLE TRIGGER USER`);
  await database.sql(`DELETE FROM audit_events WHERE type = 'backup.noted'`);
  // as an instance whose clock is behind would store it
  await database.sql(
    `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       NEW.seen := NEW.seen || jsonb_build_object('at', (NEW.seen ->> 'at')::timestamptz - interval '9 seconds'); RETURN NEW; END $$`,
  );
  await database.sql('CREATE TRIGGER late BEFORE UPDATE ON doctor_probes FOR EACH ROW EXECUTE FUNCTION late()');
  const { code, lines } = await examined({ DATABASE_POOL_SIZE: '1000' });
  expect(code).toBe(2);
  const expected: [string, Line['state'], RegExp, RegExp][] = [
    ['proxy', 'fault', /TRUST_PROXY does not name the proxy at 127\.0\.0\.2/, /Set TRUST_PROXY=127\.0\.0\.2/],
    ['proxy', 'warning', /sends the Host inner:3000/, /proxy_set_header Host/],
    ['tls', 'fault', /certificate is not trusted/, /NODE_EXTRA_CA_CERTS/],
    ['tls', 'warning', /removes the header Strict-Transport-Security/, /pass on the header/],
    ['headers', 'fault', /cannot pass on the long answer \(502\)/, /proxy_buffer_size 32k/],
    ['mail', 'fault', /127\.0\.0\.1:1 is not usable/, /SMTP_URL/],
    ['sender', 'warning', /gatehouse\.invalid/, /MAIL_FROM/],
    ['settings', 'warning', /SIGN_UP_DOMAINS is set, and SIGN_UP is off/, /SIGN_UP=on/],
    ['providers', 'fault', /^far: /, /gatehouse connection show far/],
    ['jobs', 'warning', /1 row of mail waits since .* \(no such mailbox\)/, /tries again/],
    ['backups', 'warning', /no backup is recorded/, /gatehouse backup note/],
    ['weakened', 'warning', /^weak_secret: easy$/, /gatehouse client new-secret/],
    ['weakened', 'warning', /^development: trial$/, /--unset development/],
    ['clock', 'warning', /^the clock of the instance is [89](\.\d)? s behind that of the database$/, /NTP/],
    ['schema', 'warning', /1 migration is pending \(0175_doctor_probes\)/, /gatehouse migrate/],
    ['instances', 'warning', /the service has version 0\.0\.9/, /version that serves/],
  ];
  for (const [name, state, says, todo] of expected)
    expect(of(lines, name), name).toContainEqual({
      check: name,
      state,
      says: expect.stringMatching(says) as string,
      todo: expect.stringMatching(todo) as string,
    });
  await database.sql('DROP TRIGGER late ON doctor_probes');
});

test('another key, a newer schema and an address that leads elsewhere are faults, too (delivery 1)', async () => {
  await database.sql(`INSERT INTO migrations (name, run_on) VALUES ('9999_tomorrow', now())`);
  const other = randomBytes(32).toString('base64url');
  const elsewhere = await freePort();
  await database.sql(`UPDATE service_settings SET settings = settings || $1`, [
    JSON.stringify({ BASE_URL: `http://localhost:${elsewhere}` }),
  ]);
  const { code, lines } = await examined({ SECRET_KEY: other, BASE_URL: '' });
  expect(code).toBe(2);
  expect(of(lines, 'secret-key')).toMatchObject([
    { state: 'fault', says: expect.stringContaining(parseSecretKey(secretKey).id) as string },
  ]);
  expect(of(lines, 'schema')).toMatchObject([
    { state: 'fault', says: expect.stringContaining('9999_tomorrow') as string },
  ]);
  expect(of(lines, 'issuer')).toMatchObject([
    {
      state: 'fault',
      says: expect.stringContaining('ECONNREFUSED') as string,
      todo: expect.stringMatching(/BASE_URL/) as string,
    },
  ]);
  // another server answers there
  Object.assign(proxy, { ...well, status: 404 });
  await database.sql(`UPDATE service_settings SET settings = settings || $1`, [JSON.stringify({ BASE_URL: issuer })]);
  expect(of((await examined()).lines, 'issuer')).toMatchObject([
    { state: 'fault', says: expect.stringContaining('answers 404') as string },
  ]);
});

test('a database that does not answer, and a wrong setting, are one fault with its sentence (delivery 1)', async () => {
  const refused = await examined({ DATABASE_URL: 'postgresql://gatehouse:a-password-of-it@127.0.0.1:1/gatehouse' });
  expect(refused.code).toBe(2);
  expect(refused.lines.filter(({ state }) => state === 'fault').map(({ check }) => check)).toEqual(['database']);
  expect(JSON.stringify(refused.lines)).not.toContain('a-password-of-it');
  const wrong = await runCommand(place, ['doctor', '--json'], { environment: { PORT: 'many' } });
  expect([wrong.code, wrong.stderr]).toEqual([2, '']);
  expect(linesOf(wrong)).toMatchObject([
    { check: 'settings', state: 'fault', says: expect.stringContaining('PORT') as string },
  ]);
});

test('an id counts once and for a minute, and the answer of an unknown one is the same (delivery 1)', async () => {
  Object.assign(proxy, well);
  await database.sql(`DELETE FROM migrations WHERE name = '9999_tomorrow'`);
  const known = randomBytes(32).toString('base64url');
  const ask = async (id: string) => {
    const answer = await new Promise<http.IncomingMessage>((resolve) => {
      https.get(`${issuer}/health/live?probe=${id}&state=abc`, { rejectUnauthorized: false }, resolve);
    });
    answer.resume();
    return [answer.statusCode, answer.headers['x-gatehouse-state']];
  };
  const store = (id: string, age: number) =>
    database.sql(
      `INSERT INTO doctor_probes (id_hash, created_at) VALUES (sha256(convert_to('doctor probe', 'UTF8') || '\\x00'::bytea || convert_to($1, 'UTF8')), now() - make_interval(secs => $2))`,
      [id, age],
    );
  await store(known, 0);
  expect(await ask(known)).toEqual([200, 'abcabc']);
  expect(await ask(known)).toEqual([200, undefined]);
  const old = randomBytes(32).toString('base64url');
  await store(old, 61);
  expect(await ask(old)).toEqual([200, undefined]);
  expect(await ask(randomBytes(32).toString('base64url'))).toEqual([200, undefined]);
  expect(await database.sql('SELECT seen FROM doctor_probes WHERE seen IS NOT NULL')).toMatchObject([
    { seen: { peer: '127.0.0.1', address: '203.0.113.7', forwarded: true, trusted: true, scheme: 'https' } },
  ]);
});
