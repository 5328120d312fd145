// A double click sends a form twice, and the browser loses the first answer with its cookie: the second answer is as good.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  UserAgent,
  withoutLanguages,
} from '../helpers/user-agent.ts';

const password = 'three umbrellas under a lighthouse';
const bed = createMailBed();
let service: TestService;
let admin: string;
beforeAll(async () => {
  ({ service, admin } = await bed.start());
});
afterAll(() => bed.stop());

/** Sends the page's form twice with the cookies of the page, as a double click does. @returns the last answer */
async function twice(agent: UserAgent, page: Page, fields: Record<string, string>): Promise<Page> {
  const action = /<form[^>]*action="([^"]*)"/.exec(page.body)![1]!;
  const form = { ...hiddenFields(page.body), ...fields };
  const cookies = new Map(agent.cookies);
  await agent.post(action, form);
  agent.cookies.clear();
  for (const [name, value] of cookies) agent.cookies.set(name, value);
  return agent.post(action, form);
}

async function invitation(): Promise<{ sub: string; link: string }> {
  const { body } = await call(`${service.issuer}/admin/api/users`, {
    token: admin,
    body: { username: `clicks-${Math.random().toString(36).slice(2)}`, invite: true },
  });
  return { sub: body['sub'] as string, link: (body['invitation_uri'] as string).replace(service.issuer, '') };
}
const sessionsOf = async (sub: string) =>
  (await service.database.sql('SELECT FROM sessions WHERE sub = $1', [sub])).length;

test('the last button of an invitation signs in, also within a request, and once (reports A4)', async () => {
  const { sub, link } = await invitation();
  const agent = new UserAgent(service);
  const page = await agent.get(link);
  const end = await twice(agent, page, { new_password: password });
  expect([end.status, end.location]).toEqual([303, `${service.issuer}/account?done=welcome`]);
  expect((await agent.follow(end)).body).toContain('Welcome');
  expect(await sessionsOf(sub)).toBe(1);
  const client = await service.createClient();
  const other = await invitation();
  const browser = new UserAgent(service);
  await browser.follow(await browser.get(authorizationUrl(service.issuer, client, { state: 's' })));
  const consent = await browser.follow(await twice(browser, await browser.get(other.link), { new_password: password }));
  expect(responseParameters(await browser.submit(consent, { decision: 'allow' }))).toMatchObject({ state: 's' });
});

test('the form is good for ten seconds, for its own browser, and not after a sign-out (security R55, reports A4)', async () => {
  const { sub, link } = await invitation();
  const agent = new UserAgent(service);
  const page = await agent.get(link);
  const form = { ...hiddenFields(page.body), new_password: password };
  const cookies = new Map(agent.cookies);
  await agent.post('/invitation', form);
  const again = async (of: Map<string, string>, fields: Record<string, string> = form) => {
    const browser = new UserAgent(service);
    for (const [name, value] of of) browser.cookies.set(name, value);
    return (await browser.post('/invitation', fields)).status;
  };
  expect(await again(cookies)).toBe(303);
  expect(await again(new Map())).toBe(410);
  const stranger = new UserAgent(service);
  await stranger.get('/login');
  expect(await again(stranger.cookies)).toBe(410);
  expect(await again(cookies, { ...form, csrf: 'A'.repeat(43) })).toBe(410);
  await service.database.sql(`UPDATE sessions SET form_at = form_at - interval '10 seconds' WHERE sub = $1`, [sub]);
  expect(await again(cookies)).toBe(410);
  await service.database.sql(`UPDATE sessions SET form_at = now() WHERE sub = $1`, [sub]);
  expect(await again(cookies)).toBe(303);
  await service.database.sql('DELETE FROM sessions WHERE sub = $1', [sub]);
  expect(await again(cookies)).toBe(410);
});

test('a code of the second step is accepted once, and signs in (reports A4)', async () => {
  const user = await bed.newUser();
  const owner = new UserAgent(service);
  await owner.signIn(user);
  const app = await setUpAuthenticator(owner);
  const agent = new UserAgent(service);
  const step = await agent.signIn(user);
  const end = await agent.follow(await twice(agent, step, { code: app.app.code(1) }));
  expect(end.url).toBe(`${service.issuer}/account`);
  expect(end.status).toBe(200);
});

test('the password of a signed-in user is accepted, and signs in (reports A4)', async () => {
  const plain = await bed.newUser();
  const browser = new UserAgent(service);
  await browser.signIn(plain);
  const again = await twice(browser, await browser.get('/login'), {
    username: plain.username,
    password: plain.password,
  });
  expect((await browser.follow(again)).url).toBe(`${service.issuer}/account`);
});

test('a new password is accepted once, and signs in (reports A4)', async () => {
  const plain = await bed.newUser();
  await bed.forgotten(plain.username);
  const reset = new UserAgent(service);
  const page = await reset.get(await bed.linkTo(plain.email, /Reset your password/));
  const done = await twice(reset, page, { new_password: password });
  expect(done.location).toBe(`${service.issuer}/account?done=password-changed`);
  expect((await reset.follow(done)).status).toBe(200);
});

test.each(['allow', 'deny'])(
  'a second %s on the consent page gets a new response for the same decision, in its own browser only (security R4, reports A4)',
  async (decision) => {
    const client = await service.createClient();
    const user = await bed.newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, { state: 's' })));
    const form = hiddenFields(page.body);
    const first = responseParameters(await agent.submit(page, { decision }));
    const changed = { ...form, decision: decision === 'allow' ? 'deny' : 'allow' };
    expect((await agent.post('/consent', changed)).location).toContain('problem=expired');
    const second = responseParameters(await agent.follow(await agent.post('/consent', { ...form, decision })));
    expect(Object.keys(second).sort()).toEqual(Object.keys(first).sort());
    expect(second['state']).toBe('s');
    if (decision === 'allow') expect(second['code']).not.toBe(first['code']);
    else expect(second['error']).toBe('access_denied');
    const stranger = new UserAgent(service);
    await stranger.signIn(user);
    expect((await stranger.post('/consent', { ...form, decision })).location).toContain('problem=expired');
    await service.database.sql(`UPDATE authorization_requests SET expires_at = now() WHERE client_id = $1`, [
      client.clientId,
    ]);
    expect((await agent.post('/consent', { ...form, decision })).location).toContain('problem=expired');
  },
);

test('Cancel on the sign-in page, sent twice, answers twice (reports A4)', async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, { state: 's' })));
  const form = hiddenFields(page.body.slice(page.body.indexOf('action="/login/cancel"')));
  for (let click = 0; click < 2; click++) {
    const end = await agent.follow(await agent.post('/login/cancel', form));
    expect(responseParameters(end)).toMatchObject({ error: 'access_denied', state: 's' });
  }
});

test.each(['allow', 'deny'] as const)(
  'a second %s for a device says the same again, in its own browser only, and decides once (RFC 8628 3.3, reports A4)',
  async (decision) => {
    const client = await service.createClient(deviceMetadata);
    const user = await bed.newUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const given = await deviceCodes(service.issuer, client);
    const form = hiddenFields((await agent.get(given.verification_uri_complete)).body);
    const stranger = new UserAgent(service);
    await stranger.signIn(user);
    const theirs = hiddenFields((await stranger.get(given.verification_uri_complete)).body);
    const clicks = await Promise.all(
      [0, 1, 2].map((index) => agent.post(`${service.instances[index % 2]!}/device`, { ...form, decision })),
    );
    expect(clicks.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await poll(service.issuer, client, given)).status).toBe(decision === 'allow' ? 200 : 400);
    // also when the device has got its tokens
    const again = await agent.post('/device', { ...form, decision });
    expect([again.status, withoutLanguages(again.body)]).toEqual([200, withoutLanguages(clicks[0]!.body)]);
    const others = decision === 'allow' ? 'deny' : 'allow';
    expect((await agent.post('/device', { ...form, decision: others })).status).toBe(409);
    expect((await stranger.post('/device', { ...theirs, decision })).status).toBe(409);
    const type = decision === 'allow' ? 'device.approved' : 'device.denied';
    expect(await bed.eventsOf(user.sub, type)).toHaveLength(1);
    await service.database.sql('UPDATE used_challenges SET expires_at = now()');
    expect((await agent.post('/device', { ...form, decision })).status).toBe(409);
  },
);

test('a link that confirms or stops a change of the address says the same again, in its own browser only, and acts once (reports A4)', async () => {
  const pageOf = async (link: string) => {
    const [agent, stranger] = [new UserAgent(service), new UserAgent(service)];
    const form = hiddenFields((await agent.get(link)).body);
    return { agent, form, stranger, theirs: hiddenFields((await stranger.get(link)).body) };
  };
  const change = async () => {
    const user = await bed.newUser();
    const owner = new UserAgent(service);
    await owner.signIn(user);
    await bed.order('/account/email', { email: `new-${user.email}` }, owner);
    return user;
  };
  const expectOnce = async (path: string, sub: string, type: string, at: Awaited<ReturnType<typeof pageOf>>) => {
    const clicks = await Promise.all([0, 1].map((index) => at.agent.post(service.instances[index]! + path, at.form)));
    const again = await at.agent.post(path, at.form);
    for (const page of [...clicks, again])
      expect([page.status, withoutLanguages(page.body)]).toEqual([200, withoutLanguages(clicks[0]!.body)]);
    expect(withoutLanguages(again.body)).not.toContain('<form');
    expect((await at.stranger.post(path, at.theirs)).status).toBe(410);
    expect((await at.stranger.post(path, at.form)).status).toBe(410);
    expect((await at.agent.post(path, { ...at.form, csrf: '' })).status).toBe(410);
    expect(await bed.eventsOf(sub, type)).toHaveLength(1);
    await service.database.sql('UPDATE used_challenges SET expires_at = now()');
    expect((await at.agent.post(path, at.form)).status).toBe(410);
  };
  const changed = await change();
  const confirm = await pageOf(await bed.linkTo(`new-${changed.email}`, /Verify your email address/));
  await expectOnce('/account/email/confirm', changed.sub, 'user.email_changed', confirm);
  const kept = await change();
  const confirmKept = await pageOf(await bed.linkTo(`new-${kept.email}`, /Verify your email address/));
  const stop = await pageOf(await bed.linkTo(kept.email, /email address is about to change/));
  await expectOnce('/account/email/stop', kept.sub, 'user.email_change_stopped', stop);
  // what another form ended is no double click
  expect((await confirmKept.agent.post('/account/email/confirm', confirmKept.form)).status).toBe(410);
});

test('a new password that leads to a second step begins it again, for ten seconds and with that password only (reports A4)', async () => {
  const user = await bed.newUser();
  const owner = new UserAgent(service);
  await owner.signIn(user);
  const app = await setUpAuthenticator(owner);
  await bed.forgotten(user.username);
  const agent = new UserAgent(service);
  const page = await agent.get(await bed.linkTo(user.email, /Reset your password/));
  const form: Record<string, string> = { ...hiddenFields(page.body), new_password: password };
  const cookies = new Map(agent.cookies);
  const end = await twice(agent, page, { new_password: password });
  expect([end.status, end.location]).toEqual([303, `${service.issuer}/login/second-factor`]);
  const step = await agent.follow(end);
  expect((await agent.submit(step, { code: app.app.code(1) })).url).toBe(`${service.issuer}/account`);
  const again = async (of: Map<string, string>, fields = form) => {
    const browser = new UserAgent(service);
    for (const [name, value] of of) browser.cookies.set(name, value);
    return browser.post('/password/reset', fields);
  };
  expect((await again(cookies)).location).toBe(`${service.issuer}/login/second-factor`);
  expect((await again(new Map())).status).toBe(410);
  expect((await again(cookies, { ...form, csrf: '' })).status).toBe(410);
  expect(await bed.eventsOf(user.sub, 'user.password_changed')).toHaveLength(1);
  await service.database.sql('UPDATE users SET password_hash = password_hash || $2 WHERE sub = $1', [user.sub, '!']);
  expect((await again(cookies)).status).toBe(410);
  await service.database.sql(`UPDATE users SET password_hash = rtrim(password_hash, '!') WHERE sub = $1`, [user.sub]);
  expect((await again(cookies)).status).toBe(303);
  await service.database.sql('UPDATE used_challenges SET expires_at = now()');
  expect((await again(cookies)).status).toBe(410);
});

test('an invitation that leads to a second step begins it again, and one that is sent three times at once makes one session (reports A4)', async () => {
  const { sub, link } = await invitation();
  const agent = new UserAgent(service);
  const form = { ...hiddenFields((await agent.get(link)).body), new_password: password };
  const clicks = await Promise.all([0, 1, 0].map((at) => agent.post(`${service.instances[at]!}/invitation`, form)));
  for (const { location } of clicks) expect(location).toMatch(/\/account\?done=welcome$/);
  expect(await sessionsOf(sub)).toBe(1);

  const strict = await startTestService({ environment: { ...withoutLimits, REQUIRE_SECOND_FACTOR: 'everyone' } });
  try {
    const { body } = await call(`${strict.issuer}/admin/api/users`, {
      token: await adminToken(strict),
      body: { username: 'new-person', invite: true },
    });
    const browser = new UserAgent(strict);
    const page = await browser.get((body['invitation_uri'] as string).replace(strict.issuer, ''));
    const step = await browser.follow(await twice(browser, page, { new_password: password }));
    expect([step.status, step.url]).toEqual([200, `${strict.issuer}/login/authenticator`]);
  } finally {
    await strict.stop();
  }
});
