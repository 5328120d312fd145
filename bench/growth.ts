// Growth: introspection and the issue of tokens with few and with many token rows, and while expired rows are deleted; beside a bare reference.
//
//   node bench/growth.ts                              with 10 thousand and 1 million rows, about two minutes
//   node bench/growth.ts --rows 10000,1000000,50000000   the last takes some 15 GB and half an hour to make
//
// Prints a table. Rates are told by their ratio to the reference's in the same round, so that sizes can be compared.
import { parseArgs } from 'node:util';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../src/database/database.ts';
import { createStore } from '../src/repositories/index.ts';
import { type Bed, withService } from './bed.ts';
import { command, startReference } from './children.ts';
import { basicOf, type Tokens } from './flows.ts';
import { type Load, loadWith } from './load.ts';
import { between, pin, placement, processorTimes } from './meter.ts';
import { median } from './report.ts';
import { bareSide } from './sides/bare.ts';
import { post } from './sides/side.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rows: { type: 'string', default: '10000,1000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
  },
});
const sizes = values.rows.split(',').map(Number);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = 32;
const poolSize = 20;
const deletedPerSecond = 5_000;
const say = (line: string) => process.stdout.write(`${line}\n`);

await withService({ DATABASE_POOL_SIZE: String(poolSize), ACCESS_TOKEN_LIFETIME: '86400' }, main, {
  postgres: values.postgres,
  database: ['shared_buffers=512MB', 'max_wal_size=16GB', 'checkpoint_timeout=30min'],
});

async function main({ service, settings, connection, databasePid, folder, stops }: Bed): Promise<void> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  // the service's own clean-up leaves the rows to this one
  await sql.query('SELECT pg_advisory_lock(7106343)');
  const machine = await command(
    ['client', 'create', '--name', 'Bench', '--grant-type', 'client_credentials'],
    settings,
  );
  const file = join(folder, 'constant');
  writeFileSync(file, '{}');
  const reference = await startReference(settings.DATABASE_URL, poolSize, [file, file]);
  stops.push(() => reference.stop());
  const bare = await bareSide(reference, connections);

  const issue = post('/token', basicOf(machine), { grant_type: 'client_credentials' });
  const tokens: string[] = [];
  while (tokens.length < 1000) {
    const answer = await fetch(service.base + issue.path, { method: 'POST', headers: issue.headers, body: issue.body });
    tokens.push(((await answer.json()) as Tokens).access_token);
  }
  const operations = {
    introspection: {
      own: loadWith(
        service.base,
        tokens.map((token) => post('/introspect', basicOf(machine), { token, token_type_hint: 'access_token' })),
      ),
      bare: bare.loads['introspect-live']!,
    },
    'client credentials': { own: loadWith(service.base, [issue]), bare: bare.loads['client-credentials']! },
  };
  const places = placement();
  if (places) {
    pin(service.pid, places.server);
    pin(reference.pid, places.server);
    for (const pid of [process.pid, ...processorTimes(databasePid!).keys()]) pin(pid, places.rest);
  }

  /** CPU of server and database for one operation, in microseconds, and the ratio to the reference's rate. */
  const measure = async (title: string) => {
    for (const [name, { own, bare: other }] of Object.entries(operations)) {
      const ratios: number[] = [];
      const rates: number[] = [];
      const costs: number[] = [];
      await own(connections, 0.5);
      await other(connections, 0.5);
      for (let round = 0; round < rounds; round++) {
        const sides: (() => Promise<number>)[] = [];
        const rate: { own: number; bare: number } = { own: 0, bare: 0 };
        const run = (side: 'own' | 'bare', load: Load) => async () => {
          const before = [processorTimes(service.pid), processorTimes(databasePid!)] as const;
          const result = await load(connections, seconds);
          rate[side] = result.rate;
          const used =
            between(before[0], processorTimes(service.pid)) + between(before[1], processorTimes(databasePid!));
          if (side === 'own') costs.push((used / result.count) * 1e6);
          return result.rate;
        };
        sides.push(run('own', own), run('bare', other));
        for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
        rates.push(rate.own);
        ratios.push(rate.own / rate.bare);
      }
      const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
      say(
        `${title.padEnd(34)} ${name.padEnd(19)} ${median(rates).toFixed(0).padStart(6)} a second, ${median(ratios).toFixed(2)} of the bare one's (${spread}), ${median(costs).toFixed(0)} µs of processors`,
      );
    }
  };

  let there = 0;
  for (const size of sizes) {
    const begin = performance.now();
    // by the server itself, and without a look at each row's client
    await sql.query('SET session_replication_role = replica');
    await sql.query(
      `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at)
       SELECT sha256(n::text::bytea), $1, 0, '', now() + interval '1 day' * (1 + random()) FROM generate_series($2::int + 1, $3::int) n`,
      [machine['client_id'], there, size],
    );
    await sql.query('SET session_replication_role = DEFAULT');
    there = size;
    await sql.query('VACUUM ANALYZE access_tokens');
    await sql.query('CHECKPOINT');
    const { rows } = await sql.query<{ size: string }>(
      `SELECT pg_size_pretty(pg_total_relation_size('access_tokens')) AS size`,
    );
    say(`${size} rows (${rows[0]!.size}) after ${((performance.now() - begin) / 1000).toFixed(0)} s`);
    await measure(`${size} rows`);
  }
  // twice as many as can be deleted meanwhile
  const expired = Math.ceil(deletedPerSecond * rounds * (seconds + 0.5) * 8);
  await sql.query(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, issued_at, expires_at)
     SELECT sha256((-n)::text::bytea), $1, 0, '', now() - interval '2 hours', now() - interval '1 hour' FROM generate_series(1, $2::int) n`,
    [machine['client_id'], expired],
  );
  const stop = deleting(connection);
  await measure(`${there} rows, ${deletedPerSecond} deleted a second`);
  say(`deleted: ${(await stop()).toFixed(0)} a second`);
}

/** Deletes expired rows by the service's own statement at a steady rate; what it returns ends it and tells the rate. */
function deleting(connection: Bed['connection']): () => Promise<number> {
  const database = openDatabase({ connection, poolSize: 5, onError: () => undefined });
  const { transaction, expired } = createStore(database);
  const begin = performance.now();
  let gone = 0;
  let over = false;
  let running = Promise.resolve();
  const timer = setInterval(
    () => {
      running = running.then(async () => {
        if (!over) gone += await transaction((repositories) => repositories.expired.deleteBatch(0));
      });
    },
    (expired.batch / deletedPerSecond) * 1000,
  );
  return async () => {
    over = true;
    clearInterval(timer);
    await running;
    await database.close();
    return gone / ((performance.now() - begin) / 1000);
  };
}
