// Requests that no route sees are refused in the form that their caller reads: scripts of other origins by CORS, and browsers by a page.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

const origin = 'https://spa.example';
const cors = ['*', 'www-authenticate, dpop-nonce, retry-after'];
const corsOf = ({ headers }: Response) =>
  ['allow-origin', 'expose-headers'].map((name) => headers.get(`access-control-${name}`));

test.each<[string, number, string, RequestInit]>([
  ['a method that the address does not have', 405, '/token', { method: 'PATCH' }],
  ['a feature that is switched off', 404, '/device_authorization', { method: 'POST' }],
  ['a URL that is too long', 414, `/user/info?${'x'.repeat(9000)}`, {}],
  ['a parameter that is too long', 414, `/register/${'x'.repeat(1600)}`, {}],
  ['headers that are too long', 431, '/token', { method: 'POST', headers: { 'x-padding': 'x'.repeat(17_000) } }],
])(
  '%s is refused with %s that scripts of other origins can read (security R97, reports C5)',
  async (_what, status, path, init) => {
    const ask = (at: string) => fetch(service.issuer + at, { ...init, headers: { origin, ...init.headers } });
    const answer = await ask(path);
    expect([answer.status, ...corsOf(answer)]).toEqual([status, ...cors]);
    // pages and administration stay closed
    for (const closed of ['/introspect', '/login', '/admin/api/users', '/nowhere'])
      expect(corsOf(await ask(closed + path.replace(/^[^?]*/, ''))), closed).toEqual([null, null]);
  },
);

test('scripts of other origins can read how long to wait (security R97, reports C5)', async () => {
  const limited = await startTestService({ environment: { LIMIT_REGISTRATION_PER_NETWORK: '1' } });
  try {
    const body = JSON.stringify({ redirect_uris: ['https://spa.example/callback'] });
    const register = () =>
      fetch(`${limited.issuer}/register`, {
        method: 'POST',
        body,
        headers: { origin, 'content-type': 'application/json' },
      });
    await register();
    const refused = await register();
    expect([refused.status, ...corsOf(refused)]).toEqual([429, ...cors]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await limited.stop();
  }
});

test.each([17_000, 40_000])(
  'headers of %s bytes get a page in a browser, and JSON in a program (security R103, reports C3)',
  async (length) => {
    const ask = (headers: Record<string, string>) =>
      fetch(`${service.issuer}/login`, { headers: { cookie: `x=${'x'.repeat(length)}`, ...headers } });
    const page = await ask({ accept: 'text/html' });
    expect([page.status, page.headers.get('content-type'), page.headers.get('connection')]).toEqual([
      431,
      'text/html; charset=utf-8',
      'close',
    ]);
    expect(await page.text()).toContain('<h1');
    const answer = await ask({});
    expect([answer.status, await answer.json()]).toEqual([
      431,
      { error: 'invalid_request', error_description: 'the headers are too large' },
    ]);
  },
);
