// After a sign-out, the front-channel logout page loads the registered URIs of the session's clients in frames.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const back = 'https://one.example.com/bye';
let service: TestService;
let one: TestClient;
let two: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  one = await service.createClient({
    client_name: 'Harbour',
    redirect_uris: ['https://one.example.com/callback'],
    frontchannel_logout_uri: 'https://one.example.com/logout',
    post_logout_redirect_uris: [back],
  });
  two = await service.createClient({
    redirect_uris: ['https://two.example.com:8443/callback'],
    frontchannel_logout_uri: 'https://two.example.com:8443/logout?tenant=a%26b',
    frontchannel_logout_session_required: true,
  });
});
afterAll(() => service?.stop());

/** Signs a new user in to these clients in one browser. */
async function signInTo(clients: TestClient[]) {
  const agent = new UserAgent(service);
  const user = await service.createUser();
  let idToken = '';
  for (const client of clients) idToken = (await obtainTokens(service, client, user, {}, agent)).id_token;
  return { agent, user, idToken, sid: decodeJwt(idToken)['sid'] as string };
}

const query = (parameters: Record<string, string>) => `/logout?${new URLSearchParams(parameters).toString()}`;

async function signOut(agent: UserAgent, parameters: Record<string, string> = {}): Promise<Page> {
  return agent.submit(await agent.get(query(parameters)), { decision: 'sign-out' });
}

const unescapeAmpersands = (text: string) => text.replaceAll('&amp;', '&');
const framesOf = (page: Page) =>
  [...page.body.matchAll(/<iframe src="([^"]*)"/g)].map((match) => unescapeAmpersands(match[1]!)).sort();
const policyOf = (page: Page) => page.headers.get('content-security-policy')!.split('; ');

test('the discovery document says that front-channel logout is supported, with session ids (Front-Channel Logout 1.0 section 3)', async () => {
  const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
  expect(body).toMatchObject({ frontchannel_logout_supported: true, frontchannel_logout_session_supported: true });
});

test("after the user signs out, the page frames each client's URI with iss and sid, and then continues (Front-Channel Logout 1.0 sections 2, 3)", async () => {
  const { agent, sid } = await signInTo([one, two]);
  const page = await signOut(agent, { client_id: one.clientId, post_logout_redirect_uri: back, state: 'a&"<b>' });
  expect([page.status, page.location]).toEqual([200, undefined]);
  const named = new URLSearchParams({ iss: service.issuer, sid }).toString();
  expect(framesOf(page)).toEqual([
    `https://one.example.com/logout?${named}`,
    `https://two.example.com:8443/logout?tenant=a%26b&${named}`,
  ]);
  const onward = /href="([^"]*)"[^>]*data-go-on/.exec(page.body)?.[1];
  expect(unescapeAmpersands(onward!)).toBe(`${back}?${new URLSearchParams({ state: 'a&"<b>' }).toString()}`);
  expect(page.body).toContain('Go to <bdi>Harbour</bdi>');
  const [frames] = policyOf(page).filter((directive) => directive.startsWith('frame-src'));
  expect(frames?.split(' ').sort()).toEqual(['frame-src', 'https://one.example.com', 'https://two.example.com:8443']);
  expect(policyOf(page)).toContain(`frame-ancestors 'none'`);
  expect(page.headers.get('cache-control')).toContain('no-store');
  // the session has ended by then, so that a second answer frames no client
  expect((await agent.get('/account')).location).toMatch('/login');
  expect((await agent.get(query({ client_id: one.clientId, post_logout_redirect_uri: back }))).location).toBe(back);
});

test('without a post-logout redirect URI, the page with the frames says that the user is signed out (decisions section 6)', async () => {
  const { agent } = await signInTo([one]);
  const page = await signOut(agent);
  expect(page.body).toContain('You’re signed out');
  expect(framesOf(page)).toHaveLength(1);
  expect(page.body).not.toContain('data-go-on');
});

test('clients without a URI, disabled clients and clients without a session are not framed, so that the user is redirected at once (decisions section 6)', async () => {
  const [none, disabled] = [await service.createClient(), await service.createClient(two.metadata)];
  const { agent } = await signInTo([none, disabled]);
  await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [disabled.clientId]);
  const end = await signOut(agent, { client_id: one.clientId, post_logout_redirect_uri: back });
  expect([end.status, end.location]).toEqual([302, back]);
});

test('neither the question nor the answer to stay signed in frames a client (decisions section 6)', async () => {
  const { agent } = await signInTo([one]);
  const question = await agent.get('/logout');
  const stayed = await agent.submit(question, { decision: 'stay' });
  for (const page of [question, stayed]) {
    expect(framesOf(page)).toEqual([]);
    expect(page.headers.get('content-security-policy')).not.toContain('frame-src');
  }
});

describe('registration', () => {
  const redirect_uris = ['https://rp.example.com/callback', 'https://rp.example.com:8443/callback'];
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, { body: { redirect_uris, ...metadata } });

  test('a client registers the URI and the flag, and the answer shows them (Front-Channel Logout 1.0 section 2)', async () => {
    const members = {
      frontchannel_logout_uri: 'https://rp.example.com:8443/logout?tenant=1',
      frontchannel_logout_session_required: true,
    };
    expect(await register(members)).toMatchObject({ status: 201, body: members });
  });

  test.each([
    ['https://other.example.com/logout'],
    ['https://rp.example.com:444/logout'],
    ['http://rp.example.com/logout'],
    ['https://rp.example.com/logout#part'],
    ['javascript:alert(1)'],
  ])('%s has a different origin and is refused (Front-Channel Logout 1.0 section 2)', async (uri) => {
    const { status, body } = await register({ frontchannel_logout_uri: uri });
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata']);
  });

  test('a client whose redirect URI has a private-use scheme cannot register a URI, since no origin matches (Front-Channel Logout 1.0 section 2)', async () => {
    const native = { application_type: 'native', redirect_uris: ['com.example.app:/callback'] };
    const { status } = await register({ ...native, frontchannel_logout_uri: 'https://rp.example.com/logout' });
    expect(status).toBe(400);
  });

  test('a new URI of an approved client waits for approval (decisions section 2)', async () => {
    const client = await service.createClient({ redirect_uris });
    const { body } = await call(`${service.issuer}/register/${client.clientId}`, {
      method: 'PUT',
      token: client.registrationAccessToken,
      body: {
        ...client.metadata,
        client_id: client.clientId,
        frontchannel_logout_uri: 'https://rp.example.com/logout',
      },
    });
    expect(body).toHaveProperty('pending_changes.frontchannel_logout_uri');
    expect(body).not.toHaveProperty('frontchannel_logout_uri');
  });
});
