// Messages to webhooks: what they say, how they are signed, when they are sent again, and what a hostile receiver can do.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { adminToken, type Answer, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { eventsOf } from '../helpers/events.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { type ReceivedMessage, WebhookReceiver } from '../helpers/webhook-receiver.ts';

let receiver: WebhookReceiver;
let service: TestService;
let token: string;
let paths = 0;
beforeAll(async () => {
  receiver = await new WebhookReceiver().start();
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `${receiver.host},127.0.0.1:25` },
  });
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await receiver?.stop();
});

const admin = (path: string, method = 'GET', body?: object): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });

interface Made {
  id: string;
  path: string;
  secret: string;
  /** Its address in the API. */
  at: string;
}

/** A webhook whose messages arrive at a path of their own. */
async function newWebhook(events: string[]): Promise<Made> {
  const path = `/hook/${paths++}`;
  const { status, body } = await admin('/webhooks', 'POST', { name: path, url: receiver.uri(path), events });
  expect(status).toBe(201);
  const { id, new_secret: secret } = body as { id: string; new_secret: string };
  return { id, path, secret, at: `/webhooks/${id}` };
}
const arrived = (path: string, count = 1): Promise<ReceivedMessage[]> =>
  eventually(
    async () => receiver.at(path),
    (all) => all.length >= count,
  );
const verified = (secret: string, { headers, body }: Pick<ReceivedMessage, 'headers' | 'body'>) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);
const deliveries = async ({ at }: Made) =>
  (await admin(`${at}/deliveries`)).body['deliveries'] as (Record<string, unknown> & { event: string })[];
const delivery = async (webhook: Made, satisfies: (one: Record<string, unknown>) => boolean) => {
  const all = await eventually(
    () => deliveries(webhook),
    (found) => found.some(satisfies),
  );
  return all.find(satisfies)!;
};
/** The mails that were written to the folder. */
function mailTexts(): string[] {
  const folder = join(service.dataDir, 'mail');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
  // lines of a mail are cut at 76 characters
  return names.map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('=\r\n', '').replaceAll('=3D', '='));
}
/** Lets the pauses of a receiver and of its messages end. */
const pausesEnd = async ({ id }: Made) => {
  await service.database.sql(`UPDATE webhook_receivers SET retry_at = now() WHERE webhook_id = $1`, [id]);
  await service.database.sql(
    `WITH told AS (SELECT pg_notify('gatehouse', 'webhook')) UPDATE webhook_deliveries SET next_attempt_at = now() FROM told WHERE webhook_id = $1 AND status = 'waiting'`,
    [id],
  );
};

test('a message about an event of a matching type is signed as the package standardwebhooks verifies it, and no other event makes one (federation F106)', async () => {
  const hook = await newWebhook(['user.disabled', 'group.*']);
  const user = await service.createUser({ username: 'walter-of-the-hook', email: 'walter@hook.example' });
  await admin(`/users/${user.sub}`, 'PATCH', { status: 'disabled' });
  const [received] = await arrived(hook.path);
  const [event] = await eventsOf(service, { type: 'user.disabled', sub: user.sub });
  expect(verified(hook.secret, received!)).toEqual({
    type: 'user.disabled',
    timestamp: event!.at.toISOString(),
    data: { id: event!.id, outcome: 'success', actor: event!.actor, sub: user.sub, detail: { members: ['status'] } },
  });
  expect(received!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': `evt_${event!.id}` });
  // another body, another id, another time, another secret
  const { headers, body } = received!;
  const timestamp = String(Number(headers['webhook-timestamp']) + 1);
  for (const changed of [
    { headers, body: body.replace('success', 'failure') },
    { headers: { ...headers, 'webhook-id': 'evt_1' }, body },
    { headers: { ...headers, 'webhook-timestamp': timestamp }, body },
  ])
    expect(() => verified(hook.secret, changed)).toThrow(/No matching signature/);
  expect(() => verified(hook.secret.slice(0, 6) + Buffer.alloc(32).toString('base64'), received!)).toThrow(
    /No matching/,
  );
  await admin('/groups', 'POST', { name: 'hooked' });
  await arrived(hook.path, 2);
  expect(receiver.at(hook.path).map(({ message }) => message.type)).toEqual(['user.disabled', 'group.created']);
});

test('no message has a user name, an address of any kind or a secret in it (federation 14, FR46)', async () => {
  const hook = await newWebhook(['*']);
  const marked = ['marked-name', 'marked@mail.example', 'Marked Display', 'marked-password'];
  const user = await service.createUser({
    username: marked[0]!,
    email: marked[1]!,
    claims: { name: marked[2]! },
    password: marked[3]!,
  });
  const client = await service.createClient({ client_name: marked[2]!, contacts: [marked[1]!] });
  await new UserAgent(service).signIn(user);
  await new UserAgent(service).signIn({ username: marked[0]!, password: 'wrong' });
  await new UserAgent(service).signIn({ username: 'marked-name-of-none', password: marked[3]! });
  await admin(`/users/${user.sub}`, 'PATCH', { username: 'marked-name-2', email: 'marked2@mail.example' });
  await admin(`/clients/${client.clientId}`, 'PATCH', { status: 'disabled' });
  await admin(`/users/${user.sub}`, 'DELETE');
  const trail = await eventually(
    () =>
      service.database.sql<{ id: string; waits: boolean }>(
        `SELECT id, EXISTS (SELECT FROM outbox WHERE channel = 'event' AND name = 'webhook') AS waits FROM audit_events
        WHERE at >= (SELECT created_at FROM webhooks WHERE id = $1)`,
        [hook.id],
      ),
    (all) => all.every(({ waits }) => !waits),
  );
  const received = await arrived(hook.path, trail.length);
  expect(received.map(({ message }) => message.data.id).sort()).toEqual(trail.map(({ id }) => id).sort());
  const types = new Set(received.map(({ message }) => message.type));
  for (const type of ['user.created', 'user.signed_in', 'user.sign_in_failed', 'user.deleted', 'webhook.created'])
    expect(types).toContain(type);
  const secrets = [hook.secret, client.clientSecret, client.registrationAccessToken, token];
  const networks = ['127.0.0.1', '::1', receiver.host];
  for (const text of [...marked, 'marked', ...secrets, ...networks])
    expect(received.filter(({ body }) => body.toLowerCase().includes(text.toLowerCase()))).toEqual([]);
});

test('with two secrets both sign each message, so that a receiver changes from one to the other without a gap (federation F106)', async () => {
  const hook = await newWebhook(['group.created']);
  const { status, body } = await admin(`${hook.at}/secrets`, 'POST');
  expect([status, body]).toEqual([
    201,
    { id: 'second_secret', new_secret: expect.stringMatching(/^whsec_/) as string },
  ]);
  const second = String(body['new_secret']);
  expect((await admin(`${hook.at}/secrets`, 'POST')).status).toBe(409);
  await admin('/groups', 'POST', { name: 'signed-by-both' });
  const [both] = await arrived(hook.path);
  for (const secret of [hook.secret, second]) expect(verified(secret, both!)).toMatchObject({ type: 'group.created' });
  expect((await admin(`${hook.at}/secrets/secret`, 'DELETE')).status).toBe(204);
  expect(await admin(`${hook.at}/secrets/second_secret`, 'DELETE')).toMatchObject({ status: 400 });
  await admin('/groups', 'POST', { name: 'signed-by-one' });
  const [, one] = await arrived(hook.path, 2);
  expect(verified(second, one!)).toMatchObject({ type: 'group.created' });
  expect(() => verified(hook.secret, one!)).toThrow(/No matching/);
  // the new one of a further change takes the free place
  expect((await admin(`${hook.at}/secrets`, 'POST')).body).toMatchObject({ id: 'secret' });
});

test('a failed message is sent again with the same id after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and is then given up (federation 14, F106)', async () => {
  const hook = await newWebhook(['group.created']);
  receiver.answers.set(hook.path, 503);
  await admin('/groups', 'POST', { name: 'not-taken' });
  const pauses: number[] = [];
  for (let attempts = 1; attempts <= 7; attempts++) {
    await delivery(hook, (one) => one['attempts'] === attempts && one['last_failure'] !== undefined);
    const [row] = await eventually(
      () =>
        service.database.sql<{ pause: number }>(
          `SELECT round(extract(epoch FROM next_attempt_at - now()))::int AS pause FROM webhook_deliveries
            WHERE webhook_id = $1 AND attempts = $2 AND last_failure IS NOT NULL`,
          [hook.id, attempts],
        ),
      // while an attempt is under way, the row has the time of its lease
      ([found]) => found !== undefined && (found.pause <= 5 || found.pause > 30),
    );
    pauses.push(row!.pause);
    await pausesEnd(hook);
  }
  expect(pauses.map((pause) => Math.ceil(pause / 5) * 5)).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 36_000]);
  const given = await delivery(hook, ({ status }) => status === 'given_up');
  expect(given).toMatchObject({ attempts: 8, answer: { status: 503 }, last_failure: 'answered 503' });
  const received = receiver.at(hook.path);
  expect(received).toHaveLength(8);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  for (const one of received) verified(hook.secret, one);
  receiver.answers.delete(hook.path);
  expect((await admin(`${hook.at}/replay`, 'POST', { event: given['event'] })).status).toBe(204);
  const [, , , , , , , , replayed] = await arrived(hook.path, 9);
  expect([replayed!.id, replayed!.body]).toEqual([received[0]!.id, received[0]!.body]);
  expect(await eventsOf(service, { type: 'webhook.replayed' })).toMatchObject([
    { detail: { webhook: hook.id, event: given['event'] } },
  ]);
});

test('an administrator replays only an event that the trail has and that the webhook gets (federation 14)', async () => {
  const hook = await newWebhook(['group.deleted']);
  const [other] = await eventsOf(service, { type: 'webhook.created' });
  for (const [event, code] of [
    [other!.id, 400],
    ['999999999999', 400],
    ['x', 400],
  ] as const)
    expect((await admin(`${hook.at}/replay`, 'POST', { event })).status).toBe(code);
  expect(await deliveries(hook)).toEqual([]);
});

test('the answer 410 disables the webhook, with an event, and its messages wait until an administrator enables it (federation F106)', async () => {
  const hook = await newWebhook(['group.created']);
  receiver.answers.set(hook.path, 410);
  await admin('/groups', 'POST', { name: 'gone' });
  await delivery(hook, ({ status }) => status === 'given_up');
  expect((await admin(hook.at)).body).toMatchObject({ status: 'disabled' });
  const disabled = (await eventsOf(service, { type: 'webhook.disabled' })).filter(
    ({ detail }) => detail['webhook'] === hook.id,
  );
  expect(disabled).toMatchObject([
    { actor: 'service', outcome: 'success', detail: { webhook: hook.id, reason: 'gone' } },
  ]);
  await admin('/groups', 'POST', { name: 'unheard' });
  // another webhook may ask for the event, and the webhooks that get an event are those that are enabled when it is taken from the outbox
  await eventually(
    () => service.database.sql(`SELECT 1 FROM outbox WHERE channel = 'event'`),
    (waiting) => waiting.length === 0,
  );
  receiver.answers.delete(hook.path);
  expect((await admin(hook.at, 'PATCH', { status: 'enabled' })).status).toBe(200);
  await admin('/groups', 'POST', { name: 'heard' });
  await arrived(hook.path, 2);
  expect(receiver.at(hook.path).map(({ message }) => message.data['detail'])).toEqual([
    { group: 'gone' },
    { group: 'heard' },
  ]);
});

test('a receiver that fails for five days is disabled, and a success before that ends the count (federation 14)', async () => {
  const hook = await newWebhook(['group.created']);
  await service.createUser({ admin: true, email: 'boss-of-hooks@example.com', emailVerified: true });
  receiver.answers.set(hook.path, 500);
  const ago = (days: number) =>
    service.database.sql(
      `UPDATE webhook_receivers SET failing_since = now() - make_interval(days => $2) WHERE webhook_id = $1`,
      [hook.id, days],
    );
  await admin('/groups', 'POST', { name: 'days-1' });
  await delivery(hook, (one) => one['last_failure'] !== undefined);
  expect((await admin(hook.at)).body['failing_since']).toEqual(expect.any(String));
  await ago(4);
  await pausesEnd(hook);
  // the attempt counts from its beginning: its failure is recorded once the next one is minutes away
  await eventually(
    () =>
      service.database.sql(
        `SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND attempts = 2 AND next_attempt_at > now() + interval '1 minute'`,
        [hook.id],
      ),
    (rows) => rows.length === 1,
  );
  expect(receiver.at(hook.path)).toHaveLength(2);
  receiver.answers.delete(hook.path);
  await pausesEnd(hook);
  await delivery(hook, ({ status }) => status === 'delivered');
  expect((await admin(hook.at)).body).toMatchObject({ status: 'enabled' });
  expect((await admin(hook.at)).body['failing_since']).toBeUndefined();
  receiver.answers.set(hook.path, 500);
  await admin('/groups', 'POST', { name: 'days-2' });
  await delivery(hook, (one) => one['last_failure'] === 'answered 500' && one['status'] === 'waiting');
  await ago(5);
  await pausesEnd(hook);
  await eventually(
    () => admin(hook.at),
    ({ body }) => body['status'] === 'disabled',
  );
  const events = await eventsOf(service, { type: 'webhook.disabled' });
  expect(events.at(-1)).toMatchObject({ detail: { webhook: hook.id, reason: 'failing' } });
  // each administrator with a verified address learns it
  const mail = await eventually(
    async () => mailTexts().find((text) => text.includes('Subject: A webhook was disabled')),
    (found) => found !== undefined,
  );
  expect(mail).toContain('To: boss-of-hooks@example.com');
  expect(mail).toContain(hook.path);
  expect(mail).toContain(`${service.issuer}/admin/webhooks`);
});

describe('an address', () => {
  test.each([
    'http://hooks.example/x',
    'https://127.0.0.1/x',
    'https://10.1.2.3/x',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://[fd00::1]/x',
    'https://localhost/x',
    'https://user:secret@hooks.example/x',
    'https://hooks.example:25/x',
    'https://hooks.example/x#fragment',
    'http://127.0.0.1:25/x',
    'ftp://hooks.example/x',
    'hooks.example',
  ])('%s is refused when a webhook is saved (federation F105)', async (url) => {
    const made = await admin('/webhooks', 'POST', { name: url, url, events: ['*'] });
    expect([made.status, made.body['error']]).toEqual([400, 'invalid_request']);
    expect(made.body['error_description']).toMatch(/^url must be an https address/);
    const hook = await newWebhook(['group.deleted']);
    expect((await admin(hook.at, 'PATCH', { url })).status).toBe(400);
    await admin(hook.at, 'DELETE');
  });
});

test('a name that leads inward is refused when a message is sent, and the page says so (federation F105)', async () => {
  const hook = await newWebhook(['group.created']);
  // only the name is public: a rebinding name answers so at its second lookup
  const { status } = await admin(hook.at, 'PATCH', {
    url: `https://${hostname()}:${receiver.host.split(':')[1]}${hook.path}`,
  });
  expect(status).toBe(200);
  await admin('/groups', 'POST', { name: 'inward' });
  const failed = await delivery(hook, (one) => one['last_failure'] !== undefined);
  expect(failed).toMatchObject({
    status: 'waiting',
    attempts: 1,
    last_failure: expect.stringMatching(/^cannot be reached \(.*not (allowed|public)/) as string,
  });
  expect(receiver.at(hook.path)).toEqual([]);
  await admin(hook.at, 'DELETE');
});

test('receivers that hang, redirect, answer without end or a byte at a time hold up no other receiver and no request (federation F105, F114)', async () => {
  const good = await newWebhook(['group.*']);
  const bad = {
    hang: await newWebhook(['group.*']),
    redirect: await newWebhook(['group.*']),
    endless: await newWebhook(['group.*']),
    slow: await newWebhook(['group.*']),
  };
  const inside = `/hook/inside-${paths}`;
  const ended: string[] = [];
  let sent = 0;
  const open = new Set<() => void>();
  receiver.answers.set(bad.hang.path, (response) => void open.add(() => response.end()));
  receiver.answers.set(
    bad.redirect.path,
    (response) => void response.writeHead(307, { location: receiver.uri(inside) }).end(),
  );
  receiver.answers.set(bad.endless.path, (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const chunk = Buffer.alloc(65_536, 'x');
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', write).on('close', () => ended.push('endless'));
    write();
  });
  receiver.answers.set(bad.slow.path, (response) => {
    response.writeHead(500);
    const timer = setInterval(() => response.write('y'), 100);
    response.on('close', () => {
      clearInterval(timer);
      ended.push('slow');
    });
  });
  const names = Array.from({ length: 20 }, (_, index) => `crowd-${index}`);
  for (const name of names) await admin('/groups', 'POST', { name });
  const received = await arrived(good.path, names.length);
  expect(received.map(({ message }) => (message.data['detail'] as { group: string }).group).sort()).toEqual(
    [...names].sort(),
  );
  const redirected = await delivery(bad.redirect, (one) => one['last_failure'] !== undefined);
  expect(redirected).toMatchObject({ answer: { status: 307 }, last_failure: 'answered 307' });
  expect(receiver.at(inside)).toEqual([]);
  const endless = await delivery(bad.endless, ({ status }) => status === 'delivered');
  expect((endless['answer'] as { start: string }).start).toBe('x'.repeat(256));
  const slow = await delivery(bad.slow, (one) => one['last_failure'] === 'answered 500');
  expect((slow['answer'] as { start: string }).start).toMatch(/^y+$/);
  await eventually(
    async () => ended,
    (all) => all.includes('slow') && all.filter((one) => one === 'endless').length >= names.length,
  );
  // what the sockets of both sides hold, and no more
  expect(sent).toBeLessThan(names.length * 16 * 1024 * 1024);
  // the receiver that hangs has its own messages only, at most ten at a time
  expect(receiver.at(bad.hang.path).length).toBeLessThanOrEqual(10);
  for (const release of open) release();
  for (const hook of [good, ...Object.values(bad)]) await admin(hook.at, 'DELETE');
});

test('without a webhook no event makes a row of the outbox, and the last webhook that goes takes its subscriptions with it (architecture, hot paths)', async () => {
  const { body } = await admin('/webhooks?limit=200');
  for (const { id } of body['webhooks'] as { id: string }[]) await admin(`/webhooks/${id}`, 'DELETE');
  const subscriptions = () =>
    service.database.sql(`SELECT type FROM event_subscriptions WHERE subscriber = 'webhook' ORDER BY type`);
  expect(await subscriptions()).toEqual([]);
  const hook = await newWebhook(['group.*', 'user.created']);
  const wanted = ['group.changed', 'group.created', 'group.deleted', 'group.guarded', 'user.created'];
  expect((await subscriptions()).map(({ type }) => type)).toEqual(wanted);
  await admin(hook.at, 'PATCH', { events: ['user.created'] });
  expect((await subscriptions()).map(({ type }) => type)).toEqual(['user.created']);
  await admin(hook.at, 'PATCH', { status: 'disabled' });
  expect(await subscriptions()).toEqual([]);
  await admin(hook.at, 'PATCH', { status: 'enabled' });
  expect(await subscriptions()).toHaveLength(1);
  await admin(hook.at, 'DELETE');
  expect(await subscriptions()).toEqual([]);
});

test('finished deliveries are kept for a week, at most a thousand of a webhook, and those of a deleted webhook go (federation 14)', async () => {
  const hook = await newWebhook(['group.*']);
  const gone = await newWebhook(['group.*']);
  await service.database.sql(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, type, body, status, finished_at, expires_at)
     SELECT id, n, 'group.created', '{}', 'delivered', now() - make_interval(secs => n), now() + make_interval(days => CASE WHEN n <= 5 THEN -1 ELSE 7 END)
       FROM webhooks, generate_series(1, 1100) AS n WHERE id IN ($1, $2)`,
    [hook.id, gone.id],
  );
  await admin(gone.at, 'DELETE');
  for (let kind = 0; kind < service.store.expired.kinds; kind++)
    while ((await service.store.expired.deleteBatch(kind)) > 0);
  const [left] = await service.database.sql(
    `SELECT count(*)::int AS rows, min(event_id)::int AS first, max(event_id)::int AS last FROM webhook_deliveries WHERE webhook_id IN ($1, $2)`,
    [hook.id, gone.id],
  );
  expect(left).toEqual({ rows: 1000, first: 6, last: 1005 });
});

test('the snippet of the page about webhooks accepts a message, and refuses one that was changed or is old (federation 14)', async () => {
  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const [, snippet] = /```js\n([\s\S]*?)```/.exec(page)!;
  const { verify } = (await import(`data:text/javascript,${encodeURIComponent(snippet!)}`)) as {
    verify(secret: string, headers: Record<string, string>, body: string): unknown;
  };
  const hook = await newWebhook(['group.created']);
  await admin('/groups', 'POST', { name: 'verified-by-the-snippet' });
  const [received] = await arrived(hook.path);
  const headers = received!.headers as Record<string, string>;
  expect(verify(hook.secret, headers, received!.body)).toEqual(received!.message);
  expect(() => verify(hook.secret, headers, `${received!.body} `)).toThrow('the signature is wrong');
  const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 600) };
  expect(() => verify(hook.secret, old, received!.body)).toThrow('too old');
});
