// The start page shows a user the applications that the user may use, and no word of the others.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { START_PAGE: 'on' } });
  const made = (name: string, metadata = {}) =>
    service.createClient({
      client_name: name,
      redirect_uris: [`https://${name.toLowerCase().replace('é', 'e')}.example/cb`],
      ...metadata,
    });
  const start = (client: TestClient, change: string) =>
    service.database.sql(`UPDATE clients SET ${change} WHERE client_id = $1`, [client.clientId]);
  await start(await made('Notes'), `start_uri = 'https://notes.example/home'`);
  await start(
    await made('Secret'),
    `start_uri = 'https://secret.example/', access = 'groups', access_groups = '{staff}'`,
  );
  await start(await made('Hidden'), `start_uri = 'https://hidden.example/', start_hidden = true`);
  await start(await made('Remote'), `start_uri = 'https://remote.example/', networks = '{192.0.2.0/24}'`);
  await start(await made('Stopped'), `start_uri = 'https://stopped.example/', status = 'disabled'`);
  await made('Caf\u00e9', { initiate_login_uri: 'https://cafe.example/login?x=1' });
  await made('Lured', { initiate_login_uri: 'https://evil.example/login' });
  await made('Plain');
});
afterAll(() => service?.stop());

async function open(groups: string[]) {
  const agent = new UserAgent(service);
  const page = await agent.signIn(await service.createUser({ groups }));
  return { agent, page };
}
const named = (body: string) =>
  [...body.matchAll(/<h2><a href="([^"]*)"><bdi>([^<]*)/g)].map(([, uri, name]) => [
    name,
    uri!.replaceAll('&amp;', '&'),
  ]);

test('a sign-in without an application leads to the start page, with the applications of the user (federation 7, federation F66)', async () => {
  const { agent, page } = await open([]);
  expect(page.location ?? page.url).toContain('/account/start');
  const { body } = await agent.get('/account/start');
  const iss = encodeURIComponent(service.issuer);
  expect(named(body)).toEqual([
    ['Caf\u00e9', `https://cafe.example/login?x=1&iss=${iss}`],
    ['Notes', 'https://notes.example/home'],
  ]);
  // nothing of the others is in the page
  expect(body).not.toMatch(/secret|hidden\.example|remote|stopped|evil|lured|plain/i);
});

test('the search works without script, and finds nothing that the user may not use (federation F66)', async () => {
  const { agent } = await open([]);
  expect(named((await agent.get('/account/start?q=CAFE')).body)).toHaveLength(1);
  for (const q of ['secret', 'evil', '%25', '<b>']) {
    const { body } = await agent.get(`/account/start?${new URLSearchParams({ q })}`);
    expect(named(body)).toEqual([]);
    expect(body).not.toContain('secret.example');
  }
});

test('an application appears and goes with the group (federation FR42)', async () => {
  const { agent } = await open(['staff']);
  const names = async () => named((await agent.get('/account/start')).body).map(([name]) => name);
  expect(await names()).toContain('Secret');
  await service.database.sql(`UPDATE users SET groups = '{}'`);
  expect(await names()).not.toContain('Secret');
});

test('without a session the page asks for a sign-in (federation 7)', async () => {
  expect((await new UserAgent(service).get('/account/start')).location).toContain('/login');
});

test('the account links to it where it is the landing page, and else where it has something for the user (federation 7)', async () => {
  const { agent } = await open([]);
  expect((await agent.get('/account')).body).toContain('href="/account/start"');
  const other = await startTestService();
  try {
    const browser = new UserAgent(other);
    await browser.signIn(await other.createUser());
    expect((await browser.get('/account')).body).not.toContain('/account/start');
    const client = await other.createClient();
    const begins = (change: string) =>
      other.database.sql(`UPDATE clients SET ${change} WHERE client_id = $1`, [client.clientId]);
    await begins(`start_uri = 'https://rp.example.com/', access = 'groups', access_groups = '{staff}'`);
    expect((await browser.get('/account')).body).not.toContain('/account/start');
    await begins(`access = 'everyone'`);
    expect((await browser.get('/account')).body).toContain('href="/account/start"');
  } finally {
    await other.stop();
  }
});

test('administrators see which applications have no address to start at, with the form that sets one; other users do not (pages, faces)', async () => {
  const admin = new UserAgent(service);
  await admin.signIn(await service.createUser({ admin: true }));
  const { body } = await admin.get('/account/start');
  const lacking = body.slice(body.indexOf('id="lacking"'));
  expect(named(lacking).map(([name]) => name)).toEqual(['Plain']);
  expect(lacking).toMatch(/href="\/admin\/clients\/[^"/]+\/edit"/);
  expect(lacking).toContain('No start address');
  const { agent } = await open([]);
  expect((await agent.get('/account/start')).body).not.toContain('id="lacking"');
});
