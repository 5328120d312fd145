// Attacks the administration: the first administrator, the page that approves registrations, and addresses that need no sign-in.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startService } from '../../src/start/service.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { register } from '../spec/kit.ts';
import { attack } from './attack.ts';
import { hostOf, raw } from './raw.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

attack(
  {
    id: 'A113',
    name: 'First-admin race',
    request:
      'Several instances start at once on an empty database, and one more afterwards with another secret; unauthenticated clients request a first-start page, and try to create users by the admin route',
    answer:
      'One administrator with the first secret and no other; there is no such page, and the route refuses unauthenticated clients',
    source: 'pocket-id ca28ddc, authentik#4033',
    requirements: ['R92'],
  },
  async () => {
    const database = await createTestDatabase();
    const start = (password: string) =>
      startService(
        loadConfig({
          PORT: '0',
          BASE_URL: 'http://localhost:1',
          DATABASE_URL: database.url,
          DATABASE_POOL_SIZE: '3',
          SECRET_KEY: service.secretKey,
          ADMIN_PASSWORD: password,
          LOG_LEVEL: 'silent',
        }),
      );
    const passwords = Array.from({ length: 5 }, () => randomUUID());
    const users = () =>
      database.sql<{ username: string; admin: boolean; password_hash: string }>('SELECT * FROM users');
    const instances = await Promise.all(passwords.map(start));
    try {
      const created = await users();
      expect(created).toMatchObject([{ username: 'admin', admin: true }]);
      instances.push(await start(randomUUID()));
      expect(await users()).toEqual(created);
      const events = await database.sql(`SELECT 1 FROM audit_events WHERE type = 'user.created'`);
      expect(events).toHaveLength(1);
      const base = `http://localhost:${instances[0]!.port}`;
      for (const path of [
        '/setup',
        '/install',
        '/first-run',
        '/initialize',
        '/admin/setup',
        '/admin/api/setup',
        '/signup',
        '/register/admin',
      ])
        for (const method of ['GET', 'POST']) {
          const answer = await fetch(base + path, { method, ...(method === 'POST' && { body: '{}' }) });
          expect([401, 404, 405], `${method} ${path}`).toContain(answer.status);
        }
      const body = { username: 'mallory', password: randomUUID(), admin: true };
      expect((await call(`${base}/admin/api/users`, { body })).status).toBe(401);
      expect(await users()).toEqual(created);
    } finally {
      await Promise.all(instances.map((instance) => instance.stop()));
      await database.drop();
    }
    // a request cannot create an administrator either
    const person = await service.createUser();
    const { access_token } = await obtainTokens(service, await service.createClient(), person);
    const body = { username: 'mallory', admin: true };
    expect((await call(`${service.issuer}/admin/api/users`, { body, token: access_token })).status).toBe(403);
    const url = `${service.issuer}/admin/api/users/${person.sub}`;
    expect((await call(url, { method: 'PATCH', body: { admin: true }, token: access_token })).status).toBe(403);
  },
);

attack(
  {
    id: 'A114',
    name: 'Stored script in the approval queue',
    request:
      'A registration with markup in its name, contacts and key ids and hostile addresses, from a hostile user agent; an administrator opens the page about it and the lists, asking for HTML and for CSV',
    answer:
      'Inert text: no markup of the registrant, no link but to https with rel=noopener noreferrer; lists are JSON that no browser reads as a page',
    source: 'CVE-2026-9086, CVE-2026-42849',
    requirements: ['R93'],
  },
  async () => {
    const ada = await service.createUser({ admin: true, username: '<b>ada</b>' });
    const agent = new UserAgent(service);
    const hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
    const formula = '=HYPERLINK("https://evil.example","x")';
    const { body } = await register(
      service,
      {
        client_name: hostile,
        contacts: [hostile, formula, 'javascript:alert(1)'],
        client_uri: `https://rp.example.com/?q='-alert(1)-'`.replaceAll(`'`, '%27'),
        software_id: hostile,
        default_acr_values: ['"><svg/onload=alert(1)>'],
        registration_mode: ['approval'],
      },
      { 'user-agent': hostile },
    );
    for (const uri of [
      'javascript:alert(1)',
      'java\nscript:alert(1)',
      ' javascript:alert(1)',
      'data:text/html,<script>',
      'vbscript:x',
      '//evil',
    ])
      for (const member of ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'initiate_login_uri'])
        expect((await register(service, { [member]: uri })).status, `${member} ${uri}`).toBe(400);
    // rows that an older version may have accepted
    await service.database.sql(`UPDATE clients SET metadata = metadata || $1 WHERE metadata ->> 'client_name' = $2`, [
      { logo_uri: 'javascript:alert(1)', tos_uri: 'data:text/html,x', policy_uri: 'https://user@evil.example/' },
      hostile,
    ]);

    await agent.signIn(ada);
    const page = await agent.get(body['verification_uri_complete']!);
    expect(page.status).toBe(200);
    expect(page.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.body).not.toMatch(
      /<script(?! src="\/assets)|<img|<svg\/|<b>|onerror=alert\(1\)>|\shref="(javascript|data:text|vbscript)/i,
    );
    for (const [link] of page.body.matchAll(/<a [^>]*href="[^"/][^>]*>/g)) {
      expect(link).toContain('rel="noopener noreferrer"');
      expect(link).toMatch(/href="https:\/\/rp\.example\.com\//);
    }
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'self';/);
    const refused = await agent.submit(page, { decision: 'refuse', reason: hostile });
    expect(refused.body).not.toContain('<script>alert');

    const token = await adminToken(service);
    for (const path of ['clients', 'users', 'audit', 'sessions', 'keys', 'logout-deliveries'])
      for (const accept of ['text/html', 'text/csv', 'application/csv;q=1, */*;q=0.1']) {
        const answer = await fetch(`${service.issuer}/admin/api/${path}`, {
          headers: { authorization: `Bearer ${token}`, accept },
        });
        expect(answer.status, path).toBe(200);
        expect(answer.headers.get('content-type'), path).toMatch(/^application\/json/);
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
        expect(answer.headers.get('content-security-policy')).toContain(`default-src 'none'`);
      }
    for (const path of ['/admin/api/clients.csv', '/admin/api/audit.csv', '/admin/api/audit?format=csv'])
      expect((await fetch(service.issuer + path)).status, path).not.toBe(200);
  },
);

attack(
  {
    id: 'A115',
    name: 'Unprotected addresses',
    request:
      'Metrics, debugging, documentation, health with parameters, environment and version files, source maps, server paths and errors, without signing in',
    answer: '401 or 404, without a word about files, versions or stacks; health answers up or down, and nothing more',
    source: 'CVE-2026-55106',
    requirements: ['R89', 'R100'],
  },
  async () => {
    const page = await new UserAgent(service).get('/login');
    const assets = [...page.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map((match) => match[1]!);
    expect(assets.length).toBeGreaterThan(0);
    const paths = [
      '/metrics',
      '/admin/api/openapi.json',
      '/admin/api',
      '/debug',
      '/debug/pprof',
      '/documentation',
      '/documentation/json',
      '/docs',
      '/swagger',
      '/swagger.json',
      '/graphql',
      '/.env',
      '/.git/config',
      '/package.json',
      '/src/server.ts',
      '/migrations/0103_clients.sql',
      '/server-status',
      '/actuator/env',
      '/healthz',
      '/healthz?verbose',
      '/health',
      '/readyz?verbose',
      '/assets/',
      '/assets/..%2f..%2fpackage.json',
      '/assets/../../package.json',
      ...assets.map((asset) => `${asset}.map`),
      '/data/secret-key',
      '/console',
      '/test',
    ];
    const leak = /node_modules|\.ts\b|at \w+ \(|fastify|postgres|\bpg_|\/tmp\/|stack/i;
    for (const path of paths)
      for (const accept of ['text/html', 'application/json']) {
        const answer = await raw(service.issuer, [`GET ${path} HTTP/1.1`, hostOf(service.issuer), `Accept: ${accept}`]);
        expect([401, 404], path).toContain(answer.status);
        expect(answer.headers + answer.body, path).not.toMatch(leak);
        expect(answer.headers, path).not.toMatch(/^(server|x-powered-by):/im);
      }
    // public on purpose, unless OPENAPI=off
    expect(await (await fetch(`${service.issuer}/openapi.json`)).text()).not.toMatch(leak);
    for (const asset of assets)
      expect(await (await fetch(service.issuer + asset)).text(), asset).not.toContain('sourceMappingURL');
    for (const path of ['/health/live', '/health/ready', '/health/ready?verbose', '/health/live?full=1'])
      expect((await call(service.issuer + path)).body, path).toEqual({ status: 'up' });
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'CONNECT']) {
      const answer = await raw(service.issuer, [
        `${method} /login HTTP/1.1`,
        hostOf(service.issuer),
        'X-Echo: canary-echo',
      ]);
      expect(answer.status, method).not.toBe(200);
      expect(answer.body, method).not.toContain('canary-echo');
    }
  },
);
