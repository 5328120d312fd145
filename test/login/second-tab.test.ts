// Two tabs of one browser: the pages of the second one were drawn before the first one signed in. And the button that leaves the sign-in page.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let user: TestUser;
let other: TestUser;
beforeAll(async () => {
  service = await startTestService();
  client = await service.createClient({ client_name: 'Harbour' });
  user = await service.createUser();
  other = await service.createUser();
});
afterAll(() => service?.stop());

const open = async (agent: UserAgent, parameters: Record<string, string> = {}): Promise<Page> =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, { prompt: 'consent', ...parameters })));
const isConsent = (page: Page) => page.status === 200 && page.body.includes('id="allow"');

describe('the second tab', () => {
  test('continues with the session of the first, whatever password was typed, and after a reload (OpenID Connect Core 3.1.2.3, reports A3)', async () => {
    for (const password of [user.password, 'another password', '']) {
      const agent = new UserAgent(service);
      const [first, second] = [await open(agent, { state: 'one' }), await open(agent, { state: 'two' })];
      expect(isConsent(await agent.signIn(user, first))).toBe(true);
      const session = agent.cookies.get('JSESSIONOPENID');
      const next = await agent.submit(second, { username: user.username, password });
      expect(isConsent(next)).toBe(true);
      expect(isConsent(await agent.follow(await agent.get(second.url)))).toBe(true);
      expect(agent.cookies.get('JSESSIONOPENID')).toBe(session);
      expect(responseParameters(await agent.submit(next, { decision: 'allow' }))).toMatchObject({ state: 'two' });
    }
  });

  test('continues with a session that was renewed, too, and asks again where the request wants it (security R9, reports A3)', async () => {
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const [first, second] = [
      await open(agent, { prompt: 'login consent' }),
      await open(agent, { prompt: 'login consent', state: 'two' }),
    ];
    expect(isConsent(await agent.signIn(user, first))).toBe(true);
    expect(isConsent(await agent.submit(second, { username: user.username, password: 'x' }))).toBe(true);
    // a request that began after the sign-in is not satisfied by it
    const third = await open(agent, { prompt: 'login' });
    expect(third.url).toContain('/login?');
    expect((await agent.follow(await agent.get(third.url))).body).toContain('id="password"');
  });

  test('says who is signed in if another user was named, and offers another account (reports A3)', async () => {
    const agent = new UserAgent(service);
    const [first, second] = [await open(agent), await open(agent, { state: 'two' })];
    await agent.signIn(user, first);
    const session = agent.cookies.get('JSESSIONOPENID');
    const page = await agent.submit(second, { username: other.username, password: other.password });
    expect(new URL(page.url).pathname).toBe('/login/accounts');
    expect(page.body).toContain(user.username);
    expect(page.body).toContain('account=other');
    expect(agent.cookies.get('JSESSIONOPENID')).toBe(session);
    expect(isConsent(await agent.submit(page, { continue: user.sub }))).toBe(true);
  });

  test('an invented token is still refused, and a page that was drawn for another session allows nothing (security R55, reports A3)', async () => {
    const agent = new UserAgent(service);
    const [first, second] = [await open(agent), await open(agent)];
    const consent = await agent.signIn(user, first);
    const invented = { ...hiddenFields(second.body), csrf: 'A'.repeat(43) };
    expect((await agent.post('/login', invented)).status).toBe(400);
    await agent.signIn(other);
    const again = await agent.submit(consent, { decision: 'allow' });
    expect([again.status, again.location]).toEqual([400, undefined]);
    expect(again.body).toContain('id="allow"');
    expect(again.body).toContain(other.username);
    expect(again.body).not.toContain('verify where this form came from');
  });
});

describe('Cancel on the sign-in page', () => {
  const cancelled = { error: 'access_denied', state: 'left' };
  const cancel = async (agent: UserAgent, page: Page) => {
    const form = page.body.slice(page.body.indexOf('action="/login/cancel"'));
    return agent.follow(await agent.post('/login/cancel', hiddenFields(form)));
  };

  test('answers the client, also one whose consent is remembered, and with prompt=login (OpenID Connect Core 3.1.2.6, reports E3)', async () => {
    await new UserAgent(service).authorize(client, user, { state: 'allowed' });
    const agent = new UserAgent(service);
    const page = await open(agent, { state: 'left', prompt: '' });
    expect(page.body).toContain('id="cancel"');
    const end = await cancel(agent, page);
    expect([end.status, responseParameters(end)]).toMatchObject([302, cancelled]);
    await agent.authorize(client, user);
    expect(
      responseParameters(await cancel(agent, await open(agent, { state: 'left', prompt: 'login' }))),
    ).toMatchObject(cancelled);
    // once
    expect((await agent.follow(await agent.get(page.url))).body).toContain('expired');
  });

  test('needs the page’s own form, and a page without a request has none (security R55)', async () => {
    const agent = new UserAgent(service);
    const page = await open(agent, { state: 'left' });
    const { transaction } = hiddenFields(page.body);
    const answer = await agent.post('/login/cancel', { transaction: transaction!, csrf: 'A'.repeat(43) });
    expect(answer.status).toBe(400);
    expect((await new UserAgent(service).get('/login')).body).not.toContain('id="cancel"');
    expect(isConsent(await agent.signIn(user, page))).toBe(true);
  });
});
