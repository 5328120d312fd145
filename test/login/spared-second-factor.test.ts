// REMEMBER_SECOND_FACTOR: a browser in which a user has shown a second factor spares the next ones for some days, and its sessions claim no second factor.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Authenticator as App, setUpAuthenticator } from '../helpers/authenticator.ts';
import { adminToken, call, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const mfa = 'urn:gatehouse:acr:mfa';
const offer = 'Don’t ask again in this browser for 14 days';
let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      REMEMBER_SECOND_FACTOR: '14',
      REQUIRE_SECOND_FACTOR: 'everyone',
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
    },
  });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

/** The authenticator app of each user. */
const appOf = new Map<string, App>();
const sql = (text: string, ...values: unknown[]) => service.database.sql(text, values);
const allowNextCode = ({ sub }: TestUser) =>
  sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', sub);
const asksCode = (page: Page) => page.url.includes('/login/second-factor') && page.body.includes('id="code"');
const isSignedIn = (page: Page) => page.url === `${service.issuer}/account`;
const administer = (method: string, path: string, body?: Record<string, unknown>) =>
  call(`${service.issuer}/admin/api${path}`, { token, method, ...(body && { body }) });

/** Makes a user with an authenticator app, without the policy in the way. */
async function enrolled(person: Parameters<TestService['createUser']>[0] = {}): Promise<{ user: TestUser; app: App }> {
  const user = await service.createUser(person);
  const agent = new UserAgent(service);
  const asked = await agent.signIn(user);
  expect(asked.url).toContain('/login/authenticator');
  const app = new App(asked);
  await agent.submit(asked, { code: app.code(), name: '' });
  await allowNextCode(user);
  return { user, app };
}

/** Signs in, shows the second factor and lets the browser spare the next ones; then the user signs out. */
async function spared(person: Parameters<TestService['createUser']>[0] = {}) {
  const { user, app } = await enrolled(person);
  const agent = new UserAgent(service);
  const page = await agent.signIn(user);
  expect(asksCode(page)).toBe(true);
  expect(page.body).toContain(offer);
  expect(isSignedIn(await agent.submit(page, { code: app.code(), spare: 'on' }))).toBe(true);
  await allowNextCode(user);
  agent.cookies.delete('JSESSIONOPENID');
  return { user, app, agent };
}
/** The page after the password. */
async function again(agent: UserAgent, user: TestUser): Promise<Page> {
  agent.cookies.delete('JSESSIONOPENID');
  return agent.signIn(user);
}

test('the choice spares the second factor in this browser and no other, until its days are over (pages, known browsers)', async () => {
  const { user, app, agent } = await spared();
  expect(isSignedIn(await again(agent, user))).toBe(true);
  // the sign-in before has renewed the cookie, and not the days
  expect(isSignedIn(await again(agent, user))).toBe(true);
  const other = new UserAgent(service);
  expect(asksCode(await other.signIn(user))).toBe(true);
  await sql(
    `UPDATE known_browsers SET second_factor_until = second_factor_until - interval '14 days' WHERE sub = $1`,
    user.sub,
  );
  const page = await again(agent, user);
  expect(asksCode(page)).toBe(true);
  // without the choice the next sign-in asks again
  await agent.submit(page, { code: app.code() });
  expect(asksCode(await again(agent, user))).toBe(true);
});

test('a cookie that is planted, copied before a sign-in, or of another user spares nothing (pages, known browsers)', async () => {
  const { user, agent } = await spared();
  const stolen = new UserAgent(service);
  stolen.cookies.set('GATEHOUSE_KNOWN_BROWSER', agent.cookies.get('GATEHOUSE_KNOWN_BROWSER')!);
  expect(isSignedIn(await again(agent, user))).toBe(true);
  expect(asksCode(await again(stolen, user))).toBe(true);
  const { user: other } = await enrolled();
  expect(asksCode(await again(agent, other))).toBe(true);
  expect(isSignedIn(await again(agent, user))).toBe(true);
  expect(asksCode(await again(new UserAgent(service), user))).toBe(true);
});

describe('a session that was spared the second factor', () => {
  test('satisfies the service, and says only what was proved (pages, known browsers)', async () => {
    const { user, agent } = await spared();
    await again(agent, user);
    const client = await service.createClient({}, { firstParty: true });
    const { code } = responseParameters(await agent.authorize(client, undefined, { prompt: 'none' }));
    const { body } = await redeem(service.issuer, client, code!);
    const claims = JSON.parse(Buffer.from((body['id_token'] as string).split('.')[1]!, 'base64url').toString()) as {
      amr?: string[];
      acr?: string;
    };
    expect(claims.amr).toEqual(['pwd']);
    expect(claims.acr).not.toBe(mfa);
    const [event] = await service.database.sql<{ detail: unknown }>(
      `SELECT detail FROM audit_events WHERE type = 'user.signed_in' AND sub = $1 ORDER BY id DESC LIMIT 1`,
      [user.sub],
    );
    expect(event!.detail).toEqual({ amr: ['pwd'], second_factor: 'spared' });
  });

  test('is asked for it by a client or a request that demands it, and by changes of the account (pages, known browsers, security R91)', async () => {
    const { user, app, agent } = await spared();
    await again(agent, user);
    const client = await service.createClient({}, { firstParty: true });
    const essential = JSON.stringify({ id_token: { acr: { essential: true, values: [mfa] } } });
    const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none', claims: essential }));
    expect(responseParameters(silent)).toMatchObject({ error: 'login_required' });
    const asked = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, { acr_values: mfa })));
    expect(asksCode(asked)).toBe(true);
    // what is shown now is for this request
    expect(asked.body).not.toContain(offer);
    const changing = await agent.get('/account/password');
    expect(changing.location ?? changing.body).toContain('/login/second-factor');
    const page = await agent.submit(asked, { code: app.code() });
    const { body } = await redeem(service.issuer, client, responseParameters(page)['code']!);
    expect(Buffer.from((body['id_token'] as string).split('.')[1]!, 'base64url').toString()).toContain(mfa);
  });

  test('gives no access once its user is in a group that demands the factor (pages, known browsers)', async () => {
    const { user, agent } = await spared();
    await again(agent, user);
    await sql(`UPDATE users SET groups = '{ops}' WHERE sub = $1`, user.sub);
    const client = await service.createClient({}, { firstParty: true });
    const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
    expect(responseParameters(silent)).toMatchObject({ error: 'login_required' });
  });
});

describe('nothing is spared', () => {
  test.each([
    ['an administrator', { admin: true }],
    ['a member of a guarded group', { groups: ['ops'] }],
  ])('%s, whatever the form says (pages, known browsers)', async (_who, person) => {
    const { user, app } = await enrolled(person);
    const agent = new UserAgent(service);
    const page = await agent.signIn(user);
    expect(page.body).not.toContain(offer);
    await agent.submit(page, { code: app.code(), spare: 'on' });
    expect(asksCode(await again(agent, user))).toBe(true);
    // the statement that stores the session decides it, too
    await sql(
      `UPDATE known_browsers SET second_factor_until = now() + interval '1 day',
              second_factors = ARRAY(SELECT id FROM second_factors WHERE sub = $1 ORDER BY id) WHERE sub = $1`,
      user.sub,
    );
    expect(asksCode(await again(agent, user))).toBe(true);
  });

  test('after a recovery code (pages, known browsers)', async () => {
    const user = await service.createUser();
    const home = new UserAgent(service);
    const asked = await home.signIn(user);
    const codes = await home.submit(asked, { code: new App(asked).code(), name: '' });
    const [, recovery] = /<li><bdi dir="ltr">((?:[A-Z2-9]{4}-?){4})<\/bdi>/.exec(codes.body)!;
    const agent = new UserAgent(service);
    await agent.submit(await agent.signIn(user), { recovery_code: recovery!, spare: 'on' });
    expect((await agent.get('/account')).status).toBe(200);
    expect(asksCode(await again(agent, user))).toBe(true);
  });

  test.each<[string, (of: { user: TestUser; agent: UserAgent }) => Promise<unknown>]>([
    [
      'another password',
      async ({ user }) => {
        const { passwordHash } = await service.createUser({ password: 'three other lighthouses' });
        await sql('UPDATE users SET password_hash = $2 WHERE sub = $1', user.sub, passwordHash);
      },
    ],
    ['the end of all sessions by an administrator', ({ user }) => administer('DELETE', `/users/${user.sub}/sessions`)],
    [
      'the end of one session by an administrator',
      async ({ user, agent }) => {
        await again(agent, user);
        const [session] = await service.store.sessions.list({ sub: user.sub }, { limit: 1, after: undefined });
        await administer('DELETE', `/sessions/${session!.sid}`);
      },
    ],
    [
      '“Sign out everywhere else” in another browser',
      async ({ user, agent }) => {
        await again(agent, user);
        const other = new UserAgent(service);
        const asked = await other.signIn(user);
        await other.submit(asked, { code: appOf.get(user.sub)!.code() });
        const page = await other.get('/account/sessions');
        const form = page.body.slice(page.body.indexOf('action="/account/other-sessions"'));
        await other.post('/account/other-sessions', { csrf: /name="csrf" value="([^"]*)"/.exec(form)![1]! });
      },
    ],
    [
      'a second factor that is added',
      ({ user }) =>
        sql(
          `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ($1, $1, '', decode(repeat('03', 16), 'hex'), 0)`,
          user.sub,
        ),
    ],
    [
      'a time when the user was disabled',
      async ({ user }) => {
        await administer('PATCH', `/users/${user.sub}`, { status: 'disabled' });
        await administer('PATCH', `/users/${user.sub}`, { status: 'enabled' });
      },
    ],
  ])('after %s (pages, known browsers)', async (what, end) => {
    const { user, app, agent } = await spared();
    appOf.set(user.sub, app);
    await end({ user, agent });
    const password = what === 'another password' ? 'three other lighthouses' : user.password;
    expect(
      (await sql('SELECT FROM known_browsers WHERE sub = $1 AND second_factor_until > now()', user.sub)).length,
    ).toBe(what === 'a second factor that is added' ? 1 : 0);
    expect(asksCode(await again(agent, { ...user, password }))).toBe(true);
  });

  test('after all second factors are removed and others are added (pages, known browsers)', async () => {
    const { user, agent } = await spared();
    await sql('DELETE FROM second_factors WHERE sub = $1', user.sub);
    expect((await again(agent, user)).url).toContain('/login/authenticator');
    await sql(
      `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ($1, $2, '', decode(repeat('03', 16), 'hex'), 0)`,
      `new-${user.sub}`.slice(0, 60),
      user.sub,
    );
    expect(asksCode(await again(agent, user))).toBe(true);
  });
});

test('a sign-in that waits for a change of second factors is not spared (pages, known browsers, security R127)', async () => {
  const { user, agent } = await spared();
  let page: Promise<Page> | undefined;
  await service.store.transaction(async ({ users, secondFactors, knownBrowsers }) => {
    await users.lock(user.sub);
    page = again(agent, user);
    const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sign_in%'`;
    await expect
      .poll(async () => (await service.database.sql<{ count: number }>(waiting))[0]!.count)
      .toBeGreaterThan(0);
    const [factor] = await secondFactors.list(user.sub);
    await secondFactors.remove(user.sub, factor!.id);
    expect(await knownBrowsers.spares(Buffer.alloc(32), user.sub)).toBe(false);
  });
  // the factor is gone, so the policy leads to the page that adds one
  expect(isSignedIn(await page!)).toBe(false);
});

test('without the setting no page offers it, and no form or row grants it (pages, known browsers)', async () => {
  const plain = await startTestService();
  try {
    const user = await plain.createUser();
    const home = new UserAgent(plain);
    await home.signIn(user);
    const { app } = await setUpAuthenticator(home);
    await plain.database.sql('UPDATE authenticators SET last_step = last_step - 3');
    const agent = new UserAgent(plain);
    const page = await agent.signIn(user);
    expect(page.body).not.toContain('name="spare"');
    await agent.submit(page, { code: app.code(), spare: 'on' });
    agent.cookies.delete('JSESSIONOPENID');
    await plain.database.sql(
      `UPDATE known_browsers SET second_factor_until = now() + interval '1 day', second_factors = ARRAY(SELECT id FROM second_factors ORDER BY id)`,
    );
    expect(asksCode(await agent.signIn(user))).toBe(true);
  } finally {
    await plain.stop();
  }
});
