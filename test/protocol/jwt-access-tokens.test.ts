// A resource that verifies tokens by itself gets them as JWTs (RFC 9068).
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, call, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const notes = 'https://notes.example/v1';

let service: TestService;
let token: string;
let server: TestClient;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient();
  await register({ resource: notes, client_id: server.clientId });
  client = await service.createClient({ scope: 'openid email notes.read' });
});
afterAll(() => service?.stop());

async function register(members: Record<string, unknown>): Promise<void> {
  const made = await call(`${service.issuer}/admin/api/resources`, {
    token,
    body: {
      name: 'Notes',
      access_token_format: 'jwt',
      clients: 'approved',
      scopes: [{ value: 'notes.read' }],
      ...members,
    },
  });
  expect(made.status).toBe(201);
}
/** As a resource server verifies it (RFC 9068 4). */
const verify = (jwt: string, audience = notes, algorithms = ['RS256']) =>
  jwtVerify(jwt, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)), {
    issuer: service.issuer,
    audience,
    typ: 'at+jwt',
    algorithms,
    requiredClaims: ['exp', 'aud', 'sub', 'client_id', 'iat', 'jti'],
  });
const seen = async (access: string, by = server, base = service.issuer) => (await introspect(base, by, access)).body;
const obtain = (parameters: Record<string, string> = {}, of = client, agent?: UserAgent) =>
  service.createUser().then(async (user) => ({
    user,
    tokens: await obtainTokens(
      service,
      of,
      user,
      { scope: 'openid email notes.read', resource: notes, ...parameters },
      agent,
    ),
  }));

describe('the token of a user', () => {
  test('has the claims of the profile, and lives five minutes by default (RFC 9068 2.2)', async () => {
    const { user, tokens } = await obtain();
    expect(tokens.expires_in).toBe(300);
    const { payload, protectedHeader } = await verify(tokens.access_token);
    expect(protectedHeader).toMatchObject({ typ: 'at+jwt', alg: 'RS256' });
    const { auth_time, iat } = payload as JWTPayload & { auth_time: number; iat: number };
    expect(payload).toEqual({
      iss: service.issuer,
      aud: notes,
      sub: user.sub,
      client_id: client.clientId,
      scope: tokens.scope,
      iat,
      exp: iat + 300,
      jti: expect.any(String) as string,
      auth_time,
      amr: ['pwd'],
      acr: expect.any(String) as string,
    });
    expect(auth_time).toBeLessThanOrEqual(iat);
    expect(decodeJwt(tokens.id_token)['at_hash']).toBeDefined();
  });

  test('is active at introspection on every instance until it is revoked (RFC 9068 2.2, RFC 7009 2)', async () => {
    const { tokens } = await obtain();
    for (const base of service.instances)
      expect(await seen(tokens.access_token, server, base)).toMatchObject({
        active: true,
        aud: [notes, server.clientId],
      });
    expect(await seen(tokens.access_token, await service.createClient())).toEqual({ active: false });
    const revoked = await fetch(`${service.issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ token: tokens.access_token }),
    });
    expect(revoked.status).toBe(200);
    for (const base of service.instances)
      expect(await seen(tokens.access_token, server, base)).toEqual({ active: false });
  });

  test('is refused at our own addresses, and so is its jti everywhere (RFC 9068 4, security R139)', async () => {
    const { tokens } = await obtain();
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    const { jti } = decodeJwt(tokens.access_token);
    expect((await userinfo(service.issuer, jti!)).status).toBe(401);
    expect((await introspect(service.issuer, server, jti!)).body).not.toMatchObject({ active: true });
  });

  test('is a JWT after a refresh, and with several resources only for this one (RFC 8707 2.2)', async () => {
    const opaque = 'https://opaque.example';
    await register({ resource: opaque, access_token_format: 'opaque', scopes: [] });
    const agent = new UserAgent(service);
    await obtain({}, client, agent);
    const url = new URL(authorizationUrl(service.issuer, client, { scope: 'openid notes.read', prompt: 'none' }));
    for (const uri of [notes, opaque]) url.searchParams.append('resource', uri);
    const code = responseParameters(await agent.get(url.pathname + url.search))['code']!;
    const first = await redeem(service.issuer, client, code, { resource: opaque });
    expect(String(first.body['access_token'])).toMatch(/^ghat_/);
    const second = await refresh(service.issuer, client, String(first.body['refresh_token']), { resource: notes });
    expect((await verify(String(second.body['access_token']))).payload).toMatchObject({ scope: 'openid notes.read' });
    expect(second.body['expires_in']).toBe(300);
  });

  test('reaches a browser as a JWT, too (RFC 9068 3, RFC 6749 4.2.2)', async () => {
    const browser = await service.createClient({
      scope: 'openid',
      response_types: ['id_token token'],
      grant_types: ['implicit'],
    });
    const user = await service.createUser();
    const parameters = { scope: 'openid notes.read', resource: notes, response_type: 'id_token token', nonce: 'n' };
    const page = await new UserAgent(service).authorize(browser, user, parameters);
    const fragment = new URLSearchParams(new URL(page.location!).hash.slice(1));
    expect((await verify(fragment.get('access_token')!)).payload).toMatchObject({
      sub: user.sub,
      scope: 'openid notes.read',
    });
    expect(fragment.get('expires_in')).toBe('300');
  });

  test.each(['PS256', 'ES256', 'EdDSA'])('is signed by %s where the resource says so (RFC 9068 2.1)', async (alg) => {
    const resource = `https://${alg.toLowerCase()}.example`;
    await register({ resource, access_token_signing_alg: alg, scopes: [], access_token_lifetime: 7200 });
    const { tokens } = await obtain({ resource, scope: 'openid' });
    expect((await verify(tokens.access_token, resource, [alg])).protectedHeader.alg).toBe(alg);
    // never longer than an hour, since the resource learns of no revocation
    expect(tokens.expires_in).toBeLessThanOrEqual(3600);
  });

  test('names the user as the client of the resource knows the user (RFC 9068 2.2, 6)', async () => {
    const pairwise = await service.createClient({ subject_type: 'pairwise', redirect_uris: ['https://rs.example/cb'] });
    const resource = 'https://pairwise.example';
    await register({ resource, client_id: pairwise.clientId, scopes: [] });
    const { user, tokens } = await obtain({ resource, scope: 'openid' });
    const { sub } = decodeJwt(tokens.access_token);
    expect(sub).not.toBe(user.sub);
    expect((await seen(tokens.access_token, pairwise))['sub']).toBe(sub);
  });
});

describe('claims of the user', () => {
  const register3 = (resource: string, members: Record<string, unknown> = {}) =>
    register({ resource, client_id: server.clientId, token_claims: ['groups', 'email', 'name'], ...members });

  test('are those of the resource that the scope of the token releases, under their registered names (RFC 9068 2.2.2, 2.2.3)', async () => {
    const resource = 'https://claims.example';
    await register3(resource);
    const grouped = await service.createClient({ scope: 'openid profile email groups' });
    const user = await service.createUser({ email: 'ada@example.org', groups: ['staff', 'night shift'] });
    const claimsFor = async (scope: string, agent = new UserAgent(service)) =>
      (await verify((await obtainTokens(service, grouped, user, { scope, resource }, agent)).access_token, resource))
        .payload;
    const given = await claimsFor('openid groups notes.read');
    expect([...(given['groups'] as string[])].sort()).toEqual(['night shift', 'staff']);
    for (const claim of ['email', 'name']) expect(given).not.toHaveProperty(claim);
    // the resource names email, and not the other claims of the scopes
    const wider = await claimsFor('openid profile email notes.read');
    expect(wider).toMatchObject({ email: 'ada@example.org' });
    for (const claim of ['groups', 'email_verified', 'preferred_username', 'updated_at'])
      expect(wider).not.toHaveProperty(claim);
    // without openid, too: plain OAuth 2.0
    expect(await claimsFor('groups notes.read')).toMatchObject({ groups: expect.any(Array) as string[] });
  });

  test('are in the token after a refresh and in that of a browser, as the resource says then (RFC 9068 2.2.2)', async () => {
    const resource = 'https://later.example';
    await register3(resource, { token_claims: [] });
    const user = await service.createUser({ email: 'bob@example.org' });
    const both = await service.createClient({
      scope: 'openid email',
      response_types: ['code', 'id_token token'],
      grant_types: ['authorization_code', 'refresh_token', 'implicit'],
    });
    const tokens = await obtainTokens(service, both, user, { scope: 'openid email', resource });
    expect((await verify(tokens.access_token, resource)).payload).not.toHaveProperty('email');
    const path = `${service.issuer}/admin/api/resources/${encodeURIComponent(resource)}`;
    await call(path, { method: 'PATCH', token, body: { token_claims: ['email'] } });
    const { body } = await refresh(service.issuer, both, tokens.refresh_token, { resource });
    expect((await verify(String(body['access_token']), resource)).payload).toMatchObject({ email: 'bob@example.org' });
    const parameters = { scope: 'openid email', resource, response_type: 'id_token token', nonce: 'n' };
    const page = await new UserAgent(service).authorize(both, user, parameters);
    const fragment = new URLSearchParams(new URL(page.location!).hash.slice(1));
    expect((await verify(fragment.get('access_token')!, resource)).payload).toMatchObject({ email: 'bob@example.org' });
  });

  test.each([[['sub']], [['client_id']], [['nickname', 'nickname']], [['toString']]])(
    'of other names are refused: %s (RFC 9068 2.2.2)',
    async (claims) => {
      const made = await call(`${service.issuer}/admin/api/resources`, {
        token,
        body: { resource: 'https://wrong.example', name: 'Wrong', token_claims: claims },
      });
      expect(made).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    },
  );

  test('that make the token longer than 8 KiB refuse it, and the log names the largest (protocols 5.1)', async () => {
    const resource = 'https://large.example';
    await register3(resource);
    const grouped = await service.createClient({ scope: 'openid groups' });
    const groups = Array.from({ length: 120 }, (_, index) => `${'department-'.repeat(6)}${index}`);
    const user = await service.createUser({ groups });
    const agent = new UserAgent(service);
    const url = new URL(authorizationUrl(service.issuer, grouped, { scope: 'openid groups', resource }));
    await agent.signIn(user);
    const answered = await agent.authorize(grouped, user, { scope: 'openid groups', resource });
    const refused = await redeem(service.issuer, grouped, responseParameters(answered)['code']!);
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    expect(String(refused.body['error_description'])).toContain('longer than 8192 bytes');
    expect(JSON.stringify(service.logs)).toMatch(/of which \d+ are of the claim groups/);
    // the same user gets a token with fewer scopes
    url.searchParams.set('scope', 'openid');
    const code = responseParameters(await agent.get(url.pathname + url.search))['code']!;
    expect((await redeem(service.issuer, grouped, code)).status).toBe(200);
  });
});

describe('the token of a client itself', () => {
  test('has the client as subject, and nothing of a user (RFC 9068 2.2)', async () => {
    const machine = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scope: 'notes.read',
    });
    const { body } = await tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', resource: notes });
    const { payload } = await verify(String(body['access_token']));
    expect(payload).toMatchObject({ sub: machine.clientId, client_id: machine.clientId, scope: 'notes.read' });
    for (const claim of ['auth_time', 'acr', 'amr']) expect(payload).not.toHaveProperty(claim);
    expect(await seen(String(body['access_token']))).toMatchObject({ active: true, sub: machine.clientId });
  });
});

test('of openid-client and oauth4webapi are verified by jose and by the resource server of oauth4webapi (RFC 9068 4)', async () => {
  const machine = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'notes.read',
  });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const as = await oauth
    .discoveryRequest(new URL(service.issuer), insecure)
    .then((answer) => oauth.processDiscoveryResponse(new URL(service.issuer), answer));
  const parameters = { resource: notes, scope: 'notes.read' };
  const caller = { client_id: machine.clientId };
  const requested = await oauth.clientCredentialsGrantRequest(
    as,
    caller,
    oauth.ClientSecretBasic(machine.clientSecret),
    new URLSearchParams(parameters),
    insecure,
  );
  const byOauth = await oauth.processClientCredentialsResponse(as, caller, requested);
  const configuration = await oidc.discovery(
    new URL(service.issuer),
    machine.clientId,
    machine.clientSecret,
    undefined,
    { execute: [oidc.allowInsecureRequests] },
  );
  const byOpenid = await oidc.clientCredentialsGrant(configuration, parameters);
  for (const { access_token: access } of [byOauth, byOpenid]) {
    expect((await verify(access)).payload).toMatchObject({ client_id: machine.clientId, scope: 'notes.read' });
    const request = new Request(notes, { headers: { authorization: `Bearer ${access}` } });
    expect(await oauth.validateJwtAccessToken(as, request, notes, insecure)).toMatchObject({ aud: notes });
    const elsewhere = oauth.validateJwtAccessToken(as, request, 'https://elsewhere.example', insecure);
    await expect(elsewhere).rejects.toThrow();
  }
});

test('the header has the key of the published set, and the type that no other JWT of the service has (RFC 9068 2.1, RFC 8725 3.11)', async () => {
  const { tokens } = await obtain();
  const { kid, typ } = decodeProtectedHeader(tokens.access_token);
  const { keys } = (await (await fetch(`${service.issuer}/jwks`)).json()) as { keys: { kid: string }[] };
  expect(keys.map((key) => key.kid)).toContain(kid);
  expect({ typ, of: decodeProtectedHeader(tokens.id_token).typ }).toEqual({ typ: 'at+jwt', of: 'JWT' });
});
