// A setting, a group, a client or a request requires a second factor, and a step-up asks only for what is missing (RFC 9470).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Authenticator as App, recoveryCodesOf, setUpAuthenticator } from '../helpers/authenticator.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, redeem } from '../helpers/grants.ts';
import { Authenticator as Passkey, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const mfa = 'urn:gatehouse:acr:mfa';
const password = 'urn:gatehouse:acr:password';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({
    environment: { REQUIRE_SECOND_FACTOR: 'administrators', REQUIRE_SECOND_FACTOR_GROUPS: 'treasury, staff' },
  });
  client = await service.createClient({ client_name: 'Harbour' }, { firstParty: true });
});
afterAll(() => service?.stop());

const asksSecondFactor = (page: Page) => page.url.includes('/login/second-factor?') && page.body.includes('id="code"');
const asksSetUp = (page: Page) => page.url.includes('/login/authenticator') && page.body.includes('id="qr"');
const asksPassword = (page: Page) => page.body.includes('id="password"');
const advanceTime = (sub: string) =>
  service.database.sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', [sub]);

async function signedIn(values: Parameters<TestService['createUser']>[0] = {}) {
  const user = await service.createUser(values);
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return { user, agent };
}

/** Signs a user in with the password only, and sets up an authenticator in another browser afterwards. */
async function enrolledAfterSignIn() {
  const { user, agent } = await signedIn();
  const otherBrowser = new UserAgent(service);
  await otherBrowser.signIn(user);
  const { app } = await setUpAuthenticator(otherBrowser);
  await advanceTime(user.sub);
  return { user, agent, app };
}

const ask = async (agent: UserAgent, parameters: Record<string, string> = {}, rp = client) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, rp, parameters)));

/** Redeems the code of the page, and returns the ID Token. */
async function idToken(page: Page, rp = client) {
  const { body } = await redeem(service.issuer, rp, responseParameters(page)['code']!);
  return decodeJwt(body['id_token'] as string);
}

const essential = (...values: string[]) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values } } }),
});

describe('the service requires a second factor', () => {
  test.each([
    ['of an administrator', { admin: true }],
    ['of a member of a group', { groups: ['sales', 'staff'] }],
  ])('%s, who sets it up before the sign-in continues (NIST SP 800-63B-4 4.1.2)', async (_who, values) => {
    const user = await service.createUser(values);
    const agent = new UserAgent(service);
    const setUp = await agent.authorize(client, user, { state: 's' });
    expect([asksSetUp(setUp), setUp.body.includes('Harbour')]).toEqual([true, true]);
    // the user has no session yet
    expect((await agent.get('/account')).location).toBe(`${service.issuer}/login`);
    expect(asksSetUp(await agent.follow(await agent.get('/login/second-factor')))).toBe(true);
    const app = new App(setUp);
    const wrong = await agent.submit(setUp, { code: app.wrong(), name: 'Telephone' });
    expect([wrong.status, asksSetUp(wrong)]).toEqual([400, true]);
    const codes = await agent.submit(wrong, { code: app.code(), name: 'Telephone' });
    expect(recoveryCodesOf(codes)).toHaveLength(10);
    const next = /id="continue" href="([^"]*)"/.exec(codes.body)![1]!;
    const end = await agent.follow(await agent.get(next));
    expect(responseParameters(end)['state']).toBe('s');
    expect(await idToken(end)).toMatchObject({ acr: mfa, amr: ['pwd', 'otp', 'mfa'] });

    // the password alone does not set up another one
    const attacker = new UserAgent(service);
    expect(await attacker.signIn(user)).toMatchObject({ url: `${service.issuer}/login/second-factor` });
    expect((await attacker.get('/login/authenticator')).location).toBe(`${service.issuer}/login/second-factor`);
  });

  test('of no other user', async () => {
    const { agent } = await signedIn({ groups: ['sales'] });
    expect((await agent.get('/account')).status).toBe(200);
  });

  test('of a session from before the requirement, when it continues to a client', async () => {
    const { user, agent } = await signedIn();
    await service.database.sql(`UPDATE users SET groups = '{treasury}' WHERE sub = $1`, [user.sub]);
    expect(responseParameters(await ask(agent, { prompt: 'none' }))['error']).toBe('login_required');
    expect(asksSetUp(await ask(agent))).toBe(true);
  });
});

describe('a client requires an acr', () => {
  test('that an administrator set, and a session with a password only needs just the missing factor (RFC 9470 5)', async () => {
    const rp = await service.createClient({ client_name: 'Vault' }, { firstParty: true });
    const admin = await adminToken(service);
    const path = `${service.issuer}/admin/api/clients/${rp.clientId}`;
    expect(await call(path, { method: 'PATCH', token: admin, body: { required_acr: 'urn:x' } })).toMatchObject({
      status: 400,
    });
    expect(await call(path, { method: 'PATCH', token: admin, body: { required_acr: mfa } })).toMatchObject({
      status: 200,
      body: { required_acr: mfa },
    });
    const { user, agent, app } = await enrolledAfterSignIn();
    expect(responseParameters(await ask(agent, {}))['code']).toBeDefined();
    expect(responseParameters(await ask(agent, { prompt: 'none' }, rp))['error']).toBe('login_required');
    const step = await ask(agent, {}, rp);
    expect([asksSecondFactor(step), asksPassword(step)]).toEqual([true, false]);
    const end = await agent.submit(step, { code: app.code() });
    expect(await idToken(end, rp)).toMatchObject({ acr: mfa, amr: ['pwd', 'otp', 'mfa'], sub: user.sub });
    // the session keeps the level
    expect(responseParameters(await ask(agent, { prompt: 'none' }, rp))['code']).toBeDefined();

    const { code, stdout } = await runCommand(service, [
      'client',
      'require-acr',
      rp.clientId,
      '--unset',
      'required-acr',
      '--json',
    ]);
    expect([code, JSON.parse(stdout)['required_acr']]).toEqual([0, undefined]);
    expect((await runCommand(service, ['client', 'require-acr', rp.clientId, 'urn:x'])).code).not.toBe(0);
    const other = await signedIn();
    // once the change has reached the instance
    await vi.waitFor(async () =>
      expect(await idToken(await ask(other.agent, {}, rp), rp)).toMatchObject({ acr: password }),
    );
  });

  test('that needs a passkey, and a user without one creates it after all other factors were verified (RFC 9470 5, security R91)', async () => {
    const rp = await service.createClient({ client_name: 'Vault' }, { firstParty: true });
    await runCommand(service, ['client', 'require-acr', rp.clientId, 'phr']);
    const { user, agent, app } = await enrolledAfterSignIn();
    expect(responseParameters(await ask(agent, { prompt: 'none' }, rp))['error']).toBe('login_required');
    // the password alone does not create a passkey
    const step = await ask(agent, { state: 's' }, rp);
    expect(asksSecondFactor(step)).toBe(true);
    let page = await agent.submit(step, { code: app.code() });
    if (asksPassword(page)) {
      await advanceTime(user.sub);
      page = await agent.submit(await agent.signIn(user, page), { code: app.code() });
    }
    expect(page.url).toContain('/account/passkeys?transaction=');
    expect(page.body).toContain('Vault');
    const key = new Passkey(service.issuer);
    const creation = passkeyForm(page);
    const added = await agent.follow(
      await agent.post(creation.action, { ...creation.fields, credential: key.create(creation.options) }),
    );
    // the new passkey must still sign a challenge
    expect(asksPassword(added)).toBe(true);
    const { action, options, fields } = passkeyForm(added);
    const end = await agent.follow(await agent.post(action, { ...fields, credential: key.get(options) }));
    expect(responseParameters(end)['state']).toBe('s');
    expect(await idToken(end, rp)).toMatchObject({ sub: user.sub, acr: 'phrh' });
  });

  test('that no passkey of the user satisfies, so that it gets unmet_authentication_requirements (OpenID Connect Core Unmet Authentication Requirements 1.0)', async () => {
    const rp = await service.createClient({}, { firstParty: true });
    await runCommand(service, ['client', 'require-acr', rp.clientId, 'phrh']);
    const { agent } = await signedIn();
    const creation = passkeyForm(await ask(agent, { state: 's' }, rp));
    // the passkey can be synchronized to other devices
    const key = new Passkey(service.issuer);
    key.flags |= 8;
    const codes = await agent.post(creation.action, { ...creation.fields, credential: key.create(creation.options) });
    const onward = /id="continue" href="([^"]*)"/.exec(codes.body)![1]!;
    const { action, options, fields } = passkeyForm(await agent.follow(await agent.get(onward)));
    const end = await agent.follow(await agent.post(action, { ...fields, credential: key.get(options) }));
    expect(responseParameters(end)).toMatchObject({ error: 'unmet_authentication_requirements', state: 's' });
  });
});

describe('a request asks for an acr', () => {
  const stepUps: [string, Record<string, string>][] = [
    ['as a voluntary value', { acr_values: mfa }],
    ['as an essential value', essential(mfa)],
  ];
  test.each(stepUps)(
    '%s, and a session with a recent password check needs only the missing factor (RFC 9470 4)',
    async (_how, parameters) => {
      const { user, agent, app } = await enrolledAfterSignIn();
      const step = await ask(agent, parameters);
      expect([asksSecondFactor(step), asksPassword(step)]).toEqual([true, false]);
      const before = Date.now() - 5000;
      const token = await idToken(await agent.submit(step, { code: app.code() }));
      expect(token).toMatchObject({ acr: mfa, sub: user.sub });
      expect((token['auth_time'] as number) * 1000).toBeGreaterThan(before);
      expect(await idToken(await ask(agent, { ...parameters, prompt: 'none' }))).toMatchObject({ acr: mfa });
    },
  );

  test('and a session whose password check is too old, or older than max_age, needs both (RFC 9470 4)', async () => {
    const { user, agent, app } = await enrolledAfterSignIn();
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    const login = await ask(agent, { acr_values: mfa });
    expect(asksPassword(login)).toBe(true);
    const step = await agent.signIn(user, login);
    expect(asksSecondFactor(step)).toBe(true);
    expect(await idToken(await agent.submit(step, { code: app.code() }))).toMatchObject({ acr: mfa });
    await advanceTime(user.sub);
    const again = await ask(agent, { acr_values: mfa, max_age: '0' });
    expect(asksPassword(again)).toBe(true);
    const end = await agent.submit(await agent.signIn(user, again), { code: app.code() });
    expect(await idToken(end)).toMatchObject({ acr: mfa });
  });

  test('as a voluntary value, for a user without a second factor, who is signed in with the password (OpenID Connect Core 3.1.2.1)', async () => {
    const { agent } = await signedIn();
    expect(await idToken(await ask(agent, { acr_values: mfa }))).toMatchObject({ acr: password });
  });

  test('as an essential value, for a user without a second factor, who sets one up (OpenID Connect Core 5.5.1.1)', async () => {
    const { agent } = await signedIn();
    const setUp = await ask(agent, essential(mfa));
    expect(asksSetUp(setUp)).toBe(true);
    const app = new App(setUp);
    const codes = await agent.submit(setUp, { code: app.code() });
    const next = /id="continue" href="([^"]*)"/.exec(codes.body)![1]!;
    expect(await idToken(await agent.follow(await agent.get(next)))).toMatchObject({ acr: mfa });
  });

  test('a new password does not change the level and the sign-in time of the session', async () => {
    const { user, agent, app } = await enrolledAfterSignIn();
    await agent.submit(await ask(agent, { acr_values: mfa }), { code: app.code() });
    const of = async () =>
      (
        await service.database.sql<{ amr: string[]; auth_time: Date }>(
          'SELECT amr, auth_time FROM sessions WHERE sub = $1 ORDER BY id LIMIT 1',
          [user.sub],
        )
      )[0];
    const before = await of();
    expect(before!.amr).toContain('mfa');
    const page = await agent.get('/account/password');
    await agent.submit(page, { current_password: user.password, new_password: 'another long and good passphrase' });
    expect(await of()).toEqual(before);
  });
});

describe('an administrator', () => {
  test('sees the second factors of a user, and removes them if the user lost them (security R91)', async () => {
    const { user, agent } = await signedIn();
    await setUpAuthenticator(agent, 'Telephone');
    await setUpAuthenticator(agent, 'Tablet');
    const admin = await adminToken(service);
    const path = `${service.issuer}/admin/api/users/${user.sub}/second-factors`;
    const { body } = await call(path, { token: admin });
    expect(body).toMatchObject({
      second_factors: [{ kind: 'authenticator', name: 'Telephone' }, { name: 'Tablet' }],
      recovery_codes: 10,
    });
    const [{ id }] = body['second_factors'] as [{ id: string }];
    expect((await call(`${path}/${id}`, { method: 'DELETE', token: admin })).status).toBe(204);
    expect((await call(`${path}/${id}`, { method: 'DELETE', token: admin })).status).toBe(404);
    const listed = await runCommand(service, ['user', 'second-factors', user.username]);
    expect(listed.stdout).toMatch(/authenticator +Tablet[^]*Recovery codes left: 10/);
    const removed = await runCommand(service, ['user', 'remove-second-factor', user.username]);
    expect([removed.code, removed.stdout]).toEqual([0, expect.stringContaining('1 second factor')]);
    expect(await service.store.secondFactors.list(user.sub)).toEqual([]);
    expect(await service.store.recoveryCodes.count(user.sub)).toBe(0);
    const events = await service.database.sql(
      `SELECT actor, detail FROM audit_events WHERE sub = $1 AND type = 'user.second_factor_removed' ORDER BY id`,
      [user.sub],
    );
    expect(events).toMatchObject([
      { detail: { kinds: ['authenticator'] } },
      { actor: 'command line', detail: { kinds: ['authenticator'] } },
    ]);
    const withoutFactor = new UserAgent(service);
    await withoutFactor.signIn(user);
    expect((await withoutFactor.get('/account')).status).toBe(200);
  });
});
