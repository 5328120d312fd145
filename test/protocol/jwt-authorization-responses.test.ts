// The service sends authorization responses as signed, and where registered encrypted, JWTs to every client that asks (JARM).
import {
  compactDecrypt,
  createRemoteJWKSet,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
} from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, approveClient, call, eventually, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, pkce, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
/** May get tokens from the authorization endpoint. */
let hybrid: TestClient;
/** Is signed in. */
let agent: UserAgent;
let key: { privateKey: CryptoKey; jwk: JWK };
let encryption: Record<string, unknown>;
const hybridTypes = {
  response_types: ['code', 'code id_token', 'id_token token'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token'],
};

beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  user = await service.createUser();
  client = await service.createClient({}, { firstParty: true });
  hybrid = await service.createClient(hybridTypes, { firstParty: true });
  agent = new UserAgent(service);
  await agent.signIn(user);
  const { privateKey, publicKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true });
  key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'enc', use: 'enc' } };
  encryption = { authorization_encrypted_response_alg: 'RSA-OAEP-256', jwks: { keys: [key.jwk] } };
});
afterAll(() => service?.stop());

const any: unknown = expect.any(String);
const ask = (change: Record<string, string>, rp = client, browser = agent): Promise<Page> =>
  browser.get(authorizationUrl(service.issuer, rp, { state: 's', ...change }));

/** Everything that reaches the client, and by what. */
function received(page: Page): { by: string; parameters: Record<string, string> } {
  if (page.location === undefined) return { by: 'form_post', parameters: hiddenFields(page.body) };
  const { search, hash } = new URL(page.location);
  return hash === ''
    ? { by: 'query', parameters: Object.fromEntries(new URLSearchParams(search)) }
    : { by: 'fragment', parameters: Object.fromEntries(new URLSearchParams(hash.slice(1))) };
}

/** Verifies the JWT, which is all that the client gets. */
async function open(page: Page, rp = client, alg = 'RS256') {
  const { by, parameters } = received(page);
  expect(Object.keys(parameters)).toEqual(['response']);
  const { payload, protectedHeader } = await jwtVerify(
    parameters['response']!,
    createRemoteJWKSet(new URL(`${service.issuer}/jwks`)),
    { issuer: service.issuer, audience: rp.clientId, typ: 'oauth-authz-resp+jwt', algorithms: [alg] },
  );
  expect(payload.aud).toBe(rp.clientId);
  const left = payload.exp! - Date.now() / 1000;
  expect(left).toBeGreaterThan(10);
  expect(left).toBeLessThan(600);
  return { by, payload, header: protectedHeader };
}

describe('a response', () => {
  test.each([
    ['jwt', 'query'],
    ['query.jwt', 'query'],
    ['fragment.jwt', 'fragment'],
    ['form_post.jwt', 'form_post'],
  ])(
    'with a code by %s is one JWT by %s, and nothing is beside it (JARM 2.1, 2.3, security R148, protocols P39)',
    async (mode, by) => {
      const response = await open(await ask({ response_mode: mode }));
      expect(response.by).toBe(by);
      const { exp, ...rest } = response.payload;
      expect(exp).toEqual(expect.any(Number));
      expect(rest).toEqual({ iss: service.issuer, aud: client.clientId, code: any, state: 's', session_state: any });
      expect(await redeem(service.issuer, client, rest['code'] as string)).toMatchObject({ status: 200 });
    },
  );

  test.each<[string, Record<string, string>]>([
    ['invalid_scope', { scope: 'profile' }],
    ['login_required', { prompt: 'none', max_age: '0' }],
    ['invalid_request', { prompt: 'none login' }],
    ['unsupported_response_type', { response_type: 'teapot' }],
  ])('that is the error %s for %j is a JWT, too (JARM 2.1, security R148, protocols P39)', async (error, change) => {
    for (const [mode, by] of [
      ['jwt', 'query'],
      ['fragment.jwt', 'fragment'],
      ['form_post.jwt', 'form_post'],
    ] as const) {
      const response = await open(await ask({ response_mode: mode, ...change }));
      expect(response.by).toBe(by);
      expect(response.payload).toMatchObject({ error, error_description: any, state: 's' });
      expect(response.payload).not.toHaveProperty('code');
    }
  });

  test('that is access_denied or login_required of a signed-out browser is a JWT, too (JARM 2.1, security R148, protocols P39)', async () => {
    const rp = await service.createClient();
    const browser = new UserAgent(service);
    const silent = await open(await ask({ response_mode: 'jwt', prompt: 'none' }, rp, browser), rp);
    expect(silent.payload).toMatchObject({ error: 'login_required', state: 's' });
    const consent = await browser.signIn(user, await browser.follow(await ask({ response_mode: 'jwt' }, rp, browser)));
    const denied = await open(await browser.submit(consent, { decision: 'deny' }), rp);
    expect(denied.payload).toMatchObject({ error: 'access_denied', state: 's' });
  });

  test('with tokens is a JWT in the fragment by default, or in a form (JARM 2.3, 2.3.4)', async () => {
    for (const [mode, by] of [
      ['jwt', 'fragment'],
      ['fragment.jwt', 'fragment'],
      ['form_post.jwt', 'form_post'],
    ] as const) {
      const asked = { response_type: 'id_token token', nonce: 'n', response_mode: mode };
      const response = await open(await ask(asked, hybrid), hybrid);
      expect(response.by).toBe(by);
      expect(response.payload).toMatchObject({ access_token: any, id_token: any, token_type: 'Bearer', state: 's' });
    }
  });

  test('without state has none in its JWT (JARM 2.1)', async () => {
    const page = await agent.get(authorizationUrl(service.issuer, client, { response_mode: 'jwt' }));
    expect((await open(page)).payload).not.toHaveProperty('state');
  });

  test.each(['ES256', 'PS256', 'EdDSA'])('is signed with %s if the client registered that (JARM 3)', async (alg) => {
    const rp = await service.createClient({ authorization_signed_response_alg: alg }, { firstParty: true });
    expect((await open(await ask({ response_mode: 'jwt' }, rp), rp, alg)).header.alg).toBe(alg);
  });

  test('is signed with the client secret if the client registered HS256 (JARM 3)', async () => {
    const rp = await service.createClient({ authorization_signed_response_alg: 'HS256' }, { firstParty: true });
    const { parameters } = received(await ask({ response_mode: 'jwt' }, rp));
    const secret = new TextEncoder().encode(rp.clientSecret);
    const { payload } = await jwtVerify(parameters['response']!, secret, { algorithms: ['HS256'] });
    expect(payload).toMatchObject({ iss: service.issuer, aud: rp.clientId, code: any, state: 's' });
  });
});

describe('query.jwt', () => {
  test('for a response with tokens is refused, by a JWT in the fragment (JARM 2.3.1, protocols P41)', async () => {
    for (const response_type of ['code id_token', 'id_token token']) {
      const page = await ask({ response_type, nonce: 'n', response_mode: 'query.jwt' }, hybrid);
      const { by, payload } = await open(page, hybrid);
      expect(by).toBe('fragment');
      expect(payload).toMatchObject({ error: 'invalid_request', state: 's' });
      for (const token of ['code', 'id_token', 'access_token']) expect(payload).not.toHaveProperty(token);
    }
  });

  test('for a response with tokens is served encrypted (JARM 2.3.1)', async () => {
    const rp = await service.createClient({ ...hybridTypes, ...encryption }, { firstParty: true });
    const page = await ask({ response_type: 'code id_token', nonce: 'n', response_mode: 'query.jwt' }, rp);
    const { by, parameters } = received(page);
    expect(by).toBe('query');
    expect(Object.keys(parameters)).toEqual(['response']);
    const { plaintext } = await compactDecrypt(parameters['response']!, key.privateKey);
    const signed = new TextDecoder().decode(plaintext);
    const { payload } = await jwtVerify(signed, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)));
    expect(payload).toMatchObject({ code: any, id_token: any, state: 's' });
  });
});

test('form_post.jwt is refused for an app of the device and in a frame, by a redirect with a JWT (JARM 2.3.3, security R8)', async () => {
  const native = await service.createClient(
    { application_type: 'native', redirect_uris: ['com.example.app:/callback'], token_endpoint_auth_method: 'none' },
    { firstParty: true },
  );
  const rp = { ...native, redirectUri: 'com.example.app:/callback' };
  const page = await ask({ response_mode: 'form_post.jwt', ...challenge() }, rp);
  expect((await open(page, rp)).payload).toMatchObject({ error: 'invalid_request' });
  const framed = await agent.get(
    authorizationUrl(service.issuer, client, { response_mode: 'form_post.jwt', prompt: 'none', state: 's' }),
    { 'sec-fetch-dest': 'iframe' },
  );
  expect((await open(framed)).payload).toMatchObject({ error: 'invalid_request', state: 's' });
});

const challenge = () => {
  const { code_challenge, code_challenge_method } = pkce();
  return { code_challenge, code_challenge_method };
};

test('a pushed request and a request object carry response_mode, and that outside the object does not count (RFC 9126 2.1, RFC 9101 6.3)', async () => {
  const pushed = await fetch(`${service.issuer}/par`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      redirect_uri: client.redirectUri,
      state: 'p',
      response_mode: 'fragment.jwt',
    }),
  });
  expect(pushed.status).toBe(201);
  const { request_uri } = (await pushed.json()) as { request_uri: string };
  const query = new URLSearchParams({ client_id: client.clientId, request_uri });
  const response = await open(await agent.get(`${service.issuer}/authorize?${query.toString()}`));
  expect(response).toMatchObject({ by: 'fragment', payload: { code: any, state: 'p' } });

  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const rp = await service.createClient({ jwks: { keys: [await exportJWK(publicKey)] } }, { firstParty: true });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const asked = {
    response_type: 'code',
    scope: 'openid',
    redirect_uri: rp.redirectUri,
    state: 'o',
    response_mode: 'jwt',
  };
  const request = await oauth.issueRequestObject(as, { client_id: rp.clientId }, asked, privateKey);
  const outside = new URLSearchParams({ client_id: rp.clientId, request, response_mode: 'form_post' });
  const object = await open(await agent.get(`${service.issuer}/authorize?${outside.toString()}`), rp);
  expect(object).toMatchObject({ by: 'query', payload: { code: any, state: 'o' } });
});

describe('a client whose encryption key is gone', () => {
  test('gets neither a response nor an error by its redirect URI: the user sees a page (JARM 2.2, protocols P41)', async () => {
    const rp = await service.createClient(
      { authorization_encrypted_response_alg: 'RSA-OAEP-256', jwks_uri: 'https://127.0.0.1:1/jwks' },
      { firstParty: true },
    );
    const codes = async () => (await service.database.sql('SELECT FROM authorization_codes')).length;
    const before = await codes();
    for (const change of [
      {},
      { scope: 'profile' },
      { prompt: 'none', max_age: '0' },
      { response_mode: 'form_post.jwt' },
    ] as Record<string, string>[]) {
      const page = await ask({ response_mode: 'jwt', ...change }, rp);
      expect(page.status).toBe(503);
      expect(page.location).toBeUndefined();
      expect(page.body).not.toContain(rp.redirectUri);
    }
    // the database may have a key set that no longer fits
    await service.database.sql(
      `UPDATE clients SET metadata = metadata - 'jwks_uri' || '{"jwks": {"keys": []}}' WHERE client_id = $1`,
      [rp.clientId],
    );
    const page = await eventually(
      () => ask({ response_mode: 'jwt' }, rp),
      ({ status }) => status !== 503,
    );
    expect(page.location).toMatch(`${service.issuer}/login?problem=`);
    expect(await codes()).toBe(before);
  });

  test('an unknown redirect URI or client gets no redirect with response_mode=jwt either (protocols P41, security R1)', async () => {
    for (const change of [{ redirect_uri: 'https://evil.example/' }, { client_id: 'nobody' }] as Record<
      string,
      string
    >[]) {
      const page = await ask({ response_mode: 'jwt', ...change });
      expect(page.location ?? '').toMatch(`${service.issuer}/login?problem=client`);
    }
  });
});

test('a JWT of a response is accepted as nothing else (RFC 8725 3.11, protocols P40)', async () => {
  const rps = [
    client,
    await service.createClient({ authorization_signed_response_alg: 'HS256' }, { firstParty: true }),
  ];
  for (const rp of rps) {
    const { response: jwt } = received(await ask({ response_mode: 'jwt' }, rp)).parameters as { response: string };
    const hint = received(await ask({ prompt: 'none', id_token_hint: jwt }, rp)).parameters;
    expect(hint).toMatchObject({ error: 'invalid_request' });
    const object = await agent.get(authorizationUrl(service.issuer, rp, { request: jwt, state: 's' }));
    expect(received(object).parameters).toMatchObject({ error: 'invalid_request_object' });
    const logout = await agent.get(`/logout?${new URLSearchParams({ id_token_hint: jwt }).toString()}`);
    // without a valid hint the user is asked
    expect(logout.location).toBeUndefined();
    expect((await ask({ prompt: 'none' }, rp)).location).toContain('code=');
    expect(await call(`${service.issuer}/user/info`, { token: jwt })).toMatchObject({ status: 401 });
    const asserted = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: jwt,
    });
    const token = await fetch(`${service.issuer}/token`, { method: 'POST', body: asserted });
    expect(token.status).toBe(401);
  }
});

describe('openid-client', () => {
  async function configured(rp: TestClient, metadata: Partial<openid.ClientMetadata> = {}) {
    const authentication = openid.ClientSecretBasic(rp.clientSecret);
    const plain = { execute: [openid.allowInsecureRequests] };
    const config = await openid.discovery(new URL(service.issuer), rp.clientId, metadata, authentication, plain);
    openid.useJwtResponseMode(config);
    return config;
  }
  async function signIn(config: openid.Configuration, rp: TestClient, change: Record<string, string> = {}) {
    const verifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const address = openid.buildAuthorizationUrl(config, {
      redirect_uri: rp.redirectUri,
      scope: 'openid',
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    // the library sets response_mode itself
    for (const [name, value] of Object.entries(change)) address.searchParams.set(name, value);
    return { page: await agent.get(address.href), checks: { pkceCodeVerifier: verifier, expectedState } };
  }

  test.each([undefined, 'ES256', 'PS256'])('reads a code, signed with %s (JARM 2.4)', async (alg) => {
    const metadata = alg === undefined ? {} : { authorization_signed_response_alg: alg };
    const rp = await service.createClient(metadata, { firstParty: true });
    const config = await configured(rp, metadata);
    const { page, checks } = await signIn(config, rp);
    const tokens = await openid.authorizationCodeGrant(config, new URL(page.location!), checks);
    expect(tokens.claims()).toMatchObject({ sub: user.sub });
  });

  test('reads an error of prompt=none, and refuses the JWT of another client (JARM 2.4, protocols P39)', async () => {
    const config = await configured(client);
    const { page, checks } = await signIn(config, client, { prompt: 'none', max_age: '0' });
    await expect(openid.authorizationCodeGrant(config, new URL(page.location!), checks)).rejects.toMatchObject({
      error: 'login_required',
    });
    const foreign = await configured(hybrid);
    const other = await signIn(config, client);
    await expect(openid.authorizationCodeGrant(foreign, new URL(other.page.location!), other.checks)).rejects.toThrow();
  });

  test('reads a code posted by form_post.jwt (JARM 2.3.3)', async () => {
    const config = await configured(client);
    const { page, checks } = await signIn(config, client, { response_mode: 'form_post.jwt' });
    const posted = new Request(client.redirectUri, {
      method: 'POST',
      body: new URLSearchParams(hiddenFields(page.body)),
    });
    const tokens = await openid.authorizationCodeGrant(config, posted, checks);
    expect(tokens.claims()).toMatchObject({ sub: user.sub });
  });

  test('reads an encrypted code and an encrypted error (JARM 2.2)', async () => {
    const rp = await service.createClient(
      { ...encryption, authorization_encrypted_response_enc: 'A256GCM' },
      { firstParty: true },
    );
    const config = await configured(rp);
    openid.enableDecryptingResponses(config, ['A256GCM'], { key: key.privateKey, kid: 'enc', alg: 'RSA-OAEP-256' });
    const { page, checks } = await signIn(config, rp);
    expect(received(page).parameters['response']!.split('.')).toHaveLength(5);
    const tokens = await openid.authorizationCodeGrant(config, new URL(page.location!), checks);
    expect(tokens.claims()).toMatchObject({ sub: user.sub });
    const failed = await signIn(config, rp, { prompt: 'none', max_age: '0' });
    await expect(
      openid.authorizationCodeGrant(config, new URL(failed.page.location!), failed.checks),
    ).rejects.toMatchObject({ error: 'login_required' });
  });
});

test('oauth4webapi validates a JWT of a response by the discovery document (JARM 2.4, 4)', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...insecure, algorithm }),
    );
    const rp = { client_id: client.clientId };
    const address = new URL((await ask({ response_mode: 'jwt' })).location!);
    const validated = await oauth.validateJwtAuthResponse(as, rp, address, 's', insecure);
    expect(validated.get('code')).toEqual(any);
    const failed = new URL((await ask({ response_mode: 'jwt', scope: 'profile' })).location!);
    await expect(oauth.validateJwtAuthResponse(as, rp, failed, 's', insecure)).rejects.toMatchObject({
      error: 'invalid_scope',
    });
  }
});

describe('registration', () => {
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, { body: { redirect_uris: [client.redirectUri], ...metadata } });

  test('returns the registered algorithms, with the default of enc (JARM 3)', async () => {
    const metadata = { authorization_signed_response_alg: 'ES256', ...encryption };
    expect(await register(metadata)).toMatchObject({
      status: 201,
      body: { ...metadata, authorization_encrypted_response_enc: 'A128CBC-HS256' },
    });
  });

  test.each([
    ['no signature', () => ({ authorization_signed_response_alg: 'none' })],
    [
      'HS256 without a secret',
      () => ({ authorization_signed_response_alg: 'HS256', token_endpoint_auth_method: 'none' }),
    ],
    ['alg without a key set', () => ({ authorization_encrypted_response_alg: 'RSA-OAEP-256' })],
    ['enc without alg', () => ({ authorization_encrypted_response_enc: 'A256GCM' })],
    ['RSA1_5', () => ({ ...encryption, authorization_encrypted_response_alg: 'RSA1_5' })],
  ])('of %s is refused (JARM 3)', async (_what, metadata) => {
    expect(await register(metadata())).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });

  test('an update that gives up encryption or the signature of the service waits for an administrator (security R117)', async () => {
    const { body } = await register({ authorization_signed_response_alg: 'ES256', ...encryption });
    const clientId = body['client_id'] as string;
    await approveClient(service.issuer, await adminToken(service), clientId);
    for (const change of [
      { authorization_encrypted_response_alg: undefined },
      { authorization_signed_response_alg: 'HS256', client_secret: body['client_secret'] },
    ]) {
      const update = await call(body['registration_client_uri'] as string, {
        method: 'PUT',
        token: body['registration_access_token'] as string,
        body: {
          client_id: clientId,
          redirect_uris: [client.redirectUri],
          authorization_signed_response_alg: 'ES256',
          ...encryption,
          ...change,
        },
      });
      expect(update).toMatchObject({ status: 200, body: { pending_changes: expect.anything() } });
    }
  });
});
