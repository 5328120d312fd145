// GET /user/info returns the claims of the granted scopes, reports bearer token errors, and allows scripts of other origins.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, obtainCode, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const everything = 'openid profile email address phone scope offline_access';
const claims = {
  name: 'Alice Adams',
  family_name: 'Adams',
  given_name: 'Alice',
  middle_name: 'B.',
  nickname: 'Al',
  preferred_username: 'aadams',
  profile: 'https://people.example/alice',
  picture: 'https://people.example/alice.png',
  website: 'https://alice.example',
  gender: 'female',
  birthdate: '1990-05-17',
  zoneinfo: 'Europe/Paris',
  locale: 'fr-FR',
  address: { street_address: '1 Quay', locality: 'Le Havre', postal_code: '76600', country: 'FR' },
  phone_number: '+33 2 00 00 00 00',
  phone_number_verified: true,
};

let service: TestService;
let client: TestClient;
let user: { sub: string; username: string; password: string };
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ scope: everything });
  user = await service.createUser({
    email: 'alice@example.com',
    emailVerified: true,
    groups: ['staff', 'pilots'],
    claims,
  });
  agent = new UserAgent(service);
});
afterAll(() => service?.stop());

const tokenFor = async (scope: string) => (await obtainTokens(service, client, user, { scope }, agent)).access_token;

describe('the claims', () => {
  test.each([
    ['openid', []],
    [
      'openid profile',
      [
        'name',
        'family_name',
        'given_name',
        'middle_name',
        'nickname',
        'preferred_username',
        'profile',
        'picture',
        'website',
        'gender',
        'birthdate',
        'zoneinfo',
        'locale',
        'updated_at',
      ],
    ],
    ['openid email', ['email', 'email_verified']],
    ['openid address', ['address']],
    ['openid phone', ['phone_number', 'phone_number_verified']],
    ['openid scope', ['preferred_username', 'groups']],
  ])('of the scope %s are its claims and sub only (OpenID Connect Core 5.4)', async (scope, names) => {
    const answer = await userinfo(service.issuer, await tokenFor(scope));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(Object.keys(answer.body).sort()).toEqual(['sub', ...names].sort());
  });

  test('have the types of the standard (OpenID Connect Core 5.1)', async () => {
    const { body } = await userinfo(service.issuer, await tokenFor(everything));
    expect(body).toEqual({
      sub: user.sub,
      ...claims,
      address: { ...claims.address, formatted: '1 Quay\n76600 Le Havre\nFR' },
      email: 'alice@example.com',
      email_verified: true,
      groups: ['staff', 'pilots'],
      updated_at: expect.any(Number),
    });
    expect(Number.isInteger(body['updated_at'])).toBe(true);
    expect(Math.abs((body['updated_at'] as number) - Date.now() / 1000)).toBeLessThan(600);
  });

  test('without a value are left out, and email always comes with email_verified (decisions section 5)', async () => {
    const withoutClaims = await service.createUser({ email: 'bare@example.com', claims: { name: '' } });
    const ownAgent = new UserAgent(service);
    const tokens = await obtainTokens(service, client, withoutClaims, { scope: everything }, ownAgent);
    const { body } = await userinfo(service.issuer, tokens.access_token);
    expect(body).toEqual({
      sub: withoutClaims.sub,
      preferred_username: withoutClaims.username,
      email: 'bare@example.com',
      email_verified: false,
      groups: [],
      updated_at: expect.any(Number),
    });
    const withoutEmail = await service.createUser();
    const silent = await obtainTokens(service, client, withoutEmail, { scope: 'openid email' });
    expect((await userinfo(service.issuer, silent.access_token)).body).toEqual({ sub: withoutEmail.sub });
  });

  test('are the current ones, not those at the sign-in (OpenID Connect Core 5.3.2)', async () => {
    const token = await tokenFor('openid profile');
    await service.database.sql(`UPDATE users SET claims = claims || '{"nickname": "Ally"}' WHERE sub = $1`, [user.sub]);
    expect((await userinfo(service.issuer, token)).body).toMatchObject({ nickname: 'Ally' });
  });
});

describe('a refusal', () => {
  test.each([
    ['an invented token', async () => `ghat_${'A'.repeat(49)}`],
    ['text', async () => 'x'],
    ['a token without its last character', async () => (await tokenFor('openid')).slice(0, -1)],
    ['a token with one character more', async () => `${await tokenFor('openid')}A`],
    ['a token with padding', async () => `${await tokenFor('openid')}=`],
    ['a refresh token', async () => (await obtainTokens(service, client, user, {}, agent)).refresh_token],
    ['an ID Token', async () => (await obtainTokens(service, client, user, {}, agent)).id_token],
    ['a code', () => obtainCode(service, client, user, {}, agent)],
    ['a registration access token', async () => client.registrationAccessToken],
  ])('of %s is invalid_token with a challenge (RFC 6750 3.1, security A35)', async (_what, token) => {
    const answer = await userinfo(service.issuer, await token());
    expect(answer).toMatchObject({
      status: 401,
      body: { error: 'invalid_token', error_description: expect.any(String) },
    });
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="[^"]+", error="invalid_token", error_description="[^"\\]+", resource_metadata="[^"]+", scope="openid", DPoP algs="ES256 EdDSA PS256"$/,
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['no token', {}],
    ['Basic credentials', { authorization: 'Basic eDp5' }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['two tokens in one header', { authorization: 'Bearer a b' }],
  ])('of %s has a challenge without an error code (RFC 6750 3.1)', async (_what, headers) => {
    const answer = await call(`${service.issuer}/user/info`, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="gatehouse", resource_metadata="[^"]+", scope="openid", DPoP algs="ES256 EdDSA PS256"$/,
    );
  });

  test('of a token in the query is sent, since the query is not read (RFC 9700 4.3.2)', async () => {
    const token = await tokenFor('openid');
    expect(await call(`${service.issuer}/user/info?access_token=${token}`)).toMatchObject({ status: 401 });
    expect(JSON.stringify(service.logs)).not.toContain(token);
  });

  test('of a token without the scope openid is insufficient_scope (RFC 6750 3.1)', async () => {
    const token = await tokenFor('openid');
    await service.database.sql(
      `UPDATE access_tokens SET scope = 'profile' WHERE client_session_id = (SELECT max(id) FROM client_sessions)`,
    );
    const answer = await userinfo(service.issuer, token);
    expect(answer).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
  });

  test.each([
    [
      'the token expired',
      `UPDATE access_tokens SET expires_at = now() - interval '1 millisecond' WHERE client_session_id IN (SELECT id FROM client_sessions WHERE sub = $1)`,
    ],
    ['the user was disabled', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
    ['the user was deleted', `DELETE FROM users WHERE sub = $1`],
    ['the session ended', `DELETE FROM sessions WHERE sub = $1`],
    ['the grant was withdrawn', `DELETE FROM grants WHERE sub = $1`],
  ])('follows at once when %s (security R54)', async (_what, statement) => {
    const newUser = await service.createUser();
    const { access_token: token } = await obtainTokens(service, client, newUser);
    expect(await userinfo(service.issuer, token)).toMatchObject({ status: 200 });
    await service.database.sql(statement, [newUser.sub]);
    expect(await userinfo(service.issuer, token)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });
});

describe('scripts of other origins', () => {
  const origin = 'https://app.example';

  test('may send a bearer token, and read the challenge of a refusal (specification 4.6)', async () => {
    const preflight = await fetch(`${service.issuer}/user/info`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization/i);
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
    for (const token of [await tokenFor('openid'), 'x']) {
      const answer = await call(`${service.issuer}/user/info`, { token, headers: { origin } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toMatch(/www-authenticate/i);
    }
  });

  test.each(['/authorize', '/login', '/logout', '/account', '/admin/api/users', '/introspect', '/health/ready'])(
    'may not read %s (security A117, R97)',
    async (path) => {
      for (const method of ['OPTIONS', 'GET']) {
        const response = await fetch(service.issuer + path, {
          method,
          redirect: 'manual',
          headers: { origin, 'access-control-request-method': 'GET' },
        });
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
        await response.arrayBuffer();
      }
    },
  );
});

describe('POST', () => {
  const post = (base: string, headers: Record<string, string>, form?: Record<string, string>) =>
    fetch(`${base}/user/info`, { method: 'POST', headers, ...(form && { body: new URLSearchParams(form) }) });

  test('is refused by default, with any contents (decisions section 7)', async () => {
    const authorization = `Bearer ${await tokenFor('openid')}`;
    const bodies: [Record<string, string>, Record<string, string>?][] = [
      [{ authorization }],
      [{ authorization }, { x: '1' }],
      [{}, { access_token: 'x' }],
      [{ authorization, 'content-type': 'application/json' }],
    ];
    for (const [headers, form] of bodies) {
      const response = await post(service.issuer, headers, form);
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toContain('GET');
      expect(await response.json()).toMatchObject({ error: 'invalid_request' });
    }
    for (const method of ['PUT', 'DELETE', 'HEAD'])
      expect((await fetch(`${service.issuer}/user/info`, { method, headers: { authorization } })).status).toBe(405);
  });

  test('is answered with USERINFO_POST=true, with a token in the header or in the form but not in both (OpenID Connect Core 5.3.1, RFC 6750 2)', async () => {
    const other = await startTestService({ environment: { USERINFO_POST: 'true' } });
    try {
      const user = await other.createUser();
      const { access_token: token } = await obtainTokens(other, await other.createClient(), user);
      const authorization = `Bearer ${token}`;
      for (const response of [
        await post(other.issuer, { authorization }),
        await post(other.issuer, { authorization }, { x: '1' }),
        await post(other.issuer, {}, { access_token: token }),
      ]) {
        expect(response.status).toBe(200);
        expect(await response.json()).toMatchObject({ sub: user.sub });
      }
      expect((await post(other.issuer, { authorization }, { access_token: token })).status).toBe(400);
      expect((await post(other.issuer, {})).status).toBe(401);
      expect((await post(other.issuer, {}, { access_token: 'x' })).status).toBe(401);
      expect((await post(other.issuer, { 'content-type': 'application/json' })).status).toBe(415);
    } finally {
      await other.stop();
    }
  });
});
