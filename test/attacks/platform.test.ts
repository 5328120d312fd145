// Attacks what all endpoints share: hosts and origins, odd headers, sizes, unbounded names, leaking errors, keys.
import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startService } from '../../src/start/service.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { adminToken, call, eventually, refresh, withoutLimits } from '../helpers/grants.ts';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { endSessionAddress, form, register, runCodeFlow, second, wholeClient } from '../spec/kit.ts';
import { atOnce } from './at-once.ts';
import { attack } from './attack.ts';
import { hostOf, raw } from './raw.ts';

let service: TestService;
let client: TestClient;
let admin: string;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, TRUST_PROXY: '127.0.0.0/8,::1', LIMIT_SIGN_IN_PER_ACCOUNT: '3' },
  });
  client = await service.createClient(wholeClient);
  admin = await adminToken(service);
});
afterAll(() => service?.stop());

const evil = 'evil.example';
const html = 'Accept: text/html';

attack(
  {
    id: 'A116',
    name: 'Poisoned host',
    request:
      'Requests for another host by Host, by an absolute target, by X-Forwarded-Host, -Proto, -Port and -Prefix and by Forwarded, from a trusted proxy too; and requests with two Host headers',
    answer: 'Discovery, redirects, links and iss use the configured issuer; two Host headers are 400',
    source: 'zitadel GHSA-pfrf-9r5f-73f5, dapr#10027, bifrost#5779',
    requirements: ['R98'],
  },
  async () => {
    const host = hostOf(service.issuer);
    const disguises: ((path: string) => string[])[] = [
      (path) => [`GET ${path} HTTP/1.1`, `Host: ${evil}`],
      (path) => [`GET http://${evil}${path} HTTP/1.1`, `Host: ${evil}`],
      (path) => [
        `GET ${path} HTTP/1.1`,
        host,
        `X-Forwarded-Host: ${evil}`,
        'X-Forwarded-Proto: https',
        'X-Forwarded-For: 192.0.2.1',
      ],
      (path) => [
        `GET ${path} HTTP/1.1`,
        host,
        `X-Host: ${evil}`,
        `X-Original-Host: ${evil}`,
        `X-Forwarded-Server: ${evil}`,
      ],
      (path) => [`GET ${path} HTTP/1.1`, host, `Forwarded: for=192.0.2.1;host=${evil};proto=https`],
      (path) => [
        `GET ${path} HTTP/1.1`,
        host,
        'X-Forwarded-Port: 81',
        `X-Forwarded-Prefix: //${evil}`,
        `X-Original-URL: //${evil}/`,
      ],
    ];
    const authorize = authorizationUrl('', client, { prompt: 'none' });
    const paths = [
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
      '/login',
      '/account',
      '/',
      '/logout',
      '/error',
      '/nowhere',
      authorize,
      authorizationUrl('', client),
    ];
    for (const path of paths) {
      const plain = await raw(service.issuer, [`GET ${path} HTTP/1.1`, host, html]);
      for (const disguise of disguises) {
        const lines = disguise(path);
        const answer = await raw(service.issuer, [...lines, html]);
        expect(answer.status, lines.join()).toBe(plain.status);
        expect(answer.headers + answer.body, lines.join()).not.toContain(evil);
        const location = /^location: (.*)$/im;
        const stable = (headers: string) => location.exec(headers)?.[1]?.replace(/transaction=[^&\r]*/, '');
        expect(stable(answer.headers), lines.join()).toBe(stable(plain.headers));
        expect(answer.headers, lines.join()).not.toMatch(/^set-cookie:.*(domain=|; *secure)/im);
        if (path.startsWith('/.well-known/')) expect(answer.body).toBe(plain.body);
      }
      for (const twice of [
        [host, `Host: ${evil}`],
        [`Host: ${evil}`, host],
        [host, host],
        [host, `hOST: ${evil}`],
      ]) {
        const answer = await raw(service.issuer, [`GET ${path} HTTP/1.1`, ...twice, html]);
        expect(answer.status, `${path} ${twice.join()}`).toBe(400);
        expect(answer.headers + answer.body).not.toContain(evil);
      }
    }
    expect((await raw(service.issuer, [`GET ${authorize} HTTP/1.1`, `Host: ${evil}`])).headers).toContain(
      `iss=${encodeURIComponent(service.issuer)}`,
    );
  },
);

attack(
  {
    id: 'A117',
    name: 'CORS',
    request:
      'Every route by its method and as a preflight, with a foreign origin, with Origin: null and with that of the service',
    answer:
      'Only discovery, WebFinger, JWKS, pushed requests, device authorization, registration, token, revocation and UserInfo answer, with * and never with credentials; all others send no CORS header',
    source: 'node-oidc-provider 99f0e46',
    requirements: ['R97'],
  },
  async () => {
    const open = [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/admin/api',
      '/.well-known/oauth-protected-resource/user/info',
      '/.well-known/openid-configuration',
      '/.well-known/webfinger',
      '/device_authorization',
      '/jwks',
      '/par',
      '/register',
      '/register/:clientId',
      '/revoke',
      '/token',
      '/user/info',
    ];
    // fetch sends no TRACE; the same route answers other methods
    const routes = routesOf(service.apps[0]!).filter((route) => !/\*|^TRACE /.test(route));
    expect(routes.length).toBeGreaterThan(50);
    const answered = new Set<string>();
    const seen = async (method: string, path: string, headers: Record<string, string>) => {
      const answer = await fetch(service.issuer + path, { method, headers, redirect: 'manual' });
      const cors = [...answer.headers].filter(([name]) => name.startsWith('access-control-'));
      await answer.arrayBuffer();
      if (cors.length > 0) {
        answered.add(path);
        expect(Object.fromEntries(cors), path).toMatchObject({ 'access-control-allow-origin': '*' });
        expect(
          cors.map(([name]) => name),
          path,
        ).not.toContain('access-control-allow-credentials');
      }
    };
    for (const origin of ['https://evil.example', 'null', service.issuer])
      await Promise.all(
        routes.map(async (route) => {
          const [method, path] = route.split(' ') as [string, string];
          await seen(method, path, { origin });
          await seen('OPTIONS', path, {
            origin,
            'access-control-request-method': method,
            'access-control-request-headers': 'authorization',
          });
        }),
      );
    for (const path of ['/nowhere', '/token/', '//token', '/user/me/info?x=/token'])
      await seen('GET', path, { origin: 'https://evil.example' });
    expect([...answered].toSorted()).toEqual(open);
  },
);

attack(
  {
    id: 'A118',
    name: 'Header named __proto__',
    request:
      'Headers, query, form and JSON members named __proto__, constructor and hasOwnProperty; a hundred headers of one name; more headers than the parser takes',
    answer: 'A normal answer or 400; the process survives and no object is polluted',
    source: 'CVE-2026-21710',
    requirements: ['R103'],
  },
  async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', '__defineGetter__'];
    const host = hostOf(service.issuer);
    const sets: string[][] = [
      ...names.map((name) => [`${name}: x`]),
      names.map((name) => `${name}: x`),
      ['__proto__: x', '__proto__: y'],
      ['Cookie: __proto__=x; constructor=y'],
      ...[
        'X-Test',
        'Cookie',
        'Authorization',
        'Accept',
        'Origin',
        'Idempotency-Key',
        'X-Forwarded-For',
        'Sec-Fetch-Site',
      ].map((name) => Array.from({ length: 100 }, (_, index) => `${name}: v${index}=1`)),
      Array.from({ length: 2500 }, (_, index) => `h${index}:`),
    ];
    const paths = [
      'GET /',
      'GET /account',
      'GET /.well-known/openid-configuration',
      'GET /user/info',
      'POST /token',
      'GET /login?__proto__=1&constructor=2&__proto__[a]=3',
      authorizationUrl('GET ', client, { __proto__x: '1' }) + '&__proto__=1',
    ];
    for (const lines of sets)
      for (const path of paths) {
        const answer = await raw(service.issuer, [`${path} HTTP/1.1`, host, ...lines]);
        expect(answer.status, `${path} ${lines[0]}`).toBeGreaterThanOrEqual(200);
        expect(answer.status, `${path} ${lines[0]}`).toBeLessThan(500);
      }
    for (const path of ['/token', '/introspect', '/login', '/revoke', '/logout']) {
      const answer = await fetch(service.issuer + path, {
        method: 'POST',
        body: new URLSearchParams(names.map((name): [string, string] => [name, 'x'])),
        redirect: 'manual',
      });
      expect(answer.status, path).toBeLessThan(500);
    }
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expect((await call(`${service.issuer}/health/ready`)).status).toBe(200);
  },
);

attack(
  {
    id: 'A121',
    name: 'Oversize',
    request:
      'A header of 17 KB, addresses of 9 KB and 20 KB, a registration of 65 KB, a form of 1 MB, 65 and 10,000 parameters, a path parameter of 300 characters, a body that announces a greater length',
    answer: '431, 414, 413 and 400 before any work, and never 5xx',
    source: 'OWASP ASVS 4',
    requirements: ['R103'],
  },
  async () => {
    const host = hostOf(service.issuer);
    const status = async (...lines: string[]) => (await raw(service.issuer, lines)).status;
    const long = 'x'.repeat(17 * 1024);
    const before = service.ofRequests.length;
    for (const name of ['X-Test', 'Cookie', 'Authorization', 'User-Agent', 'Origin'])
      expect(await status('GET /login HTTP/1.1', host, `${name}: ${long}`), name).toBe(431);
    expect(await status(`GET /login?x=${'x'.repeat(9 * 1024)} HTTP/1.1`, host)).toBe(414);
    expect(await status(`GET /login?x=${'x'.repeat(20 * 1024)} HTTP/1.1`, host)).toBe(431);
    expect(await status(`GET /${'x'.repeat(9 * 1024)} HTTP/1.1`, host)).toBe(414);
    expect(await status(`GET /user/${'x'.repeat(2000)}/info HTTP/1.1`, host)).toBe(414);
    expect(await status(`GET /register/${'x'.repeat(2000)} HTTP/1.1`, host)).toBe(414);

    const json = JSON.stringify({ redirect_uris: ['https://rp.example.com/cb'], x: 'x'.repeat(65 * 1024) });
    const type = { 'content-type': 'application/json' };
    const post = async (path: string, body: string, headers: Record<string, string> = {}) =>
      (
        await fetch(service.issuer + path, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        })
      ).status;
    expect(await post('/register', json, type)).toBe(413);
    const forms = [
      '/token',
      '/introspect',
      '/revoke',
      '/par',
      '/login',
      '/logout',
      '/consent',
      '/authorize',
      '/account',
      '/authenticate',
    ];
    const parameters = (count: number) => Array.from({ length: count }, (_, index) => `a${index}`).join('=&') + '=';
    for (const path of forms) {
      expect(await post(path, `x=${'x'.repeat(1024 * 1024)}`), path).toBe(413);
      for (const count of [65, 9_000])
        expect(await post(path, parameters(count), { accept: 'text/html' }), `${path} ${count}`).toBe(400);
      expect(await post(path, parameters(10_000) + 'x'.repeat(20_000)), path).toBe(413);
    }
    expect(await post(`/admin/api/users`, json, { ...type, authorization: `Bearer ${admin}` })).toBe(413);
    expect(
      await status(
        'POST /token HTTP/1.1',
        host,
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: 99999999999',
      ),
    ).toBe(413);
    expect(
      await status(
        'POST /token HTTP/1.1',
        host,
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: -1',
      ),
    ).toBe(400);
    // none of these requests queried the database, except for the administrator's token
    expect(new Set(service.ofRequests.slice(before))).toEqual(new Set(['access_tokens.find']));
  },
);

attack(
  {
    id: 'A122',
    name: 'Unbounded names',
    request:
      'Invented ui_locales, scopes, client ids, jti, user names, states and forwarded addresses, each of them once, from one browser and from new ones',
    answer:
      'Names are kept only in rows that expire: metrics get no new series, one browser keeps its limit, invented clients leave nothing, and the purge leaves no row',
    source: 'CVE-2026-79651, CVE-2026-4634, CVE-2025-2559',
    requirements: ['R105'],
  },
  async () => {
    const count = 60;
    const names = Array.from({ length: count }, (_, index) => `name-${index}`);
    const series = async () => {
      const headers = { authorization: `Bearer ${admin}` };
      const text = await (await fetch(`${service.issuer}/metrics`, { headers })).text();
      expect(text).not.toContain('name-');
      return text
        .split('\n')
        .filter((line) => line.startsWith('gatehouse_'))
        .map((line) => line.replace(/ [^ ]*$/, ''));
    };
    const temporary = ['authorization_requests', 'used_assertions', 'rate_limits', 'registration_keys'];
    const sizes = async () =>
      Promise.all(
        temporary.map(async (table) =>
          Number((await service.database.sql<{ n: string }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n),
        ),
      );
    const one = new UserAgent(service);
    await one.get('/login');
    const begin = (name: string, agent: UserAgent, more: Record<string, string> = {}) =>
      agent.get(
        authorizationUrl(service.issuer, client, {
          state: name,
          nonce: name,
          ui_locales: name,
          login_hint: name,
          ...more,
        }),
        { 'x-forwarded-for': `192.0.${name.slice(5)}.1` },
      );
    const unknownClient = { clientId: 'x', redirectUri: client.redirectUri };
    const each = async (send: (name: string, index: number) => Promise<unknown>) => {
      for (let from = 0; from < count; from += 20)
        await Promise.all(names.slice(from, from + 20).map((name, offset) => send(name, from + offset)));
    };
    // once each, so that every possible series exists
    const round = async (name: string, index: number) => {
      await begin(name, one);
      await begin(name, new UserAgent(service), { scope: `openid ${name}` });
      await one.get(authorizationUrl(service.issuer, { ...unknownClient, clientId: name }));
      await fetch(`${service.issuer}/${name}`, { headers: { 'accept-language': name, 'user-agent': name } });
      await tokenRequest(second(service), undefined, { grant_type: name, client_id: name, scope: name });
      await form(
        `${service.issuer}/introspect`,
        { token: name, token_type_hint: name },
        { authorization: client.basic },
      );
      if (index % 8 > 0) return;
      await new UserAgent(service).get(await endSessionAddress(service, client, { jti: name }));
      // each of these computes a password hash
      const page = await new UserAgent(service).get('/login');
      await fetch(`${service.issuer}/login`, {
        method: 'POST',
        body: new URLSearchParams({ ...hiddenFields(page.body), username: name, password: 'x' }),
        headers: {
          cookie: page.headers.getSetCookie()[0]!.split(';')[0]!,
          origin: service.issuer,
          'x-forwarded-for': `10.0.${index}.1`,
        },
      });
    };
    for (let times = 0; times < 2; times++) await round(names[0]!, 0);
    await series();
    const before = await series();
    const [waitedBefore] = await sizes();
    const clients = await service.database.sql('SELECT 1 FROM clients');
    await each(round);
    expect((await series()).filter((line) => !before.includes(line))).toEqual([]);
    expect(await service.database.sql('SELECT 1 FROM clients')).toHaveLength(clients.length);
    // requests that arrived at once exceeded the limit of their browser together: the next request corrects that
    await begin(names[0]!, one);
    const [waiting, assertions] = await sizes();
    expect(assertions).toBe(Math.ceil(count / 8));
    // one browser keeps twenty-one (the limit and one more), each new browser its own
    expect(waiting! - waitedBefore!).toBeGreaterThanOrEqual(count);
    expect(waiting! - waitedBefore!).toBeLessThanOrEqual(count + 21);
    const invented = await service.database.sql(`SELECT 1 FROM authorization_requests WHERE client_id <> $1`, [
      client.clientId,
    ]);
    expect(invented).toEqual([]);
    const trail = await service.database.sql(
      `SELECT 1 FROM audit_events WHERE client_id LIKE 'name-%' OR detail::text LIKE '%name-%'`,
    );
    expect(trail).toEqual([]);

    await service.database.sql(`UPDATE authorization_requests SET expires_at = now()`);
    await service.database.sql(`UPDATE used_assertions SET expires_at = now()`);
    await service.database.sql(`UPDATE rate_limits SET expire = 0`);
    for (let kind = 0; kind < service.store.expired.kinds; kind++)
      await service.store.transaction(async ({ expired }) => ((await expired.claim()) ? expired.deleteBatch(kind) : 0));
    expect(await sizes()).toEqual([0, 0, 0, 0]);
    // every table of this kind has an index by which its purge finds the expired rows
    const indexed = await service.database.sql<{ tablename: string }>(
      `SELECT DISTINCT tablename FROM pg_indexes WHERE tablename = ANY ($1) AND indexdef ~ '\\(expires?(_at)?\\)'`,
      [temporary],
    );
    expect(indexed.map(({ tablename }) => tablename).toSorted()).toEqual(temporary.toSorted());
  },
);

attack(
  {
    id: 'A123',
    name: 'Leaky 500',
    request:
      'NUL in names, text where an id is expected, whole numbers beyond all bounds, invented cursors, and races for one user name, one e-mail address and one Idempotency-Key',
    answer:
      '400, 404 or 409 from a catalogue; no body contains a SQLSTATE, a constraint, a path or the text of the driver, and there is no 500',
    source: 'kitaru#927',
    requirements: ['R100', 'R107'],
  },
  async () => {
    const leak =
      /SQLSTATE|constraint|duplicate key|violates|relation "|syntax|pg_|postgres|22021|23505|node_modules|\.ts\b|at \w+ \(|bigint|invalid input/i;
    const bodies: string[] = [];
    const admins = async (method: string, path: string, body?: string) => {
      const answer = await fetch(`${service.issuer}/admin/api${path}`, {
        method,
        headers: {
          authorization: `Bearer ${admin}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
      });
      bodies.push(await answer.text());
      return answer.status;
    };
    const big = '99999999999999999999999';
    const requests: [string, string, string?][] = [
      ['POST', '/users', '{"username":"a\\u0000b"}'],
      ['POST', '/users', '{"username":"\\ud800"}'],
      ['POST', '/users', '{"username":7}'],
      ['POST', '/users', `{"username":"${'x'.repeat(256)}"}`],
      ['POST', '/users', '{"username":"a","email":"a\\u0000@b"}'],
      ['POST', '/users', '{"username":"a","claims":{"name":{"a":1}}}'],
      ['GET', '/users/not-a-uuid'],
      ['GET', '/users/%00'],
      ['GET', '/users/%ff'],
      ['GET', `/users/'%20OR%201=1--`],
      ['DELETE', '/users/x'],
      ['DELETE', '/sessions/x'],
      ['DELETE', `/sessions/${big}`],
      ['GET', '/clients/%00'],
      ['GET', '/clients/x%27'],
      ['PATCH', `/clients/${client.clientId}`, `{"access_token_lifetime":${big}}`],
      ['PATCH', `/clients/${client.clientId}`, '{"access_token_lifetime":2147483648}'],
      ['PATCH', `/clients/${client.clientId}`, '{"access_token_lifetime":1.5}'],
      ['POST', `/clients/${client.clientId}/approve`, '{"version":2147483648}'],
      ['POST', `/clients/${client.clientId}/approve`, `{"version":${big}}`],
      ['POST', '/registration-tokens', '{"lifetime":9007199254740991}'],
      ['POST', '/registration-tokens', '{"lifetime":-1}'],
      ['DELETE', '/keys/%00'],
      ['DELETE', '/keys/nothing'],
      ...['users', 'clients', 'sessions', 'audit', 'logout-deliveries'].flatMap((list) =>
        [
          `limit=${big}`,
          'limit=-1',
          'limit=x',
          'limit=1e3',
          'cursor=x',
          `cursor=${big}`,
          'cursor=%00',
          `cursor=${Buffer.from(JSON.stringify({ at: 'x', id: 'y' })).toString('base64url')}`,
          `cursor=${Buffer.from(`["2026-01-01T00:00:00.000Z","${big}"]`).toString('base64url')}`,
        ].map((query): [string, string] => ['GET', `/${list}?${query}`]),
      ),
      ['GET', '/audit?since=x'],
      ['GET', '/audit?since=99999-01-01T00:00:00Z'],
      ['GET', '/audit?type=x'],
    ];
    for (const [method, path, body] of requests) {
      const status = await admins(method, path, body);
      expect([400, 404, 409], `${method} ${path} ${body}`).toContain(status);
    }

    const json = { 'content-type': 'application/json' };
    const race = async (path: string, headers: Record<string, string>, bodyOf: (racer: number) => object) => {
      const racers = Array.from({ length: 3 }, (_, racer) => ({
        url: service.instances[racer % 2]! + path,
        method: 'POST' as const,
        headers: { ...json, ...headers },
        body: JSON.stringify(bodyOf(racer)),
      }));
      const finishes = await atOnce(racers);
      bodies.push(...finishes.filter(({ status }) => status >= 400).map(({ body }) => body));
      return finishes;
    };
    const asAdmin = { authorization: `Bearer ${admin}` };
    for (let round = 0; round < 20; round++) {
      const named = await race('/admin/api/users', asAdmin, (racer) => ({
        username: `${racer % 2 ? 'R' : 'r'}acer ${round}`,
      }));
      const mailed = await race('/admin/api/users', asAdmin, (racer) => ({
        username: `m-${round}-${racer}`,
        email: `${round}@x.example`,
      }));
      for (const finishes of [named, mailed])
        expect(finishes.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
      const key = { 'idempotency-key': randomUUID() };
      const registered = await race('/register', key, () => ({ redirect_uris: ['https://rp.example.com/cb'] }));
      for (const { status } of registered) expect([200, 201, 409]).toContain(status);
      const ids = registered
        .filter(({ status }) => status < 300)
        .map(({ body }) => (JSON.parse(body) as Record<string, string>)['client_id']);
      expect(new Set(ids).size).toBe(1);
    }

    const { tokens } = await runCodeFlow(service, client);
    const settings = { method: 'PUT', token: tokens.access_token, body: { settings: { a: 1 } } };
    for (const tag of [`"${big}"`, '"-1"', '"x"', 'x', '"0', '\u00ff']) {
      const answer = await call(`${service.issuer}/user/me/settings`, { ...settings, headers: { 'if-match': tag } });
      expect([400, 412], tag).toContain(answer.status);
      bodies.push(JSON.stringify(answer.body));
    }
    for (const [path, fields] of [
      ['/token', { grant_type: 'refresh_token', refresh_token: `${tokens.refresh_token}\0` }],
      ['/token', { grant_type: 'authorization_code', code: '\0', redirect_uri: '\0' }],
      ['/token', { grant_type: '\0' }],
      ['/introspect', { token: '\0' }],
      ['/revoke', { token: '\0' }],
    ] as [string, Record<string, string>][]) {
      const answer = await form(service.issuer + path, fields, { authorization: client.basic });
      expect([200, 400], path).toContain(answer.status);
      bodies.push(JSON.stringify(answer.body));
    }
    for (const body of bodies) expect(body).not.toMatch(leak);
    expect(service.logs.filter((line) => line['status'] === 500)).toEqual([]);
  },
);

attack(
  {
    id: 'A128',
    name: 'Key hygiene',
    request:
      'Reading the key set, registering for unsigned and unknown algorithms and, as a public client, for HS256, rotating the keys while tokens are issued, and starting five instances on an empty database',
    answer:
      'Only public members and unique kids; refused; a relying party that fetches keys by kid verifies every token; exactly one key set',
    source: "RFC 8725, Hydra's and Logto's tests of keys",
    requirements: ['R94', 'R95'],
  },
  async () => {
    const jwks = async (base = service.issuer) => (await call(`${base}/jwks`)).body as unknown as JSONWebKeySet;
    const types: Record<string, string> = { RS256: 'RSA', PS256: 'RSA', ES256: 'EC', EdDSA: 'OKP' };
    const hygienic = ({ keys }: JSONWebKeySet) => {
      expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
      for (const key of keys) {
        const members = ['kty', 'kid', 'use', 'alg', 'n', 'e', 'crv', 'x', 'y'];
        expect(members).toEqual(expect.arrayContaining(Object.keys(key)));
        expect([key.use, key.kty]).toEqual(['sig', types[key.alg!]]);
      }
    };
    hygienic(await jwks());
    for (const member of ['id_token_signed_response_alg', 'userinfo_signed_response_alg', 'request_object_signing_alg'])
      for (const alg of ['none', 'None', 'HS384', 'RS1', 'RS384', ''])
        expect(await register(service, { [member]: alg }), `${member} ${alg}`).toMatchObject({
          status: 400,
          body: { error: 'invalid_client_metadata' },
        });
    expect(
      await register(service, { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'HS256' }),
    ).toMatchObject({ status: 400 });
    const discovery = (await call(`${service.issuer}/.well-known/openid-configuration`)).body;
    for (const [name, values] of Object.entries(discovery))
      if (name.includes('signing_alg')) expect(values, name).not.toContain('none');

    // the cache of a relying party: it fetches the keys again only for a kid that it does not know
    const first = await runCodeFlow(service, client, { scope: 'openid' });
    let cached = await jwks(second(service));
    let token = first.tokens.refresh_token;
    const used = new Set<string>();
    const issue = async () => {
      const { status, body } = await refresh(service.issuer, client, token);
      expect(status).toBe(200);
      token = body['refresh_token'] as string;
      const idToken = body['id_token'] as string;
      const { kid } = decodeProtectedHeader(idToken);
      used.add(kid!);
      if (!cached.keys.some((key) => key.kid === kid)) cached = await jwks(second(service));
      await jwtVerify(idToken, createLocalJWKSet(cached), { issuer: service.issuer, audience: client.clientId });
    };
    await issue();
    expect((await call(`${service.issuer}/admin/api/keys`, { token: admin, body: {} })).status).toBe(201);
    for (let times = 0; times < 5; times++) await issue();
    expect(used.size).toBe(1);
    // the new keys start to sign once both instances publish them
    for (const base of service.instances)
      await eventually(
        () => jwks(base),
        ({ keys }) => keys.length === 8,
      );
    await service.database.sql(
      `UPDATE signing_keys SET active_at = active_at - interval '1 hour', created_at = created_at - interval '1 hour'`,
    );
    await eventually(
      async () => (await issue(), used.size),
      (size) => size === 2,
    );
    for (const base of service.instances) {
      hygienic(await jwks(base));
      // a token that the old key signed still verifies
      await jwtVerify(first.tokens.id_token, createLocalJWKSet(await jwks(base)), { issuer: service.issuer });
    }

    const database = await createTestDatabase();
    const config = loadConfig({
      PORT: '0',
      BASE_URL: 'http://localhost:1',
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '3',
      SECRET_KEY: service.secretKey,
      ADMIN_PASSWORD: randomUUID(),
      LOG_LEVEL: 'silent',
    });
    const instances = await Promise.all(Array.from({ length: 5 }, () => startService(config)));
    try {
      const sets = await Promise.all(instances.map(({ port }) => jwks(`http://localhost:${port}`)));
      for (const set of sets) expect(set).toEqual(sets[0]);
      expect(sets[0]!.keys.map(({ alg }) => alg).toSorted()).toEqual(Object.keys(types).toSorted());
      expect(await database.sql('SELECT 1 FROM signing_keys')).toHaveLength(4);
    } finally {
      await Promise.all(instances.map((instance) => instance.stop()));
      await database.drop();
    }
  },
);
