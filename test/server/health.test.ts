// GET /health/live and /health/ready answer up or down, and nothing more.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, eventually } from '../helpers/grants.ts';
import { execute } from '../helpers/global-setup.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

test.each(['/health/live', '/health/ready'])('%s answers up, without caching (decisions section 1)', async (path) => {
  const answer = await call(`${service.issuer}${path}?verbose`);
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.body).toEqual({ status: 'up' });
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('HEAD of a public address that changes nothing gets the headers of GET, and every other address refuses it (security R8)', async () => {
  const head = (path: string) => fetch(service.issuer + path, { method: 'HEAD', redirect: 'manual' });
  const style = /\/assets\/style\.\w+\.css/.exec(await (await fetch(`${service.issuer}/login`)).text())![0];
  const wellKnown = ['openid-configuration', 'oauth-authorization-server'].map((name) => `/.well-known/${name}`);
  for (const path of ['/health/live', '/health/ready', '/jwks', style, ...wellKnown]) {
    const [get, answer] = [await fetch(service.issuer + path), await head(path)];
    expect([answer.status, await answer.text()], path).toEqual([200, '']);
    for (const name of ['content-type', 'content-length', 'cache-control', 'x-frame-options'])
      expect(answer.headers.get(name), `${name} of ${path}`).toBe(get.headers.get(name));
  }
  for (const page of ['authorize', 'authenticate', 'consent', 'logout', 'end-session', 'account/security', 'metrics'])
    expect((await head(`/${page}`)).status, page).toBe(405);
});

test('HEAD of the pages at which uptime checks look is answered like GET of a browser without cookies, and has no effect (security R8, reports D)', async () => {
  const agent = new UserAgent(service);
  await agent.signIn(await service.createUser({ admin: true }));
  const rows = () =>
    service.database.sql(
      `SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT max(used_at) FROM sessions) AS used, (SELECT count(*) FROM clients) AS clients,
              (SELECT count(*) FROM authorization_requests) AS requests, (SELECT count(*) FROM audit_events) AS events`,
    );
  for (const path of ['/', '/login', '/login?transaction=x', '/account', '/admin']) {
    const before = await rows();
    const answer = await agent.fetch(path, { method: 'HEAD' });
    expect(await rows(), path).toEqual(before);
    const get = await fetch(service.issuer + path, { redirect: 'manual' });
    expect([answer.status, answer.body], path).toEqual([get.status, '']);
    for (const name of ['content-type', 'cache-control', 'x-frame-options', 'content-security-policy'])
      expect(answer.headers.get(name), `${name} of ${path}`).toBe(get.headers.get(name));
    expect(answer.headers.get('location')?.replace(/[?].*/, ''), path).toBe(
      get.headers.get('location')?.replace(/[?].*/, ''),
    );
    expect(answer.headers.get('set-cookie'), path).toBeNull();
  }
});

test.each(['/debug', '/documentation', '/swagger', '/.env', '/healthz', '/health', '/src/app.ts', '/package.json'])(
  'a request for %s gets 404, and the answer shows nothing of the service (security A115)',
  async (path) => {
    const answer = await call(service.issuer + path);
    expect(answer).toMatchObject({
      status: 404,
      body: { error: 'not_found', error_description: expect.any(String) },
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/fastify|node_modules|\/src\/|stack/i);
  },
);

test('without a database the service is live but not ready, gives no verdict on tokens, and recovers by itself (security F8, R79, R108, R109)', async () => {
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const { database, ...server } = service.database.connection;
  const admin = (sql: string) => execute({ ...server, database: 'postgres' }, sql);
  const token = () =>
    fetch(`${service.issuer}/token`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  expect((await token()).status).toBe(200);
  await admin(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
  try {
    await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    const down = await eventually(
      () => call(`${service.issuer}/health/ready`),
      ({ status }) => status === 503,
    );
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(down.body)).not.toMatch(/postgres|ECONN|socket|57P|55000|test_/i);
    expect(await call(`${service.issuer}/health/live`)).toMatchObject({ status: 200 });
    for (const path of ['/jwks', '/.well-known/openid-configuration'])
      expect(await call(service.issuer + path)).toMatchObject({ status: 200 });
    for (const unknown of [`ghat_${'A'.repeat(49)}`]) {
      const answer = await call(`${service.issuer}/user/info`, { token: unknown });
      // no token of this service, by its form alone
      expect(answer.status).toBe(401);
    }
    const refused = await token();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
  } finally {
    await admin(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
  }
  await eventually(
    () => call(`${service.issuer}/health/ready`),
    ({ status }) => status === 200,
  );
  expect((await token()).status).toBe(200);
});
