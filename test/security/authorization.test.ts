// Tests the authorization endpoint and the pages around it: what every response to a client carries, and which loads have no effect.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let agent: UserAgent;
beforeAll(async () => {
  // a page of a feature that is off is 404 for each load
  service = await startTestService({ environment: { EMAIL_SIGN_IN: 'on', SIGN_UP: 'on' } });
  client = await service.createClient({
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code', 'code id_token'],
  });
  agent = new UserAgent(service);
  await agent.authorize(client, await service.createUser());
});
afterAll(() => service?.stop());

/** The parameters that the client gets, in whichever response mode. */
function carried(page: Page): Record<string, string> {
  if (page.location === undefined) return hiddenFields(page.body);
  const { hash, search } = new URL(page.location);
  return Object.fromEntries(new URLSearchParams(hash === '' ? search : hash.slice(1)));
}

test.each([
  ['query', 'code'],
  ['fragment', 'code id_token'],
  ['form_post', 'code id_token'],
])(
  'a response by %s, a success or an error, names the issuer and has the state as it was sent (security R7)',
  async (mode, type) => {
    for (const state of ['plain', 'a=b&c#d;e', '\r\nSet-Cookie: x=y', '✓ ü "<b>\'', `+%2B%00 ${'x'.repeat(2000)}`]) {
      const asked = { response_type: type, response_mode: mode, nonce: 'n', state };
      const outcomes: [expected: string, more: Record<string, string>][] = [
        ['code', {}],
        ['invalid_scope', { scope: 'profile' }],
        ['interaction_required', { prompt: 'none', max_age: '0' }],
        ['invalid_request', { prompt: 'nonsense' }],
      ];
      for (const [expected, more] of outcomes) {
        const page = await agent.get(authorizationUrl(service.issuer, client, { ...asked, ...more }));
        const response = carried(page);
        expect(page.status).toBe(mode === 'form_post' ? 200 : 302);
        expect(page.headers.get('set-cookie') ?? '').not.toContain('x=y');
        expect(response).toMatchObject({ iss: service.issuer, state });
        if (expected === 'code') expect(response['code']).toBeDefined();
        else expect(response['error']).toMatch(/^(login|interaction|consent)_required$|^invalid_/);
      }
    }
  },
);

test('no page does anything for HEAD, a prefetch or a load that is no navigation (security R8)', async () => {
  const query = new URL(authorizationUrl(service.issuer, client)).search;
  // a request by a script, a program or a frame is no navigation
  const others =
    /\/(assets|\.well-known|health|user|register|scim|admin\/api|forward-auth\/envoy)\/|\/(jwks|metrics|check-session|frontchannel-logout|saml\/metadata|openapi\.json)$/;
  const visited = routesOf(service.apps[0]!).filter((route) => route.startsWith('GET ') && !others.test(route));
  expect(visited.length).toBeGreaterThan(8);
  const state = () =>
    service.database.sql(
      `SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM authorization_codes) AS codes,
              (SELECT count(*) FROM authorization_requests) AS requests, (SELECT count(*) FROM used_assertions) AS assertions`,
    );
  const before = await state();
  const prefetches: Record<string, string>[] = [
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
  ];
  const loads = ['image', 'iframe', 'embed', 'script', 'empty'].map((destination) => ({
    'sec-fetch-dest': destination,
  }));
  for (const [index, path] of visited.map((route) => route.slice('GET '.length)).entries()) {
    // one rule refuses all of them: each route meets one of each kind, in turn
    const headers = [prefetches[index % prefetches.length]!, loads[index % loads.length]!];
    for (const load of headers) {
      const page = await agent.get(path + query, load);
      // the root only redirects, and the pages about errors have no form
      if (!['/', '/error', '/errors', '/access-denied'].includes(path)) {
        // 404 for a connection that does not exist, and for a feature that is off
        expect(/\/connections\/:id\/saml\/|^\/account\/requests/.test(path) ? [403, 404] : [403], path).toContain(
          page.status,
        );
      }
      expect(page.location ?? service.issuer, path).toContain(service.issuer);
      expect(page.headers.getSetCookie(), path).toEqual([]);
    }
    for (const method of ['HEAD', 'OPTIONS']) {
      const page = await agent.fetch(path + query, { method });
      expect(page.headers.getSetCookie(), path).toEqual([]);
      // uptime checks ask these by HEAD, and are answered as a browser without cookies
      const isAsked = method === 'HEAD' && ['/', '/login', '/account', '/admin'].includes(path);
      if (isAsked) continue;
      // 404 for a feature that is switched off
      expect([404, 405], path).toContain(page.status);
      expect(page.location, path).toBeUndefined();
    }
  }
  expect(await state()).toEqual(before);
});
