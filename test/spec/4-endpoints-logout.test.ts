// Specification sections 4.3 and 4.4: tests client-initiated logout, and the signed end-session request.
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import {
  type CodeFlow,
  endSessionAddress,
  isSignedIn,
  runCodeFlow,
  second,
  signedOutUri,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService();
let client: TestClient;
beforeAll(async () => {
  client = await service().createClient(wholeClient);
});

const lives = async ({ tokens }: CodeFlow) => (await userinfo(second(service()), tokens.access_token)).status === 200;
const signedIn = ({ agent }: CodeFlow) => isSignedIn(agent, second(service()));

test('4.3 address: it is the end_session_endpoint of discovery, and asks the user (decisions 1)', async () => {
  const response = await fetch(`${service().issuer}/.well-known/openid-configuration`);
  const { end_session_endpoint } = (await response.json()) as Record<string, string>;
  expect(end_session_endpoint).toBe(`${service().issuer}/logout`);
  const { agent } = await runCodeFlow(service(), client);
  expect((await agent.get(end_session_endpoint!)).body).toContain('id="sign-out"');
});

test('4.3 question: neither GET nor POST ends the session before the answer (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const parameters = { 'id-token-hint': mine.tokens.id_token };
  expect((await mine.agent.post('/logout', parameters)).body).toContain('id="sign-out"');
  await mine.agent.get(`/logout?${new URLSearchParams(parameters).toString()}`);
  expect([await signedIn(mine), await lives(mine)]).toEqual([true, true]);
});

test('4.3 yes: the End-User is signed out at once, on every instance (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  await mine.agent.submit(await mine.agent.get('/logout'), { decision: 'sign-out' });
  expect([await signedIn(mine), await lives(mine)]).toEqual([false, false]);
});

test('4.3 yes: the clients of the session are notified by back-channel and front-channel logout (decisions 6)', async () => {
  const told = await service().createClient({
    ...wholeClient,
    frontchannel_logout_uri: 'https://rp.example.com/logout',
    backchannel_logout_uri: 'https://rp.invalid/logout',
  });
  const { agent, tokens } = await runCodeFlow(service(), told);
  const page = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(page.body).toContain('<iframe src="https://rp.example.com/logout?iss=');
  const waiting = await service().store.logoutDeliveries.list(
    { clientId: told.clientId, status: 'waiting' },
    { limit: 2, after: undefined },
  );
  const { sub, sid } = decodeJwt(tokens.id_token);
  expect(waiting).toMatchObject([{ sub, sid }]);
});

test('4.3 no: the session stays unchanged (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const page = await mine.agent.submit(await mine.agent.get('/logout'), { decision: 'stay' });
  expect(page.status).toBe(200);
  expect([await signedIn(mine), await lives(mine)]).toEqual([true, true]);
});

test('4.3 no session: there is no question (decisions 6)', async () => {
  const page = await new UserAgent(service()).get('/logout');
  expect([page.status, page.body.includes('id="sign-out"')]).toEqual([200, false]);
});

test('4.4 path: it is GET /end-session, and the OAuth server metadata names it (decisions 1)', async () => {
  const read = async (name: string) =>
    (await (await fetch(`${service().issuer}/.well-known/${name}`)).json()) as Record<string, string>;
  const metadata = await read('oauth-authorization-server');
  expect(metadata['client_end_session_endpoint']).toBe(`${service().issuer}/end-session`);
  expect(await read('openid-configuration')).not.toHaveProperty('client_end_session_endpoint');
});

test('4.4 cookie: it identifies the session, and without it no session ends (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const page = await new UserAgent(service()).get(await endSessionAddress(service(), client));
  expect([page.status, JSON.parse(page.body)]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
  expect(await lives(mine)).toBe(true);
});

test('4.4 verified: the client session ends at once and without a page, and no other one ends (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const other = await service().createClient(wholeClient);
  const neighbour = await runCodeFlow(service(), other, {}, { user: mine.user, agent: mine.agent });
  const page = await mine.agent.get(await endSessionAddress(service(), client, { sub: mine.user.sub }));
  expect(page.status).toBe(302);
  expect([await lives(mine), await lives(neighbour), await signedIn(mine)]).toEqual([false, true, true]);
});

test('4.4 verified: with all, a first-party client ends the whole session, and other clients are refused (decisions 6)', async () => {
  const own = await service().createClient(wholeClient, { firstParty: true });
  const mine = await runCodeFlow(service(), own);
  const guest = await runCodeFlow(service(), client);
  expect((await guest.agent.get(await endSessionAddress(service(), client, { all: true }))).status).toBe(400);
  expect((await mine.agent.get(await endSessionAddress(service(), own, { all: true }))).status).toBe(302);
  expect([await signedIn(mine), await signedIn(guest)]).toEqual([false, true]);
});

test('4.4 success: a redirect to the redirect_uri of the request, with its state (decisions 6)', async () => {
  for (const redirect_uri of [signedOutUri, client.redirectUri]) {
    const { agent } = await runCodeFlow(service(), client);
    const page = await agent.get(await endSessionAddress(service(), client, { redirect_uri, state: 'a b' }));
    expect([page.status, page.location]).toEqual([302, `${redirect_uri}?state=a+b`]);
  }
});

test('4.4 error: every error is JSON, and no session ends (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const now = Math.floor(Date.now() / 1000);
  const used = { jti: randomUUID(), sub: 'somebody else' };
  const wrong: [Record<string, unknown>, number, string?][] = [
    [{}, 401, client.clientSecret],
    [{ iss: 'nobody' }, 401],
    [{ aud: 'https://evil.example' }, 401],
    [{ iat: now - 120, exp: now + 60 }, 401],
    [{ exp: now + 3600 }, 401],
    [{ jti: undefined }, 401],
    [{ redirect_uri: 'https://evil.example/' }, 400],
    [{ sid: 'another' }, 400],
    [used, 400],
    [used, 401],
  ];
  for (const [claims, status, secret] of wrong) {
    const page = await mine.agent.get(await endSessionAddress(service(), client, claims, secret));
    expect(page.status, JSON.stringify(claims)).toBe(status);
    expect(page.headers.get('content-type')).toMatch(/^application\/json/);
    const error = JSON.parse(page.body) as unknown;
    expect(error).toEqual({ error: expect.any(String), error_description: expect.any(String) });
  }
  expect((await mine.agent.get('/end-session')).status).toBe(400);
  expect([await lives(mine), await signedIn(mine)]).toEqual([true, true]);
});
