// Malformed escapes and unknown methods are refused before the route, at every address.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, USERINFO_POST: 'true' } });
  client = await service.createClient();
});
afterAll(() => service?.stop());

// an invalid escape, incomplete escapes, bytes that are not UTF-8, a surrogate, an overlong form
const malformed = ['%zz', '%', '%f', '%ff', '%ed%a0%80', '%c0%af', 'a%e2%82', '%ff%fe'];

test.each(malformed)('a query with the malformed text %s is refused with 400 (security R107)', async (value) => {
  const browser = new UserAgent(service);
  for (const name of ['state', 'nonce', 'login_hint', 'x']) {
    const page = await browser.get(`${authorizationUrl(service.issuer, client)}&${name}=${value}`);
    expect(page.location).toBe(`${service.issuer}/login?problem=request`);
    expect((await browser.follow(page)).status).toBe(400);
  }
  for (const path of ['/logout', '/end-session', '/user/me/info', '/login', '/.well-known/openid-configuration']) {
    const answer = await fetch(`${service.issuer}${path}?state=${value}`);
    expect(answer.status, path).toBe(400);
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' });
  }
});

test.each(malformed)('a form with the malformed text %s is refused with 400 (security R107)', async (value) => {
  for (const path of ['/token', '/revoke', '/introspect', '/login', '/logout', '/user/info', '/user/me/info']) {
    for (const body of [`token=a&x=${value}`, `${value}=x`]) {
      const answer = await fetch(service.issuer + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: client.basic },
      });
      expect(answer.status, path).toBe(400);
      expect(await answer.json()).toMatchObject({ error: 'invalid_request' });
    }
  }
});

test('a form with bytes beyond ASCII must be UTF-8 (security R107)', async () => {
  const post = (body: Uint8Array<ArrayBuffer>) =>
    fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: client.basic },
    }).then((answer) => answer.json());
  expect(await post(Buffer.from('token=\xff', 'latin1'))).toMatchObject({
    error: 'invalid_request',
    error_description: expect.stringContaining('UTF-8'),
  });
  expect(await post(Buffer.from('token=\u00e9', 'utf8'))).toMatchObject({ error: 'invalid_token' });
});

test('a well-formed state comes back as the client sent it (RFC 6749 4.1.2)', async () => {
  const user = await service.createUser();
  const browser = new UserAgent(service);
  await browser.authorize(client, user);
  for (const state of ['%E2%9C%93', '%25zz', 'a+b', '%EF%BF%BD', '%F0%9F%9A%A2']) {
    const page = await browser.get(`${authorizationUrl(service.issuer, client)}&state=${state}`);
    expect(new URL(page.location!).searchParams.get('state')).toBe(decodeURIComponent(state.replaceAll('+', ' ')));
  }
});

test.each([
  ['/login', 'GET, HEAD, POST'],
  ['/authorize', 'GET, POST'],
  ['/consent', 'GET, POST'],
  ['/account', 'GET, HEAD, POST'],
  ['/introspect', 'POST'],
  ['/admin/api/clients', 'GET, POST'],
])('%s answers OPTIONS like any other unknown method: 405 with Allow (RFC 9110 15.5.6)', async (path, allow) => {
  for (const headers of [
    {},
    { origin: 'https://rp.example.com', 'access-control-request-method': 'POST' },
    { accept: 'text/html' },
  ] as Record<string, string>[]) {
    for (const method of ['OPTIONS', 'PATCH']) {
      if (method === 'PATCH' && path.startsWith('/admin')) continue;
      const answer = await fetch(service.issuer + path, { method, headers });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe(allow);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  }
});

test('OPTIONS that is not a preflight is an unknown method, also where scripts may call (RFC 9110 15.5.6, security R97)', async () => {
  for (const headers of [{}, { origin: 'https://rp.example.com' }] as Record<string, string>[]) {
    const answer = await fetch(`${service.issuer}/token`, { method: 'OPTIONS', headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
    expect(await answer.json()).toMatchObject({ error: 'invalid_request' });
  }
});

test('OPTIONS of an unknown address gets 404, and a preflight is answered where scripts may call (security R97)', async () => {
  expect((await fetch(`${service.issuer}/nowhere`, { method: 'OPTIONS' })).status).toBe(404);
  const headers = { origin: 'https://rp.example.com', 'access-control-request-method': 'POST' };
  const preflight = await fetch(`${service.issuer}/token`, { method: 'OPTIONS', headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
});

test('scripts of any origin register and manage a client, without credentials of the browser (security R97, RFC 7591 3, RFC 7592 2)', async () => {
  const origin = 'https://rp.example.com';
  const listed = (answer: Response, name: string) => answer.headers.get(`access-control-allow-${name}`)?.split(', ');
  const preflight = (path: string, method: string) =>
    fetch(service.issuer + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    });
  for (const [path, methods] of [
    ['/register', ['POST']],
    ['/register/some-client', ['GET', 'PUT', 'DELETE']],
    ['/token', ['POST']],
  ] as const) {
    for (const method of methods) {
      const answer = await preflight(path, method);
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(listed(answer, 'methods')?.toSorted()).toEqual([...methods].toSorted());
      expect(listed(answer, 'headers')).toEqual([
        'authorization',
        'content-type',
        'dpop',
        'idempotency-key',
        'mcp-protocol-version',
      ]);
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
  }
  for (const path of ['/register/', '/register/a/b', '/register/a/'])
    expect((await preflight(path, 'GET')).headers.get('access-control-allow-origin'), path).toBeNull();
  const created = await fetch(`${service.issuer}/register`, {
    method: 'POST',
    body: JSON.stringify({ redirect_uris: [`${origin}/callback`] }),
    headers: { origin, 'content-type': 'application/json' },
  });
  expect([created.status, created.headers.get('access-control-allow-origin')]).toEqual([201, '*']);
  const client = (await created.json()) as Record<string, string>;
  const read = (token: string) =>
    fetch(client['registration_client_uri']!, { headers: { origin, authorization: `Bearer ${token}` } });
  for (const [token, status] of [
    [client['registration_access_token']!, 200],
    ['wrong', 401],
  ] as const) {
    const answer = await read(token);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, '*']);
    expect(answer.headers.get('access-control-expose-headers')).toBe('www-authenticate, dpop-nonce, retry-after');
  }
});
