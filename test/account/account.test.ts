// GET and POST /account show the user's grants and withdraw them, and every page carries the security headers.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  user = await service.createUser({ username: 'alice', claims: { name: '<i>Alice</i>' } });
});
afterAll(() => service?.stop());

async function signedIn(as = user): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(as);
  return agent;
}

async function accessToken(agent: UserAgent, client: TestClient): Promise<string> {
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(await agent.authorize(client, undefined))['code']!,
    redirect_uri: client.redirectUri,
  });
  return body['access_token'] as string;
}

const userinfo = (base: string, token: string) =>
  fetch(`${base}/user/info`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);

test('a signed-out user is redirected to the sign-in page and back (decisions section 3)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.get('/account');
  expect([page.status, page.location]).toEqual([303, `${service.issuer}/login`]);
  expect((await agent.signIn(user, await agent.follow(page))).url).toBe(`${service.issuer}/account`);
  expect((await agent.get('/')).location).toBe(`${service.issuer}/account`);
});

test('the page shows the user and the authorized clients, as text (security R93)', async () => {
  const agent = await signedIn();
  const client = await service.createClient({ client_name: 'Harbour <script>' });
  await agent.authorize(client, undefined, { scope: 'openid email' });
  for (const shown of ['alice', '&lt;i&gt;Alice&lt;/i&gt;', 'Harbour &lt;script&gt;'])
    expect((await agent.get('/account')).body).toContain(shown);
  for (const shown of ['Harbour &lt;script&gt;', 'See your email address'])
    expect((await agent.get('/account/applications')).body).toContain(shown);
});

test('the withdrawal of a grant ends its tokens on every instance, and the user is asked for consent again (decisions section 3)', async () => {
  const agent = await signedIn();
  const [client, other] = [await service.createClient(), await service.createClient()];
  const [token, otherToken] = [await accessToken(agent, client), await accessToken(agent, other)];
  expect(await userinfo(service.instances[1]!, token)).toBe(200);
  const page = await agent.submit(await agent.get('/account/applications'), { withdraw: client.clientId });
  expect([page.status, page.url]).toEqual([200, `${service.issuer}/account/applications?done=withdrawn`]);
  expect(page.body).toMatch(/role="status"[^]*Access revoked/);
  expect(page.body).not.toContain(`value="${client.clientId}"`);
  for (const base of service.instances) {
    expect(await userinfo(base, token)).toBe(401);
    expect(await userinfo(base, otherToken)).toBe(200);
  }
  const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
  expect(responseParameters(silent)['error']).toBe('consent_required');
});

test.each<[string, (csrf: string) => Record<string, string>, Record<string, string>]>([
  ['without the token', () => ({ csrf: '' }), {}],
  ['with an invented token', () => ({ csrf: 'A'.repeat(43) }), {}],
  ['from a foreign origin', (csrf) => ({ csrf }), { origin: 'https://evil.example' }],
  ['from another site', (csrf) => ({ csrf }), { 'sec-fetch-site': 'cross-site' }],
])('a form %s withdraws no grant (security R55)', async (_what, fields, headers) => {
  const agent = await signedIn();
  const client = await service.createClient();
  const token = await accessToken(agent, client);
  const csrf = hiddenFields((await agent.get('/account/applications')).body)['csrf']!;
  const answer = await agent.post('/account', { ...fields(csrf), withdraw: client.clientId }, headers);
  expect(answer.status).toBe(Object.keys(headers).length > 0 ? 403 : 400);
  expect(await userinfo(service.issuer, token)).toBe(200);
});

test('the token of another page, another user or an earlier session withdraws no grant (security R55)', async () => {
  const agent = await signedIn();
  const client = await service.createClient();
  const token = await accessToken(agent, client);
  const bob = await signedIn(await service.createUser());
  await accessToken(bob, client);
  const tokens = [
    hiddenFields((await agent.get('/logout')).body)['csrf']!,
    hiddenFields((await bob.get('/account/applications')).body)['csrf']!,
  ];
  for (const csrf of tokens)
    expect((await agent.post('/account', { csrf, withdraw: client.clientId })).status).toBe(400);
  expect(await userinfo(service.issuer, token)).toBe(200);
  // bob's form withdraws bob's grant only
  await bob.submit(await bob.get('/account/applications'), { withdraw: client.clientId });
  expect(await userinfo(service.issuer, token)).toBe(200);
});

test('the withdrawal of a grant that does not exist causes no server error, whatever the value (security R107)', async () => {
  const agent = await signedIn();
  await agent.authorize(await service.createClient(), undefined);
  const page = await agent.get('/account/applications');
  for (const withdraw of ['unknown', 'a\0b', '__proto__', 'x'.repeat(5000), "' OR 1=1"]) {
    const answer = await agent.submit(page, { withdraw });
    expect(answer.status).toBeLessThan(500);
    expect(answer.body).not.toContain('Access revoked');
  }
});

test('sub-resource requests and HEAD requests do not get the page (security R8)', async () => {
  const agent = await signedIn();
  expect((await agent.get('/account', { 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  // as to a browser without cookies
  expect((await agent.fetch('/account', { method: 'HEAD' })).status).toBe(303);
  expect((await agent.fetch('/account/sessions', { method: 'HEAD' })).status).toBe(405);
});

test('every page, error pages and 404 included, forbids framing, sniffing, caching and foreign content (security R57, R96, A23)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
  const granted = await service.createClient({ scope: 'openid' });
  await agent.authorize(granted, undefined);
  const browser = new UserAgent(service);
  const pages = {
    login: await browser.get('/login'),
    'login of a client': await browser.follow(await browser.get(authorizationUrl(service.issuer, client))),
    'login with a problem': await browser.get('/login?problem=client'),
    consent,
    continue: await agent.get(
      `/authenticate?${new URLSearchParams({ client_id: granted.clientId, redirect_uri: granted.redirectUri }).toString()}`,
    ),
    account: await agent.get('/account'),
    profile: await agent.get('/account/profile'),
    'edit of the profile': await agent.get('/account/profile/edit'),
    security: await agent.get('/account/security'),
    sessions: await agent.get('/account/sessions'),
    applications: await agent.get('/account/applications'),
    data: await agent.get('/account/data'),
    logout: await agent.get('/logout'),
    'signed out': await browser.get('/logout'),
    'a logout problem': await browser.get('/logout?post_logout_redirect_uri=https://evil.example/'),
    'form post': await agent.get(authorizationUrl(service.issuer, granted, { response_mode: 'form_post' })),
    error: await browser.get('/error'),
    'access denied': await browser.get('/access-denied'),
    'not found': await browser.get('/nowhere'),
    'wrong method': await browser.fetch('/login', { method: 'DELETE' }),
    'wrong body': await browser.fetch('/login', { method: 'POST' }),
    'sub-resource': await browser.get('/authorize', { 'sec-fetch-dest': 'image' }),
  };
  for (const [name, page] of Object.entries(pages)) {
    const header = (of: string) => page.headers.get(of) ?? '';
    expect(header('content-type'), name).toBe('text/html; charset=utf-8');
    expect(header('x-frame-options'), name).toBe('DENY');
    expect(header('x-content-type-options'), name).toBe('nosniff');
    expect(header('referrer-policy'), name).toBe('no-referrer');
    expect(header('cross-origin-opener-policy'), name).toBe('same-origin');
    expect(header('cache-control'), name).toContain('no-store');
    const policy = header('content-security-policy');
    for (const rule of [`default-src 'none'`, `base-uri 'none'`, `object-src 'none'`, `frame-ancestors 'none'`])
      expect(policy, name).toContain(rule);
    // the client may send a posted response on to any address (reports A1)
    expect(/form-action [^;]*/.exec(policy)?.[0], name).toBe(name === 'form post' ? undefined : `form-action 'self'`);
    expect(policy, name).not.toMatch(/unsafe|\*/);
    expect(
      [...page.headers.keys()].filter((key) => key.startsWith('access-control-')),
      name,
    ).toEqual([]);
    expect(page.body, name).not.toMatch(/<script(?![^>]*\bsrc=)(?![^>]*>[^<]*submit)|\son[a-z]+=|style="/i);
  }
  for (const name of ['error', 'login with a problem', 'a logout problem', 'wrong body'] as const)
    expect(pages[name].status, name).toBeGreaterThanOrEqual(400);
  for (const redirect of [await browser.get('/account'), await agent.get(authorizationUrl(service.issuer, granted))]) {
    expect(redirect.headers.get('x-frame-options')).toBe('DENY');
    expect(redirect.headers.get('referrer-policy')).toBe('no-referrer');
    expect(redirect.headers.get('cache-control')).toContain('no-store');
  }
});

test('scripts get JSON, and browsers get a page (decisions section 7)', async () => {
  const answer = await fetch(`${service.issuer}/consent`, { method: 'POST', body: new URLSearchParams({ x: '1' }) });
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-type')).toMatch('application/json');
  expect(await answer.json()).toMatchObject({ error: 'invalid_request' });
});

test('a foreign host name in a forwarding header appears in no page and no redirect (security A116, R98)', async () => {
  const agent = await signedIn();
  const client = await service.createClient({}, { firstParty: true });
  const forwarded = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
  };
  for (const path of ['/login', '/account', '/', authorizationUrl(service.issuer, client)]) {
    const page = await agent.get(path, forwarded);
    expect(page.body + [...page.headers].join()).not.toContain('evil.example');
  }
});
