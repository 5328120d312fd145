// Specification section 4.7: tests address, info, settings and scope of an End-User, in both Authorization variants.
import { beforeAll, expect, test } from 'vitest';
import { call, eventually } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import {
  ask,
  type CodeFlow,
  createTestUser,
  everyScope,
  form,
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

const uma = (name: string) => ask(second(service()), `/user/me/${name}`, `Bearer ${mine.code}`);
const byClient = (name: string, sub = mine.user.sub, of = client) =>
  ask(second(service()), `/user/${sub}/${name}`, of.basic);

test('4.7 addresses: the OAuth server metadata contains them, with {sub} for the subject (decisions 1)', async () => {
  const { body } = await call(`${service().issuer}/.well-known/oauth-authorization-server`);
  for (const name of ['address', 'info', 'settings', 'scope'])
    expect(body[`user_${name}_endpoint`]).toBe(`${service().issuer}/user/{sub}/${name}`);
});

test('4.7 Get user address: both variants return the same UserAddress (decisions 5)', async () => {
  const expected = { street_address: '1 Quay', formatted: '1 Quay\n28195 Bremen\nDE' };
  expect(await byClient('address')).toMatchObject({ status: 200, body: expected });
  expect((await uma('address')).body).toEqual((await byClient('address')).body);
});

test('4.7 Get user info: both variants return the claims of the scope, by GET and by POST (decisions 5)', async () => {
  const expected = { sub: mine.user.sub, name: 'Ada Lovelace', email: mine.user.email, email_verified: false };
  for (const [path, authorization] of [
    [`/user/${mine.user.sub}/info`, client.basic],
    ['/user/me/info', `Bearer ${mine.code}`],
  ] as const) {
    const got = await ask(second(service()), path, authorization);
    expect(got).toMatchObject({ status: 200, body: expected });
    expect((await form(second(service()) + path, {}, { authorization })).body).toEqual(got.body);
  }
  const narrow = await runCodeFlow(service(), client, { scope: 'openid email' });
  expect(Object.keys((await byClient('info', narrow.user.sub)).body).sort()).toEqual([
    'email',
    'email_verified',
    'sub',
  ]);
});

test('4.7 Get user settings: both variants return the UserSetting of the requesting client (decisions 5)', async () => {
  const empty = { sub: mine.user.sub, client_id: client.clientId };
  expect(await byClient('settings')).toMatchObject({ status: 200, body: empty });
  expect((await uma('settings')).body).toEqual((await byClient('settings')).body);
});

test('4.7 Get user settings: an error has an error message and a description (decisions 5)', async () => {
  for (const answer of [
    await ask(second(service()), '/user/me/settings', 'Bearer nonsense'),
    await byClient('settings', 'nobody'),
  ])
    expect(answer.body).toEqual({ error: expect.any(String), error_description: expect.stringMatching(/\w+ \w+/) });
});

test('4.7 Set user settings: both variants answer 200 with no body, and set, change and remove keys (decisions 5)', async () => {
  const path = `/user/${mine.user.sub}/settings`;
  const response = await fetch(second(service()) + path, {
    method: 'PUT',
    headers: { authorization: client.basic, 'content-type': 'application/json' },
    body: JSON.stringify({ settings: { a: 1, b: 2, c: 3 } }),
  });
  expect([response.status, await response.text()]).toEqual([200, '']);
  const change = { settings: { b: { deep: true }, c: null } };
  expect((await ask(service().issuer, '/user/me/settings', `Bearer ${mine.code}`, change)).status).toBe(200);
  expect((await byClient('settings')).body['settings']).toEqual({ a: 1, b: { deep: true } });
});

test('4.7 Set user settings: a value past a limit gets error and description, and 413 for the size (decisions 5)', async () => {
  const path = '/user/me/settings';
  const put = (settings: unknown) => ask(second(service()), path, `Bearer ${mine.code}`, { settings });
  const before = (await uma('settings')).body;
  for (const [settings, status] of [
    [{ ['k'.repeat(129)]: 1 }, 400],
    [{ '': 1 }, 400],
    ['text', 400],
    [{ text: 'x'.repeat(65_536) }, 413],
    [Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`k${index}`, 1])), 413],
  ] as [unknown, number][]) {
    const body = { error: expect.any(String), error_description: expect.any(String) };
    expect(await put(settings)).toMatchObject({ status, body });
  }
  expect((await uma('settings')).body).toEqual(before);
});

test('4.7 Set user settings: only a registered and enabled client can use it (decisions 5)', async () => {
  const own = await service().createClient(wholeClient);
  const { user, code } = await runCodeFlow(service(), own);
  const body = { settings: { a: 1 } };
  await service().database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [own.clientId]);
  expect((await ask(second(service()), '/user/me/settings', `Bearer ${code}`, body)).status).toBe(401);
  const refused = await eventually(
    () => ask(second(service()), `/user/${user.sub}/settings`, own.basic, body),
    ({ status }) => status === 403,
  );
  expect(refused.body['error']).toBe('unauthorized_client');
});

test('4.7 Get user scope: the UMA variant returns the UserScope, and the other variant is refused (decisions 5)', async () => {
  expect(await uma('scope')).toMatchObject({ status: 200, body: { scope: ['harbour', 'staff'] } });
  expect((await byClient('scope')).status).toBe(401);
});

test('4.7 sub: an unknown user and one without a grant get the same 403; a Bearer token gives access to its own user only (decisions 5)', async () => {
  const stranger = await createTestUser(service());
  const answers = [
    await byClient('info', stranger.sub),
    await byClient('info', 'nobody'),
    await byClient('info', 'me'),
  ];
  for (const { status, body } of answers) expect([status, body]).toEqual([403, answers[0]!.body]);
  expect(answers[0]!.body['error']).toBe('access_denied');
  const other = await ask(second(service()), `/user/${stranger.sub}/info`, `Bearer ${mine.code}`);
  expect(other.status).toBe(403);
});

test('4.7 client-authenticated variant: HTTP Basic with client_id and client_secret; wrong ones get 401 (decisions 5)', async () => {
  expect((await byClient('info')).status).toBe(200);
  const wrong = { ...client, basic: `Basic ${btoa(`${client.clientId}:wrong`)}` };
  const refused = await byClient('info', mine.user.sub, wrong);
  expect(refused).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  expect(refused.headers.get('www-authenticate')).toMatch(/^Basic/);
});

test('4.7 UMA-profile variant: the code is the session id before and after redemption, for clients with the profile (decisions 5)', async () => {
  expect((await uma('info')).status).toBe(200);
  const plain = await runCodeFlow(service(), await service().createClient({ scope: everyScope }));
  expect((await ask(second(service()), '/user/me/info', `Bearer ${plain.code}`)).status).toBe(401);
  expect(plain.tokens).not.toHaveProperty('client_session_handle');
});

test('4.7 UMA-profile variant: the handle of the token response has the same rights, and its first use ends the code (decisions 5)', async () => {
  const { code, tokens } = await runCodeFlow(service(), client);
  const info = (token: string) => ask(second(service()), '/user/me/info', `Bearer ${token}`);
  const statuses = [];
  for (const token of [code, tokens.client_session_handle, code, tokens.client_session_handle])
    statuses.push((await info(token)).status);
  expect(statuses).toEqual([200, 200, 401, 200]);
});

test('4.7 UMA-profile variant: a code in a query or a body is refused with 400, and ends (decisions 5)', async () => {
  const { code } = await runCodeFlow(service(), client);
  expect((await ask(second(service()), `/user/me/info?code=${code}`, `Bearer ${code}`)).status).toBe(400);
  expect((await ask(second(service()), '/user/me/info', `Bearer ${code}`)).status).toBe(401);
});

test('4.7 access token: it is sent as a Bearer token, and the value of the session cookie is not one (decisions 5)', async () => {
  const ask4 = (token: string) => ask(second(service()), '/user/me/scope', `Bearer ${token}`);
  expect((await ask4(mine.tokens.access_token)).status).toBe(200);
  expect((await ask4(mine.agent.cookies.get('JSESSIONOPENID')!.split('.')[1]!)).status).toBe(401);
});
