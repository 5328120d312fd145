// Fills a database with everything that this version stores, and writes its dump for the upgrade test: node scripts/upgrade-fixture.ts, at the tag of a release.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { installedVersion } from '../src/config/version.ts';
import { parseSecretKey } from '../src/crypto/secret-key.ts';
import { runCommand } from '../test/helpers/command-line.ts';
import { startDocumentServer } from '../test/helpers/document-server.ts';
import { everyMember } from '../test/helpers/every-member.ts';
import { PostgresServer } from '../test/helpers/postgres-server.ts';
import type { ReleasedDatabase } from '../test/helpers/released.ts';
import { freePort, startServer, stopServers } from '../test/helpers/server-process.ts';
import { responseParameters, tokenRequest, UserAgent } from '../test/helpers/user-agent.ts';

/** Nothing of this is secret: the fixture is public, and its key opens nothing else. */
const secretKey = hash('sha256', 'the key of the released database', 'base64url');
const password = 'correct horse battery staple';
const clientSecret = '0123456789abcdefghijklmnopqrstuv-0123456789ABCDEF';
const hook = `whsec_${Buffer.alloc(32, 'w').toString('base64')}`;
const variables = {
  EVERY_SECRET: '0123456789abcdef0123456789abcdef',
  EVERY_WEAK_SECRET: 'open sesame',
  EVERY_WEBHOOK_SECRET: hook,
};
/** What pg_dump must not be newer than: the oldest PostgreSQL that the service runs on reads the dump as well. */
const versions = '/usr/lib/postgresql';

const version = installedVersion();
const target = join(import.meta.dirname, '../test/fixtures/released');
const bin = readdirSync(versions)
  .map((major) => join(versions, major, 'bin'))
  .find((path) => existsSync(join(path, 'pg_dump')) && existsSync(join(path, 'initdb')));
if (bin === undefined) throw new Error(`no PostgreSQL with pg_dump is installed in ${versions}`);
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fixture-'));
chmodSync(folder, 0o755);
const postgres = await PostgresServer.create(join(folder, 'server'), bin);
const documents = await startDocumentServer();
try {
  const dump = await fill();
  mkdirSync(target, { recursive: true });
  const packed = gzipSync(dump.sql, { level: 9 });
  writeFileSync(join(target, `${version}.sql.gz`), packed);
  writeFileSync(join(target, `${version}.json`), `${JSON.stringify(dump.known, null, 2)}\n`);
  process.stdout.write(`${version}: ${packed.length} bytes, ${Object.keys(dump.known.rows).length} tables with rows\n`);
} finally {
  await stopServers();
  await documents.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function fill(): Promise<{ sql: string; known: ReleasedDatabase }> {
  const url = `postgresql://gatehouse@127.0.0.1:${postgres.port}/gatehouse`;
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  documents.documents.set('/sector.json', { body: ['https://pairwise.example/callback'] });
  const settings = {
    BASE_URL: issuer,
    PORT: String(port),
    DATABASE_URL: url,
    SECRET_KEY: secretKey,
    DATA_DIR: join(folder, 'data'),
    ADMIN_PASSWORD: password,
    OUTBOUND_ALLOW: documents.allow,
    CONNECTIONS_ALLOW: 'directory.example:636,other.example:636',
    TRUST_PROXY: '127.0.0.1,::1',
    MTLS_BASE_URL: 'https://mtls.example',
    CLIENT_CERT_HEADER: 'Client-Cert',
    CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
  };
  await startServer(settings).ready();
  const place = { issuer, database: { url }, secretKey } as Parameters<typeof runCommand>[0];
  const run = async (words: string[], stdin?: string) => {
    const environment = { ...settings, ...variables };
    const done = await runCommand(place, words, { environment, ...(stdin !== undefined && { stdin }) });
    if (done.code !== 0) throw new Error(`${words.join(' ')}: ${done.stderr}`);
    return done.stdout;
  };
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  const head = { apiVersion: 'gatehouse/v1', name: 'every' };
  const every = everyMember(`${documents.origin}/sector.json`);
  await run(['config', 'apply', file('every.yaml', JSON.stringify({ ...head, ...every }))]);
  const ada = { username: 'ada', email: 'ada@kept.example', email_verified: true, name: 'Ada', groups: ['crew'] };
  const totp = [{ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', name: 'Telephone' }];
  const users = [ada, { username: 'grace', email: 'grace@kept.example', totp }];
  await run(['user', 'import', file('users.jsonl', users.map((user) => JSON.stringify(user)).join('\n'))]);
  for (const { username } of users) await run(['user', 'set-password', username, '--password-stdin'], password);
  const redirectUri = 'https://kept.example/callback';
  const options = ['--name', 'Kept', '--redirect-uri', redirectUri, '--client-id', 'kept', '--scope', 'openid profile'];
  const grants = ['authorization_code', 'refresh_token'].flatMap((grant) => ['--grant-type', grant]);
  const secret = ['--client-secret-file', file('secret', clientSecret)];
  await run(['client', 'create', ...options, ...grants, ...secret]);
  await run([
    'sign-up-link',
    'create',
    'Kept link',
    '--uses',
    '5',
    '--expires-at',
    new Date(Date.now() + 20 * 86_400_000).toISOString(),
  ]);
  await run(['user', 'invite', 'waiting', '--email', 'waiting@kept.example']);
  await run(['backup', 'note']);

  const client = {
    clientId: 'kept',
    redirectUri,
    basic: `Basic ${Buffer.from(`kept:${clientSecret}`).toString('base64')}`,
  };
  const agent = new UserAgent({ issuer });
  const answer = responseParameters(await agent.authorize(client, { username: 'ada', password }));
  const tokens = await tokenRequest(issuer, client, {
    grant_type: 'authorization_code',
    code: answer['code'] ?? '',
    redirect_uri: redirectUri,
  });
  if (tokens.status !== 200) throw new Error(JSON.stringify(tokens.body));
  // a refused sign-in leaves its traces, too
  await agent.get('/authorize?client_id=unknown');
  await stopServers();

  const sql = execFileSync(
    join(bin!, 'pg_dump'),
    ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', url],
    { env: { ...process.env, PGTZ: 'UTC' }, encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  const names = await postgres.sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  const rows: Record<string, number> = {};
  for (const { name } of names) {
    const [row] = await postgres.sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${name}`);
    if (row!.count > 0) rows[name] = row!.count;
  }
  return {
    // lines that begin with a backslash are for psql
    sql: sql.replace(/^\\.*\n/gm, ''),
    known: {
      version,
      commit: execFileSync('git', ['-C', import.meta.dirname, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim(),
      dumpedAt: new Date().toISOString(),
      secretKey,
      secretKeyId: parseSecretKey(secretKey).id,
      users: { plain: 'ada', second: 'grace', administrator: 'admin', password, totp: totp[0]!.secret },
      client,
      refreshToken: String(tokens.body['refresh_token']),
      accessToken: String(tokens.body['access_token']),
      rows,
    },
  };
}
