// /user/{sub}/address, info, settings and scope accept client credentials or a token of the client session, which ends with it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const scope = 'openid profile email address scope';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  client = await service.createClient({ uma_profile: true, scope });
});
afterAll(() => service?.stop());

async function signedIn(rp = client, requestedScope = scope) {
  const user = await service.createUser({
    email: `u${Math.random()}@example.com`,
    groups: ['harbour', 'staff'],
    claims: { name: 'Ada', address: { street_address: '1 Quay', locality: 'Bremen', postal_code: '28195' } },
  });
  const agent = new UserAgent(service);
  const { code } = responseParameters(await agent.authorize(rp, user, { scope: requestedScope }));
  return { user, agent, code: code! };
}

async function redeem(code: string, rp = client) {
  return tokenRequest(service.issuer, rp, { grant_type: 'authorization_code', code, redirect_uri: rp.redirectUri });
}

/** Calls the second instance, since the answer must not depend on the issuing instance. */
async function call(
  path: string,
  authorization: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
) {
  const response = await fetch(service.instances[1] + path, { ...init, headers: { authorization, ...init.headers } });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
  };
}
const put = (path: string, authorization: string, settings: unknown, headers: Record<string, string> = {}) =>
  call(path, authorization, {
    method: 'PUT',
    body: JSON.stringify({ settings }),
    headers: { 'content-type': 'application/json', ...headers },
  });

test('an application server reads address, info and scope with the code as the bearer token (specification 4.7)', async () => {
  const { user, code } = await signedIn();
  const bearer = `Bearer ${code}`;
  expect((await call('/user/me/scope', bearer)).body).toEqual({
    sub: user.sub,
    username: user.username,
    scope: ['harbour', 'staff'],
  });
  expect((await call(`/user/${user.sub}/address`, bearer)).body).toEqual({
    street_address: '1 Quay',
    locality: 'Bremen',
    postal_code: '28195',
    formatted: '1 Quay\n28195 Bremen',
  });
  const info = await call('/user/me/info', bearer);
  expect(info.body).toMatchObject({ sub: user.sub, name: 'Ada', email: user.email, email_verified: false });
  expect((await call('/user/me/info', bearer, { method: 'POST' })).body).toEqual(info.body);
  expect(info.headers.get('cache-control')).toBe('no-store');
});

test('a client with Basic reads what the grant allows, and scope requires a bearer token (specification 4.7)', async () => {
  const { user } = await signedIn();
  expect((await call(`/user/${user.sub}/info`, client.basic)).body).toMatchObject({ sub: user.sub, name: 'Ada' });
  expect((await call(`/user/${user.sub}/address`, client.basic)).status).toBe(200);
  expect((await call(`/user/${user.sub}/scope`, client.basic)).status).toBe(401);
});

test('an unknown user and a user without a grant get the same 403 (decisions section 5, security R84)', async () => {
  const otherUser = await service.createUser();
  const answers = await Promise.all([
    call(`/user/${otherUser.sub}/info`, client.basic),
    call('/user/00000000-0000-0000-0000-000000000000/info', client.basic),
    call('/user/me/settings', client.basic),
  ]);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 403, body: { error: 'access_denied' } });
});

test("scopes that were not granted and another user's sub are refused (RFC 6750 3.1, decisions section 5, security R84)", async () => {
  const { code } = await signedIn(client, 'openid');
  const other = await signedIn();
  expect(await call('/user/me/scope', `Bearer ${code}`)).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  });
  expect((await call('/user/me/address', `Bearer ${code}`)).status).toBe(403);
  expect((await call('/user/me/info', `Bearer ${code}`)).body).toEqual({ sub: expect.any(String) });
  expect((await call(`/user/${other.user.sub}/info`, `Bearer ${code}`)).status).toBe(403);
});

test('an access token with the same scopes is accepted, and the session cookie never is (decisions section 5)', async () => {
  const { agent, code } = await signedIn();
  const { body } = await redeem(code);
  expect((await call('/user/me/scope', `Bearer ${body['access_token'] as string}`)).status).toBe(200);
  const refused = await call('/user/me/scope', `Bearer ${agent.cookies.get('JSESSIONOPENID')}`);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
});

test('the code is no handle without the UMA profile, after its minute, or after the use of the new handle (security R81, R82, A99)', async () => {
  const plainClient = await service.createClient({ scope });
  const { code } = await signedIn(plainClient);
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(401);
  const expired = await signedIn();
  await service.database.sql(`UPDATE authorization_codes SET expires_at = now()`);
  expect((await call('/user/me/scope', `Bearer ${expired.code}`)).status).toBe(401);
  const fresh = await signedIn();
  const handle = (await redeem(fresh.code)).body['client_session_handle'] as string;
  expect((await call('/user/me/scope', `Bearer ${fresh.code}`)).status).toBe(200);
  expect((await call('/user/me/scope', `Bearer ${handle}`)).status).toBe(200);
  expect((await call('/user/me/scope', `Bearer ${fresh.code}`)).status).toBe(401);
});

test('a code that was first used as a handle can still be redeemed, and stays a handle (decisions section 5)', async () => {
  const { code } = await signedIn();
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(200);
  expect((await redeem(code)).status).toBe(200);
  await service.database.sql(`UPDATE authorization_codes SET expires_at = now() - interval '1 hour'`);
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(200);
});

test('a handle in a query or a body is refused with 400, and ends (security R83, A101)', async () => {
  const { code } = await signedIn();
  const refused = await call(`/user/me/scope?session=${code}`, `Bearer ${code}`);
  expect(refused.status).toBe(400);
  expect(refused.body!['error_description']).toContain('has been revoked');
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(401);
  const other = await signedIn();
  const posted = await call('/user/me/info', `Bearer ${other.code}`, {
    method: 'POST',
    body: new URLSearchParams({ token: other.code }),
  });
  expect(posted.status).toBe(400);
  expect((await call('/user/me/scope', `Bearer ${other.code}`)).status).toBe(401);
});

test('an access token in a query is refused, and stays valid as the answer says (security R83)', async () => {
  const { code } = await signedIn();
  const token = (await redeem(code)).body['access_token'] as string;
  const refused = await call(`/user/me/scope?access_token=${token}`, `Bearer ${token}`);
  expect(refused.status).toBe(400);
  expect(refused.body!['error_description']).toContain('still valid');
  expect((await call('/user/me/scope', `Bearer ${token}`)).status).toBe(200);
});

const ends: [string, (context: Awaited<ReturnType<typeof signedIn>>) => Promise<unknown>][] = [
  ['logout', async ({ agent }) => agent.submit(await agent.get('/logout'), { decision: 'sign-out' })],
  [
    'redeeming the code twice',
    ({ code }) =>
      service.database
        .sql(`UPDATE authorization_codes SET redeemed_at = now() - interval '1 minute' WHERE redeemed_at IS NOT NULL`)
        .then(() => redeem(code)),
  ],
  [
    'disabling the user',
    ({ user }) => service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]),
  ],
  ['withdrawing the grant', ({ user }) => service.database.sql('DELETE FROM grants WHERE sub = $1', [user.sub])],
  [
    'the end of the session',
    ({ user }) => service.database.sql(`UPDATE sessions SET idle_expires_at = now() WHERE sub = $1`, [user.sub]),
  ],
  [
    'revocation',
    async ({ code }) =>
      fetch(`${service.issuer}/revoke`, {
        method: 'POST',
        headers: { authorization: client.basic },
        body: new URLSearchParams({ token: code }),
      }),
  ],
];
test.each(ends)('%s ends every handle at once on every instance (specification 4.7, security R85)', async (_, end) => {
  const context = await signedIn();
  const handle = (await redeem(context.code)).body['client_session_handle'] as string;
  expect((await call('/user/me/scope', `Bearer ${context.code}`)).status).toBe(200);
  await end(context);
  expect((await call('/user/me/scope', `Bearer ${context.code}`)).status).toBe(401);
  expect((await call('/user/me/scope', `Bearer ${handle}`)).status).toBe(401);
});

test('disabling or deleting the client ends its handles and its Basic credentials (security R42)', async () => {
  const ownClient = await service.createClient({ uma_profile: true, scope });
  const { user, code } = await signedIn(ownClient);
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(200);
  await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [ownClient.clientId]);
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(401);
  await expect.poll(async () => (await put(`/user/${user.sub}/settings`, ownClient.basic, { a: 1 })).status).toBe(403);
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [ownClient.clientId]);
  expect((await call('/user/me/scope', `Bearer ${code}`)).status).toBe(401);
});

test('settings are stored for each user and client, and both variants set and remove keys (specification 2.7, decisions section 5)', async () => {
  const { user, code } = await signedIn();
  const path = `/user/${user.sub}/settings`;
  expect((await call('/user/me/settings', `Bearer ${code}`)).body).toEqual({
    sub: user.sub,
    client_id: client.clientId,
    settings: {},
  });
  const written = await put('/user/me/settings', `Bearer ${code}`, { theme: 'dark', size: { width: 3 }, gone: 1 });
  expect(written).toMatchObject({ status: 200, text: '' });
  await put(path, client.basic, { gone: null, 'a/../b': [1, null] });
  expect((await call(path, client.basic)).body!['settings']).toEqual({
    theme: 'dark',
    size: { width: 3 },
    'a/../b': [1, null],
  });
  const other = await service.createClient({ uma_profile: true, scope });
  const { code: second } = responseParameters(await new UserAgent(service).authorize(other, user, { scope }));
  expect((await call('/user/me/settings', `Bearer ${second!}`)).body!['settings']).toEqual({});
});

test('a write on an outdated version is refused (RFC 9110 13.1.1)', async () => {
  const { code } = await signedIn();
  const bearer = `Bearer ${code}`;
  const etag = (await call('/user/me/settings', bearer)).headers.get('etag')!;
  expect((await put('/user/me/settings', bearer, { a: 1 }, { 'if-match': etag })).status).toBe(200);
  expect((await put('/user/me/settings', bearer, { a: 2 }, { 'if-match': etag })).status).toBe(412);
  const next = (await call('/user/me/settings', bearer)).headers.get('etag')!;
  expect((await put('/user/me/settings', bearer, { a: 3 }, { 'if-match': next })).status).toBe(200);
});

test('If-Match compares strongly, accepts lists and *, and is refused if malformed (RFC 9110 13.1.1)', async () => {
  const { code } = await signedIn();
  const bearer = `Bearer ${code}`;
  const write = (ifMatch: string) => put('/user/me/settings', bearer, { a: 1 }, { 'if-match': ifMatch });
  // before the first write, the version is 0
  expect((await write('"1", "3"')).status).toBe(412);
  expect((await write('"7","0"')).status).toBe(200);
  expect((await write('"0"')).status).toBe(412);
  expect((await write('"3" , "1", W/"9"')).status).toBe(200);
  expect((await write('*')).status).toBe(200);
  expect((await call('/user/me/settings', bearer)).headers.get('etag')).toBe('"3"');
  for (const other of ['W/"3"', '"03"', '"of,another"', '"99999999999999999999"']) {
    const refused = await write(other);
    expect(refused.status, other).toBe(412);
    expect(refused.body).toMatchObject({ error: 'conflict' });
  }
  for (const none of ['3', '"3', '', ', ', '*, "3"']) expect((await write(none)).status, none).toBe(400);
  expect((await write('"3"')).status).toBe(200);
});

test('of simultaneous conditional writes one succeeds, and the answer to PUT has no ETag (RFC 9110 13.1.1, 9.3.4)', async () => {
  const { code } = await signedIn();
  for (const version of ['"0"', '"1", "0"']) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        put('/user/me/settings', `Bearer ${code}`, { [`k${index}`]: 1 }, { 'if-match': version }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
    expect(answers.some(({ headers }) => headers.has('etag'))).toBe(false);
  }
});

test('100 simultaneous writes of 100 keys lose none (decisions section 5)', async () => {
  const { user, code } = await signedIn();
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      fetch(`${service.instances[index % 2]}/user/me/settings`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${code}`, 'content-type': 'application/json' },
        body: JSON.stringify({ settings: { [`key ${index}`]: index } }),
      }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
  const { settings } = (await call(`/user/${user.sub}/settings`, client.basic)).body as {
    settings: Record<string, number>;
  };
  expect(Object.keys(settings)).toHaveLength(100);
});

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
test.each<[string, unknown, number]>([
  ['a key of 129 characters', { ['k'.repeat(129)]: 1 }, 400],
  ['an empty key', { '': 1 }, 400],
  ['a key with a control character', { 'a\nb': 1 }, 400],
  ['a value of depth 17', { deep: nested(17) }, 400],
  ['a value with NUL', { text: 'a\0b' }, 400],
  ['a lone surrogate', { text: '\ud800' }, 400],
  ['settings that are not an object', [1], 400],
  ['257 keys', Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`k${index}`, 1])), 413],
  ['more than 64 KiB', { text: 'x'.repeat(65_536) }, 413],
  ['much more than 64 KiB', { text: 'x'.repeat(200_000) }, 413],
])('%s is refused and nothing is stored (security R87, R88, A105)', async (_, settings, status) => {
  const { code } = await signedIn();
  const refused = await put('/user/me/settings', `Bearer ${code}`, settings);
  expect(refused.status).toBe(status);
  expect(refused.body).toMatchObject({ error: 'invalid_request', error_description: expect.any(String) });
  expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual({});
});

/** Sends a body unchanged. */
const putText = (code: string, body: string) =>
  call('/user/me/settings', `Bearer ${code}`, {
    method: 'PUT',
    body,
    headers: { 'content-type': 'application/json' },
  });

test.each([
  ['1e400', 'beyond the range'],
  ['-1e400', 'beyond the range'],
  ['1e-400', 'too small to represent'],
  ['9007199254740993', 'an integer beyond 2^53'],
  ['[{"deep": 12345678901234567890}]', 'in a nested value'],
  ['9007199254740993e0', 'in another notation'],
])(
  'the number %s is refused, since it cannot be stored exactly: %s (specification 2.7, security A65)',
  async (number) => {
    const { code } = await signedIn();
    const refused = await putText(code, `{"settings":{"number":${number}}}`);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('number that cannot be stored exactly'),
    });
    expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual({});
  },
);

test('any other JSON is stored unchanged (specification 2.7, decisions section 5)', async () => {
  const { code } = await signedIn();
  const settings = {
    numbers: [9007199254740991, -9007199254740991, 0.1, 1e300, 5e-324, 1e21, 0.30000000000000004, 0],
    text: '9007199254740993 1e400 ", : \\ \u00e9 \u{1f40b} \u2028',
    mixed: [null, true, { '': [], ' ': {} }],
    wide: Array(10_001).fill(0),
    object: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index])),
  };
  expect((await put('/user/me/settings', `Bearer ${code}`, settings)).status).toBe(200);
  expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual(settings);
});

/** Extends the settings to exactly this number of bytes as compact JSON. */
function ofBytes(bytes: number, settings: Record<string, unknown>): Record<string, unknown> {
  const missing = bytes - Buffer.byteLength(JSON.stringify({ ...settings, pad: '' }));
  return { ...settings, pad: ' '.repeat(missing) };
}
const limit = 64 * 1024;
const many = { list: Array.from({ length: 2_000 }, (_, index) => ({ [` ,": ${index % 10}`]: [1, '\n \\" ,'] })) };

test('64 KiB are counted as compact JSON, in whatever notation they were sent (decisions section 5)', async () => {
  for (const settings of [
    ofBytes(limit, { list: Array(30_000).fill(0) }),
    ofBytes(limit, many),
    ofBytes(limit, { text: '\u00e9'.repeat(14_000) }),
  ]) {
    const { code } = await signedIn();
    const escaped = JSON.stringify({ settings }).replace(
      /[^\x20-\x7e]|[a-z](?=[^"]*"pad")/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    expect((await putText(code, JSON.stringify({ settings }))).status).toBe(200);
    expect((await putText(code, escaped)).status).toBe(200);
    expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual(settings);
    const longer = await put('/user/me/settings', `Bearer ${code}`, { pad: `${settings['pad'] as string} ` });
    expect(longer.status).toBe(413);
    expect(longer.body).toMatchObject({ error: 'invalid_request' });
    expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual(settings);
  }
});

test('64 KiB in escapes of six bytes each are accepted, and more gets 413 (decisions section 5)', async () => {
  const { code } = await signedIn();
  const text = limit - JSON.stringify({ t: '' }).length;
  const body = (length: number) => `{"settings":{"t":"${'\\u0061'.repeat(length)}"}}`;
  expect((await putText(code, body(text))).status).toBe(200);
  expect((await putText(code, body(text + 1))).status).toBe(413);
  expect((await putText(code, body(2 * text))).status).toBe(413);
});

test('simultaneous writes never exceed 64 KiB or 256 keys in total (security R87)', async () => {
  const { code } = await signedIn();
  const bearer = `Bearer ${code}`;
  const large = await Promise.all(
    Array.from({ length: 6 }, (_, index) => put('/user/me/settings', bearer, { [`k${index}`]: Array(10_000).fill(0) })),
  );
  expect(large.map(({ status }) => status).sort()).toEqual([200, 200, 200, 413, 413, 413]);
  const keys = await Promise.all(
    Array.from({ length: 6 }, (_, writer) =>
      put(
        '/user/me/settings',
        bearer,
        Object.fromEntries(Array.from({ length: 50 }, (__, key) => [`${writer} ${key}`, 0])),
      ),
    ),
  );
  expect(keys.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 413]);
});

test.each(['__proto__', 'constructor', 'prototype'])(
  'the name %s is refused at any depth, and the answer names it (security R88)',
  async (name) => {
    const { code } = await signedIn();
    for (const settings of [`{"${name}":1}`, `{"a":[{"${name}":1}]}`]) {
      const refused = await putText(code, `{"settings":${settings}}`);
      expect(refused.status).toBe(400);
      expect(refused.body!['error_description']).toContain(`named ${name},`);
    }
  },
);

test('reserved names are refused at any depth (security R88)', async () => {
  const { code } = await signedIn();
  for (const body of [
    '{"settings":{"__proto__":{"x":1}}}',
    '{"settings":{"a":{"constructor":1}}}',
    '{"settings":',
    '[]',
    '"x"',
  ]) {
    const response = await call('/user/me/settings', `Bearer ${code}`, {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(400);
  }
});

test('values up to depth 16 are stored unchanged (decisions section 5)', async () => {
  const { code } = await signedIn();
  expect((await put('/user/me/settings', `Bearer ${code}`, { deep: nested(16) })).status).toBe(200);
  expect((await call('/user/me/settings', `Bearer ${code}`)).body!['settings']).toEqual({ deep: nested(16) });
});
