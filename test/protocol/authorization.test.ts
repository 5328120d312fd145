// GET and POST /authorize answer a valid request in every response mode, and apply the rules of PKCE and redirect URIs.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  startTestService,
  type TestClient,
  type TestService,
  testRedirectUri,
  type TestUser,
} from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  pkce,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
/** Has a signed-in session whose user has granted the client access. */
let agent: UserAgent;
beforeAll(async () => {
  // one session obtains the codes of all tests
  service = await startTestService({ environment: { LIMIT_CODES_PER_SESSION: '0' } });
  user = await service.createUser();
  client = await service.createClient({ scope: 'openid profile email offline_access' });
  agent = new UserAgent(service);
  await agent.authorize(client, user, { scope: 'openid profile email' });
});
afterAll(() => service?.stop());

const ask = (parameters: Record<string, string>, rp: Pick<TestClient, 'clientId' | 'redirectUri'> = client) =>
  agent.get(authorizationUrl(service.issuer, rp, parameters));

function redeem(page: Page, more: Record<string, string> = {}, redirectUri = client.redirectUri) {
  return tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: redirectUri,
    ...more,
  });
}

test('GET redirects with 302 to the client, with code, state, session_state and iss only (RFC 6749 4.1.2, RFC 9207 2)', async () => {
  const page = await ask({ state: 's-1' });
  expect(page.status).toBe(302);
  expect(page.headers.get('cache-control')).toContain('no-store');
  expect(page.location?.split('?')[0]).toBe(client.redirectUri);
  expect(Object.keys(responseParameters(page)).sort()).toEqual(['code', 'iss', 'session_state', 'state']);
  expect(responseParameters(page)).toMatchObject({ state: 's-1', iss: service.issuer });
  expect(responseParameters(page)['code']).toMatch(/^ghac_[A-Za-z0-9_-]{43,}$/);
});

test('a request without state gets a response without state (RFC 6749 4.1.2)', async () => {
  expect(Object.keys(responseParameters(await ask({}))).sort()).toEqual(['code', 'iss', 'session_state']);
});

test('POST gets the same answer as GET (OpenID Connect Core 3.1.2.1)', async () => {
  const form = { response_type: 'code', scope: 'openid', client_id: client.clientId, redirect_uri: client.redirectUri };
  const page = await agent.post('/authorize', { ...form, state: 'posted' });
  expect(page.status).toBe(302);
  expect(responseParameters(page)).toMatchObject({ state: 'posted', iss: service.issuer });
  expect(responseParameters(page)['code']).toBeDefined();
});

test("another site's form, which the browser sends without cookies, still reaches the session (OpenID Connect Core 3.1.2.1)", async () => {
  const form = { response_type: 'code', scope: 'openid', client_id: client.clientId, redirect_uri: client.redirectUri };
  const withoutCookies = new UserAgent(service);
  const page = await withoutCookies.post(
    '/authorize',
    { ...form, state: 'a&b=c' },
    { origin: 'https://rp.example.com', 'sec-fetch-site': 'cross-site' },
  );
  expect(page.status).toBe(303);
  expect(page.location).toMatch(new RegExp(`^${service.issuer}/authorize\\?`));
  expect(withoutCookies.cookies.size).toBe(0);
  expect(responseParameters(await agent.get(page.location!))).toMatchObject({ state: 'a&b=c' });
});

test('a parameter in both the query and the body counts as repeated (security A8)', async () => {
  const good = { response_type: 'code', scope: 'openid', client_id: client.clientId, redirect_uri: client.redirectUri };
  const page = await agent.post(`/authorize?redirect_uri=${encodeURIComponent(client.redirectUri)}`, {
    ...good,
    redirect_uri: 'https://evil.example/',
  });
  expect(page.location).toBe(`${service.issuer}/login?problem=request`);
  expect((await agent.follow(page)).status).toBe(400);
  const doubled = await agent.post('/authorize?state=1', { ...good, state: '1' });
  expect(doubled.location).toBe(`${service.issuer}/login?problem=request`);
});

test('a body that is not a form is refused (RFC 6749 3.1)', async () => {
  const page = await agent.fetch('/authorize', {
    method: 'POST',
    body: JSON.stringify({ client_id: client.clientId }),
    headers: { 'content-type': 'application/json' },
  });
  expect(page.status).toBe(415);
  expect(page.location).toBeUndefined();
});

test.each([
  'a b~',
  '✓ Grüße 🙂',
  '\r\nSet-Cookie: x=y',
  '"><script>alert(1)</script>',
  '%0d%0a',
  '+&=#?',
  'x'.repeat(2048),
])('state is returned unchanged and adds no header: %j (security A15, R7)', async (state) => {
  const page = await ask({ state });
  expect(page.status).toBe(302);
  expect(responseParameters(page)['state']).toBe(state);
  expect(page.headers.getSetCookie()).toEqual([]);
});

test('the ID Token contains the nonce of the request, and none if the request has none (OpenID Connect Core 3.1.2.1)', async () => {
  const withNonce = await redeem(await ask({ nonce: 'n-0S6 ✓' }));
  expect(decodeJwt(withNonce.body['id_token'] as string)['nonce']).toBe('n-0S6 ✓');
  const without = await redeem(await ask({}));
  expect(decodeJwt(without.body['id_token'] as string)).not.toHaveProperty('nonce');
});

test('the granted scope is what the client requested and registered, without unknown values (security R12)', async () => {
  const tokens = await redeem(await ask({ scope: 'openid email admin phone unheard-of' }));
  expect(tokens.body['scope']).toBe('openid email');
});

test('response_mode=fragment puts the response into the fragment (OAuth Multiple Response Types 2.1)', async () => {
  const page = await ask({ response_mode: 'fragment', state: 'f&1' });
  expect(page.status).toBe(302);
  const url = new URL(page.location!);
  expect(url.search).toBe('');
  const sent = Object.fromEntries(new URLSearchParams(url.hash.slice(1)));
  expect(sent).toMatchObject({ state: 'f&1', iss: service.issuer });
  expect(sent['code']).toBeDefined();
  const failed = await ask({ response_mode: 'fragment', prompt: 'none', scope: 'email' });
  expect(new URLSearchParams(new URL(failed.location!).hash.slice(1)).get('error')).toBe('invalid_scope');
  expect(new URLSearchParams(new URL(failed.location!).hash.slice(1)).get('iss')).toBe(service.issuer);
});

test('response_mode=form_post posts the response and escapes every value (Form Post Response Mode 2, security A16, R6)', async () => {
  const state = '"><script>alert(1)</script>&amp;';
  const page = await ask({ response_mode: 'form_post', state });
  expect(page.status).toBe(200);
  expect(page.location).toBeUndefined();
  expect(page.body).toContain(`action="${client.redirectUri}"`);
  expect(page.body).not.toContain('<script>alert');
  expect(hiddenFields(page.body)).toMatchObject({ state, iss: service.issuer });
  const policy = page.headers.get('content-security-policy')!;
  expect(policy).toMatch(/script-src 'self' 'sha256-[^']+';/);
  expect(policy).not.toContain('unsafe-inline');
  // the client may send it on to any address, and browsers check each redirect of a form (reports A1)
  expect(policy).not.toContain('form-action');
  expect(page.headers.get('cache-control')).toContain('no-store');
  const tokens = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: hiddenFields(page.body)['code']!,
    redirect_uri: client.redirectUri,
  });
  expect(tokens.status).toBe(200);
});

test('response_mode=form_post posts errors, too (Form Post Response Mode 2)', async () => {
  const page = await ask({ response_mode: 'form_post', state: 'e', scope: 'email' });
  expect(hiddenFields(page.body)).toMatchObject({ error: 'invalid_scope', state: 'e', iss: service.issuer });
});

test.each([
  ['plain', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }],
  ['S512', { code_challenge: 'a'.repeat(43), code_challenge_method: 'S512' }],
  ['s256', { code_challenge: 'a'.repeat(43), code_challenge_method: 's256' }],
  ['an empty method', { code_challenge: 'a'.repeat(43), code_challenge_method: '' }],
  ['no method', { code_challenge: 'a'.repeat(43) }],
  ['a method without a challenge', { code_challenge_method: 'S256' }],
  ['42 characters', { code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }],
  ['44 characters', { code_challenge: 'a'.repeat(44), code_challenge_method: 'S256' }],
  ['padding', { code_challenge: `${'a'.repeat(42)}=`, code_challenge_method: 'S256' }],
  ['a line feed', { code_challenge: `${'a'.repeat(43)}\n`, code_challenge_method: 'S256' }],
])('a code_challenge with %s is invalid_request (security A33, R20, R21)', async (_what, sent) => {
  const parameters = responseParameters(await ask({ ...sent, state: 'p' }));
  expect(parameters).toMatchObject({ error: 'invalid_request', state: 'p', iss: service.issuer });
  expect(parameters).not.toHaveProperty('code');
});

test.each([
  ['a public client', { token_endpoint_auth_method: 'none' }, {}],
  ['a client registered with require_pkce', { require_pkce: true }, {}],
  ['every client with REQUIRE_PKCE=true', {}, { REQUIRE_PKCE: 'true' }],
])('%s must send a code_challenge (security R20, decisions section 3)', async (_who, metadata, environment) => {
  const ownService = Object.keys(environment).length > 0 ? await startTestService({ environment }) : service;
  try {
    const strictClient = await ownService.createClient(metadata);
    const user = await ownService.createUser();
    const browser = new UserAgent(ownService);
    await browser.signIn(user);
    expect(responseParameters(await browser.authorize(strictClient, undefined))['error']).toBe('invalid_request');
    const { code_challenge, code_challenge_method } = pkce();
    const challenge = { code_challenge, code_challenge_method };
    expect(responseParameters(await browser.authorize(strictClient, undefined, challenge))['code']).toBeDefined();
  } finally {
    if (ownService !== service) await ownService.stop();
  }
});

test("a native client's loopback redirect URI matches at any port, and must otherwise be equal (RFC 8252 7.3, security A42, R23)", async () => {
  const native = await service.createClient({
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]/cb'],
  });
  const at = (redirectUri: string) => ask({ prompt: 'none' }, { clientId: native.clientId, redirectUri });
  for (const good of ['http://127.0.0.1:51004/cb', 'http://127.0.0.1/cb', 'http://[::1]:7/cb']) {
    const page = await at(good);
    expect(page.location, good).toMatch(`${good}?`);
    expect(responseParameters(page)['error']).toBe('consent_required');
  }
  for (const bad of [
    'http://localhost:51004/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://127.1/cb',
    'http://0x7f000001/cb',
    'http://[::ffff:127.0.0.1]/cb',
    'http://127.0.0.1:51004/cb2',
    'http://127.0.0.1:51004/cb?x=1',
    'http://127.0.0.1:51004/cb#x',
    'https://127.0.0.1:1/cb',
    'http://127.0.0.1:1@evil.example/cb',
    'http://127.0.0.1:99999/cb',
  ]) {
    const page = await at(bad);
    expect(page.location, bad).toBe(`${service.issuer}/login?problem=client`);
  }
});

test("a web client's loopback redirect URI matches at its registered port only, and a native client's localhost at any port (RFC 8252 7.3, security R23)", async () => {
  const web = await service.createClient({ redirect_uris: ['http://127.0.0.1:8081/cb', 'http://localhost:8081/cb'] });
  const native = await service.createClient({
    application_type: 'native',
    redirect_uris: ['http://localhost:8080/cb'],
  });
  const location = async ({ clientId }: TestClient, redirectUri: string) =>
    (await ask({ prompt: 'none' }, { clientId, redirectUri })).location;
  expect(await location(web, 'http://127.0.0.1:8081/cb')).toMatch('http://127.0.0.1:8081/cb?');
  expect(await location(native, 'http://localhost:8080/cb')).toMatch('http://localhost:8080/cb?');
  const refused = `${service.issuer}/login?problem=client`;
  expect(await location(web, 'http://127.0.0.1:51004/cb')).toBe(refused);
  expect(await location(web, 'http://localhost:8081/cb')).toMatch('http://localhost:8081/cb?');
  expect(await location(web, 'http://localhost:51004/cb')).toBe(refused);
  expect(await location(native, 'http://localhost:51004/cb')).toMatch('http://localhost:51004/cb?');
  expect(await location(native, 'http://localhost:51004/cb?x=1')).toBe(refused);
  expect(await location(native, 'http://127.0.0.1:8080/cb')).toBe(refused);
});

test('a code is bound to the loopback port of its request (RFC 6749 4.1.3)', async () => {
  const native = await service.createClient({ application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] });
  const page = await agent.authorize({ clientId: native.clientId, redirectUri: 'http://127.0.0.1:5001/cb' }, undefined);
  const code = responseParameters(page)['code']!;
  const send = (redirect_uri: string) =>
    tokenRequest(service.issuer, native, { grant_type: 'authorization_code', code, redirect_uri });
  expect((await send('http://127.0.0.1:5002/cb')).body['error']).toBe('invalid_grant');
  expect((await send('http://127.0.0.1:5001/cb')).status).toBe(200);
});

test('a redirect URI with a private-use scheme gets its response (RFC 8252 7.1)', async () => {
  const redirectUri = 'com.example.app:/cb';
  const native = await service.createClient({ application_type: 'native', redirect_uris: [redirectUri] });
  const page = await agent.follow(await ask({}, { clientId: native.clientId, redirectUri }));
  expect(page.headers.get('content-security-policy')).toContain(`form-action 'self';`);
  const end = await agent.submit(page, { decision: 'allow' });
  expect(end.location).toMatch(/^com\.example\.app:\/cb\?code=/);
  const refused = await ask({ response_mode: 'form_post' }, { clientId: native.clientId, redirectUri });
  expect(refused.location).toMatch(/^com\.example\.app:\/cb\?error=invalid_request/);
});

test('a redirect URI with a query keeps it (RFC 6749 3.1.2)', async () => {
  const redirectUri = `${testRedirectUri}?tenant=1`;
  const tenant = await service.createClient({ redirect_uris: [redirectUri] });
  const page = await agent.authorize({ clientId: tenant.clientId, redirectUri }, undefined, { state: 's' });
  expect(page.location).toMatch(`${redirectUri}&code=`);
  expect(responseParameters(page)).toMatchObject({ tenant: '1', state: 's' });
});

test('a service below a base path keeps its cookies, forms and redirects below it (decisions section 1)', async () => {
  const below = await startTestService({ basePath: '/idp' });
  try {
    const user = await below.createUser();
    const rp = await below.createClient();
    const browser = new UserAgent(below);
    const page = await browser.get(authorizationUrl(below.issuer, rp));
    expect(page.location).toMatch(new RegExp(`^${below.issuer}/login\\?`));
    expect(page.headers.getSetCookie().every((cookie) => cookie.includes('Path=/idp'))).toBe(true);
    expect(responseParameters(await browser.authorize(rp, user))['iss']).toBe(below.issuer);
  } finally {
    await below.stop();
  }
});

test('a request without scope asks for all registered scopes, as at /authenticate (RFC 6749 3.3)', async () => {
  const wideClient = await service.createClient({ scope: 'openid email address' });
  const page = await agent.authorize(wideClient, undefined, { scope: '' });
  const { body } = await tokenRequest(service.issuer, wideClient, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: wideClient.redirectUri,
  });
  expect(body['scope']).toBe('openid email address');
  const short = `/authenticate?${new URLSearchParams({ client_id: wideClient.clientId, redirect_uri: wideClient.redirectUri })}`;
  const again = await agent.get(short, { 'sec-fetch-site': 'none' });
  const code = responseParameters(again)['code']!;
  const form = { grant_type: 'authorization_code', code, redirect_uri: wideClient.redirectUri };
  expect((await tokenRequest(service.issuer, wideClient, form)).body['scope']).toBe('openid email address');
});

test('a request without scope of a client that is not registered for openid gets invalid_scope (OpenID Connect Core 3.1.2.1)', async () => {
  const narrowClient = await service.createClient({ scope: 'profile' });
  expect(responseParameters(await ask({ scope: '' }, narrowClient))).toMatchObject({
    error: 'invalid_scope',
    error_description: 'the client is not registered for the scope openid',
  });
});
