// Tests what dies at once, and what lives on, when a token is revoked, a session ended, a client disabled or deleted, or a consent
// withdrawn.
import { expect, test } from 'vitest';
import { adminToken, call, obtainCode, redeem, refresh, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  type CodeFlow,
  createTestUser,
  endSessionAddress,
  everyScope,
  form,
  introspect,
  isSignedIn,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService();
const grants = { grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] };

/** Every credential that can exist for one user, one client and one browser, and how to see that it lives. */
interface Out extends CodeFlow {
  neighbour: CodeFlow;
  unredeemed: string;
  clientToken: string;
  elsewhere: CodeFlow;
}
type Kind =
  | 'access token'
  | 'refresh token'
  | 'code as handle'
  | 'fresh handle'
  | 'unredeemed code'
  | 'ID Token'
  | 'session cookie'
  | 'client-credentials token'
  | 'registration access token'
  | "another client's access token"
  | "another client's refresh token"
  | 'other session cookie'
  | 'access token of the other session'
  | 'refresh token of the other session'
  | 'handle of the other session';

let clientCount = 0;
async function takeOut(scope = everyScope): Promise<Out> {
  const client = await service().createClient({ ...wholeClient, ...grants, client_name: `Client ${++clientCount}` });
  const other = await service().createClient(wholeClient);
  const user = await createTestUser(service());
  const mine = await runCodeFlow(service(), client, { scope }, { user });
  const neighbour = await runCodeFlow(service(), other, {}, { user, agent: mine.agent });
  const elsewhere = await runCodeFlow(service(), client, {}, { user });
  const unredeemed = await obtainCode(service(), client, undefined, { scope }, mine.agent);
  const { body } = await tokenRequest(service().issuer, client, { grant_type: 'client_credentials' });
  const out = { ...mine, neighbour, unredeemed, elsewhere, clientToken: body['access_token'] as string };
  return out;
}

const ok = async (answer: Promise<{ status: number }>) => (await answer).status === 200;
const handleLives = async (client: TestClient, handle: string) =>
  (await introspect(second(service()), client, handle)).body['active'] === true;

/** Checked at the second instance, in an order in which no check ends what the next one checks. */
async function alive(out: Out): Promise<Kind[]> {
  const base = second(service());
  const { client, tokens, neighbour, elsewhere } = out;
  const management = `${base}/register/${client.clientId}`;
  const probes: [Kind, () => Promise<boolean>][] = [
    ['access token', () => ok(userinfo(base, tokens.access_token))],
    ['code as handle', () => ok(ask(base, '/user/me/info', `Bearer ${out.code}`))],
    // its first use ends the code as a handle
    ['fresh handle', () => ok(ask(base, '/user/me/info', `Bearer ${tokens.client_session_handle}`))],
    ['ID Token', () => idTokenLives(out)],
    ['session cookie', () => isSignedIn(out.agent, base)],
    ['client-credentials token', () => clientTokenLives(out)],
    ['registration access token', () => ok(call(management, { token: client.registrationAccessToken }))],
    ["another client's access token", () => ok(userinfo(base, neighbour.tokens.access_token))],
    ['other session cookie', () => isSignedIn(elsewhere.agent, base)],
    ['access token of the other session', () => ok(userinfo(base, elsewhere.tokens.access_token))],
    ['handle of the other session', () => ok(ask(base, '/user/me/info', `Bearer ${elsewhere.code}`))],
    ['unredeemed code', () => ok(redeem(base, client, out.unredeemed))],
    ['refresh token', () => ok(refresh(base, client, tokens.refresh_token))],
    ["another client's refresh token", () => ok(refresh(base, neighbour.client, neighbour.tokens.refresh_token))],
    ['refresh token of the other session', () => ok(refresh(base, client, elsewhere.tokens.refresh_token))],
  ];
  const living: Kind[] = [];
  for (const [kind, lives] of probes) if (await lives()) living.push(kind);
  return living;
}

const everything: Kind[] = [
  'access token',
  'code as handle',
  'fresh handle',
  'ID Token',
  'session cookie',
  'client-credentials token',
  'registration access token',
  "another client's access token",
  'other session cookie',
  'access token of the other session',
  'handle of the other session',
  'unredeemed code',
  'refresh token',
  "another client's refresh token",
  'refresh token of the other session',
];
const without = (...dead: Kind[]) => everything.filter((kind) => !dead.includes(kind));

/** A gateway that may introspect every token can still ask when the client itself cannot authenticate any more. */
async function gateway(): Promise<TestClient> {
  const client = await service().createClient();
  await service().database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [client.clientId]);
  return client;
}
const idTokenLives = async (out: Out) => handleLives(await gateway(), out.tokens.id_token);
const clientTokenLives = async (out: Out) => handleLives(await gateway(), out.clientToken);

const revoke = (client: TestClient, token: string) =>
  form(`${service().issuer}/revoke`, { token }, { authorization: client.basic });
const admin = async (path: string, method: string, body?: unknown) => {
  const answer = await call(`${service().issuer}/admin/api${path}`, {
    method,
    body,
    token: await adminToken(service()),
  });
  expect(answer.status).toBeLessThan(300);
};
/** The credentials of one authorization in the first browser. */
const family: Kind[] = ['access token', 'code as handle', 'fresh handle', 'refresh token'];
/** The whole client session there: the credentials of every authorization of the client. */
const inBrowser: Kind[] = [...family, 'ID Token', 'unredeemed code'];
const ofClient: Kind[] = [
  ...inBrowser,
  'access token of the other session',
  'handle of the other session',
  'refresh token of the other session',
];

test('dead at once: at first, every value is valid on the second instance (decisions 4)', async () => {
  expect(await alive(await takeOut())).toEqual(everything);
});

test('dead at once: revoking an access token ends only this token (decisions 4)', async () => {
  const out = await takeOut();
  await revoke(out.client, out.tokens.access_token);
  expect(await alive(out)).toEqual(without('access token'));
});

test('dead at once: revoking a refresh token ends the client session of that browser, and no other (decisions 4)', async () => {
  const out = await takeOut();
  await revoke(out.client, out.tokens.refresh_token);
  expect(await alive(out)).toEqual(without(...inBrowser));
});

test('dead at once: revoking a redeemed code ends the client session of that browser, and no other (decisions 4)', async () => {
  const out = await takeOut();
  await revoke(out.client, out.code);
  expect(await alive(out)).toEqual(without(...inBrowser));
});

test('dead at once: revoking a handle ends the client session of that browser, and no other (decisions 4)', async () => {
  const out = await takeOut();
  await revoke(out.client, out.tokens.client_session_handle);
  expect(await alive(out)).toEqual(without(...inBrowser));
});

test('dead at once: logging out ends the session with its codes and refresh tokens, not the user’s session in another browser (decisions 6)', async () => {
  const out = await takeOut();
  await out.agent.submit(await out.agent.get('/logout'), { decision: 'sign-out' });
  expect(await alive(out)).toEqual(
    without(...inBrowser, 'session cookie', "another client's access token", "another client's refresh token"),
  );
});

test('dead at once: logging out ends everything of a client session except a refresh token with offline_access (decisions 6)', async () => {
  const out = await takeOut(`${everyScope} offline_access`);
  await out.agent.submit(await out.agent.get('/logout'), { decision: 'sign-out' });
  expect(await alive(out)).toEqual(
    without(
      ...inBrowser.filter((kind) => kind !== 'refresh token'),
      'session cookie',
      "another client's access token",
      "another client's refresh token",
    ),
  );
});

test('dead at once: the end-session request ends the client session of this browser, not the session and not other clients (decisions 6)', async () => {
  const out = await takeOut();
  const page = await out.agent.get(await endSessionAddress(service(), out.client));
  expect(page.status).toBe(302);
  expect(await alive(out)).toEqual(without(...inBrowser));
});

test('dead at once: disabling the client ends everything that was issued to it, except the registration access token (decisions 2, 4)', async () => {
  const out = await takeOut();
  await admin(`/clients/${out.client.clientId}/disable`, 'POST');
  expect(await alive(out)).toEqual(without(...ofClient, 'client-credentials token'));
});

test('dead at once: tokens that ended with the disabling of the client stay invalid when it is enabled again (decisions 4)', async () => {
  const out = await takeOut();
  const byId = 'WHERE client_id = $1';
  await service().database.sql(`UPDATE clients SET status = 'disabled' ${byId}`, [out.client.clientId]);
  await service().database.sql(`UPDATE clients SET status = 'enabled' ${byId}`, [out.client.clientId]);
  expect(await alive(out)).toEqual(without(...ofClient, 'client-credentials token'));
});

test('dead at once: deleting the client ends everything that was issued to it, also its registration access token (decisions 2)', async () => {
  const out = await takeOut();
  const address = `${service().issuer}/register/${out.client.clientId}`;
  const answer = await call(address, { method: 'DELETE', token: out.client.registrationAccessToken });
  expect(answer.status).toBe(204);
  expect(await alive(out)).toEqual(without(...ofClient, 'client-credentials token', 'registration access token'));
});

const ofUser = everything.filter((kind) => !['client-credentials token', 'registration access token'].includes(kind));

test('dead at once: disabling the user ends every session and everything that was issued for the user (decisions 4)', async () => {
  const out = await takeOut();
  await admin(`/users/${out.user.sub}`, 'PATCH', { status: 'disabled' });
  expect(await alive(out)).toEqual(without(...ofUser));
});

test('dead at once: a changed password ends every session of the user, with codes, handles and refresh tokens (decisions 4)', async () => {
  const out = await takeOut(`${everyScope} offline_access`);
  await admin(`/users/${out.user.sub}`, 'PATCH', { password: 'another horse battery staple' });
  expect(await alive(out)).toEqual(without(...ofUser));
  const agent = new UserAgent(service());
  expect((await agent.signIn(out.user)).status).toBe(400);
});

test('dead at once: withdrawing the grant ends what was issued by it in every browser, not the session and not other clients (decisions 3)', async () => {
  const out = await takeOut();
  await out.agent.submit(await out.agent.get('/account/applications'), { withdraw: out.client.clientId });
  expect(await alive(out)).toEqual(without(...ofClient));
});

test('dead at once: revoking an unredeemed code ends the client session of that browser, and the code never becomes a handle (decisions 4)', async () => {
  const out = await takeOut();
  await revoke(out.client, out.unredeemed);
  expect((await ask(second(service()), '/user/me/info', `Bearer ${out.unredeemed}`)).status).toBe(401);
  expect(await alive(out)).toEqual(without(...inBrowser));
});
