// Tests that what a connection owns of a user cannot be changed on the account pages, which say why.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let agent: UserAgent;
let sub: string;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      PROFILE_EDITABLE: 'name,nickname,phone_number',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, provider, 'corporate', {
    provisioning: 'on',
    authoritative_domains: ['corp.example'],
    claim_rules: [{ to: 'name', from: 'name' }],
  });
  const now = Math.floor(Date.now() / 1000);
  provider.be({
    sub: 'o-1',
    preferred_username: 'owned',
    name: 'By rule',
    email: 'owned@corp.example',
    auth_time: now,
  });
  agent = new UserAgent(service);
  await signInBy(agent, 'corporate');
  [{ sub }] = (await service.database.sql<{ sub: string }>(`SELECT sub FROM users WHERE username = 'owned'`)) as [
    { sub: string },
  ];
  // what needs a recent sign-in is not the question here
  await service.database.sql('UPDATE sessions SET auth_time = now() WHERE sub = $1', [sub]);
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const user = async () => (await service.store.users.find(sub))!;

describe('a claim that a connection sets', () => {
  test('is shown with the name of the connection, and has no field (federation 4)', async () => {
    expect((await agent.get('/account/profile')).body).toContain('This comes from <bdi>The corporate</bdi>');
    const page = await agent.get('/account/profile/edit');
    expect(page.body).not.toContain('name="name"');
    expect(page.body).toContain('name="nickname"');
    expect(page.body).toContain('By rule');
    expect(page.body).toContain('This comes from <bdi>The corporate</bdi>');
  });

  test('is not changed by a form that posts it all the same (federation 4)', async () => {
    const page = await agent.get('/account/profile/edit');
    const fields = { ...hiddenFields(page.body), name: 'By hand', nickname: 'Own', phone_number: '' };
    expect((await agent.post('/account/profile/edit', fields)).status).toBe(303);
    expect((await user()).claims).toEqual({ name: 'By rule', nickname: 'Own' });
  });
});

describe('an address that a connection owns', () => {
  test('has no form that changes it, and a posted one changes nothing (federation 4)', async () => {
    const page = await agent.get('/account/email');
    expect(page.body).toContain('This comes from <bdi>The corporate</bdi>');
    expect(page.body).not.toContain('id="change-email"');
    // the token of the page as it was before
    await changeConnection(service, 'corporate', { authoritative_domains: [] });
    const fields = hiddenFields((await agent.get('/account/email')).body);
    await changeConnection(service, 'corporate', { authoritative_domains: ['corp.example'] });
    const sent = await agent.post('/account/email', { ...fields, email: 'mine@else.example' });
    expect(sent.status).toBe(400);
    expect(sent.body).toContain('This comes from');
    expect(await service.database.sql(`SELECT FROM outbox WHERE name = 'verify-address'`)).toEqual([]);
    expect((await user()).email).toBe('owned@corp.example');
  });

  test('is not changed by a link that was requested before, either (federation 4)', async () => {
    await changeConnection(service, 'corporate', { authoritative_domains: [] });
    const fields = hiddenFields((await agent.get('/account/email')).body);
    expect((await agent.post('/account/email', { ...fields, email: 'before@else.example' })).status).toBe(200);
    const mail = await vi.waitUntil(
      async () => (await mailsIn(service.dataDir)).find(({ link }) => link?.includes('/account/email/confirm')),
      { timeout: 10_000, interval: 20 },
    );
    await changeConnection(service, 'corporate', { authoritative_domains: ['corp.example'] });
    const page = await agent.get(mail.link!);
    expect(page.status).toBe(200);
    const confirmed = await agent.post('/account/email/confirm', hiddenFields(page.body));
    expect(confirmed.status).toBe(410);
    expect((await user()).email).toBe('owned@corp.example');
  });
});

test('nothing is kept from a user without a link, nor while the connection is disabled (federation 4)', async () => {
  await changeConnection(service, 'corporate', { status: 'disabled' });
  expect((await agent.get('/account/profile/edit')).body).toContain('name="name"');
  expect((await agent.get('/account/email')).body).toContain('id="change-email"');
  await changeConnection(service, 'corporate', { status: 'enabled' });
  const other = new UserAgent(service);
  await other.signIn(await service.createUser({ email: 'plain@corp.example', emailVerified: true }));
  expect((await other.get('/account/profile/edit')).body).toContain('name="name"');
  expect((await other.get('/account/email')).body).toContain('id="change-email"');
});
