// GET and POST /authenticate answer the short form of an authorization request, and ask the user before they trust a link of another site.
import { newProofKey, postWithProof } from '../helpers/dpop.ts';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
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
beforeAll(async () => {
  service = await startTestService();
  user = await service.createUser({ username: 'alice' });
});
afterAll(() => service?.stop());

const address = (client: Pick<TestClient, 'clientId' | 'redirectUri'>, parameters: Record<string, string> = {}) =>
  `${service.issuer}/authenticate?${new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    ...parameters,
  }).toString()}`;

/** Fetch metadata of a request to which another site's page led, and of one whose address the user typed. */
const fromOtherSite = { 'sec-fetch-site': 'cross-site' };
const typedAddress = { 'sec-fetch-site': 'none' };
const { code_verifier, ...challenge } = pkce();

/** Signs the user in in a new browser, and grants each client all scopes of its registration. */
async function signedIn(...clients: TestClient[]): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  for (const client of clients) await agent.authorize(client, undefined, { scope: client.metadata.scope });
  return agent;
}

const redeem = (client: TestClient, page: Page, more: Record<string, string> = {}) =>
  tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: client.redirectUri,
    ...more,
  });

async function rows(): Promise<number[]> {
  return Promise.all(
    ['authorization_codes', 'client_sessions', 'authorization_requests'].map(
      async (table) => (await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n,
    ),
  );
}

test('the code is bound to the key of dpop_jkt, as at /authorize (RFC 9449 10)', async () => {
  const client = await service.createClient();
  const agent = await signedIn(client);
  const key = await newProofKey();
  const page = await agent.get(address(client, { dpop_jkt: key.jkt, ...challenge }), typedAddress);
  const code = responseParameters(page)['code']!;
  const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, code_verifier };
  expect((await tokenRequest(service.issuer, client, form)).body['error']).toBe('invalid_grant');
  expect((await postWithProof(service, '/token', client, form, key)).status).toBe(200);
});

test('a browser with a live session is redirected with a code for the scopes of the registration (specification 4.2, decisions section 3)', async () => {
  const client = await service.createClient({ scope: 'openid email phone' });
  const agent = await signedIn(client);
  const page = await agent.get(address(client, { state: 's', nonce: 'n', ...challenge }), fromOtherSite);
  expect(page.status).toBe(302);
  expect(page.location).toMatch(`${client.redirectUri}?`);
  expect(Object.keys(responseParameters(page)).sort()).toEqual(['code', 'iss', 'session_state', 'state']);
  expect(responseParameters(page)).toMatchObject({ state: 's', iss: service.issuer });
  expect((await redeem(client, page)).body['error']).toBe('invalid_grant');
  expect((await redeem(client, page, { code_verifier: pkce().code_verifier })).body['error']).toBe('invalid_grant');
  const { body } = await redeem(client, page, { code_verifier });
  expect(body['scope']).toBe('openid email phone');
  expect(decodeJwt(body['id_token'] as string)).toMatchObject({ nonce: 'n', sub: user.sub, aud: client.clientId });
});

test('the service ignores a scope, a response type, a response mode and a prompt in the request (decisions section 3)', async () => {
  const client = await service.createClient({ scope: 'openid email' });
  const agent = await signedIn(client);
  const sent = {
    scope: 'openid phone',
    response_type: 'token',
    response_mode: 'fragment',
    prompt: 'none',
    max_age: '0',
  };
  const page = await agent.get(address(client, { ...sent, ...challenge }), fromOtherSite);
  expect(page.status).toBe(302);
  const { body } = await redeem(client, page, { code_verifier });
  expect(body['scope']).toBe('openid email');
});

test('a signed-out user signs in and allows access, and then the client gets a code (specification 4.2)', async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const first = await agent.get(address(client, { state: 's', ...challenge }), fromOtherSite);
  expect(first.location).toMatch(`${service.issuer}/login?transaction=`);
  const consent = await agent.signIn(user, await agent.follow(first));
  expect(consent.body).toContain('id="allow"');
  const end = await agent.submit(consent, { decision: 'allow' });
  expect(responseParameters(end)).toMatchObject({ state: 's', iss: service.issuer });
  expect((await redeem(client, end, { code_verifier })).status).toBe(200);
});

test('a signed-in user without a grant is asked for consent (decisions section 3)', async () => {
  const client = await service.createClient();
  const page = await (await signedIn()).get(address(client, challenge), fromOtherSite);
  expect(page.location).toMatch(`${service.issuer}/consent?transaction=`);
});

test('an unknown, a disabled and a public client and a wrong redirect URI get the same page (security A106, A2)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  for (const browser of [agent, new UserAgent(service)]) {
    const answers = [];
    for (const rp of [
      { clientId: 'unknown', redirectUri: client.redirectUri },
      await service.createClient({}, { status: 'disabled' }),
      await service.createClient({ token_endpoint_auth_method: 'none' }),
      { clientId: client.clientId, redirectUri: 'https://evil.example/' },
      { clientId: client.clientId, redirectUri: `${client.redirectUri}/` },
    ]) {
      for (const more of [{}, challenge] as Record<string, string>[]) {
        const redirect = await browser.get(address(rp, more), fromOtherSite);
        expect([redirect.status, redirect.location]).toEqual([303, `${service.issuer}/login?problem=client`]);
        const page = await browser.follow(redirect);
        expect(page.status).toBe(400);
        answers.push({
          body: page.body,
          headers: [...redirect.headers, ...page.headers].filter(([name]) => name !== 'date'),
        });
      }
    }
    const alike = answers.map((answer) => JSON.stringify(answer).replaceAll(/(reference=|<bdi>)[0-9a-f]{8}/g, ''));
    for (const answer of alike) expect(answer).toBe(alike[0]);
    expect(answers[0]!.body).not.toMatch(/evil\.example|<form/);
  }
});

test("missing and repeated parameters are reported on the service's own page only (security R5)", async () => {
  const client = await service.createClient();
  const agent = await signedIn(client);
  for (const wrong of [
    `${service.issuer}/authenticate`,
    `${service.issuer}/authenticate?client_id=${client.clientId}`,
    `${address(client, challenge)}&state=1&state=2`,
    `${address(client, challenge)}&redirect_uri=https://evil.example/`,
    `${address(client, { ...challenge, state: 'a\0b' })}`,
    `${address(client, { ...challenge, nonce: 'a\0b' })}`,
  ]) {
    const page = await agent.get(wrong, fromOtherSite);
    expect(page.location).toMatch(`${service.issuer}/login?problem=`);
    expect((await agent.follow(page)).status).toBe(400);
  }
});

test.each([
  ['plain', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }],
  ['no method', { code_challenge: 'a'.repeat(43) }],
  ['42 characters', { code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }],
])('a code_challenge with %s is invalid_request at this endpoint too (security A33)', async (_what, sent) => {
  const client = await service.createClient();
  const agent = await signedIn(client);
  const page = await agent.get(address(client, { ...sent, state: 's' }), fromOtherSite);
  expect(responseParameters(page)).toMatchObject({ error: 'invalid_request', state: 's', iss: service.issuer });
  const signedOut = await new UserAgent(service).get(address(client, sent), fromOtherSite);
  expect(signedOut.location).toMatch(`${service.issuer}/login?transaction=`);
});

test('a client that registered require_pkce must send a challenge, whatever site led the browser here (decisions section 3)', async () => {
  const strictClient = await service.createClient({ require_pkce: true });
  const agent = new UserAgent(service);
  await agent.signIn(user);
  for (const headers of [fromOtherSite, typedAddress])
    expect(responseParameters(await agent.get(address(strictClient), headers))['error']).toBe('invalid_request');
});

test.each<[string, Record<string, string>]>([
  ['from another site', fromOtherSite],
  ['from another host of the same site', { 'sec-fetch-site': 'same-site' }],
  ['from a page that the browser does not report', {}],
])(
  'a request %s without a challenge shows "Continue to CLIENT as USER" first (decisions section 3)',
  async (_what, headers) => {
    const client = await service.createClient({ client_name: 'Harbour' });
    const agent = await signedIn(client);
    const [codes] = await rows();
    const page = await agent.get(address(client, { state: 's', nonce: 'n' }), headers);
    expect(page.status).toBe(200);
    expect(page.location).toBeUndefined();
    for (const shown of ['Harbour', 'alice', 'rp.example.com', 'id="continue"']) expect(page.body).toContain(shown);
    // the language menu has a form of its own
    expect(Object.keys(hiddenFields(page.body)).sort()).toEqual(['csrf', 'shown', 'transaction']);
    expect((await rows())[0]).toBe(codes);
    const answer = await agent.post('/authenticate', hiddenFields(page.body));
    expect(answer.status).toBe(303);
    const end = await agent.follow(answer);
    expect(end.status).toBe(302);
    expect(responseParameters(end)).toMatchObject({ state: 's', iss: service.issuer });
    expect(decodeJwt((await redeem(client, end)).body['id_token'] as string)['nonce']).toBe('n');
    // the browser goes back, and the request has been answered
    expect((await agent.follow(await agent.post('/authenticate', hiddenFields(page.body)))).status).toBe(400);
  },
);

test('no page is shown for a first-party client, for a request with a challenge, or for an address that the user typed (decisions section 3)', async () => {
  const client = await service.createClient();
  const trusted = await service.createClient({}, { firstParty: true });
  const agent = await signedIn(client);
  for (const [rp, parameters, headers] of [
    [trusted, {}, fromOtherSite],
    [client, challenge, fromOtherSite],
    [client, {}, typedAddress],
    [client, {}, { 'sec-fetch-site': 'same-origin' }],
  ] as [TestClient, Record<string, string>, Record<string, string>][])
    expect(responseParameters(await agent.get(address(rp, parameters), headers))['code']).toBeDefined();
});

test.each<[string, (form: Record<string, string>, other: string) => Record<string, string>, Record<string, string>]>([
  ['without the token', ({ transaction }) => ({ transaction: transaction! }), {}],
  ['with an invented token', (form) => ({ ...form, csrf: 'A'.repeat(43) }), {}],
  ['with the token of another page', (form, csrf) => ({ ...form, csrf }), {}],
  ['from a foreign origin', (form) => form, { origin: 'https://evil.example' }],
  ['from another site', (form) => form, { 'sec-fetch-site': 'cross-site' }],
])('a form that is sent %s yields no code (security R55)', async (_what, form, headers) => {
  const client = await service.createClient();
  const agent = await signedIn(client);
  const page = await agent.get(address(client), fromOtherSite);
  const other = hiddenFields((await agent.get(address(client), fromOtherSite)).body)['csrf']!;
  const [codes] = await rows();
  const end = await agent.follow(await agent.post('/authenticate', form(hiddenFields(page.body), other), headers));
  expect(end.status).toBe(Object.keys(headers).length > 0 ? 403 : 400);
  expect((await rows())[0]).toBe(codes);
});

test('images, frames, scripts, prefetches and HEAD requests get no code and no redirect, and create no row (security A108)', async () => {
  const client = await service.createClient();
  const agent = await signedIn(client);
  const before = await rows();
  for (const browser of [agent, new UserAgent(service)]) {
    for (const headers of [
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'empty' },
      { 'sec-purpose': 'prefetch' },
    ] as Record<string, string>[]) {
      for (const parameters of [{}, challenge] as Record<string, string>[]) {
        const page = await browser.get(address(client, parameters), headers);
        expect([page.status, page.location]).toEqual([403, undefined]);
      }
    }
    expect((await browser.fetch(address(client, challenge), { method: 'HEAD' })).status).toBe(405);
  }
  expect(await rows()).toEqual(before);
});

test('only the newest code of many requests is valid (security R19, A110)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  const agent = await signedIn();
  const pages = [];
  for (let call = 0; call < 8; call++) pages.push(await agent.get(address(client), typedAddress));
  const statuses = [];
  for (const page of pages) statuses.push((await redeem(client, page)).status);
  expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 200]);
});

test('the code belongs to the session of the cookie, and to no other client (security R12)', async () => {
  const client = await service.createClient();
  const other = await service.createClient();
  const agent = await signedIn(client);
  const page = await agent.get(address(client, challenge), fromOtherSite);
  expect((await redeem(other, page, { code_verifier })).body['error']).toBe('invalid_grant');
  expect((await redeem(client, page, { code_verifier })).status).toBe(200);
  const silent = await agent.get(authorizationUrl(service.issuer, other, { prompt: 'none' }));
  expect(responseParameters(silent)['error']).toBe('consent_required');
});
