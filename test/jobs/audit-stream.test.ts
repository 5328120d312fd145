// The audit stream sends every event to a collector, whatever the order of commits, and a collector that is away costs requests nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { streamLimits } from '../../src/jobs/audit-stream.ts';
import { sinkLimits } from '../../src/outbound/audit-sink.ts';
import { openConsole } from '../helpers/console.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Collector, httpCollector, type Pace, syslogCollector } from '../helpers/collector.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { recordOutOfOrder } from '../helpers/out-of-order.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let folder: string;
let https: Running<Awaited<ReturnType<typeof httpCollector>>>;
let otlp: typeof https;
let syslog: Running<Awaited<ReturnType<typeof syslogCollector>>>;
const running: { stop(): Promise<void> }[] = [];
const usual = { ...sinkLimits };
const { pause } = streamLimits;
beforeAll(async () => {
  streamLimits.pause = 50;
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-stream-'));
  makeCertificates(folder);
  https = await started(httpCollector(folder), 'https', '/in');
  otlp = await started(httpCollector(folder), 'otlp+https', '');
  syslog = await started(syslogCollector(folder), 'syslog+tls', '');
});
afterAll(async () => {
  Object.assign(sinkLimits, usual);
  streamLimits.pause = pause;
  for (const one of running.reverse()) await one.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Running<C extends Collector> {
  collector: C;
  service: TestService;
}
const settingsOf = ({ host }: Collector, scheme: string, path: string) => ({
  ...withoutLimits,
  AUDIT_STREAM: `${scheme}://${host}${path}`,
  AUDIT_STREAM_CA: join(folder, 'ca.pem'),
  OUTBOUND_ALLOW: host,
});
async function started<C extends Collector>(
  made: Promise<C>,
  scheme: string,
  path: string,
  more: Record<string, string> = {},
): Promise<Running<C>> {
  const collector = await made;
  running.push(collector);
  const service = await startTestService({ environment: { ...settingsOf(collector, scheme, path), ...more } });
  running.push(service);
  await eventually(
    () => service.database.sql('SELECT FROM audit_streams WHERE holder IS NOT NULL'),
    ({ length }) => length === 1,
  );
  return { collector, service };
}
/** How many events the collector lacks, and the age of the oldest one, as the metrics say. */
async function behind({ issuer }: TestService, token: string): Promise<number[]> {
  const answer = await fetch(`${issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const values = /^gatehouse_audit_stream_waiting_events (\d+)$[^]*^gatehouse_audit_stream_behind_seconds ([\d.]+)$/m;
  return values
    .exec(await answer.text())!
    .slice(1)
    .map(Number);
}
const linesOf = (bodies: readonly { body: string }[]) =>
  bodies.flatMap(({ body }) =>
    body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown> & { id: string; type: string }),
  );

test('a collector gets each event as a line of JSON with the token, also one whose transaction began first and commits last (federation F107)', async () => {
  const token = 'a-token-of-the-collector';
  const { collector, service } = await started(httpCollector(folder), 'https', '/in', { AUDIT_STREAM_TOKEN: token });
  const late = new pg.Client(service.database.connection);
  await late.connect();
  await late.query('BEGIN');
  await late.query('SELECT record_event($1)', [{ type: 'group.created', outcome: 'failure', actor: 'late' }]);
  const user = await service.createUser({ username: 'streamed' });
  await call(`${service.issuer}/admin/api/users/${user.sub}`, {
    method: 'PATCH',
    token: await adminToken(service),
    body: { status: 'disabled' },
  });
  const ids = await recordOutOfOrder(service.database, 5, 3);
  await late.query('COMMIT');
  await late.end();
  const all = await eventually(
    async () => linesOf(collector.received),
    (lines) => lines.some(({ actor }) => actor === 'late') && ids.every((id) => lines.some((line) => line.id === id)),
  );
  const [disabled] = await eventsOf(service, { type: 'user.disabled', sub: user.sub });
  expect(all.find(({ type }) => type === 'user.disabled')).toMatchObject({
    id: disabled!.id,
    sub: user.sub,
    at: disabled!.at.toISOString(),
    detail: { members: ['status'] },
  });
  // with no outage each comes once
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect(collector.received[0]).toMatchObject({
    path: '/in',
    headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${token}` },
  });
  expect(JSON.stringify(service.logs)).not.toContain(token);
  // the floor follows, so that no look reads what was sent long ago
  await recordOutOfOrder(service.database, 2, 600);
  await eventually(
    () => service.database.sql<{ floor: string }>('SELECT floor FROM audit_streams'),
    ([row]) => Number(row!.floor) > 1000,
  );
  const [last] = await recordOutOfOrder(service.database, 1, 1);
  const complete = await eventually(
    async () => linesOf(collector.received),
    (lines) => lines.some(({ id }) => id === last),
  );
  const recorded = await service.database.sql<{ id: string }>(`SELECT id::text FROM audit_events WHERE actor = 'test'`);
  const streamed = complete.filter(({ actor }) => actor === 'test').map(({ id }) => id);
  expect(streamed.sort()).toEqual(recorded.map(({ id }) => id).sort());
});

test('a collector that is away, hangs, answers an error or redirects costs no request, and gets all events when it is back (federation F114)', async () => {
  const { collector, service } = https;
  const token = await adminToken(service);
  const names: string[] = [];
  sinkLimits.timeout = 1_000;
  for (const status of [500, 302, 'hang'] as const) {
    collector.answer.status = status;
    const before = collector.received.length;
    names.push(`while-${status}`);
    const made = await call(`${service.issuer}/admin/api/groups`, {
      method: 'POST',
      token,
      body: { name: names.at(-1) },
    });
    expect(made.status).toBe(201);
    await eventually(
      async () => collector.received.length,
      (count) => count > before,
    );
  }
  expect(collector.received.every(({ path }) => path === '/in')).toBe(true);
  const [state] = await service.database.sql('SELECT failing_since IS NOT NULL AS failing FROM audit_streams');
  expect(state).toEqual({ failing: true });
  // the console and the metrics say how far it is behind
  await service.database.sql(
    `INSERT INTO audit_events (at, type, outcome) VALUES (now() - interval '10 minutes', 'group.changed', 'success')`,
  );
  const [waiting, seconds] = await behind(service, token);
  expect(waiting).toBeGreaterThan(0);
  expect(seconds).toBeGreaterThan(599);
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const overview = await agent.get('/admin');
  expect(overview.body).toContain('<a href="#stream">The audit stream is delayed (');
  expect(overview.body).toMatch(/<div id="stream">.*Delayed.*the collector /);
  Object.assign(sinkLimits, usual);
  collector.answer.status = 200;
  await eventually(
    async () =>
      linesOf(collector.received.slice(-1)).map(({ detail }) => (detail as { group?: string } | undefined)?.group),
    (groups) => groups.includes('while-hang'),
  );
  const groups = new Set(
    linesOf(collector.received).map(({ detail }) => (detail as { group?: string } | undefined)?.group),
  );
  for (const name of names) expect(groups).toContain(name);
  await eventually(
    () => behind(service, token),
    ([count]) => count === 0,
  );
  expect((await agent.get('/admin')).body).not.toContain('href="#stream"');
});

test('syslog messages are counted in octets and have the event as JSON (RFC 5424 6, RFC 5425 4.3)', async () => {
  const { collector, service } = syslog;
  await recordOutOfOrder(service.database, 3, 2);
  const messages = await eventually(
    async () => collector.messages,
    (all) => all.filter((message) => message.includes('"actor":"test"')).length >= 6,
  );
  const one = messages.find((message) => message.includes('"actor":"test"'))!;
  const [, at, json] = /^<86>1 (\S+) \S+ gatehouse \d+ group\.changed - (\{.*\})$/.exec(one)!;
  expect(JSON.parse(json!)).toMatchObject({
    type: 'group.changed',
    at,
    outcome: 'success',
    id: expect.any(String) as string,
  });
});

test('logs of OpenTelemetry have the event as their body, its type as their name and its time (federation 14)', async () => {
  const { collector, service } = otlp;
  const [id] = await recordOutOfOrder(service.database, 1, 1);
  const sent = await eventually(
    async () => collector.received.find(({ body }) => body.includes('group.changed')),
    (found) => found !== undefined,
  );
  expect(sent).toMatchObject({ path: '/v1/logs', headers: { 'content-type': 'application/json' } });
  const { resourceLogs } = JSON.parse(sent!.body) as {
    resourceLogs: { scopeLogs: { logRecords: Record<string, unknown>[] }[] }[];
  };
  const record = resourceLogs[0]!.scopeLogs[0]!.logRecords.find(({ eventName }) => eventName === 'group.changed')!;
  expect(record).toMatchObject({
    severityText: 'INFO',
    attributes: expect.arrayContaining([{ key: 'event.id', value: { stringValue: id } }]) as unknown,
  });
  const body = JSON.parse((record['body'] as { stringValue: string }).stringValue) as { at: string };
  expect(record['timeUnixNano']).toBe(`${new Date(body.at).getTime()}000000`);
});

/** How many events the collector took at a time, and their ids. */
const portionsOf = {
  https: () => https.collector.received.map((one) => linesOf([one]).map(({ id }) => id)),
  'otlp+https': () =>
    otlp.collector.received.map(({ body }) =>
      [...body.matchAll(/"key":"event.id","value":{"stringValue":"(\d+)"/g)].map(([, id]) => id!),
    ),
  'syslog+tls': () => syslog.collector.portions.map((all) => all.map((message) => /"id":"(\d+)"/.exec(message)![1]!)),
};
const paces: Pace[] = ['stops', 'a byte at a time'];

test.each(Object.keys(portionsOf) as (keyof typeof portionsOf)[])(
  'a collector of %s that reads nothing, or a byte at a time, adds no statement to a request, gets one portion at a time, and later all events (federation F114)',
  async (scheme) => {
    const { collector, service }: Running<Collector> = { https, 'otlp+https': otlp, 'syslog+tls': syslog }[scheme];
    const token = await adminToken(service);
    const newGroup = async (name: string) => {
      service.ofRequests.length = 0;
      const { status } = await call(`${service.issuer}/admin/api/groups`, { method: 'POST', token, body: { name } });
      expect(status).toBe(201);
      return [...service.ofRequests];
    };
    const usually = await newGroup('as usual');
    const ids: string[] = [];
    const { begun } = collector.sessions;
    const failures = () =>
      service.logs.filter(({ msg }) => String(msg).startsWith('the audit stream could not')).length;
    const failed = failures();
    for (const pace of paces) {
      collector.pace = pace;
      sinkLimits.timeout = 300;
      ids.push(...(await recordOutOfOrder(service.database, 5, 60)));
      await service.database.sql('UPDATE audit_streams SET last_failure = NULL');
      const [state] = await eventually(
        () => service.database.sql<{ last_failure: string }>('SELECT last_failure FROM audit_streams'),
        ([row]) => row!.last_failure !== null,
      );
      expect(state!.last_failure).toBe('the collector did not take the events in time');
      expect(await newGroup(`while it reads ${pace}`)).toEqual(usually);
      expect((await behind(service, token))[0]).toBeGreaterThanOrEqual(ids.length);
    }
    // a session begins after the one before it has failed
    expect(collector.sessions.begun - begun).toBeLessThanOrEqual(failures() - failed + 1);
    const before = portionsOf[scheme]().length;
    Object.assign(sinkLimits, usual);
    collector.pace = 'reads';
    const portions = await eventually(
      async () => portionsOf[scheme]().slice(before),
      (all) => ids.every((id) => all.flat().includes(id)),
    );
    // the rest of what waited stayed in the trail
    expect(portions.every(({ length }) => length <= 200)).toBe(true);
    expect(portions[0]!.length).toBeLessThanOrEqual(100);
    await eventually(
      () => behind(service, token),
      ([count]) => count === 0,
    );
  },
);

test('a collector that is too slow for many events at a time gets fewer, and in the end all (federation F107, F114)', async () => {
  const { collector, service } = https;
  const taken: string[] = [];
  collector.answer.status = ({ body }) => {
    const lines = linesOf([{ body }]);
    if (lines.length > 60) return 'hang';
    taken.push(...lines.map(({ id }) => id));
    return 200;
  };
  sinkLimits.timeout = 300;
  const ids = await recordOutOfOrder(service.database, 10, 25);
  await eventually(
    async () => ids.filter((id) => !taken.includes(id)),
    ({ length }) => length === 0,
  );
  Object.assign(sinkLimits, usual);
  collector.answer.status = 200;
});

test('one instance of several streams, and another one takes over (federation F107)', async () => {
  const collector = await httpCollector(folder);
  running.push(collector);
  const service = await startTestService({ instances: 2, environment: settingsOf(collector, 'https', '/in') });
  running.push(service);
  const holder = async () =>
    (await service.database.sql<{ holder: string }>('SELECT holder::text FROM audit_streams'))[0]?.holder;
  const first = await eventually(holder, (found) => typeof found === 'string');
  await recordOutOfOrder(service.database, 2, 2);
  const sent = await eventually(
    async () => linesOf(collector.received).filter(({ actor }) => actor === 'test'),
    ({ length }) => length >= 4,
  );
  expect(sent).toHaveLength(4);
  // the instance that has it dies
  const other = '00000000-0000-4000-8000-000000000000';
  await service.database.sql('UPDATE audit_streams SET holder = $1, held_until = now()', [other]);
  const next = await eventually(holder, (found) => found !== other);
  expect([first, next]).not.toContain(other);
});

test.each([
  ['AUDIT_STREAM', { AUDIT_STREAM: 'http://collector.example/' }],
  ['AUDIT_STREAM', { AUDIT_STREAM: 'syslog://collector.example' }],
  ['AUDIT_STREAM', { AUDIT_STREAM: 'syslog+tls://collector.example/path' }],
  ['AUDIT_STREAM', { AUDIT_STREAM: 'https://user:word@collector.example/' }],
  ['AUDIT_STREAM_TOKEN', { AUDIT_STREAM_TOKEN: 'a-token-alone' }],
  ['AUDIT_STREAM_TOKEN', { AUDIT_STREAM: 'syslog+tls://collector.example', AUDIT_STREAM_TOKEN: 'a-token-here' }],
  ['AUDIT_STREAM_CA', { AUDIT_STREAM: 'https://collector.example/', AUDIT_STREAM_CA: '/nowhere' }],
])('a wrong value of %s stops the start: %j (federation 14)', (name, environment) => {
  expect(() => loadConfig(environment as Record<string, string>)).toThrow(new RegExp(`The setting ${name} `));
});
