// Specification section 1: performs each thing that the service says it does, once from end to end.
import { decodeJwt } from 'jose';
import { expect, test } from 'vitest';
import { call, obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  createTestUser,
  endSessionAddress,
  everyScope,
  front,
  introspect,
  isSignedIn,
  manage,
  register,
  runCodeFlow,
  second,
  signedOutUri,
  useService,
  wholeClient,
} from './kit.ts';

const service = useService();

test('1 OpenID Provider: it authenticates an End-User and returns the result to the client in an ID Token (decisions 4)', async () => {
  const { user, client, tokens } = await runCodeFlow(service(), await service().createClient(wholeClient));
  expect(decodeJwt(tokens.id_token)).toMatchObject({ iss: service().issuer, aud: client.clientId, sub: user.sub });
});

test('1 code grant: it issues a code, an access token and a refresh token, which another instance accepts (decisions 4)', async () => {
  const { code, client, tokens } = await runCodeFlow(service(), await service().createClient(wholeClient));
  expect([code, tokens.access_token, tokens.refresh_token].every((token) => typeof token === 'string')).toBe(true);
  const refreshed = await refresh(second(service()), client, tokens.refresh_token);
  expect((await userinfo(service().issuer, refreshed.body['access_token'] as string)).status).toBe(200);
});

test('1 implicit-flow variant: after the front-channel response, the scope query returns the groups (decisions 3)', async () => {
  const client = await service().createClient({
    scope: 'openid scope',
    response_types: ['id_token token'],
    grant_types: ['implicit'],
  });
  const user = await createTestUser(service());
  const parameters = { response_type: 'id_token token', scope: 'openid scope', nonce: 'n' };
  const { location } = await new UserAgent(service()).authorize(client, user, parameters);
  const { access_token: token, id_token: idToken } = front(location);
  expect(decodeJwt(idToken!).sub).toBe(user.sub);
  const { body } = await call(`${second(service())}/user/me/scope`, { token });
  expect(body).toEqual({ sub: user.sub, username: user.username, scope: ['harbour', 'staff'] });
});

test('1 dynamic registration: a client registers, reads, updates and deletes itself, and gets credentials and a shared secret (decisions 2)', async () => {
  const { status, body } = await register(service());
  expect(status).toBe(201);
  for (const given of ['client_id', 'client_secret', 'shared_secret']) expect(body[given]).toMatch(/^[\w-]{16,}$/);
  expect((await manage(body, 'GET')).status).toBe(200);
  const change = { client_id: body['client_id'], redirect_uris: ['https://rp.example.com/2'] };
  expect((await manage(body, 'PUT', change)).body['redirect_uris']).toEqual(change.redirect_uris);
  expect((await manage(body, 'DELETE')).status).toBe(204);
});

test('1 UserInfo: a script of another origin can request it with a Bearer token (decisions 5)', async () => {
  const { tokens, user } = await runCodeFlow(service(), await service().createClient(wholeClient));
  const address = `${service().issuer}/user/info`;
  const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET' };
  const asked = { ...headers, 'access-control-request-headers': 'authorization' };
  const preflight = await fetch(address, { method: 'OPTIONS', headers: asked });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization/i);
  const answer = await call(address, { token: tokens.access_token, headers: { origin: headers.origin } });
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(answer.body['sub']).toBe(user.sub);
});

test('1 UMA profile: address, info, per-client settings and scope accept the code as session id (decisions 5)', async () => {
  const { code } = await runCodeFlow(service(), await service().createClient(wholeClient));
  const answers = ['address', 'info', 'settings', 'scope'].map((name) =>
    ask(second(service()), `/user/me/${name}`, `Bearer ${code}`),
  );
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('1 logout: client-initiated logout and the signed end-session request both work (decisions 6)', async () => {
  const client = await service().createClient(wholeClient);
  const { agent } = await runCodeFlow(service(), client);
  expect((await agent.get(await endSessionAddress(service(), client))).location).toBe(signedOutUri);
  expect(await isSignedIn(agent, service().issuer)).toBe(true);
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(await isSignedIn(agent, second(service()))).toBe(false);
});

test('1 introspection: a resource server gets the state and the claims of a token (decisions 4)', async () => {
  const { client, tokens } = await runCodeFlow(service(), await service().createClient(wholeClient));
  expect((await introspect(second(service()), client, tokens.access_token)).body['active']).toBe(true);
});

test('1 session: a cookie references it, and it binds the End-User to each client of the session (decisions 4)', async () => {
  const [client, other] = [await service().createClient(wholeClient), await service().createClient(wholeClient)];
  const { agent, user, tokens } = await runCodeFlow(service(), client);
  expect(agent.cookies.has('JSESSIONOPENID')).toBe(true);
  // no user is given: the sign-in page would fail this
  const joined = await obtainTokens(service(), other, undefined, { scope: everyScope }, agent);
  expect(decodeJwt(joined.id_token)).toMatchObject({ sub: user.sub, sid: decodeJwt(tokens.id_token)['sid'] });
});
