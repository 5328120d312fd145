// Webhooks while the database is stopped, frozen or read-only: no answer is a verdict, and no message is lost.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseLimits } from '../../src/database/deadline.ts';
import { eventsOf } from '../helpers/events.ts';
import { execute } from '../helpers/global-setup.ts';
import { adminToken, type Answer, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { WebhookReceiver } from '../helpers/webhook-receiver.ts';

const usual = databaseLimits.deadline;
let receiver: WebhookReceiver;
let service: TestService;
let token: string;
beforeAll(async () => {
  receiver = await new WebhookReceiver().start();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host } });
  token = await adminToken(service);
});
afterAll(async () => {
  databaseLimits.deadline = usual;
  await service?.stop();
  await receiver?.stop();
});

const admin = (path: string, method = 'GET', body?: object): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });

/** Changes the database from a session at another one, and ends the sessions that do not know the change. */
async function alter(change: string): Promise<void> {
  const { database, ...server } = service.database.connection;
  const elsewhere = { ...server, database: 'postgres' };
  await execute(elsewhere, `ALTER DATABASE ${database} ${change}`);
  await execute(
    elsewhere,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND backend_type = 'client backend'`,
  );
}

/** Each begins an outage, and returns the function that ends it. */
const outages: Record<string, () => Promise<() => Promise<unknown>>> = {
  stopped: async () => {
    await alter('ALLOW_CONNECTIONS false');
    return () => alter('ALLOW_CONNECTIONS true');
  },
  frozen: async () => {
    // shorter than in production
    databaseLimits.deadline = 1_000;
    const holder = new pg.Client(service.database.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE webhooks, webhook_receivers, webhook_deliveries IN ACCESS EXCLUSIVE MODE');
    return () => {
      databaseLimits.deadline = usual;
      return holder.end();
    };
  },
  'read-only': async () => {
    await alter('SET default_transaction_read_only = on');
    return () => alter('RESET default_transaction_read_only');
  },
};

test.each(Object.keys(outages))(
  'while the database is %s, requests get 503 and change nothing, an answer is no verdict, and each message arrives afterwards (federation F113)',
  async (kind) => {
    const path = `/${kind}`;
    const members = { name: kind, url: receiver.uri(path), events: ['group.created'] };
    const { id } = (await admin('/webhooks', 'POST', members)).body as { id: string };
    const at = `/webhooks/${id}`;
    let answer: (status: number) => void = () => undefined;
    receiver.answers.set(path, (response) => {
      answer = (status) => response.writeHead(status).end();
    });
    await admin('/groups', 'POST', { name: `under way, ${kind}` });
    const [underWay] = await eventually(
      async () => receiver.at(path),
      ({ length }) => length === 1,
    );
    const [event] = await eventsOf(service, { type: 'group.created' }).then((all) => all.slice(-1));
    const recorded = service.logs.length;

    const end = await outages[kind]!();
    try {
      // that it wants no more messages cannot be recorded
      answer(410);
      const during = await eventually(
        () =>
          Promise.all([
            admin('/webhooks', 'POST', { ...members, name: `${kind}, another one` }),
            admin(at, 'PATCH', { events: ['user.created'] }),
            admin(`${at}/secrets`, 'POST'),
            admin(`${at}/replay`, 'POST', { event: event!.id }),
            admin(at, 'DELETE'),
          ]),
        // a connection that was ended fails the request that finds it
        (answers) => answers.every(({ status }) => status === 503),
      );
      for (const { headers, body } of during) {
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(body).toEqual({
          error: 'temporarily_unavailable',
          error_description: expect.any(String) as string,
        });
      }
      await eventually(
        async () => service.logs.slice(recorded),
        (lines) => lines.some(({ msg }) => msg === 'a message to a webhook could not be recorded'),
      );
    } finally {
      await end();
    }

    receiver.answers.delete(path);
    await eventually(
      () => call(`${service.issuer}/health/ready`),
      ({ status }) => status === 200,
    );
    expect(
      (
        await eventually(
          () => admin(at),
          ({ status }) => status === 200,
        )
      ).body,
    ).toMatchObject({
      ...members,
      status: 'enabled',
      secret: { set: true },
      second_secret: { set: false },
    });
    expect((await admin('/groups', 'POST', { name: `afterwards, ${kind}` })).status).toBe(201);
    // the leases of what was under way end
    await service.database.sql(`UPDATE outbox SET next_attempt_at = now() WHERE channel = 'event'`);
    await service.database.sql(`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'waiting'`);
    await service.database.sql(`SELECT pg_notify('gatehouse', 'event'), pg_notify('gatehouse', 'webhook')`);
    const received = await eventually(
      async () => receiver.at(path),
      ({ length }) => length >= 3,
    );
    expect(received.map((one) => one.message.data['detail'])).toEqual(
      expect.arrayContaining([{ group: `under way, ${kind}` }, { group: `afterwards, ${kind}` }]),
    );
    expect(received.filter((one) => one.id === underWay!.id)).toHaveLength(2);
    const { body } = await eventually(
      () => admin(`${at}/deliveries`),
      (one) => (one.body['deliveries'] as { status: string }[]).every(({ status }) => status === 'delivered'),
    );
    expect(body['deliveries']).toHaveLength(2);
    expect(await eventsOf(service, { type: 'webhook.disabled' })).toEqual([]);
    await admin(at, 'DELETE');
  },
);
