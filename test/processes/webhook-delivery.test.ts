// Kills the service while a thousand events commit out of order, and expects each event to reach the receivers of webhooks.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { eventually } from '../helpers/grants.ts';
import { recordOutOfOrder } from '../helpers/out-of-order.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';
import { WebhookReceiver } from '../helpers/webhook-receiver.ts';

let folder: string;
let database: TestDatabase;
let receiver: WebhookReceiver;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-webhook-'));
  database = await createTestDatabase();
  receiver = await new WebhookReceiver().start();
});
afterEach(async () => {
  await stopServers();
  await receiver.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The most messages of one receiver that are under way at a time: a killed service has not recorded the answers to these. */
const underWay = 10;

/** Lets the leases of a killed service end. */
const leasesEnd = async () => {
  await database.sql(`UPDATE outbox SET next_attempt_at = now() WHERE channel = 'event'`);
  await database.sql(`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'waiting'`);
};

test('a thousand events that commit out of order all reach the receiver, although the service is killed twice meanwhile, and only what was under way comes again (federation F107, FR46)', async () => {
  const settings = {
    PORT: String(await freePort()),
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
    SECRET_KEY: randomSecret(),
    ADMIN_PASSWORD: 'correct horse battery',
    OUTBOUND_ALLOW: receiver.host,
  };
  let server = startServer(settings);
  await server.ready();
  await runCommand(['webhook', 'create', 'Hook', '--url', receiver.uri('/hook'), '--event', 'group.*'], settings);
  const ids: string[] = [];
  for (let round = 0; round < 2; round++) {
    const [recorded] = await Promise.all([
      recordOutOfOrder(database, 20, 20),
      (async () => {
        const had = receiver.received.length;
        await eventually(
          async () => receiver.received.length,
          (count) => count > had + 20,
        );
        server.kill('SIGKILL');
        await server.exited;
      })(),
    ]);
    ids.push(...recorded);
    // events commit while no service runs
    ids.push(...(await recordOutOfOrder(database, 10, 10)));
    await leasesEnd();
    server = startServer(settings);
    await server.ready();
  }
  await eventually(
    async () => new Set(receiver.received.map(({ message }) => message.data.id)).size,
    (count) => count >= ids.length,
  );
  expect(ids).toHaveLength(1000);
  const received = receiver.received.map(({ message }) => message.data.id);
  expect([...new Set(received)].sort()).toEqual([...ids].sort());
  expect(received.length - ids.length).toBeLessThanOrEqual(2 * underWay);
});
