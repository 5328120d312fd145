// Tests that what came by a connection ends with it, and what a logout that the provider tells leaves.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { adminToken, call, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let client: TestClient;
let token: string;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  client = await service.createClient(
    { scope: 'openid offline_access', grant_types: ['authorization_code', 'refresh_token'] },
    { firstParty: true },
  );
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

let number = 0;
/** A user who came by a connection, and a client that may act while the user is away. */
async function offline(connection: string) {
  const subject = `ending-${++number}`;
  provider.be({ sub: subject, sid: `session-${number}`, preferred_username: `ending ${number}` });
  const agent = new UserAgent(service);
  const asked = authorizationUrl(service.issuer, client, { scope: 'openid offline_access', prompt: 'consent' });
  const page = await signInBy(agent, connection, asked);
  const done = page.location === undefined ? await agent.submit(page, { decision: 'allow' }) : page;
  const answered = responseParameters(await agent.follow(done));
  const { body } = await redeem(service.issuer, client, answered['code']!);
  const [link] = await service.database.sql<{ sub: string }>('SELECT sub FROM linked_identities WHERE subject = $1', [
    subject,
  ]);
  return { agent, subject, sid: `session-${number}`, sub: link!.sub, refreshToken: String(body['refresh_token']) };
}
const isAlive = async (refreshToken: string) => (await refresh(service.issuer, client, refreshToken)).status === 200;
/** The browser's session ends, and the grant stays. */
const signOut = async (sub: string) => {
  await service.database.sql('DELETE FROM sessions WHERE sub = $1', [sub]);
  const rows = await service.database.sql('SELECT FROM client_sessions WHERE sub = $1', [sub]);
  expect(rows).toHaveLength(1);
};
const api = (path: string) => `${service.issuer}/admin/api${path}`;

describe('a refresh token with offline_access, whose browser session has ended, ends', () => {
  test('with the link of its user, and the answer has the numbers (security R159, reports F4)', async () => {
    await addConnection(service, provider, 'linked', { provisioning: 'on' });
    const { sub, refreshToken } = await offline('linked');
    const other = await offline('linked');
    await signOut(sub);
    const answer = await call(api(`/users/${sub}/connections/linked`), { token, method: 'DELETE' });
    expect(answer).toMatchObject({ status: 200, body: { sessions: 0, tokens: 1 } });
    expect(await isAlive(refreshToken)).toBe(false);
    expect(await isAlive(other.refreshToken)).toBe(true);
  });

  test('with its connection, by route and by command (security R159, reports F4)', async () => {
    for (const by of ['route', 'command']) {
      await addConnection(service, provider, `gone-${by}`, { provisioning: 'on' });
      const { sub, refreshToken } = await offline(`gone-${by}`);
      const live = await offline(`gone-${by}`);
      await signOut(sub);
      if (by === 'route')
        expect(await call(api(`/connections/gone-${by}`), { token, method: 'DELETE' })).toMatchObject({
          status: 200,
          body: { people: 2, sessions: 1, tokens: 2 },
        });
      else {
        const { stdout } = await runCommand(service, ['connection', 'delete', `gone-${by}`, '--json']);
        expect(JSON.parse(stdout)).toEqual({ connection: `gone-${by}`, people: 2, sessions: 1, tokens: 2 });
      }
      for (const one of [refreshToken, live.refreshToken]) expect(await isAlive(one)).toBe(false);
    }
  });

  test.each([
    ['makes its user an administrator', 'UPDATE users SET admin = true WHERE sub = $1'],
    ['adds its user to a guarded group', `UPDATE users SET groups = '{ops}' WHERE sub = $1`],
  ])(
    'with a link that was made automatically, when plain SQL %s, and so does a session (security R159, R165)',
    async (what, statement) => {
      const id = what.startsWith('makes') ? 'of-admins' : 'of-guarded';
      await addConnection(service, provider, id, { provisioning: 'on' });
      await addConnection(service, provider, `${id}-too`, { provisioning: 'on' });
      const settings = { BASE_URL: service.issuer, REQUIRE_SECOND_FACTOR_GROUPS: 'ops' };
      await service.store.serviceSettings.write({ settings, version: '1' });
      const { sub, refreshToken } = await offline(id);
      const live = await offline(id);
      const other = await offline(`${id}-too`);
      await signOut(sub);
      for (const user of [sub, live.sub]) await service.database.sql(statement, [user]);
      expect(await isAlive(refreshToken)).toBe(false);
      expect((await live.agent.get('/account')).status).toBe(303);
      expect(await isAlive(live.refreshToken)).toBe(false);
      expect((await other.agent.get('/account')).status).toBe(200);
      expect(await isAlive(other.refreshToken)).toBe(true);
    },
  );

  test('with end_sessions of its connection that is disabled, and not without (security R159)', async () => {
    await addConnection(service, provider, 'closed', { provisioning: 'on' });
    const { sub, refreshToken } = await offline('closed');
    await signOut(sub);
    const change = (body: object) => call(api('/connections/closed'), { token, method: 'PATCH', body });
    expect((await change({ status: 'disabled' })).status).toBe(200);
    const rows = () => service.database.sql('SELECT FROM client_sessions WHERE sub = $1', [sub]);
    expect(await rows()).toHaveLength(1);
    expect((await change({ status: 'disabled', end_sessions: true })).status).toBe(200);
    expect(await rows()).toHaveLength(0);
    expect(await isAlive(refreshToken)).toBe(false);
  });
});

test('a logout that the provider reports leaves offline refresh tokens, as a sign-out here does (OpenID Connect Back-Channel Logout 2.7, reports F1)', async () => {
  await addConnection(service, provider, 'telling', { provisioning: 'on' });
  for (const channel of ['back', 'frame', 'subject']) {
    const { agent, sid, subject, refreshToken } = await offline('telling');
    const path = `${service.issuer}/connections/telling`;
    const named = channel === 'subject' ? { sub: subject } : { sid, sub: subject };
    const told =
      channel === 'frame'
        ? await fetch(`${path}/frontchannel-logout?${new URLSearchParams({ iss: provider.issuer, sid })}`)
        : await fetch(`${path}/backchannel-logout`, {
            method: 'POST',
            body: new URLSearchParams({ logout_token: await provider.logoutToken(named) }),
          });
    expect(told.status).toBe(200);
    expect((await agent.get('/account')).status).toBe(303);
    expect(await isAlive(refreshToken), channel).toBe(true);
  }
  await changeConnection(service, 'telling', { status: 'enabled' });
});

test('ending all sessions of a user answers with the numbers (reports F4)', async () => {
  await addConnection(service, provider, 'counted', { provisioning: 'on' });
  const { sub } = await offline('counted');
  const answer = await call(api(`/users/${sub}/sessions`), { token, method: 'DELETE' });
  expect(answer).toMatchObject({ status: 200, body: { sessions: 1 } });
});
