// Runs the bare reference: a Fastify server that does only the minimum of each operation, with prepared statements.
import {
  createHash,
  type JsonWebKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import fastifyFormbody from '@fastify/formbody';
import argon2 from 'argon2';
import Fastify from 'fastify';
import pg from 'pg';

// discovery and jwks: files with the service's answers
const [url, poolSize, discovery, jwks] = process.argv.slice(2);
// the same plans as the service's connections: a plan made while the table was small reads all of it when it has grown
const options = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off';
const pool = new pg.Pool({ connectionString: url, max: Number(poolSize), idleTimeoutMillis: 600_000, options });
await pool.query(
  `CREATE TABLE IF NOT EXISTS bench_rows (id bytea PRIMARY KEY, owner text NOT NULL, body jsonb NOT NULL, expires_at timestamptz NOT NULL)`,
);
const body = { name: 'Alice Adams', email: 'alice@example.com', email_verified: true };
const select = { name: 'select', text: 'SELECT owner, body, expires_at FROM bench_rows WHERE id = $1' };
const insert = {
  name: 'insert',
  text: `INSERT INTO bench_rows (id, owner, body, expires_at) VALUES ($1, $2, $3, now() + interval '1 hour')`,
};
// a page of 100, of the 300 rows or so with which a run begins
const count = {
  name: 'count',
  text: 'SELECT count(*) FROM (SELECT FROM bench_rows ORDER BY id LIMIT 300) AS first',
};
const page = { name: 'page', text: 'SELECT owner, body, expires_at FROM bench_rows ORDER BY id LIMIT 100' };
const update = { name: 'update', text: 'UPDATE bench_rows SET body = $2 WHERE id = $1' };
// spends a code or a refresh token, and stores its successor: one statement, one commit
const redeem = {
  name: 'redeem',
  text: `WITH spent AS (UPDATE bench_rows SET expires_at = now() WHERE id = $1 AND expires_at > now() RETURNING owner)
         INSERT INTO bench_rows (id, owner, body, expires_at) SELECT $2, owner, $3, now() + interval '1 hour' FROM spent`,
};

interface Row {
  owner: string;
  body: object;
  expires_at: Date;
}
const hash = (token: string) => createHash('sha256').update(token).digest();
async function find(token: string): Promise<Row | undefined> {
  return (await pool.query<Row>({ ...select, values: [hash(token)] })).rows[0];
}
async function store(): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await pool.query({ ...insert, values: [hash(token), 'reference', body] });
  return token;
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicKey = createPublicKey(privateKey);
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
function idToken(): string {
  const text = `${encode({ alg: 'RS256', kid: 'bench' })}.${encode({ iss: 'reference', exp: Date.now(), nonce: 'n', ...body })}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`;
}
function isOwn(jwt: string): boolean {
  const end = jwt.lastIndexOf('.');
  return verify('RSA-SHA256', Buffer.from(jwt.slice(0, end)), publicKey, Buffer.from(jwt.slice(end + 1), 'base64url'));
}
async function spend(token: string): Promise<object> {
  const next = randomBytes(32).toString('base64url');
  const { rowCount } = await pool.query({ ...redeem, values: [hash(token), hash(next), body] });
  if (rowCount !== 1) throw new Error('it was spent before');
  return { access_token: next, refresh_token: next, token_type: 'Bearer', expires_in: 3600, id_token: idToken() };
}

/** Verifies the signature of a DPoP proof by the key in its header. */
function proves(proof: string): boolean {
  const [header, payload, signature] = proof.split('.') as [string, string, string];
  const { jwk } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { jwk: JsonWebKey };
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  return verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
}

const app = Fastify({ logger: false });
await app.register(fastifyFormbody);
interface Form {
  Body: Record<string, string>;
}
const bearer = (request: { headers: { authorization?: string | undefined } }) =>
  request.headers.authorization!.slice(7);
app.post<Form>('/parse', async (request) => ({ active: request.body['token'] === 'x' }));
app.post<Form>('/introspect', async (request) => {
  const row = await find(request.body['token']!);
  return row ? { active: true, sub: row.owner, exp: row.expires_at.getTime(), ...row.body } : { active: false };
});
app.post<Form>('/introspect-jwt', async (request) => {
  const [token, jwt] = request.body['token']!.split('~');
  return { active: isOwn(jwt!) && (await find(token!)) !== undefined };
});
app.get('/user', async (request) => (await find(bearer(request)))?.body);
app.get('/list', async () => {
  const [counted, listed] = await Promise.all([pool.query(count), pool.query(page)]);
  return { total: counted.rows, found: listed.rows };
});
app.get('/user-bound', async (request) => {
  const [row] = await Promise.all([find(bearer(request)), store()]);
  return proves(request.headers['dpop'] as string) ? row?.body : undefined;
});
app.get('/user-certified', async (request) => {
  const certificate = Buffer.from((request.headers['client-cert'] as string).slice(1, -1), 'base64');
  const row = await find(bearer(request));
  return createHash('sha256').update(certificate).digest().length > 0 ? row?.body : undefined;
});
app.post<Form>('/exchange', async (request) => {
  if (!(await find(request.body['subject_token']!))) throw new Error('there is no such token');
  return { access_token: await store(), token_type: 'Bearer', expires_in: 3600 };
});
app.post('/token', async () => ({ access_token: await store(), token_type: 'Bearer', expires_in: 3600 }));
app.post('/token-jwt', async () => {
  await store();
  return { access_token: idToken(), token_type: 'Bearer', expires_in: 3600 };
});
app.post<Form>('/redeem', (request) => spend(request.body['token']!));
app.get<{ Querystring: { session: string; state: string } }>('/authorize', async (request, reply) => {
  await find(request.query.session);
  return reply.redirect(`https://rp.example.com/callback?code=${await store()}&state=${request.query.state}`);
});
app.put<{ Body: object }>('/settings', async (request) => {
  await pool.query({ ...update, values: [hash(bearer(request)), request.body] });
  return '';
});
app.get('/jwt', async () => ({ jwt: `${await store()}~${idToken()}` }));
for (const [path, file] of Object.entries({ '/discovery': discovery!, '/jwks': jwks! })) {
  const text = readFileSync(file, 'utf8');
  app.get(path, (_request, reply) => reply.type('application/json').send(text));
}

// sign-in: stores a request, then a session, then the decision with the code
const form =
  '<!doctype html><html lang="en"><title>Bare</title><form method="post"><button>Go on</button></form></html>';
app.get('/request', async (_request, reply) => {
  await store();
  return reply.type('text/html').send(form);
});
app.post<Form>('/sign-in', async (request, reply) => {
  await find(request.body['user']!);
  await store();
  return reply.type('text/html').send(form);
});
app.post('/consent', async (_request, reply) =>
  reply.redirect(`https://rp.example.com/callback?code=${await store()}`),
);

// as many at a time as the service hashes, with its parameters
const work = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const passwordHash = await argon2.hash('correct horse battery staple', work);
let hashing: Promise<unknown> = Promise.resolve();
app.post<Form>('/hash', async (request) => {
  const own = hashing.then(() => argon2.verify(passwordHash, request.body['password']!));
  hashing = own;
  return { right: await own };
});

await app.listen({ port: 0, host: 'localhost' });
process.on('SIGTERM', () => process.exit(0));
process.stdout.write(`listening on ${(app.server.address() as { port: number }).port}\n`);
