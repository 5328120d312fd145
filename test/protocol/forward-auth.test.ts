// Protected sites by their HTTP endpoints: what each proxy sends and gets, the sign-in and its way back, and everything that is denied.
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseLimits } from '../../src/database/deadline.ts';
import { createStore } from '../../src/repositories/store.ts';
import { identityHeaders } from '../../src/rules/sites/identity-headers.ts';
import { proxyKinds } from '../../src/rules/sites/original-request.ts';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import {
  ask,
  createSite,
  opensPage,
  raw,
  redirectOf,
  SiteBrowser,
  siteCookieOf,
  type ProxyAnswer,
  type TestSite,
} from '../helpers/protected-sites.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let site: TestSite;
let other: TestSite;
let user: TestUser;
let browser: SiteBrowser;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, FORWARD_AUTH_TRUST: '127.0.0.2/32, 192.0.2.0/24' },
  });
  token = await adminToken(service);
  site = await createSite(service, token, 'app.example', { open_paths: ['/public/'] });
  other = await createSite(service, token, 'other.example', { headers: ['remote-user'] });
  user = await service.createUser({
    username: 'ada',
    email: 'ada@harbour.example',
    emailVerified: true,
    groups: ['crew', 'a,b'],
    claims: { name: 'Ada Lövelace' },
  });
  browser = new SiteBrowser(service);
  await browser.signIn(site, user);
});
afterAll(() => service?.stop());

const change = (clientId: string, body: Record<string, unknown>) =>
  call(`${service.issuer}/admin/api/clients/${clientId}`, { token, method: 'PATCH', body });
const identityIn = ({ headers }: ProxyAnswer) => identityHeaders.filter((name) => headers[name] !== undefined);
/** The statuses of an answer that lets nobody in. */
const isDenied = (answer: ProxyAnswer) => answer.status >= 300 && identityIn(answer).length === 0;

describe('a signed-in user', () => {
  test.each(proxyKinds)('is let in by %s with the identity headers of this moment (federation 13)', async (kind) => {
    const answer = await browser.ask(site, { kind, path: '/page?x=%2f..//' });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'remote-user': 'ada',
      'remote-groups': 'crew,a%2Cb',
      'remote-email': 'ada@harbour.example',
      'remote-name': 'Ada L%C3%B6velace',
      'cache-control': 'no-store',
    });
  });

  test('gets only the headers that the site has, and no address that is not confirmed (federation 13)', async () => {
    const adas = new SiteBrowser(service);
    await adas.signIn(other, user);
    expect(identityIn(await adas.ask(other))).toEqual(['remote-user']);
    const bea = await service.createUser({ email: 'bea@harbour.example' });
    const hers = new SiteBrowser(service);
    await hers.signIn(site, bea);
    expect(identityIn(await hers.ask(site))).toEqual(['remote-user', 'x-gatehouse-assertion']);
  });

  test('is told to the application by an assertion for its host, which lasts a minute (federation 13)', async () => {
    const { headers } = await browser.ask(site);
    const assertion = headers['x-gatehouse-assertion']!;
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
    const { payload } = await jwtVerify(assertion, keys, { issuer: service.issuer, audience: 'https://app.example' });
    expect(decodeProtectedHeader(assertion)).toMatchObject({ typ: 'gatehouse-assertion+jwt', alg: 'ES256' });
    expect(payload).toMatchObject({
      sub: user.sub,
      preferred_username: 'ada',
      groups: ['crew', 'a,b'],
      email: 'ada@harbour.example',
      name: 'Ada Lövelace',
    });
    expect(payload.exp! - payload.iat!).toBe(60);
  });

  test('has an assertion that no other host, no later time and no endpoint of the service accepts (federation F98)', async () => {
    const assertion = (await browser.ask(site)).headers['x-gatehouse-assertion']!;
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
    const options = { issuer: service.issuer, audience: 'https://app.example' };
    await expect(jwtVerify(assertion, keys, { ...options, audience: 'https://other.example' })).rejects.toThrow();
    const currentDate = new Date(Date.now() + 61_000);
    await expect(jwtVerify(assertion, keys, { ...options, currentDate })).rejects.toThrow();
    expect((await call(`${service.issuer}/user/info`, { token: assertion })).status).toBe(401);
    const client = await service.createClient();
    const introspected = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ token: assertion }),
    });
    expect((await introspected.json()) as object).not.toMatchObject({ active: true });
    const grants: Record<string, string>[] = [
      { grant_type: 'authorization_code', code: assertion, redirect_uri: client.redirectUri },
      { grant_type: 'refresh_token', refresh_token: assertion },
    ];
    for (const grant of grants) expect((await tokenRequest(service.issuer, client, grant)).status).toBe(400);
    const logout = await browser.agent.get(`/logout?id_token_hint=${assertion}`);
    expect(logout.status).toBe(400);
    expect((await browser.ask(site)).status).toBe(200);
  });
});

describe('a visitor', () => {
  test.each(proxyKinds)(
    'who opens a page is sent to the sign-in by %s, and comes back to this page (federation 13, F96)',
    async (kind) => {
      const visitor = new SiteBrowser(service);
      const asked = await visitor.ask(site, { kind, path: '/deep/page?a=1&b=//x' });
      expect(asked.status).toBe(kind === 'nginx' ? 401 : 302);
      expect(asked.headers[kind === 'nginx' ? 'x-gatehouse-redirect' : 'location']).toContain(
        `${service.issuer}/authorize?`,
      );
      const back = await visitor.at(site, await visitor.callback(redirectOf(asked)!, user));
      expect(back).toMatchObject({ status: 303, headers: { location: 'https://app.example/deep/page?a=1&b=//x' } });
      expect((await visitor.ask(site, { kind })).status).toBe(200);
    },
  );

  test('gets a cookie of the host alone, over https only, which no script reads (federation FR44)', async () => {
    const visitor = new SiteBrowser(service);
    const asked = await visitor.ask(site);
    const answer = await visitor.at(site, await visitor.callback(redirectOf(asked)!, user));
    for (const line of [...asked.setCookie, ...answer.setCookie]) {
      expect(line).toMatch(/^__Host-/);
      expect(line).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=Lax$/);
      expect(line).not.toMatch(/domain/i);
    }
    const rows = await service.database.sql<{ hash: string }>(
      `SELECT encode(token_hash, 'hex') AS hash FROM site_sessions`,
    );
    expect(rows.length).toBeGreaterThan(0);
    const cookie = siteCookieOf(visitor, site).split('=')[1]!;
    expect(JSON.stringify(rows)).not.toContain(cookie);
  });

  test('never gets a 2xx without a verified session, by any proxy (federation F91)', async () => {
    const cookies = {
      none: undefined,
      garbage: '__Host-gatehouse=garbage',
      long: `__Host-gatehouse=${'a'.repeat(8000)}`,
      twice: `${siteCookieOf(browser, site)}; ${siteCookieOf(browser, site)}`,
      'of another kind': `__Host-gatehouse=${browser.agent.cookies.get('JSESSIONOPENID')!}`,
      'not UTF-8': '__Host-gatehouse=\u00ff\u00fe',
      'of another name': siteCookieOf(browser, site).replace('__Host-gatehouse', '__host-gatehouse'),
    };
    for (const kind of proxyKinds)
      for (const [name, cookie] of Object.entries(cookies)) {
        const answer = await ask(service, site, { kind, ...(cookie !== undefined && { cookie }) });
        expect([kind, name, [302, 401].includes(answer.status), identityIn(answer)]).toEqual([kind, name, true, []]);
      }
  });

  test('gets 401 without an address for everything but a navigation (federation F97)', async () => {
    const fetched = [
      ['sec-fetch-mode', 'cors'],
      ['sec-fetch-dest', 'empty'],
    ] as const;
    const socket = [
      ['sec-fetch-mode', 'websocket'],
      ['sec-fetch-dest', 'websocket'],
      ['connection', 'upgrade'],
    ] as const;
    const frame = [
      ['sec-fetch-mode', 'navigate'],
      ['sec-fetch-dest', 'iframe'],
      ['accept', 'text/html'],
    ] as const;
    const program = [['accept', '*/*']] as const;
    for (const kind of proxyKinds) {
      for (const headers of [fetched, socket, frame, program, []]) {
        const answer = await ask(service, site, { kind, headers });
        expect([answer.status, redirectOf(answer), answer.setCookie]).toEqual([401, undefined, []]);
      }
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH']) {
        const answer = await ask(service, site, { kind, method });
        expect([method, answer.status, redirectOf(answer)]).toEqual([method, 401, undefined]);
      }
    }
    // a browser that does not say for what it fetches
    expect(redirectOf(await ask(service, site, { headers: [['accept', 'text/html']] }))).toBeDefined();
  });

  test('leaves the body of a request unread (federation F97)', async () => {
    const headers = [
      ['host', site.host],
      ['content-type', 'application/json'],
      ['content-length', '9'],
      ['x-gatehouse-proxy-secret', site.secret],
      ['cookie', siteCookieOf(browser, site)],
    ] as const;
    const answer = await raw(service.issuer, '/forward-auth/envoy/form', headers, {
      method: 'POST',
      body: '{"broken"',
    });
    expect(answer.status).toBe(200);
  });
});

describe('a proxy', () => {
  test('without the secret of the site is refused, whatever it says (federation 13)', async () => {
    const cookie = siteCookieOf(browser, site);
    for (const kind of proxyKinds)
      for (const secret of [undefined, '', 'wrong', other.secret])
        for (const path of ['/', '/public/']) {
          const answer = await ask(service, site, { kind, secret, cookie, path });
          expect([answer.status, identityIn(answer)]).toEqual([403, []]);
        }
    const forged = [
      ['forwarded', 'for=127.0.0.1'],
      ['x-forwarded-for', '127.0.0.1'],
    ] as const;
    expect((await ask(service, site, { secret: undefined, cookie, headers: forged })).status).toBe(403);
  });

  test('at an address in FORWARD_AUTH_TRUST needs no secret, and no header makes another address trusted (federation 13)', async () => {
    const cookie = siteCookieOf(browser, site);
    for (const kind of proxyKinds) {
      const trusted = { kind, secret: undefined, cookie, from: '127.0.0.2' };
      expect((await ask(service, site, trusted)).status).toBe(200);
      const headers = [...opensPage, ['x-forwarded-for', '127.0.0.2'] as const, ['x-real-ip', '192.0.2.1'] as const];
      for (const from of ['127.0.0.1', '127.0.0.3'])
        expect((await ask(service, site, { ...trusted, from, headers })).status).toBe(403);
      expect((await ask(service, { ...site, host: 'unknown.example' }, trusted)).status).toBe(403);
    }
  });

  test('that asks in a way that is not understood is denied (federation FR43)', async () => {
    const cookie = ['cookie', siteCookieOf(browser, site)] as const;
    const secret = ['x-gatehouse-proxy-secret', site.secret] as const;
    const host = ['host', new URL(service.issuer).host] as const;
    const url = (value: string) => ['x-original-url', value] as const;
    const get = ['x-original-method', 'GET'] as const;
    const forwarded = (members: Record<string, string | undefined>) =>
      Object.entries({ method: 'GET', proto: 'https', host: site.host, uri: '/', ...members }).flatMap(
        ([name, value]) => (value === undefined ? [] : [[`x-forwarded-${name}`, value] as const]),
      );
    const good = url('https://app.example/');
    const wrong: Record<string, (readonly (readonly [string, string])[])[]> = {
      nginx: [
        [],
        [good],
        [get],
        [good, good, get],
        [good, get, get],
        [good, get, ['x-forwarded-host', 'app.example']],
        [good, get, ['x-forwarded-uri', '/']],
        ...[
          'http://app.example/',
          'HTTPS://app.example/',
          '//app.example/',
          '/page',
          'https://app.example',
          'https://app.example:443/',
          'https://ada@app.example/',
          'https://APP.example/',
          'https://app.example./',
          'https://unknown.example/',
          'https://app.example\\@evil.example/',
          'https://app.example/#x',
          'https://app.example/\u00ff',
        ].map((value) => [url(value), get]),
        [good, ['x-original-method', 'get']],
        [good, ['x-original-method', 'GET, POST']],
      ],
      traefik: [
        [],
        forwarded({ proto: 'http' }),
        forwarded({ proto: 'https,http' }),
        forwarded({ proto: undefined }),
        forwarded({ method: undefined }),
        forwarded({ host: undefined }),
        forwarded({ host: 'app.example, other.example' }),
        forwarded({ host: 'app.example:8443' }),
        forwarded({ uri: undefined }),
        forwarded({ uri: 'https://app.example/' }),
        [...forwarded({}), ['x-forwarded-host', 'app.example']],
        [...forwarded({}), good],
        [...forwarded({}), get],
      ],
    };
    wrong['caddy'] = wrong['traefik']!;
    for (const [kind, cases] of Object.entries(wrong))
      for (const headers of cases) {
        const answer = await raw(service.issuer, `/forward-auth/${kind}`, [host, cookie, secret, ...headers]);
        expect([kind, headers, answer.status, identityIn(answer)]).toEqual([kind, headers, 403, []]);
      }
    for (const headers of [[good], [get], [['x-forwarded-host', 'app.example'] as const]]) {
      const named = [['host', 'app.example'] as const, cookie, secret, ...headers];
      expect((await raw(service.issuer, '/forward-auth/envoy/', named)).status).toBe(403);
    }
  });

  test('is believed for its own headers only: those of another family and Forwarded decide nothing (federation 13)', async () => {
    const headers = [...opensPage, ['forwarded', 'host=other.example;proto=http'] as const];
    expect((await browser.ask(site, { headers })).status).toBe(200);
  });

  test.each(proxyKinds)(
    'gets no way into a path that could be read in two ways, by %s (federation F93)',
    async (kind) => {
      const paths = [
        '/public/../admin',
        '/public/%2e%2e/admin',
        '/public/.%2E/admin',
        '/public%2f..%2fadmin',
        '/public%2fx',
        '/public/x%2Fadmin',
        '/public/..;/admin',
        '/public/..;x=1/admin',
        '//public/',
        '/public//x',
        '/public/%00',
        '/public/%0d%0ax',
        '/public\\..\\admin',
        '/public/%5c..%5cadmin',
        '/public/./x',
        '/public/%c0%ae%c0%ae/admin',
        '/public/%zz',
        '/public/..',
        '/public/..%20/admin',
        '/public/%20../admin',
        '/public/.../admin',
      ];
      for (const path of paths) {
        const answer = await browser.ask(site, { kind, path });
        expect([path, isDenied(answer)]).toEqual([path, true]);
      }
    },
  );

  test('opens an open path to everyone without any identity, and nothing beside it (federation F93)', async () => {
    for (const kind of proxyKinds) {
      for (const asking of [browser, new SiteBrowser(service)]) {
        const answer = await asking.ask(site, { kind, path: '/public/page?next=/../admin' });
        expect([answer.status, identityIn(answer)]).toEqual([200, []]);
      }
      for (const path of [
        '/PUBLIC/',
        '/public',
        '/publicity/',
        '/public;/x',
        '/public/;x',
        '/public/%252e%252e/admin',
        '/',
      ]) {
        const answer = await new SiteBrowser(service).ask(site, { kind, path });
        expect([path, isDenied(answer)]).toEqual([path, true]);
      }
    }
  });
});

describe('the cookie of a site', () => {
  test('is nothing at another site, at the service, as a token and as the cookie of a session (federation F95)', async () => {
    const cookie = siteCookieOf(browser, site);
    const value = cookie.slice(cookie.indexOf('=') + 1);
    for (const kind of proxyKinds) expect([302, 401]).toContain((await ask(service, other, { kind, cookie })).status);
    expect((await call(`${service.issuer}/user/info`, { token: value })).status).toBe(401);
    expect((await call(`${service.issuer}/user/me/info`, { token: value })).status).toBe(401);
    for (const line of [cookie, `JSESSIONOPENID=${value}`]) {
      const page = await fetch(`${service.issuer}/account`, { headers: { cookie: line }, redirect: 'manual' });
      expect(page.status).toBe(303);
    }
  });

  test('counts only at a host of the site to which it was given (federation FR44)', async () => {
    const two = await createSite(service, token, 'one.example', { hosts: ['one.example', 'two.example'] });
    const visitor = new SiteBrowser(service);
    await visitor.signIn(two, user);
    expect((await visitor.ask(two)).status).toBe(200);
    expect((await ask(service, { ...two, host: 'two.example' }, { cookie: siteCookieOf(visitor, two) })).status).toBe(
      401,
    );
  });

  test('is worth nothing at the next request to each instance once it has expired (federation F91)', async () => {
    const visitor = new SiteBrowser(service);
    await visitor.signIn(site, user);
    await service.database.sql(
      `UPDATE site_sessions SET expires_at = now() WHERE client_session_id = (SELECT max(client_session_id) FROM site_sessions)`,
    );
    for (const base of service.instances) expect((await visitor.ask(site, { base })).status).toBe(401);
  });

  test('lasts as long as the site says, and no longer than the session (federation 13)', async () => {
    const short = await createSite(service, token, 'short.example', { session_lifetime: 120 });
    const visitor = new SiteBrowser(service);
    await visitor.signIn(short, user);
    await visitor.signIn(other, user);
    const rows = await service.database.sql<{ host: string; left: number; session: number }>(
      `SELECT x.host, extract(epoch FROM x.expires_at - now())::int AS left, extract(epoch FROM s.expires_at - x.expires_at)::int AS session
         FROM site_sessions x JOIN client_sessions cs ON cs.id = x.client_session_id JOIN sessions s ON s.id = cs.session_id
        WHERE x.host = ANY ('{short.example,other.example}') ORDER BY x.client_session_id DESC LIMIT 2`,
    );
    expect(rows.find(({ host }) => host === 'short.example')!.left).toBeLessThanOrEqual(120);
    expect(rows.find(({ host }) => host === 'other.example')!.session).toBe(0);
  });
});

describe('access that is lost', () => {
  const ends: [string, (of: { user: TestUser; site: TestSite; browser: SiteBrowser }) => Promise<unknown>][] = [
    ['by the sign-out of the session', ({ browser: of }) => signOut(of)],
    [
      'with the disabled user',
      ({ user: of }) =>
        call(`${service.issuer}/admin/api/users/${of.sub}`, { token, method: 'PATCH', body: { status: 'disabled' } }),
    ],
    [
      'with the group',
      ({ user: of }) => service.database.sql(`UPDATE users SET groups = '{}' WHERE sub = $1`, [of.sub]),
    ],
    [
      'with the disabled site',
      ({ site: of }) => call(`${service.issuer}/admin/api/clients/${of.clientId}/disable`, { token, method: 'POST' }),
    ],
    [
      'with the connection',
      ({ site: of }) =>
        service.database.sql(`UPDATE clients SET connections = '{elsewhere}' WHERE client_id = $1`, [of.clientId]),
    ],
    [
      'with all sessions of the user',
      ({ user: of }) => call(`${service.issuer}/admin/api/users/${of.sub}/sessions`, { token, method: 'DELETE' }),
    ],
  ];
  test.each(ends)('%s is lost at the next request to each instance (federation F78, FR42)', async (_, end) => {
    const guarded = await createSite(service, token, `g${ends.findIndex((one) => one[1] === end)}.example`, {
      access: 'groups',
      access_groups: ['staff'],
    });
    const member = await service.createUser({ groups: ['staff'] });
    const hers = new SiteBrowser(service);
    await hers.signIn(guarded, member);
    for (const base of service.instances) expect((await hers.ask(guarded, { base })).status).toBe(200);
    const answered = await end({ user: member, site: guarded, browser: hers });
    expect((answered as { status?: number } | undefined)?.status ?? 200).toBeLessThan(400);
    for (const base of service.instances)
      for (const kind of proxyKinds) expect(isDenied(await hers.ask(guarded, { base, kind }))).toBe(true);
  });

  test('is not regained when the client is enabled again (federation F78)', async () => {
    const closing = await createSite(service, token, 'closing.example');
    const hers = new SiteBrowser(service);
    await hers.signIn(closing, user);
    await call(`${service.issuer}/admin/api/clients/${closing.clientId}/disable`, { token, method: 'POST' });
    expect((await hers.ask(closing)).status).toBe(403);
    const { body } = await call(`${service.issuer}/admin/api/clients/${closing.clientId}`, { token });
    await change(closing.clientId, { status: 'enabled', version: body['version'] });
    expect((await hers.ask(closing)).status).toBe(401);
  });

  test('is refused to a user without the group at the sign-in, whose page says so (federation 7)', async () => {
    const guarded = await createSite(service, token, 'closed.example', { access: 'groups', access_groups: ['staff'] });
    const hers = new SiteBrowser(service);
    const location = redirectOf(await hers.ask(guarded))!;
    const page = await hers.agent.signIn(user, await hers.agent.follow(await hers.agent.get(location)));
    expect(page.body).toContain('id="access-denied"');
    const back = await hers.agent.submit(page, {});
    const { pathname, search } = new URL(back.location!);
    expect(search).toContain('error=access_denied');
    const answer = await hers.at(guarded, pathname + search);
    expect(answer).toMatchObject({ status: 303, headers: { location: 'https://closed.example/' }, setCookie: [] });
  });

  test('by a raised level is regained by the missing factor alone, and counts at the next request to each instance (federation 13, FR42)', async () => {
    const raised = await createSite(service, token, 'raised.example');
    const member = await service.createUser();
    const hers = new SiteBrowser(service);
    await hers.signIn(raised, member);
    const elsewhere = new UserAgent(service);
    await elsewhere.signIn(member);
    const { app } = await setUpAuthenticator(elsewhere);
    await service.database.sql('UPDATE authenticators SET last_step = last_step - 3 WHERE sub = $1', [member.sub]);
    expect((await hers.ask(raised)).status).toBe(200);
    const { body } = await call(`${service.issuer}/admin/api/clients/${raised.clientId}`, { token });
    const level = { required_acr: 'urn:gatehouse:acr:mfa', version: body['version'] };
    expect((await change(raised.clientId, level)).status).toBe(200);
    for (const base of service.instances)
      for (const kind of proxyKinds) expect(isDenied(await hers.ask(raised, { base, kind }))).toBe(true);
    const fetched: [string, string][] = [['sec-fetch-mode', 'cors']];
    expect(await hers.ask(raised, { headers: fetched })).toMatchObject({ status: 401, setCookie: [] });
    const step = await hers.agent.follow(await hers.agent.get(redirectOf(await hers.ask(raised, { path: '/asked' }))!));
    expect([step.body.includes('id="password"'), step.body.includes('id="code"')]).toEqual([false, true]);
    const { pathname, search } = new URL((await hers.agent.submit(step, { code: app.code() })).location!);
    expect((await hers.at(raised, pathname + search)).headers['location']).toBe('https://raised.example/asked');
    service.ofRequests.length = 0;
    for (const base of service.instances) expect((await hers.ask(raised, { base })).status).toBe(200);
    expect(service.ofRequests).toEqual(['sites.find', 'sites.find']);
  });

  test('is denied in a wrong network, without a redirect that would lead back (federation 7)', async () => {
    const inside = await createSite(service, token, 'inside.example');
    const hers = new SiteBrowser(service);
    await hers.signIn(inside, user);
    await change(inside.clientId, { networks: ['192.0.2.0/24'] });
    for (const kind of proxyKinds) expect((await hers.ask(inside, { kind })).status).toBe(403);
  });

  test('leaves no cookie that lets in when a sign-out and requests meet (federation FR42)', async () => {
    for (let round = 0; round < 10; round++) {
      const hers = new SiteBrowser(service);
      await hers.signIn(other, user);
      const cookie = siteCookieOf(hers, other);
      const asking = service.instances.flatMap((base) => [
        ask(service, other, { base, cookie }),
        ask(service, other, { base, cookie, kind: 'caddy' }),
      ]);
      const [, ...answers] = await Promise.all([signOut(hers), ...asking]);
      for (const { status } of answers) expect([200, 302, 401]).toContain(status);
      for (const base of service.instances) expect((await ask(service, other, { base, cookie })).status).toBe(401);
    }
  });
});

async function signOut(of: SiteBrowser): Promise<void> {
  const page = await of.agent.get('/logout');
  await of.agent.submit(page, { decision: 'sign-out' });
}

describe('the way back from the sign-in', () => {
  async function begun(of = new SiteBrowser(service), at = site) {
    const location = redirectOf(await of.ask(at, { path: '/asked' }))!;
    return { browser: of, path: await of.callback(location, user) };
  }
  const isRefused = ({ status, headers, setCookie }: ProxyAnswer) =>
    status === 303 && headers['location'] === `${service.issuer}/forward-auth/expired` && setCookie.length === 0;

  test('leads nowhere but to the asked address: not for another state, host or browser (federation F96)', async () => {
    const first = await begun();
    const query = new URLSearchParams(first.path.split('?')[1]);
    const withState = (state: string) =>
      `/.gatehouse/callback?${new URLSearchParams({ code: query.get('code')!, state }).toString()}`;
    for (const state of [
      'https://evil.example/',
      '//evil.example',
      'a\r\nlocation: https://evil.example',
      '',
      query.get('state')!.slice(0, -2),
    ])
      expect([state, isRefused(await first.browser.at(site, withState(state)))]).toEqual([state, true]);
    // the attacker's answer in the browser of another user (login CSRF)
    const victim = new SiteBrowser(service);
    await victim.ask(site);
    expect(isRefused(await victim.at(site, first.path))).toBe(true);
    expect(isRefused(await new SiteBrowser(service).at(site, first.path))).toBe(true);
    // at another host, with the cookie of the first
    first.browser.jars.set(other.host, first.browser.jar(site.host));
    expect(isRefused(await first.browser.at(other, first.path))).toBe(true);
    // none of this has used the code up for its own browser
    expect((await first.browser.at(site, first.path)).headers['location']).toBe('https://app.example/asked');
  });

  test('that is repeated at once gives no second cookie, leaves the first, and leads to the asked address (security R15, R17)', async () => {
    const asked = { status: 303, headers: { location: 'https://app.example/asked' } };
    const { browser: hers, path } = await begun();
    expect(await hers.at(site, path)).toMatchObject(asked);
    expect(await hers.at(site, path)).toMatchObject({ ...asked, setCookie: [] });
    expect((await hers.ask(site)).status).toBe(200);
    // a proxy repeats a request at its other instance when an answer is lost
    for (let round = 0; round < 5; round++) {
      const { browser: of, path: at } = await begun();
      const headers: [string, string][] = [
        ['host', site.host],
        ['x-gatehouse-proxy-secret', site.secret],
        ['cookie', of.cookie(site.host)!],
      ];
      const answers = await Promise.all(service.instances.map((base) => raw(base, at, [...opensPage, ...headers])));
      for (const answer of answers) expect(answer).toMatchObject(asked);
      const cookies = answers.flatMap(({ setCookie }) => setCookie.map((line) => line.split(';')[0]!));
      expect(cookies).toHaveLength(1);
      expect((await ask(service, site, { cookie: cookies[0]! })).status).toBe(200);
      // where the answer with the cookie is lost, the site begins anew, and the session of the service answers
      expect((await begun(of)).path).toContain('/.gatehouse/callback?code=');
    }
    expect(await eventsOf(service, { type: 'code.replayed', clientId: site.clientId })).toEqual([]);
  });

  test('is gone after it: an answer that is sent again signs nobody in, ends what it gave, and has an event (security R14, R17, R101)', async () => {
    const { browser: hers, path } = await begun();
    await hers.at(site, path);
    expect((await hers.ask(site)).status).toBe(200);
    await service.database.sql(`UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '6 seconds'`);
    expect(isRefused(await hers.at(site, path))).toBe(true);
    for (const base of service.instances) expect(isDenied(await hers.ask(site, { base }))).toBe(true);
    const about = { client_id: site.clientId, actor: site.clientId, sub: user.sub, outcome: 'failure' };
    expect(await eventsOf(service, { type: 'code.replayed', clientId: site.clientId })).toMatchObject([about]);
    // a code of another client
    const [mine, foreign] = [await begun(hers), await begun(hers, other)].map(
      ({ path: at }) => new URLSearchParams(at.split('?')[1]),
    );
    mine!.set('code', foreign!.get('code')!);
    expect(isRefused(await hers.at(site, `/.gatehouse/callback?${mine!.toString()}`))).toBe(true);
    expect(await eventsOf(service, { type: 'code.misused', clientId: other.clientId })).toMatchObject([
      { ...about, client_id: other.clientId },
    ]);
  });

  test('is refused to a sender that is no proxy of the site, and at hosts that are not protected (federation 13)', async () => {
    const { browser: hers, path } = await begun();
    const cookie = ['cookie', hers.cookie(site.host)!] as const;
    for (const headers of [
      [['host', site.host] as const],
      [['host', 'unknown.example'] as const, ['x-gatehouse-proxy-secret', site.secret] as const],
      [['host', new URL(service.issuer).host] as const],
    ])
      expect((await raw(service.issuer, path, [...headers, cookie])).status).toBe(403);
  });

  test('of a code that the browser got elsewhere is refused: the site did not begin it (RFC 7636 4.6)', async () => {
    const { browser: hers, path } = await begun();
    const parameters = {
      client_id: site.clientId,
      redirect_uri: 'https://app.example/.gatehouse/callback',
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    };
    const foreign = await hers.agent.follow(
      await hers.agent.get(`/authorize?${new URLSearchParams(parameters).toString()}`),
    );
    const code = new URL(foreign.location!).searchParams.get('code')!;
    const state = new URLSearchParams(path.split('?')[1]).get('state')!;
    const mixed = new URLSearchParams({ code, state });
    expect(isRefused(await hers.at(site, `/.gatehouse/callback?${mixed.toString()}`))).toBe(true);
  });

  test('for an address that is too long for the sign-in leads to the first page (federation 13)', async () => {
    const hers = new SiteBrowser(service);
    const location = redirectOf(await hers.ask(site, { path: `/x?${'y'.repeat(3000)}` }))!;
    const answer = await hers.at(site, await hers.callback(location, user));
    expect(answer.headers['location']).toBe('https://app.example/');
  });
});

describe('the sign-out of a site', () => {
  test('ends the cookie of this site alone, and its page links to the sign-out of all (federation 13)', async () => {
    const hers = new SiteBrowser(service);
    await hers.signIn(site, user);
    await hers.signIn(other, user);
    const cookie = siteCookieOf(hers, site);
    const answer = await hers.at(site, '/.gatehouse/sign-out');
    expect(answer.status).toBe(303);
    expect(hers.jar(site.host).has('__Host-gatehouse')).toBe(false);
    for (const base of service.instances) expect((await ask(service, site, { base, cookie })).status).toBe(401);
    expect((await hers.ask(other)).status).toBe(200);
    const page = await hers.agent.get(answer.headers['location']!);
    expect(page.status).toBe(200);
    expect(page.body).toContain('Site app.example');
    expect(page.body).toMatch(/<a [^>]*id="sign-out-of-all" href="\/logout"/);
    expect(page.body).toContain('Sign out of all');
    expect(
      await eventsOf(service, { type: 'client_session.ended', sub: user.sub, clientId: site.clientId }),
    ).not.toEqual([]);
  });

  test('that another site asks for ends nothing (federation 13)', async () => {
    const hers = new SiteBrowser(service);
    await hers.signIn(site, user);
    const headers = [...opensPage, ['sec-fetch-site', 'cross-site'] as const];
    expect((await hers.at(site, '/.gatehouse/sign-out', headers)).headers['location']).toBe('https://app.example/');
    expect((await hers.ask(site)).status).toBe(200);
  });
});

describe('the client of a site', () => {
  test('gets nothing at the endpoints of OAuth with the secret of its proxy (federation 13)', async () => {
    const basic = `Basic ${Buffer.from(`${site.clientId}:${site.secret}`).toString('base64')}`;
    const hers = new SiteBrowser(service);
    const path = await hers.callback(redirectOf(await hers.ask(site))!, user);
    const code = new URLSearchParams(path.split('?')[1]).get('code')!;
    const redeemed = await tokenRequest(
      service.issuer,
      { basic },
      { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/.gatehouse/callback' },
    );
    expect(redeemed).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    for (const endpoint of ['introspect', 'revoke', 'par']) {
      const answer = await fetch(`${service.issuer}/${endpoint}`, {
        method: 'POST',
        headers: { authorization: basic },
        body: new URLSearchParams({ token: 'x' }),
      });
      expect([endpoint, answer.status]).toEqual([endpoint, 401]);
    }
  });

  test('has the redirect URIs of its hosts, refuses others, and has a tile on the start page (federation 7, 13)', async () => {
    const made = await createSite(service, token, 'made.example');
    const own = { redirect_uris: ['https://made.example/.gatehouse/callback'] };
    const foreign = { redirect_uris: ['https://evil.example/'] };
    const refused = { status: 400, body: { error: 'invalid_request' } };
    for (const members of [foreign, { ...foreign, hosts: ['made.example', 'new.example'] }]) {
      const answer = await change(made.clientId, members);
      expect(answer).toMatchObject(refused);
      expect(answer.body['error_description']).toMatch(/^redirect_uris is set by the service/);
    }
    await expect(createSite(service, token, 'other-made.example', foreign)).rejects.toThrow('redirect_uris is set by');
    const file = `apiVersion: gatehouse/v1
name: x
clients: { x: { kind: proxy, client_name: X, hosts: [x.example], redirect_uris: ['https://evil.example/'] } }
`;
    const plan = await fetch(`${service.issuer}/admin/api/config/plan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
      body: file,
    });
    expect([plan.status, await plan.text()]).toEqual([400, expect.stringContaining('redirect_uris is set by')]);
    // what a read has shown goes back, as a program sends a whole client
    const sent = { ...own, hosts: ['made.example', 'new.example'] };
    expect(await change(made.clientId, sent)).toMatchObject({ status: 200 });
    const { body } = await call(`${service.issuer}/admin/api/clients/${made.clientId}`, { token });
    expect(body).toMatchObject({
      kind: 'proxy',
      hosts: ['made.example', 'new.example'],
      redirect_uris: ['https://made.example/.gatehouse/callback', 'https://new.example/.gatehouse/callback'],
      start_uri: 'https://made.example/',
    });
    expect(body).not.toHaveProperty('proxy_secret');
    expect((await browser.agent.get('/account/start')).body).toContain('href="https://made.example/"');
  });

  test('repeats no registration with the secret of its proxy, so that its holder gets no further credentials (federation 13, security R44)', async () => {
    const made = await createSite(service, token, 'repeated.example');
    const repeated = await fetch(`${service.issuer}/register`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${made.clientId}:${made.secret}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ client_name: 'Evil', redirect_uris: ['https://evil.example/'] }),
    });
    expect([repeated.status, await repeated.json()]).toMatchObject([401, { error: 'invalid_client' }]);
    const { body } = await call(`${service.issuer}/admin/api/clients/${made.clientId}`, { token });
    expect(body).not.toHaveProperty('pending_changes');
  });

  test('is refused for hosts that are none, that another site has, or that are the service’s own (federation 13)', async () => {
    const create = (members: Record<string, unknown>) =>
      call(`${service.issuer}/admin/api/clients`, { token, body: { kind: 'proxy', client_name: 'New', ...members } });
    const refused: [Record<string, unknown>, number, string][] = [
      [{}, 400, 'hosts'],
      [{ hosts: [] }, 400, 'hosts'],
      [{ hosts: ['https://x.example'] }, 400, 'hosts'],
      [{ hosts: ['x.example:8443'] }, 400, 'hosts'],
      [{ hosts: ['192.0.2.1'] }, 400, 'hosts'],
      [{ hosts: [new URL(service.issuer).hostname] }, 400, 'hosts'],
      [{ hosts: ['app.example'] }, 409, 'hosts'],
      [{ hosts: ['x.example'], open_paths: ['/'] }, 400, 'open_paths'],
      [{ hosts: ['x.example'], open_paths: ['/a/../b/'] }, 400, 'open_paths'],
      [{ hosts: ['x.example'], open_paths: ['/a'] }, 400, 'open_paths'],
      [{ hosts: ['x.example'], headers: ['x-other'] }, 400, 'headers'],
      [{ hosts: ['x.example'], session_lifetime: 1 }, 400, 'session_lifetime'],
    ];
    for (const [members, status, member] of refused) {
      const answer = await create(members);
      expect([members, answer.status]).toEqual([members, status]);
      expect(String(answer.body['error_description'])).toMatch(
        new RegExp(member === 'hosts' && status === 409 ? 'protected site' : member),
      );
    }
    const client = await service.createClient();
    const answer = await change(client.clientId, { hosts: ['x.example'] });
    expect(answer).toMatchObject({
      status: 400,
      body: { error_description: 'hosts is a setting of protected sites only' },
    });
  });
});

test('a request gets 503 in time while the database does not answer, and the next one is answered again (federation F91, F113)', async () => {
  const { deadline } = databaseLimits;
  const holder = new pg.Client(service.database.url);
  await holder.connect();
  try {
    // shorter than in production
    databaseLimits.deadline = 1_000;
    await holder.query('BEGIN; LOCK TABLE site_hosts IN ACCESS EXCLUSIVE MODE');
    const [back, ...answers] = await Promise.all([
      browser.at(site, '/.gatehouse/callback?code=x&state=y'),
      ...proxyKinds.map((kind) => browser.ask(site, { kind })),
    ]);
    expect(back).toMatchObject({ status: 503, setCookie: [] });
    for (const answer of answers)
      expect([answer.status, identityIn(answer), redirectOf(answer)]).toEqual([503, [], undefined]);
  } finally {
    databaseLimits.deadline = deadline;
    await holder.end();
  }
  expect((await browser.ask(site)).status).toBe(200);
});

test('one indexed statement answers a request, with a session and without (federation 13)', async () => {
  service.ofRequests.length = 0;
  await browser.ask(site);
  await new SiteBrowser(service).ask(site);
  expect(service.ofRequests).toEqual(['sites.find', 'sites.find']);
});

test('an index leads to each row that this statement reads (federation 13)', async () => {
  const client = new pg.Client(service.database.url);
  await client.connect();
  try {
    // PostgreSQL would read the small tables of a test whole
    await client.query('SET enable_seqscan = off');
    const plans: string[] = [];
    const explaining: Pick<Database, 'query'> = {
      query: async <Row>({ text }: { text: string }, values: unknown[] = []) => {
        const { rows } = await client.query<Record<string, string>>(`EXPLAIN ${text}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return [] as Row[];
      },
    };
    // a statement alone needs nothing else of the database
    await createStore(explaining as Database).sites.find(site.host, Buffer.alloc(32), 3600);
    const [plan] = plans;
    expect(plans).toHaveLength(1);
    for (const table of ['site_hosts', 'clients', 'site_sessions', 'client_sessions', 'sessions', 'users'])
      // by itself, or by a bitmap of its rows
      expect(plan).toMatch(new RegExp(`(Index (Only )?Scan using \\w+|Bitmap Heap Scan) on ${table}\\b`));
    expect(plan).not.toMatch(/Seq Scan/);
  } finally {
    await client.end();
  }
});
