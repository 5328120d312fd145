// Tests the stored tokens of connections: who may read them, how they are renewed, and that nothing else of them leaves the service.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addConnection, answerOf, changeConnection, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { remember } from '../helpers/dump-search.ts';
import { adminToken, call, redeem, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const canaries = { access_token: 'canary-of-an-upstream-token', refresh_token: 'canary-of-an-upstream-refresh' };
let service: TestService;
let provider: Provider;
let admin: string;
let client: TestClient;
let stranger: TestClient;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, provider, 'store', { provisioning: 'on', store_tokens: true });
  admin = await adminToken(service);
  const scope = 'openid upstream_token';
  client = await service.createClient({ scope });
  stranger = await service.createClient({ scope });
  const changed = await call(`${service.issuer}/admin/api/clients/${client.clientId}`, {
    token: admin,
    method: 'PATCH',
    body: { upstream_tokens: ['store'] },
  });
  expect([changed.status, changed.body['upstream_tokens']]).toEqual([200, ['store']]);
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

let number = 0;
/** The access token of a user who came by the connection. @param given members of the provider's token response */
async function tokenOf(given: Record<string, unknown>, rp = client, scope = 'openid upstream_token'): Promise<string> {
  provider.be({ sub: `member-${++number}`, preferred_username: `member ${number}` });
  provider.lie({ tokens: given });
  const agent = new UserAgent(service);
  const page = await signInPage(agent, 'store', authorizationUrl(service.issuer, rp, { scope }));
  const left = await leave(agent, page, 'store');
  const consent = await agent.follow(await agent.get(await answerOf(left)));
  const done = await agent.submit(consent, { decision: 'allow' });
  const { status, body } = await redeem(service.issuer, rp, responseParameters(done)['code']!);
  expect(status).toBe(200);
  return body['access_token'] as string;
}
const read = (token: string, path = '/user/me/connections/store/token', base = service.issuer) =>
  call(base + path, { token });
const events = () =>
  service.database.sql<{ client_id: string; detail: object }>(
    `SELECT client_id, detail FROM audit_events WHERE type = 'upstream_token.read' ORDER BY id`,
  );

test('a client that an administrator allowed reads the access token, and each reading is an event (federation 4)', async () => {
  const token = await tokenOf({ ...canaries, expires_in: 3600, scope: 'calendar' });
  const answer = await read(token);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(answer.body).toEqual({
    access_token: canaries.access_token,
    token_type: 'Bearer',
    scope: 'calendar',
    expires_at: expect.toSatisfy((seconds: number) => Math.abs(seconds - Date.now() / 1000 - 3600) < 100),
  });
  expect(await events()).toEqual([{ client_id: client.clientId, detail: { connection: 'store' } }]);
});

describe('is refused (federation FR17, F29)', () => {
  test('to a client that no administrator allowed, although it has the scope (federation F29)', async () => {
    expect((await read(await tokenOf({ ...canaries, expires_in: 3600 }, stranger))).status).toBe(403);
  });

  test('without the consent to the scope (federation F29)', async () => {
    const answer = await read(await tokenOf({ ...canaries, expires_in: 3600 }, client, 'openid'));
    expect([answer.status, answer.body['error']]).toEqual([403, 'insufficient_scope']);
  });

  test('for another user, and for another connection (federation F29)', async () => {
    const [mine] = [await tokenOf({ ...canaries, expires_in: 3600 }), await tokenOf({ ...canaries, expires_in: 3600 })];
    const [other] = await service.database.sql<{ sub: string }>(
      'SELECT sub FROM linked_identities ORDER BY id DESC LIMIT 1',
    );
    expect((await read(mine, `/user/${other!.sub}/connections/store/token`)).status).toBe(403);
    expect((await read(mine, '/user/me/connections/elsewhere/token')).status).toBe(403);
  });

  test('to a client that registers the member by itself (federation F61)', async () => {
    const made = await call(`${service.issuer}/register`, {
      method: 'POST',
      body: { redirect_uris: ['https://rp.example.com/callback'], upstream_tokens: ['store'] },
    });
    const [row] = await service.database.sql<{ upstream_tokens: string[] }>(
      'SELECT upstream_tokens FROM clients ORDER BY created_at DESC LIMIT 1',
    );
    expect([made.status >= 400 || row!.upstream_tokens.length === 0, row!.upstream_tokens]).toEqual([true, []]);
  });
});

describe('an access token that expired', () => {
  test('is refreshed once for fifty requests on two instances (federation F29)', async () => {
    const token = await tokenOf({ ...canaries, expires_in: 1 });
    provider.lie({});
    const before = provider.count('token');
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => read(token, undefined, service.instances[index % 2])),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1);
    expect(provider.count('token') - before).toBe(1);
    expect(provider.last('token')!.form).toMatchObject({
      grant_type: 'refresh_token',
      refresh_token: canaries.refresh_token,
    });
    expect(JSON.stringify(answers)).not.toContain(canaries.refresh_token);
  });

  test('and whose refresh token is dead is 404, and the provider is asked once (federation F29)', async () => {
    const token = await tokenOf({ ...canaries, expires_in: 1 });
    provider.lie({
      write: {
        token: (response) =>
          void response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
      },
    });
    const before = provider.count('token');
    for (let tries = 0; tries < 3; tries++) {
      const answer = await read(token);
      expect([answer.status, answer.body['error']]).toEqual([404, 'not_found']);
    }
    expect(provider.count('token') - before).toBe(1);
    provider.lie({});
  });

  test('and whose provider does not answer is 503, and is asked again later (federation 4)', async () => {
    const token = await tokenOf({ ...canaries, expires_in: 1 });
    provider.lie({ write: { token: (response) => void response.writeHead(503).end() } });
    const answer = await read(token);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    provider.lie({});
    expect((await read(token)).status).toBe(200);
  });

  test('without a refresh token is 404 (federation 4)', async () => {
    const token = await tokenOf({ access_token: canaries.access_token, expires_in: 1 });
    expect((await read(token)).status).toBe(404);
  });
});

test('an access token that was renewed without an expiry or a scope is given as it is, with the scope from before (RFC 6749 5.1)', async () => {
  const token = await tokenOf({ ...canaries, expires_in: 1, scope: 'calendar' });
  provider.lie({ tokens: { expires_in: undefined } });
  const answer = await read(token);
  expect(answer.body).toEqual({
    access_token: expect.stringMatching(/^refreshed-/),
    token_type: 'Bearer',
    scope: 'calendar',
  });
  const before = provider.count('token');
  expect((await read(token)).body).toEqual(answer.body);
  expect(provider.count('token')).toBe(before);
});

describe('nothing more is given (federation FR5, FR17)', () => {
  const change = async (body: object) => {
    const { status } = await call(`${service.issuer}/admin/api/connections/store`, {
      token: admin,
      method: 'PATCH',
      body,
    });
    expect(status).toBe(200);
  };
  // one that is valid, and one that would be refreshed
  test.each([3600, 1])('while the connection is disabled, with %i seconds left', async (expires_in) => {
    const token = await tokenOf({ ...canaries, expires_in });
    await change({ status: 'disabled' });
    const before = provider.count('token');
    expect((await read(token)).status).toBe(404);
    expect(provider.count('token')).toBe(before);
    await change({ status: 'enabled' });
    provider.lie({});
    expect((await read(token)).status).toBe(200);
  });

  test('once the connection keeps no tokens any more, and those that it kept are forgotten', async () => {
    const token = await tokenOf({ ...canaries, expires_in: 3600 });
    await change({ store_tokens: false });
    expect((await read(token)).status).toBe(404);
    expect((await count())[0].count).toBe(0);
    await change({ store_tokens: true });
    expect((await read(token)).status).toBe(404);
  });

  test('to a client of another name: no refresh token of the former one goes there', async () => {
    const token = await tokenOf({ ...canaries, expires_in: 1 });
    await change({ settings: { client_id: 'another' } });
    const before = provider.count('token');
    expect((await read(token)).status).toBe(404);
    expect([provider.count('token'), (await count())[0].count]).toEqual([before, 0]);
    await change({ settings: { client_id: provider.settings.client_id } });
  });
});

test('a connection that keeps no tokens has none, and a removed link takes them along (federation 4, FR17)', async () => {
  const token = await tokenOf({ ...canaries, expires_in: 3600 });
  const [{ count: kept }] = await count();
  await service.database.sql('DELETE FROM linked_identities WHERE id = (SELECT max(id) FROM linked_identities)');
  expect((await count())[0].count).toBe(kept - 1);
  expect((await read(token)).status).toBe(404);
  await changeConnection(service, 'store', { store_tokens: false });
  provider.be({ sub: `member-${++number}`, preferred_username: `member ${number}` });
  provider.lie({ tokens: canaries });
  await signInBy(new UserAgent(service), 'store');
  expect((await count())[0].count).toBe(kept - 1);
  await changeConnection(service, 'store', { store_tokens: true });
});
const count = async () =>
  (await service.database.sql<{ count: number }>('SELECT count(*)::int AS count FROM upstream_tokens')) as [
    { count: number },
  ];

test('the stored tokens are in no log line, and nowhere in the database as they are (federation FR17, F31)', async () => {
  // the whole database is searched at the end
  for (const canary of Object.values(canaries)) remember('token of a connection', canary);
  await tokenOf({ ...canaries, expires_in: 3600 });
  expect((await count())[0].count).toBeGreaterThan(0);
  expect(JSON.stringify(service.logs)).not.toMatch(/canary-of-an-upstream/);
});
