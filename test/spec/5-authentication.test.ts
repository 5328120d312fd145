// Specification section 5: tests how each party authenticates, context by context.
import { beforeAll, expect, test } from 'vitest';
import { approveClient, adminToken, call, obtainCode, redeem, userinfo } from '../helpers/grants.ts';
import { type TestClient } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  basic,
  type CodeFlow,
  endSessionAddress,
  introspect,
  isSignedIn,
  manage,
  register,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService();
let client: TestClient;
let mine: CodeFlow;
beforeAll(async () => {
  client = await service().createClient(wholeClient);
  mine = await runCodeFlow(service(), client);
});

test('5 End-User sessions: a valid user name and password set the cookie JSESSIONOPENID, which scripts cannot read (decisions 3)', async () => {
  const agent = new UserAgent(service());
  const page = await agent.get('/login');
  const fields = { username: mine.user.username, password: mine.user.password };
  const answer = await agent.post('/login', { ...hiddenFields(page.body), ...fields });
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('JSESSIONOPENID='));
  expect(cookie).toMatch(/HttpOnly/i);
  expect(cookie).toMatch(/SameSite=Lax/i);
  expect(await isSignedIn(agent, second(service()))).toBe(true);
});

test('5 End-User sessions: the email address works like the user name, and an unknown name looks like a wrong password (decisions 3)', async () => {
  const agent = new UserAgent(service());
  await agent.signIn({ username: mine.user.email!, password: mine.user.password });
  expect(await isSignedIn(agent, second(service()))).toBe(true);
  const failures = await Promise.all(
    [mine.user.username, 'nobody-at-all'].map((username) =>
      new UserAgent(service()).signIn({ username, password: 'wrong password' }),
    ),
  );
  const bare = ({ status, body }: (typeof failures)[number]) =>
    `${status} ${body.replaceAll(/(value|data-options)="[^"]*"|<bdi>[0-9a-f]{8}<\/bdi>/g, '').replaceAll(/nobody-at-all/g, mine.user.username)}`;
  expect(failures[0]!.status).toBe(400);
  expect(bare(failures[1]!)).toBe(bare(failures[0]!));
});

test('5 UserInfo: only Authorization: Bearer with the access token authenticates (decisions 5)', async () => {
  const address = `${second(service())}/user/info`;
  expect((await userinfo(second(service()), mine.tokens.access_token)).status).toBe(200);
  for (const authorization of [client.basic, mine.tokens.access_token, `Bearer ${mine.tokens.id_token}`])
    expect((await call(address, { headers: { authorization } })).status).toBe(401);
});

test('5 Client-authenticated operations: Authorization: Basic with client_id and client_secret (decisions 5)', async () => {
  const path = `/user/${mine.user.sub}/info`;
  expect((await ask(second(service()), path, client.basic)).status).toBe(200);
  const wrong = [client.sharedSecret, client.registrationAccessToken].map((secret) => basic(client.clientId, secret));
  for (const authorization of wrong) expect((await ask(second(service()), path, authorization)).status).toBe(401);
});

test('5 UMA-profile operations: the issued authorization code is the session id of the End-User (decisions 5)', async () => {
  const { body } = await ask(second(service()), '/user/me/scope', `Bearer ${mine.code}`);
  expect(body['sub']).toBe(mine.user.sub);
  await mine.agent.get(authorizationUrl(service().issuer, client));
  expect((await ask(second(service()), '/user/me/scope', `Bearer ${mine.code}`)).status).toBe(200);
});

test('5 Registration read, update and delete: the registration access token authenticates, the client credentials do not (decisions 2)', async () => {
  const { body } = await register(service());
  const address = body['registration_client_uri']!;
  expect((await manage(body, 'GET')).status).toBe(200);
  const authorization = basic(body['client_id']!, body['client_secret']!);
  for (const method of ['GET', 'DELETE'])
    expect((await call(address, { method, headers: { authorization } })).status).toBe(401);
});

test('5 Token introspection: Basic with the id and secret of the caller, and 401 if that fails (decisions 4)', async () => {
  expect((await introspect(second(service()), client, mine.tokens.access_token)).status).toBe(200);
  const wrong = { basic: basic(client.clientId, 'wrong') };
  const refused = await introspect(second(service()), wrong, mine.tokens.access_token);
  expect(refused).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  expect(refused.headers.get('www-authenticate')).toMatch(/^Basic/);
});

test('5 End-session: the cookie JSESSIONOPENID contains the session id (decisions 6)', async () => {
  const { agent } = await runCodeFlow(service(), client);
  const without = new UserAgent(service());
  expect((await without.get(await endSessionAddress(service(), client))).status).toBe(400);
  without.cookies.set('JSESSIONOPENID', agent.cookies.get('JSESSIONOPENID')!);
  expect((await without.get(await endSessionAddress(service(), client))).status).toBe(302);
});

test('5 registration first: an unregistered and an unapproved client are refused in every transaction (decisions 2)', async () => {
  const { body } = await register(service(), wholeClient);
  const disabled = {
    clientId: body['client_id']!,
    redirectUri: 'https://rp.example.com/callback',
    basic: basic(body['client_id']!, body['client_secret']!),
  };
  const unknown = { ...disabled, clientId: 'nobody', basic: basic('nobody', 'secret') };
  for (const of of [disabled, unknown]) {
    for (const path of ['authorize', 'authenticate']) {
      const url = authorizationUrl(service().issuer, of).replace('/authorize', `/${path}`);
      expect((await mine.agent.get(url)).location).toMatch(`${service().issuer}/login?problem=client`);
    }
  }
  const attempts = (of: typeof disabled) => [
    redeem(second(service()), of, mine.code),
    introspect(second(service()), of, mine.tokens.access_token),
    ask(second(service()), `/user/${mine.user.sub}/info`, of.basic),
  ];
  const statuses = async (of: typeof disabled) => (await Promise.all(attempts(of))).map(({ status }) => status);
  expect(await statuses(disabled)).toEqual([400, 403, 403]);
  expect(await statuses(unknown)).toEqual([401, 401, 401]);
  await approveClient(service().issuer, await adminToken(service()), disabled.clientId);
  expect(await obtainCode(service(), disabled, mine.user)).toEqual(expect.any(String));
});

test('5 code grant: a confidential client that authenticates gets access and refresh tokens, once for each code (decisions 4)', async () => {
  const code = await obtainCode(service(), client, undefined, {}, mine.agent);
  const { redirectUri: redirect_uri } = client;
  const fields = { grant_type: 'authorization_code', code, redirect_uri };
  const unproven = await tokenRequest(second(service()), undefined, { ...fields, client_id: client.clientId });
  expect(unproven).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  const { status, body } = await redeem(second(service()), client, code);
  expect([status, body['token_type']]).toEqual([200, 'Bearer']);
  expect(body).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
  expect(await redeem(service().issuer, client, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});
