// GET and POST /logout always ask the user, end sessions on every instance, and redirect to registered URIs only.
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  tokenRequest,
  UserAgent,
  withoutLanguages,
} from '../helpers/user-agent.ts';

const back = 'https://rp.example.com/bye';
let service: TestService;
let user: TestUser;
let client: TestClient;
let other: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  user = await service.createUser();
  client = await service.createClient({
    client_name: 'Harbour',
    scope: 'openid profile email offline_access',
    post_logout_redirect_uris: [back],
  });
  other = await service.createClient({ post_logout_redirect_uris: ['https://other.example.com/bye'] });
});
afterAll(() => service?.stop());

interface SignIn {
  agent: UserAgent;
  idToken: string;
  accessToken: string;
  refreshToken: string;
}

/** Signs the user in to a client, and redeems the code. */
async function signInTo(scope = 'openid', agent = new UserAgent(service), rp = client): Promise<SignIn> {
  const page = await agent.authorize(rp, user, { scope });
  const { body } = await tokenRequest(service.issuer, rp, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: rp.redirectUri,
  });
  return {
    agent,
    idToken: body['id_token'] as string,
    accessToken: body['access_token'] as string,
    refreshToken: body['refresh_token'] as string,
  };
}

const query = (parameters: Record<string, string>) => `/logout?${new URLSearchParams(parameters).toString()}`;
const isQuestion = (page: Page) => page.status === 200 && page.body.includes('id="sign-out"');
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
const userinfo = (base: string, token: string) =>
  fetch(`${base}/user/info`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);
const refresh = (base: string, refresh_token: string) =>
  tokenRequest(base, client, { grant_type: 'refresh_token', refresh_token });

test('the page asks the user and names the client, and signing out redirects to the registered URI with the state (OpenID Connect RP-Initiated Logout 2, 3)', async () => {
  const { agent, idToken } = await signInTo();
  const page = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: back, state: 'a b&✓' }));
  expect(isQuestion(page)).toBe(true);
  expect(page.body).toContain('Harbour');
  expect(await isSignedIn(agent)).toBe(true);
  const end = await agent.submit(page, { decision: 'sign-out' });
  expect(end.status).toBe(302);
  expect(end.location).toBe(`${back}?${new URLSearchParams({ state: 'a b&✓' }).toString()}`);
  expect(await isSignedIn(agent)).toBe(false);
});

test('a state with every punctuation mark is returned unchanged, beside a registered query, too (OpenID Connect RP-Initiated Logout 3)', async () => {
  const marks = `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`;
  const state = `aZ9${marks}%41${[...marks].reverse().join('')} +`;
  const withQuery = `${back}?tenant=a%26b`;
  const both = await service.createClient({ post_logout_redirect_uris: [back, withQuery] });
  for (const uri of both.metadata.post_logout_redirect_uris!) {
    const { agent, idToken } = await signInTo('openid', undefined, both);
    const page = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: uri, state }));
    const { location } = await agent.submit(page, { decision: 'sign-out' });
    expect(location).toMatch(uri);
    expect(new URL(location!).searchParams.get('state')).toBe(state);
    expect([...new URL(location!).searchParams.keys()]).toEqual(uri === back ? ['state'] : ['tenant', 'state']);
  }
});

test('a user who answers no keeps the session (specification 4.3)', async () => {
  const { agent, idToken, accessToken } = await signInTo();
  const page = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: back }));
  const end = await agent.submit(page, { decision: 'stay' });
  expect(end.status).toBe(200);
  expect(end.location).toBeUndefined();
  expect(end.body).toContain('You’re still signed in');
  expect(await isSignedIn(agent)).toBe(true);
  expect(await userinfo(service.issuer, accessToken)).toBe(200);
});

test('without a post-logout redirect URI, the page says that the user is signed out (decisions section 6)', async () => {
  for (const parameters of [{}, { client_id: client.clientId }, { state: 's' }] as Record<string, string>[]) {
    const { agent } = await signInTo();
    const end = await agent.submit(await agent.get(query(parameters)), { decision: 'sign-out' });
    expect(end.status).toBe(200);
    expect(end.body).toContain('You’re signed out');
    expect(await isSignedIn(agent)).toBe(false);
  }
});

test('the parameter names with hyphens have the same meaning (specification 2.3)', async () => {
  const { agent, idToken } = await signInTo();
  const page = await agent.get(query({ 'id-token-hint': idToken, 'post-logout-redirect-uri': back, state: 's' }));
  expect((await agent.submit(page, { decision: 'sign-out' })).location).toBe(`${back}?state=s`);
});

test('both names with the same value count as one parameter, and with different values as an error (decisions section 6)', async () => {
  const { agent, idToken } = await signInTo();
  const same = await agent.get(
    query({ 'id-token-hint': idToken, id_token_hint: idToken, post_logout_redirect_uri: back }),
  );
  expect(isQuestion(same)).toBe(true);
  for (const different of [
    { client_id: client.clientId, 'post-logout-redirect-uri': back, post_logout_redirect_uri: `${back}2` },
    { 'id-token-hint': idToken, id_token_hint: `${idToken}x` },
  ] as Record<string, string>[]) {
    const page = await agent.get(query(different));
    expect(page.status).toBe(400);
    expect(page.location).toBeUndefined();
  }
  expect(await isSignedIn(agent)).toBe(true);
});

test('POST gets the same answer as GET, and a parameter in both the query and the body counts as repeated (OpenID Connect RP-Initiated Logout 2)', async () => {
  const { agent, idToken } = await signInTo();
  const form = { id_token_hint: idToken, post_logout_redirect_uri: back, state: 'posted' };
  expect((await agent.post('/logout?state=x', form)).status).toBe(400);
  const page = await agent.post('/logout', form);
  expect(isQuestion(page)).toBe(true);
  expect((await agent.submit(page, { decision: 'sign-out' })).location).toBe(`${back}?state=posted`);
});

test("another site's form, which the browser sends without cookies, still reaches the session, and the user is asked (security A81, R66)", async () => {
  const { agent, idToken } = await signInTo();
  const page = await new UserAgent(service).post(
    '/logout',
    { id_token_hint: idToken, post_logout_redirect_uri: back },
    { origin: 'https://rp.example.com', 'sec-fetch-site': 'cross-site' },
  );
  expect(page.location).toMatch(`${service.issuer}/logout?`);
  expect(isQuestion(await agent.get(page.location!))).toBe(true);
  expect(await isSignedIn(agent)).toBe(true);
});

test('without a session no question is asked, and the same rules apply to the redirect URI (decisions section 6)', async () => {
  const { idToken } = await signInTo();
  const agent = new UserAgent(service);
  const known = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: back, state: 's' }));
  expect([known.status, known.location]).toEqual([302, `${back}?state=s`]);
  const byId = await agent.get(query({ client_id: client.clientId, post_logout_redirect_uri: back }));
  expect(byId.location).toBe(back);
  expect((await agent.get('/logout')).status).toBe(200);
});

test.each([
  ['en', /doesn’t say which application/, /hasn’t registered/],
  ['de', /nicht hervor, von welcher Anwendung/, /nicht registriert/],
  ['ar', /لا يحدّد الطلب التطبيق/, /لم يسجّله/],
])(
  'a redirect URI in a request that names no client is refused with that reason, in %s, signed in or not (decisions section 6)',
  async (language, unnamed, unregistered) => {
    const { agent } = await signInTo();
    for (const browser of [agent, new UserAgent(service)]) {
      const ask = (parameters: Record<string, string>) =>
        browser.get(query(parameters), { 'accept-language': language });
      const page = await ask({ post_logout_redirect_uri: back });
      expect([page.status, page.location]).toEqual([400, undefined]);
      expect(page.body).toMatch(unnamed);
      expect(page.body).not.toMatch(unregistered);
      const named = await ask({ client_id: client.clientId, post_logout_redirect_uri: `${back}x` });
      expect(named.status).toBe(400);
      expect(named.body).toMatch(unregistered);
      expect(named.body).not.toMatch(unnamed);
    }
  },
);

test('the user is never redirected to a URI that the named client did not register (security A83, R68)', async () => {
  const { agent, idToken } = await signInTo();
  for (const parameters of [
    { id_token_hint: idToken, post_logout_redirect_uri: 'https://other.example.com/bye' },
    { id_token_hint: idToken, post_logout_redirect_uri: `${back}?x=1` },
    { id_token_hint: idToken, post_logout_redirect_uri: `${back}/` },
    { id_token_hint: idToken, post_logout_redirect_uri: 'javascript:alert(1)' },
    { id_token_hint: idToken, post_logout_redirect_uri: client.redirectUri },
    { client_id: other.clientId, post_logout_redirect_uri: back },
    { client_id: 'unknown', post_logout_redirect_uri: back },
    { post_logout_redirect_uri: back },
  ] as Record<string, string>[]) {
    for (const browser of [agent, new UserAgent(service)]) {
      const page = await browser.get(query(parameters));
      expect(page.status).toBe(400);
      expect(page.location).toBeUndefined();
      expect(withoutLanguages(page.body)).not.toContain('<form');
      expect(page.body).not.toContain('You’re signed out');
    }
  }
  expect(await isSignedIn(agent)).toBe(true);
});

test('the user is not redirected to a URI of a disabled client (decisions section 2)', async () => {
  const disabledClient = await service.createClient({ post_logout_redirect_uris: [back] }, { status: 'disabled' });
  const page = await new UserAgent(service).get(
    query({ client_id: disabledClient.clientId, post_logout_redirect_uri: back }),
  );
  expect([page.status, page.location]).toEqual([400, undefined]);
});

test('a hint that this service did not sign shows an error page, and the session stays (security A82, R66, R67)', async () => {
  const { agent, idToken, accessToken } = await signInTo();
  const claims = decodeJwt(idToken);
  const [header = '', payload = '', signature = ''] = idToken.split('.');
  const { privateKey } = await generateKeyPair('RS256');
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  for (const [what, hint] of Object.entries({
    unsigned: `${none}.${payload}.`,
    flipped: `${header}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
    'own key': await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
    'an access token': accessToken,
    'an end-session request': await new SignJWT({ iss: client.clientId, aud: service.issuer, sub: user.sub })
      .setProtectedHeader({ alg: 'HS256', typ: 'end-session+jwt' })
      .setExpirationTime('1m')
      .sign(Buffer.from(client.sharedSecret)),
    garbage: 'garbage',
  })) {
    const page = await agent.get(
      query({ id_token_hint: hint, client_id: client.clientId, post_logout_redirect_uri: back }),
    );
    expect(page.status, what).toBe(400);
    expect(page.location, what).toBeUndefined();
    expect(withoutLanguages(page.body), what).not.toContain('<form');
  }
  const crossed = await agent.get(query({ id_token_hint: idToken, client_id: other.clientId }));
  expect(crossed.status).toBe(400);
  expect(await isSignedIn(agent)).toBe(true);
});

test('an expired ID Token is still accepted as a hint (decisions section 6, security R67)', async () => {
  const briefClient = await service.createClient({ post_logout_redirect_uris: [back] });
  await service.database.sql('UPDATE clients SET id_token_lifetime = 1 WHERE client_id = $1', [briefClient.clientId]);
  const agent = new UserAgent(service);
  let idToken = '';
  await expect
    .poll(async () => {
      ({ idToken } = await signInTo('openid', agent, briefClient));
      const { exp, iat } = decodeJwt(idToken);
      return exp! - iat!;
    })
    .toBe(1);
  await expect.poll(() => Date.now() / 1000).toBeGreaterThan(decodeJwt(idToken).exp! + 1);
  const page = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: back }));
  expect((await agent.submit(page, { decision: 'sign-out' })).location).toBe(back);
});

test('signing out ends the session and its tokens on every instance, except refresh tokens with offline_access (decisions section 6, security A84, R69)', async () => {
  const instance = service.instances[1]!;
  const online = await signInTo('openid');
  const cookies = new Map(online.agent.cookies);
  const offline = await signInTo('openid offline_access', online.agent);
  const pending = responseParameters(await online.agent.authorize(client, undefined))['code']!;
  expect(await userinfo(instance, online.accessToken)).toBe(200);
  const end = await online.agent.submit(await online.agent.get('/logout'), { decision: 'sign-out' });
  for (const name of ['JSESSIONOPENID', 'GATEHOUSE_BROWSER'])
    expect(end.headers.getSetCookie().find((line) => new RegExp(`^${name}(_[0-9a-f]{8})?=;`).test(line))).toMatch(
      /Max-Age=0|Expires=Thu, 01 Jan 1970/,
    );
  // one remaining cookie informs sites that frame /check-session, and the other cannot sign in (security R63)
  const left = [...online.agent.cookies].map(([name, value]) => [name.replace(/_[0-9a-f]{8}$/, ''), value]);
  expect(left.sort()).toEqual([
    ['GATEHOUSE_BROWSER_STATE', expect.stringMatching(/^signed-out\./)],
    ['GATEHOUSE_KNOWN_BROWSER', expect.stringMatching(/^ghkb_/)],
  ]);
  for (const base of [instance, service.issuer]) {
    for (const token of [online.accessToken, offline.accessToken]) expect(await userinfo(base, token)).toBe(401);
    expect((await refresh(base, online.refreshToken)).body['error']).toBe('invalid_grant');
    const code = { grant_type: 'authorization_code', code: pending, redirect_uri: client.redirectUri };
    expect((await tokenRequest(base, client, code)).body['error']).toBe('invalid_grant');
    // another browser has a copy of the cookies
    const copied = new UserAgent({ issuer: base });
    for (const [name, value] of cookies) copied.cookies.set(name, value);
    expect((await copied.get('/account')).status).toBe(303);
    for (const [name, value] of cookies) copied.cookies.set(name, value);
    const silent = await copied.get(authorizationUrl(base, client, { prompt: 'none' }));
    expect(responseParameters(silent)['error']).toBe('login_required');
  }
  const renewed = await refresh(instance, offline.refreshToken);
  expect(renewed.status).toBe(200);
  expect(await userinfo(service.issuer, renewed.body['access_token'] as string)).toBe(200);
});

test('signing out does not end the session of another browser (decisions section 6)', async () => {
  const here = await signInTo();
  const there = await signInTo();
  await here.agent.submit(await here.agent.get('/logout'), { decision: 'sign-out' });
  expect(await isSignedIn(there.agent)).toBe(true);
  expect(await userinfo(service.issuer, there.accessToken)).toBe(200);
});

test('repeated answers, in sequence or at once, succeed (security R69)', async () => {
  const { agent, idToken } = await signInTo();
  const page = await agent.get(query({ id_token_hint: idToken, post_logout_redirect_uri: back }));
  const form = { ...hiddenFields(page.body), decision: 'sign-out' };
  const answers = await Promise.all(Array.from({ length: 10 }, () => agent.post('/logout', form)));
  answers.push(await agent.post('/logout', form));
  for (const answer of answers) {
    expect(answer.status).toBe(303);
    expect((await agent.follow(answer)).location).toBe(back);
  }
});

test.each<[string, (csrf: string) => string, Record<string, string>]>([
  ['with an invented token', () => 'A'.repeat(43), {}],
  ['from a foreign origin', (csrf) => csrf, { origin: 'https://evil.example' }],
  ['from another site', (csrf) => csrf, { 'sec-fetch-site': 'cross-site' }],
])('a form %s ends no session (security R55, A81)', async (_what, csrf, headers) => {
  const { agent } = await signInTo();
  const form = hiddenFields((await agent.get('/logout')).body);
  const answer = await agent.post('/logout', { ...form, csrf: csrf(form['csrf']!), decision: 'sign-out' }, headers);
  expect(answer.status).toBe('origin' in headers || 'sec-fetch-site' in headers ? 403 : 400);
  expect(answer.location).toBeUndefined();
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(await isSignedIn(agent)).toBe(true);
});

test('an anti-forgery token of another page or of an earlier session ends no session (security R55)', async () => {
  const { agent } = await signInTo();
  const earlierForm = hiddenFields((await agent.get('/logout')).body);
  await agent.signIn(user);
  for (const csrf of [earlierForm['csrf']!, hiddenFields((await agent.get('/login')).body)['csrf']!]) {
    expect((await agent.post('/logout', { csrf, decision: 'sign-out' })).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(true);
  }
});

test('images, frames, scripts, prefetches and HEAD requests end no session and redirect nowhere (security A81, R8)', async () => {
  const { agent, idToken } = await signInTo();
  const address = query({ id_token_hint: idToken, post_logout_redirect_uri: back });
  for (const browser of [agent, new UserAgent(service)]) {
    for (const headers of [
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'empty' },
      { 'sec-purpose': 'prefetch' },
    ] as Record<string, string>[]) {
      const page = await browser.get(address, headers);
      expect([page.status, page.location]).toEqual([403, undefined]);
    }
    expect((await browser.fetch(address, { method: 'HEAD' })).status).toBe(405);
  }
  expect(await isSignedIn(agent)).toBe(true);
});

test('hostile parameters are refused without a server error (security R107)', async () => {
  const { agent } = await signInTo();
  for (const name of [
    'id_token_hint',
    'post_logout_redirect_uri',
    'client_id',
    'state',
    'ui_locales',
    'id-token-hint',
  ]) {
    for (const value of ['a\0b', '__proto__', 'x'.repeat(7000), '\r\nx: y', '"><script>alert(1)</script>', '%ff']) {
      const page = await agent.get(query({ [name]: value }));
      expect(page.status, `${name} ${value}`).toBeLessThan(500);
      expect(page.location).toBeUndefined();
      expect(page.body).not.toContain('<script>alert');
    }
    expect((await agent.get(`/logout?${name}=1&${name}=2`)).status).toBe(400);
  }
  expect(await isSignedIn(agent)).toBe(true);
});
