// POST /introspect gives each outcome of decisions section 4 to clients that may introspect the token and to those that may not.
import fc from 'fast-check';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { post } from '../helpers/dpop.ts';
import { eventually, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let tokens: Record<string, string>;
let sub: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { LIMIT_CLIENT_AUTH_FAILURES: '0' } });
  client = await service.createClient({ scope: 'openid profile email scope' });
  ({ sub, tokens } = await authorized(client));
});
afterAll(() => service?.stop());

async function authorized(rp: TestClient) {
  const user = await service.createUser({ username: `u-${Math.random()}`, groups: ['staff'], claims: { name: 'Ada' } });
  const page = await new UserAgent(service).authorize(rp, user, { scope: rp.metadata.scope, nonce: 'n' });
  const { code } = responseParameters(page);
  const { body } = await tokenRequest(service.issuer, rp, {
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: rp.redirectUri,
  });
  return { sub: user.sub, code: code!, tokens: body as Record<string, string>, user };
}

async function introspect(caller: TestClient | undefined, form: Record<string, string> | string, instance = 0) {
  const response = await fetch(`${service.instances[instance]}/introspect`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: caller ? { authorization: caller.basic } : {},
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('a live access token is described with all members of the specification (specification 2.10)', async () => {
  const { status, text, headers } = await introspect(client, {
    token: tokens['access_token']!,
    token_type_hint: 'access_token',
  });
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(JSON.parse(text)).toEqual({
    active: true,
    client_id: client.clientId,
    username: expect.any(String),
    scope: 'openid profile email scope',
    sub,
    aud: [client.clientId],
    iss: service.issuer,
    exp: expect.any(Number),
    iat: expect.any(Number),
    token_type: 'Bearer',
    // RFC 9470 6.2
    auth_time: expect.any(Number),
    acr: 'urn:gatehouse:acr:password',
    extension_field: 'access_token',
    extended_claims: expect.objectContaining({
      groups: ['staff'],
      name: 'Ada',
      auth_time: expect.any(Number),
      acr: expect.any(String),
      amr: ['pwd'],
      sid: expect.any(String),
      nonce: 'n',
    }),
  });
});

test('an ID Token is introspected as pct, and is inactive once its session has ended (decisions section 4)', async () => {
  const other = await authorized(client);
  const token = other.tokens['id_token']!;
  expect(JSON.parse((await introspect(client, { token, token_type_hint: 'pct' })).text)).toMatchObject({
    active: true,
    extension_field: 'id_token',
    sub: other.sub,
  });
  await service.database.sql('DELETE FROM sessions WHERE sub = $1', [other.sub]);
  expect((await introspect(client, { token, token_type_hint: 'pct' }, 1)).text).toBe('{"active":false}');
});

describe('an ID Token with HS256, whose key the client has', () => {
  let ownClient: TestClient;
  let gateway: TestClient;
  let genuine: string;
  let payload: JWTPayload;
  beforeAll(async () => {
    ownClient = await service.createClient({ id_token_signed_response_alg: 'HS256' });
    gateway = await service.createClient();
    await service.database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [gateway.clientId]);
    genuine = (await authorized(ownClient)).tokens['id_token']!;
    payload = decodeJwt(genuine);
  });
  /** An ID Token that the client signs itself. */
  const forged = (change: JWTPayload) =>
    new SignJWT({ ...payload, ...change })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(Buffer.from(ownClient.clientSecret));
  const asked = async (caller: TestClient, token: string) =>
    JSON.parse((await introspect(caller, { token, token_type_hint: 'pct' })).text) as Record<string, unknown>;

  test('is answered with the stored values only, not with its contents (security R122)', async () => {
    const token = await forged({ auth_time: 4_000_000_000, acr: 'urn:forged', amr: ['mfa'], nonce: 'forged' });
    const [first, second] = [await asked(ownClient, genuine), await asked(ownClient, token)];
    expect(first).toMatchObject({
      active: true,
      extension_field: 'id_token',
      sub: payload.sub,
      exp: payload.exp,
      iat: payload.iat,
      auth_time: payload['auth_time'],
      acr: payload['acr'],
    });
    expect(first['extended_claims']).toMatchObject({ auth_time: payload['auth_time'], amr: ['pwd'] });
    expect(first['extended_claims']).not.toHaveProperty('nonce');
    expect(second).toEqual(first);
  });

  test('is active for that client only, while an ID Token with a private key is active for others, too (security R122)', async () => {
    expect(await asked(gateway, genuine)).toEqual({ active: false });
    expect(await asked(gateway, tokens['id_token']!)).toMatchObject({
      active: true,
      extended_claims: { nonce: 'n' },
    });
  });

  test('is inactive if the client is not registered for HS256, since the service signed with its private key (security R122)', async () => {
    const other = await service.createClient({ request_object_signing_alg: 'HS256' });
    const content = decodeJwt((await authorized(other)).tokens['id_token']!);
    const token = await new SignJWT(content).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(other.clientSecret));
    expect(await asked(other, token)).toEqual({ active: false });
  });

  test('is inactive if it was issued in the future or is valid for longer than the service allows (security R122)', async () => {
    const { iat, exp } = payload as { iat: number; exp: number };
    expect(await asked(ownClient, await forged({ iat: iat - 60, exp: exp - 60 }))).toMatchObject({ active: true });
    for (const change of [
      { iat: iat + 30, exp },
      { iat: iat + 30, exp: exp + 30 },
      { iat, exp: exp + 1 },
      { iat: 0 },
      { iat: 1e300, exp: 1e300 },
    ])
      expect(await asked(ownClient, await forged(change)), JSON.stringify(change)).toEqual({ active: false });
    // the lifetime that the administrator set for the client applies
    const set = (seconds: number | null) =>
      service.database.sql('UPDATE clients SET id_token_lifetime = $2 WHERE client_id = $1', [
        ownClient.clientId,
        seconds,
      ]);
    await set(exp - iat + 100);
    await eventually(
      async () => (await asked(ownClient, await forged({ exp: exp + 100 })))['active'],
      (active) => active === true,
    );
    await set(null);
  });
});

/** Obtains a code that has not been used. */
async function obtainUnusedCode(rp: TestClient) {
  const user = await service.createUser();
  const code = responseParameters(await new UserAgent(service).authorize(rp, user, { scope: 'openid profile' }))[
    'code'
  ]!;
  return { user, code };
}

test('a fresh code expires after a minute, introspection does not activate it, and an activated code expires with the session (decisions sections 4 and 5)', async () => {
  const ownClient = await service.createClient({ uma_profile: true, scope: 'openid profile' });
  const { user, code } = await obtainUnusedCode(ownClient);
  const before = service.ofRequests.length;
  const fresh = JSON.parse((await introspect(ownClient, { token: code, token_type_hint: 'access_token' }, 1)).text);
  expect(fresh).toMatchObject({ active: true, extension_field: 'authorization_code', sub: user.sub });
  expect(fresh.exp - fresh.iat).toBe(60);
  const sent = service.ofRequests.slice(before);
  expect(sent).toEqual(['client_session_handles.find_code']);
  expect(
    await service.database.sql(
      `SELECT 1 FROM authorization_codes ac JOIN client_sessions cs ON cs.id = ac.client_session_id
         JOIN sessions s ON s.id = cs.session_id
        WHERE cs.sub = $1 AND ac.activated_at IS NULL AND cs.expires_at < s.expires_at`,
      [user.sub],
    ),
  ).toHaveLength(1);
  await fetch(`${service.issuer}/user/me/info`, { headers: { authorization: `Bearer ${code}` } });
  const activated = JSON.parse((await introspect(ownClient, { token: code }, 1)).text);
  expect(activated.exp - activated.iat).toBeGreaterThan(3600);
});

test('an unused code is inactive after one minute (decisions sections 4 and 5)', async () => {
  const ownClient = await service.createClient({ uma_profile: true, scope: 'openid profile' });
  const { user, code } = await obtainUnusedCode(ownClient);
  await service.database.sql(
    `UPDATE authorization_codes ac SET expires_at = now() FROM client_sessions cs
      WHERE cs.id = ac.client_session_id AND cs.sub = $1`,
    [user.sub],
  );
  expect((await introspect(ownClient, { token: code })).text).toBe('{"active":false}');
});

test('a code without the UMA profile is active until it is redeemed, and only for its own client (decisions sections 4 and 5, security R76)', async () => {
  const ownClient = await service.createClient({ scope: 'openid profile' });
  const { code } = await obtainUnusedCode(ownClient);
  expect(JSON.parse((await introspect(ownClient, { token: code }, 1)).text)).toMatchObject({ active: true });
  expect((await introspect(client, { token: code })).text).toBe('{"active":false}');
  // the client can redeem it, and cannot use it as a handle
  const used = await fetch(`${service.issuer}/user/me/info`, { headers: { authorization: `Bearer ${code}` } });
  expect(used.status).toBe(401);
  const { status } = await tokenRequest(service.issuer, ownClient, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: ownClient.redirectUri,
  });
  expect(status).toBe(200);
  expect((await introspect(ownClient, { token: code }, 1)).text).toBe('{"active":false}');
});

test('all inactive tokens get the same bytes (security R77, A95)', async () => {
  const otherClient = await service.createClient();
  const revoked = await authorized(client);
  await fetch(`${service.issuer}/revoke`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token: revoked.tokens['access_token']! }),
  });
  const expired = await authorized(client);
  await service.database.sql(
    `UPDATE access_tokens t SET expires_at = now() FROM client_sessions cs WHERE cs.id = t.client_session_id AND cs.sub = $1`,
    [expired.sub],
  );
  const disabled = await authorized(client);
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
  const forged = await new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(service.issuer)
    .sign(new Uint8Array(32));
  const texts = await Promise.all([
    introspect(client, { token: newOpaqueToken('access_token').token }),
    introspect(client, { token: revoked.tokens['access_token']! }),
    introspect(client, { token: expired.tokens['access_token']! }),
    introspect(client, { token: disabled.tokens['access_token']! }),
    introspect(otherClient, { token: tokens['access_token']! }),
    introspect(client, { token: tokens['refresh_token']! }),
    introspect(client, { token: client.registrationAccessToken }),
    introspect(client, { token: revoked.code }),
    introspect(client, { token: forged }),
  ]);
  expect([...new Set(texts.map(({ status, text }) => `${status} ${text}`))]).toEqual(['200 {"active":false}']);
});

test('an administrator can let a client introspect every token, and a resource server introspects its own tokens (decisions section 4, security R76)', async () => {
  const resource = await service.createClient({ resource_uris: ['https://api.example.com/'] });
  const gateway = await service.createClient();
  await service.database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [gateway.clientId]);
  expect(JSON.parse((await introspect(gateway, { token: tokens['access_token']! }, 1)).text)).toMatchObject({
    active: true,
  });
  const user = await service.createUser();
  const page = await new UserAgent(service).authorize(client, user, { resource: 'https://api.example.com/' });
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: client.redirectUri,
    resource: 'https://api.example.com/',
  });
  expect(JSON.parse((await introspect(resource, { token: body['access_token'] as string })).text)).toMatchObject({
    active: true,
    aud: ['https://api.example.com/', resource.clientId],
  });
});

test('the caller is authenticated before the token is examined (security R75, A93)', async () => {
  const disabled = await service.createClient({}, { status: 'disabled' });
  const publicClient = await service.createClient({ token_endpoint_auth_method: 'none' });
  for (const token of [tokens['access_token']!, 'malformed']) {
    expect((await introspect(undefined, { token })).status).toBe(401);
    expect(
      (await introspect({ ...client, basic: `Basic ${btoa(`${client.clientId}:wrong`)}` }, { token })).status,
    ).toBe(401);
    expect((await introspect(undefined, { token, client_id: publicClient.clientId })).status).toBe(401);
    const refused = await introspect(disabled, { token });
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.text)).toMatchObject({ error: 'unauthorized_client' });
  }
  const { headers } = await introspect(undefined, { token: 'x' });
  expect(headers.get('www-authenticate')).toMatch(/^Basic /);
  expect(headers.get('access-control-allow-origin')).toBeNull();
});

test.each([
  ['no token', {}, 'invalid_request'],
  ['a repeated token', 'token=a&token=b', 'invalid_request'],
  ['the hint refresh_token', { token: 'x', token_type_hint: 'refresh_token' }, 'unsupported_token_type'],
  ['an unknown hint', { token: 'x', token_type_hint: 'cookie' }, 'unsupported_token_type'],
  ['nonsense', { token: 'nonsense' }, 'invalid_token'],
  ['9,000 characters', { token: 'x'.repeat(9_000) }, 'invalid_token'],
  ['NUL', { token: 'a\0b' }, 'invalid_token'],
  ['a foreign JWT', { token: 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL3gifQ.c2ln' }, 'invalid_token'],
])('%s gets 400 as JSON that must not be stored (specification 7, decisions section 4)', async (_, form, error) => {
  const { status, headers, text } = await introspect(client, form as Record<string, string> | string);
  expect(status).toBe(400);
  expect(JSON.parse(text)).toEqual({ error, error_description: expect.any(String) });
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('pragma')).toBe('no-cache');
  expect(headers.get('content-type')).toContain('application/json');
});

test('10,000 malformed tokens get 400 or active false, never 500, and cause no query (security R78, specification 7)', async () => {
  const app = service.apps[0]!;
  const ask = (token: string) =>
    app.inject({
      method: 'POST',
      url: '/introspect',
      headers: { authorization: client.basic, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ token }).toString(),
    });
  const statusCodes = new Set<number>();
  const token = newOpaqueToken('access_token').token;
  const malformed = fc.oneof(
    fc.string({ minLength: 1, maxLength: 200, unit: 'binary' }),
    fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
    fc
      .tuple(fc.nat(token.length - 1), fc.constantFrom(...'aZ09-_=+/ '))
      .map(([at, c]) => token.slice(0, at) + c + token.slice(at)),
    fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map((parts) => parts.join('.')),
    fc.json().map((json) => `${Buffer.from(json).toString('base64url')}.${Buffer.from(json).toString('base64url')}.x`),
  );
  const before = service.ofRequests.length;
  await fc.assert(
    fc.asyncProperty(malformed, async (text) => {
      const { statusCode, body } = await ask(text);
      statusCodes.add(statusCode);
      return statusCode === 400 || (statusCode === 200 && body === '{"active":false}');
    }),
    { numRuns: 10_000 },
  );
  expect([...statusCodes]).toContain(400);
  // the service reads the caller again after one second; the tokens cause no query
  expect([...new Set(service.ofRequests.slice(before))]).toEqual([]);
});

test('with INTROSPECTION_MALFORMED=inactive, malformed tokens of any length are inactive, without a query (decisions section 4)', async () => {
  const lenient = await startTestService({ environment: { INTROSPECTION_MALFORMED: 'inactive' } });
  try {
    const caller = await lenient.createClient();
    for (const token of ['nonsense', 'x'.repeat(9_000), 'a\0b']) {
      const before = lenient.ofRequests.length;
      const response = await fetch(`${lenient.issuer}/introspect`, {
        method: 'POST',
        body: new URLSearchParams({ token }),
        headers: { authorization: caller.basic },
      });
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('{"active":false}');
      expect(lenient.ofRequests.slice(before)).toEqual([]);
    }
  } finally {
    await lenient.stop();
  }
});

test('with INTROSPECTION_MALFORMED=inactive a wrong hint is no error: a refresh token is inactive, and an access token keeps its answer (RFC 7662 2.1, reports C8)', async () => {
  const lenient = await startTestService({ environment: { INTROSPECTION_MALFORMED: 'inactive' } });
  try {
    const caller = await lenient.createClient();
    const tokens = await obtainTokens(lenient, caller, await lenient.createUser());
    for (const token_type_hint of ['refresh_token', 'id_token', 'x'])
      for (const [token, active] of [
        [tokens.refresh_token, false],
        [tokens.access_token, true],
      ] as const) {
        const answer = await post(`${lenient.issuer}/introspect`, caller, { token, token_type_hint });
        expect(answer, token_type_hint).toMatchObject({ status: 200, body: { active } });
      }
  } finally {
    await lenient.stop();
  }
});

test('a token without scopes is described without scope (RFC 7662 2.2)', async () => {
  const machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  const { body } = await tokenRequest(service.issuer, machine, { grant_type: 'client_credentials' });
  const answer = JSON.parse((await introspect(machine, { token: body['access_token'] as string })).text) as object;
  expect(answer).toMatchObject({ active: true, client_id: machine.clientId });
  expect(answer).not.toHaveProperty('scope');
});
