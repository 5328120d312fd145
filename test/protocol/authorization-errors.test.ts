// GET and POST /authorize report each error to the client or on the sign-in page, and redirect to no other address.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let client: TestClient;
/** Has a signed-in session whose user has granted the client access. */
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService();
  user = await service.createUser();
  client = await service.createClient();
  agent = new UserAgent(service);
  await agent.authorize(client, user);
});
afterAll(() => service?.stop());

const address = (parameters: Record<string, string> = {}, rp: Pick<TestClient, 'clientId' | 'redirectUri'> = client) =>
  authorizationUrl(service.issuer, rp, parameters);

/** The parts of a page that are the same in equal answers. */
function comparableParts(page: Page) {
  const headers = Object.fromEntries([...page.headers].filter(([name]) => name !== 'date'));
  // each refusal has a reference of its own
  const text = JSON.stringify({ headers, body: page.body }).replaceAll(/(reference=|<bdi>)[0-9a-f]{8}/g, '');
  return { status: page.status, text };
}

async function pendingRequests(): Promise<number> {
  const [row] = await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM authorization_requests');
  return row!.n;
}

async function issuedCodes(): Promise<number> {
  const [row] = await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM authorization_codes');
  return row!.n;
}

describe('a request that cannot be trusted', () => {
  const evil = 'https://evil.example/';

  test.each([['signed out'], ['signed in']])(
    'shows the sign-in page with 400, no form and no foreign address: %s (RFC 6749 4.1.2.1, security A1, R1)',
    async (state) => {
      const browser = state === 'signed in' ? agent : new UserAgent(service);
      const before = await pendingRequests();
      for (const wrong of [
        address({}, { clientId: 'nope', redirectUri: evil }),
        address({ prompt: 'none' }, { clientId: client.clientId, redirectUri: evil }),
        address({}, { clientId: client.clientId, redirectUri: `${client.redirectUri}/` }),
        address({}, { clientId: client.clientId, redirectUri: `${client.redirectUri}?x=1` }),
        address({}, { clientId: client.clientId, redirectUri: client.redirectUri.replace('callback', 'Callback') }),
        address({}, { clientId: client.clientId, redirectUri: 'javascript:alert(1)' }),
        `${service.issuer}/authorize`,
        `${service.issuer}/authorize?client_id=${client.clientId}&response_type=code&scope=openid`,
      ]) {
        const redirect = await browser.get(wrong);
        expect(redirect.status).toBe(303);
        expect(redirect.location).toBe(`${service.issuer}/login?problem=client`);
        const page = await browser.follow(redirect);
        expect(page.status).toBe(400);
        expect(page.location).toBeUndefined();
        expect(page.body).not.toContain('<form');
        expect(page.body).not.toContain('evil.example');
      }
      expect(await pendingRequests()).toBe(before);
    },
  );

  test('an unknown client, a disabled client and a wrong redirect URI get the same answer (security A2, R2)', async () => {
    const disabled = await service.createClient({}, { status: 'disabled' });
    const deregistered = await service.createClient();
    await service.database.sql('DELETE FROM clients WHERE client_id = $1', [deregistered.clientId]);
    for (const browser of [agent, new UserAgent(service)]) {
      const answers = [];
      for (const rp of [
        { clientId: 'unknown-client', redirectUri: client.redirectUri },
        disabled,
        deregistered,
        { clientId: client.clientId, redirectUri: evil },
      ]) {
        for (const more of [{}, { prompt: 'none' }, { response_type: 'nonsense' }] as Record<string, string>[]) {
          const redirect = await browser.get(address(more, rp));
          answers.push({ redirect: comparableParts(redirect), page: comparableParts(await browser.follow(redirect)) });
        }
        const posted = await browser.post('/authorize', { client_id: rp.clientId, redirect_uri: rp.redirectUri });
        answers.push({ redirect: comparableParts(await browser.follow(posted)), page: undefined });
      }
      const pages = answers.filter((answer) => answer.page);
      for (const answer of pages) expect(answer).toEqual(pages[0]);
      for (const answer of answers.filter((one) => !one.page)) expect(answer.redirect).toEqual(pages[0]!.page);
    }
  });

  test('a client that is disabled during a sign-in gets no response (decisions section 3)', async () => {
    const disabledLater = await service.createClient();
    const browser = new UserAgent(service);
    const login = await browser.follow(await browser.get(address({}, disabledLater)));
    await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [disabledLater.clientId]);
    // a notification clears the client cache of the instance: the request is repeated until it has arrived
    await expect.poll(async () => (await browser.get(address({}, disabledLater))).location).toContain('problem=client');
    const end = await browser.signIn(user, login);
    expect(end.status).toBe(400);
    expect(end.url).toBe(`${service.issuer}/login?problem=client`);
  });

  test.each(['client_id', 'redirect_uri', 'state', 'scope', 'prompt', 'nonce', 'max_age', 'x'])(
    "a repeated %s is reported on the service's own page only (RFC 6749 3.1, security R5)",
    async (name) => {
      const page = await agent.get(
        `${address({ [name]: '1', ...(name === 'client_id' && { client_id: client.clientId }) })}&${name}=2`,
      );
      expect(page.location).toBe(`${service.issuer}/login?problem=request`);
      expect((await agent.follow(page)).status).toBe(400);
    },
  );

  test('a request with more parameters than any client needs is refused (security R103)', async () => {
    const many = Array.from({ length: 70 }, (_, n) => `p${n}=1`).join('&');
    expect((await agent.get(`${address()}&${many}`)).location).toBe(`${service.issuer}/login?problem=request`);
  });

  test('a URL or a body over its limit is refused with a clear error (security A121)', async () => {
    const long = await agent.get(`${address()}&x=${'y'.repeat(20_000)}`);
    expect([414, 431]).toContain(long.status);
    expect((await agent.post('/authorize', { x: 'y'.repeat(70_000) })).status).toBe(413);
  });
});

const faults: [string, Record<string, string>, string][] = [
  ['no response_type', { response_type: '' }, 'invalid_request'],
  ['an unknown response_type', { response_type: 'teapot' }, 'unsupported_response_type'],
  ['a scope without openid', { scope: 'profile' }, 'invalid_scope'],
  ['a malformed scope', { scope: 'openid "quoted"' }, 'invalid_scope'],
  ['a scope with markup', { scope: '<svg/onload=1>' }, 'invalid_scope'],
  ['an oversize scope', { scope: `openid ${'x'.repeat(1100)}` }, 'invalid_scope'],
  ['an unknown prompt', { prompt: 'maybe' }, 'invalid_request'],
  ['prompt none and login', { prompt: 'none login' }, 'invalid_request'],
  ['an unknown response_mode', { response_mode: 'carrier-pigeon' }, 'invalid_request'],
  ['max_age -1', { max_age: '-1' }, 'invalid_request'],
  ['max_age 1.5', { max_age: '1.5' }, 'invalid_request'],
  ['max_age 0x10', { max_age: '0x10' }, 'invalid_request'],
  ['max_age NaN', { max_age: 'NaN' }, 'invalid_request'],
  ['max_age 1e9', { max_age: '1e9' }, 'invalid_request'],
  ['an oversize nonce', { nonce: 'n'.repeat(2049) }, 'invalid_request'],
  ['a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
  ['a request_uri', { request_uri: 'http://169.254.169.254/' }, 'invalid_request_uri'],
  ['a registration', { registration: '{}' }, 'registration_not_supported'],
  ['a forged id_token_hint', { id_token_hint: 'e30.e30.e30' }, 'invalid_request'],
];

test.each([2049, 6000])(
  'a state of %s characters is refused, and the error carries it (RFC 6749 4.1.2.1, security A15, reports C3)',
  async (length) => {
    const state = 's'.repeat(length);
    const answer = responseParameters(await agent.get(address({ state })));
    expect(answer).toMatchObject({ error: 'invalid_request', state });
    expect(answer['error_description']).toContain('state must be well-formed text of at most 2048 characters');
    // the request of a signed-out user is stored until the user has signed in
    const login = await new UserAgent(service).get(address({ state, prompt: 'none' }));
    expect(responseParameters(login)).toMatchObject({ state });
    expect(
      responseParameters(
        await agent.post('/authorize', {
          ...Object.fromEntries(new URL(address()).searchParams),
          state: 's'.repeat(12_000),
        }),
      ),
    ).toMatchObject({ error: 'invalid_request', state: 's'.repeat(12_000) });
  },
);

test.each(faults)(
  '%s is reported to the client of a signed-in user, with state and iss (decisions section 3, RFC 9207 2)',
  async (_what, parameters, error) => {
    const page = await agent.get(address({ state: 's', ...parameters }));
    expect(page.status).toBe(302);
    const sent = responseParameters(page);
    expect(Object.keys(sent).sort()).toEqual(['error', 'error_description', 'error_uri', 'iss', 'state']);
    expect(sent).toMatchObject({
      error,
      error_uri: `${service.issuer}/errors#${error}`,
      state: 's',
      iss: service.issuer,
    });
    expect(sent['error_description']).toMatch(/^[ !#-[\]-~]+$/);
    expect(sent['error_description']).not.toContain('<svg');
  },
);

test.each(faults.filter(([what]) => !what.startsWith('prompt none')))(
  '%s: a signed-out user signs in first, and then the client gets the error (RFC 9700 4.11.2, security R3)',
  async (_what, parameters, error) => {
    const browser = new UserAgent(service);
    const first = await browser.get(address({ state: 's', ...parameters }));
    expect(first.status).toBe(303);
    expect(first.location).toMatch(new RegExp(`^${service.issuer}/login\\?transaction=`));
    const login = await browser.follow(first);
    expect(login.status).toBe(200);
    const end = await browser.signIn(user, login);
    expect(end.status).toBe(302);
    expect(responseParameters(end)).toMatchObject({ error, state: 's', iss: service.issuer });
    expect((await browser.follow(await browser.get(end.url))).status).toBe(400);
  },
);

test('prompt=none reports the error to the client of a signed-out browser at once, and stores nothing (security A5, R3, R7)', async () => {
  const browser = new UserAgent(service);
  const before = await pendingRequests();
  const page = await browser.get(address({ prompt: 'none', state: 's' }));
  expect(page.status).toBe(302);
  expect(responseParameters(page)).toMatchObject({ error: 'login_required', state: 's', iss: service.issuer });
  expect(page.headers.getSetCookie()).toEqual([]);
  expect(await pendingRequests()).toBe(before);
});

test.each(['state', 'nonce', 'login_hint', 'ui_locales', 'scope', 'x', 'a\0b'])(
  'NUL in %j is refused in a signed-in and in a signed-out browser, without a server error (security A15, R107)',
  async (name) => {
    for (const browser of [agent, new UserAgent(service)]) {
      for (const page of [
        await browser.get(address({ [name]: 'a\0b' })),
        await browser.post('/authorize', {
          ...Object.fromEntries(new URL(address()).searchParams),
          [name]: 'a\0b',
        }),
      ]) {
        const end = await browser.follow(page);
        expect(end.status).toBeLessThan(500);
        expect(end.location ?? '').not.toContain('code=');
      }
    }
  },
);

test.each(['client_id', 'redirect_uri'])(
  "NUL or markup in %s is reported on the service's own page only (security R1)",
  async (name) => {
    for (const value of ['a\0b', '"><img src=x>', 'x'.repeat(3000), '%', '__proto__']) {
      const page = await agent.follow(await agent.get(address({ [name]: value })));
      expect(page.status).toBe(400);
      expect(page.url).toMatch(`${service.issuer}/login?problem=`);
      expect(page.body).not.toContain('<img src=x');
    }
  },
);

test('bytes that are not UTF-8 cause no server error (security R107)', async () => {
  for (const raw of ['state=%ff%fe', 'state=%', 'state=%ed%a0%80', 'login_hint=%c0%af', '%ff=1']) {
    for (const browser of [agent, new UserAgent(service)]) {
      expect((await browser.follow(await browser.get(`${address()}&${raw}`))).status).toBeLessThan(500);
    }
  }
});

test('the sign-in page shows hostile hints as text (security A17)', async () => {
  const browser = new UserAgent(service);
  const evil = '"><img src=x onerror=alert(1)>';
  const page = await browser.follow(await browser.get(address({ login_hint: evil, ui_locales: evil, claims: evil })));
  expect(page.status).toBe(200);
  expect(page.body).not.toContain('<img src=x');
  expect(page.body).toContain('&quot;&gt;&lt;img src=x');
});

test.each([
  ['a prefetch', { 'sec-purpose': 'prefetch;prerender' }],
  ['a prefetch by its old header', { purpose: 'prefetch' }],
  ['an image', { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' }],
  ['a frame', { 'sec-fetch-dest': 'iframe' }],
  ['a script', { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }],
])('%s gets no code and no redirect, and creates no row (security A14, R8)', async (what, headers) => {
  const before = [await issuedCodes(), await pendingRequests()];
  for (const browser of [agent, new UserAgent(service)]) {
    for (const parameters of [{}, { prompt: 'login' }, { prompt: 'none' }] as Record<string, string>[]) {
      // browser applications renew their tokens in a frame with prompt=none
      if (what === 'a frame' && parameters['prompt'] === 'none') continue;
      const page = await browser.get(address(parameters), headers);
      expect(page.status).toBe(403);
      expect(page.location).toBeUndefined();
      expect(page.body).toContain('This page can’t be embedded in another page');
    }
  }
  expect([await issuedCodes(), await pendingRequests()]).toEqual(before);
});

test('HEAD and OPTIONS requests have no effect (security R8)', async () => {
  const before = [await issuedCodes(), await pendingRequests()];
  const head = await agent.fetch(address(), { method: 'HEAD' });
  expect(head.status).toBe(405);
  expect(head.headers.get('allow')).toBe('GET, POST');
  const options = await agent.fetch(address(), { method: 'OPTIONS' });
  expect(options.status).toBeGreaterThanOrEqual(400);
  expect([...options.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  for (const page of [head, options]) expect(page.location).toBeUndefined();
  expect([await issuedCodes(), await pendingRequests()]).toEqual(before);
});

describe('ERROR_DELIVERY=standard', () => {
  let standard: TestService;
  beforeAll(async () => {
    standard = await startTestService({ environment: { ERROR_DELIVERY: 'standard' } });
  });
  afterAll(() => standard?.stop());

  test.each(faults)(
    '%s is reported to the client of a signed-out browser at once (decisions section 3)',
    async (_what, parameters, error) => {
      const rp = await standard.createClient();
      const page = await new UserAgent(standard).get(
        authorizationUrl(standard.issuer, rp, { state: 's', ...parameters }),
      );
      expect(page.status).toBe(302);
      expect(responseParameters(page)).toMatchObject({ error, state: 's', iss: standard.issuer });
    },
  );

  test('it changes nothing for a valid request, a disabled client or a wrong redirect URI (decisions section 3)', async () => {
    const rp = await standard.createClient();
    const disabled = await standard.createClient({}, { status: 'disabled' });
    const browser = new UserAgent(standard);
    const at = async (target: Pick<TestClient, 'clientId' | 'redirectUri'>) =>
      (await browser.get(authorizationUrl(standard.issuer, target, { response_type: 'code' }))).location;
    expect(await at(rp)).toMatch(new RegExp(`^${standard.issuer}/login\\?transaction=`));
    expect(await at(disabled)).toBe(`${standard.issuer}/login?problem=client`);
    expect(await at({ ...rp, redirectUri: 'https://evil.example/' })).toBe(`${standard.issuer}/login?problem=client`);
  });
});
