// Tokens for the service's own addresses are separate from tokens for other resource servers, which cannot be used here (RFC 8707 2.2).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import {
  adminToken,
  call,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  withoutLimits,
  unbound,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { introspect } from '../spec/kit.ts';

const foreign = 'https://rs.example/api';

let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
let server: TestClient;
let machine: TestClient;
let application: TestClient;
let adminBearer: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits, basePath: '/idp' });
  admin = await service.createUser({ username: 'ada', admin: true });
  server = await service.createClient({ resource_uris: [foreign] });
  machine = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'admin metrics',
  });
  application = await service.createClient({
    grant_types: ['authorization_code', 'refresh_token'],
    scope: 'openid profile admin metrics offline_access',
    uma_profile: true,
  });
  adminBearer = await adminToken(service);
});
afterAll(() => service?.stop());

const own = (path: string) => service.issuer + path;
const credentials = (fields: Record<string, string>) =>
  tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', ...fields });
const statusAt = async (path: string, token: string, method = 'GET') => {
  const body = method === 'PUT' ? { settings: { a: 1 } } : undefined;
  const base = service.instances[1]!;
  return (
    await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  ).status;
};

describe('a token for another resource', () => {
  test("a client's token for another resource has no scope of an administrator, and is refused at the admin routes (RFC 8707 2.2, security R115)", async () => {
    const { status, body } = await credentials({ resource: foreign });
    expect({ status, scope: body['scope'] }).toEqual({ status: 200, scope: undefined });
    const token = body['access_token'] as string;
    expect((await introspect(service.issuer, server, token)).body).toMatchObject({ active: true });
    for (const path of ['/admin/api/clients', '/metrics']) expect(await statusAt(path, token)).toBe(401);
    const created = await call(own('/admin/api/users'), { token, body: { username: 'mallory', admin: true } });
    expect({ status: created.status, error: created.body['error'] }).toEqual({ status: 401, error: 'invalid_token' });
    expect(created.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test.each(['admin', 'metrics', 'metrics admin'])(
    'a client that requests the scope %s by name gets invalid_scope (RFC 8707 2.2, security R115)',
    async (scope) => {
      expect(await credentials({ resource: foreign, scope })).toMatchObject({
        status: 400,
        body: { error: 'invalid_scope' },
      });
      expect((await credentials({ scope })).status).toBe(200);
    },
  );

  test("a user's token for another resource is refused at every address that takes a token (RFC 8707 2.2, security R115)", async () => {
    const tokens = await obtainTokens(service, application, admin, { resource: foreign, scope: 'openid profile' });
    const next = await refresh(service.issuer, application, tokens.refresh_token);
    for (const token of [tokens.access_token, next.body['access_token'] as string]) {
      const answer = await call(own('/user/info'), { token });
      expect({ status: answer.status, error: answer.body['error'] }).toEqual({ status: 401, error: 'invalid_token' });
      for (const path of ['/user/me/info', '/user/me/settings', '/user/me/address', '/user/me/scope', '/metrics'])
        expect([path, await statusAt(path, token)]).toEqual([path, 401]);
      expect(await statusAt('/user/me/settings', token, 'PUT')).toBe(401);
      expect(await statusAt('/admin/api/clients', token)).toBe(401);
    }
    // a token without a resource works everywhere
    const whole = await obtainTokens(service, application, admin, { scope: 'openid profile' });
    for (const path of ['/user/info', '/user/me/settings']) expect(await statusAt(path, whole.access_token)).toBe(200);
  });

  test("an administrator's token for another resource cannot hold the scope admin, however it is requested (RFC 8707 2.2, security R115)", async () => {
    const agent = new UserAgent(service);
    const asked = { resource: foreign, scope: 'openid admin' };
    expect(responseParameters(await agent.authorize(application, admin, asked))).toMatchObject({
      error: 'invalid_scope',
    });
    const push = await fetch(own('/par'), {
      method: 'POST',
      headers: { authorization: application.basic },
      body: new URLSearchParams({ response_type: 'code', redirect_uri: application.redirectUri, ...asked }),
    });
    expect({ status: push.status, body: await push.json() }).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    });
    const tokens = await obtainTokens(service, application, admin, { resource: foreign, scope: 'openid' }, agent);
    const wider = await refresh(service.issuer, application, tokens.refresh_token, { scope: 'openid admin' });
    expect(wider).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
  });

  test('a token from before this rule is refused everywhere, and introspection hides its power (security R115)', async () => {
    for (const audience of [
      [foreign, server.clientId],
      [own('/admin/api'), server.clientId],
    ]) {
      const { token, hash } = newOpaqueToken('access_token');
      const row = { tokenHash: hash, clientId: machine.clientId, scope: 'admin', lifetime: 60, audience };
      expect(await service.store.accessTokens.insertForClient({ ...row, ...unbound })).toBe('stored');
      expect(await statusAt('/admin/api/clients', token)).toBe(401);
      expect(await statusAt('/metrics', token)).toBe(401);
      expect((await introspect(service.issuer, server, token)).body['scope']).not.toBe('admin');
    }
  });

  test('a code for another resource is not accepted as a client-session handle (security R115)', async () => {
    const code = await obtainCode(service, application, admin, { resource: foreign, scope: 'openid' });
    expect(await statusAt('/user/me/settings', code)).toBe(401);
    expect((await redeem(service.issuer, application, code)).status).toBe(200);
  });
});

describe("a token for one of the service's own resources", () => {
  test.each<[string, Record<string, number>]>([
    ['', { '/user/info': 200, '/user/me/settings': 200, '/admin/api/clients': 401, '/metrics': 401 }],
    ['/', { '/user/info': 200, '/user/me/settings': 200, '/%61dmin/api/clients': 401, '/metrics': 401 }],
    ['/user/info', { '/user/info': 200, '/user/me/settings': 401, '/admin/api/clients': 401, '/metrics': 401 }],
    ['/admin/api', { '/user/info': 401, '/user/me/settings': 401, '/admin/api/clients': 200, '/metrics': 401 }],
    ['/admin/api/users', { '/admin/api/clients': 401, '/admin/api/users': 200, '/admin/api/users?limit=1': 200 }],
  ])(
    'a token for {issuer}%s works at that address and below it (RFC 8707 2.2, security R115)',
    async (path, expected) => {
      const wanted = { resource: own(path), scope: 'openid admin metrics' };
      const { access_token: token, refresh_token } = await obtainTokens(service, application, admin, wanted);
      const seen = await Promise.all(Object.keys(expected).map(async (at) => [at, await statusAt(at, token)]));
      expect(Object.fromEntries(seen)).toEqual(expected);
      const again = await refresh(service.issuer, application, refresh_token, { resource: own(path) });
      expect(again.status).toBe(200);
    },
  );

  test('introspection shows the token to its own client only (RFC 8707 2.2, security R115)', async () => {
    const { body } = await credentials({ resource: own('/admin/api'), scope: 'admin' });
    const token = body['access_token'] as string;
    expect(await statusAt('/admin/api/clients', token)).toBe(200);
    expect((await introspect(service.issuer, machine, token)).body).toMatchObject({
      aud: [own('/admin/api')],
      scope: 'admin',
    });
    expect((await introspect(service.issuer, server, token)).body).toEqual({ active: false });
  });

  test.each([
    '/admin',
    '/metrics',
    '/admin/console',
    '/user/../admin/api',
    '/%61dmin/api',
    '/user/info?x',
    '/user//info',
  ])('a client gets no token for {issuer}%s (RFC 8707 2, security R115)', async (path) => {
    expect(await credentials({ resource: own(path) })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
  });

  test('a token works at a path with escapes by the route that serves it (security R115)', async () => {
    await call(own('/admin/api/groups'), { token: adminBearer, body: { name: 'Team A' } });
    const { body } = await credentials({ resource: own('/admin/api'), scope: 'admin' });
    const token = body['access_token'] as string;
    expect(await statusAt('/admin/api/groups/Team%20A', token)).toBe(200);
    const narrow = (await credentials({ resource: own('/admin/api/users'), scope: 'admin' })).body['access_token'];
    expect(await statusAt('/admin/api/groups/Team%20A', narrow as string)).toBe(401);
    const issuer = (await credentials({ resource: service.issuer })).body['access_token'] as string;
    expect(await statusAt('/%61dmin/api/groups/Team%20A', issuer)).toBe(401);
  });

  test('a token for the admin routes does not open the console, which requests no resource (security R115)', async () => {
    const { agent } = await openConsole(service, admin);
    expect((await agent.get('/admin')).status).toBe(200);
    await service.database.sql(
      'UPDATE client_sessions SET audience = ARRAY[$1] WHERE client_id = $2 RETURNING 1 AS done',
      [own('/admin/api'), 'gatehouse-console'],
    );
    expect((await agent.get('/admin')).location).toContain('/authorize?');
  });
});

describe('resource_uris', () => {
  const registration = (uri: string) => ({ redirect_uris: ['https://rp.example.com/cb'], resource_uris: [uri] });
  const spellings = () => {
    const { origin, host, port } = new URL(service.issuer);
    return [
      service.issuer,
      own('/'),
      own('/admin/api'),
      own('/user/info?x=1'),
      own('/%61dmin/api'),
      `${origin}/%69dp/admin/api`,
      `${origin}/%2569dp/admin/api`,
      `${origin}/IDP/admin/api`,
      `${origin}/x/../idp/admin/api`,
      `${origin}/x/%2e%2e/idp`,
      `${origin}/x/..%2fidp`,
      `${origin}//idp/admin`,
      `HTTP://${host.toUpperCase()}/idp/admin/api`,
      `http://user@${host}/idp`,
      `http://localhost.:${port}/idp`,
      `http:${host}/idp`,
    ];
  };

  test('a resource at or below the issuer is refused in every spelling, at registration and by admin route (security R115)', async () => {
    for (const uri of spellings()) {
      const answer = await call(own('/register'), { body: registration(uri) });
      expect([uri, answer.status, answer.body['error']]).toEqual([uri, 400, 'invalid_client_metadata']);
      const created = await call(own('/admin/api/clients'), { token: adminBearer, body: registration(uri) });
      expect([uri, created.status, created.body['error']]).toEqual([uri, 400, 'invalid_client_metadata']);
    }
  });

  test('a resource above or beside the issuer is allowed (security R115)', async () => {
    const { origin } = new URL(service.issuer);
    for (const uri of [origin, `${origin}/`, `${origin}/idpx`, `${origin}/other/idp`, 'urn:example:idp', foreign])
      expect([uri, (await call(own('/register'), { body: registration(uri) })).status]).toEqual([uri, 201]);
  });

  test('a resource at or below the issuer is refused in an update, by admin route and in the console (security R115)', async () => {
    const uri = own('/admin/api');
    const { body } = await call(own('/register'), { body: registration(foreign) });
    const address = body['registration_client_uri'] as string;
    const token = body['registration_access_token'] as string;
    const update = { method: 'PUT', token, body: { ...registration(uri), client_id: body['client_id'] } };
    expect(await call(address, update)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
    const again = { token, body: registration(uri) };
    expect(await call(own('/register'), again)).toMatchObject({ status: 400 });
    const path = own(`/admin/api/clients/${server.clientId}`);
    const change = { method: 'PATCH', token: adminBearer, body: { resource_uris: [uri] } };
    expect(await call(path, change)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
    const { agent } = await openConsole(service, admin);
    const edit = await agent.get(`/admin/clients/${server.clientId}/edit`);
    const page = await agent.post(`/admin/clients/${server.clientId}/edit`, {
      ...formOf(edit, `/admin/clients/${server.clientId}/edit`),
      application_type: 'web',
      redirect_uris: server.redirectUri,
      'grant_types.0': 'on',
      'response_types.0': 'on',
      'scope.0': 'on',
      token_endpoint_auth_method: 'client_secret_basic',
      subject_type: 'public',
      id_token_signed_response_alg: 'RS256',
      introspect: 'own',
      resource_uris: uri,
    });
    expect(page.status).toBe(400);
    expect(page.body).toContain('this service’s own resources');
  });

  test('a resource that a client registered before this rule does not make the client its resource server (security R115)', async () => {
    await service.database.sql(`UPDATE clients SET metadata = metadata || $1 WHERE client_id = $2`, [
      JSON.stringify({ resource_uris: [own('/admin/api'), own('/metrics'), `${own('')}/%61dmin/api`] }),
      server.clientId,
    ]);
    const { body } = await credentials({ resource: own('/admin/api'), scope: 'admin' });
    expect((await introspect(service.issuer, server, body['access_token'] as string)).body).toEqual({ active: false });
    for (const uri of [own('/metrics'), `${own('')}/%61dmin/api`])
      expect(await credentials({ resource: uri })).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
  });
});
