// The console lists every setting without its secrets, and sends a test mail whose result it tells.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig, settings } from '../../src/config.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { MailServer, mailsIn } from '../helpers/mail-server.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const path = '/admin/settings';
const server = new MailServer();
let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
const secrets = { ADMIN_PASSWORD: 'correct-horse-battery', SMTP_URL: '' };
beforeAll(async () => {
  await server.start();
  secrets.SMTP_URL = `smtp://gatehouse:let%20me%20in@127.0.0.1:${server.port}`;
  service = await startTestService({
    environment: { ...withoutLimits, ...secrets, SESSION_LIFETIME: '7200', LIMIT_MAILED_LINKS: '5' },
  });
  admin = await service.createUser({ admin: true, username: 'ann', email: 'ann@example.com', emailVerified: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(async () => {
  await service?.stop();
  await server.stop();
});

/** The address of the page with all settings. */
const every = `${path}?group=all`;
const namesOf = (page: Page): string[] =>
  [...page.body.matchAll(/<bdi class="id">([A-Z0-9_]+)<\/bdi>/g)].map(([, name]) => name!);
const texts = (page: Page) => page.body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
/** The row of a setting, as text. */
const rowOf = (page: Page, name: string): string => {
  const at = page.body.indexOf(`<bdi class="id">${name}</bdi>`);
  return texts({ ...page, body: page.body.slice(at, page.body.indexOf('</tr>', at)) });
};
const sendTest = async (by = agent) => by.post(`${path}/test-mail`, formOf(await by.get(path), `${path}/test-mail`));

test('all settings are listed with their meaning, their value, their default, and their source where that is another one (pages, settings)', async () => {
  const page = await agent.get(every);
  expect(page.status).toBe(200);
  expect(namesOf(page).sort()).toEqual(Object.keys(settings).sort());
  expect(rowOf(page, 'SESSION_LIFETIME')).toMatch(/session in total\. 7200 Environment Default: 86400 $/);
  expect(rowOf(page, 'ID_TOKEN_LIFETIME')).toMatch(/ 600 $/);
  expect(rowOf(page, 'TEMPLATES_DIR')).toMatch(/ Not set $/);
  expect(rowOf(page, 'BASE_URL')).toContain(`${service.issuer} Environment`);
});

test('the page begins with what differs and with the groups, each of which has its settings; with all of them it weighs little more than its text (pages, settings)', async () => {
  const start = await agent.get(path);
  expect(namesOf(start)).toContain('SESSION_LIFETIME');
  expect(namesOf(start)).not.toContain('ID_TOKEN_LIFETIME');
  expect(Buffer.byteLength(start.body)).toBeLessThan(25_000);
  const groups = [...start.body.matchAll(/href="([^"]*\?group=([a-z-]+))"/g)].filter(([, , key]) => key !== 'all');
  const listed: string[] = [];
  for (const [, uri] of groups) listed.push(...namesOf(await agent.get(uri!)));
  expect(listed.sort()).toEqual(Object.keys(settings).sort());
  expect(namesOf(await agent.get(`${path}?group=lifetimes`))).toContain('SESSION_LIFETIME');
  const all = Buffer.byteLength((await agent.get(every)).body);
  expect(all / Object.keys(settings).length).toBeLessThan(450);
  // of no group
  expect(namesOf(await agent.get(`${path}?group=x%22%3E`))).toEqual(namesOf(start));
});

test('the page names the instances and the one whose settings it shows, and the doctor the settings in which they differ (pages, settings)', async () => {
  const [own] = await service.store.instances.running();
  const here = `${hostname()}:${new URL(service.issuer).port}`;
  const elsewhere = { ...own!.place!, host: 'b.example', port: 3001 };
  await service.store.instances.heartbeat(randomUUID(), own!.secretKeyId, {
    ...elsewhere,
    settings: { ...elsewhere.settings, SESSION_LIFETIME: '61', REMEMBER_ME: 'on' },
  });
  const listed = texts(await agent.get(path));
  expect(listed).toMatch(new RegExp(`${here} *version .{5,40} since .{5,40} This page shows the settings of this one`));
  expect(listed).toMatch(/b\.example:3001 *version .{5,40} since [^T]{5,60}An instance that was killed/);
  const { stdout } = await runCommand(service, ['doctor', '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; finding?: string }[] };
  const told = checks.find(({ check }) => check === 'instances');
  expect(told).toMatchObject({ state: 'warning' });
  expect(JSON.stringify(told)).toContain(
    `the instances ${here}, b.example:3001 differ in REMEMBER_ME, SESSION_LIFETIME`,
  );
  await service.database.sql(`DELETE FROM instances WHERE host = 'b.example'`);
});

test('what differs from its default comes first, and words find a setting by name and meaning (pages, settings)', async () => {
  const { body } = await agent.get(`${path}?q=lifetime`);
  const at = (name: string) => body.indexOf(`<bdi class="id">${name}</bdi>`);
  expect(at('SESSION_LIFETIME')).toBeGreaterThan(body.indexOf('id="differing"'));
  expect(at('SESSION_LIFETIME')).toBeLessThan(body.indexOf('id="group-lifetimes"'));
  expect(at('ID_TOKEN_LIFETIME')).toBeGreaterThan(body.indexOf('id="group-lifetimes"'));
  expect(namesOf(await agent.get(`${path}?q=device_grant`))).toEqual(['DEVICE_GRANT']);
  expect(namesOf(await agent.get(`${path}?q=port+listen`))).toEqual(['PORT']);
  expect((await agent.get(`${path}?q=nothing-has-this`)).body).toContain('No results');
});

test.each(['de', 'ar'])(
  'each setting has its name and its explanation in the language %s, and is found by them (pages, settings)',
  async (language) => {
    const languages = { 'accept-language': language };
    const { body } = await agent.get(every, languages);
    expect(body).toContain(`<html lang="${language}"`);
    expect([...body.matchAll(/<b>[^<]+<\/b> <bdi class="id">/g)]).toHaveLength(Object.keys(settings).length);
    expect(body).not.toContain('<p lang="en"');
    const [, called] = /<b>([^<]+)<\/b> <bdi class="id">DEVICE_GRANT</.exec(body)!;
    const found = await agent.get(`${path}?q=${encodeURIComponent(called!)}`, languages);
    expect(found.body).toContain('<bdi class="id">DEVICE_GRANT</bdi>');
    expect(found.body).not.toContain('<bdi class="id">SMTP_URL</bdi>');
  },
);

test('a feature that needs a setting leads to it (pages, settings)', async () => {
  expect((await agent.get('/admin/clients/new')).body).toContain('href="/admin/settings?q=DEVICE_GRANT"');
});

test('the page shows no secret, and no credentials of an address (security R99)', async () => {
  const page = await agent.get(every);
  expect(rowOf(page, 'SECRET_KEY')).toMatch(/ Set \(hidden\) Environment $/);
  expect(rowOf(page, 'ADMIN_PASSWORD')).toMatch(/ Set \(hidden\) Environment $/);
  expect(rowOf(page, 'SMTP_URL')).toContain(` smtp://127.0.0.1:${server.port} Environment`);
  for (const secret of [service.secretKey, secrets.ADMIN_PASSWORD, 'let%20me%20in', 'let me in', service.database.url])
    expect(page.body).not.toContain(secret);
  // as in every place that a program or a person might read
  const { given } = loadConfig({
    DATABASE_URL: 'postgresql://gatehouse:geheim-1@db.example:6432/idp?sslpassword=geheim-2',
    DATABASE_DIRECT_URL: 'postgresql://gatehouse:geheim-3@[::1]/idp',
    SECRET_KEY: service.secretKey,
    PASSWORD_BREACH_CHECK: 'https://user:geheim-4@ranges.example/range/',
  });
  expect(JSON.stringify(given)).not.toMatch(/geheim/);
  expect(given).toMatchObject({ DATABASE_URL: 'postgresql://db.example:6432/idp', SECRET_KEY: '' });
});

test('a value from the console is named as such, until a setting takes precedence (pages, settings)', async () => {
  const token = await adminToken(service);
  const api = `${service.issuer}/admin/api/appearance`;
  await call(api, { method: 'PATCH', token, body: { product_name: 'Harbour ID' } });
  expect(rowOf(await agent.get(path), 'PRODUCT_NAME')).toMatch(/ Harbour ID Console $/);
  await call(api, { method: 'PATCH', token, body: { product_name: null } });
  expect(rowOf(await agent.get(every), 'PRODUCT_NAME')).toMatch(/ Not set $/);
});

test('only administrators see the settings (security R89)', async () => {
  const stranger = new UserAgent(service);
  await stranger.signIn(await service.createUser());
  expect((await stranger.get(path)).status).toBe(403);
});

test('a test email goes to the address of the signed-in administrator, and the page says so (pages, settings)', async () => {
  const page = await sendTest();
  expect(page.status).toBe(200);
  expect(texts(page)).toContain('Test email sent The mail server accepted the email to ann@example.com');
  const mail = await server.find('ann@example.com', /^Test email from Gatehouse$/);
  expect(mail.text).toContain('Gatehouse can send emails to you.');
});

test('the page tells in plain words why a test email was not sent, and the trail records it (pages, settings)', async () => {
  const eve = await service.createUser({ admin: true, email: 'eve@example.com' });
  server.unknown.add('eve@example.com');
  const { agent: browser } = await openConsole(service, eve);
  const page = await sendTest(browser);
  expect(page.body).toContain('<title>Error: Settings');
  expect(texts(page)).toContain('The mail server rejected the email. Check that it accepts the sender in MAIL_FROM');
  expect(texts(page)).toContain('no such mailbox');
  const events = await service.database.sql(
    `SELECT outcome, actor, sub FROM audit_events WHERE type = 'mail.tested' AND sub = ANY ($1) ORDER BY id`,
    [[admin.sub, eve.sub]],
  );
  expect(events).toEqual([
    { outcome: 'success', actor: admin.sub, sub: admin.sub },
    { outcome: 'failure', actor: eve.sub, sub: eve.sub },
  ]);
});

test.each([
  [
    'wrong credentials',
    (port: number) => `smtp://gatehouse:wrong@127.0.0.1:${port}`,
    /rejected the user name or the password/,
  ],
  ['a closed port', () => 'smtp://127.0.0.1:1', /can’t be reached/],
  ['an unknown host', () => 'smtp://mail.invalid', /wasn’t found/],
])('the page explains %s (pages, settings)', async (_what, url, sentence) => {
  const own = await startTestService({ environment: { ...withoutLimits, SMTP_URL: url(server.port) } });
  try {
    const { agent: browser } = await openConsole(own, await own.createUser({ admin: true, email: 'a@example.com' }));
    const page = await sendTest(browser);
    expect(texts(page)).toMatch(sentence);
    expect(page.body).not.toContain('wrong');
  } finally {
    await own.stop();
  }
});

test('test emails to one administrator are limited in an hour, with every way to send one (security R62)', async () => {
  const bob = await service.createUser({ admin: true, username: 'bob', email: 'bob@example.com' });
  const token = await adminToken(service);
  const order = () => call(`${service.issuer}/admin/api/mail/test`, { method: 'POST', token, body: { sub: bob.sub } });
  for (let n = 0; n < 5; n++) expect(await order()).toMatchObject({ status: 200, body: { to: 'bob@example.com' } });
  const refused = await order();
  expect(refused).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const { agent: browser } = await openConsole(service, bob);
  const page = await sendTest(browser);
  expect(page.status).toBe(429);
  expect(texts(page)).toContain('You’ve sent too many test emails.');
});

test('a test email goes to administrators only, and to no typed address (security R89)', async () => {
  const token = await adminToken(service);
  const user = await service.createUser({ email: 'user@example.com' });
  const send = (body: Record<string, unknown>) =>
    call(`${service.issuer}/admin/api/mail/test`, { method: 'POST', token, body });
  expect((await send({ sub: user.sub })).status).toBe(404);
  expect((await send({})).status).toBe(404);
  expect((await send({ to: 'x@example.com' })).status).toBe(400);
});

test('without an address the page sends nothing, and says where to add one (pages, settings)', async () => {
  const { page } = await openConsole(service, await service.createUser({ admin: true }), path);
  expect(page.body).not.toContain('id="send-test"');
  expect(texts(page)).toContain('Your account has no email address to send a test email to. Add an email address');
});

test('without a mail server the page names the folder, and the command line sends as well (pages, settings)', async () => {
  const own = await startTestService({ environment: withoutLimits });
  try {
    const user = await own.createUser({ admin: true, username: 'carl', email: 'carl@example.com' });
    const { agent: browser } = await openConsole(own, user);
    expect(texts(await sendTest(browser))).toContain(`The email was saved as a file in the folder ${own.dataDir}/mail`);
    expect(await mailsIn(own.dataDir)).toHaveLength(1);
    const environment = { DATA_DIR: own.dataDir };
    const sent = await runCommand(own, ['mail', 'test', '--user', 'carl'], { environment });
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(sent.stdout).toContain('A test email to carl@example.com is on its way');
    expect(await mailsIn(own.dataDir)).toHaveLength(2);
  } finally {
    await own.stop();
  }
});
