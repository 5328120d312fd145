// Attacks the second factor with a known password: with a session from before its set-up, and with a code in place of a sign-in.
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

const allowNextCode = (sub: string) =>
  service.database.sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', [sub]);
const ageSignIn = (sub: string, minutes: number) =>
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

/** Signs a user in in two browsers with the password alone, and then sets up a second factor in one of them. */
async function enrolInOneBrowser(person: Parameters<TestService['createUser']>[0] = {}) {
  const user = await service.createUser(person);
  const [home, other] = [new UserAgent(service), new UserAgent(service)];
  for (const agent of [home, other]) await agent.signIn(user);
  const cookie = home.cookies.get('JSESSIONOPENID');
  const { app } = await setUpAuthenticator(home);
  await allowNextCode(user.sub);
  return { user, home, other, app, cookie };
}

describe('a session that has proved only the password', () => {
  test('the session changes nothing after a second factor was set up in another browser, until it proves that factor (security R91)', async () => {
    const user = await service.createUser({ email: `changes-nothing@example.com`, emailVerified: true });
    const [home, attacker] = [new UserAgent(service), new UserAgent(service)];
    for (const agent of [home, attacker]) await agent.signIn(user);
    // the attacker has opened every page before
    const pages = new Map<string, Page>();
    for (const path of ['authenticator', 'passkeys', 'email', 'password', 'data', 'delete'])
      pages.set(path, await attacker.get(`/account/${path}`));
    const [setUp, making] = [pages.get('authenticator')!, passkeyForm(pages.get('passkeys')!)];
    await setUpAuthenticator(home);
    const { id } = (await service.store.secondFactors.list(user.sub))[0]!;
    const factors = await attacker.get('/account/second-factors');
    const passkeys = await attacker.get('/account/passkeys');
    expect(passkeys.body).toContain('href="/login/second-factor?destination=passkeys"');
    const fields = (path: string) => hiddenFields(pages.get(path)!.body);
    const before = JSON.stringify(await service.store.users.find(user.sub));
    const answers: Record<string, Page> = {
      authenticator: await attacker.post('/account/authenticator', {
        ...hiddenFields(setUp.body),
        code: new App(setUp).code(),
      }),
      'second-factors': await attacker.post('/account/second-factors', {
        ...formOf(factors, '/account/second-factors'),
        remove: id,
      }),
      recovery: await attacker.post('/account/recovery-codes', formOf(factors, '/account/recovery-codes')),
      passkeys: await attacker.post(making.action, {
        ...making.fields,
        credential: new Authenticator(service.issuer).create(making.options),
      }),
      email: await attacker.post('/account/email', { ...fields('email'), email: 'attacker@example.com' }),
      password: await attacker.post('/account/password', {
        ...fields('password'),
        current_password: user.password,
        new_password: 'three umbrellas under a lighthouse',
      }),
      data: await attacker.post('/account/data', fields('data')),
      deletion: await attacker.post('/account/delete', { ...fields('delete'), username: user.username }),
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
      expect((await attacker.get(`/account/${path}`)).location).toContain('/login/second-factor?destination=');
  });

  test('the session cannot use or request a link that changes the address after that (security R91)', async () => {
    const user = await service.createUser({ email: 'owner@example.com', emailVerified: true });
    const [home, attacker] = [new UserAgent(service), new UserAgent(service)];
    for (const agent of [home, attacker]) await agent.signIn(user);
    await attacker.submit(await attacker.get('/account/email'), { email: 'attacker@example.com' });
    const sent = async () =>
      (await mailsIn(service.dataDir)).find(({ to, parsed }) =>
        `${to} ${JSON.stringify(parsed.to)}`.includes('attacker@example.com'),
      );
    await vi.waitUntil(async () => (await sent()) !== undefined, { timeout: 10_000, interval: 20 });
    const link = (await sent())!.link!.replace(service.issuer, '');
    expect((await attacker.get(link)).status).toBe(200);
    const due = `INSERT INTO outbox (channel, name, sub, recipient, data, next_attempt_at) VALUES ('mail', 'verify-address', $1, $2, '{}', now() + interval '1 hour')`;
    for (const recipient of ['attacker@example.com', 'owner@example.com'])
      await service.database.sql(due, [user.sub, recipient]);
    await setUpAuthenticator(home);
    expect((await attacker.get(link)).status).toBe(410);
    expect(await service.database.sql(`DELETE FROM outbox WHERE name = 'verify-address' RETURNING recipient`)).toEqual([
      { recipient: 'owner@example.com' },
    ]);
  });

  test('the session in which the second factor is set up continues under a new cookie, with the same time of sign-in (security R52)', async () => {
    const { user, home, cookie } = await enrolInOneBrowser();
    expect(home.cookies.get('JSESSIONOPENID')).not.toBe(cookie);
    const copied = new UserAgent(service);
    copied.cookies.set('JSESSIONOPENID', cookie!);
    expect((await copied.get('/account')).location).toBe(`${service.issuer}/login`);
    for (const path of ['email', 'password', 'authenticator'])
      expect((await home.get(`/account/${path}`)).status).toBe(200);
    const [session, other] = await sessionsOf(user.sub);
    expect([session!.amr, other!.amr]).toEqual([['pwd', 'otp', 'mfa'], ['pwd']]);

    const otherUser = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(otherUser);
    await ageSignIn(otherUser.sub, 5);
    const [before] = await sessionsOf(otherUser.sub);
    const { action, options, fields } = passkeyForm(await agent.get('/account/passkeys'));
    await agent.post(action, { ...fields, credential: new Authenticator(service.issuer).create(options) });
    // the creation of the passkey changes nothing else in the session
    expect(await sessionsOf(otherUser.sub)).toEqual([{ ...before, amr: ['pwd', 'user', 'mfa'] }]);
    expect((await agent.get('/account/email')).status).toBe(200);
  });

  test('the session continues with the second factor alone, and keeps the time at which the password was checked (OpenID Connect Core 2)', async () => {
    const { user, other, app } = await enrolInOneBrowser();
    await ageSignIn(user.sub, 10);
    const [, before] = await sessionsOf(user.sub);
    const step = await other.follow(await other.get('/account/email'));
    expect(asksCode(step)).toBe(true);
    expect((await other.submit(step, { code: app.code() })).url).toBe(`${service.issuer}/account/email`);
    expect((await sessionsOf(user.sub))[1]).toEqual({ ...before, amr: ['pwd', 'otp', 'mfa'] });
    // opened directly, the page starts the sign-in from the beginning
    await allowNextCode(user.sub);
    expect((await other.get('/login/second-factor?destination=email')).location).toBe(
      `${service.issuer}/login?destination=email`,
    );
    // a form that has not just been answered: the same one leads on for a moment
    const late = { ...hiddenFields(step.body), csrf: 'x' };
    expect((await other.post('/login/second-factor', late)).location).toBe(`${service.issuer}/login?destination=email`);
    await ageSignIn(user.sub, 6);
    expect((await other.get('/account/email')).location).toBe(`${service.issuer}/login?destination=email`);
  });

  test('the console asks the session of an administrator for the second factor, and then continues (security R91)', async () => {
    const user = await service.createUser({ admin: true });
    const { agent } = await openConsole(service, user);
    const home = new UserAgent(service);
    await home.signIn(user);
    const { app } = await setUpAuthenticator(home);
    await allowNextCode(user.sub);
    const step = await agent.follow(await agent.get('/admin/keys/rotate'));
    expect([asksCode(step), asksPassword(step)]).toEqual([true, false]);
    const end = await agent.submit(step, { code: app.code() });
    expect([end.status, end.url]).toEqual([200, `${service.issuer}/admin/keys/rotate`]);
  });

  test('a token of the session no longer opens a route that needs a recent sign-in (security R91, RFC 9470 3)', async () => {
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
  ])('a code does not satisfy %s, even on a page opened directly (OpenID Connect Core 3.1.2.1)', async (_, demand) => {
    const { user, other, app } = await enrolInOneBrowser();
    await ageSignIn(user.sub, 5);
    const { transaction } = await ask(other, demand);
    const step = await other.get(`/login/second-factor?transaction=${transaction}`);
    const end = await other.submit(step, { code: app.code() });
    expect([asksPassword(end), end.location]).toEqual([true, undefined]);
    await allowNextCode(user.sub);
    const again = await other.submit(await other.signIn(user, end), { code: app.code() });
    expect(responseParameters(again)['code']).toBeDefined();
  });

  test('a code in a sign-in that began before the request does not satisfy prompt=login (OpenID Connect Core 3.1.2.1)', async () => {
    const { user, app } = await enrolInOneBrowser();
    const agent = new UserAgent(service);
    expect(asksCode(await agent.signIn(user))).toBe(true);
    const { transaction } = await ask(agent, { prompt: 'login' });
    const step = await agent.get(`/login/second-factor?transaction=${transaction}`);
    expect(asksPassword(await agent.submit(step, { code: app.code() }))).toBe(true);
  });

  test('setting up an authenticator does not satisfy prompt=login (OpenID Connect Core 3.1.2.1)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await ageSignIn(user.sub, 5);
    const { transaction } = await ask(agent, { prompt: 'login' });
    const setUp = await agent.get(`/login/authenticator?transaction=${transaction}`);
    const codes = await agent.submit(setUp, { code: new App(setUp).code() });
    const next = /id="continue" href="([^"]*)"/.exec(codes.body)![1]!;
    expect(asksPassword(await agent.follow(await agent.get(next)))).toBe(true);
  });
});
