// Tests what every answer carries: headers, cookies and CORS; and requests that repeat a header.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const origin = 'https://id.login.example.com';
const names = ['JSESSIONOPENID', 'GATEHOUSE_BROWSER'];

// as behind a proxy: the issuer is https with a path, and requests come to the loopback
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ basePath: '/idp', environment: { BASE_URL: `${origin}/idp` } });
});
afterAll(() => service?.stop());

/** Sends these lines on a socket of their own, and reads the whole answer. */
function raw(lines: string[]): Promise<{ status: number; head: string; body: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.issuer);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      resolve({ status: Number(head.split(' ')[1]), head: head.toLowerCase(), body });
    });
    socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  });
}

/** Name and attributes of each cookie that an answer sets, and whether the answer expires it. */
function cookiesOf(lines: string[]) {
  return lines.map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const gone = attributes.some((attribute) => /^(Max-Age=0|Expires=Thu, 01 Jan 1970)/.test(attribute));
    const kept = attributes.filter((attribute) => !/^(Max-Age|Expires)=/.test(attribute)).sort();
    return { name: pair.split('=')[0]!.replace(/_[0-9a-f]{8}$/, ''), gone, attributes: kept.join('; ') };
  });
}

async function signIn(): Promise<{ agent: UserAgent; set: ReturnType<typeof cookiesOf> }> {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const page = await agent.get('/login');
  const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
  const answer = await agent.post('/login', form, { origin });
  return { agent, set: cookiesOf([...page.headers.getSetCookie(), ...answer.headers.getSetCookie()]) };
}

test('signing out expires both cookies with the attributes with which they were set (security R50, R69)', async () => {
  const { agent, set } = await signIn();
  const question = await agent.get('/logout');
  const answer = await agent.post('/logout', { ...hiddenFields(question.body), decision: 'sign-out' }, { origin });
  const taken = cookiesOf(answer.headers.getSetCookie());
  for (const name of names) {
    expect(taken.find((cookie) => cookie.name === name)).toEqual({
      ...set.find((cookie) => cookie.name === name)!,
      gone: true,
    });
  }
  expect(set.find(({ name }) => name === names[0])!.attributes).toBe('HttpOnly; Path=/idp; SameSite=Lax; Secure');
});

test('of two session cookies both are expired, at every path and domain where another site can have planted one (security R51)', async () => {
  const { agent } = await signIn();
  const value = agent.cookies.get(names[0]!)!;
  const answer = await raw([
    'GET /idp/account HTTP/1.1',
    'Host: id.login.example.com',
    'Accept: text/html',
    `Cookie: ${names[0]}=${value.split('.')[0]}.planted; ${names[0]}=${value}`,
  ]);
  expect(answer.status).toBe(303);
  const expired = [...answer.head.matchAll(/set-cookie: (jsessionopenid=;.*)/g)].map(([, line]) => line!);
  const places = expired.map((line) => `${/domain=([^;]*)/.exec(line)?.[1] ?? ''} ${/path=([^;]*)/.exec(line)![1]!}`);
  expect(places.sort()).toEqual(
    ['', 'id.login.example.com', 'login.example.com', 'example.com']
      .flatMap((domain) => [`${domain} /`, `${domain} /idp`])
      .sort(),
  );
  for (const line of expired) expect(line).toMatch(/expires=thu, 01 jan 1970|max-age=0/);
});

test('a request with two Authorization headers is refused at every address, even when the first one is right (security R37)', async () => {
  const client = await service.createClient();
  const twice = [`Authorization: ${client.basic}`, 'authorization: Bearer x'];
  for (const path of [
    '/idp/user/info',
    '/idp/user/me/settings',
    '/idp/register/x',
    '/idp/admin/api/users',
    '/idp/jwks',
  ]) {
    for (const lines of [twice, twice.toReversed()]) {
      const answer = await raw([`GET ${path} HTTP/1.1`, 'Host: id.login.example.com', ...lines]);
      expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('Authorization is repeated')]);
    }
  }
});

test('only the addresses that scripts need allow other origins, and never with credentials (security R97, R57, R96)', async () => {
  const metadata = '/.well-known/oauth-authorization-server';
  const open = [
    metadata,
    `${metadata}/idp`,
    ...['', '/admin/api', '/user/info'].map((path) => `/.well-known/oauth-protected-resource/idp${path}`),
    '/.well-known/openid-configuration',
    '/.well-known/webfinger',
    '/jwks',
    '/par',
    '/device_authorization',
    '/revoke',
    '/token',
  ];
  const registration = ['/register', '/register/x'];
  const given = new Set<string>();
  // fetch sends no TRACE; the same route answers other methods
  const routes = routesOf(service.apps[0]!)
    .filter((route) => !route.startsWith('TRACE '))
    .map((route) => route.split(' ') as [string, string]);
  for (const [method, route] of [...routes, ['GET', '/idp/nowhere'] as const, ['GET', '/nowhere'] as const]) {
    if (route === '*') continue;
    const address = new URL(route.replaceAll(/:\w+/g, 'x').replace('.*.', '.x.'), service.issuer);
    const path = address.pathname.replace(/^\/idp/, '');
    const asked = { origin: 'https://evil.example' };
    const answers = [
      await fetch(address, { method, headers: asked, redirect: 'manual' }),
      await fetch(address, { method: 'OPTIONS', headers: { ...asked, 'access-control-request-method': method } }),
    ];
    for (const { headers } of answers) {
      if (headers.has('access-control-allow-origin')) given.add(path);
      expect(headers.get('access-control-allow-origin') ?? '*', route).toBe('*');
      expect(headers.has('access-control-allow-credentials'), route).toBe(false);
      expect(headers.get('strict-transport-security'), route).toBe('max-age=31536000; includeSubDomains');
      if (path === '/check-session') continue;
      expect(headers.get('x-frame-options'), route).toBe('DENY');
      expect(headers.get('content-security-policy'), route).toContain(`frame-ancestors 'none'`);
    }
  }
  expect([...given].sort()).toEqual([...open, ...registration, '/user/info'].sort());
});
