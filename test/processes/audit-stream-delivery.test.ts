// Kills the service and stops the collector of the audit stream while events commit out of order, and expects each event to reach the collector.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Collector, httpCollector } from '../helpers/collector.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { eventually } from '../helpers/grants.ts';
import { recordOutOfOrder } from '../helpers/out-of-order.ts';
import { freePort, startServer, stopServers } from '../helpers/server-process.ts';

let folder: string;
let database: TestDatabase;
let collector: Awaited<ReturnType<typeof httpCollector>>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-stream-'));
  makeCertificates(folder);
  database = await createTestDatabase();
  collector = await httpCollector(folder);
});
afterEach(async () => {
  await stopServers();
  await collector.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Sessions that are open together, and the events of each: a thousand events with all walks. */
const size =
  process.env['WALKS'] === 'all' ? { sessions: 25, each: 10, rounds: 2 } : { sessions: 6, each: 4, rounds: 1 };
/** The most events that one attempt sends: those of an attempt that a kill breaks off may have arrived. */
const portion = 200;

const portOf = ({ host }: Collector) => Number(host.split(':')[1]);
const received = (of: { body: string }[]) =>
  of
    .flatMap(({ body }) => body.split('\n').filter(Boolean))
    .map((line) => JSON.parse(line) as { id: string; actor?: string })
    .filter(({ actor }) => actor === 'test')
    .map(({ id }) => id);

test('events that commit out of order all reach the collector, although service and collector are killed meanwhile, and only what was under way comes again (federation F107)', async () => {
  const settings = {
    PORT: String(await freePort()),
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
    SECRET_KEY: randomSecret(),
    ADMIN_PASSWORD: 'correct horse battery',
    AUDIT_STREAM: `https://${collector.host}/in`,
    AUDIT_STREAM_CA: join(folder, 'ca.pem'),
    OUTBOUND_ALLOW: collector.host,
  };
  let server = startServer(settings);
  await server.ready();
  const ids: string[] = [];
  const arrived: string[] = [];
  const all = () => [...arrived, ...received(collector.received)];
  let kills = 0;
  for (let round = 0; round < size.rounds; round++) {
    // the service is killed as soon as the first of these events has arrived
    const [recorded] = await Promise.all([
      recordOutOfOrder(database, size.sessions, size.each),
      (async () => {
        const had = all().length;
        await eventually(
          async () => all().length,
          (count) => count > had,
        );
        server.kill('SIGKILL');
        await server.exited;
        kills++;
      })(),
    ]);
    ids.push(...recorded);
    // the collector goes, and events commit while neither runs
    await collector.stop();
    arrived.push(...received(collector.received));
    const port = portOf(collector);
    ids.push(...(await recordOutOfOrder(database, size.sessions, size.each)));
    await database.sql('UPDATE audit_streams SET held_until = now()');
    server = startServer(settings);
    await server.ready();
    // the service finds no collector at first
    await eventually(
      () => database.sql<{ failing: boolean }>('SELECT failing_since IS NOT NULL AS failing FROM audit_streams'),
      ([row]) => row?.failing === true,
    );
    collector = await httpCollector(folder, port);
  }
  await eventually(
    async () => new Set(all()).size,
    (count) => count >= ids.length,
  );
  expect(ids).toHaveLength(2 * size.rounds * size.sessions * size.each);
  expect([...new Set(all())].sort()).toEqual([...ids].sort());
  const again = all().length - ids.length;
  expect(again).toBeLessThanOrEqual(kills * portion);
  if (process.env['WALKS'] === 'all') console.log(`${ids.length} events, ${again} of them twice, ${kills} kills`);
});
