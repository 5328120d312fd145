// A request with prompt=none in a frame, by which browser applications renew their tokens, is answered by a redirect and never by a page.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent, withoutLanguages } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  user = await service.createUser();
  client = await service.createClient({
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code', 'id_token'],
  });
  agent = new UserAgent(service);
  await agent.authorize(client, user);
});
afterAll(() => service?.stop());

const frame = { 'sec-fetch-dest': 'iframe', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' };
const load = (browser: UserAgent, parameters: Record<string, string>, rp: Partial<TestClient> = {}) =>
  browser.get(authorizationUrl(service.issuer, { ...client, ...rp }, parameters), frame);
const rows = async () =>
  (
    await service.database.sql<Record<string, number>>(
      'SELECT (SELECT count(*) FROM authorization_requests)::int AS requests, (SELECT count(*) FROM authorization_codes)::int AS codes',
    )
  )[0]!;
/** Checks that the response shows no page: it is JSON, or a refusal without a form that no browser displays in a frame. */
const isNoPage = (page: Page) => {
  if (page.status === 403) expect(withoutLanguages(page.body)).not.toContain('<form');
  else expect(page.headers.get('content-type')).toMatch(/^application\/json/);
  expect(page.headers.get('x-frame-options')).toBe('DENY');
  expect(page.location).toBeUndefined();
  expect(page.headers.getSetCookie()).toEqual([]);
};

test('a signed-in browser gets its code (OpenID Connect Core 3.1.2.1, security R8)', async () => {
  const page = await load(agent, { prompt: 'none', state: 's' });
  expect(page.status).toBe(302);
  expect(page.location).toMatch(`${client.redirectUri}?code=`);
  expect(responseParameters(page)).toMatchObject({ state: 's', iss: service.issuer });
  const implicit = await load(agent, { prompt: 'none', response_type: 'id_token', nonce: 'n' });
  expect(implicit.location).toMatch(`${client.redirectUri}#id_token=`);
});

test.each<[string, Record<string, string>]>([
  ['login_required', { max_age: '0' }],
  ['consent_required', { scope: 'openid email' }],
  ['invalid_request', { prompt: 'none login' }],
  ['invalid_request', { prompt: 'none', response_mode: 'form_post' }],
  ['invalid_scope', { scope: 'profile' }],
])('an error is a redirect, too: %s for %j (OpenID Connect Core 3.1.2.6, security R8)', async (error, parameters) => {
  const before = await rows();
  const page = await load(agent, { prompt: 'none', state: 's', ...parameters });
  expect(page.status).toBe(302);
  expect(page.location).toMatch(`${client.redirectUri}?`);
  expect(responseParameters(page)).toMatchObject({ error, state: 's' });
  expect(await rows()).toEqual(before);
});

test('a frame of another site sends no session cookie, gets login_required, and leaves the session unchanged (security R8)', async () => {
  const before = await rows();
  const signedOutBrowser = new UserAgent(service);
  // with SameSite=None the browser sends the state cookie too, for session management
  signedOutBrowser.cookies.set('GATEHOUSE_BROWSER_STATE', agent.cookies.get('GATEHOUSE_BROWSER_STATE') ?? 'state');
  const page = await load(signedOutBrowser, { prompt: 'none' });
  expect(responseParameters(page)['error']).toBe('login_required');
  expect(page.headers.getSetCookie()).toEqual([]);
  expect(await rows()).toEqual(before);
});

test('a form that is posted into a frame gets the same answers (OpenID Connect Core 3.1.2.1, security R8)', async () => {
  const form = { response_type: 'code', scope: 'openid', client_id: client.clientId, redirect_uri: client.redirectUri };
  const posted = await agent.post('/authorize', { ...form, prompt: 'none' }, frame);
  expect(responseParameters(posted)['code']).toBeDefined();
  const refused = await agent.post('/authorize', form, frame);
  expect(refused.status).toBe(403);
  isNoPage(refused);
});

describe('no page', () => {
  test('is shown for an unknown client or a wrong redirect URI, whose answers are the same (security R2, R8)', async () => {
    const before = await rows();
    const unknown = await load(agent, { prompt: 'none' }, { clientId: 'nope' });
    const wrong = await load(agent, { prompt: 'none' }, { redirectUri: 'https://evil.example/' });
    for (const page of [unknown, wrong]) {
      expect(page.status).toBe(400);
      isNoPage(page);
      expect(page.body).not.toContain('evil.example');
    }
    expect(unknown.body).toBe(wrong.body);
    expect(await rows()).toEqual(before);
  });

  test.each<[string, Record<string, string>]>([
    ['no prompt', {}],
    ['prompt=login', { prompt: 'login' }],
    ['prompt=consent', { prompt: 'consent' }],
    ['a request object without a prompt', { request: 'e30.e30.e30' }],
    ['an unknown pushed request', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }],
    ['a prefetch', { prompt: 'none', prefetch: '1' }],
  ])('is shown for %s (security R8)', async (_what, { prefetch, ...parameters }) => {
    const before = await rows();
    const url = authorizationUrl(service.issuer, client, parameters);
    const page = await agent.get(url, { ...frame, ...(prefetch !== undefined && { 'sec-purpose': 'prefetch' }) });
    expect([400, 403]).toContain(page.status);
    isNoPage(page);
    expect(await rows()).toEqual(before);
  });

  test('is shown for a stored request, which continues in its own window (security R4, R8)', async () => {
    const login = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'login' }));
    const transaction = new URL(login.location!).searchParams.get('transaction')!;
    const page = await agent.get(`/authorize?transaction=${transaction}&prompt=none`, frame);
    expect(page.status).toBe(403);
    isNoPage(page);
    const other = await agent.get(`/login?transaction=${transaction}`);
    expect(other.status).toBe(200);
  });
});

test('a pushed request with prompt=none is answered in a frame, and one without it waits for its own window (RFC 9126 4, security R8)', async () => {
  const push = async (more: Record<string, string>) => {
    const body = new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      redirect_uri: client.redirectUri,
      ...more,
    });
    const answer = await fetch(`${service.instances[1]}/par`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body,
    });
    return ((await answer.json()) as Record<string, string>)['request_uri']!;
  };
  const at = (browser: UserAgent, request_uri: string, headers: Record<string, string> = {}) =>
    browser.get(`/authorize?${new URLSearchParams({ client_id: client.clientId, request_uri }).toString()}`, headers);
  expect(responseParameters(await at(agent, await push({ prompt: 'none' }), frame))['code']).toBeDefined();
  const signedOutBrowser = new UserAgent(service);
  expect(responseParameters(await at(signedOutBrowser, await push({ prompt: 'none' }), frame))['error']).toBe(
    'login_required',
  );
  const waiting = await push({});
  expect((await at(new UserAgent(service), waiting, frame)).status).toBe(400);
  expect(responseParameters(await at(agent, waiting))['code']).toBeDefined();
});
