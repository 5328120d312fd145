// Tests that each secret and token works for its own purpose only: types, expiry, who generates them, and whose data they open.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, obtainCode, obtainTokens, redeem, refresh } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const umaClient = { uma_profile: true, scope: 'openid profile scope' };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

/** Sends a form as the client and returns the status and the code of the error, if any. */
async function post(path: string, basic: string, fields: Record<string, string>): Promise<unknown> {
  const answer = await fetch(service.issuer + path, {
    method: 'POST',
    headers: { authorization: basic },
    body: new URLSearchParams(fields),
  });
  const body = (await answer.json()) as Record<string, unknown>;
  return body['error'] ?? body;
}

test('each type of token works at its own endpoints and at no other (security R18, R30)', async () => {
  const client = await service.createClient(umaClient);
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const spent = await obtainCode(service, client, user, { scope: 'openid scope' }, agent);
  const { body } = await redeem(service.issuer, client, spent);
  const tokens = body as Record<'access_token' | 'refresh_token' | 'client_session_handle' | 'id_token', string>;
  const all = {
    ...tokens,
    code: await obtainCode(service, client, undefined, { scope: 'openid scope' }, agent),
    session: agent.cookies.get('JSESSIONOPENID')!.split('.')[1]!,
    registration: client.registrationAccessToken,
    initial: (
      await call(`${service.issuer}/admin/api/registration-tokens`, {
        token: await adminToken(service),
        body: {},
      })
    ).body['initial_access_token'] as string,
    secret: client.clientSecret,
    shared: client.sharedSecret,
    admin: await adminToken(service),
  };
  const status = async (path: string, token: string) => (await call(service.issuer + path, { token })).status;
  const uses: Record<string, { accepts: string[]; tries(token: string): Promise<boolean> }> = {
    UserInfo: { accepts: ['access_token'], tries: async (token) => (await status('/user/info', token)) === 200 },
    'the groups': {
      accepts: ['access_token', 'client_session_handle', 'code'],
      tries: async (token) => (await status('/user/me/scope', token)) === 200,
    },
    'the admin routes': {
      accepts: ['admin'],
      tries: async (token) => (await status('/admin/api/users', token)) === 200,
    },
    registration: {
      accepts: ['registration'],
      tries: async (token) => (await status(`/register/${client.clientId}`, token)) === 200,
    },
    'a new registration': {
      accepts: ['initial'],
      tries: async (token) =>
        (
          await call(`${service.issuer}/register`, {
            token,
            body: { redirect_uris: ['https://rp.example.com/cb'] },
          })
        ).status === 201,
    },
    session: {
      accepts: ['session'],
      tries: async (token) => {
        const thief = new UserAgent(service);
        thief.cookies.set('JSESSIONOPENID', token);
        return (await thief.get('/account')).status === 200;
      },
    },
    redemption: {
      accepts: ['code'],
      tries: async (code) => (await redeem(service.issuer, client, code)).status === 200,
    },
    refresh: {
      accepts: ['refresh_token'],
      tries: async (token) => (await refresh(service.issuer, client, token)).status === 200,
    },
    'client authentication': {
      accepts: ['secret'],
      tries: async (secret) => {
        const basic = `Basic ${Buffer.from(`${client.clientId}:${secret}`).toString('base64')}`;
        return (await post('/introspect', basic, { token: tokens.access_token })) !== 'invalid_client';
      },
    },
  };
  for (const [use, { accepts, tries }] of Object.entries(uses)) {
    const accepted: string[] = [];
    for (const [kind, token] of Object.entries(all)) {
      // the token of another registration makes this a repeat registration, which replaces the credentials under test
      if (use === 'a new registration' && kind === 'registration') continue;
      if (await tries(token)) accepted.push(kind);
    }
    expect(accepted.sort(), use).toEqual(accepts);
  }
});

test('a token is dead a millisecond after its end, and alive before it (security R30)', async () => {
  const client = await service.createClient();
  const { access_token: token } = await obtainTokens(service, client, await service.createUser());
  const left = async (milliseconds: number) => {
    await service.database.sql(
      `UPDATE access_tokens SET expires_at = now() + make_interval(secs => $1::float8 / 1000)`,
      [milliseconds],
    );
    return post('/introspect', client.basic, { token });
  };
  expect(await left(-1)).toEqual({ active: false });
  expect(await left(60_000)).toMatchObject({ active: true });
  expect((await call(`${service.issuer}/user/info`, { token })).status).toBe(200);
  const [row] = await service.database.sql<{ life: number }>(
    `SELECT extract(epoch FROM max(expires_at - issued_at))::int AS life FROM access_tokens`,
  );
  expect(row!.life).toBeLessThanOrEqual(600);
});

test('the service generates its secrets: it ignores or refuses one that a registrant or an administrator sends (security R40, R70)', async () => {
  const wish = 'x'.repeat(43);
  const own = { client_secret: wish, shared_secret: wish, registration_access_token: wish };
  const metadata = { redirect_uris: ['https://rp.example.com/cb'] };
  const { body } = await call(`${service.issuer}/register`, { body: { ...metadata, ...own } });
  const secrets = [body['client_secret'], body['shared_secret']] as string[];
  expect(new Set([...secrets, wish]).size).toBe(3);
  for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  for (const [name, value] of [...Object.entries(own), ['shared_secret', body['client_secret']]]) {
    const answer = await call(body['registration_client_uri'] as string, {
      method: 'PUT',
      token: body['registration_access_token'] as string,
      body: { ...metadata, client_id: body['client_id'], [name as string]: value },
    });
    expect(answer.status, name as string).toBe(400);
  }
  const token = await adminToken(service);
  const clients = `${service.issuer}/admin/api/clients`;
  for (const name of ['client_secret', 'shared_secret']) {
    const changed = await call(`${clients}/${body['client_id'] as string}`, {
      method: 'PATCH',
      token,
      body: { [name]: 'short' },
    });
    expect(changed.status, name).toBe(400);
    // a client_secret is taken from an administrator, if it is strong enough (delivery 2)
    const made = await call(clients, { token, body: { ...metadata, [name]: 'short' } });
    expect(made.status, name).toBe(400);
  }
});

test('an end-session request is signed with its own secret, and works once, in one spelling and of many at once (security R70, R72)', async () => {
  const afterwards = 'https://rp.example.com/signed-out';
  const client = await service.createClient({ post_logout_redirect_uris: [afterwards] });
  const agent = new UserAgent(service);
  const user = await service.createUser();
  await obtainCode(service, client, user, {}, agent);
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: client.clientId, aud: service.issuer, iat: now, exp: now + 60, redirect_uri: afterwards };
  const sign = (secret: string) =>
    new SignJWT({ ...claims, jti: randomUUID() }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret));
  const ask = async (jwt: string) => (await agent.get(`/end-session?request=${encodeURIComponent(jwt)}`)).status;
  expect(await ask(await sign(client.clientSecret))).toBe(401);
  const request = await sign(client.sharedSecret);
  // two bits of the last character are no part of the signature: these decode to the same bytes
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(request.at(-1)!);
  const spellings = [1, 2, 3].map((bits) => request.slice(0, -1) + alphabet[last ^ bits]!);
  for (const odd of [`${request}=`, `${request}\r\n`, ` ${request}`, `${request}.`]) expect(await ask(odd)).toBe(401);
  const statuses = await Promise.all([request, ...spellings, request, ...spellings].map(ask));
  expect(statuses.sort()).toEqual([302, ...Array.from({ length: 7 }, () => 401)]);
  await obtainCode(service, client, undefined, {}, agent);
  for (const again of [request, ...spellings]) expect(await ask(again)).toBe(401);
  expect(await ask(await sign(client.sharedSecret))).toBe(302);
});

test('the credentials say whose settings a request reads: a user or client that the request names changes nothing (security R84, R86)', async () => {
  const [alice, bob] = [await service.createUser(), await service.createUser()];
  const [own, other] = [await service.createClient(umaClient), await service.createClient(umaClient)];
  const tokenOf = async (client: typeof own, user: typeof alice) =>
    (await obtainTokens(service, client, user, { scope: 'openid' })).access_token;
  const token = await tokenOf(own, alice);
  const others = [await tokenOf(own, bob), await tokenOf(other, alice)];
  const path = (sub: string, more = '') => `${service.issuer}/user/${sub}/settings${more}`;
  const named = { sub: bob.sub, user: bob.sub, client_id: other.clientId };
  const write = (to: string, headers = {}) =>
    call(to, { method: 'PUT', token, headers, body: { settings: { theme: 'dark' }, ...named } });
  expect((await write(path(bob.sub))).status).toBe(403);
  const inHeaders = { 'x-user': bob.sub, 'x-forwarded-user': bob.sub, 'x-client-id': other.clientId };
  const answer = await write(path(alice.sub, `?${new URLSearchParams(named).toString()}`), inHeaders);
  expect(answer.status).toBe(200);
  const settings = async (bearer: string) => (await call(path('me'), { token: bearer })).body['settings'];
  expect(await settings(token)).toEqual({ theme: 'dark' });
  for (const otherToken of others) expect(await settings(otherToken)).toEqual({});
  // with the client's own credentials the path names the user, who must have allowed this client
  const basic = { headers: { authorization: other.basic } };
  expect((await call(path(bob.sub), basic)).status).toBe(403);
  expect((await call(path(alice.sub), basic)).body['settings']).toEqual({});
});

test('a line break in a value of a request adds no line to the log (security R101)', async () => {
  const forged = 'x\n{"event":"user.signed_in","outcome":"success","sub":"forged"}\r\n';
  const agent = new UserAgent(service);
  const before = service.logs.length;
  await agent.signIn({ username: forged, password: forged });
  await agent.get(`/authorize?client_id=${encodeURIComponent(forged)}&state=${encodeURIComponent(forged)}`);
  await post('/token', `Basic ${Buffer.from('x:y').toString('base64')}`, { grant_type: forged, client_id: forged });
  const lines = service.logs.slice(before);
  expect(lines.filter((line) => line['event'] !== undefined).map((line) => line['event'])).toEqual([
    'user.sign_in_failed',
  ]);
  expect(lines.filter((line) => line['sub'] === 'forged')).toEqual([]);
});
