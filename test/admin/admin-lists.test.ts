// The lists of the admin routes return every row page by page, and refuse values that the database cannot hold.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, type Answer, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const admin = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });

describe('lists', () => {
  const name = (path: string) =>
    ({ '/audit': 'events', '/logout-deliveries': 'logout_deliveries' })[path] ?? path.slice(1);

  test.each(['/users', '/clients', '/sessions', '/audit', '/logout-deliveries'])(
    '%s returns every row, newest first, page by page (decisions section 8)',
    async (path) => {
      for (let count = 0; count < 5; count++) {
        const user = await service.createUser();
        await obtainTokens(service, await service.createClient(), user);
      }
      if (path === '/logout-deliveries')
        await service.database.sql(
          `INSERT INTO logout_deliveries (client_id, sub, sid) SELECT 'gone', 'alice', 's' FROM generate_series(1, 5)`,
        );
      // rows with equal times must not be lost between two pages
      if (path === '/users')
        await service.database.sql(`UPDATE users SET created_at = date_trunc('second', created_at)`);
      if (path === '/sessions')
        await service.database.sql(`UPDATE sessions SET created_at = date_trunc('second', created_at)`);
      const whole = (await admin(`${path}?limit=200`)).body[name(path)] as Record<string, string>[];
      const found: Record<string, string>[] = [];
      let cursor: string | undefined;
      do {
        const page = await admin(`${path}?limit=3${cursor === undefined ? '' : `&cursor=${cursor}`}`);
        expect(page.status).toBe(200);
        const items = page.body[name(path)] as Record<string, string>[];
        expect(items.length).toBeLessThanOrEqual(3);
        found.push(...items);
        cursor = page.body['next_cursor'] as string | undefined;
      } while (cursor !== undefined);
      expect(found).toEqual(whole);
      const times = found.map((item) => item['created_at'] ?? item['at']!);
      expect(times).toEqual([...times].sort().reverse());
    },
  );

  test.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'limit=-1',
    'limit=1e2',
    'limit=1&limit=2',
    'cursor=x',
    'cursor=AAAA',
    `cursor=${'A'.repeat(600)}`,
  ])('every list refuses %s (security A123)', async (query) => {
    for (const path of ['/users', '/clients', '/sessions', '/audit', '/logout-deliveries'])
      expect(await admin(`${path}?${query}`), path).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('the list of clients can be filtered by status (decisions section 8)', async () => {
    const client = await service.createClient({}, { status: 'disabled' });
    const { body } = await admin('/clients?status=disabled&limit=200');
    const clients = body['clients'] as Record<string, string>[];
    expect(clients.some((one) => one['client_id'] === client.clientId)).toBe(true);
    expect(clients.every((one) => one['status'] === 'disabled')).toBe(true);
    expect(await admin('/clients?status=x')).toMatchObject({ status: 400 });
  });
});

test.each([
  ['GET', '/users/%00', undefined],
  ['GET', '/clients/%00', undefined],
  ['DELETE', '/sessions/%00', undefined],
  ['GET', '/clients/%ED%A0%80', undefined],
  ['GET', '/users?cursor=MjAyNi0wMS0wMQoA', undefined],
  ['GET', '/audit?type=%00', undefined],
  ['GET', '/sessions?sub=%00', undefined],
  ['POST', '/users', { username: 'a\u0000b' }],
  ['POST', '/clients/x/approve', { version: 2 ** 40 }],
])(
  '%s %s refuses text or numbers that the database cannot hold, without a server error (security A123)',
  async (method, path, body) => {
    const answer = await admin(path, method, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  },
);
