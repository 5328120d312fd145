// The admin routes accept only a token with the scope admin, on every route and however its address is written.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const routes: [string, string][] = [
  ['GET', '/clients'],
  ['POST', '/clients'],
  ['GET', '/clients/x'],
  ['PATCH', '/clients/x'],
  ['DELETE', '/clients/x'],
  ['POST', '/clients/x/approve'],
  ['POST', '/clients/x/refuse'],
  ['POST', '/clients/x/disable'],
  ['GET', '/users'],
  ['POST', '/users'],
  ['GET', '/users/x'],
  ['PATCH', '/users/x'],
  ['DELETE', '/users/x'],
  ['GET', '/sessions'],
  ['DELETE', '/sessions/x'],
  ['DELETE', '/users/x/sessions'],
  ['GET', '/audit'],
  ['POST', '/registration-tokens'],
  ['GET', '/keys'],
  ['POST', '/keys'],
];
const send = (method: string, path: string, options: { token?: string; headers?: Record<string, string> } = {}) =>
  call(`${service.issuer}/admin/api${path}`, {
    method,
    ...options,
    ...(method !== 'GET' && method !== 'DELETE' && { body: {} }),
  });

describe.each(routes)('%s %s', (method, path) => {
  test('the route refuses a request without a token, and a token without the scope admin (decisions section 8, security R89)', async () => {
    expect(await send(method, path)).toMatchObject({ status: 401 });
    expect(await send(method, path, { token: `ghat_${'A'.repeat(49)}` })).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    });
    const plain = await service.createClient();
    expect(await send(method, path, { headers: { authorization: plain.basic } })).toMatchObject({ status: 401 });
    const admin = await service.createUser({ admin: true });
    const { access_token } = await obtainTokens(service, plain, admin, { scope: 'openid' });
    const answer = await send(method, path, { token: access_token });
    expect(answer).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('the route accepts a token with the scope admin, and names the version of the interface (decisions section 1)', async () => {
    const answer = await send(method, path, { token });
    expect([200, 201, 400, 404]).toContain(answer.status);
    expect(answer.headers.get('api-version')).toMatch(/^\d+\.\d+$/);
  });
});

test('an administrator calls the admin routes through a client with the scope admin; another user cannot, even by requesting the scope (decisions section 8)', async () => {
  const console = await service.createClient({ scope: 'openid admin' });
  const administrator = await service.createUser({ admin: true });
  const { access_token: administratorToken } = await obtainTokens(service, console, administrator, {
    scope: 'openid admin',
  });
  expect(await send('GET', '/users', { token: administratorToken })).toMatchObject({ status: 200 });

  const other = await service.createUser();
  const { access_token: otherToken } = await obtainTokens(service, console, other, { scope: 'openid admin' });
  expect(await send('GET', '/users', { token: otherToken })).toMatchObject({ status: 403 });
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [administrator.sub]);
  expect(await send('GET', '/users', { token: administratorToken })).toMatchObject({ status: 401 });
});

test("a client's token stops working when the client is disabled, and the audit trail names the client as the actor (security R42, R91)", async () => {
  const tool = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' });
  const response = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: tool.basic },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: clientToken } = (await response.json()) as { access_token: string };
  expect(await send('POST', '/registration-tokens', { token: clientToken })).toMatchObject({ status: 201 });
  const rows = await service.database.sql(
    `SELECT type, actor, host(address) AS address FROM audit_events WHERE actor = $1`,
    [tool.clientId],
  );
  expect(rows).toEqual([{ type: 'registration_token.created', actor: tool.clientId, address: expect.any(String) }]);
  await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [tool.clientId]);
  expect(await send('GET', '/users', { token: clientToken })).toMatchObject({ status: 401 });
});

test.each([
  'GET /admin/api/users/ HTTP/1.1',
  'GET //admin/api/users HTTP/1.1',
  'GET /%61dmin/api/users HTTP/1.1',
  'GET /admin/%61pi/users HTTP/1.1',
  'GET /ADMIN/api/users HTTP/1.1',
  'GET /admin/api/../api/users HTTP/1.1',
  'GET /user/..%2fadmin/api/users HTTP/1.1',
  'GET /admin/api/users;x HTTP/1.1',
  'GET /admin/api/users%00 HTTP/1.1',
  'GET /admin/api/users#x HTTP/1.1',
  'GET http://localhost/admin/api/users HTTP/1.1',
  'HEAD /admin/api/users HTTP/1.1',
  'OPTIONS /admin/api/users HTTP/1.1',
  'POST /admin/api/users?_method=GET HTTP/1.1',
])('the request line %s shows nothing to an unauthenticated client (security R89)', async (line) => {
  const answer = await raw([line, 'X-Original-URL: /admin/api/users', 'X-HTTP-Method-Override: GET']);
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(answer).not.toContain('"users"');
  expect(answer.toLowerCase()).not.toContain('access-control-allow-origin');
});

test('every answer below /admin/api names the version of the interface, and no other address does (decisions section 1)', async () => {
  const version = async (path: string, method = 'GET') => {
    const { status, headers } = await fetch(service.issuer + path, { method });
    return [status, headers.get('api-version')];
  };
  const named = expect.stringMatching(/^\d+\.\d+$/);
  expect(await version('/admin/api/nowhere')).toEqual([404, named]);
  expect(await version('/admin/api/users', 'PUT')).toEqual([405, named]);
  expect(await version('/admin/api/users')).toEqual([401, named]);
  expect(await version('/admin/nowhere')).toEqual([404, null]);
});

/** Sends bytes on a socket, since fetch normalizes addresses. */
function raw(lines: string[]): Promise<string> {
  const { hostname, port } = new URL(service.issuer);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
    const [first, ...rest] = lines;
    socket.write(
      [first, `Host: ${hostname}:${port}`, 'Origin: https://app.example', 'Connection: close', ...rest, '', ''].join(
        '\r\n',
      ),
    );
  });
}
