// The language menu: a link shows a page in another language without script, keeps the pending request, and is remembered.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { internalCookie } from '../../src/browser/cookies.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({
    basePath: '/idp',
    environment: { SIGN_UP: 'on', SMTP_URL: 'smtp://127.0.0.1:1' },
  });
  user = await service.createUser();
  client = await service.createClient();
});
afterAll(() => service?.stop());

const languageOf = ({ body }: Page) => /<html lang="([^"]*)"/.exec(body)![1]!;
const linkTo = ({ body }: Page, tag: string): string =>
  new URL(new RegExp(`href="([^"]*)" lang="${tag}"`).exec(body)![1]!.replaceAll('&amp;', '&'), service.issuer).href;
const open = async (agent: UserAgent, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));
/** A user follows a link of the service's own page. */
const choose = (agent: UserAgent, page: Page, tag: string) =>
  agent.get(linkTo(page, tag), { 'sec-fetch-site': 'same-origin' });

test('a choice in the menu keeps the pending request, goes before ui_locales and Accept-Language, and is remembered (pages, sign-in)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en' });
  const page = await open(agent, { ui_locales: 'ar' });
  expect(languageOf(page)).toBe('ar');
  const german = await choose(agent, page, 'de');
  expect(languageOf(german)).toBe('de');
  expect(german.headers.getSetCookie()).toContain(
    `${internalCookie('LANGUAGE', service.issuer)}=de; Max-Age=31536000; Path=/idp; HttpOnly; SameSite=Lax`,
  );
  const refused = await agent.submit(german, { username: user.username, password: 'wrong' });
  expect([refused.status, languageOf(refused)]).toEqual([400, 'de']);
  // also the page of a refused form has a menu that keeps the request
  const english = await choose(agent, refused, 'en');
  expect(english.url).toContain(`transaction=${new URL(page.url).searchParams.get('transaction')}`);
  const consent = await agent.signIn(user, english);
  expect(languageOf(consent)).toBe('en');
  const arabic = await choose(agent, consent, 'ar');
  expect([languageOf(arabic), arabic.body.includes('id="allow"')]).toEqual(['ar', true]);
  expect(responseParameters(await agent.submit(arabic, { decision: 'allow' }))['code']).toBeDefined();
  expect(languageOf(await agent.get('/account'))).toBe('ar');
});

test('a link of another site, an unknown language and a malformed cookie choose no language (pages, sign-in)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en' });
  const page = await agent.get('/login');
  const foreign = await agent.get(linkTo(page, 'de'), { 'sec-fetch-site': 'cross-site' });
  expect([languageOf(foreign), agent.cookies.has('GATEHOUSE_LANGUAGE')]).toEqual(['en', false]);
  for (const tag of ['xx', 'de-AT', '__proto__', '../de']) {
    const answer = await agent.get(`/login?locale=${encodeURIComponent(tag)}`);
    expect([languageOf(answer), agent.cookies.has('GATEHOUSE_LANGUAGE')]).toEqual(['en', false]);
  }
  agent.cookies.set('GATEHOUSE_LANGUAGE', 'xx');
  expect(languageOf(await agent.get('/login'))).toBe('en');
});

test('the second factor, sign-up, the reset of a password, an invitation and the pages of the account have the menu, which keeps what a page needs (pages, sign-in)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en' });
  const inGerman = async (page: Page) => {
    const german = await choose(agent, page, 'de');
    expect([german.status, languageOf(german)], page.url).toEqual([200, 'de']);
    agent.cookies.delete('GATEHOUSE_LANGUAGE');
    return german;
  };
  const request = await open(agent);
  for (const id of ['sign-up', 'forgotten-password']) {
    const address = new RegExp(`href="([^"]*)" id="${id}"`).exec(request.body)![1]!.replaceAll('&amp;', '&');
    const german = await inGerman(await agent.get(new URL(address, service.issuer).href));
    expect(german.url).toContain(`transaction=${new URL(request.url).searchParams.get('transaction')}`);
  }
  const invited = await service.store.users.insert({ username: 'invited' });
  for (const [path, link] of [
    ['invitation', { purpose: 'invitation', sub: invited.sub }],
    ['password/reset', { purpose: 'recovery', sub: user.sub }],
    ['sign-up/complete', { purpose: 'sign_up', email: 'new@example.com' }],
  ] as const) {
    const { token, hash } = newOpaqueToken('mailed_link');
    await service.store.mailedLinks.insert({
      sub: undefined,
      email: undefined,
      replaces: undefined,
      ...link,
      tokenHash: hash,
      lifetime: 3600,
    });
    const german = await inGerman(await agent.get(`${service.issuer}/${path}?token=${token}`));
    expect(german.body).toContain(`name="token" value="${token}"`);
  }
  const first = new UserAgent(service);
  const second = await service.createUser();
  await first.signIn(second);
  const { app } = await setUpAuthenticator(first);
  const asked = await agent.signIn(second, await open(agent));
  expect(asked.url).toContain('/login/second-factor');
  const german = await inGerman(asked);
  expect((await agent.submit(german, { code: app.code(1) })).body).toContain('id="allow"');
  for (const path of [
    '',
    '/profile',
    '/security',
    '/second-factors',
    '/passkeys',
    '/password',
    '/email',
    '/sessions',
    '/applications',
    '/data',
  ])
    await inGerman(await agent.get(`/account${path}`));
});

test('every page that a link opens has the menu, which keeps the address with its query: an error, sign-out, and what follows it (pages, languages)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  const inGerman = async (path: string) => {
    const page = await agent.get(path, { accept: 'text/html' });
    const german = await agent.get(linkTo(page, 'de'), { 'sec-fetch-site': 'same-origin', accept: 'text/html' });
    expect([german.status, languageOf(german)], path).toEqual([page.status, 'de']);
    agent.cookies.delete('GATEHOUSE_LANGUAGE');
    return new URL(german.url);
  };
  const refused = '/login?problem=request&reference=0123abcd';
  expect((await inGerman(refused)).search).toBe('?problem=request&reference=0123abcd&locale=de');
  // the tag of an earlier choice is replaced
  expect((await inGerman(`${refused}&locale=ar`)).search).toBe('?problem=request&reference=0123abcd&locale=de');
  await inGerman('/logout');
  await agent.signIn(await service.createUser());
  await inGerman('/logout');
});

test('no menu names an address that another site chose (federation FR13; pages, languages)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  for (const path of [
    '/nowhere',
    '/login?problem=request&reference=evil.example',
    `/login?problem=request&reference=${'x'.repeat(65)}`,
    '/login?problem=request&call%200800=1',
    '//evil.example/x',
    '/%5Cevil.example/..//evil.example',
  ]) {
    const page = await agent.get(service.issuer + path, { accept: 'text/html' });
    expect([page.status >= 400, page.body.includes('locale=de')], path).toEqual([true, false]);
  }
});

/** Chooses a language in the menu of a page that no link opens again. */
const chooseBy = (agent: UserAgent, { body }: Page, locale: string, headers = {}) =>
  agent.post('/language', { shown: /name="shown" value="([^"]*)"/.exec(body)![1]!, locale }, headers);

test('the page for an unknown address has the menu, repeats nothing of the address, and needs no statement; a program gets none (security R93; pages, languages)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  const canary = '/canary%22%3E%3Cscript%3Ecanary?canary=https%3A%2F%2Fcanary.example&locale=ar';
  const before = service.statements.length;
  const { origin } = new URL(service.issuer);
  // also outside of the path of the issuer
  for (const address of [service.issuer + canary, origin + canary, `${service.issuer}/login/canary`]) {
    const page = await agent.get(address);
    expect([page.status, languageOf(page), page.body.includes('canary')], address).toEqual([404, 'en', false]);
    const german = await chooseBy(agent, page, 'de');
    expect([german.status, languageOf(german), german.body.includes(page.reference!)]).toEqual([404, 'de', true]);
    // the choice is kept, also for the next unknown address
    expect(languageOf(await agent.get(address))).toBe('de');
    agent.cookies.clear();
  }
  const posted = await fetch(`${service.issuer}/nowhere`, { method: 'POST', headers: { accept: 'text/html' } });
  const method = await fetch(`${service.issuer}/login`, { method: 'DELETE', headers: { accept: 'text/html' } });
  for (const [answer, status] of [
    [posted, 404],
    [method, 405],
  ] as const)
    expect([answer.status, (await answer.text()).includes('name="shown"')]).toEqual([status, true]);
  const program = await fetch(service.issuer + canary);
  expect([program.headers.get('content-type'), (await program.text()).includes('canary')]).toEqual([
    'application/json; charset=utf-8',
    false,
  ]);
  expect(service.statements.slice(before)).toEqual([]);
});

test('the page that asks whether to continue to an application has the menu, and its button works in the other language (pages, languages)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  // the page is for users that the client would get back at once
  await agent.signIn(user);
  await agent.authorize(client, undefined, { scope: client.metadata.scope });
  const query = new URLSearchParams({ client_id: client.clientId, redirect_uri: client.redirectUri });
  const page = await agent.get(`/authenticate?${query}`, {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
  });
  expect([page.status, page.body.includes('id="continue"')]).toEqual([200, true]);
  const german = await chooseBy(agent, page, 'de');
  expect([german.status, languageOf(german), german.body.includes('id="continue"')]).toEqual([200, 'de', true]);
  expect(responseParameters(await agent.submit(german, { decision: 'continue' }))['code']).toBeDefined();
});

test('a page that answers a form, and one that is shown once, has the menu, and nothing of it is lost in another language (pages, languages)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  await agent.signIn(await service.createUser());
  const { page, recoveryCodes } = await setUpAuthenticator(agent);
  expect([page.status, recoveryCodes.length > 5]).toEqual([200, true]);
  const german = await chooseBy(agent, page, 'de');
  expect([german.status, languageOf(german)]).toEqual([200, 'de']);
  for (const code of recoveryCodes) expect(german.body).toContain(code);
  expect(languageOf(await agent.get('/account'))).toBe('de');
  // its own menu offers the others again
  expect(languageOf(await chooseBy(agent, german, 'ar'))).toBe('ar');
  agent.cookies.clear();
  // a sign-in by a connection that has ended, and a form that could not be read
  const problem = await agent.get('/connections/none/callback?state=x&code=y', { accept: 'text/html' });
  const refused = await agent.post('/consent', { transaction: 'x' }, { accept: 'text/html' });
  for (const one of [problem, refused]) {
    expect(one.status).toBeGreaterThanOrEqual(400);
    const again = await chooseBy(agent, one, 'ar');
    expect([again.status, languageOf(again), again.body.includes(one.reference!)]).toEqual([one.status, 'ar', true]);
  }
});

test('another site chooses no language and shows no page by the form, and nothing is shown that the service did not seal (security R55)', async () => {
  const agent = new UserAgent(service, { 'accept-language': 'en', accept: 'text/html' });
  const page = await agent.post('/consent', { transaction: 'x' }, { accept: 'text/html' });
  const cookie = internalCookie('LANGUAGE', service.issuer);
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Record<
    string,
    string
  >[]) {
    const foreign = await chooseBy(agent, page, 'de', headers);
    expect([foreign.status, languageOf(foreign), agent.cookies.has(cookie)]).toEqual([403, 'en', false]);
  }
  const shown = /name="shown" value="([^"]*)"/.exec(page.body)![1]!;
  const changed = (shown.startsWith('A') ? 'B' : 'A') + shown.slice(1);
  for (const [sealed, locale] of [
    [changed, 'de'],
    [shown.slice(0, -4), 'de'],
    ['', 'de'],
    [shown, 'xx'],
  ] as const) {
    const answer = await agent.post('/language', { shown: sealed, locale }, { accept: 'text/html' });
    expect([answer.status, agent.cookies.has(cookie)], sealed).toEqual([400, false]);
  }
});
