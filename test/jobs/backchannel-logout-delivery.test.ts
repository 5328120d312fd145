// A failing receiver loses no back-channel logout, and delays no other delivery.
import { beforeAll, describe, expect, test } from 'vitest';
import { useBackchannel } from '../helpers/backchannel.ts';
import { runCommand } from '../helpers/command-line.ts';
import { eventually } from '../helpers/grants.ts';
import type { LogoutReceiver } from '../helpers/logout-receiver.ts';
import type { TestService } from '../helpers/service.ts';

const channel = useBackchannel();
const { newClient, signInTo, signOut, arrived, delivery, events } = channel;
const { expireRetryDelays, insertDeliveries, waitUntilBothPoll, allDelivered } = channel;
let service: TestService;
let receiver: LogoutReceiver;
beforeAll(() => {
  service = channel.service();
  receiver = channel.receiver();
});

describe('a receiver that fails', () => {
  test('a receiver that failed gets a fresh token once it is up, and the delivery is recorded (decisions sections 6 and 7)', async () => {
    const client = await newClient();
    const { agent, sid } = await signInTo([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    const waiting = await delivery(client, ({ last_failure }) => last_failure !== undefined);
    expect(waiting).toMatchObject({ status: 'waiting', attempts: 1, last_failure: 'answered 503' });
    expect(Date.parse(waiting!['next_attempt_at']!)).toBeGreaterThan(Date.parse(waiting!['created_at']!));
    // an administrator sees it by route and by command line
    const listed = await runCommand(service, ['logout-delivery', 'list', '--client', client.clientId, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ sid, status: 'waiting', last_failure: 'answered 503' }]);
    const table = await runCommand(service, ['logout-delivery', 'list', '--status', 'waiting']);
    expect(table.stdout).toContain('answered 503');

    receiver.answers.delete(client.path);
    await expireRetryDelays();
    const done = await delivery(client, ({ status }) => status === 'delivered');
    expect(Number(done!['attempts'])).toBeGreaterThan(1);
    expect(done).not.toHaveProperty('next_attempt_at');
    const received = receiver.at(client.path);
    expect(new Set(received.map(({ claims }) => claims.jti)).size).toBe(received.length);
    expect(await events(client)).toMatchObject([
      { type: 'logout_token.delivered', outcome: 'success', detail: { attempts: Number(done!['attempts']) } },
    ]);
  });

  test.each([302, 404])('a receiver is retried after %s (Back-Channel Logout 1.0 section 2.7)', async (status) => {
    const client = await newClient();
    const { agent } = await signInTo([client]);
    receiver.answers.set(client.path, status);
    await signOut(agent);
    await delivery(client, ({ last_failure }) => last_failure === `answered ${status}`);
    expect(receiver.at('/elsewhere')).toEqual([]);
    receiver.answers.set(client.path, 204);
    await expireRetryDelays();
    await delivery(client, (found) => found['status'] === 'delivered');
  });

  test('the pause doubles from failure to failure, up to a minute (decisions section 6)', async () => {
    const client = await newClient();
    const { agent } = await signInTo([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    const pauses: number[] = [];
    for (let failures = 1; failures <= 12; failures++) {
      const [found] = await eventually(
        () =>
          service.database.sql<{ failures: number; pause: number }>(
            `SELECT failures, extract(epoch FROM retry_at - now())::float8 AS pause FROM logout_receivers WHERE client_id = $1`,
            [client.clientId],
          ),
        ([row]) => row !== undefined && row.failures >= failures,
      );
      pauses.push(found!.pause);
      failures = found!.failures;
      await expireRetryDelays();
    }
    expect(pauses[0]).toBeLessThanOrEqual(1);
    expect(Math.max(...pauses)).toBeGreaterThan(20);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(60);
    receiver.answers.delete(client.path);
    await expireRetryDelays();
    await delivery(client, ({ status }) => status === 'delivered');
    const left = await service.database.sql('SELECT FROM logout_receivers WHERE client_id = $1', [client.clientId]);
    expect(left).toEqual([]);
  });

  test('a receiver gets no request during its pause, not even for new deliveries (decisions section 6)', async () => {
    const client = await newClient();
    receiver.answers.set(client.path, 503);
    await insertDeliveries(client, 1);
    await delivery(client, ({ last_failure }) => last_failure !== undefined);
    await service.database.sql(
      `UPDATE logout_receivers SET retry_at = now() + interval '1 hour' WHERE client_id = $1`,
      [client.clientId],
    );
    const { length } = receiver.at(client.path);
    await insertDeliveries(client, 1);
    await waitUntilBothPoll();
    expect(receiver.at(client.path)).toHaveLength(length);
    receiver.answers.delete(client.path);
    await expireRetryDelays();
    await allDelivered(client);
  });

  test('a receiver that answers 400 has refused the token for good (Back-Channel Logout 1.0 section 2.8)', async () => {
    const client = await newClient();
    const { agent } = await signInTo([client]);
    receiver.answers.set(client.path, 400);
    await signOut(agent);
    const refused = await delivery(client, ({ status }) => status === 'refused');
    expect(refused).toMatchObject({ attempts: 1, last_failure: 'answered 400' });
    expect(await events(client)).toMatchObject([{ type: 'logout_token.refused', outcome: 'failure' }]);
  });

  test('a delivery is given up after the retention, with an event and a log line (decisions section 7)', async () => {
    const client = await newClient();
    const { agent } = await signInTo([client]);
    receiver.answers.set(client.path, 503);
    await signOut(agent);
    await delivery(client, ({ last_failure }) => last_failure !== undefined);
    await service.database.sql(
      `UPDATE logout_deliveries SET created_at = now() - interval '86401 seconds' WHERE client_id = $1`,
      [client.clientId],
    );
    await service.database.sql(`NOTIFY gatehouse, 'logout'`);
    await delivery(client, ({ status }) => status === 'given_up');
    expect(await events(client)).toMatchObject([{ type: 'logout_token.given_up', outcome: 'failure' }]);
    const line = service.logs.find(
      ({ client_id, msg }) => client_id === client.clientId && /giving up/.test(String(msg)),
    );
    expect(line).toMatchObject({ level: 40, reason: 'answered 503' });
  });

  test.each(['http://127.0.0.1:9/logout', 'https://127.0.0.1:9/logout', 'https://[::1]:9/logout'])(
    "a receiver on the service's network, at %s, gets no request (decisions section 2)",
    async (uri) => {
      const client = await newClient({ backchannel_logout_uri: uri });
      const { agent } = await signInTo([client]);
      await signOut(agent);
      const { last_failure } = (await delivery(client, (found) => found['last_failure'] !== undefined))!;
      expect(last_failure).toMatch(/only https addresses are asked|not allowed/);
    },
  );

  test("a receiver that hangs delays neither the user's sign-out nor other receivers, and gets few requests at once (decisions section 6)", async () => {
    const [hanging, healthy] = [await newClient(), await newClient()];
    const { agent, sid } = await signInTo([hanging, healthy]);
    receiver.answers.set(hanging.path, 'hang');
    await insertDeliveries(hanging, 30);
    await arrived(hanging.path);
    // the sign-out is answered while the receiver hangs
    await signOut(agent);
    expect((await arrived(healthy.path))[0]!.claims['sid']).toBe(sid);
    await waitUntilBothPoll();
    // two instances, four requests each
    expect(receiver.at(hanging.path).length).toBeLessThanOrEqual(8);
    receiver.release();
    await allDelivered(hanging);
    expect(receiver.at(hanging.path)).toHaveLength(31);
  });
});
test('two instances that compete for a hundred deliveries send each once (decisions section 6)', async () => {
  const client = await newClient();
  await insertDeliveries(client, 100);
  await allDelivered(client);
  expect(new Set(receiver.at(client.path).map(({ claims }) => claims['sid'])).size).toBe(100);
  expect(receiver.at(client.path)).toHaveLength(100);
});

test('a delivery that one instance is sending is not sent by the other (decisions section 6)', async () => {
  const client = await newClient();
  receiver.answers.set(client.path, 'hang');
  await insertDeliveries(client, 4);
  await arrived(client.path, 4);
  await waitUntilBothPoll();
  expect(receiver.at(client.path)).toHaveLength(4);
  receiver.release();
  await allDelivered(client);
});

test('a delivery of an instance that died is sent by another after the lease (decisions section 6)', async () => {
  const client = await newClient();
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, attempts, next_attempt_at)
     VALUES ($1, 'alice', 'orphan', 1, now() + interval '20 seconds')`,
    [client.clientId],
  );
  await service.database.sql(`NOTIFY gatehouse, 'logout'`);
  await expireRetryDelays();
  const [received] = await arrived(client.path);
  expect(received!.claims['sid']).toBe('orphan');
});

test('a finished delivery is deleted after its retention, and a waiting delivery stays (security R105)', async () => {
  const { clientId } = await service.createClient();
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, status, finished_at, expires_at)
     VALUES ($1, 'alice', 'old', 'delivered', now(), now()), ($1, 'alice', 'new', 'delivered', now(), now() + interval '1 hour')`,
    [clientId],
  );
  await service.database.sql(
    `INSERT INTO logout_deliveries (client_id, sub, sid, next_attempt_at) VALUES ($1, 'alice', 'waiting', now() + interval '1 hour')`,
    [clientId],
  );
  await service.database.sql(
    `INSERT INTO logout_receivers VALUES ('long-ago', 3, now() - interval '25 hours'), ('recent', 3, now() - interval '23 hours')`,
  );
  for (let kind = 0; kind < service.store.expired.kinds; kind++) await service.store.expired.deleteBatch(kind);
  const left = await service.database.sql<{ sid: string }>(
    'SELECT sid FROM logout_deliveries WHERE client_id = $1 ORDER BY sid',
    [clientId],
  );
  expect(left.map(({ sid }) => sid)).toEqual(['new', 'waiting']);
  expect(
    await service.database.sql(`SELECT client_id FROM logout_receivers WHERE client_id IN ('long-ago', 'recent')`),
  ).toEqual([{ client_id: 'recent' }]);
});
