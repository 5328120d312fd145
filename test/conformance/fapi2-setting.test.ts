// With FAPI2 the service demands the profile of every client: of new ones by their registration, and of earlier ones by refusing them.
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProofKey, postWithProof } from '../helpers/dpop.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
/** Registered before the setting. */
let earlier: TestClient;
let jwks: Record<string, unknown>;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, FAPI2: 'security' } });
  earlier = await service.createClient({
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    scope: 'openid',
  });
  const { publicKey } = await generateKeyPair('ES256');
  jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] };
});
afterAll(() => service?.stop());

const register = (metadata: Record<string, unknown>) =>
  call(`${service.issuer}/register`, { body: { redirect_uris: ['https://rp.example.com/callback'], ...metadata } });
const byKey = () => ({ token_endpoint_auth_method: 'private_key_jwt', jwks });

test('a registration gets the profile, and what the profile forbids is refused (security R137)', async () => {
  expect(await register(byKey())).toMatchObject({
    status: 201,
    body: { fapi2: 'security', require_pushed_authorization_requests: true, require_pkce: true },
  });
  expect((await register({ ...byKey(), fapi2: 'message_signing' })).body).toMatchObject({ fapi2: 'message_signing' });
  for (const forbidden of [{}, { token_endpoint_auth_method: 'none' }, { ...byKey(), uma_profile: true }])
    expect(await register(forbidden)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
});

test('the metadata say that every request is pushed, and without the setting that none has to be (RFC 9126 5, FAPI 2.0 SP 5.3.2.2-2)', async () => {
  const free = await startTestService();
  try {
    for (const [{ issuer }, required] of [
      [service, true],
      [free, false],
    ] as const)
      for (const document of ['openid-configuration', 'oauth-authorization-server'])
        expect((await call(`${issuer}/.well-known/${document}`)).body, document).toMatchObject({
          require_pushed_authorization_requests: required,
        });
  } finally {
    await free.stop();
  }
});

test('a client from before the setting is no longer served, at any endpoint and whatever it proves (security R137)', async () => {
  const own = { grant_type: 'client_credentials' };
  const refused = { status: 400, body: { error: 'unauthorized_client' } };
  expect(await tokenRequest(service.issuer, earlier, own)).toMatchObject(refused);
  expect(await postWithProof(service, '/token', earlier, own, await newProofKey())).toMatchObject(refused);
  const asked = { response_type: 'code', scope: 'openid', redirect_uri: earlier.redirectUri };
  expect(await postWithProof(service, '/par', earlier, asked, await newProofKey())).toMatchObject(refused);
  expect((await introspect(service.issuer, earlier, 'x')).body).toMatchObject({ error: 'unauthorized_client' });
  const agent = new UserAgent(service);
  const user = await service.createUser();
  const page = await agent.authorize(earlier, user);
  expect(page.location).toMatch(`${earlier.redirectUri}?`);
  expect(page.location).toContain('error=unauthorized_client');
  const short = new URLSearchParams({ client_id: earlier.clientId, redirect_uri: earlier.redirectUri });
  const answer = await agent.get(`${service.issuer}/authenticate?${short}`);
  expect(answer.location ?? '').not.toContain('code=');
});

test('administrators still sign in to the console', async () => {
  const admin = await service.createUser({ admin: true });
  const agent = new UserAgent(service);
  let page = await agent.follow(await agent.get('/admin'));
  page = await agent.follow(await agent.signIn(admin, page));
  expect([page.status, new URL(page.url).pathname]).toEqual([200, '/admin']);
});
