// Request objects by value replace the other parameters, must be signed by the client, and report errors to validated redirect URIs only (RFC 9101, OpenID Connect Core 6).
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
let service: TestService;
let user: TestUser;
/** Is signed in. */
let agent: UserAgent;
let pairs: Record<string, { privateKey: CryptoKey; jwk: JWK }>;
let jwks: { keys: JWK[] };
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  user = await service.createUser();
  agent = new UserAgent(service);
  await agent.signIn(user);
  pairs = Object.fromEntries(await Promise.all([...algorithms, 'other'].map(async (name) => [name, await pair(name)])));
  // the certification suite registers its keys without kid
  jwks = { keys: algorithms.map((alg) => pairs[alg]!.jwk) };
  client = await service.createClient({ jwks }, { firstParty: true });
});
afterAll(() => service?.stop());

async function pair(alg: string): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg === 'other' ? 'RS256' : alg, { extractable: true });
  return { privateKey, jwk: await exportJWK(publicKey) };
}

const now = () => Math.floor(Date.now() / 1000);
/** The certification suite sends neither times nor jti. */
const content = (rp: TestClient, change: JWTPayload = {}): JWTPayload => ({
  iss: rp.clientId,
  aud: service.issuer,
  client_id: rp.clientId,
  redirect_uri: rp.redirectUri,
  response_type: 'code',
  scope: 'openid',
  state: 'inside',
  ...change,
});
const sign = (payload: JWTPayload, alg: string = 'RS256', key: CryptoKey = pairs[alg]!.privateKey, header = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg, ...header }).sign(key);
const hmac = (payload: JWTPayload, secret: string) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret));

/** Sends an authorization request with a request object and other parameters. */
const ask = (
  request: string,
  outside: Record<string, string> = {},
  { rp = client, browser = agent, base = service } = {} as { rp?: TestClient; browser?: UserAgent; base?: TestService },
): Promise<Page> =>
  browser.get(
    `${base.issuer}/authorize?${new URLSearchParams({ client_id: rp.clientId, request, ...outside }).toString()}`,
  );
const valid = () => ({ response_type: 'code', scope: 'openid', redirect_uri: client.redirectUri, state: 'outside' });

const any: unknown = expect.any(String);

describe('a signed request object', () => {
  test.each(algorithms)('is accepted with %s, without kid and times (RFC 9101 5, 6.2)', async (alg) => {
    const response = responseParameters(await ask(await sign(content(client), alg)));
    expect(response).toEqual({ code: any, state: 'inside', iss: service.issuer, session_state: any });
  });

  test('is accepted with HS256 and the client secret, if the client registered for it (OpenID Connect Core 6.1)', async () => {
    const rp = await service.createClient({ request_object_signing_alg: 'HS256' }, { firstParty: true });
    const response = responseParameters(await ask(await hmac(content(rp), rp.clientSecret), {}, { rp }));
    expect(response['code']).toBeDefined();
    const shared = await ask(await hmac(content(rp), rp.sharedSecret), { redirect_uri: rp.redirectUri }, { rp });
    expect(responseParameters(shared)['error']).toBe('invalid_request_object');
    // a secret that is stored only as a hash cannot be a key
    const hashed = await ask(await hmac(content(client), client.clientSecret), valid());
    expect(responseParameters(hashed)['error']).toBe('invalid_request_object');
  });

  test('replaces all other parameters: they neither override nor supplement it (RFC 9101 6.3)', async () => {
    const request = await sign(content(client, { nonce: 'n-inside', state: undefined }));
    const outside = {
      scope: 'openid email',
      state: 'outside',
      nonce: 'n-outside',
      redirect_uri: `${client.redirectUri}_invalid`,
      response_mode: 'form_post',
      prompt: 'login',
    };
    const page = await ask(request, outside);
    expect(page.location).toMatch(`${client.redirectUri}?`);
    const response = responseParameters(page);
    expect(response).toEqual({ code: any, iss: service.issuer, session_state: any });
    const { body } = await redeem(service.issuer, client, response['code']!);
    expect(body['scope']).toBe('openid');
    const claims = JSON.parse(Buffer.from((body['id_token'] as string).split('.')[1]!, 'base64url').toString());
    expect(claims.nonce).toBe('n-inside');
  });

  test('may contain max_age as a number and claims as an object (OpenID Connect Core 6.1)', async () => {
    const request = await sign(content(client, { max_age: 0, prompt: 'none' }));
    expect(responseParameters(await ask(request))['error']).toBe('login_required');
  });

  test('is used through sign-in and consent, and may expire before their end (RFC 9101 6)', async () => {
    const rp = await service.createClient({ jwks });
    const browser = new UserAgent(service);
    const request = await sign(
      content(rp, { exp: now() + 60, iat: now(), nbf: now(), jti: 'j-1', scope: 'openid email' }),
    );
    const login = await browser.follow(await ask(request, {}, { rp, browser }));
    // the client's keys have changed by the time of the answer
    await service.store.clients.update(rp.clientId, {
      metadata: { ...rp.metadata, jwks: { keys: [pairs['other']!.jwk as { kty: string }] } },
    });
    await expect
      .poll(async () => responseParameters(await ask(request, { redirect_uri: rp.redirectUri }, { rp }))['error'])
      .toBe('invalid_request_object');
    const consent = await browser.signIn(user, login);
    expect(consent.body).toContain('See your email address');
    const end = await browser.submit(consent, { decision: 'allow' });
    expect(responseParameters(end)).toMatchObject({ code: expect.any(String), state: 'inside' });
  });

  test('can be sent again when the user reloads or goes back (decisions section 3)', async () => {
    const browser = new UserAgent(service);
    const request = await sign(content(client, { exp: now() + 60, jti: 'j-2' }));
    const first = await ask(request, {}, { browser });
    const second = await ask(request, {}, { browser });
    for (const page of [first, second]) expect(page.location).toContain('/login?transaction=');
    expect(responseParameters(await browser.signIn(user, await browser.follow(second)))['code']).toBeDefined();
  });

  test('must contain a challenge if the client requires PKCE (RFC 7636, security R20)', async () => {
    const rp = await service.createClient({ jwks, require_pkce: true }, { firstParty: true });
    const without = await ask(await sign(content(rp)), pkce(), { rp });
    expect(responseParameters(without)['error']).toBe('invalid_request');
    const { code_verifier, ...challenge } = pkce();
    const { code } = responseParameters(await ask(await sign(content(rp, challenge)), {}, { rp }));
    expect((await redeem(service.issuer, rp, code!, { code_verifier })).status).toBe(200);
  });
});

const objects: [string, () => string | Promise<string>, string][] = [
  ['a plain text', () => 'hello', 'invalid_request_object'],
  ['a malformed JWT', () => 'e30.e30.e30', 'invalid_request_object'],
  ['an encrypted JWT', () => 'e30.e30.e30.e30.e30', 'invalid_request_object'],
  ['another key', () => sign(content(client), 'RS256', pairs['other']!.privateKey), 'invalid_request_object'],
  [
    'an embedded key',
    () => sign(content(client), 'RS256', pairs['other']!.privateKey, { jwk: pairs['other']!.jwk }),
    'invalid_request_object',
  ],
  ['another issuer', () => sign(content(client, { iss: 'somebody' })), 'invalid_request_object'],
  ['no issuer', () => sign(content(client, { iss: undefined })), 'invalid_request_object'],
  ['another audience', () => sign(content(client, { aud: 'https://other.example' })), 'invalid_request_object'],
  ['no audience', () => sign(content(client, { aud: undefined })), 'invalid_request_object'],
  ['an exp in the past', () => sign(content(client, { exp: now() - 60 })), 'invalid_request_object'],
  ['an nbf in the future', () => sign(content(client, { nbf: now() + 120 })), 'invalid_request_object'],
  ['an iat in the future', () => sign(content(client, { iat: now() + 120 })), 'invalid_request_object'],
  [
    'a jti that is not a string',
    () => sign({ ...content(client), jti: 5 as unknown as string }),
    'invalid_request_object',
  ],
  ['another typ', () => sign(content(client), 'RS256', undefined, { typ: 'at+jwt' }), 'invalid_request_object'],
  ['crit', () => sign(content(client), 'RS256', undefined, { b64: true, crit: ['b64'] }), 'invalid_request_object'],
  ['a client assertion', () => sign(content(client, { sub: client.clientId })), 'invalid_request_object'],
  ['another client_id', () => sign(content(client, { client_id: 'other' })), 'invalid_request_object'],
  ['another response_type', () => sign(content(client, { response_type: 'none' })), 'invalid_request_object'],
  ['a nested request', () => sign(content(client, { request: 'e30.e30.' })), 'invalid_request_object'],
  [
    'a nested request_uri',
    () => sign(content(client, { request_uri: 'https://a.example/' })),
    'invalid_request_object',
  ],
  ['a state that is a number', () => sign(content(client, { state: 5 })), 'invalid_request_object'],
  ['NUL in a nonce', () => sign(content(client, { nonce: 'a\0b' })), 'invalid_request_object'],
  ['a lone surrogate', () => sign(content(client, { login_hint: '\ud800' })), 'invalid_request_object'],
  ['no signature', () => new UnsecuredJWT(content(client)).encode(), 'request_not_supported'],
  ['an empty signature', async () => (await sign(content(client))).replace(/\.[^.]*$/, '.'), 'invalid_request_object'],
];

describe('a refused request object', () => {
  test.each(objects)(
    '%s is reported to the validated redirect URI outside of it (decisions section 3)',
    async (_what, make, error) => {
      const response = responseParameters(await ask(await make(), valid()));
      expect(response).toMatchObject({ error, state: 'outside', iss: service.issuer });
      expect(response['error_description']).toMatch(/^[ !#-[\]-~]+$/);
      expect(response).not.toHaveProperty('code');
    },
  );

  test('is reported to no client if the redirect URI outside is not registered, signed in or not (RFC 6749 4.1.2.1)', async () => {
    const evil = 'https://evil.example/';
    for (const make of [() => 'hello', () => sign(content(client, { redirect_uri: evil })), objects[3]![1]]) {
      const request = await make();
      for (const browser of [agent, new UserAgent(service)]) {
        for (const outside of [{}, { redirect_uri: evil }, { redirect_uri: `${client.redirectUri}_invalid` }]) {
          const page = await ask(request, outside as Record<string, string>, { browser });
          expect(page.location).toBe(`${service.issuer}/login?problem=client`);
        }
      }
    }
  });

  test('first shows the sign-in page, and is still refused afterwards (RFC 9700 4.11.2)', async () => {
    const browser = new UserAgent(service);
    const page = await ask(await sign(content(client), 'RS256', pairs['other']!.privateKey), valid(), { browser });
    expect(page.location).toContain('/login?transaction=');
    const end = await browser.signIn(user, await browser.follow(page));
    expect(responseParameters(end)).toMatchObject({ error: 'invalid_request_object', state: 'outside' });
  });

  test('is explained in the log, without its values (security R99)', async () => {
    const canary = `canary-${crypto.randomUUID()}`;
    await ask(await sign(content(client, { state: canary, nonce: canary, aud: 'https://other.example' })), valid());
    expect(service.logs.filter((line) => line['msg'] === 'request object refused').at(-1)).toMatchObject({
      code: 'invalid_request_object',
      reason: expect.stringContaining('aud'),
    });
    expect(JSON.stringify(service.logs)).not.toContain(canary);
  });

  test('of an unknown or a disabled client gets the same answer, whatever it contains (security R2)', async () => {
    const disabled = await service.createClient({ jwks }, { status: 'disabled' });
    for (const rp of [disabled, { ...client, clientId: 'unknown' }])
      for (const request of ['hello', await sign(content(rp))])
        expect((await ask(request, { redirect_uri: rp.redirectUri }, { rp })).location).toBe(
          `${service.issuer}/login?problem=client`,
        );
  });

  test('is not evaluated if the request also has a request_uri, which is invalid_request (RFC 9101 5)', async () => {
    const both = await ask(await sign(content(client)), { ...valid(), request_uri: 'https://rp.example.com/object' });
    expect(responseParameters(both)).toMatchObject({ error: 'invalid_request', state: 'outside' });
  });

  test('may use another algorithm than the registered one (OpenID Connect Registration 2)', async () => {
    const rp = await service.createClient({ jwks, request_object_signing_alg: 'ES256' }, { firstParty: true });
    const outside = { redirect_uri: rp.redirectUri };
    expect(responseParameters(await ask(await sign(content(rp), 'ES256'), outside, { rp }))['code']).toBeDefined();
    expect(responseParameters(await ask(await sign(content(rp)), outside, { rp }))['error']).toBe(
      'invalid_request_object',
    );
  });
});

describe('require_signed_request_object', () => {
  test('refuses a request without a signed object at both endpoints, also after sign-in (RFC 9101 10.5)', async () => {
    const rp = await service.createClient({ jwks, require_signed_request_object: true }, { firstParty: true });
    expect(responseParameters(await ask(await sign(content(rp)), {}, { rp }))['code']).toBeDefined();
    const plain = authorizationUrl(service.issuer, rp);
    const short = `${service.issuer}/authenticate?${new URLSearchParams({ client_id: rp.clientId, redirect_uri: rp.redirectUri }).toString()}`;
    for (const address of [plain, short])
      expect(responseParameters(await agent.get(address))['error']).toBe('invalid_request');
    await expect(obtainCode(service, rp, user)).rejects.toThrow('invalid_request');
  });

  test.each<[string, Record<string, unknown>]>([
    ['must sign its requests', { require_signed_request_object: true }],
    ['registered an algorithm', { request_object_signing_alg: 'ES256' }],
  ])(
    'of a client that %s: an unsigned object is a wrong object, not an unknown feature (RFC 9101 10.5, reports E1)',
    async (_what, metadata) => {
      const rp = await service.createClient({ jwks, ...metadata }, { firstParty: true });
      const unsigned = new UnsecuredJWT(content(rp)).encode();
      const response = responseParameters(await ask(unsigned, { redirect_uri: rp.redirectUri }, { rp }));
      expect(response['error']).toBe('invalid_request_object');
    },
  );
});

describe('without a signature', () => {
  let open: TestService;
  let openClient: TestClient;
  let browser: UserAgent;
  beforeAll(async () => {
    open = await startTestService({ environment: { ...withoutLimits, REQUEST_OBJECT_UNSIGNED: 'true' } });
    openClient = await open.createClient({ jwks }, { firstParty: true });
    browser = new UserAgent(open);
    await browser.signIn(await open.createUser());
  });
  afterAll(() => open?.stop());
  const unsigned = (change: JWTPayload = {}, rp = openClient) =>
    new UnsecuredJWT({ ...content(rp, { iss: undefined, aud: undefined }), ...change }).encode();
  const askOpen = (request: string, outside: Record<string, string> = {}, rp = openClient) =>
    ask(request, outside, { rp, browser, base: open });

  test('a request object is accepted if the setting allows it, with state and nonce in the object only (OpenID Connect Core 6.1)', async () => {
    const outside = { response_type: 'code', scope: 'openid', redirect_uri: openClient.redirectUri };
    const response = responseParameters(await askOpen(unsigned({ nonce: 'n' }), outside));
    expect(response).toMatchObject({ code: expect.any(String), state: 'inside' });
    const discovered = (await (await fetch(`${open.issuer}/.well-known/openid-configuration`)).json()) as JWTPayload;
    expect(discovered['request_object_signing_alg_values_supported']).toContain('none');
  });

  test('a redirect_uri in the object is used, and the one outside is ignored (OpenID Connect Core 6.1)', async () => {
    const page = await askOpen(unsigned(), { redirect_uri: `${openClient.redirectUri}_invalid` });
    expect(page.location).toMatch(`${openClient.redirectUri}?`);
  });

  test('the claims that an object contains must still be valid (RFC 9101 6)', async () => {
    for (const change of [{ iss: 'x' }, { aud: 'https://x.example' }, { exp: now() - 60 }, { client_id: 'x' }]) {
      const response = responseParameters(await askOpen(unsigned(change), { redirect_uri: openClient.redirectUri }));
      expect(response['error']).toBe('invalid_request_object');
    }
  });

  test('a client that is registered to sign must sign (OpenID Connect Registration 2, RFC 9101 10.5)', async () => {
    for (const registered of [{ request_object_signing_alg: 'RS256' }, { require_signed_request_object: true }]) {
      const rp = await open.createClient({ jwks, ...registered });
      const response = responseParameters(await askOpen(unsigned({}, rp), { redirect_uri: rp.redirectUri }, rp));
      expect(response['error']).toBe('invalid_request_object');
    }
  });

  test('a client may register for none only if the setting allows it (RFC 7591 2)', async () => {
    const register = (base: string) =>
      fetch(`${base}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [openClient.redirectUri], request_object_signing_alg: 'none' }),
      });
    expect((await register(open.issuer)).status).toBe(201);
    const refused = await register(service.issuer);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: 'invalid_client_metadata' });
  });
});
