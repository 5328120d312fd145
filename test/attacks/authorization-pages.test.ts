// Attacks what the authorization endpoint reads, echoes and shows: hostile values, skipped stages, framed pages.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { form, front, isSignedIn, manage, register } from '../spec/kit.ts';
import { attack } from './attack.ts';
import { type Canary, canary, hostOf, raw } from './raw.ts';

let service: TestService;
let listener: Canary;
let client: TestClient;
let alice: TestUser;
/** Alice's browser: she is signed in and has allowed the client before. */
let agent: UserAgent;
beforeAll(async () => {
  listener = await canary();
  const allowed = `127.0.0.1:${listener.port}`;
  const environment = { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic', OUTBOUND_ALLOW: allowed };
  service = await startTestService({ environment });
  client = await service.createClient();
  alice = await service.createUser();
  agent = new UserAgent(service);
  await agent.authorize(client, alice);
});
afterAll(async () => {
  await service?.stop();
  await listener?.close();
});

type Asker = Pick<TestClient, 'clientId' | 'redirectUri'>;
const address = (parameters: Record<string, string> = {}, of: Asker = client) =>
  authorizationUrl(service.issuer, of, parameters);
const ask = (parameters: Record<string, string> = {}, of: Asker = client) => agent.get(address(parameters, of));
const sessions = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions'))[0]!.n;

attack(
  {
    id: 'A15',
    name: 'State that breaks headers',
    request:
      'A state with CR, LF and a header, with letters beyond Latin-1, with escapes, with 4 KB, with NUL, and with bytes that are not escaped, in each response mode',
    answer:
      'The state comes back exactly, encoded as its context requires; a state that is too long comes back with invalid_request, and a page of the service refuses NUL and unescaped bytes; the answer has no added header, and the server reports no error',
    source: 'RFC 6749 10.14',
    requirements: ['R7'],
  },
  async () => {
    const states = ['\r\nSet-Cookie: x=y', '\n', '✓ Grüße 🙂', '%0d%0a', '+&=#?;', '\u2028\ufeff', 'x'.repeat(2048)];
    for (const state of states) {
      for (const mode of ['query', 'fragment', 'form_post']) {
        const page = await ask({ state, response_mode: mode });
        expect(page.status).toBe(mode === 'form_post' ? 200 : 302);
        const sent = mode === 'form_post' ? hiddenFields(page.body) : front(page.location);
        expect(sent).toMatchObject({ state, code: expect.any(String) as string });
        expect([...page.headers.keys()]).not.toContain('set-cookie');
      }
    }
    const long = responseParameters(await ask({ state: 'x'.repeat(4096) }));
    expect([long['error'], long['state'], long['code']]).toEqual(['invalid_request', 'x'.repeat(4096), undefined]);
    for (const browser of [agent, new UserAgent(service)]) {
      const page = await browser.get(address({ state: 'a\0b' }));
      expect(page.location).toBe(`${service.issuer}/login?problem=request`);
    }
    const path = new URL(address()).pathname + new URL(address()).search;
    const cookie = `Cookie: ${[...agent.cookies].map((pair) => pair.join('=')).join('; ')}`;
    for (const state of ['\xe2\x9c\x93', '\x0b', '%ff', '%e2%9c', '%']) {
      const { status, headers } = await raw(service.issuer, [
        `GET ${path}&state=${state} HTTP/1.1`,
        hostOf(service.issuer),
        cookie,
      ]);
      // a malformed request line gets no page
      expect(
        status === 400 || /^location: \/login\?problem=request&reference=[0-9a-f]{8}\r$/im.test(headers),
        state,
      ).toBe(true);
    }
  },
);

attack(
  {
    id: 'A16',
    name: 'Script in state under form_post',
    request:
      'response_mode=form_post and a state that closes the attribute and opens a script, for a code and for an error',
    answer: 'The value is escaped, and the policy of the page allows only the inline script whose hash it names',
    source: 'CVE-2026-42849',
    requirements: ['R6', 'R96'],
  },
  async () => {
    for (const state of [
      '"><script>alert(1)</script>',
      `'"></form><svg/onload=alert(1)>&quot;&amp;`,
      '</script><!--',
    ]) {
      for (const parameters of [{}, { scope: 'email' }, { prompt: 'none', max_age: '-1' }] as Record<
        string,
        string
      >[]) {
        const page = await ask({ response_mode: 'form_post', state, ...parameters });
        expect(page.status).toBe(200);
        expect(hiddenFields(page.body)['state']).toBe(state);
        expect(page.body).not.toMatch(/<script>alert|<svg|<!--/);
        const scripts = [...page.body.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script]) => script!);
        const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
        const policy = page.headers.get('content-security-policy')!;
        expect(hashes).toHaveLength(1);
        expect(/script-src ([^;]*)/.exec(policy)![1]).toBe(`'self' ${hashes[0]}`);
        expect(policy).toContain(`default-src 'none'`);
        expect(policy).not.toContain('unsafe');
        expect(page.body).not.toMatch(/ on[a-z]+=/);
      }
    }
  },
);

attack(
  {
    id: 'A17',
    name: 'Reflected markup in an error',
    request:
      'Markup in each parameter of an authorization request, also as the name of a parameter that is repeated, signed in and signed out, for pages, for the client and for programs',
    answer: 'Pages show it as text or not at all; error_description is a fixed sentence that repeats no input',
    source: 'CVE-2019-8400',
    requirements: ['R93', 'R96'],
  },
  async () => {
    const names = [
      'scope',
      'ui_locales',
      'claims',
      'login_hint',
      'prompt',
      'response_type',
      'response_mode',
      'max_age',
    ];
    const more = [
      'nonce',
      'display',
      'acr_values',
      'id_token_hint',
      'code_challenge',
      'request',
      'request_uri',
      'resource',
    ];
    for (const markup of ['"><img src=x onerror=alert(1)>', '<svg/onload=1>', `</title><script>alert(1)</script>'"`]) {
      for (const name of [...names, ...more, 'client_id', 'redirect_uri', markup]) {
        for (const browser of [agent, new UserAgent(service)]) {
          for (const url of [
            address({ [name]: markup }),
            `${address()}&${new URLSearchParams([
              [name, '1'],
              [name, '2'],
            ]).toString()}`,
          ]) {
            const page = await browser.follow(await browser.get(url));
            expect(page.status).toBeLessThan(500);
            expect(page.body, name).not.toMatch(/<img|<svg\/|<script>alert/);
            const sent = page.location?.startsWith(client.redirectUri) ? responseParameters(page) : {};
            expect(sent['error_description'] ?? '', name).toMatch(/^[ !#-;=?-[\]-~]*$/);
            expect(sent['error_description'] ?? '').not.toMatch(/svg|alert/);
          }
        }
      }
      for (const path of ['/token', '/introspect', '/revoke', '/par']) {
        const fields = new URLSearchParams([
          [markup, '1'],
          [markup, '2'],
          ['scope', markup],
          ['grant_type', markup],
        ]).toString();
        const answer = await form(service.issuer + path, fields, { authorization: client.basic });
        expect([400, 401]).toContain(answer.status);
        expect(JSON.stringify(answer.body), path).not.toMatch(/[<>]|alert|onload/);
      }
    }
  },
);

attack(
  {
    id: 'A18',
    name: 'Types and modes that the client did not register',
    request:
      'Response types and modes outside the registration, an unsigned request object, and request_uri with an internal address, at /authorize and pushed, with a listener that should get no connection',
    answer: 'A registered error code and no code; the service never connects to the address',
    source: 'OWASP ASVS 5.0 10.6.1, keycloak GHSA-9vm7',
    requirements: ['R6', 'R47'],
  },
  async () => {
    const inward = `http://127.0.0.1:${listener.port}/request.jwt`;
    const implicit = await service.createClient({ response_types: ['id_token'], grant_types: ['implicit'] });
    await agent.authorize(implicit, alice, { response_type: 'id_token', nonce: 'n' });
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{}').toString('base64url')}.`;
    const cases: [string, Record<string, string>, TestClient][] = [
      ...['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'none'].map(
        (type): [string, Record<string, string>, TestClient] => [
          'unauthorized_client',
          { response_type: type },
          client,
        ],
      ),
      ['unauthorized_client', { response_type: 'code' }, implicit],
      ['unauthorized_client', { response_type: 'id_token token' }, implicit],
      ['invalid_request', { response_type: 'id_token', response_mode: 'query' }, implicit],
      ...['token', 'code code', 'device_code', '__proto__'].map(
        (type): [string, Record<string, string>, TestClient] => [
          'unsupported_response_type',
          { response_type: type },
          client,
        ],
      ),
      ...['JWT', 'jwt.query', 'query.jwt.jwt', 'web_message', 'web_message.jwt', 'FORM_POST', 'constructor'].map(
        (mode): [string, Record<string, string>, TestClient] => ['invalid_request', { response_mode: mode }, client],
      ),
      ['request_not_supported', { request: unsigned }, client],
      ...[inward, 'http://169.254.169.254/', 'https://[::ffff:10.0.0.1]/', 'file:///etc/passwd'].map(
        (uri): [string, Record<string, string>, TestClient] => ['invalid_request_uri', { request_uri: uri }, client],
      ),
    ];
    for (const [error, parameters, of] of cases) {
      const what = JSON.stringify(parameters);
      const sent = front((await ask({ nonce: 'n', ...parameters }, of)).location);
      expect([sent['error'], sent['code'], sent['id_token']], what).toEqual([error, undefined, undefined]);
      const form = new URL(address({ nonce: 'n', ...parameters }, of)).searchParams;
      const headers = { authorization: of.basic };
      const pushed = await fetch(`${service.issuer}/par`, { method: 'POST', headers, body: form });
      expect(pushed.status, what).toBe(400);
    }
    const silent = { response_type: 'code', request_uri: inward, prompt: 'none' };
    for (const of of [client, { ...client, clientId: 'nobody' }]) await new UserAgent(service).get(address(silent, of));
    expect(listener.connections).toBe(0);
  },
);

attack(
  {
    id: 'A20',
    name: 'Empty POST skips a stage',
    request:
      'The forms of sign-in, fresh sign-in and consent with only their hidden fields, with empty, missing or repeated members, and as JSON',
    answer: 'The same form or a page with 400, or 415: never a session, never a fresh sign-in, never the next page',
    source: 'CVE-2026-49443, CVE-2024-47070',
    requirements: ['R9', 'R53'],
  },
  async () => {
    const { username, password } = alice;
    const partial = ['', 'password=', `username=${username}`, `username=${username}&password=`, `password=${password}`];
    const odd = [
      `username=${username}&username=x&password=${password}`,
      `username[]=${username}&password[]=`,
      'username=%00&password=%00',
    ];
    const fresh = await agent.follow(await ask({ prompt: 'login' }));
    const anotherBrowser = new UserAgent(service);
    const first = await anotherBrowser.follow(await anotherBrowser.get(address()));
    const before = await sessions();
    for (const [browser, page] of [
      [anotherBrowser, first],
      [agent, fresh],
    ] as const) {
      const hidden = hiddenFields(page.body);
      const transaction = `/authorize?transaction=${hidden['transaction']!}`;
      const cookies = [...browser.cookies];
      const headers = {
        origin: service.issuer,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      };
      for (const fields of [...partial, ...odd]) {
        const body = `${new URLSearchParams(hidden).toString()}&${fields}`;
        const answer = await browser.fetch('/login', { method: 'POST', headers, body });
        expect([answer.status, answer.location], fields).toEqual([400, undefined]);
        expect((await browser.get(transaction)).location).toContain('/login?transaction=');
      }
      for (const body of ['{}', JSON.stringify({ ...hidden, username, password })]) {
        const answer = await browser.fetch('/login', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
        });
        expect([answer.status, answer.location]).toEqual([415, undefined]);
      }
      expect([...browser.cookies]).toEqual(cookies);
    }
    expect(await sessions()).toBe(before);

    const consent = await agent.follow(await ask({ prompt: 'consent' }));
    const hidden = hiddenFields(consent.body);
    for (const fields of [{}, { decision: '' }, { decision: 'yes' }, { decision: 'allow', csrf: '' }] as Record<
      string,
      string
    >[]) {
      const answer = await agent.post('/consent', { ...hidden, ...fields });
      expect([answer.status, answer.location]).toEqual([400, undefined]);
      expect((await agent.get(`/authorize?transaction=${hidden['transaction']!}`)).location).toContain('/consent?');
    }
  },
);

attack(
  {
    id: 'A21',
    name: 'Unusual max_age',
    request:
      'max_age as -1, 1e9, 0x10, 1.5, NaN, with signs, blanks and other digits, of ten digits, twice, empty and 0',
    answer:
      'invalid_request, and a page of the service for the repeated one; 0 forces a sign-in; an empty one counts as not sent (RFC 6749 3.1)',
    source: 'OpenID Connect Core 3.1.2.1, RFC 6749 3.1',
    requirements: ['R5', 'R9'],
  },
  async () => {
    const odd = [
      '-1',
      '1e9',
      '0x10',
      '1.5',
      'NaN',
      'Infinity',
      '+5',
      ' 5',
      '5 ',
      '５',
      '1_0',
      '1,0',
      '0'.repeat(10),
      '9'.repeat(40),
      'null',
      '[]',
    ];
    for (const max_age of odd) {
      for (const prompt of ['none', 'consent'] as const) {
        const sent = responseParameters(await ask({ max_age, prompt }));
        expect([sent['error'], sent['code']], max_age).toEqual(['invalid_request', undefined]);
      }
    }
    const twice = await agent.get(`${address({ max_age: '5' })}&max_age=999999`);
    expect(twice.location).toBe(`${service.issuer}/login?problem=request`);
    const old = new UserAgent(service);
    await old.signIn(alice);
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '10 seconds'`);
    for (const max_age of ['0', '00', '9']) {
      const first = (await old.get(address({ max_age }))).location!;
      expect(first, max_age).toContain('/login?transaction=');
      expect((await old.get(first.replace('/login', '/authorize'))).location).toContain('/login?transaction=');
      expect(responseParameters(await old.get(address({ max_age, prompt: 'none' })))['error']).toBe('login_required');
    }
    for (const max_age of ['', '99999'])
      expect(responseParameters(await old.get(address({ max_age })))).toHaveProperty('code');
  },
);

attack(
  {
    id: 'A22',
    name: 'Credential-carrying redirect',
    request:
      'A sign-in and a consent, allowed and denied, by their forms, watching each status until the browser is at the client',
    answer:
      '303 to an address of the service after each form, then a page that leads to a 302 to the client, all with Referrer-Policy: no-referrer; never 307 or 308',
    source: 'RFC 9700 4.12',
    requirements: ['R10'],
  },
  async () => {
    for (const decision of ['allow', 'deny']) {
      const rp = await service.createClient();
      const browser = new UserAgent(service);
      const hops = [await browser.get(address({}, rp))];
      hops.push(await browser.get(hops[0]!.location!));
      const submit = async (fields: Record<string, string>, action: string) => {
        hops.push(await browser.post(action, { ...hiddenFields(hops.at(-1)!.body), ...fields }));
        hops.push(await browser.get(hops.at(-1)!.location!));
      };
      await submit({ username: alice.username, password: alice.password }, '/login');
      await submit({ decision }, '/consent');
      hops.push(await browser.get(hops.at(-1)!.location!));
      expect(hops.map(({ status }) => status)).toEqual([303, 200, 303, 200, 303, 200, 302]);
      for (const { headers } of hops) expect(headers.get('referrer-policy')).toBe('no-referrer');
      for (const { location } of hops.slice(0, -1)) expect(location ?? service.issuer).toMatch(service.issuer);
      expect(hops.at(-1)!.location).toMatch(`${rp.redirectUri}?${decision === 'allow' ? 'code' : 'error'}=`);
    }
  },
);

attack(
  {
    id: 'A23',
    name: 'Consent framed',
    request:
      'The pages of sign-in, consent, sign-out, account and administration, error pages, redirects, JSON, and a malformed request',
    answer: 'frame-ancestors none and X-Frame-Options DENY on all of them; the session iframe alone may be framed',
    source: 'RFC 9700 4.16, OWASP ASVS 5.0 3.4.6',
    requirements: ['R57'],
  },
  async () => {
    const consent = (await ask({ prompt: 'consent' })).location!;
    const fresh = (await ask({ prompt: 'login' })).location!;
    const short = new URLSearchParams({ client_id: client.clientId, redirect_uri: client.redirectUri }).toString();
    const paths = [
      consent,
      fresh,
      '/login',
      '/logout',
      '/account',
      '/admin/registration',
      '/error',
      '/access-denied',
      '/nothing',
    ];
    const others = [
      '/login?problem=client',
      address(),
      address({ response_mode: 'form_post' }),
      `/authenticate?${short}`,
      '/user/info',
    ];
    for (const path of [
      ...paths,
      ...others,
      '/jwks',
      '/metrics',
      '/',
      '/health/live',
      '/admin/api/clients',
      '/end-session',
      '/token',
    ]) {
      for (const page of [
        await agent.get(path),
        await agent.get(path, { accept: 'application/json' }),
        await agent.post(path, {}),
      ]) {
        expect(page.headers.get('x-frame-options'), path).toBe('DENY');
        expect(page.headers.get('content-security-policy'), path).toMatch(/frame-ancestors 'none'/);
      }
    }
    for (const line of ['NONSENSE', 'GET /login HTTP/1.1', `GET /${'x'.repeat(20_000)} HTTP/1.1`]) {
      const { headers } = await raw(service.issuer, [line]);
      expect(headers).toMatch(/x-frame-options: DENY/i);
      expect(headers).toMatch(/frame-ancestors 'none'/);
    }
    const frame = await agent.get('/check-session', { 'sec-fetch-dest': 'iframe' });
    expect(frame.headers.get('x-frame-options')).toBeNull();
  },
);

attack(
  {
    id: 'A25',
    name: 'Silent re-consent for a look-alike',
    request:
      'A client that registered itself repeats its request after one approval, with the same scopes and another of its registered URIs, or one that it adds later',
    answer: 'The consent page again, which says that the client registered itself; with prompt=none, consent_required',
    source: 'GHSA-6x8h-498w-gv8c, OWASP ASVS 5.0 10.4.7',
    requirements: ['R11'],
  },
  async () => {
    const [known, second, later] = ['one', 'two', 'three'].map((name) => `https://rp.example.com/${name}`);
    const { status, body } = await register(service, { redirect_uris: [known, second], client_name: 'Your Bank' });
    expect([status, body['status']]).toEqual([201, 'enabled']);
    const at = (redirectUri: string) => ({ clientId: body['client_id']!, redirectUri });
    expect(responseParameters(await agent.authorize(at(known!), alice))).toHaveProperty('code');
    expect(responseParameters(await ask({ prompt: 'none' }, at(known!)))).toHaveProperty('code');

    const update = { client_id: body['client_id'], client_name: 'Your Bank', redirect_uris: [known, second, later] };
    for (const uri of [second!, later!]) {
      if (uri === later) expect((await manage(body, 'PUT', update)).status).toBe(200);
      expect(responseParameters(await ask({ prompt: 'none' }, at(uri)))['error']).toBe('consent_required');
      const page = await agent.follow(await ask({}, at(uri)));
      expect(page.body).toContain('id="allow"');
      expect(page.body).toMatch(/registered itself/i);
      expect(responseParameters(await agent.submit(page, { decision: 'deny' }))['error']).toBe('access_denied');
      expect((await ask({}, at(uri))).location).toContain('/consent?');
    }
    expect(await isSignedIn(agent, service.issuer)).toBe(true);
  },
);
