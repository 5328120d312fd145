// The claims parameter releases single claims at UserInfo and in ID Tokens after the user's consent, and grants nothing else.
import { decodeJwt, type JWTPayload } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { obtainCode, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
/** A new browser of a user who has not been asked for consent yet. */
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  user = await service.createUser({
    email: `${crypto.randomUUID()}@example.com`,
    claims: { name: 'Ada Lovelace', nickname: 'ada', phone_number: '+44 20 7946 0000' },
  });
  client = await service.createClient({
    response_types: ['code', 'id_token', 'id_token token', 'code id_token'],
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    scope: 'openid profile email phone',
  });
  agent = new UserAgent(service);
});

const claims = (request: object) => ({ claims: JSON.stringify(request) });
const ask = async (parameters: Record<string, string>, rp = client): Promise<Page> =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, rp, parameters)));
const fragment = (page: Page) => Object.fromEntries(new URLSearchParams(new URL(page.location!).hash.slice(1)));

describe('released claims', () => {
  test('a claim for UserInfo is returned there and not in the ID Token (OpenID Connect Core 5.5)', async () => {
    const essential = claims({ userinfo: { name: { essential: true } } });
    const tokens = await obtainTokens(service, client, user, essential);
    const { body } = await userinfo(service.issuer, tokens.access_token);
    expect(body).toEqual({ sub: user.sub, name: 'Ada Lovelace' });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('name');
    expect(tokens.scope).toBe('openid');
  });

  test('a claim for the ID Token is in it and in refreshed ID Tokens, and not at UserInfo (OpenID Connect Core 5.5)', async () => {
    const tokens = await obtainTokens(service, client, user, claims({ id_token: { nickname: null, email: null } }));
    const expected = { nickname: 'ada', email: user.email, email_verified: false };
    expect(decodeJwt(tokens.id_token)).toMatchObject(expected);
    expect((await userinfo(service.issuer, tokens.access_token)).body).toEqual({ sub: user.sub });
    const { body } = await refresh(service.issuer, client, tokens.refresh_token);
    expect(decodeJwt(body['id_token'] as string)).toMatchObject(expected);
  });

  test('a request with response_type id_token gets the claim in its ID Token (OpenID Connect Core 3.2)', async () => {
    const page = await agent.authorize(client, user, {
      response_type: 'id_token',
      nonce: 'n',
      ...claims({ id_token: { name: { essential: true } }, userinfo: { phone_number: null } }),
    });
    const payload = decodeJwt(fragment(page)['id_token']!);
    expect(payload['name']).toBe('Ada Lovelace');
    expect(payload).not.toHaveProperty('phone_number');
  });

  test('requests with id_token token and code id_token get each claim where they asked for it (OpenID Connect Core 3.3)', async () => {
    const both = { nonce: 'n', ...claims({ id_token: { nickname: null }, userinfo: { name: null } }) };
    const implicit = fragment(await agent.authorize(client, user, { response_type: 'id_token token', ...both }));
    expect(decodeJwt(implicit['id_token']!)).toMatchObject({ nickname: 'ada' });
    expect(decodeJwt(implicit['id_token']!)).not.toHaveProperty('name');
    expect((await userinfo(service.issuer, implicit['access_token']!)).body).toEqual({
      sub: user.sub,
      name: 'Ada Lovelace',
    });
    const hybrid = fragment(await agent.authorize(client, user, { response_type: 'code id_token', ...both }));
    expect(decodeJwt(hybrid['id_token']!)['nickname']).toBe('ada');
    const { body } = await redeem(service.issuer, client, hybrid['code']!);
    expect(decodeJwt(body['id_token'] as string)['nickname']).toBe('ada');
  });

  test('a claim without a value is left out, without an error even if it is essential (OpenID Connect Core 5.5.1)', async () => {
    const tokens = await obtainTokens(service, client, user, claims({ userinfo: { picture: { essential: true } } }));
    expect((await userinfo(service.issuer, tokens.access_token)).body).toEqual({ sub: user.sub });
  });

  test('a client gets no claim of a scope that it is not registered for (security R12)', async () => {
    const narrowClient = await service.createClient({ scope: 'openid email' });
    const tokens = await obtainTokens(
      service,
      narrowClient,
      user,
      claims({ userinfo: { name: null, email: null }, id_token: { phone_number: null } }),
    );
    expect((await userinfo(service.issuer, tokens.access_token)).body).toEqual({
      sub: user.sub,
      email: user.email,
      email_verified: false,
    });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('phone_number');
  });

  test('nor one whose scope was removed from its registration later (security R12)', async () => {
    const tokens = await obtainTokens(
      service,
      client,
      user,
      claims({ userinfo: { name: null }, id_token: { name: null } }),
    );
    await service.store.clients.update(client.clientId, { metadata: { ...client.metadata, scope: 'openid' } });
    expect((await userinfo(service.issuer, tokens.access_token)).body).toEqual({ sub: user.sub });
    await expect
      .poll(async () => {
        const { body } = await refresh(service.issuer, client, tokens.refresh_token);
        return decodeJwt(body['id_token'] as string)['name'];
      })
      .toBeUndefined();
  });

  test('UserInfo still needs only one database query (architecture, hot paths)', async () => {
    const tokens = await obtainTokens(service, client, user, claims({ userinfo: { name: null } }));
    const before = service.ofRequests.length;
    await userinfo(service.issuer, tokens.access_token);
    expect(service.ofRequests.slice(before)).toEqual(['access_tokens.find']);
  });
});

describe('the consent page', () => {
  const nicknames = claims({ userinfo: { nickname: null }, id_token: { phone_number: null } });

  test('names the single claims with their values, and the service remembers the answer (security R11)', async () => {
    const page = await agent.signIn(user, await ask(nicknames));
    expect(page.body).toContain('See these details: Nickname, Phone number');
    expect(page.body).toContain('+44 20 7946 0000');
    expect(page.body).not.toContain('See your name and profile');
    await agent.submit(page, { decision: 'allow' });
    expect(responseParameters(await ask({ ...nicknames, prompt: 'none' }))['code']).toBeDefined();
    expect((await agent.get('/account/applications')).body).toContain('See these details: Nickname, Phone number');
    const rows = await service.database.sql<{ detail: object }>(
      `SELECT detail FROM audit_events WHERE sub = $1 AND type = 'consent.granted'`,
      [user.sub],
    );
    expect(rows).toEqual([{ detail: { scope: ['openid'], claims: ['nickname', 'phone_number'] } }]);
  });

  test('asks for a further claim, and for that claim only (security R11)', async () => {
    await obtainCode(service, client, user, nicknames, agent);
    const more = claims({ userinfo: { nickname: null, name: null } });
    expect(responseParameters(await ask({ ...more, prompt: 'none' }))['error']).toBe('consent_required');
    const page = await ask(more);
    expect(page.body).toContain('See these details: Full name');
    expect(page.body).not.toContain('Nickname');
  });

  test('does not ask for a claim that a granted scope covers, and a claim grants no scope (security R11)', async () => {
    await obtainCode(service, client, user, { scope: 'openid profile' }, agent);
    const page = await ask({ ...claims({ userinfo: { name: null } }), prompt: 'none' });
    const { body } = await redeem(service.issuer, client, responseParameters(page)['code']!);
    expect(body['scope']).toBe('openid');
    expect((await userinfo(service.issuer, body['access_token'] as string)).body).toEqual({
      sub: user.sub,
      name: 'Ada Lovelace',
    });
    expect(responseParameters(await ask({ scope: 'openid email', prompt: 'none' }))['error']).toBe('consent_required');
  });

  test('releases nothing after the user denies access (RFC 6749 4.1.2.1)', async () => {
    const page = await agent.signIn(user, await ask(nicknames));
    expect(responseParameters(await agent.submit(page, { decision: 'deny' }))['error']).toBe('access_denied');
    expect(responseParameters(await ask({ ...nicknames, prompt: 'none' }))['error']).toBe('consent_required');
  });

  test('accepts an answer only for the claims that it showed (security R55)', async () => {
    const page = await agent.signIn(user, await ask(nicknames));
    await service.database.sql(
      `UPDATE authorization_requests SET parameters = jsonb_set(parameters, '{claims}', to_jsonb($1::text))`,
      [claims({ userinfo: { email: null } }).claims],
    );
    expect((await agent.submit(page, { decision: 'allow' })).status).toBe(400);
  });

  test('is not shown for a first-party client (decisions section 3)', async () => {
    const ownClient = await service.createClient({}, { firstParty: true });
    await agent.signIn(user);
    const page = await ask({ ...claims({ userinfo: { name: null } }), prompt: 'none' }, ownClient);
    const { body } = await redeem(service.issuer, ownClient, responseParameters(page)['code']!);
    expect((await userinfo(service.issuer, body['access_token'] as string)).body).toHaveProperty('name');
  });

  test('is shown again after the user has withdrawn the grant and with it the claims (decisions section 3)', async () => {
    const tokens = await obtainTokens(service, client, user, nicknames, agent);
    await service.store.grants.withdraw(user.sub, client.clientId);
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    expect(responseParameters(await ask({ ...nicknames, prompt: 'none' }))['error']).toBe('consent_required');
  });
});

describe('a requested value of sub', () => {
  test('names the user who must be signed in (OpenID Connect Core 5.5.1)', async () => {
    await obtainCode(service, client, user, {}, agent);
    const by = (sub: object) => ask({ ...claims({ id_token: { sub } }), prompt: 'none' });
    expect(responseParameters(await by({ value: user.sub }))['code']).toBeDefined();
    expect(responseParameters(await by({ values: ['somebody', user.sub] }))['code']).toBeDefined();
    for (const sub of [{ value: 'somebody' }, { values: [] }])
      expect(responseParameters(await by(sub))['error']).toBe('value' in sub ? 'login_required' : undefined);
  });

  test('yields login_required when another user signs in (OpenID Connect Core 5.5.1)', async () => {
    const other = await service.createUser();
    const login = await ask(claims({ userinfo: { sub: { value: user.sub } } }));
    const end = await agent.signIn(other, login);
    expect(responseParameters(end)['error']).toBe('login_required');
  });
});

test.each(['name', '[]', '{"userinfo":["name"]}', '{"userinfo":{"name":1}}'])(
  'a malformed claims parameter %s is invalid_request, reported to the client (OpenID Connect Core 5.5)',
  async (malformed) => {
    await agent.signIn(user);
    expect(responseParameters(await ask({ claims: malformed, state: 's' }))).toMatchObject({
      error: 'invalid_request',
      state: 's',
    });
  },
);

describe('authentication context', () => {
  const password = 'urn:gatehouse:acr:password';
  const payload = async (parameters: Record<string, string>, rp = client): Promise<JWTPayload> =>
    decodeJwt((await obtainTokens(service, rp, user, parameters, agent)).id_token);

  test('the discovery document lists the acr_values, and the ID Token contains one of them (OpenID Connect Core 3.1.2.1)', async () => {
    const document = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as JWTPayload;
    expect(document['acr_values_supported']).toEqual([password, 'urn:gatehouse:acr:mfa', 'phr', 'phrh']);
    for (const acr_values of [password, `1 2 ${password}`, '1 2'])
      expect((await payload({ acr_values }))['acr']).toBe(password);
  });

  test('an essential acr is satisfied or refused with unmet_authentication_requirements (OpenID Connect Core 5.5.1.1)', async () => {
    const essential = (values: string[]) => claims({ id_token: { acr: { essential: true, values } } });
    expect((await payload(essential(['urn:other', password])))['acr']).toBe(password);
    const refused = { ...essential(['urn:other']), state: 's' };
    expect(responseParameters(await ask(refused))).toMatchObject({
      error: 'unmet_authentication_requirements',
      state: 's',
    });
    // a voluntary acr is not required
    expect((await payload(claims({ id_token: { acr: { values: ['urn:other'] } } })))['acr']).toBe(password);
    // nor is a particular value
    expect((await payload(claims({ id_token: { acr: { essential: true } } })))['acr']).toBe(password);
  });

  test('a session below the required acr needs a new sign-in (OpenID Connect Core 5.5.1.1)', async () => {
    const demand = claims({ id_token: { acr: { essential: true, value: password } } });
    await obtainCode(service, client, user, {}, agent);
    await service.database.sql(`UPDATE sessions SET amr = '{kba}' WHERE sub = $1`, [user.sub]);
    expect(responseParameters(await ask({ ...demand, prompt: 'none' }))['error']).toBe('login_required');
    const login = await ask(demand);
    expect(login.body).toContain('id="password"');
    expect(responseParameters(await agent.signIn(user, login))['code']).toBeDefined();
    expect((await payload(demand))['acr']).toBe(password);
  });

  test('default_acr_values and default_max_age are registered, and apply to requests without these parameters (OpenID Connect Registration 2)', async () => {
    const rp = await service.createClient(
      { default_acr_values: [password], default_max_age: 60, require_auth_time: true },
      { firstParty: true },
    );
    expect(rp.metadata).toMatchObject({ default_acr_values: [password], default_max_age: 60, require_auth_time: true });
    expect(await payload({}, rp)).toMatchObject({ acr: password, auth_time: expect.any(Number) });
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '61 seconds' WHERE sub = $1`, [
      user.sub,
    ]);
    expect(responseParameters(await ask({ prompt: 'none' }, rp))['error']).toBe('login_required');
    expect(responseParameters(await ask({ prompt: 'none', max_age: '600' }, rp))['code']).toBeDefined();
  });

  test('auth_time may be requested as essential, and is always in the ID Token (OpenID Connect Core 5.5.1)', async () => {
    expect(await payload(claims({ id_token: { auth_time: { essential: true } } }))).toMatchObject({
      auth_time: expect.any(Number),
    });
  });
});
