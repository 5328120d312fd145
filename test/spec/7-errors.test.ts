// Specification section 7: tests the answer to each condition, row by row, and the form that all errors share.
import { beforeAll, expect, test } from 'vitest';
import { call, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  basic,
  type CodeFlow,
  createTestUser,
  endSessionAddress,
  introspect,
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
const wellFormed = { error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.stringMatching(/\w+ \w+/) };

test('7 UserInfo error: an expired token gets 401 with a challenge of error="invalid_token" and an error_description (decisions 5)', async () => {
  const { tokens, user } = await runCodeFlow(service(), client);
  await service().database.sql(
    `UPDATE access_tokens t SET expires_at = now() FROM client_sessions cs WHERE cs.id = t.client_session_id AND cs.sub = $1`,
    [user.sub],
  );
  const { status, headers, body } = await userinfo(second(service()), tokens.access_token);
  expect([status, body]).toEqual([401, { ...wellFormed, error: 'invalid_token' }]);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token", error_description="[^"]*expired/);
});

test('7 UserInfo error: a token without the scope gets 403 insufficient_scope, and a request without a token only a challenge (decisions 5)', async () => {
  const machine = await service().createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  const { body } = await tokenRequest(service().issuer, machine, { grant_type: 'client_credentials' });
  const refused = await userinfo(second(service()), body['access_token'] as string);
  expect(refused).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
  const { status, headers } = await call(`${second(service())}/user/info`);
  expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer realm="\w+"/)]);
});

test('7 UserInfo error: an error outside RFC 6750 has the appropriate HTTP status (decisions 7)', async () => {
  const status = async (init: RequestInit, path = '/user/info') => (await fetch(second(service()) + path, init)).status;
  expect(await status({ method: 'DELETE' })).toBe(405);
  expect(await status({}, '/user/nowhere/at/all')).toBe(404);
});

test('7 Authorization and authentication error: a redirect to the sign-in page, which answers 400 and names the error (decisions 3)', async () => {
  const wrong = { clientId: 'nobody', redirectUri: client.redirectUri };
  for (const path of ['authorize', 'authenticate']) {
    const agent = new UserAgent(service());
    const page = await agent.get(authorizationUrl(service().issuer, wrong).replace('/authorize', `/${path}`));
    expect([302, 303]).toContain(page.status);
    expect(page.location).toMatch(`${service().issuer}/login`);
    expect((await agent.follow(page)).status).toBe(400);
  }
});

test('7 Authorization and authentication error: a wrong password and a tampered form result in the sign-in page (decisions 3)', async () => {
  const user = await createTestUser(service());
  const agent = new UserAgent(service());
  const bad = await agent.signIn({ username: user.username, password: 'wrong password' });
  expect([bad.status, new URL(bad.url).pathname, bad.body.includes('id="password"')]).toEqual([400, '/login', true]);
  const form = { username: user.username, password: user.password, csrf: 'A'.repeat(43) };
  const tampered = await agent.follow(await agent.post('/login', form));
  expect([tampered.status, tampered.body.includes('id="password"')]).toEqual([400, true]);
});

test('7 End-session error: a JSON-encoded error description (decisions 6)', async () => {
  const page = await mine.agent.get(await endSessionAddress(service(), client, {}, 'another secret of enough bytes'));
  expect(page.status).toBe(401);
  expect(page.headers.get('content-type')).toMatch(/^application\/json/);
  expect(JSON.parse(page.body)).toEqual({ ...wellFormed, error: 'invalid_client' });
});

test('7 Settings operations error: a JSON object with an error message and a corresponding description (decisions 5)', async () => {
  const path = '/user/me/settings';
  const send = (authorization: string, body?: unknown) => ask(second(service()), path, authorization, body);
  expect(await send('Bearer nonsense')).toMatchObject({ status: 401, body: wellFormed });
  expect(await send(`Bearer ${mine.code}`, { settings: 7 })).toMatchObject({ status: 400, body: wellFormed });
  expect(await send(client.basic, { settings: {} })).toMatchObject({ status: 403, body: wellFormed });
});

test('7 Introspection: wrong client credentials get 401 (decisions 4)', async () => {
  for (const secret of ['wrong', '', client.sharedSecret]) {
    const refused = await introspect(second(service()), { basic: basic(client.clientId, secret) }, 'any');
    expect(refused).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    expect(refused.headers.get('www-authenticate')).toMatch(/^Basic/);
  }
});

test('7 Introspection: an inactive or invalid token, and one of which the caller may not learn, get 200 with active false (decisions 4)', async () => {
  const stranger = await service().createClient();
  const [header, payload] = mine.tokens.id_token.split('.');
  for (const [caller, token] of [
    [client, mine.tokens.refresh_token],
    [client, `${header}.${payload}.AAAA`],
    [stranger, mine.tokens.access_token],
    [stranger, mine.code],
  ] as const) {
    const { status, body } = await introspect(second(service()), caller, token);
    expect([status, body]).toEqual([200, { active: false }]);
  }
});

test('7 Introspection: a malformed or unrecognized token gets 400 as JSON, no-store and no-cache, with error and description (decisions 4)', async () => {
  const { access_token } = mine.tokens;
  for (const token of [
    'nonsense',
    `${access_token}x`,
    access_token.slice(1),
    'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln',
  ]) {
    const { status, headers, body } = await introspect(second(service()), client, token);
    expect([status, body]).toEqual([400, { ...wellFormed, error: 'invalid_token' }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  }
});

test('7 every JSON error: error and error_description, 405 with Allow, and no internal details (decisions 7)', async () => {
  const answers = await Promise.all([
    call(`${second(service())}/token`),
    call(`${second(service())}/nowhere`),
    call(`${second(service())}/token`, { body: { grant_type: 'x' } }),
    call(`${second(service())}/register`, { body: [] }),
    call(`${second(service())}/admin/api/clients`),
    tokenRequest(second(service()), client, { grant_type: 'authorization_code', code: 'a\0b' }),
    call(`${second(service())}/nowhere`, { headers: { 'x-padding': 'x'.repeat(17_000) } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([405, 404, 415, 400, 401, 400, 431]);
  expect(answers[0]!.headers.get('allow')).toBe('POST');
  for (const { body } of answers) {
    const { error_uri: uri = body['error'], ...members } = body;
    expect(members).toEqual(wellFormed);
    expect(uri).toMatch(new RegExp(`(^|/errors#)${String(members['error'])}$`));
    expect(JSON.stringify(body)).not.toMatch(/ at .*:\d+|SELECT|node_modules|\/src\//);
  }
});

test('7 pages and programs: a browser that navigates gets HTML, a program gets JSON (decisions 7)', async () => {
  const page = await new UserAgent(service()).get('/nowhere');
  expect([page.status, page.headers.get('content-type')]).toEqual([404, expect.stringMatching(/^text\/html/)]);
  expect((await call(`${service().issuer}/nowhere`)).body).toEqual({ ...wellFormed, error: 'not_found' });
});
