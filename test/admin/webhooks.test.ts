// Administrators manage webhooks by the console, by commands and by configuration files; a secret is shown once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';
import { WebhookReceiver } from '../helpers/webhook-receiver.ts';

let receiver: WebhookReceiver;
let service: TestService;
let agent: UserAgent;
let token: string;
let folder: string;
beforeAll(async () => {
  receiver = await new WebhookReceiver().start();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host } });
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  token = await adminToken(service);
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-webhooks-'));
});
afterAll(async () => {
  await service?.stop();
  await receiver?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

const list = '/admin/webhooks';
const secretIn = (text: string) => /whsec_[A-Za-z0-9+/]{43}=/.exec(text)?.[0];
/** Sends the form of a page. */
async function send(page: string, action: string, fields: Record<string, string> = {}) {
  const form = formOf(await agent.get(page), action);
  return agent.follow(await agent.post(action, { ...form, ...fields }));
}
const command = (...args: string[]) =>
  runCommand(service, args, { environment: { OUTBOUND_ALLOW: receiver.host, HOOK_SECRET: fileSecret } });
const fileSecret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const group = (name: string) => call(`${service.issuer}/admin/api/groups`, { method: 'POST', token, body: { name } });

test('the console creates a webhook and shows its secret once, lists its messages with the answers as text, and sends one again (pages, dangerous acts)', async () => {
  expect((await agent.get(list)).body).toContain('No webhooks yet.');
  receiver.answers.set(
    '/console',
    (response) => void response.writeHead(503).end('<script>alert(1)</script>\u0007 later'),
  );
  const fields = { name: 'Harbour & <b>more</b>', url: receiver.uri('/console') };
  const made = await send(`${list}/new`, `${list}/new`, {
    ...fields,
    events: 'group.*\r\nuser.created',
    status: 'enabled',
  });
  const secret = secretIn(made.body)!;
  expect(made.body).toContain('You won’t be able to see them again');
  expect(made.body).not.toContain('<b>more');
  const [hook] = await service.store.webhooks.list({ limit: 10, after: undefined });
  expect(hook).toMatchObject({ name: fields.name, events: ['group.*', 'user.created'], status: 'enabled' });
  const page = `${list}/${hook!.id}`;
  for (const path of [page, `${page}/edit`, list, `${page}/delete`])
    expect((await agent.get(path)).body).not.toContain('whsec_');
  await group('seen');
  const failed = await eventually(
    () => agent.get(page),
    // the answer of the receiver and the state of the receiver are stored one after the other
    ({ body }) => body.includes('503 in') && body.includes('Every delivery has failed since'),
  );
  expect(failed.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt; later');
  expect(failed.body).not.toContain('<script>alert');
  receiver.answers.delete('/console');
  await service.database.sql(`UPDATE webhook_receivers SET retry_at = now()`);
  await service.database.sql(
    `WITH told AS (SELECT pg_notify('gatehouse', 'webhook')) UPDATE webhook_deliveries SET next_attempt_at = now() FROM told WHERE status = 'waiting'`,
  );
  await eventually(
    () => agent.get(page),
    ({ body }) => body.includes('204 in') && !body.includes('Every delivery has failed'),
  );
  const [event] = await eventsOf(service, { type: 'group.created' });
  const again = await send(page, `${page}/replay`, { event: event!.id });
  expect(again.body).toContain('The message is being sent again.');
  await eventually(
    async () => receiver.at('/console'),
    ({ length }) => length === 3,
  );
  // a secret more, shown once, and the old one goes
  const more = await send(page, `${page}/secrets`);
  const second = secretIn(more.body)!;
  expect(second).not.toBe(secret);
  const removed = await send(page, `${page}/secrets/remove`, { secret: 'secret' });
  expect(removed.body).toContain('Secret removed.');
  expect(removed.body).not.toContain('whsec_');
  const gone = await send(`${page}/delete`, `${page}/delete`, { typed: fields.name });
  expect(gone.body).toContain('Webhook deleted.');
});

test('a form that is sent twice creates one webhook, and both answers show its secret (security R91)', async () => {
  const form = formOf(await agent.get(`${list}/new`), `${list}/new`);
  const fields = { ...form, name: 'Twice', url: receiver.uri('/twice'), events: 'group.*', status: 'enabled' };
  const answers = await Promise.all([agent.post(`${list}/new`, fields), agent.post(`${list}/new`, fields)]);
  const secrets = answers.map(({ body }) => secretIn(body));
  expect(secrets[0]).toBeDefined();
  expect(secrets[1]).toBe(secrets[0]);
});

test('commands create a webhook, show its secret once, and list its messages (federation 14)', async () => {
  const made = await command('webhook', 'create', 'Pipe', '--url', receiver.uri('/pipe'), '--event', 'group.created');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Created the webhook Pipe\./) as string });
  expect(secretIn(made.stdout)).toBeDefined();
  for (const args of [['list'], ['show', 'Pipe'], ['list', '--json'], ['deliveries', 'Pipe']])
    expect((await command('webhook', ...args)).stdout).not.toContain('whsec_');
  await group('piped');
  const [, line] = await eventually(
    async () => (await command('webhook', 'deliveries', 'Pipe')).stdout.split('\n'),
    ([, first]) => first?.includes('delivered') === true,
  );
  expect(line).toMatch(/ group\.created +delivered +1 +204 in \d+ ms$/);
  const added = await command('webhook', 'add-secret', 'Pipe');
  expect(added.stdout).toMatch(/^Made the secret second_secret, which is shown only now: whsec_/);
  expect((await command('webhook', 'remove-secret', 'Pipe', 'secret')).code).toBe(0);
  expect(await command('webhook', 'remove-secret', 'Pipe', 'second_secret')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a webhook has at least one secret') as string,
  });
  const replayed = await command('webhook', 'replay', 'Pipe', line!.split(/ +/)[1]!);
  expect(replayed.stdout).toContain('is sent once more');
});

test('a configuration file makes a webhook with a secret of its environment, or one that the service makes and shows once (federation 10)', async () => {
  const file = join(folder, 'hooks.yaml');
  const entry = (name: string, secret: string) =>
    `  ${name}:\n    url: ${receiver.uri('/file')}\n    events: [group.*]\n${secret}`;
  const write = (text: string) => writeFileSync(file, `apiVersion: gatehouse/v1\nname: hooks\nwebhooks:\n${text}`);
  write(entry('None', ''));
  const refused = await command('config', 'apply', file);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('secret is missing') as string });
  write(entry('Given', '    secret: {env: HOOK_SECRET}\n') + entry('Made', '    secret: generate\n'));
  const applied = await command('config', 'apply', file);
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  expect(applied.stdout).toMatch(/webhooks\.Made\.secret {2}whsec_[A-Za-z0-9+/]{43}=/);
  expect(applied.stdout).not.toContain(fileSecret);
  expect((await command('config', 'plan', file)).code).toBe(0);
  const exported = await command('config', 'export');
  expect(exported.stdout).toMatch(
    /webhooks:\n(.*\n)*? {2}Given:\n(.*\n)*? +secret:\n? *\{?\s*env: WEBHOOK_GIVEN_SECRET/,
  );
  expect(exported.stdout).not.toContain('whsec_');
});
