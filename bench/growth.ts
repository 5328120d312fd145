// Measures the same operations with few and with many token rows, and while expired rows are deleted, beside a bare reference; writes docs/growth.md.
//
//   node bench/growth.ts                          with 10 thousand, 1 million and 50 million rows: some 14 minutes, and 35 GB of the temporary folder
//   node bench/growth.ts --rows 10000,1000000     three minutes; writes the page only where --out names it, and extrapolates to the most rows
//
// Further options: --rounds, --seconds of each round, --postgres FOLDER of an installed server's programs. Rates are given as their ratio to the
// reference's in the same round, so that sizes can be compared.
import { existsSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../src/database/database.ts';
import { createStore } from '../src/repositories/store.ts';
import { newOpaqueToken } from '../src/tokens/opaque-token.ts';
import { type Bed, withService } from './bed.ts';
import { command, startReference, startService } from './children.ts';
import { basicOf } from './flows.ts';
import { fillTokens, hashAt } from './growth-data.ts';
import { asMarkdown, type Found, type Stage, summary } from './growth-report.ts';
import { type Load, loadWith } from './load.ts';
import { between, pin, placement, processorTimes } from './meter.ts';
import type { OperationKey } from './operations.ts';
import { machine } from './report.ts';
import { bareSide } from './sides/bare.ts';
import { serviceSide } from './sides/service.ts';
import { post } from './sides/side.ts';

const everything = '10000,1000000,50000000';
/** A quarter of the memory, as PostgreSQL's manual advises for a server of its own (19.4.1). */
const buffers = `${Math.max(1, Math.floor(totalmem() / 2 ** 30 / 4))}GB`;
const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rows: { type: 'string', default: everything },
    rounds: { type: 'string', default: '21' },
    seconds: { type: 'string', default: '0.4' },
    out: { type: 'string' },
  },
});
const sizes = values.rows.split(',').map(Number);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const page = values.out ?? (values.rows === everything ? join(import.meta.dirname, '../docs/growth.md') : undefined);
/**
 * Seconds before the measurement: each of PostgreSQL's processes maps each page of its memory once, and that costs more than the select.
 */
const warmUp = 4;
const connections = 32;
const poolSize = 20;
const deletedPerSecond = 5_000;
const measured: OperationKey[] = [
  'introspect-live',
  'introspect-inactive',
  'client-credentials',
  'refresh',
  'userinfo',
  'code-flow',
];
const say = (line: string) => process.stdout.write(`${line}\n`);

await withService(
  {
    DATABASE_POOL_SIZE: String(poolSize),
    ACCESS_TOKEN_LIFETIME: '86400',
    LIMIT_CODES_PER_SESSION: '0',
    LIMIT_INTROSPECTIONS: '1000000000',
    LIMIT_SIGN_IN_PER_NETWORK: '1000000',
    PASSWORD_HASH_QUEUE: '1000',
  },
  main,
  {
    postgres: values.postgres,
    database: [
      `shared_buffers=${buffers}`,
      'max_wal_size=16GB',
      'checkpoint_timeout=30min',
      // so that building an index writes no log
      'wal_level=minimal',
      'max_wal_senders=0',
    ],
  },
);

async function main({ service, settings, connection, superuser, databasePid, folder, stops }: Bed): Promise<void> {
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  // the service's own clean-up leaves these rows to the benchmark
  await sql.query('SELECT pg_advisory_lock(7106343)');
  const file = join(folder, 'constant');
  writeFileSync(file, '{}');
  const reference = await startReference(settings.DATABASE_URL, poolSize, [file, file]);
  stops.push(() => reference.stop());
  const bare = await bareSide(reference, connections);
  const cheap = await startService(folder, settings, { instead: 'bench/cheap-passwords.ts' });
  const own = await serviceSide(service, cheap, settings, connections);
  await cheap.stop();
  const holder = await command(
    ['client', 'create', '--name', 'Holder', '--grant-type', 'client_credentials'],
    settings,
  );
  const places = placement();
  if (places) {
    pin(service.pid, places.server);
    pin(reference.pid, places.server);
    pin(process.pid, places.rest);
  }
  const placeDatabase = (processors: string) => {
    for (const pid of places ? processorTimes(databasePid!).keys() : []) {
      try {
        pin(pid, processors);
      } catch (error) {
        // a background process may have ended meanwhile
        if (existsSync(`/proc/${pid}`)) throw error;
      }
    }
  };

  /** Rate, its ratio to the reference's, and CPU of server and database for one operation, in microseconds. */
  const measureOne = async (ours: Load, other: Load): Promise<Found> => {
    const found: Found = { rates: [], ratios: [], costs: [] };
    await ours(connections, warmUp);
    await other(connections, 0.5);
    for (let round = 0; round < rounds; round++) {
      const rate = { own: 0, bare: 0 };
      const run = (side: 'own' | 'bare', load: Load) => async () => {
        const before = [processorTimes(service.pid), processorTimes(databasePid!)] as const;
        const result = await load(connections, seconds);
        rate[side] = result.rate;
        const used = between(before[0], processorTimes(service.pid)) + between(before[1], processorTimes(databasePid!));
        if (side === 'own') found.costs.push((used / result.count) * 1e6);
      };
      const sides = [run('own', ours), run('bare', other)];
      for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
      found.rates.push(rate.own);
      found.ratios.push(rate.own / rate.bare);
    }
    return found;
  };
  const measure = async (title: string, loads: typeof own.loads): Promise<Stage['found']> => {
    const found: Stage['found'] = {};
    for (const key of measured) {
      found[key] = await measureOne(loads[key]!, bare.loads[key]!);
      say(summary(title, key, found[key]));
    }
    return found;
  };

  // the rows are dated within the previous hour, one after another
  const hour = 3_600_000;
  const begin = Date.now() - 2 * hour;
  const step = hour / Math.max(...sizes);

  const stages: Stage[] = [];
  const tokens: string[] = [];
  let loads = own.loads;
  let there = 0;
  for (const size of sizes) {
    const filling = performance.now();
    const from = there + 1;
    const count = Math.min(20_000, Math.ceil((size - there) / 10));
    const made = Array.from({ length: count }, (_, index) =>
      newOpaqueToken('access_token', Math.floor(begin + step * (from + (index * (size - there)) / count))),
    );
    const hashes = made.map(({ hash }) => hash);
    const fill = { clientId: holder['client_id']!, from, to: size, hashes, begin, step };
    // it has all processors while no measurement runs
    placeDatabase(`0-${cpus().length - 1}`);
    await fillTokens(superuser, fill);
    if (places) placeDatabase(places.rest);
    for (const { token } of made) tokens.push(token);
    there = size;
    // tokens from all over the table, in no order
    const asked = tokens
      .map((token) => ({ token, place: Math.random() }))
      .sort((a, b) => a.place - b.place)
      .map(({ token }) => post('/introspect', basicOf(holder), { token, token_type_hint: 'access_token' }));
    loads = { ...own.loads, 'introspect-live': loadWith(service.base, asked) };
    const { rows } = await sql.query<{ bytes: number }>(
      `SELECT pg_total_relation_size('access_tokens')::float8 AS bytes`,
    );
    const filled = (performance.now() - filling) / 1000;
    say(`${size} rows (${(rows[0]!.bytes / 1e9).toFixed(2)} GB) after ${filled.toFixed(0)} s`);
    stages.push({
      size,
      bytes: rows[0]!.bytes,
      filled,
      asked: asked.length,
      found: await measure(`${size} rows`, loads),
    });
  }
  // more than can be deleted meanwhile
  const expired = Math.ceil(deletedPerSecond * measured.length * (rounds * (2 * seconds + 0.2) + warmUp + 2));
  await sql.query(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, issued_at, expires_at)
     SELECT ${hashAt('$3::float8 - n', '(-n)::text')}, $1, 0, '', now() - interval '3 hours', now() - interval '1 hour' FROM generate_series(1, $2::int) n`,
    [holder['client_id'], expired, begin],
  );
  const stop = deleting(connection);
  const meanwhile = await measure(`${deletedPerSecond} deleted a second`, loads);
  const deleted = await stop();
  say(`deleted: ${deleted.toFixed(0)} a second`);
  const { rows } = await sql.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  const facts = {
    postgres: rows[0]!.version.split(' ')[0]!,
    buffers,
    machine: machine(),
    rounds,
    seconds,
    warmUp,
    connections,
    poolSize,
  };
  const text = asMarkdown(stages, { found: meanwhile, deleted, wanted: deletedPerSecond }, facts);
  if (page !== undefined) writeFileSync(page, text);
}

/** Deletes expired rows by the service's own statement at a steady rate; the returned function ends this and returns the rate. */
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
    const seconds = (performance.now() - begin) / 1000;
    over = true;
    clearInterval(timer);
    await running;
    await database.close();
    return gone / seconds;
  };
}
