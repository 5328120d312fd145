// What the service is measured against: a bare Fastify with one prepared SELECT by primary key and one INSERT, and nothing else.
import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

const [url, poolSize] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: Number(poolSize) });
await pool.query(
  `CREATE TABLE IF NOT EXISTS bench_rows (id bytea PRIMARY KEY, owner text NOT NULL, body jsonb NOT NULL, expires_at timestamptz NOT NULL)`,
);
const body = { name: 'Alice Adams', email: 'alice@example.com', email_verified: true };
const select = { name: 'select', text: 'SELECT owner, body, expires_at FROM bench_rows WHERE id = $1' };
const insert = {
  name: 'insert',
  text: `INSERT INTO bench_rows (id, owner, body, expires_at) VALUES ($1, $2, $3, now() + interval '10 minutes')`,
};

const app = Fastify({ logger: false });
app.get<{ Params: { id: string } }>('/row/:id', async (request) => {
  const { rows } = await pool.query({ ...select, values: [Buffer.from(request.params.id, 'base64url')] });
  return rows[0] as unknown;
});
app.post('/row', async () => {
  const id = randomBytes(32);
  await pool.query({ ...insert, values: [id, 'reference', body] });
  return { id: id.toString('base64url') };
});
app.get('/constant', async () => body);
await app.listen({ port: 0, host: 'localhost' });
process.on('SIGTERM', () => process.exit(0));
process.stdout.write(`listening on ${(app.server.address() as { port: number }).port}\n`);
