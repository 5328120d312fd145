// Session management: the session_state, its cookie, and the one page that other sites may load in a frame.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, withoutLimits } from '../helpers/grants.ts';
import { internalCookie } from '../../src/browser/cookies.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, UserAgent } from '../helpers/user-agent.ts';

const cookie = 'GATEHOUSE_BROWSER_STATE';
let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  client = await service.createClient();
});
afterAll(() => service?.stop());

const stateOf = (agent: UserAgent) => agent.cookies.get(cookie);
const sessionState = async (agent: UserAgent, rp = client) =>
  responseParameters(await agent.authorize(rp, undefined))['session_state']!;

async function signedIn() {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.authorize(client, user);
  return { user, agent };
}

/** Computes the value as the page in the frame does (Session Management 1.0 section 3.2). */
function expected(clientId: string, origin: string, browserState: string, salt: string): string {
  const hash = createHash('sha256').update(`${clientId} ${origin} ${browserState} ${salt}`).digest('hex');
  return `${hash}.${salt}`;
}

test('the discovery document names the page for the frame (Session Management 1.0 section 3.3)', async () => {
  const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
  expect(body['check_session_iframe']).toBe(`${service.issuer}/check-session`);
});

test('a response contains a session_state of client, origin and browser state, with a new salt (Session Management 1.0 section 2)', async () => {
  const { agent } = await signedIn();
  const states = [await sessionState(agent), await sessionState(agent)];
  for (const state of states) {
    const salt = state.split('.')[1]!;
    expect(state).toBe(expected(client.clientId, 'https://rp.example.com', stateOf(agent)!, salt));
  }
  expect(states[0]).not.toBe(states[1]);
});

test('an error contains no session_state (Session Management 1.0 section 2)', async () => {
  const page = await new UserAgent(service).authorize(client, undefined, { prompt: 'none' });
  expect(responseParameters(page)['error']).toBe('login_required');
  expect(responseParameters(page)).not.toHaveProperty('session_state');
});

test('scripts may read the cookie, which reveals nothing and is the same on every instance (Session Management 1.0 section 3.2)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  expect(stateOf(agent)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  const before = stateOf(agent);
  for (const base of service.instances) await agent.get(`${base}/account`);
  expect(stateOf(agent)).toBe(before);
  const sessionCookie = agent.cookies.get('JSESSIONOPENID')!;
  expect(sessionCookie).not.toContain(before);
  const page = await new UserAgent(service).get('/account', { cookie: `JSESSIONOPENID=${before}` });
  expect(page.status).toBe(303);
  agent.cookies.delete(cookie);
  const lines = (await agent.get('/account')).headers.getSetCookie();
  const name = internalCookie('BROWSER_STATE', service.issuer);
  expect(lines).toEqual([`${name}=${before}; Path=/; SameSite=Lax`]);
});

test('with an https base URL other sites may read the cookie, below the base path (Session Management 1.0 section 3.2)', async () => {
  const secure = await startTestService({
    environment: { BASE_URL: 'https://id.example.com/idp', ...withoutLimits },
    basePath: '/idp',
  });
  try {
    const user = await secure.createUser();
    const agent = new UserAgent({ issuer: secure.instances[0]! });
    const page = await agent.get('/login');
    const action = /<form[^>]*action="([^"]*)"/.exec(page.body)![1]!;
    const csrf = /name="csrf" value="([^"]*)"/.exec(page.body)![1]!;
    const target = new URL(action, page.url).href;
    const form = { csrf, username: user.username, password: user.password };
    await agent.post(target, form, { origin: 'https://id.example.com' });
    const lines = (await agent.get('/account')).headers.getSetCookie();
    expect(lines).toEqual([expect.stringMatching(`^${cookie}_[0-9a-f]{8}=[^;]+; Path=/idp; Secure; SameSite=None$`)]);
  } finally {
    await secure.stop();
  }
});

test('a new sign-in, of the same user or another, changes the cookie (Session Management 1.0 section 3.2)', async () => {
  const { user, agent } = await signedIn();
  const first = stateOf(agent);
  await agent.authorize(client, user, { prompt: 'login' });
  const second = stateOf(agent);
  expect(second).not.toBe(first);
  await agent.authorize(client, await service.createUser(), { prompt: 'login' });
  expect([first, second]).not.toContain(stateOf(agent));
});

test('a sign-out changes the cookie, and the end of the session elsewhere changes it at the next request (Session Management 1.0 section 3.2)', async () => {
  const { agent } = await signedIn();
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(stateOf(agent)).toMatch(/^signed-out\.[A-Za-z0-9_-]{43}$/);
  const { agent: other, user } = await signedIn();
  await service.database.sql('DELETE FROM sessions WHERE sub = $1', [user.sub]);
  await other.authorize(client, undefined, { prompt: 'none' });
  expect(stateOf(other)).toMatch(/^signed-out\./);
});

test('a planted cookie is replaced (security A70)', async () => {
  const { agent } = await signedIn();
  const real = stateOf(agent);
  agent.cookies.set(cookie, 'planted');
  const state = await sessionState(agent);
  expect(stateOf(agent)).toBe(real);
  expect(state).toBe(expected(client.clientId, 'https://rp.example.com', real!, state.split('.')[1]!));
});

test('any site may frame the page, which only runs its own script (security R57)', async () => {
  const page = await new UserAgent(service).get('/check-session', { 'sec-fetch-dest': 'iframe' });
  expect(page.status).toBe(200);
  expect(page.headers.get('x-frame-options')).toBeNull();
  const script = /<script>([^]*)<\/script>/.exec(page.body)![1]!;
  const hash = createHash('sha256').update(script).digest('base64');
  expect(page.headers.get('content-security-policy')).toBe(
    `default-src 'none'; script-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors *`,
  );
  expect(page.headers.getSetCookie()).toEqual([]);
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
});

describe("another site's form", () => {
  /** Sends the form as a browser does over https: with the state cookie (SameSite=None), and without the session cookie (Lax). */
  const postFromOtherSite = (agent: UserAgent, path: string, form: Record<string, string>) =>
    fetch(service.issuer + path, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(form),
      headers: {
        accept: 'text/html',
        origin: 'https://elsewhere.example',
        'sec-fetch-site': 'cross-site',
        cookie: `${internalCookie('BROWSER_STATE', service.issuer)}=${agent.cookies.get('GATEHOUSE_BROWSER_STATE')}`,
      },
    });

  test('is redirected to a request with the session cookie, at /logout and /authorize (OpenID Connect RP-Initiated Logout 2, Core 3.1.2.1)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    for (const path of ['/logout', '/authorize']) {
      const answer = await postFromOtherSite(agent, path, { state: 'x' });
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toBe(`${path}?state=x`);
    }
  });

  test('does not change the browser state to signed out (security R55)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser());
    const answer = await postFromOtherSite(agent, '/login', { username: 'x', password: 'x' });
    expect(answer.status).toBe(403);
    expect(answer.headers.getSetCookie().filter((line) => line.startsWith('GATEHOUSE_BROWSER_STATE'))).toEqual([]);
  });
});
