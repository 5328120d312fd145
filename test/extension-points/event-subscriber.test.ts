// Plants a subscriber of events: one value in the list hears of events from every side, at least once, and writes exactly once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventSubscriber, RecordedEvent } from '../../src/domain/events/event-subscriber.ts';
import { declareSubscribers, eventSubscribers } from '../../src/domain/events/subscribers.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { plant } from './planted.ts';

const name = 'example_directory';
const heard: RecordedEvent[] = [];
/** Replaced by a test: what happens after the subscriber has written, and before its transaction ends. */
let interrupt: (event: RecordedEvent) => Promise<void> = async () => undefined;

const directory: EventSubscriber = {
  name,
  types: ['user.changed', 'user.disabled'],
  async handle(event, { auditEvents }) {
    heard.push(event);
    await auditEvents.insert({ type: 'group.changed', outcome: 'success', actor: name, sub: event.sub });
    await interrupt(event);
  },
};

let service: TestService;
let token: string;
plant(eventSubscribers, directory);
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits, instances: 2 });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const sql = (text: string, ...values: unknown[]) => service.database.sql<Record<string, unknown>>(text, values);
const heardOf = (sub: string) => heard.filter((event) => event.sub === sub);
/** How often the subscriber has written, about these users. */
const written = (...subs: string[]) =>
  sql('SELECT sub FROM audit_events WHERE actor = $1 AND sub = ANY ($2)', name, subs).then((rows) => rows.length);
const waiting = (filter: string) => sql(`SELECT name, last_failure FROM outbox WHERE channel = 'event' AND ${filter}`);
const isEmpty = (rows: unknown[]) => rows.length === 0;
async function makeDue(): Promise<void> {
  await sql(`UPDATE outbox SET next_attempt_at = now() WHERE channel = 'event'`);
  await sql(`NOTIFY gatehouse, 'event'`);
}

test('it hears once, on one of two instances, of what a request and plain SQL change (architecture, extension points)', async () => {
  const { sub } = await service.createUser();
  const path = `${service.issuer}/admin/api/users/${sub}`;
  expect((await call(path, { method: 'PATCH', token, body: { claims: { name: 'Ada' } } })).status).toBe(200);
  await eventually(
    () => written(sub),
    (count) => count === 1,
  );
  await sql(`UPDATE users SET claims = '{"name": "Grace"}' WHERE sub = $1`, sub);
  await eventually(
    () => written(sub),
    (count) => count === 2,
  );
  expect(heardOf(sub)).toMatchObject([
    { type: 'user.changed', outcome: 'success', address: expect.any(String) as string, detail: { members: ['name'] } },
    { type: 'user.changed', outcome: 'success', actor: 'sql', detail: { members: ['name'] } },
  ]);
  expect(Math.abs(heardOf(sub)[1]!.at.getTime() - Date.now())).toBeLessThan(60_000);
});

test('it hears of a command, also before any instance has started (architecture, extension points)', async () => {
  const { sub, username } = await service.createUser();
  await sql('DELETE FROM event_subscriptions');
  expect((await runCommand(service, ['user', 'disable', username])).code).toBe(0);
  await eventually(
    () => written(sub),
    (count) => count === 1,
  );
  expect(heardOf(sub)).toMatchObject([{ type: 'user.disabled', actor: 'command line' }]);
});

test('an event without a subscriber costs no row in the outbox (architecture, extension points)', async () => {
  const user = await service.createUser();
  await eventually(() => waiting('true'), isEmpty);
  const rows = () => sql('SELECT last_value FROM outbox_id_seq');
  const before = await rows();
  await new UserAgent(service).signIn({ ...user, password: 'wrong' });
  expect(await sql(`SELECT FROM audit_events WHERE type = 'user.sign_in_failed' AND sub = $1`, user.sub)).toHaveLength(
    1,
  );
  expect(await rows()).toEqual(before);
});

test('an event whose instance loses its connection is handled again, and written once (architecture, extension points)', async () => {
  const { sub } = await service.createUser();
  interrupt = async () => {
    interrupt = async () => undefined;
    const lost = await sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'gatehouse' AND state = 'idle in transaction'`,
    );
    expect(lost.length).toBeGreaterThan(0);
  };
  await sql(`UPDATE users SET claims = '{"name": "Ada"}' WHERE sub = $1`, sub);
  await eventually(
    async () => heardOf(sub),
    ({ length }) => length === 1,
  );
  // without waiting for the end of the lease
  await eventually(makeDue, () => heardOf(sub).length === 2);
  await eventually(() => waiting('true'), isEmpty);
  expect(await written(sub)).toBe(1);
});

test('an event that it cannot handle waits and is tried again, and holds up no other (architecture, extension points)', async () => {
  const [broken, other] = [(await service.createUser()).sub, (await service.createUser()).sub];
  interrupt = async ({ sub }) => {
    if (sub === broken) throw new Error('a planted failure');
  };
  await sql(`UPDATE users SET claims = '{"name": "Ada"}' WHERE sub = ANY ($1)`, [broken, other]);
  await eventually(
    () => written(other),
    (count) => count === 1,
  );
  const failed = await eventually(
    () => waiting('last_failure IS NOT NULL'),
    ({ length }) => length === 1,
  );
  expect(failed).toEqual([{ name, last_failure: 'a planted failure' }]);
  expect(await written(broken)).toBe(0);
  expect(service.logs).toContainEqual(
    expect.objectContaining({ subscriber: name, event: 'user.changed', reason: 'a planted failure' }),
  );
  interrupt = async () => undefined;
  await makeDue();
  await eventually(() => waiting('true'), isEmpty);
  expect(await written(broken, other)).toBe(2);
});

test('an event for a subscriber of a later version waits for an instance of it (architecture, extension points)', async () => {
  await sql(
    `INSERT INTO event_subscriptions (type, subscriber) VALUES ('user.changed', 'of_a_later_version'), ('user.email_verified', $1)`,
    name,
  );
  const { sub } = await service.createUser();
  await sql(`UPDATE users SET claims = '{"name": "Ada"}' WHERE sub = $1`, sub);
  await service.store.auditEvents.insert({ type: 'user.email_verified', outcome: 'success', sub });
  await eventually(
    () => written(sub),
    (count) => count === 1,
  );
  const kept = await eventually(
    () => waiting('last_failure IS NOT NULL'),
    ({ length }) => length === 2,
  );
  expect(kept.map((row) => row['name']).sort()).toEqual([name, 'of_a_later_version']);
  expect(heardOf(sub)).toHaveLength(1);
  await sql(`DELETE FROM outbox WHERE channel = 'event'`);
});

test('a subscription that no instance declares for a week ends, and one that is declared stays (architecture, extension points)', async () => {
  await sql(
    `INSERT INTO event_subscriptions (type, subscriber) VALUES ('user.created', 'of_an_older_version') ON CONFLICT DO NOTHING`,
  );
  await sql(`UPDATE event_subscriptions SET declared_at = now() - interval '8 days'`);
  await declareSubscribers(service.store);
  const { expired } = service.store;
  for (let kind = 0; kind < expired.kinds; kind++) await expired.deleteBatch(kind);
  const left = await sql('SELECT DISTINCT subscriber FROM event_subscriptions ORDER BY subscriber');
  expect(left).toEqual([{ subscriber: name }, { subscriber: 'mail' }]);
});
