// Runs the code flow from end to end over a socket: a user signs in, a client gets tokens and claims.
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';
import { pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

test('a user signs in and consents, and the client gets an ID Token, tokens and claims (OpenID Connect Core 3.1)', async () => {
  const user = await service.createUser({
    email: 'alice@example.com',
    emailVerified: true,
    claims: { name: 'Alice Adams' },
  });
  const client = await service.createClient({ client_name: 'Harbour', scope: 'openid profile email offline_access' });
  const agent = new UserAgent(service);
  const { code_verifier, ...challenge } = pkce();
  const page = await agent.authorize(client, user, {
    scope: 'openid profile email',
    state: 'a b~',
    nonce: 'n-1',
    ...challenge,
  });
  expect(page.status).toBe(302);
  expect(page.location).toMatch(/^https:\/\/rp\.example\.com\/callback\?/);
  const response = responseParameters(page);
  expect(response).toMatchObject({ state: 'a b~', iss: service.issuer });

  const tokens = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: response['code']!,
    redirect_uri: client.redirectUri,
    code_verifier,
  });
  expect(tokens.status).toBe(200);
  expect(tokens.headers.get('cache-control')).toBe('no-store');
  expect(tokens.body).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'openid profile email' });
  const { payload } = await jwtVerify(
    tokens.body['id_token'] as string,
    createRemoteJWKSet(new URL(`${service.issuer}/jwks`)),
    {
      issuer: service.issuer,
      audience: client.clientId,
      algorithms: ['RS256'],
    },
  );
  expect(payload).toMatchObject({ sub: user.sub, nonce: 'n-1' });

  const userinfo = await fetch(`${service.issuer}/user/info`, {
    headers: { authorization: `Bearer ${tokens.body['access_token']}` },
  });
  expect(await userinfo.json()).toMatchObject({
    sub: user.sub,
    name: 'Alice Adams',
    email: 'alice@example.com',
    email_verified: true,
  });

  const refreshed = await tokenRequest(service.issuer, client, {
    grant_type: 'refresh_token',
    refresh_token: tokens.body['refresh_token'] as string,
  });
  expect(refreshed.status).toBe(200);
  expect(refreshed.body['refresh_token']).not.toBe(tokens.body['refresh_token']);
});

test('a second authorization needs neither sign-in nor consent (decisions section 3)', async () => {
  const user = await service.createUser();
  const client = await service.createClient();
  const agent = new UserAgent(service);
  await agent.authorize(client, user);
  const page = await agent.authorize(client, undefined, { prompt: 'none' });
  expect(responseParameters(page)['code']).toMatch(/^ghac_/);
});
