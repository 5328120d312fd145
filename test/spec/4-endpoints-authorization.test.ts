// Specification sections 4.1 and 4.2: tests the authorization endpoint and the End-User authentication endpoint.
import { beforeAll, expect, test } from 'vitest';
import { obtainCode, redeem, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import type { TestUser } from '../helpers/service.ts';
import { ask, createTestUser, everyScope, runCodeFlow, second, useService, wholeClient } from './kit.ts';

const service = useService();
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  client = await service().createClient(wholeClient, { firstParty: true });
  user = await createTestUser(service());
});

async function signedIn(): Promise<UserAgent> {
  const agent = new UserAgent(service());
  await agent.signIn(user);
  return agent;
}
const request = (parameters: Record<string, string> = {}) => authorizationUrl(service().issuer, client, parameters);
const authenticate = (parameters: Record<string, string> = {}) =>
  `/authenticate?${new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    ...parameters,
  }).toString()}`;
const isSignInPage = (page: Page) => page.status === 200 && page.body.includes('id="password"');
/** Every request that cannot be trusted, as the parameters that differ from a good one. */
const untrusted: Record<string, string>[] = [
  { client_id: 'nobody' },
  { redirect_uri: 'https://evil.example/' },
  { client_id: '' },
];

test('4.1 path: it is /authorize, and discovery says so (decisions 1)', async () => {
  const document = await fetch(`${second(service())}/.well-known/openid-configuration`);
  const { authorization_endpoint } = (await document.json()) as Record<string, string>;
  expect(authorization_endpoint).toBe(`${service().issuer}/authorize`);
});

test('4.1 methods: GET with a query and POST with a form have the same sign-in, and result in a code (decisions 1)', async () => {
  const fields = Object.fromEntries(new URL(request({ state: 's' })).searchParams);
  for (const send of [
    (agent: UserAgent) => agent.get(request({ state: 's' })),
    (agent: UserAgent) => agent.post('/authorize', fields),
  ]) {
    const agent = new UserAgent(service());
    const page = await agent.signIn(user, await agent.follow(await send(agent)));
    expect(responseParameters(page)).toMatchObject({ code: expect.any(String), state: 's' });
  }
});

test('4.1 methods: HEAD, a prefetch and a load that is no top-level document have no effect (decisions 3)', async () => {
  const agent = await signedIn();
  expect((await agent.fetch(request(), { method: 'HEAD' })).status).toBe(405);
  for (const headers of [{ 'sec-fetch-dest': 'iframe' }, { 'sec-purpose': 'prefetch' }] as Record<string, string>[])
    expect(await agent.get(request(), headers)).toMatchObject({ status: 403, location: undefined });
});

test('4.1 cookie: JSESSIONOPENID references the session, so that the user need not sign in again (decisions 3)', async () => {
  const agent = await signedIn();
  expect([...agent.cookies.keys()]).toContain('JSESSIONOPENID');
  expect(responseParameters(await agent.get(request()))['code']).toBeDefined();
  agent.cookies.set('JSESSIONOPENID', 'A'.repeat(43));
  expect(isSignInPage(await agent.follow(await agent.get(request())))).toBe(true);
});

test('4.1 success: a redirect with an authorization code, which any instance redeems (decisions 3)', async () => {
  const code = await obtainCode(service(), client, user);
  expect((await redeem(second(service()), client, code)).status).toBe(200);
});

test('4.1 error: without a session, and for an untrusted request, a redirect to the sign-in page (decisions 3)', async () => {
  const visitor = new UserAgent(service());
  expect((await visitor.get(request())).location).toMatch(`${service().issuer}/login?transaction=`);
  for (const agent of [visitor, await signedIn()]) {
    for (const parameters of untrusted) {
      const page = await agent.get(request(parameters));
      expect(page.location).toMatch(`${service().issuer}/login?problem=`);
      const last = await agent.follow(page);
      expect([last.status, last.body.includes('id="password"')]).toEqual([400, false]);
    }
  }
});

test('4.1 error: the error of a trusted request goes to the client after sign-in, with state and iss (decisions 3)', async () => {
  const wrong = request({ response_type: 'magic', state: 's' });
  const error = { error: 'unsupported_response_type', state: 's', iss: service().issuer };
  expect(responseParameters(await (await signedIn()).get(wrong))).toMatchObject(error);
  const visitor = new UserAgent(service());
  const first = await visitor.follow(await visitor.get(wrong));
  expect(isSignInPage(first)).toBe(true);
  expect(responseParameters(await visitor.signIn(user, first))).toMatchObject(error);
});

test('4.2 client_id and redirect_uri: both are required, and must belong to one registration (decisions 3)', async () => {
  const agent = await signedIn();
  expect(responseParameters(await agent.get(authenticate()))['code']).toBeDefined();
  for (const parameters of [...untrusted, { redirect_uri: '' }])
    expect((await agent.get(authenticate(parameters))).location).toMatch(`${service().issuer}/login?problem=`);
});

test('4.2 cookie: the service sets JSESSIONOPENID only for a valid user name and password (decisions 3)', async () => {
  const agent = new UserAgent(service());
  const page = await agent.signIn({ username: user.username, password: 'a wrong password' });
  expect(page.status).toBe(400);
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(false);
  await agent.signIn(user);
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(true);
});

test('4.2 effect: it creates and renews the client session of the End-User, with the scopes of the registration (decisions 3)', async () => {
  const agent = await signedIn();
  const codes: string[] = [];
  const named = async (code: string) =>
    (await ask(second(service()), '/user/me/scope', `Bearer ${code}`)).body['username'];
  for (let times = 0; times < 2; times++) {
    codes.push(responseParameters(await agent.get(authenticate(), { 'sec-fetch-site': 'none' }))['code']!);
    expect(await named(codes[times]!)).toBe(user.username);
  }
  // a client session in use lives on
  expect(await named(codes[0]!)).toBe(user.username);
  expect(codes[0]).not.toBe(codes[1]);
  const { body } = await redeem(second(service()), client, codes[1]!);
  expect((body['scope'] as string).split(' ')).toEqual(expect.arrayContaining(everyScope.split(' ')));
  expect((await userinfo(second(service()), body['access_token'] as string)).status).toBe(200);
});

test('4.2 success: a redirect to redirect_uri with a code, and with state if the request has one (decisions 3)', async () => {
  const page = await (await signedIn()).get(authenticate({ state: 's' }));
  expect(page.status).toBe(302);
  expect(page.location).toMatch(`${client.redirectUri}?`);
  expect(responseParameters(page)).toEqual({
    code: expect.any(String),
    state: 's',
    session_state: expect.any(String),
    iss: service().issuer,
  });
});

test('4.2 success: a request from another site without a code_challenge gets a page with a button first (decisions 3)', async () => {
  const guest = await service().createClient(wholeClient);
  const { agent } = await runCodeFlow(service(), guest, { scope: guest.metadata.scope }, { user });
  const parameters = { client_id: guest.clientId, redirect_uri: guest.redirectUri };
  const page = await agent.get(authenticate(parameters), { 'sec-fetch-site': 'cross-site' });
  expect([page.status, page.body.includes('id="continue"')]).toEqual([200, true]);
  expect(responseParameters(await agent.submit(page, {}))['code']).toBeDefined();
});

test('4.2 error: an End-User without a session is redirected to the sign-in page, and then continues (decisions 3)', async () => {
  const agent = new UserAgent(service());
  const page = await agent.get(authenticate({ state: 's' }));
  expect(page.location).toMatch(`${service().issuer}/login?transaction=`);
  expect(responseParameters(await agent.signIn(user, await agent.follow(page)))).toMatchObject({ state: 's' });
});
