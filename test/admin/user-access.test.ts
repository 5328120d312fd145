// An administrator learns why a user may not use a client: by the reference of the page, and by a check of what would happen now.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent, withoutReference } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let agent: UserAgent;
let client: TestClient;
let ada: TestUser;
beforeAll(async () => {
  service = await startTestService({ basePath: '/idp', environment: withoutLimits });
  token = await adminToken(service);
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
  client = await service.createClient({ client_name: 'Harbour <b>' });
  await service.store.groups.insert({ name: 'pilots' });
  await change({ access: 'groups', access_groups: ['pilots'] });
  ada = await service.createUser({ username: 'ada' });
});
afterAll(() => service?.stop());

const change = (body: object) =>
  call(`${service.issuer}/admin/api/clients/${client.clientId}`, { token, method: 'PATCH', body });
const accessOf = async (query = '') =>
  (await call(`${service.issuer}/admin/api/users/${ada.sub}/access/${client.clientId}${query}`, { token })).body;
const pageOf = (query: Record<string, string>) =>
  agent.get(`/admin/users/${ada.sub}/access?${new URLSearchParams(query)}`);

test('the reference of a page that refuses a user leads by the search to user, client, rule and button, and the button helps (pages, why)', async () => {
  const denied = await new UserAgent(service).authorize(client, ada);
  expect(denied.status).toBe(403);
  const found = await agent.get(`/admin/search?q=${denied.reference!.toUpperCase()}`);
  expect(found.location).toBe(`${service.issuer}/admin/why/${denied.reference}`);
  const page = await agent.get(`/admin/why/${denied.reference}`);
  expect(page.status).toBe(200);
  expect(page.body).toContain(`href="/idp/admin/users/${ada.sub}"`);
  expect(page.body).toContain(`href="/idp/admin/clients/${client.clientId}"`);
  expect(page.body).toContain('127.0.0.1');
  expect(page.body).not.toContain('Harbour <b>');
  expect(page.body).toContain('value="pilots"');
  const form = formOf(page, `/admin/users/${ada.sub}`);
  expect((await agent.post(`/admin/users/${ada.sub}`, { ...form, act: 'join' })).status).toBe(303);
  expect(await accessOf()).toMatchObject({ allowed: true, reasons: [] });
  // what happened stays as it was; what would happen now is another answer
  const later = await agent.get(`/admin/why/${denied.reference}`);
  expect(later.body).toContain('wasn’t in any of the groups');
  expect(later.body).not.toContain('value="pilots"');
});

test('the page of a redirect URI that is not registered leads to the field that lists them (pages, why)', async () => {
  const query = new URLSearchParams({ client_id: client.clientId, redirect_uri: 'https://rp.example.com/wrong' });
  const { reference } = await new UserAgent(service).get(`/authorize?${query}&response_type=code&scope=openid`);
  const page = await agent.get(`/admin/why/${reference}`);
  expect(page.body.replaceAll('<wbr>', '')).toContain('https://rp.example.com/wrong');
  expect(page.body).toContain(`/admin/clients/${client.clientId}/edit#redirect_uris`);
});

test('API, command and page give the same answer to what would happen now (pages, why)', async () => {
  await service.database.sql("UPDATE users SET groups = '{}', status = 'disabled' WHERE sub = $1", [ada.sub]);
  await change({ networks: ['192.0.2.0/24'] });
  const answer = await accessOf('?address=198.51.100.1');
  expect(answer).toMatchObject({
    username: 'ada',
    allowed: false,
    reasons: ['user_disabled', 'not_in_group', 'network'],
    access_groups: ['pilots'],
    networks: ['192.0.2.0/24'],
    ways: [{ accepted: true }],
    consent: 'asked',
  });
  const typed = ['user', 'access', 'ada', client.clientId, '--address', '198.51.100.1'];
  expect(JSON.parse((await runCommand(service, [...typed, '--json'])).stdout)).toEqual(answer);
  const { stdout } = await runCommand(service, typed);
  for (const code of ['user_disabled', 'not_in_group', 'network']) expect(stdout).toContain(code);
  // a name is enough
  const page = await pageOf({ client: 'harbour <b>', address: '198.51.100.1' });
  expect(page.status).toBe(200);
  expect(page.body).toContain('value="enable"');
  expect(page.body).toContain('edit#networks');
  expect((await pageOf({ client: client.clientId })).body).not.toContain('edit#networks');
  await service.database.sql("UPDATE users SET status = 'enabled' WHERE sub = $1", [ada.sub]);
});

test('a pause after failed sign-ins is told with its end, and until then alone (pages, why)', async () => {
  const account = { sub: ada.sub, name: ada.username };
  for (let tries = 0; tries < 2; tries++) await service.store.signInFailures.reserve(account, 1);
  expect(await accessOf()).toMatchObject({
    reasons: ['not_in_group', 'sign_in_paused'],
    paused_until: expect.any(String),
  });
  await service.database.sql("UPDATE sign_in_failures SET held_until = now() - interval '1 second'");
  expect(await accessOf()).toMatchObject({ reasons: ['not_in_group'] });
});

test('a client that no name fits, or several, marks its field, and an address that is none its own (pages, why)', async () => {
  await Promise.all(['Quay', 'quay'].map((client_name) => service.createClient({ client_name })));
  const faults = [
    [{ client: 'nothing-like-it' }, 'client'],
    [{ client: 'QUAY' }, 'client'],
    [{ client: client.clientId, address: 'here' }, 'address'],
  ] as const;
  for (const [query, field] of faults) {
    const page = await pageOf({ ...query });
    expect([page.status, page.body.includes(`id="${field}-fault"`)]).toEqual([400, true]);
  }
});

test('a reference that nothing is stored under is said so, in the search and on its own page (pages, why)', async () => {
  expect((await agent.get('/admin/search?q=0a1b2c3d')).body).toContain('24 hours');
  expect((await agent.get('/admin/why/0a1b2c3d')).status).toBe(404);
  expect((await agent.get('/admin/why/none')).status).toBe(404);
});

test('only an administrator sees why, or checks access (security R89)', async () => {
  for (const path of ['/admin/why/0a1b2c3d', `/admin/users/${ada.sub}/access`]) {
    const { page } = await openConsole(service, await service.createUser(), path);
    expect(page.status).toBe(403);
  }
});

test('the reference below a wrong password leads to what an administrator may know, and the page tells no user what it was (pages, why; security R60)', async () => {
  const disabled = await service.createUser({ username: 'disabled' });
  await service.store.users.update(disabled.sub, { status: 'disabled' });
  await service.createUser({ username: 'grace' });
  await service.database.sql("UPDATE users SET password_hash = NULL WHERE username = 'grace'");
  const cases = [
    ['ada', 'ada</bdi> entered a wrong password'],
    ['disabled', 'disabled</bdi> was disabled'],
    ['grace', 'grace</bdi> has no password here'],
    ['nobody-at-all', 'No account has the user name or email that was entered'],
  ] as const;
  const shown: string[] = [];
  for (const [username, sentence] of cases) {
    const refused = await new UserAgent(service).signIn({ username, password: 'not the password' });
    expect(refused.reference, username).toMatch(/^[0-9a-f]{8}$/);
    shown.push(
      withoutReference(refused)
        .replaceAll(username, '')
        .replaceAll(/(value|data-options)="[^"]*"/g, ''),
    );
    const found = await agent.get(`/admin/search?q=${refused.reference}`);
    expect(found.location).toBe(`${service.issuer}/admin/why/${refused.reference}`);
    const page = await agent.get(`/admin/why/${refused.reference}`);
    expect(page.body).toContain(sentence);
    expect(page.body).toContain('127.0.0.1');
    expect(page.body).toMatch(/href="\/idp\/admin\/audit\/\d+"/);
    const { body } = await call(`${service.issuer}/admin/api/refusals/${refused.reference}`, { token });
    expect(body).toMatchObject({ error: 'access_denied', reason: expect.any(String), address: '127.0.0.1' });
    const told = JSON.parse((await runCommand(service, ['why', refused.reference!, '--json'])).stdout);
    expect(told).toEqual(body);
  }
  expect(new Set(shown).size).toBe(1);
});

test('the reference below a wrong current password leads to its user and the reason, as that of a sign-in does (pages, why)', async () => {
  const user = await service.createUser({ username: 'edith' });
  const browser = new UserAgent(service);
  await browser.signIn(user);
  const change = async (current: string, chosen = 'three umbrellas under a lighthouse') => {
    const form = await browser.get('/account/password');
    return browser.submit(form, { current_password: current, new_password: chosen });
  };
  const refused = await change('not the password');
  expect(refused).toMatchObject({ status: 400, reference: expect.stringMatching(/^[0-9a-f]{8}$/) });
  const page = await agent.get(`/admin/why/${refused.reference}`);
  expect(page.body).toContain('edith</bdi> entered a wrong password');
  expect(page.body).toMatch(/href="\/idp\/admin\/users\/[^"]*"/);
  const { body } = await call(`${service.issuer}/admin/api/refusals/${refused.reference}`, { token });
  expect(body).toMatchObject({ error: 'access_denied', reason: 'wrong_password', sub: user.sub, address: '127.0.0.1' });
  // a fault of the new password is no failed sign-in
  for (const current of [user.password, '']) expect((await change(current, 'short')).reference).toBeUndefined();
});

test('the reference below a refused second factor leads to its user, and to what a client asks for now (pages, why)', async () => {
  const hopper = await service.createUser({ username: 'hopper' });
  const owner = new UserAgent(service);
  await owner.signIn(hopper);
  const { app } = await setUpAuthenticator(owner);
  const browser = new UserAgent(service);
  const refused = await browser.submit(await browser.authorize(client, hopper), { code: app.wrong() });
  expect(refused).toMatchObject({ status: 400, reference: expect.stringMatching(/^[0-9a-f]{8}$/) });
  const page = await agent.get(`/admin/why/${refused.reference}`);
  expect(page.body).toContain('The second factor of <bdi>hopper</bdi> was refused');
  expect(page.body).toContain(`/admin/clients/${client.clientId}`);
});

test('the error that a client gets of a denied consent names the reference, the same after a double click (pages, why)', async () => {
  const quiet = await service.createClient({ client_name: 'Quiet bay' });
  const user = await service.createUser({ username: 'lovelace' });
  const browser = new UserAgent(service);
  await browser.signIn(user);
  const asked = await browser.follow(await browser.get(authorizationUrl(service.issuer, quiet)));
  const ends = [
    await browser.submit(asked, { decision: 'deny' }),
    await browser.submit(asked, { decision: 'deny' }),
  ].map((page) => responseParameters(page)['error_description']);
  const [, reference] = /^the End-User did not allow it \(reference ([0-9a-f]{8})\)$/.exec(ends[0] ?? '') ?? [];
  expect(ends).toEqual([ends[0], ends[0]]);
  const page = await agent.get(`/admin/why/${reference}`);
  expect(page.body).toContain('<bdi>lovelace</bdi> didn’t allow <bdi>Quiet bay</bdi>');
});

test('the reference of an event is found for a day, as that of a kept refusal is (pages, why)', async () => {
  const insert = (reference: string, age: string) =>
    service.database.sql(
      `INSERT INTO audit_events (at, type, outcome, detail)
         VALUES (now() - $2::interval, 'user.sign_in_failed', 'failure', jsonb_build_object('reference', $1::text))`,
      [reference, age],
    );
  await insert('11111111', '23 hours');
  await insert('22222222', '25 hours');
  expect((await agent.get('/admin/why/11111111')).status).toBe(200);
  expect((await agent.get('/admin/why/22222222')).status).toBe(404);
});
