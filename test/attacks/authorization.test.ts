// Attacks the authorization endpoint: where it redirects, to which request an answer belongs, and what may advance a request.
import { decodeJwt } from 'jose';
import { beforeAll, expect } from 'vitest';
import { obtainTokens, redeem } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  pkce,
  responseParameters,
  UserAgent,
  withoutReference,
} from '../helpers/user-agent.ts';
import type { TestUser } from '../helpers/service.ts';
import { front, isSignedIn, second, useService } from '../spec/kit.ts';
import { atOnce } from './at-once.ts';
import { attack } from './attack.ts';

const service = useService();
const evil = 'https://evil.example/';
let [c1, c2, p1, d1]: TestClient[] = [];
let alice: TestUser;
let bob: TestUser;
/** Alice's browser: she is signed in and has allowed C1 before. */
let agent: UserAgent;
beforeAll(async () => {
  c1 = await service().createClient({ scope: 'openid profile' });
  c2 = await service().createClient({
    redirect_uris: ['https://two.example.com/callback'],
    scope: 'openid profile email',
  });
  p1 = await service().createClient({ token_endpoint_auth_method: 'none' });
  d1 = await service().createClient({}, { status: 'disabled' });
  [alice, bob] = [await service().createUser(), await service().createUser()];
  agent = new UserAgent(service());
  await agent.authorize(c1, alice);
});

type Asker = Pick<TestClient, 'clientId' | 'redirectUri'>;
const address = (client: Asker = c1!, parameters: Record<string, string> = {}, base = service().issuer) =>
  authorizationUrl(base, client, parameters);
const ask = (parameters: Record<string, string> = {}, client: Asker = c1!) => agent.get(address(client, parameters));
const posted = (browser: UserAgent, to: string) => {
  const { origin, pathname, searchParams } = new URL(to);
  return browser.post(origin + pathname, Object.fromEntries(searchParams));
};
const count = async (table: string) =>
  (await service().database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n;
/** The rows that an issued code or a waiting request leaves behind. */
const rows = () =>
  Promise.all(['authorization_requests', 'authorization_codes', 'client_sessions', 'sessions'].map(count));
/** Everything about a page that an attacker can compare. */
/** Without the date and the reference. */
const seen = (page: Page) => ({
  status: page.status,
  headers: Object.fromEntries([...page.headers].filter(([name]) => !['date', 'location'].includes(name))),
  location: page.location,
  body: withoutReference(page),
});
/** The statements of one answer, without those by which the service maintains its keys. */
async function work(answer: () => Promise<unknown>): Promise<string[]> {
  const before = service().statements.length;
  await answer();
  return service()
    .statements.slice(before)
    .filter((name) => !name.startsWith('signing_keys.'));
}

attack(
  {
    id: 'A1',
    name: 'Unknown client with a foreign redirect',
    request:
      'An unknown client asks for a code to be sent to https://evil.example/: by GET and POST, silently, in each response mode, signed in and signed out',
    answer:
      'The sign-in page of the service with 400 and the error, without a form, without a redirect elsewhere and without a trace of evil.example',
    source: 'RFC 6749 4.1.2.1',
    requirements: ['R1'],
  },
  async () => {
    const unknownClient = { clientId: 'nope', redirectUri: evil };
    const requests = [
      {},
      { prompt: 'none', state: evil },
      { response_mode: 'form_post' },
      { response_mode: 'fragment' },
    ];
    const before = await rows();
    for (const parameters of requests as Record<string, string>[]) {
      for (const browser of [agent, new UserAgent(service())]) {
        const asked = address(unknownClient, parameters);
        for (const first of [await browser.get(asked), await posted(browser, asked)]) {
          expect(first.location).toMatch(`${service().issuer}/`);
          const page = await browser.follow(first);
          expect([page.status, page.location]).toEqual([400, undefined]);
          expect(page.body).not.toMatch(/<form|evil\.example/);
          expect(page.headers.get('content-security-policy')).not.toContain('evil');
        }
      }
    }
    expect(await rows()).toEqual(before);
  },
);

attack(
  {
    id: 'A2',
    name: 'Three rejections, one page',
    request:
      'One request with an unknown client, with a disabled one, and with an enabled one’s wrong redirect URI, repeated many times',
    answer: 'Status, headers, body and the work in the database are the same, so the response time reveals nothing',
    source: 'keycloak#12164, keycloak#26110',
    requirements: ['R2'],
  },
  async () => {
    const rejected: Asker[] = [
      { clientId: 'unknown', redirectUri: c1!.redirectUri },
      d1!,
      { clientId: c1!.clientId, redirectUri: evil },
    ];
    for (const [browser, path] of [
      [new UserAgent(service()), '/authorize'],
      [agent, '/authorize'],
      [agent, '/authenticate'],
    ] as const) {
      const answers = [];
      // of each network ten refusals a minute are kept
      await service().database.sql('DELETE FROM rate_limits');
      for (let round = 0; round < 3; round++) {
        // the service caches clients
        await ask({ prompt: 'none' });
        for (const client of rejected) {
          const url = address(client, { prompt: 'none', state: 's' }).replace('/authorize', path);
          let redirect: Page | undefined;
          const statements = await work(async () => (redirect = await browser.get(url)));
          answers.push({ statements, redirect: seen(redirect!), page: seen(await browser.follow(redirect!)) });
        }
      }
      expect(answers[0]!.page.status).toBe(400);
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    }
  },
);

attack(
  {
    id: 'A5',
    name: 'Honest use of prompt=none',
    request:
      'A signed-out browser sends a valid request with prompt=none and a state, for a confidential and for a public client',
    answer:
      'A 302 to the redirect URI with login_required, the state and iss; no cookie is set and no row is left behind',
    source: 'OpenID Connect Core 3.1.2.6, RFC 9207',
    requirements: ['R3', 'R7'],
  },
  async () => {
    const { code_challenge, code_challenge_method } = pkce();
    const challenge = { code_challenge, code_challenge_method };
    const before = await rows();
    for (const [client, more] of [
      [c1!, {}],
      [p1!, challenge],
      [c1!, { response_mode: 'fragment' }],
    ] as const) {
      const page = await new UserAgent(service()).get(address(client, { prompt: 'none', state: 's', ...more }));
      expect(page.status).toBe(302);
      expect(page.location).toMatch(new RegExp(`^${client.redirectUri}[?#]`));
      expect(front(page.location)).toEqual({
        error: 'login_required',
        error_description: expect.any(String) as string,
        error_uri: `${service().issuer}/errors#login_required`,
        state: 's',
        iss: service().issuer,
      });
      expect(page.headers.getSetCookie()).toEqual([]);
    }
    expect(await rows()).toEqual(before);
  },
);

attack(
  {
    id: 'A6',
    name: 'prompt=none with a hint for another user',
    request:
      'In Alice’s browser, prompt=none with Bob’s ID Token as hint, expired or of another client, too, with a claims parameter that names Bob, and with a forged hint',
    answer:
      'login_required, or invalid_request for the forged hint, and never a code for Alice; without prompt=none the sign-in page',
    source: 'OpenID Connect Core 3.1.2.1 and 3.1.2.2',
    requirements: ['R3', 'R9'],
  },
  async () => {
    const ofBob = (await obtainTokens(service(), c1!, bob)).id_token;
    const ofBobElsewhere = (await obtainTokens(service(), c2!, bob)).id_token;
    const ofAlice = (await obtainTokens(service(), c1!, undefined, {}, agent)).id_token;
    const claims = JSON.stringify({ id_token: { sub: { value: bob.sub } } });
    const [header, , signature] = ofBob.split('.');
    const forged = [header, ofAlice.split('.')[1], signature].join('.');
    for (const [error, parameters] of [
      ['login_required', { id_token_hint: ofBob }],
      ['login_required', { id_token_hint: ofBobElsewhere }],
      ['login_required', { claims }],
      ['login_required', { id_token_hint: ofAlice, claims }],
      ['invalid_request', { id_token_hint: forged }],
    ] as const) {
      const sent = responseParameters(await ask({ prompt: 'none', ...parameters }));
      expect(sent).toMatchObject({ error });
      expect(sent).not.toHaveProperty('code');
      if (error === 'login_required') expect((await ask(parameters)).location).toContain('/login?transaction=');
    }
    expect(responseParameters(await ask({ prompt: 'none', id_token_hint: ofAlice }))).toHaveProperty('code');
  },
);

attack(
  {
    id: 'A8',
    name: 'Query against body',
    request:
      'POST /authorize with a valid parameter in the query and the same one, changed or not, in the body: redirect_uri and each other',
    answer: 'The sign-in page with 400: a parameter in both the query and the body counts as repeated',
    source: 'RFC 6749 3.1',
    requirements: ['R5'],
  },
  async () => {
    const good = Object.fromEntries(new URL(address(c1, { state: 's', nonce: 'n' })).searchParams);
    for (const name of Object.keys(good)) {
      for (const value of [good[name]!, evil]) {
        const query = new URLSearchParams({ [name]: good[name]! });
        const page = await agent.post(`/authorize?${query.toString()}`, { ...good, [name]: value });
        expect(page.location, name).toBe(`${service().issuer}/login?problem=request`);
        expect((await agent.follow(page)).status).toBe(400);
      }
    }
    const { redirect_uri, ...rest } = good;
    const split = await agent.post(
      `/authorize?${new URLSearchParams({ redirect_uri: redirect_uri! }).toString()}`,
      rest,
    );
    expect(responseParameters(split)).toHaveProperty('code');
  },
);

attack(
  {
    id: 'A10',
    name: 'Two tabs, two clients',
    request:
      'One browser holds the consent pages of two clients; the first is approved, also with the other’s transaction in its form and with protocol parameters of the other in its body',
    answer:
      'The code belongs to the first client, with its own redirect URI, scope, nonce, state and challenge; a form with the other’s transaction is refused',
    source: 'CVE-2021-27582, CVE-2026-7571',
    requirements: ['R4'],
  },
  async () => {
    const browser = new UserAgent(service());
    await browser.signIn(alice);
    const [mine, other] = [pkce(), pkce()];
    const open = async (client: TestClient, scope: string, state: string, { code_challenge }: typeof mine) => {
      const parameters = { scope, state, nonce: `nonce-${state}`, code_challenge, code_challenge_method: 'S256' };
      return browser.follow(await browser.get(address(client, parameters)));
    };
    const client = await service().createClient({ scope: 'openid profile' });
    const first = await open(client, 'openid profile', 'one', mine);
    const tab = await open(c2!, 'openid email', 'two', other);
    const twin = await open(c2!, 'openid profile', 'three', other);
    for (const page of [tab, twin]) {
      const { transaction } = hiddenFields(page.body);
      const crossed = await browser.submit(first, { decision: 'allow', transaction: transaction! });
      expect([crossed.status, crossed.location]).toEqual([400, undefined]);
    }

    const smuggled = { client_id: c2!.clientId, redirect_uri: c2!.redirectUri, scope: 'openid email', state: 'two' };
    const page = await browser.submit(first, { decision: 'allow', nonce: 'nonce-two', ...smuggled });
    expect(page.location).toMatch(`${client.redirectUri}?`);
    const { code, state } = responseParameters(page);
    expect(state).toBe('one');
    const send = (by: TestClient, { code_verifier }: typeof mine) =>
      redeem(service().issuer, by, code!, { code_verifier });
    expect(await send(c2!, mine)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await send(client, other)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const { status, body } = await send(client, mine);
    expect([status, body['scope']]).toEqual([200, 'openid profile']);
    expect(decodeJwt(body['id_token'] as string)).toMatchObject({ aud: client.clientId, nonce: 'nonce-one' });

    const late = await browser.submit(tab, { decision: 'allow' });
    expect(late.location).toMatch(`${c2!.redirectUri}?`);
    expect(responseParameters(late)['state']).toBe('two');
  },
);

attack(
  {
    id: 'A12',
    name: 'Consent double-submit',
    request:
      'One consent form submitted fifty times at once, each answer followed to its end, on two instances, twenty times',
    answer:
      'Exactly one code; the others learn that the request was already answered or that their form is no longer valid; the server reports no error',
    source: 'double-submit tests of ory/hydra',
    requirements: ['R4', 'R15'],
  },
  async () => {
    const browser = new UserAgent(service());
    await browser.signIn(alice);
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' };
    const instance = (index: number) => service().instances[index % 2]!;
    const before = await count('authorization_codes');
    for (let round = 0; round < 20; round++) {
      const page = await browser.follow(await browser.get(address(c1, { prompt: 'consent', state: `${round}` })));
      const body = new URLSearchParams({ ...hiddenFields(page.body), decision: 'allow' }).toString();
      const forms = Array.from({ length: 50 }, (_, index) => ({
        url: `${instance(index)}/consent`,
        method: 'POST' as const,
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        body,
      }));
      const decided = await atOnce(forms);
      for (const { status } of decided) expect([303, 400]).toContain(status);
      const next = decided.flatMap(({ location }) => (location === undefined ? [] : [location]));
      expect(next.length).toBeGreaterThan(0);
      // where the page leads that follows the form
      const answers = next.map((path) => path.replace('/consent', '/authorize'));
      const ends = await atOnce(answers.map((path, index) => ({ url: instance(index) + path, headers })));
      const codes = ends.filter(({ location }) => location?.startsWith(`${c1!.redirectUri}?code=`));
      expect(codes, `round ${round}`).toHaveLength(1);
      for (const { status, location } of ends) {
        if (location === undefined) expect(status).toBe(409);
        else if (!location.includes('code='))
          expect(location).toMatch(/^\/login\?problem=expired&reference=[0-9a-f]{8}$/);
      }
      await redeem(service().issuer, c1!, new URL(codes[0]!.location!).searchParams.get('code')!);
    }
    expect(await count('authorization_codes')).toBe(before + 20);
  },
  120_000,
);

attack(
  {
    id: 'A14',
    name: 'Prefetch and sub-resource loads',
    request:
      'The addresses of a sign-in loaded ahead (Sec-Purpose, Purpose, X-Moz), as an image, a frame, a script’s request, an object, and by HEAD and OPTIONS',
    answer:
      'A 4xx page: no code, no sign-out, and the pending request stays where it was; prompt=none in a frame is answered by its redirect',
    source: 'OWASP ASVS 5.0 3.5.3',
    requirements: ['R8'],
  },
  async () => {
    const browser = new UserAgent(service());
    await browser.signIn(alice);
    const pending = (await browser.get(address(c1, { prompt: 'consent' }))).location!;
    const granted = await browser.get(address(c1, { prompt: 'login' }));
    const { clientId, redirectUri } = c1!;
    const short = new URLSearchParams({ client_id: clientId, redirect_uri: redirectUri }).toString();
    const transaction = new URL(pending).searchParams.get('transaction')!;
    const silent = address(c1, { prompt: 'none' });
    const addresses = [
      address(),
      silent,
      address(c1, { prompt: 'login' }),
      `/authenticate?${short}`,
      `/authorize?transaction=${transaction}`,
      pending,
      granted.location!,
      `/logout?client_id=${clientId}`,
    ];
    const before = await rows();
    const loads: Record<string, string>[] = [
      { 'sec-purpose': 'prefetch;prerender' },
      { 'sec-purpose': 'prefetch' },
      { purpose: 'prefetch' },
      { 'x-moz': 'prefetch' },
      ...['image', 'iframe', 'frame', 'empty', 'script', 'object', 'embed'].map((to) => ({ 'sec-fetch-dest': to })),
    ];
    for (const url of addresses) {
      for (const headers of loads) {
        // a frame renews tokens in this form
        if (headers['sec-fetch-dest'] === 'iframe' && url === silent) continue;
        const page = await browser.get(url, headers);
        expect([page.status, page.location], `${url} ${JSON.stringify(headers)}`).toEqual([403, undefined]);
        expect(page.headers.getSetCookie()).toEqual([]);
      }
      for (const method of ['HEAD', 'OPTIONS']) {
        const page = await browser.fetch(url, { method });
        // HEAD of the sign-in page is answered as to a browser without cookies, for which this request does not exist
        const status = method === 'HEAD' && url.includes('/login') ? 400 : 405;
        expect([page.status, page.location], `${method} ${url}`).toEqual([status, undefined]);
      }
    }
    const anotherBrowser = await new UserAgent(service()).get(silent, { 'sec-fetch-dest': 'iframe' });
    expect(responseParameters(anotherBrowser)['error']).toBe('login_required');
    expect(await rows()).toEqual(before);
    expect(await isSignedIn(browser, second(service()))).toBe(true);
    const consent = await browser.follow(await browser.get(pending));
    expect(responseParameters(await browser.submit(consent, { decision: 'allow' }))).toHaveProperty('code');
  },
);
