// Pairwise subjects are used wherever a client sees a user, and no client learns another client's subject (OpenID Connect Core 8).
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, eventually, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
/** Two pairwise clients of different sectors, and a public one. */
let shop: TestClient;
let forum: TestClient;
let known: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  user = await service.createUser({ email: 'ada@example.com', groups: ['staff'], claims: { name: 'Ada' } });
  shop = await pairwise('shop.example');
  forum = await pairwise('forum.example');
  known = await service.createClient();
});
afterAll(() => service?.stop());

const pairwise = (host: string, metadata: Record<string, unknown> = {}) =>
  service.createClient({ subject_type: 'pairwise', redirect_uris: [`https://${host}/callback`], ...metadata });
const subOf = (token: string) => decodeJwt(token).sub!;
const subject = async (client: TestClient, of: TestUser = user, agent?: UserAgent) =>
  subOf((await obtainTokens(service, client, of, {}, agent)).id_token);
const introspect = async (caller: TestClient, token: string) =>
  (await (
    await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: caller.basic },
      body: new URLSearchParams({ token }),
    })
  ).json()) as Record<string, unknown>;

describe('the subject', () => {
  test('is the same within a sector, and neither another sector nor a public client knows it (OpenID Connect Core 8.1)', async () => {
    const own = await subject(shop);
    expect(own).toMatch(/^[!-~]{16,255}$/);
    expect(await subject(shop)).toBe(own);
    expect(await subject(await pairwise('shop.example'))).toBe(own);
    expect(await subject(await pairwise('shop.example:8443'))).toBe(own);
    const others = [await subject(forum), await subject(known), await subject(shop, await service.createUser())];
    expect(new Set([own, ...others]).size).toBe(4);
    expect(others[1]).toBe(user.sub);
  });

  test('is the same for many simultaneous first sign-ins, on two instances (OpenID Connect Core 8.1)', async () => {
    const newUser = await service.createUser();
    const clients = await Promise.all(Array.from({ length: 4 }, () => pairwise('race.example')));
    const subjects = await Promise.all(
      clients.map(async (client, index) => {
        const agent = new UserAgent({ issuer: service.issuer });
        const code = responseParameters(await agent.authorize(client, newUser))['code']!;
        const { body } = await redeem(service.instances[index % 2]!, client, code);
        return subOf(body['id_token'] as string);
      }),
    );
    expect(new Set(subjects).size).toBe(1);
    const rows = await service.database.sql('SELECT 1 FROM pairwise_subjects WHERE sub = $1', [newUser.sub]);
    expect(rows).toHaveLength(1);
  });

  test("satisfies the claims parameter for the same sector, while another sector's and the public subject match no user (OpenID Connect Core 5.5.1)", async () => {
    const agent = new UserAgent(service);
    const own = await subject(shop, user, agent);
    const ask = async (value: string) => {
      const claims = JSON.stringify({ id_token: { sub: { value } } });
      return responseParameters(await agent.authorize(shop, undefined, { prompt: 'none', claims }));
    };
    expect(await ask(own)).toHaveProperty('code');
    for (const otherSubject of [user.sub, await subject(forum)])
      expect(await ask(otherSubject)).toMatchObject({ error: 'login_required' });
  });

  test('costs no query before a user is signed in, and one after, however many are requested (security R105)', async () => {
    const value = Array.from({ length: 200 }, (_, index) => `s${index}`);
    const claims = JSON.stringify({ id_token: { sub: { values: value } } });
    const agent = new UserAgent(service);
    const queriesOfRequest = async () => {
      const before = service.ofRequests.length;
      await agent.get(authorizationUrl(service.issuer, shop, { prompt: 'none', claims }));
      return service.ofRequests.slice(before).filter((name) => name.startsWith('pairwise_subjects.'));
    };
    expect(await queriesOfRequest()).toEqual([]);
    await subject(shop, user, agent);
    expect(await queriesOfRequest()).toEqual(['pairwise_subjects.find']);
  });

  test('cannot be linked to another subject of the user by a hint of another sector or of a public client (OpenID Connect Core 8.1)', async () => {
    const agent = new UserAgent(service);
    await subject(shop, user, agent);
    for (const other of [forum, known]) {
      const { id_token } = await obtainTokens(service, other, user, {}, agent);
      for (const [asking, hint] of [[shop, id_token]] as const) {
        const page = await agent.get(authorizationUrl(service.issuer, asking, { prompt: 'none', id_token_hint: hint }));
        expect(responseParameters(page)).toMatchObject({ error: 'login_required' });
      }
    }
    const secret = await pairwise('shop.example', { id_token_signed_response_alg: 'HS256' });
    const { id_token } = await obtainTokens(service, secret, user, {}, agent);
    const forged = await new SignJWT({ ...decodeJwt(id_token), sub: user.sub })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(secret.clientSecret));
    const page = await agent.get(authorizationUrl(service.issuer, secret, { prompt: 'none', id_token_hint: forged }));
    expect(responseParameters(page)).toMatchObject({ error: 'login_required' });
  });

  test('is the same in the ID Token, UserInfo, introspection and after a refresh (OpenID Connect Core 5.3.2, 12.2)', async () => {
    const own = await subject(shop);
    const tokens = await obtainTokens(service, shop, user, { scope: 'openid email' });
    expect(subOf(tokens.id_token)).toBe(own);
    expect((await userinfo(service.issuer, tokens.access_token)).body).toMatchObject({
      sub: own,
      email: 'ada@example.com',
    });
    for (const token of [tokens.access_token, tokens.id_token])
      expect(await introspect(shop, token)).toMatchObject({ active: true, sub: own, client_id: shop.clientId });
    const { body } = await refresh(service.issuer, shop, tokens.refresh_token);
    expect(subOf(body['id_token'] as string)).toBe(own);
    expect((await userinfo(service.issuer, body['access_token'] as string)).body).toMatchObject({ sub: own });
  });

  test('is also in ID Tokens of the authorization endpoint (OpenID Connect Core 3.3.2.11)', async () => {
    const hybrid = await pairwise('shop.example', {
      response_types: ['code id_token'],
      grant_types: ['authorization_code', 'implicit'],
    });
    const page = await new UserAgent(service).authorize(hybrid, user, { response_type: 'code id_token', nonce: 'n' });
    const response = new URLSearchParams(new URL(page.location!).hash.slice(1));
    const { body } = await redeem(service.issuer, hybrid, response.get('code')!);
    expect(subOf(response.get('id_token')!)).toBe(await subject(shop));
    expect(subOf(body['id_token'] as string)).toBe(await subject(shop));
  });

  test('is deleted with its user, and the audit trail contains the public subject (decisions section 7)', async () => {
    const newUser = await service.createUser();
    const own = await subject(shop, newUser);
    expect(own).not.toBe(newUser.sub);
    const rows = await service.database.sql<{ sub: string }>(
      'SELECT DISTINCT sub FROM audit_events WHERE client_id = $1 AND sub IN ($2, $3)',
      [shop.clientId, newUser.sub, own],
    );
    expect(rows).toEqual([{ sub: newUser.sub }]);
    await service.database.sql('DELETE FROM users WHERE sub = $1', [newUser.sub]);
    expect(await service.database.sql('SELECT 1 FROM pairwise_subjects WHERE subject = $1', [own])).toEqual([]);
  });

  test('adds no statement to the hot paths (architecture, hot paths)', async () => {
    const agent = new UserAgent(service);
    const code = responseParameters(await agent.authorize(shop, user))['code']!;
    await introspect(shop, 'x');
    const before = service.ofRequests.length;
    const { body } = await redeem(service.issuer, shop, code);
    await userinfo(service.issuer, body['access_token'] as string);
    await introspect(shop, body['access_token'] as string);
    const sent = service.ofRequests.slice(before);
    expect(sent).toEqual(['authorization_codes.redeem', 'access_tokens.find', 'access_tokens.find']);
  });
});

describe('a resource server that introspects', () => {
  const api = 'https://api.example/v1';
  let server: TestClient;
  let ownServer: TestClient;
  beforeAll(async () => {
    server = await service.createClient({
      resource_uris: [api],
      grant_types: ['client_credentials'],
      redirect_uris: [],
    });
    ownServer = await pairwise('books.example', { resource_uris: ['https://books.example/v1'] });
  });

  test('gets the subject that it knows itself, not that of the client (OpenID Connect Core 8)', async () => {
    const tokens = await obtainTokens(service, shop, user, { resource: api });
    expect(await introspect(server, tokens.access_token)).toMatchObject({ sub: user.sub, client_id: shop.clientId });
    const books = await obtainTokens(service, known, user, { resource: 'https://books.example/v1' });
    const introspected = await introspect(ownServer, books.access_token);
    expect(introspected['sub']).toBe(await subject(ownServer));
    expect(introspected['sub']).not.toBe(user.sub);
  });

  test('gets the user name, which all clients share, only with the scopes that release it (OpenID Connect Core 17.3)', async () => {
    const withoutProfile = await obtainTokens(service, shop, user, { scope: 'openid' });
    expect(await introspect(shop, withoutProfile.access_token)).not.toHaveProperty('username');
    const full = await obtainTokens(service, shop, user, { scope: 'openid profile' });
    expect(await introspect(shop, full.access_token)).toMatchObject({ username: user.username });
    const open = await obtainTokens(service, known, user, { scope: 'openid' });
    expect(await introspect(known, open.access_token)).toMatchObject({ username: user.username });
  });
});

describe('the operations below /user/{sub}', () => {
  let client: TestClient;
  let own: string;
  let token: string;
  beforeAll(async () => {
    client = await pairwise('shop.example', { scope: 'openid profile scope', uma_profile: true });
    const tokens = await obtainTokens(service, client, user, { scope: 'openid profile scope' });
    own = subOf(tokens.id_token);
    token = tokens.access_token;
  });
  const headers = (way: string) => ({ authorization: way === 'Basic' ? client.basic : `Bearer ${token}` });

  test.each(['Basic', 'Bearer'])('by %s accept and return the client’s subject (specification 4.7)', async (way) => {
    const info = await call(`${service.issuer}/user/${own}/info`, { headers: headers(way) });
    expect(info).toMatchObject({ status: 200, body: { sub: own, name: 'Ada' } });
    const path = `${service.issuer}/user/${own}/settings`;
    expect(await call(path, { method: 'PUT', headers: headers(way), body: { settings: { [way]: 1 } } })).toMatchObject({
      status: 200,
    });
    expect((await call(path, { headers: headers(way) })).body).toMatchObject({ sub: own, settings: { [way]: 1 } });
  });

  test.each(['Basic', 'Bearer'])(
    'by %s know neither the public subject nor another sector’s (OpenID Connect Core 8.1)',
    async (way) => {
      for (const sub of [user.sub, await subject(forum)]) {
        const answer = await call(`${service.issuer}/user/${sub}/info`, { headers: headers(way) });
        expect(answer).toMatchObject({ status: 403, body: { error: 'access_denied' } });
        expect(JSON.stringify(answer.body)).not.toContain(own);
      }
    },
  );

  test('return the client’s subject for the user of the token (decisions section 5)', async () => {
    for (const operation of ['info', 'scope', 'settings'])
      expect((await call(`${service.issuer}/user/me/${operation}`, { token })).body).toMatchObject({ sub: own });
  });
});

test('a client session handle returns the subject of its client, too (decisions section 5)', async () => {
  const client = await pairwise('shop.example', { uma_profile: true });
  const agent = new UserAgent(service);
  const code = responseParameters(await agent.authorize(client, user))['code']!;
  const own = await subject(shop);
  expect((await call(`${service.issuer}/user/me/info`, { token: code })).body).toMatchObject({ sub: own });
  expect(await introspect(client, code)).toMatchObject({ active: true, sub: own });
  const { body } = await redeem(service.issuer, client, code);
  const handle = body['client_session_handle'] as string;
  expect((await call(`${service.issuer}/user/${own}/info`, { token: handle })).body).toMatchObject({ sub: own });
  expect(await call(`${service.issuer}/user/${user.sub}/info`, { token: handle })).toMatchObject({ status: 403 });
});

describe('a subject that a client sends', () => {
  test('in id_token_hint is recognized: the same user without a page, and no other (OpenID Connect Core 3.1.2.1)', async () => {
    const agent = new UserAgent(service);
    const { id_token: hint } = await obtainTokens(service, shop, user, {}, agent);
    const otherHint = (await obtainTokens(service, shop, await service.createUser())).id_token;
    const silent = async (id_token_hint: string) =>
      responseParameters(await agent.get(authorizationUrl(service.issuer, shop, { prompt: 'none', id_token_hint })));
    expect(await silent(hint)).toHaveProperty('code');
    expect(await silent(otherHint)).toMatchObject({ error: 'login_required' });
    // another client of the sector has the same subject for the user
    const branch = await pairwise('shop.example');
    expect(await silent((await obtainTokens(service, branch, user, {}, agent)).id_token)).toHaveProperty('code');
  });

  test("in an end-session request must be the client's own (decisions section 6)", async () => {
    const end = async (agent: UserAgent, sub: string) => {
      const jwt = await new SignJWT({ redirect_uri: shop.redirectUri, sub })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer(shop.clientId)
        .setAudience(service.issuer)
        .setIssuedAt()
        .setExpirationTime('2m')
        .setJti(crypto.randomUUID())
        .sign(new TextEncoder().encode(shop.sharedSecret));
      return (await agent.get(`/end-session?request=${jwt}`)).status;
    };
    const agent = new UserAgent(service);
    const own = await subject(shop, user, agent);
    expect(await end(agent, user.sub)).toBe(400);
    expect(await end(agent, await subject(forum))).toBe(400);
    expect(await end(agent, own)).toBe(302);
  });

  test('in id_token_hint at logout names the client (OpenID Connect RP-Initiated Logout 2)', async () => {
    const agent = new UserAgent(service);
    const { id_token: hint } = await obtainTokens(service, shop, user, {}, agent);
    const page = await agent.get(`/logout?id_token_hint=${hint}`);
    expect(page).toMatchObject({ status: 200 });
    expect(page.body).toContain(shop.clientId);
  });
});

describe('a change of the subject type', () => {
  test('by its client waits for approval, since it changes the subjects of all users (decisions section 2)', async () => {
    const client = await pairwise('shop.example');
    const put = (metadata: Record<string, unknown>) =>
      call(`${service.issuer}/register/${client.clientId}`, {
        method: 'PUT',
        token: client.registrationAccessToken,
        body: { ...client.metadata, client_id: client.clientId, ...metadata },
      });
    expect((await put({ subject_type: 'public' })).body).toMatchObject({
      subject_type: 'pairwise',
      pending_changes: { subject_type: 'public' },
    });
    expect((await put({})).body).not.toHaveProperty('pending_changes');
  });

  test('keeps the subject of tokens that were issued before, and applies from the next sign-in (OpenID Connect Core 12.2)', async () => {
    const client = await pairwise('moving.example');
    const tokens = await obtainTokens(service, client, user, { scope: 'openid offline_access' });
    const own = subOf(tokens.id_token);
    await service.database.sql(
      `UPDATE clients SET metadata = jsonb_set(metadata, '{subject_type}', '"public"') WHERE client_id = $1`,
      [client.clientId],
    );
    await eventually(
      () => subject(client),
      (sub) => sub === user.sub,
    );
    const { body } = await refresh(service.issuer, client, tokens.refresh_token);
    expect(subOf(body['id_token'] as string)).toBe(own);
    expect((await userinfo(service.issuer, body['access_token'] as string)).body).toMatchObject({ sub: own });
  });
});
