// GET /metrics returns what the service measures, for a token with the scope metrics or admin.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let scraper: string;
beforeAll(async () => {
  service = await startTestService();
  const client = await service.createClient({ ...machine, scope: 'metrics' });
  scraper = (await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' })).body[
    'access_token'
  ] as string;
});
afterAll(() => service?.stop());

const machine = { redirect_uris: [], grant_types: ['client_credentials'] };

async function scrape(token = scraper): Promise<string> {
  const response = await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return response.text();
}
/** The value of a series. */
const value = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1) ?? 0,
  );

test('only a token with the scope metrics or admin reads the metrics (security A115, R89)', async () => {
  const anonymous = await call(`${service.issuer}/metrics`);
  expect(anonymous).toMatchObject({ status: 401, body: { error: 'invalid_request' } });
  expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer /);
  const { access_token } = await obtainTokens(service, await service.createClient(), await service.createUser());
  expect(await call(`${service.issuer}/metrics`, { token: access_token })).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  });
  expect(await scrape()).toBeTruthy();
  expect(await scrape(await adminToken(service))).toBeTruthy();
});

test('the scope metrics opens no admin route, and a registrant cannot request it (security R44, R89)', async () => {
  expect(await call(`${service.issuer}/admin/api/users`, { token: scraper })).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  });
  const { body } = await call(`${service.issuer}/register`, {
    method: 'POST',
    body: { ...machine, scope: 'metrics profile' },
  });
  expect(body['scope']).toBe('profile');
});

test('the metrics count requests, grants, events and the database, and repeat nothing that a request sent (decisions section 1)', async () => {
  const before = await scrape();
  const user = await service.createUser();
  const client = await service.createClient();
  await obtainTokens(service, client, user);
  await new UserAgent(service).signIn({ username: user.username, password: 'wrong' });
  const secret = 'a-path-that-nobody-named';
  await fetch(`${service.issuer}/${secret}?code=${secret}`, { headers: { 'user-agent': secret } });
  const after = await scrape();
  const increaseOf = (series: string) => value(after, series) - value(before, series);
  expect(increaseOf('gatehouse_grants_total{grant_type="authorization_code"}')).toBe(1);
  expect(increaseOf('gatehouse_events_total{type="user.signed_in",outcome="success"}')).toBe(1);
  expect(increaseOf('gatehouse_events_total{type="user.sign_in_failed",outcome="failure"}')).toBe(1);
  expect(increaseOf('gatehouse_http_request_duration_seconds_count{method="POST",route="/token",status="200"}')).toBe(
    1,
  );
  expect(increaseOf('gatehouse_http_request_duration_seconds_count{method="GET",route="none",status="404"}')).toBe(1);
  expect(value(after, 'gatehouse_database_connections{state="idle"}')).toBeGreaterThan(0);
  expect(after).toContain('process_resident_memory_bytes');
  expect(after).toContain('gatehouse_password_hashes{state="waiting"} 0');
  for (const foreign of [secret, user.sub, user.username, client.clientId]) expect(after).not.toContain(foreign);
});
