// UserInfo responses are signed by the registered algorithm, whatever the request accepts, and client libraries verify them.
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: { sub: string; username: string; password: string };
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, USERINFO_POST: 'true' } });
  user = await service.createUser({ email: 'ada@example.com', claims: { name: 'Ada', nickname: '' } });
});
afterAll(() => service?.stop());

const ask = (token: string, headers: Record<string, string> = {}) =>
  fetch(`${service.issuer}/user/info`, { headers: { authorization: `Bearer ${token}`, ...headers } });

function keyOf(client: TestClient, alg: string) {
  return alg === 'HS256'
    ? new TextEncoder().encode(client.clientSecret)
    : createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
}

test.each(['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'])(
  'signed with %s is application/jwt for every Accept header, with iss, aud and sub and without a nonce (OpenID Connect Core 5.3.2)',
  async (alg) => {
    const client = await service.createClient({ userinfo_signed_response_alg: alg });
    const scope = 'openid profile email';
    const { access_token: token } = await obtainTokens(service, client, user, { scope, nonce: 'n' });
    for (const accept of ['application/json', 'application/jwt', '*/*']) {
      const response = await ask(token, { accept });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/jwt');
      expect(response.headers.get('cache-control')).toBe('no-store');
      const jwt = await response.text();
      const { payload, protectedHeader } = await jwtVerify(jwt, keyOf(client, alg) as never, {
        issuer: service.issuer,
        audience: client.clientId,
        algorithms: [alg],
      });
      expect(payload).toEqual({
        iss: service.issuer,
        aud: client.clientId,
        iat: expect.any(Number),
        sub: user.sub,
        name: 'Ada',
        preferred_username: user.username,
        email: 'ada@example.com',
        email_verified: false,
        updated_at: expect.any(Number),
      });
      if (alg !== 'HS256') expect(protectedHeader.kid).toEqual(expect.any(String));
    }
  },
);

test('POST gets a signed response, too, and only a client that registered for it gets one (OpenID Connect Core 5.3.1)', async () => {
  const client = await service.createClient({ userinfo_signed_response_alg: 'RS256' });
  const { access_token } = await obtainTokens(service, client, user);
  const posted = await fetch(`${service.issuer}/user/info`, {
    method: 'POST',
    body: new URLSearchParams({ access_token }),
  });
  expect(posted.headers.get('content-type')).toBe('application/jwt');
  const unsigned = await obtainTokens(service, await service.createClient(), user);
  const json = await ask(unsigned.access_token, { accept: 'application/jwt' });
  expect(json.headers.get('content-type')).toMatch(/^application\/json/);
});

test('a signed response is not an ID Token: it is refused as a hint and inactive at introspection (RFC 8725 2.8)', async () => {
  const client = await service.createClient({ userinfo_signed_response_alg: 'RS256' });
  const agent = new UserAgent(service);
  const { access_token, id_token } = await obtainTokens(service, client, user, {}, agent);
  const jwt = await (await ask(access_token)).text();
  const silent = (hint: string) =>
    agent.get(authorizationUrl(service.issuer, client, { prompt: 'none', id_token_hint: hint }));
  expect(new URL((await silent(id_token)).location!).searchParams.has('code')).toBe(true);
  expect(new URL((await silent(jwt)).location!).searchParams.get('error')).toBe('invalid_request');
  const answer = await fetch(`${service.issuer}/introspect`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token: jwt }),
  });
  expect(await answer.json()).toEqual({ active: false });
});

test('errors stay JSON with their challenge (RFC 6750 3.1)', async () => {
  const response = await ask(`ghat_${'A'.repeat(49)}`, { accept: 'application/jwt' });
  expect(response.status).toBe(401);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
});

test('HS256 requires a client with a secret, and none is not offered (OpenID Connect Registration 2)', async () => {
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, { body: { redirect_uris: ['https://rp.example.com/cb'], ...metadata } });
  for (const metadata of [
    { userinfo_signed_response_alg: 'HS256', token_endpoint_auth_method: 'none' },
    { userinfo_signed_response_alg: 'none' },
    { userinfo_signed_response_alg: 'RS512' },
  ]) {
    const answer = await register(metadata);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  }
  expect(await register({ userinfo_signed_response_alg: 'ES256' })).toMatchObject({
    status: 201,
    body: { userinfo_signed_response_alg: 'ES256' },
  });
});

test.each(['RS256', 'ES256', 'EdDSA'])(
  'openid-client verifies a UserInfo response that is signed with %s (OpenID Connect Core 5.3.4)',
  async (alg) => {
    const client = await service.createClient({ userinfo_signed_response_alg: alg });
    const configuration = await openid.discovery(
      new URL(service.issuer),
      client.clientId,
      { client_secret: client.clientSecret, userinfo_signed_response_alg: alg },
      undefined,
      { execute: [openid.allowInsecureRequests] },
    );
    openid.enableNonRepudiationChecks(configuration);
    const { access_token } = await obtainTokens(service, client, user, { scope: 'openid profile' });
    const claims = await openid.fetchUserInfo(configuration, access_token, user.sub);
    expect(claims).toMatchObject({ sub: user.sub, name: 'Ada' });
  },
);

test('a response in JSON needs only one database query (architecture, hot paths)', async () => {
  const { access_token } = await obtainTokens(service, await service.createClient(), user);
  const before = service.ofRequests.length;
  expect((await ask(access_token)).status).toBe(200);
  expect(service.ofRequests.slice(before)).toEqual(['access_tokens.find']);
});

test('the published key set contains the key of a signed response (RFC 7517 4.5)', async () => {
  const client = await service.createClient({ userinfo_signed_response_alg: 'PS256' });
  const { access_token } = await obtainTokens(service, client, user);
  const { kid } = decodeProtectedHeader(await (await ask(access_token)).text());
  const { keys } = (await call(`${service.issuer}/jwks`)).body as { keys: { kid: string; alg: string }[] };
  expect(keys.find((key) => key.kid === kid)?.alg).toBe('PS256');
});
