// Tests the logout of users who came by a connection: signed out there when they sign out here, and here when the connection says so.
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addConnection, answerOf, changeConnection, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { redeem, userinfo, withoutLimits } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const back = 'https://rp.example.com/bye';
let service: TestService;
let honest: Provider;
let other: Provider;
let receiver: LogoutReceiver;
let client: TestClient;

beforeAll(async () => {
  [honest, other, receiver] = [await startProvider(), await startProvider(), await new LogoutReceiver().start()];
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${honest.host},${other.host},${receiver.host}`,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, honest, 'honest', { provisioning: 'on', logout: 'propagate' });
  await addConnection(service, other, 'other', { provisioning: 'on' });
  client = await service.createClient(
    {
      scope: 'openid',
      post_logout_redirect_uris: [back],
      backchannel_logout_uri: receiver.uri('/told'),
      backchannel_logout_session_required: true,
    },
    { firstParty: true },
  );
});
afterAll(async () => {
  await service?.stop();
  await Promise.all([honest?.stop(), other?.stop(), receiver?.stop()]);
});

let number = 0;
/** A browser in which a new user is signed in by a connection. */
async function signedIn(provider = honest, id = 'honest', claims: Record<string, unknown> = {}) {
  const [sub, sid] = [`subject-${++number}`, `session-${number}`];
  provider.be({ sub, sid, preferred_username: `user ${number}`, ...claims });
  const agent = new UserAgent(service);
  await signInBy(agent, id);
  expect(await isSignedIn(agent)).toBe(true);
  return { agent, sub, sid };
}
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
const tell = (token: string, id = 'honest', base = service.issuer) =>
  fetch(`${base}/connections/${id}/backchannel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token }),
  });
const frame = (parameters: Record<string, string>, id = 'honest') =>
  fetch(`${service.issuer}/connections/${id}/frontchannel-logout?${new URLSearchParams(parameters).toString()}`);
const logout = (parameters: Record<string, string> = {}) => `/logout?${new URLSearchParams(parameters).toString()}`;

describe('a logout token of the connection', () => {
  test('ends the session that came by the session there, on every instance, and tells the client once (federation FR19, F32)', async () => {
    honest.be({ sub: 'told', sid: 'session-told', preferred_username: 'told' });
    const agent = new UserAgent(service);
    const left = await leave(
      agent,
      await signInPage(agent, 'honest', authorizationUrl(service.issuer, client)),
      'honest',
    );
    const done = await agent.follow(await agent.get(await answerOf(left)));
    const { body } = await redeem(service.issuer, client, responseParameters(done)['code']!);
    const bystander = await signedIn();
    const told = await tell(
      await honest.logoutToken({ sid: 'session-told', sub: 'told' }),
      'honest',
      service.instances[1],
    );
    expect([told.status, told.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await isSignedIn(agent)).toBe(false);
    expect((await userinfo(service.issuer, body['access_token'] as string)).status).toBe(401);
    expect(await isSignedIn(bystander.agent)).toBe(true);
    await expect.poll(() => receiver.at('/told').length).toBe(1);
    const [event] = await service.database.sql<{ actor: string; detail: object }>(
      `SELECT actor, detail FROM audit_events WHERE type = 'user.signed_out' ORDER BY id DESC LIMIT 1`,
    );
    expect(event).toMatchObject({ actor: 'connection:honest', detail: { connection: 'honest', by: 'back-channel' } });
  });

  test('that names only a subject ends all sessions of this identity, and no other (federation FR19)', async () => {
    const { agent, sub } = await signedIn();
    const second = new UserAgent(service);
    honest.be({ sub, sid: 'another' });
    await signInBy(second, 'honest');
    const neighbour = await signedIn();
    expect((await tell(await honest.logoutToken({ sub }))).status).toBe(200);
    expect([await isSignedIn(agent), await isSignedIn(second), await isSignedIn(neighbour.agent)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('for a session that is over is accepted, since nothing is left to do (OpenID Connect Back-Channel Logout 2.8)', async () => {
    expect((await tell(await honest.logoutToken({ sid: 'of long ago' }))).status).toBe(200);
  });

  test('ends one session once, however many come with the same jti at once (federation FR19, F32)', async () => {
    const { agent, sid } = await signedIn();
    const token = await honest.logoutToken({ sid });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => tell(token, 'honest', service.instances[index % 2])),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 400),
    ]);
    expect(await isSignedIn(agent)).toBe(false);
  });

  const seconds = Math.floor(Date.now() / 1000);
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  test.each<[string, (named: { sid: string; sub: string }) => Promise<string> | string]>([
    [
      'without a signature',
      (named) => honest.logoutToken(named, { sign: (claims) => new UnsecuredJWT(claims).encode() }),
    ],
    [
      'signed by another key',
      (named) =>
        honest.logoutToken(named, {
          async sign(claims) {
            const { privateKey } = await generateKeyPair('RS256');
            return new SignJWT(claims)
              .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'logout+jwt' })
              .sign(privateKey);
          },
        }),
    ],
    ['with a nonce', (named) => honest.logoutToken({ ...named, nonce: 'n' })],
    ['of another audience', (named) => honest.logoutToken({ ...named, aud: 'another' })],
    ['of several audiences', (named) => honest.logoutToken({ ...named, aud: ['gatehouse', 'another'] })],
    ['of another issuer', (named) => honest.logoutToken({ ...named, iss: other.issuer })],
    ['with the type of another JWT', (named) => honest.logoutToken(named, { header: { typ: 'at+jwt' } })],
    ['without events', (named) => honest.logoutToken({ ...named, events: undefined })],
    ['of another event', (named) => honest.logoutToken({ ...named, events: { other: {} } })],
    ['whose event is no object', (named) => honest.logoutToken({ ...named, events: { [event]: true } })],
    ['without jti', (named) => honest.logoutToken({ ...named, jti: undefined })],
    ['of eleven minutes ago', (named) => honest.logoutToken({ ...named, iat: seconds - 661, exp: undefined })],
    ['of the future', (named) => honest.logoutToken({ ...named, iat: seconds + 600, exp: seconds + 900 })],
    ['that has expired', (named) => honest.logoutToken({ ...named, iat: seconds - 200, exp: seconds - 100 })],
    ['that names nothing', () => honest.logoutToken({})],
    ['whose sid is a number', ({ sub }) => honest.logoutToken({ sub, sid: 5 })],
    ['of the session of another subject', ({ sid }) => honest.logoutToken({ sid, sub: 'somewhere else' })],
    ['that is no JWT', () => 'no token'],
  ])('%s is refused, and signs out no user (federation FR19, F32)', async (_name, make) => {
    const { agent, sub, sid } = await signedIn();
    const answer = await tell(await make({ sid, sub }));
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({
        error: 'invalid_request',
        error_description: expect.stringMatching(/^the logout was refused/),
      }),
    ]);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('ends no session that came by another connection with the same sid (federation FR19, F32)', async () => {
    const { agent, sid } = await signedIn(other, 'other', { sid: 'shared' });
    expect(sid).not.toBe('shared');
    expect((await tell(await honest.logoutToken({ sid: 'shared' }))).status).toBe(200);
    expect((await tell(await honest.logoutToken({ sid: 'shared' }), 'other')).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('ends no session that came by another connection to the same provider (federation FR19, F32)', async () => {
    await addConnection(service, honest, 'twin', { provisioning: 'on' });
    const { agent, sid, sub } = await signedIn(honest, 'twin');
    for (const named of [{ sid }, { sub }, { sid, sub }])
      expect((await tell(await honest.logoutToken(named))).status).toBe(200);
    expect(await isSignedIn(agent)).toBe(true);
    expect((await tell(await honest.logoutToken({ sid }), 'twin')).status).toBe(200);
    expect(await isSignedIn(agent)).toBe(false);
    await service.database.sql(`DELETE FROM connections WHERE id = 'twin'`);
  });

  test('of an unknown connection, or without the token, is refused (federation FR19)', async () => {
    expect((await tell(await honest.logoutToken({ sid: 'x' }), 'nowhere')).status).toBe(400);
    const url = `${service.issuer}/connections/honest/backchannel-logout`;
    expect((await fetch(url, { method: 'POST', body: new URLSearchParams() })).status).toBe(400);
  });
});

test('logout tokens that the provider signed are not limited, and others are (federation FR19)', async () => {
  const limited = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: honest.host, LIMIT_CONNECTION_ANSWERS: '3' },
  });
  await addConnection(limited, honest, 'honest');
  const statusOf = async (token: string) => (await tell(token, 'honest', limited.issuer)).status;
  for (let index = 0; index < 6; index++)
    expect(await statusOf(await honest.logoutToken({ sid: `bulk-${index}` }))).toBe(200);
  const others = [];
  for (let index = 0; index < 4; index++) others.push(await statusOf('no token'));
  expect(others).toEqual([400, 400, 400, 429]);
  await limited.stop();
});

describe('a frame of the connection', () => {
  test('ends the session that iss and sid name, and only pages of the connection may frame it (OpenID Connect Front-Channel Logout 1.0 3)', async () => {
    const { agent, sid } = await signedIn();
    const answer = await frame({ iss: honest.issuer, sid });
    expect([answer.status, answer.headers.get('x-frame-options')]).toEqual([200, null]);
    expect(answer.headers.get('content-security-policy')).toContain(`frame-ancestors ${honest.issuer}`);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test.each([
    ['of another issuer', { iss: 'https://else.example' }],
    ['without an issuer', { iss: undefined }],
    ['without a session', { sid: undefined }],
    ['with an empty session', { sid: '' }],
  ])('%s is refused, and signs out no user (federation FR19)', async (_name, change) => {
    const { agent, sid } = await signedIn();
    const parameters = Object.entries({ iss: honest.issuer, sid, ...change }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    expect((await frame(Object.fromEntries(parameters))).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(true);
  });
});

describe('signing out here', () => {
  test('ends the session here first, then the one there by its ID Token, and comes back to the client (RP-Initiated Logout 2, federation F33)', async () => {
    const { agent } = await signedIn();
    const page = await agent.get(logout({ client_id: client.clientId, post_logout_redirect_uri: back, state: 's 1' }));
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';");
    const left = await agent.submit(page, { decision: 'sign-out' });
    expect(await isSignedIn(agent)).toBe(false);
    const target = new URL(left.location!);
    expect(target.origin + target.pathname).toBe(`${honest.issuer}/end_session`);
    const sent = Object.fromEntries(target.searchParams);
    expect(sent).toMatchObject({
      client_id: 'gatehouse',
      id_token_hint: expect.stringMatching(/^ey/),
      post_logout_redirect_uri: `${service.issuer}/connections/honest/signed-out`,
    });
    const returned = await agent.get(
      `/connections/honest/signed-out?${new URLSearchParams({ state: sent['state']! })}`,
    );
    expect(returned.location).toBe(`${back}?${new URLSearchParams({ state: 's 1' })}`);
    // once
    const again = await agent.get(`/connections/honest/signed-out?${new URLSearchParams({ state: sent['state']! })}`);
    expect([again.status, again.location]).toEqual([200, undefined]);
  });

  test.each([
    ['in another browser', (state: string) => ({ state }), new Map()],
    ['with a foreign state', () => ({ state: 'A'.repeat(43) }), undefined],
    ['without a state', () => ({}), undefined],
    [
      'with an address',
      (state: string) => ({ state: `${state}x`, post_logout_redirect_uri: 'https://evil.example/' }),
      undefined,
    ],
  ])('an answer %s ends on our own page (federation FR13, F33)', async (_name, parameters, cookies) => {
    const { agent } = await signedIn();
    const page = await agent.get(logout({ client_id: client.clientId, post_logout_redirect_uri: back }));
    const left = await agent.submit(page, { decision: 'sign-out' });
    const state = new URL(left.location!).searchParams.get('state')!;
    const browser = cookies ? new UserAgent(service) : agent;
    const query = new URLSearchParams(parameters(state) as Record<string, string>).toString();
    const returned = await browser.get(`/connections/honest/signed-out?${query}`);
    expect([returned.status, returned.location]).toEqual([200, undefined]);
    expect(returned.body).not.toContain('evil.example');
  });

  test('stays here where the connection does not ask for more, or the provider has no such address (federation 4)', async () => {
    const { agent } = await signedIn(other, 'other');
    const end = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    expect([end.status, end.location]).toEqual([200, undefined]);
    const [row] = await service.database.sql<{ discovery: object }>(
      `SELECT discovery FROM connections WHERE id = 'honest'`,
    );
    await changeConnection(service, 'honest', { discovery: { ...row!.discovery, end_session_endpoint: undefined } });
    const second = await signedIn();
    const ended = await second.agent.submit(await second.agent.get('/logout'), { decision: 'sign-out' });
    expect([ended.status, ended.location]).toEqual([200, undefined]);
    await changeConnection(service, 'honest', { discovery: row!.discovery });
  });

  test('sends no ID Token of another session there (federation 4)', async () => {
    const { agent, sub } = await signedIn();
    honest.be({ sub, sid: 'a newer session' });
    await signInBy(new UserAgent(service), 'honest');
    const left = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    expect(new URL(left.location!).searchParams.has('id_token_hint')).toBe(false);
  });
});
