// An authorization request sets conditions for the sign-in: prompt, max_age, login_hint and id_token_hint.
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPages } from '../../src/pages/renderer.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let alice: TestUser;
let bob: TestUser;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService();
  alice = await service.createUser({ username: 'alice' });
  bob = await service.createUser({ username: 'bob' });
  client = await service.createClient();
});
afterAll(() => service?.stop());

/** Signs the user in in a new browser, and grants the client access. */
async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.authorize(client, user);
  return agent;
}

const ask = async (agent: UserAgent, parameters: Record<string, string>, rp: TestClient = client) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, rp, parameters)));

async function idToken(page: Page, rp: TestClient = client): Promise<string> {
  const { body } = await tokenRequest(service.issuer, rp, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: rp.redirectUri,
  });
  return body['id_token'] as string;
}

/** Moves the sign-in time of all sessions of a user into the past. */
const moveSignInIntoPast = (user: TestUser, seconds: number) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time - make_interval(secs => $2) WHERE sub = $1`, [
    user.sub,
    seconds,
  ]);

const isSignInPage = (page: Page) => page.status === 200 && page.body.includes('id="password"');

test('prompt=login asks a signed-in user again, and only a new sign-in satisfies it (OpenID Connect Core 3.1.2.1, security R9)', async () => {
  const agent = await signedIn(alice);
  const prompt = 'login';
  const page = await ask(agent, { prompt });
  expect(isSignInPage(page)).toBe(true);
  const transaction = new URL(page.url).searchParams.get('transaction')!;
  // a reload, the address of the next step, an empty form and a wrong password change nothing
  expect(isSignInPage(await agent.get(page.url))).toBe(true);
  const round = await agent.get(`/authorize?transaction=${transaction}`);
  expect(round.location).toBe(page.url);
  expect((await agent.submit(page, {})).status).toBe(400);
  expect((await agent.submit(page, { username: alice.username, password: 'wrong password' })).status).toBe(400);
  expect((await agent.get(`/authorize?transaction=${transaction}`)).location).toBe(page.url);
  expect((await ask(agent, { prompt })).url).toMatch('/login?transaction=');
  const end = await agent.signIn(alice, page);
  expect(responseParameters(end)['code']).toBeDefined();
});

test('a sign-in for one request does not satisfy prompt=login of a later request (security R9)', async () => {
  const agent = await signedIn(alice);
  const end = await agent.signIn(alice, await ask(agent, { prompt: 'login' }));
  expect(responseParameters(end)['code']).toBeDefined();
  expect(isSignInPage(await ask(agent, { prompt: 'login' }))).toBe(true);
});

test('the consent page does not bypass prompt=login (security R9)', async () => {
  const agent = await signedIn(alice);
  const login = await ask(agent, { prompt: 'login consent' });
  const transaction = new URL(login.url).searchParams.get('transaction')!;
  const consent = await agent.get(`/consent?transaction=${transaction}`);
  const end = consent.body.includes('id="allow"') ? await agent.submit(consent, { decision: 'allow' }) : consent;
  expect(end.location ?? '').not.toContain('code=');
  expect(isSignInPage(await agent.get(`/login?transaction=${transaction}`))).toBe(true);
});

test('prompt=consent asks again for scopes that the user has granted (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await signedIn(alice);
  const page = await ask(agent, { prompt: 'consent' });
  expect(page.body).toContain('id="allow"');
  expect(responseParameters(await agent.submit(page, { decision: 'allow' }))['code']).toBeDefined();
});

test('prompt=none gets a code if no page is needed, and otherwise an error that names the missing step (OpenID Connect Core 3.1.2.6)', async () => {
  const agent = await signedIn(alice);
  const answer = async (parameters: Record<string, string>, rp = client, browser = agent) =>
    responseParameters(await ask(browser, { prompt: 'none', state: 's', ...parameters }, rp));
  expect((await answer({}))['code']).toBeDefined();
  expect(await answer({ scope: 'openid email' })).toMatchObject({ error: 'consent_required', state: 's' });
  expect(await answer({}, await service.createClient())).toMatchObject({ error: 'consent_required' });
  expect(await answer({}, client, new UserAgent(service))).toMatchObject({ error: 'login_required' });
  await moveSignInIntoPast(alice, 100);
  expect(await answer({ max_age: '99' })).toMatchObject({ error: 'login_required', iss: service.issuer });
  expect((await answer({ max_age: '1000' }))['code']).toBeDefined();
});

test('only a new sign-in satisfies max_age, and auth_time shows it (OpenID Connect Core 3.1.2.1, security R9)', async () => {
  const agent = await signedIn(alice);
  const young = decodeJwt(await idToken(await ask(agent, { max_age: '300' })));
  await moveSignInIntoPast(alice, 400);
  const old = decodeJwt(await idToken(await ask(agent, { max_age: '1000' })));
  expect(old['auth_time']).toBe((young['auth_time'] as number) - 400);
  const page = await ask(agent, { max_age: '300' });
  expect(isSignInPage(page)).toBe(true);
  expect(page.body).toContain('value="alice"');
  const renewed = decodeJwt(await idToken(await agent.signIn(alice, page)));
  expect(renewed['auth_time'] as number).toBeGreaterThanOrEqual(young['auth_time'] as number);
});

test('max_age=0 always asks for a sign-in (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await signedIn(alice);
  const page = await ask(agent, { max_age: '0' });
  expect(isSignInPage(page)).toBe(true);
  expect(responseParameters(await agent.signIn(alice, page))['code']).toBeDefined();
});

test("a client's default_max_age applies to a request without max_age (OpenID Connect Registration 2)", async () => {
  const strictClient = await service.createClient({ default_max_age: 60 });
  const agent = await signedIn(alice);
  await agent.authorize(strictClient, undefined);
  await moveSignInIntoPast(alice, 61);
  expect(isSignInPage(await ask(agent, {}, strictClient))).toBe(true);
  expect(responseParameters(await ask(agent, { max_age: '600' }, strictClient))['code']).toBeDefined();
});

test('login_hint fills the user name field as text, and decides nothing (OpenID Connect Core 3.1.2.1)', async () => {
  const page = await ask(new UserAgent(service), { login_hint: 'bob' });
  expect(page.body).toMatch(/<input id="username"[^>]*value="bob"/);
  const unknown = await ask(new UserAgent(service), { login_hint: 'nobody at all' });
  expect(unknown.status).toBe(200);
  const agent = await signedIn(alice);
  expect(responseParameters(await ask(agent, { login_hint: 'bob', prompt: 'none' }))['code']).toBeDefined();
});

test.each<Record<string, string>>([
  { display: 'page' },
  { display: 'popup' },
  { display: 'touch' },
  { display: 'hologram' },
  { ui_locales: 'se' },
  { ui_locales: 'fr-CA x-none !' },
  { claims_locales: 'se' },
  { acr_values: '1 2' },
  { extra: 'foobar' },
])('an unsupported optional parameter is no error: %j (OpenID Connect Core 3.1.2.1)', async (parameters) => {
  const page = await ask(new UserAgent(service), parameters);
  expect(isSignInPage(page)).toBe(true);
  const agent = await signedIn(alice);
  expect(responseParameters(await ask(agent, { ...parameters, prompt: 'none' }))['code']).toBeDefined();
});

test('the sign-in page uses the language that ui_locales prefers, and otherwise that of the browser (OpenID Connect Core 3.1.2.1)', async () => {
  const localized = await ask(new UserAgent(service), { ui_locales: 'se ar-EG de' });
  expect(localized.body).toContain('<html lang="ar" dir="rtl">');
  const german = { 'accept-language': 'de-CH, en;q=0.5' };
  expect((await new UserAgent(service).get('/login', german)).body).toContain('<html lang="de" dir="ltr">');
  const discovery = await fetch(`${service.issuer}/.well-known/openid-configuration`);
  expect(await discovery.json()).toMatchObject({
    ui_locales_supported: createPages({ basePath: '' }).availableLocales,
  });
});

test('an id_token_hint of the signed-in user needs no page (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await signedIn(alice);
  const hint = await idToken(await ask(agent, {}));
  expect(responseParameters(await ask(agent, { id_token_hint: hint, prompt: 'none' }))['code']).toBeDefined();
});

test('an expired ID Token is still accepted as a hint (OpenID Connect Core 3.1.2.1)', async () => {
  const briefClient = await service.createClient();
  await service.database.sql('UPDATE clients SET id_token_lifetime = 1 WHERE client_id = $1', [briefClient.clientId]);
  const agent = await signedIn(alice);
  let hint = '';
  // until the change has reached the instance
  await expect
    .poll(async () => {
      hint = await idToken(await agent.authorize(briefClient, undefined), briefClient);
      const { exp, iat } = decodeJwt(hint);
      return exp! - iat!;
    })
    .toBe(1);
  await expect.poll(() => Date.now() / 1000).toBeGreaterThan(decodeJwt(hint).exp! + 1);
  expect(responseParameters(await ask(agent, { id_token_hint: hint, prompt: 'none' }))['code']).toBeDefined();
  const bobAgent = await signedIn(bob);
  expect(responseParameters(await ask(bobAgent, { id_token_hint: hint, prompt: 'none' }))['error']).toBe(
    'login_required',
  );
});

test('an id_token_hint of another user never yields a code for the signed-in user (security A6)', async () => {
  const bobIdToken = await idToken(await ask(await signedIn(bob), {}));
  const agent = await signedIn(alice);
  const silent = responseParameters(await ask(agent, { id_token_hint: bobIdToken, prompt: 'none', state: 's' }));
  expect(silent).toMatchObject({ error: 'login_required', state: 's', iss: service.issuer });
  expect(silent).not.toHaveProperty('code');
  const page = await ask(agent, { id_token_hint: bobIdToken });
  expect(isSignInPage(page)).toBe(true);
  // alice signs in again: the client expects bob, and a further sign-in page would only repeat
  const again = responseParameters(await agent.signIn(alice, page));
  expect(again).toMatchObject({ error: 'login_required' });
  expect(again).not.toHaveProperty('code');
  const right = await agent.signIn(bob, await ask(agent, { id_token_hint: bobIdToken }));
  const consent = right.body.includes('id="allow"') ? await agent.submit(right, { decision: 'allow' }) : right;
  expect(decodeJwt(await idToken(consent)).sub).toBe(bob.sub);
});

test('an id_token_hint that is not an ID Token of this service is refused (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await signedIn(alice);
  const good = await idToken(await ask(agent, {}));
  const claims = decodeJwt(good);
  const [header = '', payload = '', signature = ''] = good.split('.');
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwk = await exportJWK(publicKey);
  const sign = (alg: 'RS256', more = {}) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg, jwk }).sign(privateKey);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(await ask(agent, {}))['code']!,
    redirect_uri: client.redirectUri,
  });
  for (const [what, hint] of Object.entries({
    unsigned: `${encode({ alg: 'none' })}.${payload}.`,
    'unsigned with a signature': `${encode({ alg: 'none' })}.${payload}.${signature}`,
    'flipped signature': `${header}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
    'other subject': `${header}.${encode({ ...claims, sub: bob.sub })}.${signature}`,
    'own key in the header': await sign('RS256'),
    'other issuer': await sign('RS256', { iss: 'https://evil.example' }),
    'an access token': body['access_token'] as string,
    garbage: 'garbage',
    'four parts': `${good}.x`,
    oversize: `${'a'.repeat(9000)}.b.c`,
    'hs256 with the public key': await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(JSON.stringify(jwk))),
  })) {
    const page = await agent.post('/authorize', {
      ...Object.fromEntries(new URL(authorizationUrl(service.issuer, client)).searchParams),
      id_token_hint: hint,
      state: 's',
    });
    const sent = responseParameters(page);
    expect(sent, what).toMatchObject({ error: 'invalid_request', state: 's', iss: service.issuer });
    expect(sent, what).not.toHaveProperty('code');
  }
});
