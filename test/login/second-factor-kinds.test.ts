// A kind of second factor that the code does not know is required at every sign-in as soon as its table exists.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { adminToken, call, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const asksSecondFactor = (page: Page) => page.url.includes('/login/second-factor') && page.status === 200;

/** Starts a service, and changes the database as the addition of a kind requires. */
async function startWithKind(environment: Record<string, string> = {}): Promise<TestService> {
  const service = await startTestService({ environment });
  await service.database.sql('CREATE TABLE key_cards (card_number text NOT NULL) INHERITS (second_factors)');
  return service;
}

const plant = (service: TestService, { sub }: { sub: string }) =>
  service.database.sql(`INSERT INTO key_cards (id, sub, name, card_number) VALUES ($2, $1, 'Card', '42')`, [
    sub,
    randomBytes(8).toString('hex'),
  ]);

const ask = async (service: TestService, agent: UserAgent, rp: TestClient, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, rp, parameters)));

describe.each([
  ['not required', {}],
  ['required of every user', { REQUIRE_SECOND_FACTOR: 'everyone' }],
])('where second factors are %s', (_of, environment) => {
  let service: TestService;
  let client: TestClient;
  beforeAll(async () => {
    service = await startWithKind(environment);
    client = await service.createClient({}, { firstParty: true });
  });
  afterAll(() => service?.stop());

  const sessionsOf = async ({ sub }: TestUser) =>
    (await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [sub])).length;

  async function createUserWithCard(): Promise<TestUser> {
    const user = await service.createUser();
    await plant(service, user);
    return user;
  }

  test('the password alone creates no session (security R127)', async () => {
    const user = await createUserWithCard();
    const agent = new UserAgent(service);
    const page = await agent.signIn(user);
    expect(asksSecondFactor(page), page.url).toBe(true);
    expect((await agent.get('/account')).status).toBe(303);
    expect(asksSecondFactor(await agent.authorize(client, user))).toBe(true);
    expect(await sessionsOf(user)).toBe(0);
  });

  test('nor does it in a browser in which another user is signed in (security R127)', async () => {
    const other = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(other);
    const user = await createUserWithCard();
    const login = await ask(service, agent, client, { prompt: 'login' });
    expect(asksSecondFactor(await agent.signIn(user, login))).toBe(true);
    expect(await sessionsOf(user)).toBe(0);
  });

  test('the password alone sets up no other factor (security R127)', async () => {
    const user = await createUserWithCard();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const setUp = await agent.get('/login/authenticator');
    expect({ status: setUp.status, to: setUp.headers.get('location') }).toMatchObject({
      status: 303,
      to: expect.stringContaining('/login/second-factor'),
    });
    const form = { csrf: 'x', set_up: 'x', code: '123456' };
    expect((await agent.post('/login/authenticator', form)).status).toBe(303);
    expect(await service.database.sql('SELECT 1 FROM authenticators WHERE sub = $1', [user.sub])).toEqual([]);
    expect((await agent.post('/login/second-factor', form)).status).toBe(400);
    expect(await sessionsOf(user)).toBe(0);
  });

  test('an administrator sees the factor and removes it, and then sign-ins no longer ask for it (security R127)', async () => {
    const user = await createUserWithCard();
    const path = `${service.issuer}/admin/api/users/${user.sub}/second-factors`;
    const token = await adminToken(service);
    expect((await call(path, { token })).body).toMatchObject({ second_factors: [{ kind: 'key-card', name: 'Card' }] });
    expect((await call(path, { token, method: 'DELETE' })).status).toBeLessThan(300);
    const page = await new UserAgent(service).signIn(user);
    expect(asksSecondFactor(page)).toBe(false);
  });
});

describe('a session with the password only', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startWithKind();
  });
  afterAll(() => service?.stop());

  test('is refused operations that need a second factor, once the user has one (security R127, R91)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await plant(service, user);
    const setUp = await agent.get('/account/authenticator');
    expect(setUp.headers.get('location')).toContain('/login/second-factor');
    await expect(setUpAuthenticator(agent)).rejects.toThrow('no key');
  });

  test('does not satisfy the acr that a client requires (security R127)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await plant(service, user);
    const client = await service.createClient({}, { firstParty: true });
    await service.database.sql(`UPDATE clients SET required_acr = 'urn:gatehouse:acr:mfa' WHERE client_id = $1`, [
      client.clientId,
    ]);
    expect(asksSecondFactor(await ask(service, agent, client))).toBe(true);
    expect(responseParameters(await ask(service, agent, client, { prompt: 'none' }))).toHaveProperty('error');
  });

  test('yields no token with which an administrator can make changes (security R127, R91)', async () => {
    const user = await service.createUser({ admin: true });
    const agent = new UserAgent(service);
    const client = await service.createClient({ scope: 'openid admin' }, { firstParty: true });
    const { access_token: token } = await obtainTokens(service, client, user, { scope: 'openid admin' }, agent);
    await plant(service, user);
    const path = `${service.issuer}/admin/api/users/${user.sub}/second-factors`;
    expect(await call(path, { token, method: 'DELETE' })).toMatchObject({
      status: 401,
      body: { error: 'insufficient_user_authentication' },
    });
  });
});

test('a kind whose table does not inherit from second_factors cannot be set up (security R127)', async () => {
  const service = await startTestService();
  try {
    await service.database.sql('ALTER TABLE authenticators NO INHERIT second_factors');
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    await expect(setUpAuthenticator(agent)).resolves.toMatchObject({ page: { status: 500 }, recoveryCodes: [] });
    for (const table of ['authenticators', 'recovery_codes'])
      expect(await service.database.sql(`SELECT 1 FROM ${table}`)).toEqual([]);
  } finally {
    await service.stop();
  }
});
