// Attacks the second factor with a known password: with a session from before the second factor, and with a code in place of a sign-in.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Authenticator as App, setUpAuthenticator } from '../helpers/authenticator.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, ACCOUNT_DELETION: 'on' } });
  client = await service.createClient({ scope: 'openid admin' }, { firstParty: true });
});
afterAll(() => service?.stop());

const later = (sub: string) =>
  service.database.sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', [sub]);
const age = (sub: string, minutes: number) =>
  service.database.sql('UPDATE sessions SET auth_time = auth_time - make_interval(mins => $2) WHERE sub = $1', [
    sub,
    minutes,
  ]);
const sessionsOf = (sub: string) =>
  service.database.sql<{ amr: string[]; auth_time: Date; expires_at: Date }>(
    'SELECT amr, auth_time, expires_at FROM sessions WHERE sub = $1 ORDER BY id',
    [sub],
  );
const asksPassword = (page: Page) => page.body.includes('id="password"');
const asksCode = (page: Page) => page.url.includes('/login/second-factor') && page.body.includes('id="code"');

/** Two browsers in which a user signed in with the password alone; the user then set up a second factor in one of them. */
async function enrolledElsewhere(person: Parameters<TestService['createUser']>[0] = {}) {
  const user = await service.createUser(person);
  const [home, other] = [new UserAgent(service), new UserAgent(service)];
  for (const agent of [home, other]) await agent.signIn(user);
  const cookie = home.cookies.get('JSESSIONOPENID');
  const { app } = await setUpAuthenticator(home);
  await later(user.sub);
  return { user, home, other, app, cookie };
}

describe('a session that has proved only the password', () => {
  test('changes nothing any more once a second factor was set up in another browser, until it proves that factor (security R91)', async () => {
    const user = await service.createUser({ email: `changes-nothing@example.com`, emailVerified: true });
    const [home, thief] = [new UserAgent(service), new UserAgent(service)];
    for (const agent of [home, thief]) await agent.signIn(user);
    // the attacker holds everything that the pages hand out before
    const pages = new Map<string, Page>();
    for (const path of ['authenticator', 'passkeys', 'email', 'password', 'data', 'delete'])
      pages.set(path, await thief.get(`/account/${path}`));
    const [setUp, making] = [pages.get('authenticator')!, passkeyForm(pages.get('passkeys')!)];
    await setUpAuthenticator(home);
    const { id } = (await service.store.secondFactors.list(user.sub))[0]!;
    const factors = await thief.get('/account/second-factors');
    const own = await thief.get('/account/passkeys');
    expect(own.body).toContain('href="/login/second-factor?destination=passkeys"');
    const fields = (path: string) => hiddenFields(pages.get(path)!.body);
    const before = JSON.stringify(await service.store.users.find(user.sub));
    const answers: Record<string, Page> = {
      authenticator: await thief.post('/account/authenticator', {
        ...hiddenFields(setUp.body),
        code: new App(setUp).code(),
      }),
      'second-factors': await thief.post('/account/second-factors', {
        ...formOf(factors, '/account/second-factors'),
        remove: id,
      }),
      recovery: await thief.post('/account/recovery-codes', formOf(factors, '/account/recovery-codes')),
      passkeys: await thief.post(making.action, {
        ...making.fields,
        credential: new Authenticator(service.issuer).create(making.options),
      }),
      email: await thief.post('/account/email', { ...fields('email'), email: 'thief@example.com' }),
      password: await thief.post('/account/password', {
        ...fields('password'),
        current_password: user.password,
        new_password: 'three umbrellas under a lighthouse',
      }),
      data: await thief.post('/account/data', fields('data')),
      deletion: await thief.post('/account/delete', { ...fields('delete'), username: user.username }),
    };
    for (const [destination, { location }] of Object.entries(answers))
      expect([destination, location]).toEqual([
        destination,
        `${service.issuer}/login/second-factor?destination=${destination === 'recovery' ? 'second-factors' : destination}`,
      ]);
    expect(await service.store.secondFactors.list(user.sub)).toHaveLength(1);
    expect(JSON.stringify(await service.store.users.find(user.sub))).toBe(before);
    expect(await service.database.sql(`SELECT FROM outbox WHERE name = 'verify-address'`)).toEqual([]);
    for (const path of ['authenticator', 'email', 'password'])
      expect((await thief.get(`/account/${path}`)).location).toContain('/login/second-factor?destination=');
  });

  test('requests no link that changes the address after that, sent or not (security R91)', async () => {
    const user = await service.createUser({ email: 'owner@example.com', emailVerified: true });
    const [home, thief] = [new UserAgent(service), new UserAgent(service)];
    for (const agent of [home, thief]) await agent.signIn(user);
    await thief.submit(await thief.get('/account/email'), { email: 'thief@example.com' });
    const sent = async () =>
      (await mailsIn(service.dataDir)).find(({ to, parsed }) =>
        `${to} ${JSON.stringify(parsed.to)}`.includes('thief@example.com'),
      );
    await vi.waitUntil(async () => (await sent()) !== undefined, { timeout: 10_000, interval: 20 });
    const link = (await sent())!.link!.replace(service.issuer, '');
    expect((await thief.get(link)).status).toBe(200);
    const due = `INSERT INTO outbox (channel, name, sub, recipient, data, next_attempt_at) VALUES ('mail', 'verify-address', $1, $2, '{}', now() + interval '1 hour')`;
    for (const recipient of ['thief@example.com', 'owner@example.com'])
      await service.database.sql(due, [user.sub, recipient]);
    await setUpAuthenticator(home);
    expect((await thief.get(link)).status).toBe(410);
    expect(await service.database.sql(`DELETE FROM outbox WHERE name = 'verify-address' RETURNING recipient`)).toEqual([
      { recipient: 'owner@example.com' },
    ]);
  });

  test('continues under a new cookie where the second factor is set up, with the same time of sign-in (security R52)', async () => {
    const { user, home, cookie } = await enrolledElsewhere();
    expect(home.cookies.get('JSESSIONOPENID')).not.toBe(cookie);
    const copied = new UserAgent(service);
    copied.cookies.set('JSESSIONOPENID', cookie!);
    expect((await copied.get('/account')).location).toBe(`${service.issuer}/login`);
    for (const path of ['email', 'password', 'authenticator'])
      expect((await home.get(`/account/${path}`)).status).toBe(200);
    const [session, other] = await sessionsOf(user.sub);
    expect([session!.amr, other!.amr]).toEqual([['pwd', 'otp', 'mfa'], ['pwd']]);

    const someone = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(someone);
    await age(someone.sub, 5);
    const [before] = await sessionsOf(someone.sub);
    const { action, options, fields } = passkeyForm(await agent.get('/account/passkeys'));
    await agent.post(action, { ...fields, credential: new Authenticator(service.issuer).create(options) });
    // the attacker saw only that the passkey was created
    expect(await sessionsOf(someone.sub)).toEqual([{ ...before, amr: ['pwd', 'user', 'mfa'] }]);
    expect((await agent.get('/account/email')).status).toBe(200);
  });

  test('continues with the second factor alone, and keeps the time at which the password was checked (OpenID Connect Core 2, auth_time)', async () => {
    const { user, other, app } = await enrolledElsewhere();
    await age(user.sub, 10);
    const [, before] = await sessionsOf(user.sub);
    const step = await other.follow(await other.get('/account/email'));
    expect(asksCode(step)).toBe(true);
    expect((await other.submit(step, { code: app.code() })).url).toBe(`${service.issuer}/account/email`);
    expect((await sessionsOf(user.sub))[1]).toEqual({ ...before, amr: ['pwd', 'otp', 'mfa'] });
    // again by hand: from the beginning
    await later(user.sub);
    expect((await other.get('/login/second-factor?destination=email')).location).toBe(
      `${service.issuer}/login?destination=email`,
    );
    expect((await other.post('/login/second-factor', hiddenFields(step.body))).location).toBe(
      `${service.issuer}/login?destination=email`,
    );
    await age(user.sub, 6);
    expect((await other.get('/account/email')).location).toBe(`${service.issuer}/login?destination=email`);
  });

  test('of an administrator is asked for the second factor in the console, which then continues (security R91)', async () => {
    const user = await service.createUser({ admin: true });
    const { agent } = await openConsole(service, user);
    const home = new UserAgent(service);
    await home.signIn(user);
    const { app } = await setUpAuthenticator(home);
    await later(user.sub);
    const step = await agent.follow(await agent.get('/admin/keys/rotate'));
    expect([asksCode(step), asksPassword(step)]).toEqual([true, false]);
    const end = await agent.submit(step, { code: app.code() });
    expect([end.status, end.url]).toEqual([200, `${service.issuer}/admin/keys/rotate`]);
  });

  test('gets a token with which an administrator reaches no dangerous route any more (security R91, RFC 9470 3)', async () => {
    const user = await service.createUser({ admin: true });
    const { access_token: token } = await obtainTokens(service, client, user, { scope: 'openid admin' });
    const enable = (bearer: string) =>
      call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token: bearer, body: { groups: [] } });
    expect((await enable(token)).status).toBe(200);
    const home = new UserAgent(service);
    await home.signIn(user);
    await setUpAuthenticator(home);
    const refused = await enable(token);
    expect([refused.status, refused.body['error'], refused.body['acr_values']]).toEqual([
      401,
      'insufficient_user_authentication',
      'urn:gatehouse:acr:mfa',
    ]);
    expect((await call(`${service.issuer}/admin/api/users/${user.sub}`, { token })).status).toBe(200);
    expect(await adminToken(service)).toBeDefined();
  });
});

describe('a code without a new password', () => {
  const ask = async (agent: UserAgent, parameters: Record<string, string>) => {
    const page = await agent.get(authorizationUrl(service.issuer, client, parameters));
    return { page, transaction: new URL(page.location!).searchParams.get('transaction')! };
  };

  test.each<[string, Record<string, string>]>([
    ['prompt=login', { prompt: 'login' }],
    ['max_age', { max_age: '60' }],
  ])('does not satisfy %s, also where the page is opened by hand (OpenID Connect Core 3.1.2.1)', async (_, demand) => {
    const { user, other, app } = await enrolledElsewhere();
    await age(user.sub, 5);
    const { transaction } = await ask(other, demand);
    const step = await other.get(`/login/second-factor?transaction=${transaction}`);
    const end = await other.submit(step, { code: app.code() });
    expect([asksPassword(end), end.location]).toEqual([true, undefined]);
    await later(user.sub);
    const again = await other.submit(await other.signIn(user, end), { code: app.code() });
    expect(responseParameters(again)['code']).toBeDefined();
  });

  test('does not satisfy it in a sign-in that began before the request either (OpenID Connect Core 3.1.2.1)', async () => {
    const { user, app } = await enrolledElsewhere();
    const agent = new UserAgent(service);
    expect(asksCode(await agent.signIn(user))).toBe(true);
    const { transaction } = await ask(agent, { prompt: 'login' });
    const step = await agent.get(`/login/second-factor?transaction=${transaction}`);
    expect(asksPassword(await agent.submit(step, { code: app.code() }))).toBe(true);
  });

  test('nor does an authenticator that is set up for it (OpenID Connect Core 3.1.2.1)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await age(user.sub, 5);
    const { transaction } = await ask(agent, { prompt: 'login' });
    const setUp = await agent.get(`/login/authenticator?transaction=${transaction}`);
    const codes = await agent.submit(setUp, { code: new App(setUp).code() });
    const next = /id="continue" href="([^"]*)"/.exec(codes.body)![1]!;
    expect(asksPassword(await agent.follow(await agent.get(next)))).toBe(true);
  });
});
