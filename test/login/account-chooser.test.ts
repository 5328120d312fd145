// The account chooser: which accounts a browser offers, prompt=select_account, the removal of an account, and who never learns a name.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';

let service: TestService;
let alice: TestUser;
let bob: TestUser;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService();
  alice = await service.createUser({ username: 'alice', claims: { name: 'Alice <i>Liddell</i>' } });
  bob = await service.createUser({ username: 'bob' });
  client = await service.createClient({ client_name: 'Harbour' });
});
afterAll(() => service?.stop());

const path = '/login/accounts';
const deviceCookie = 'GATEHOUSE_KNOWN_BROWSER';

/** A browser in which the users signed in one after the other, and the last one is signed in. */
async function browserOf(...users: TestUser[]): Promise<UserAgent> {
  const agent = new UserAgent(service);
  for (const user of users) {
    agent.cookies.delete('JSESSIONOPENID');
    await agent.signIn(user);
  }
  return agent;
}

async function signedOut(...users: TestUser[]): Promise<UserAgent> {
  const agent = await browserOf(...users);
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  return agent;
}

const ask = async (agent: UserAgent, parameters: Record<string, string>) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));

const isChooser = (page: Page) => page.status === 200 && page.body.includes('id="other-account"');
const isSignInPage = (page: Page) => page.status === 200 && page.body.includes('id="password"');
const isIssued = (page: Page) => page.location !== undefined && responseParameters(page)['code'] !== undefined;

/** The subs that the page offers, in order; the signed-in user's is first. */
const offered = ({ body }: Page): string[] =>
  [...body.matchAll(/name="continue" value="([^"]*)"|account=([^"&]*)"/g)]
    .map(([, continued, chosen]) => continued ?? chosen!)
    .filter((sub) => sub !== 'other');

const linkTo = (page: Page, account: string): string =>
  service.issuer + page.body.match(new RegExp(`href="([^"]*[?;&]account=${account})"`))![1]!.replaceAll('&amp;', '&');

const typedName = ({ body }: Page): string => /id="username"[^>]*value="([^"]*)"/.exec(body)![1]!;

async function subOf(page: Page): Promise<string> {
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: client.redirectUri,
  });
  const [, payload = ''] = (body['id_token'] as string).split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string }).sub;
}

const allow = (agent: UserAgent, page: Page) =>
  page.body.includes('id="allow"') ? agent.submit(page, { decision: 'allow' }) : Promise.resolve(page);

test('prompt=select_account shows the accounts of the browser, and one click continues as the signed-in user (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await browserOf(bob, alice);
  await agent.authorize(client, undefined);
  const page = await ask(agent, { prompt: 'select_account' });
  expect(isChooser(page)).toBe(true);
  expect(page.body).toContain('<title>Choose an account for Harbour - Gatehouse</title>');
  expect(page.body).toContain('Alice &lt;i&gt;Liddell&lt;/i&gt;');
  expect(offered(page)).toEqual([alice.sub, bob.sub]);
  const end = await agent.submit(page, { continue: alice.sub });
  expect(isIssued(end)).toBe(true);
  expect(await subOf(end)).toBe(alice.sub);
});

test('prompt=select_account shows the page also if the signed-in user is the only one (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await browserOf(alice);
  // a browser may refuse to keep the cookie that remembers accounts
  agent.cookies.delete(deviceCookie);
  const page = await ask(agent, { prompt: 'select_account' });
  expect(isChooser(page)).toBe(true);
  expect(offered(page)).toEqual([alice.sub]);
});

test('only a choice satisfies prompt=select_account: a reload, the next addresses, an answer to another page and the choice for an earlier request do not (OpenID Connect Core 3.1.2.1, security R9)', async () => {
  const agent = await browserOf(bob, alice);
  await agent.authorize(client, undefined);
  const page = await ask(agent, { prompt: 'select_account' });
  const transaction = new URL(page.url).searchParams.get('transaction')!;
  const isAsked = async () => {
    for (const next of [
      `${path}?transaction=${transaction}`,
      `/authorize?transaction=${transaction}`,
      `/consent?transaction=${transaction}`,
    ])
      expect(isChooser(await agent.follow(await agent.get(next)))).toBe(true);
  };
  await isAsked();
  const answers: Record<string, string>[] = [
    {},
    { continue: bob.sub },
    { continue: 'other' },
    { continue: alice.sub, csrf: 'A'.repeat(43) },
  ];
  for (const fields of answers) {
    const answer = await agent.submit(page, fields);
    expect(answer.location).toBeUndefined();
    await isAsked();
  }
  expect(isIssued(await agent.submit(page, { continue: alice.sub }))).toBe(true);
  expect(isChooser(await ask(agent, { prompt: 'select_account' }))).toBe(true);
});

test('another account of the browser is asked for its credentials, with its name filled in, and the request continues with it (pages, sign-in)', async () => {
  const agent = await browserOf(bob, alice);
  const page = await ask(agent, { prompt: 'select_account' });
  const login = await agent.get(linkTo(page, bob.sub));
  expect(isSignInPage(login)).toBe(true);
  expect(typedName(login)).toBe('bob');
  expect(login.body).not.toContain('Liddell');
  // the way back to the list stays open
  expect(login.body).toContain('id="accounts"');
  const end = await allow(agent, await agent.signIn(bob, login));
  expect(await subOf(end)).toBe(bob.sub);
});

test('another account can be one that the browser does not know (pages, sign-in)', async () => {
  const carol = await service.createUser();
  const agent = await browserOf(alice);
  const login = await agent.get(linkTo(await ask(agent, { prompt: 'select_account' }), 'other'));
  expect(isSignInPage(login)).toBe(true);
  expect(typedName(login)).toBe('');
  const end = await allow(agent, await agent.signIn(carol, login));
  expect(await subOf(end)).toBe(carol.sub);
});

test('a signed-out browser chooses among the accounts that it knows, and signs in at once if it knows none (OpenID Connect Core 3.1.2.1)', async () => {
  const page = await ask(await signedOut(bob, alice), { prompt: 'select_account' });
  expect(isChooser(page)).toBe(true);
  expect(offered(page)).toEqual([alice.sub, bob.sub]);
  expect(page.body).not.toContain('name="continue"');
  const stranger = new UserAgent(service);
  const login = await ask(stranger, { prompt: 'select_account' });
  expect(isSignInPage(login)).toBe(true);
  expect(isIssued(await allow(stranger, await stranger.signIn(alice, login)))).toBe(true);
});

test.each<[string, Record<string, string>]>([
  ['prompt=login', { prompt: 'select_account login' }],
  ['max_age', { prompt: 'select_account', max_age: '0' }],
])(
  'the choice does not replace a new sign-in that %s demands (OpenID Connect Core 3.1.2.1, security R9)',
  async (_what, parameters) => {
    const agent = await browserOf(alice);
    await agent.authorize(client, undefined);
    const page = await ask(agent, parameters);
    expect(isChooser(page)).toBe(true);
    const login = await agent.submit(page, { continue: alice.sub });
    expect(isSignInPage(login)).toBe(true);
    expect(isIssued(await agent.signIn(alice, login))).toBe(true);
  },
);

test('the choice of another user than id_token_hint names leads to a sign-in, and login_hint fills in the name (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await browserOf(bob);
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(await agent.authorize(client, undefined))['code']!,
    redirect_uri: client.redirectUri,
  });
  const other = await browserOf(alice);
  const page = await ask(other, {
    prompt: 'select_account',
    id_token_hint: body['id_token'] as string,
    login_hint: 'bob',
  });
  const login = await other.submit(page, { continue: alice.sub });
  expect(isSignInPage(login)).toBe(true);
  expect(typedName(login)).toBe('bob');
  expect(responseParameters(await other.signIn(alice, login))['error']).toBe('login_required');
});

test('removing the signed-in account forgets it in this browser, and asks for the sign-out (pages, sign-in)', async () => {
  const agent = await browserOf(bob, alice);
  const page = await agent.get(path);
  expect(offered(page)).toEqual([alice.sub, bob.sub]);
  const forged = await agent.submit(page, { remove: alice.sub, csrf: 'A'.repeat(43) });
  expect(forged.status).toBe(400);
  const logout = await agent.submit(page, { remove: alice.sub });
  expect(new URL(logout.url).pathname).toBe('/logout');
  // the session lasts until the user confirms
  expect(offered(await agent.get(path))).toEqual([alice.sub, bob.sub]);
  await agent.submit(logout, { decision: 'sign-out' });
  expect(offered(await agent.get(path))).toEqual([bob.sub]);
});

test('a pushed request with prompt=select_account shows the page, too (RFC 9126 4)', async () => {
  const agent = await browserOf(alice);
  await agent.authorize(client, undefined);
  const pushed = await fetch(`${service.issuer}/par`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      redirect_uri: client.redirectUri,
      prompt: 'select_account',
    }),
  });
  const { request_uri } = (await pushed.json()) as { request_uri: string };
  const query = new URLSearchParams({ client_id: client.clientId, request_uri });
  const page = await agent.follow(await agent.get(`/authorize?${query.toString()}`));
  expect(isChooser(page)).toBe(true);
  expect(isIssued(await agent.submit(page, { continue: alice.sub }))).toBe(true);
});

test('prompt=none with select_account stays an error (OpenID Connect Core 3.1.2.1)', async () => {
  const agent = await browserOf(alice);
  const answer = await ask(agent, { prompt: 'none select_account' });
  expect(responseParameters(answer)['error']).toBe('invalid_request');
});

test('a browser offers the five accounts used last, the last one first (pages, sign-in)', async () => {
  const users: TestUser[] = [];
  for (let count = 0; count < 6; count++) users.push(await service.createUser());
  const agent = await signedOut(...users, users[1]!);
  expect(offered(await agent.get(path))).toEqual([1, 5, 4, 3, 2].map((index) => users[index]!.sub));
});

test('an account can be removed from the list, and the browser is then unknown for that user only (pages, sign-in; security R63)', async () => {
  const agent = await signedOut(bob, alice);
  const page = await agent.submit(await agent.get(path), { remove: alice.sub });
  expect([page.url, offered(page)]).toEqual([service.issuer + path, [bob.sub]]);
  // the last one takes the cookie with it
  const empty = await agent.submit(page, { remove: bob.sub });
  expect(empty.url).toBe(`${service.issuer}/login`);
  expect(agent.cookies.has(deviceCookie)).toBe(false);
  expect(empty.body).not.toContain('id="accounts"');
});

test.each<[string, Record<string, string>, Record<string, string>?]>([
  ['without the token', { csrf: '' }],
  ['with an invented token', { csrf: 'A'.repeat(43) }],
  ['from a foreign origin', {}, { origin: 'https://evil.example' }],
  ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
])('a form %s neither removes an account nor continues (security R55)', async (_what, fields, headers) => {
  const agent = await browserOf(bob, alice);
  const page = await ask(agent, { prompt: 'select_account' });
  const answer = await agent.post(
    path,
    { ...hiddenFields(page.body), ...fields, remove: bob.sub, continue: alice.sub },
    headers,
  );
  expect(answer.status).toBe(headers ? 403 : 400);
  expect(answer.location).toBeUndefined();
  expect(isChooser(await agent.get(page.url))).toBe(true);
  expect(offered(await agent.get(path))).toEqual([alice.sub, bob.sub]);
});

test('the token of another browser, another page or an earlier session removes no account (security R55)', async () => {
  const agent = await browserOf(bob, alice);
  const other = await browserOf(bob, alice);
  const before = hiddenFields((await agent.get(path)).body)['csrf']!;
  const foreign = [
    hiddenFields((await other.get(path)).body)['csrf']!,
    hiddenFields((await agent.get('/login')).body)['csrf']!,
  ];
  await agent.signIn(alice);
  for (const csrf of [before, ...foreign]) expect((await agent.post(path, { csrf, remove: bob.sub })).status).toBe(400);
  expect(offered(await agent.get(path))).toEqual([alice.sub, bob.sub]);
});

test('no frame, sub-resource, prefetch, other browser or copied address learns a name, and the cookie holds none (security R8, R60)', async () => {
  const agent = await signedOut(bob, alice);
  const loads: Record<string, string>[] = [
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-dest': 'empty' },
    { 'sec-purpose': 'prefetch' },
  ];
  for (const headers of loads) {
    const answer = await agent.get(path, headers);
    expect(answer.status).toBe(403);
    expect(answer.body).not.toMatch(/Liddell|alice|bob/);
  }
  const page = await agent.get(path);
  expect(page.headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`);
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(agent.cookies.get(deviceCookie)).toMatch(/^ghkb_[\w-]+$/);
  const stranger = new UserAgent(service);
  await stranger.get('/login');
  expect((await stranger.get(path)).location).toBe(`${service.issuer}/login`);
  // the address of another browser's choice, or a guessed one, fills in nothing
  for (const account of [bob.sub, 'other', 'bob'])
    expect(typedName(await stranger.get(`/login?account=${account}`))).toBe('');
  // a cookie that another site planted beside ours
  const value = agent.cookies.get(deviceCookie)!;
  const doubled = await stranger.get(path, { cookie: `${deviceCookie}=${value}; ${deviceCookie}=${value}` });
  expect(doubled.status).toBe(303);
});

test('the names end with the lifetime of the device cookie, with the password and with the user (pages, sign-in; security R63)', async () => {
  const [ended, changed, deleted, kept] = await Promise.all([0, 1, 2, 3].map(() => service.createUser()));
  const agent = await signedOut(ended!, changed!, deleted!, kept!);
  expect(offered(await agent.get(path))).toHaveLength(4);
  const { sql } = service.database;
  await sql('UPDATE known_browsers SET expires_at = now() WHERE sub = $1', [ended!.sub]);
  await sql(`UPDATE users SET password_hash = 'another' WHERE sub = $1`, [changed!.sub]);
  await sql('DELETE FROM users WHERE sub = $1', [deleted!.sub]);
  expect(offered(await agent.get(path))).toEqual([kept!.sub]);
});

test('a disabled account is not offered, and a first factor alone teaches the browser no name (security R60, R63)', async () => {
  const [disabled, guarded, kept] = await Promise.all([0, 1, 2].map(() => service.createUser()));
  const agent = await signedOut(disabled!, kept!);
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled!.sub]);
  expect(offered(await agent.get(path))).toEqual([kept!.sub]);
  await setUpAuthenticator(await browserOf(guarded!));
  const stopped = await agent.signIn(guarded!);
  expect(stopped.url).toContain('/login/second-factor');
  expect(offered(await agent.get(path))).toEqual([kept!.sub]);
});

test('the account page leads to the list, from which the signed-in user returns to it (pages, sign-in)', async () => {
  const agent = await browserOf(bob, alice);
  const account = await agent.get('/account');
  expect(account.body).toContain(`id="switch-account" href="${path}"`);
  const page = await agent.submit(await agent.get(path), { continue: alice.sub });
  expect([page.status, page.url]).toEqual([200, `${service.issuer}/account`]);
  const login = await agent.get(linkTo(await agent.get(path), bob.sub));
  expect((await agent.signIn(bob, login)).body).toContain('bob');
});

test('a request that has expired meanwhile is not continued (specification 4.1)', async () => {
  const agent = await browserOf(bob, alice);
  const page = await ask(agent, { prompt: 'select_account' });
  await service.database.sql('UPDATE authorization_requests SET expires_at = now()');
  const answer = await agent.submit(page, { continue: alice.sub });
  expect(answer.location).toBeUndefined();
  expect(answer.body).toContain('This page expired');
});
