// Specification sections 2.1 and 2.2: tests the parameters of an authorization request, and the request and response of a registration.
import { beforeAll, expect, test } from 'vitest';
import { redeem } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { createTestUser, manage, register, useService, wholeClient } from './kit.ts';

const service = useService();
let client: TestClient;
let agent: UserAgent;
beforeAll(async () => {
  client = await service().createClient(wholeClient, { firstParty: true });
  agent = new UserAgent(service());
  await agent.signIn(await createTestUser(service()));
});

const request = (parameters: Record<string, string> = {}): Promise<Page> =>
  agent.get(authorizationUrl(service().issuer, client, parameters));

test('2.1 response_type: for code the response has a code, for an unknown value an error (decisions 3)', async () => {
  expect(responseParameters(await request({ response_type: 'code' }))['code']).toBeDefined();
  expect(responseParameters(await request({ response_type: 'magic' }))['error']).toBe('unsupported_response_type');
});

test('2.1 scope: registered values are granted, other values are not, and openid is required (decisions 3)', async () => {
  const { code } = responseParameters(await request({ scope: 'openid email admin' }));
  expect((await redeem(service().issuer, client, code!)).body['scope']).toBe('openid email');
  expect(responseParameters(await request({ scope: 'email' }))['error']).toBe('invalid_scope');
});

test('2.1 client_id: a registered client is served, and an unknown one gets the sign-in page (decisions 3)', async () => {
  expect(responseParameters(await request())['code']).toBeDefined();
  expect((await request({ client_id: 'nobody' })).location).toMatch(`${service().issuer}/login`);
});

test('2.1 redirect_uri: the service redirects to the registered address, never to another (decisions 3)', async () => {
  expect((await request()).location).toMatch(`${client.redirectUri}?`);
  for (const redirect_uri of [`${client.redirectUri}/`, 'https://evil.example/', `${client.redirectUri}?a=b`])
    expect((await request({ redirect_uri })).location).toMatch(`${service().issuer}/login`);
});

test('2.1 state: the response returns it unchanged, with any characters (decisions 3)', async () => {
  const state = 'a b&c=d+%20"✓/?#';
  expect(responseParameters(await request({ state }))['state']).toBe(state);
  expect(responseParameters(await request())['state']).toBeUndefined();
});

test('2.1 parameters: GET with a query and POST with a form have the same result (decisions 1)', async () => {
  const parameters = new URL(authorizationUrl(service().issuer, client, { state: 's' })).searchParams;
  const posted = await agent.post('/authorize', Object.fromEntries(parameters));
  expect(responseParameters(posted)).toMatchObject({ state: 's', code: expect.any(String) });
});

test('2.1 successful response: a 302 to redirect_uri with code, state and iss (decisions 3)', async () => {
  const page = await request({ state: 's' });
  expect(page.status).toBe(302);
  expect(responseParameters(page)).toEqual({
    code: expect.any(String),
    state: 's',
    session_state: expect.any(String),
    iss: service().issuer,
  });
});

const fullyPopulated = {
  redirect_uris: ['https://rp.example.com/callback', 'https://rp.example.com/second'],
  post_logout_redirect_uris: ['https://rp.example.com/bye'],
  response_types: ['code', 'id_token token', 'code id_token'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
  application_type: 'web',
  token_endpoint_auth_method: 'client_secret_post',
  id_token_signed_response_alg: 'ES256',
  subject_type: 'public',
  scope: 'openid profile email address phone scope offline_access',
  client_name: 'Harbour',
  client_uri: 'https://rp.example.com/',
  logo_uri: 'https://rp.example.com/logo.png',
  policy_uri: 'https://rp.example.com/policy',
  tos_uri: 'https://rp.example.com/tos',
  contacts: ['ops@rp.example.com'],
  initiate_login_uri: 'https://rp.example.com/login',
  request_uris: ['https://rp.example.com/request#1'],
  request_object_signing_alg: 'HS256',
  require_signed_request_object: false,
  require_pushed_authorization_requests: true,
  default_acr_values: ['urn:gatehouse:acr:password'],
  default_max_age: 3600,
  require_auth_time: true,
  software_id: 'harbour-rp',
  software_version: '1.2.3',
  resource_uris: ['https://api.rp.example.com/'],
  require_pkce: true,
  uma_profile: true,
};

test('2.2 request: a valid registration with every member is accepted unchanged (decisions 2)', async () => {
  const { status, body } = await register(service(), fullyPopulated);
  expect(status).toBe(201);
  expect(body).toMatchObject(fullyPopulated);
});

test('2.2 request: unknown fields are ignored, and the refusal of an invalid field names it (decisions 2)', async () => {
  expect((await register(service(), { nickname: 'x' })).body).not.toHaveProperty('nickname');
  const refused = await register(service(), { grant_types: ['password'] });
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  expect(refused.body['error_description']).toContain('grant_types');
});

test('2.2 response: it contains the login, logout, error and access_denied URIs, which are pages of the service (decisions 2)', async () => {
  const { body } = await register(service());
  const statuses: Record<string, number> = { login: 200, logout: 200, error: 400, access_denied: 403 };
  for (const [name, status] of Object.entries(statuses)) {
    expect(body[`${name}_uri`]).toBe(`${service().issuer}/${name.replace('_', '-')}`);
    expect((await new UserAgent(service()).get(body[`${name}_uri`]!)).status).toBe(status);
  }
});

test('2.2 response: it contains the client credentials and a shared secret of 256 bits (decisions 2)', async () => {
  const { body } = await register(service());
  expect(body).toMatchObject({ client_id: expect.any(String), client_secret_expires_at: 0 });
  for (const secret of ['client_secret', 'shared_secret'])
    expect(Buffer.from(body[secret]!, 'base64url')).toHaveLength(32);
  expect(body['client_secret']).not.toBe(body['shared_secret']);
});

test('2.2 response: its registration access token manages the registration at registration_client_uri (decisions 2)', async () => {
  const { body } = await register(service());
  expect(body['registration_client_uri']).toBe(`${service().issuer}/register/${body['client_id']}`);
  expect((await manage(body, 'GET')).status).toBe(200);
});

test('2.2 read and update: they return the current and the updated metadata, without the secrets (decisions 2)', async () => {
  const { body } = await register(service(), fullyPopulated);
  const read = (await manage(body, 'GET')).body;
  expect(read).toMatchObject({ ...fullyPopulated, status: 'disabled' });
  expect(read).not.toHaveProperty('client_secret');
  expect(read).not.toHaveProperty('shared_secret');
  const updated = await manage(body, 'PUT', { ...fullyPopulated, client_id: body['client_id'], client_name: 'Quay' });
  expect(updated).toMatchObject({ status: 200, body: { ...fullyPopulated, client_name: 'Quay' } });
});
