// Fills the table of access tokens for bench/growth.ts as fast as the server can: drops indexes first and rebuilds them last, without
// flushing meanwhile.
import { execFileSync } from 'node:child_process';
import { totalmem } from 'node:os';
import pg from 'pg';
import { flushing } from './postgres.ts';

/** The limit of a statement, so that the run ends by itself. */
const longest = '15min';
const lanes = 2;

export interface Fill {
  clientId: string;
  /** Row numbers: from the first missing one to the last. */
  from: number;
  to: number;
  /** Hashes of tokens to put among the rows, at even distances, as their times are. */
  hashes: Buffer[];
  /** The creation time of row number 0, in milliseconds since 1970. */
  begin: number;
  /** Milliseconds between a row and the next. */
  step: number;
}

/** An expression for the hash of a token created at that time, in milliseconds since 1970: the time, and a digest of the text. */
export const hashAt = (time: string, text: string) =>
  `substring(int8send((${time})::bigint) FROM 3) || substring(sha256((${text})::bytea) FROM 1 FOR 26)`;

/** @param connection of a superuser */
export async function fillTokens(connection: pg.ClientConfig, fill: Fill): Promise<void> {
  const clients = await Promise.all(Array.from({ length: lanes }, () => connected(connection)));
  const [first] = clients as [pg.Client];
  try {
    await flushing(first, 'off');
    const { rows: indexes } = await first.query<{ name: string; definition: string; primary: boolean }>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition, indisprimary AS primary
         FROM pg_index WHERE indrelid = 'access_tokens'::regclass`,
    );
    for (const { name, primary } of indexes)
      await first.query(primary ? `ALTER TABLE access_tokens DROP CONSTRAINT ${name}` : `DROP INDEX ${name}`);

    const each = Math.ceil((fill.to - fill.from + 1) / lanes);
    await Promise.all(
      clients.map((client, lane) => {
        const from = fill.from + lane * each;
        const own = fill.hashes.slice(
          Math.ceil((fill.hashes.length / lanes) * lane),
          Math.ceil((fill.hashes.length / lanes) * (lane + 1)),
        );
        return insert(client, { ...fill, from, to: Math.min(fill.to, from + each - 1), hashes: own });
      }),
    );
    // the index of the primary key takes longest, and is started first
    const builds = indexes.toSorted((a, b) => Number(b.primary) - Number(a.primary));
    await Promise.all(
      clients.map(async (client) => {
        for (let index = builds.shift(); index; index = builds.shift()) await client.query(index.definition);
      }),
    );
    for (const { name, primary } of indexes)
      if (primary)
        await first.query(`ALTER TABLE access_tokens ADD CONSTRAINT ${name} PRIMARY KEY USING INDEX ${name}`);
    await first.query('VACUUM (ANALYZE) access_tokens');
  } finally {
    await flushing(first, 'on');
    await first.query('CHECKPOINT');
    // otherwise the next commits would include what the system still has to write
    execFileSync('sync');
    for (const client of clients) await client.end();
  }
}

async function insert(client: pg.Client, fill: Fill): Promise<void> {
  const { clientId, from, to, hashes, begin, step } = fill;
  const distance = Math.floor((to - from + 1) / Math.max(1, hashes.length));
  await client.query(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, issued_at, expires_at)
     SELECT CASE WHEN (n - $2) % $4 = 0 AND (n - $2) / $4 < cardinality($5::bytea[])
                 THEN ($5::bytea[])[1 + (n - $2) / $4] ELSE ${hashAt('at', 'n::text')} END,
            c.client_id, c.epoch, '', to_timestamp(at / 1000), now() + interval '1 day' * (1 + random())
       FROM clients c, generate_series($2::int, $3::int) n, LATERAL (SELECT $6::float8 + $7::float8 * n) t (at)
      WHERE c.client_id = $1`,
    [clientId, from, to, distance, hashes, begin, step],
  );
}

async function connected(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, application_name: 'bench' });
  await client.connect();
  await client.query(`SET statement_timeout = '${longest}'`);
  // 4 GB of 24: enough to sort 50 million rows without the disk
  await client.query(`SET maintenance_work_mem = '${Math.floor(totalmem() / 6 / 2 ** 20)}MB'`);
  // the other connection has the other processor
  await client.query('SET max_parallel_maintenance_workers = 0');
  await client.query('SET synchronous_commit = off');
  // the checks of triggers and foreign keys on each row are not measured
  await client.query('SET session_replication_role = replica');
  return client;
}
