// POST /par stores the request that a client pushes, refuses an invalid one, and binds its request_uri to one browser (RFC 9126).
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, call, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
/** Is signed in. */
let agent: UserAgent;
let key: { privateKey: CryptoKey; jwk: JWK };
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  user = await service.createUser();
  client = await service.createClient({}, { firstParty: true });
  agent = new UserAgent(service);
  await agent.signIn(user);
  const pair = await generateKeyPair('ES256', { extractable: true });
  key = { privateKey: pair.privateKey, jwk: await exportJWK(pair.publicKey) };
});
afterAll(() => service?.stop());

const request = (rp: TestClient, change: Record<string, string> = {}): Record<string, string> => ({
  response_type: 'code',
  scope: 'openid',
  redirect_uri: rp.redirectUri,
  state: 's',
  ...change,
});
async function post(form: Record<string, string> | string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${service.issuer}/par`, { method: 'POST', body: new URLSearchParams(form), headers });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}
const push = (change: Record<string, string> = {}, rp = client) =>
  post(request(rp, change), { authorization: rp.basic });
async function pushed(change: Record<string, string> = {}, rp = client): Promise<string> {
  const { status, body } = await push(change, rp);
  if (status !== 201) throw new Error(`not pushed: ${status} ${JSON.stringify(body)}`);
  return body['request_uri'] as string;
}
const openRequest = (
  requestUri: string,
  browser = agent,
  rp = client,
  outside: Record<string, string> = {},
): Promise<Page> =>
  browser.get(
    `${service.issuer}/authorize?${new URLSearchParams({ client_id: rp.clientId, request_uri: requestUri, ...outside }).toString()}`,
  );
const expired = () => `${service.issuer}/login?problem=expired`;
const waiting = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM authorization_requests'))[0]!.n;

const any: unknown = expect.any(String);

test('a client pushes a request and gets a request_uri, which the browser sends (RFC 9126 2.2)', async () => {
  const { status, headers, body } = await push();
  expect(status).toBe(201);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(body).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:ghpr_[A-Za-z0-9_-]{49}$/),
    expires_in: 60,
  });
  const page = await openRequest(body['request_uri'] as string);
  const response = responseParameters(page);
  expect(response).toEqual({ code: any, state: 's', iss: service.issuer, session_state: any });
  expect((await redeem(service.issuer, client, response['code']!)).status).toBe(200);
});

test('other parameters in the URL are ignored (RFC 9126 4, RFC 9101 6.3)', async () => {
  const outside = {
    state: 'other',
    scope: 'openid email',
    redirect_uri: 'https://evil.example/',
    response_mode: 'form_post',
  };
  const response = responseParameters(await openRequest(await pushed(), agent, client, outside));
  expect(response).toMatchObject({ code: expect.any(String), state: 's' });
  expect((await redeem(service.issuer, client, response['code']!)).body['scope']).toBe('openid');
});

describe('the client authenticates as at the token endpoint', () => {
  const assertion = async (rp: TestClient, audience: string): Promise<Record<string, string>> => {
    const jwt = new SignJWT({ jti: crypto.randomUUID() })
      .setIssuer(rp.clientId)
      .setSubject(rp.clientId)
      .setAudience(audience)
      .setExpirationTime('1m');
    const secret = rp.metadata.token_endpoint_auth_method === 'client_secret_jwt';
    return {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: secret
        ? await jwt.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(rp.clientSecret))
        : await jwt.setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey),
    };
  };

  test.each(['client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none'])(
    'by %s, with an assertion for the issuer, the token endpoint or this endpoint (RFC 9126 2)',
    async (method) => {
      const rp = await service.createClient({
        token_endpoint_auth_method: method,
        ...(method === 'private_key_jwt' && { jwks: { keys: [key.jwk] } }),
      });
      for (const audience of ['', '/token', '/par']) {
        const credentials: Record<string, string> =
          method === 'none'
            ? { client_id: rp.clientId }
            : method === 'client_secret_post'
              ? { client_id: rp.clientId, client_secret: rp.clientSecret }
              : await assertion(rp, service.issuer + audience);
        const { code_challenge, code_challenge_method } = pkce();
        const answer = await post({ ...request(rp), ...credentials, code_challenge, code_challenge_method });
        expect(answer).toMatchObject({ status: 201, body: { expires_in: 60 } });
      }
      // credentials are not stored
      const [row] = await service.database.sql<{ parameters: object }>(
        'SELECT parameters FROM authorization_requests WHERE client_id = $1',
        [rp.clientId],
      );
      expect(Object.keys(row!.parameters).filter((name) => /secret|assertion/.test(name))).toEqual([]);
    },
  );

  test('wrong credentials, missing credentials and a disabled client get the answers of the token endpoint (RFC 9126 2.3)', async () => {
    const wrong = `Basic ${Buffer.from(`${client.clientId}:wrong`).toString('base64')}`;
    expect(await post(request(client), { authorization: wrong })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    expect(await post({ ...request(client), client_id: client.clientId })).toMatchObject({ status: 401 });
    expect(await post(request(client))).toMatchObject({ status: 401 });
    const disabled = await service.createClient({}, { status: 'disabled' });
    expect(await push({}, disabled)).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  });
});

describe('an invalid request is reported to the client at once, as JSON', () => {
  test.each<[string, Record<string, string>, string]>([
    ['an unregistered redirect_uri', { redirect_uri: 'https://evil.example/' }, 'invalid_request'],
    ['no redirect_uri', { redirect_uri: '' }, 'invalid_request'],
    ['no response_type', { response_type: '' }, 'invalid_request'],
    ['an unknown response_type', { response_type: 'teapot' }, 'unsupported_response_type'],
    ['an unregistered response_type', { response_type: 'code id_token', nonce: 'n' }, 'unauthorized_client'],
    ['a scope without openid', { scope: 'email' }, 'invalid_scope'],
    ['prompt none and login', { prompt: 'none login' }, 'invalid_request'],
    ['PKCE with plain', { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }, 'invalid_request'],
    ['an oversize state', { state: 's'.repeat(2049) }, 'invalid_request'],
    ['NUL in a login_hint', { login_hint: 'a\0b' }, 'invalid_request'],
    ['a forged hint', { id_token_hint: 'e30.e30.e30' }, 'invalid_request'],
    ['an unknown resource', { resource: 'https://api.example/' }, 'invalid_target'],
    ['a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'invalid_request'],
    ['a malformed request object', { request: 'hello' }, 'invalid_request_object'],
    ['another client_id', { client_id: 'other' }, 'invalid_request'],
  ])('%s (RFC 9126 2.3)', async (_what, change, error) => {
    const before = await waiting();
    const answer = await push(change);
    expect(answer).toMatchObject({ status: 400, body: { error, error_description: expect.any(String) } });
    expect(answer.body).not.toHaveProperty('request_uri');
    expect(await waiting()).toBe(before);
  });

  test('a repeated parameter, another content type and another method (RFC 6749 3.1, RFC 9126 2.3)', async () => {
    const twice = `${new URLSearchParams(request(client)).toString()}&state=2`;
    expect(await post(twice, { authorization: client.basic })).toMatchObject({ status: 400 });
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expect((await fetch(`${service.issuer}/par`, json)).status).toBe(415);
    const get = await fetch(`${service.issuer}/par`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('a public client without PKCE (RFC 7636, security R20)', async () => {
    const publicClient = await service.createClient({ token_endpoint_auth_method: 'none' });
    const answer = await post({ ...request(publicClient), client_id: publicClient.clientId });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});

test('a public client, whose client_id others can use, may push a tenth of the limit per minute from each network (security R105)', async () => {
  const small = await startTestService({ environment: { ...withoutLimits, LIMIT_PUSHED_REQUESTS: '20' } });
  try {
    const publicClient = await small.createClient({ token_endpoint_auth_method: 'none' });
    const { code_challenge, code_challenge_method } = pkce();
    const form = { ...request(publicClient), code_challenge, code_challenge_method, client_id: publicClient.clientId };
    const answers: Response[] = [];
    for (let count = 0; count < 3; count++)
      answers.push(await fetch(`${small.issuer}/par`, { method: 'POST', body: new URLSearchParams(form) }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
    expect(Number(answers[2]!.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await small.stop();
  }
});

describe('a request_uri works once', () => {
  test('after the answer it shows an error page and yields no code (RFC 9126 4)', async () => {
    const name = await pushed();
    expect(responseParameters(await openRequest(name))['code']).toBeDefined();
    for (const browser of [agent, new UserAgent(service)]) {
      const page = await openRequest(name, browser);
      expect(page.location).toBe(expired());
      expect((await browser.follow(page)).status).toBe(400);
    }
  });

  test('simultaneous requests with it yield one code (RFC 9126 4, security R15)', async () => {
    const name = await pushed();
    // the browser needs its cookie before, as after any earlier request
    await agent.get('/login');
    const pages = await Promise.all(Array.from({ length: 12 }, () => openRequest(name)));
    expect(pages.filter((page) => page.location?.includes('code='))).toHaveLength(1);
    expect(pages.filter((page) => page.status >= 500)).toEqual([]);
  });

  test('until the answer, the same browser can reload it and go back (decisions section 3)', async () => {
    const browser = new UserAgent(service);
    const name = await pushed();
    const first = await openRequest(name, browser);
    const again = await openRequest(name, browser);
    expect(again.location).toBe(first.location);
    const login = await browser.follow(again);
    await browser.submit(login, { username: user.username, password: 'wrong' });
    expect((await openRequest(name, browser)).location).toBe(first.location);
    expect(responseParameters(await browser.signIn(user, login))).toMatchObject({
      code: expect.any(String),
      state: 's',
    });
    expect((await openRequest(name, browser)).location).toBe(expired());
  });

  test('another browser and another client cannot use it (RFC 9126 4)', async () => {
    const browser = new UserAgent(service);
    const other = await service.createClient({}, { firstParty: true });
    const name = await pushed();
    expect((await openRequest(name, browser, other)).location).toBe(expired());
    expect((await openRequest(name, browser)).location).toContain('/login?transaction=');
    expect((await openRequest(name)).location).toBe(expired());
  });

  test('it expires after a minute, even if the sign-in takes longer (RFC 9126 2.2)', async () => {
    const browser = new UserAgent(service);
    const [late, early] = [await pushed(), await pushed()];
    const login = await browser.follow(await openRequest(early, browser));
    await service.database.sql(`UPDATE authorization_requests SET expires_at = expires_at - interval '60 seconds'`);
    expect((await openRequest(late, browser)).location).toBe(expired());
    expect(responseParameters(await browser.signIn(user, login))['code']).toBeDefined();
  });

  test('an unknown, malformed or different value is no request_uri (RFC 9126 4)', async () => {
    const name = await pushed();
    const begun = await new UserAgent(service).get(authorizationUrl(service.issuer, client));
    const transaction = new URL(begun.location!).searchParams.get('transaction');
    for (const wrong of [
      `${name.slice(0, -1)}${name.endsWith('A') ? 'B' : 'A'}`,
      `${name}A`,
      'urn:ietf:params:oauth:request_uri:',
      'urn:ietf:params:oauth:request_uri:unknown',
      `urn:ietf:params:oauth:request_uri:${transaction}`,
      `urn:ietf:params:oauth:request_uri:ghac_${'A'.repeat(49)}`,
    ])
      expect((await openRequest(wrong)).location).toBe(expired());
    // the token is not a transaction before a browser has used the request_uri
    const token = name.split(':').at(-1)!;
    expect((await agent.get(`/authorize?transaction=${token}`)).location).toBe(expired());
    expect((await openRequest(name)).location).toContain('code=');
  });

  test('it is stored and logged neither in full nor in part (security R26, R99)', async () => {
    const name = await pushed();
    await openRequest(name);
    const token = name.split(':').at(-1)!;
    const [row] = await service.database.sql<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM authorization_requests r WHERE r::text LIKE '%' || $1 || '%') AS found`,
      [token],
    );
    expect(row!.found).toBe(false);
    expect(JSON.stringify(service.logs)).not.toContain(token);
  });

  test('beyond the limit, the oldest requests of the same client are deleted, and of no other client (security R105)', async () => {
    const small = await startTestService({ environment: { ...withoutLimits, LIMIT_PUSHED_REQUESTS: '3' } });
    try {
      const [one, two] = [await small.createClient(), await small.createClient()];
      const send = async (rp: TestClient) => {
        const body = new URLSearchParams(request(rp));
        const answer = await fetch(`${small.issuer}/par`, {
          method: 'POST',
          body,
          headers: { authorization: rp.basic },
        });
        return ((await answer.json()) as { request_uri: string }).request_uri;
      };
      const otherClients = await send(two);
      const names: string[] = [];
      for (let n = 0; n < 5; n++) names.push(await send(one));
      const browser = new UserAgent(small);
      const at = async (name: string, rp: TestClient) =>
        (
          await browser.get(
            `${small.issuer}/authorize?${new URLSearchParams({ client_id: rp.clientId, request_uri: name }).toString()}`,
          )
        ).location;
      for (const name of names.slice(0, 2)) expect(await at(name, one)).toContain('problem=expired');
      for (const name of names.slice(2)) expect(await at(name, one)).toContain('transaction=');
      expect(await at(otherClients, two)).toContain('transaction=');
    } finally {
      await small.stop();
    }
  });
});

describe('sign-in for a pushed request', () => {
  test('includes sign-in and consent, on any instance (decisions section 3)', async () => {
    const rp = await service.createClient();
    const browser = new UserAgent(service);
    const name = await pushed({ scope: 'openid email' }, rp);
    const consent = await browser.signIn(user, await browser.follow(await openRequest(name, browser, rp)));
    expect(consent.body).toContain('See your email address');
    expect(responseParameters(await browser.submit(consent, { decision: 'allow' }))).toMatchObject({ state: 's' });
  });

  test('with prompt=login requires a sign-in after the browser has sent the request, not after the push (security R9)', async () => {
    const browser = new UserAgent(service);
    const name = await pushed({ prompt: 'login' });
    await browser.signIn(user);
    const login = await browser.follow(await openRequest(name, browser));
    expect(login.body).toContain('id="password"');
    expect(responseParameters(await browser.signIn(user, login))['code']).toBeDefined();
  });

  test('with prompt=none shows no page, and consumes the request (OpenID Connect Core 3.1.2.6)', async () => {
    const browser = new UserAgent(service);
    const name = await pushed({ prompt: 'none' });
    expect(responseParameters(await openRequest(name, browser))).toEqual({
      error: 'login_required',
      error_description: expect.any(String),
      error_uri: `${service.issuer}/errors#login_required`,
      state: 's',
      iss: service.issuer,
    });
    expect((await openRequest(name, browser)).location).toBe(expired());
  });

  test('yields nothing for a client that is disabled after the push (decisions section 3)', async () => {
    const disabledLater = await service.createClient();
    const name = await pushed({}, disabledLater);
    await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [disabledLater.clientId]);
    await expect
      .poll(async () => (await openRequest(name, agent, disabledLater)).location)
      .toBe(`${service.issuer}/login?problem=client`);
  });

  test('accepts any port of a loopback redirect URI, as at the authorization endpoint (RFC 8252 7.3)', async () => {
    const native = await service.createClient(
      { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' },
      { firstParty: true },
    );
    const { code_challenge, code_challenge_method } = pkce();
    const redirect_uri = 'http://127.0.0.1:51004/cb';
    const { body } = await post({
      ...request(native, { redirect_uri }),
      client_id: native.clientId,
      code_challenge,
      code_challenge_method,
    });
    expect((await openRequest(body['request_uri'] as string, agent, native)).location).toMatch(`${redirect_uri}?code=`);
  });
});

test('a client can push a signed request object, and its other parameters are ignored (RFC 9126 3)', async () => {
  const rp = await service.createClient(
    { jwks: { keys: [key.jwk] }, require_signed_request_object: true },
    { firstParty: true },
  );
  const sign = (change = {}) =>
    new SignJWT({
      ...request(rp),
      client_id: rp.clientId,
      iss: rp.clientId,
      aud: service.issuer,
      state: 'inside',
      ...change,
    })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(key.privateKey);
  const send = async (object: string) => post({ request: object, state: 'outside' }, { authorization: rp.basic });
  const { body } = await send(await sign());
  expect(responseParameters(await openRequest(body['request_uri'] as string, agent, rp))['state']).toBe('inside');
  for (const change of [{ client_id: client.clientId }, { aud: 'https://other.example' }])
    expect(await send(await sign(change))).toMatchObject({ status: 400, body: { error: 'invalid_request_object' } });
  expect(await push({}, rp)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});

describe('where requests must be pushed', () => {
  test('a client that is registered for it is refused in every other way, also after sign-in (RFC 9126 6)', async () => {
    const rp = await service.createClient({ require_pushed_authorization_requests: true }, { firstParty: true });
    const plain = `/authorize?${new URLSearchParams({ ...request(rp), client_id: rp.clientId }).toString()}`;
    const short = `/authenticate?${new URLSearchParams({ client_id: rp.clientId, redirect_uri: rp.redirectUri }).toString()}`;
    for (const address of [plain, short]) {
      expect(responseParameters(await agent.get(address))['error']).toBe('invalid_request');
      const browser = new UserAgent(service);
      const end = await browser.signIn(user, await browser.follow(await browser.get(address)));
      expect(responseParameters(end)['error']).toBe('invalid_request');
    }
    expect(responseParameters(await openRequest(await pushed({}, rp), agent, rp))['code']).toBeDefined();
  });

  test('REQUIRE_PUSHED_AUTHORIZATION_REQUESTS requires it of all clients, and the discovery document says so (RFC 9126 5)', async () => {
    const strict = await startTestService({
      environment: { ...withoutLimits, REQUIRE_PUSHED_AUTHORIZATION_REQUESTS: 'true', PUSHED_REQUEST_LIFETIME: '90' },
    });
    try {
      const rp = await strict.createClient({}, { firstParty: true });
      const browser = new UserAgent(strict);
      await browser.signIn(await strict.createUser());
      const plain = new URLSearchParams({ ...request(rp), client_id: rp.clientId }).toString();
      expect(responseParameters(await browser.get(`/authorize?${plain}`))['error']).toBe('invalid_request');
      const sent = { method: 'POST', body: new URLSearchParams(request(rp)), headers: { authorization: rp.basic } };
      const answer = (await (await fetch(`${strict.issuer}/par`, sent)).json()) as Record<string, string>;
      expect(answer['expires_in']).toBe(90);
      const brought = new URLSearchParams({ client_id: rp.clientId, request_uri: answer['request_uri']! }).toString();
      expect(responseParameters(await browser.get(`/authorize?${brought}`))['code']).toBeDefined();
      for (const [base, demanded] of [
        [strict.issuer, true],
        [service.issuer, false],
      ] as const)
        expect((await call(`${base}/.well-known/openid-configuration`)).body).toMatchObject({
          pushed_authorization_request_endpoint: `${base}/par`,
          require_pushed_authorization_requests: demanded,
        });
    } finally {
      await strict.stop();
    }
  });
});

test('scripts of any origin may push requests, as at the token endpoint (security R97)', async () => {
  const headers = { origin: 'https://rp.example.com', 'access-control-request-method': 'POST' };
  const preflight = await fetch(`${service.issuer}/par`, { method: 'OPTIONS', headers });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
});
