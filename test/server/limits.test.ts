// Limits are counted across instances, before the work is done, and affect only the account, client or network that exceeds them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { networkOf } from '../../src/server/network.ts';
import type { Config } from '../../src/config.ts';
import { createLimits } from '../../src/domain/rate-limits/rate-limits.ts';
import { createStore } from '../../src/repositories/store.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: {
      LIMIT_SIGN_IN_PER_ACCOUNT: '3',
      LIMIT_SIGN_IN_PER_NETWORK: '0',
      LIMIT_REGISTRATION_PER_NETWORK: '2',
      LIMIT_CLIENT_AUTH_FAILURES: '3',
      TRUST_PROXY: '127.0.0.0/8,::1',
    },
  });
});
afterAll(() => service?.stop());

test('after too many failures the right password is refused like a wrong one, in every spelling of the name, and another account is not affected (security R60, R61, A75)', async () => {
  const user = await service.createUser({ username: 'Carol', email: 'carol@example.com' });
  const other = await service.createUser();
  for (const username of ['carol', 'CAROL', ' Carol@Example.com ']) {
    const page = await new UserAgent(service).signIn({ username, password: 'wrong password here' });
    expect(page.status).toBe(400);
  }
  const wrong = await new UserAgent(service).signIn({ username: 'carol', password: 'wrong password here' });
  const right = await new UserAgent(service).signIn({ username: 'carol', password: user.password });
  expect(right.status).toBe(400);
  const bare = (html: string) => html.replace(/(name="csrf" value|data-options)="[^"]*"|<bdi>[0-9a-f]{8}<\/bdi>/g, '');
  expect(bare(right.body)).toBe(bare(wrong.body));
  expect((await new UserAgent(service).signIn(other)).url).toMatch(/\/account$/);
  await service.database.sql('UPDATE sign_in_failures SET held_until = now()');
  expect((await new UserAgent(service).signIn({ username: 'carol', password: user.password })).url).toMatch(
    /\/account$/,
  );
});

test('concurrent guesses check no more passwords than the limit (security R62)', async () => {
  const user = await service.createUser();
  const agents = Array.from({ length: 20 }, () => new UserAgent(service));
  await Promise.all(agents.map((agent) => agent.signIn({ username: user.username, password: 'wrong password here' })));
  const [row] = await service.database.sql<{ count: number }>(
    `SELECT count(*)::int FROM audit_events WHERE type = 'user.locked_out' AND sub = $1`,
    [user.sub],
  );
  expect(row!.count).toBe(17);
});

test('exactly as many concurrent attempts on all instances pass as the limit allows, and each refund allows one more (security R62)', async () => {
  const databases = [1, 2].map(() =>
    openDatabase({ connection: service.database.connection, poolSize: 4, onError: () => undefined }),
  );
  try {
    const settings = { mailedLinks: 30, verificationCodes: 10 } as Config['limits'];
    const instances = databases.map((database) => createLimits(createStore(database), settings));
    const passed = async (name: 'mailedLinks' | 'verificationCodes', key: string, tries = 40) => {
      const waits = await Promise.all(
        instances.map((limits) => Promise.all(Array.from({ length: tries }, () => limits.consume(name, key)))),
      );
      const maxWait = name === 'mailedLinks' ? 3600 : 900;
      expect(Math.max(...waits.flat())).toBeLessThanOrEqual(maxWait);
      return waits.flat().filter((wait) => wait === 0).length;
    };
    const keys = ['a', 'b', 'c'].flatMap((key) => [passed('mailedLinks', key), passed('verificationCodes', key)]);
    expect(await Promise.all(keys)).toEqual([30, 10, 30, 10, 30, 10]);
    expect(await passed('mailedLinks', 'd', 10)).toBe(20);
    await Promise.all([...instances, ...instances].map((limits) => limits.refund('mailedLinks', 'd')));
    expect(await passed('mailedLinks', 'd')).toBe(14);
    // a refund that comes too late does not count in the next window
    await service.database.sql('UPDATE rate_limits SET expire = 0');
    await instances[0]!.refund('mailedLinks', 'd');
    expect(await passed('mailedLinks', 'd')).toBe(30);
  } finally {
    for (const database of databases) await database.close();
  }
});

test('registrations of one network are limited, and another network is not affected (decisions section 7, security R49, F15)', async () => {
  const register = (address: string, instance: number) =>
    fetch(`${service.instances[instance]}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ redirect_uris: ['https://rp.example.com/cb'] }),
    });
  expect((await register('192.0.2.1', 0)).status).toBe(201);
  expect((await register('192.0.2.77', 1)).status).toBe(201);
  const refused = await register('192.0.2.200', 0);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await register('198.51.100.1', 0)).status).toBe(201);
});

test('failures in one network do not lock the client out of another (security R41, A49)', async () => {
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const attempt = (address: string, secret: string) =>
    fetch(`${service.issuer}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${client.clientId}:${secret}`).toString('base64')}`,
        'x-forwarded-for': address,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  for (let count = 0; count < 3; count++) expect((await attempt('192.0.2.9', 'wrong')).status).toBe(401);
  const refused = await attempt('192.0.2.9', 'wrong');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await attempt('198.51.100.9', client.clientSecret)).status).toBe(200);
  expect((await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' })).status).toBe(200);
});

test('a network that fails with one invented client after another gets 429 and stores no more rows, while right credentials still pass (security R41, R105, A122)', async () => {
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const attempt = (id: string, secret: string) =>
    fetch(`${service.issuer}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'x-forwarded-for': '203.0.113.9',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  const before = await rows();
  const statuses: number[] = [];
  // twenty times LIMIT_CLIENT_AUTH_FAILURES
  for (let count = 0; count < 70; count++) statuses.push((await attempt(`invented-${count}`, 'x')).status);
  expect(statuses.indexOf(429)).toBe(60);
  expect(new Set(statuses.slice(60))).toEqual(new Set([429]));
  expect((await rows()) - before).toBeLessThanOrEqual(62);
  // a known client with a wrong secret gets the same answer
  expect((await attempt(client.clientId, 'x')).status).toBe(429);
  expect((await attempt(client.clientId, client.clientSecret)).status).toBe(200);
});

test('beyond the limit of its network, guesses at one client still count: after the limit the right secret is refused there, too (security R41)', async () => {
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const attempt = (id: string, secret: string, address = '203.0.114.9') =>
    fetch(`${service.issuer}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'x-forwarded-for': address,
      },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  for (let count = 0; count < 61; count++) await attempt(`stranger-${count}`, 'x');
  // one more than LIMIT_CLIENT_AUTH_FAILURES
  for (let count = 0; count < 4; count++) expect((await attempt(client.clientId, 'x')).status).toBe(429);
  expect((await attempt(client.clientId, client.clientSecret)).status).toBe(429);
  expect((await attempt(client.clientId, client.clientSecret, '203.0.115.9')).status).toBe(200);
});

async function rows(): Promise<number> {
  const [row] = await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM rate_limits');
  return row!.n;
}

test('a repeated registration cannot be used to guess a secret: its failures are counted and recorded like others (decisions section 7)', async () => {
  const client = await service.createClient({ token_endpoint_auth_method: 'client_secret_post' });
  const attempt = (address: string, secret: string, id = client.clientId) =>
    fetch(`${service.issuer}/register`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'x-forwarded-for': address,
      },
      body: JSON.stringify({ redirect_uris: ['https://rp.example.com/callback'] }),
    });
  for (let count = 0; count < 3; count++) expect((await attempt('192.0.2.9', 'wrong')).status).toBe(401);
  const refused = await attempt('192.0.2.9', client.clientSecret);
  expect(refused.status).toBe(200);
  const { client_secret } = (await refused.json()) as { client_secret: string };
  expect((await attempt('192.0.2.9', 'wrong')).status).toBe(429);
  const blocked = await attempt('192.0.2.9', client_secret);
  expect(blocked.status).toBe(429);
  expect(blocked.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await attempt('198.51.100.9', client_secret)).status).toBe(200);
  expect((await attempt('198.51.100.9', 'wrong', 'nobody')).status).toBe(401);
  const events = await service.database.sql(
    `SELECT client_id, outcome, count(*)::int AS n FROM audit_events WHERE type = 'client.authentication_failed'
        AND client_id = ANY ($1) GROUP BY client_id, outcome`,
    [[client.clientId, 'nobody']],
  );
  expect(events).toEqual([{ client_id: client.clientId, outcome: 'failure', n: 4 }]);
});

test.each([
  ['192.0.2.17', '192.0.2.0/24'],
  ['::ffff:192.0.2.17', '192.0.2.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0DB8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['nonsense', 'unknown'],
])('the network of %s is %s (decisions section 7, security R65)', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('the address comes from the right of the forwarding header of a trusted peer, and from the socket if that header is invalid (security R65)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const form = { ...hiddenFields((await agent.get('/login')).body), username: user.username, password: 'wrong' };
  for (const forwarded of [
    '192.0.2.1',
    '192.0.2.66, 192.0.2.2',
    '192.0.2.66, 2001:db8::3, 127.0.0.1, 127.0.0.2',
    '192.0.2.66, nonsense',
    '192.0.2.66, 192.0.2.4:4711',
    `192.0.2.66, ${'9'.repeat(500)}`,
  ])
    await agent.post('/login', form, {
      'x-forwarded-for': forwarded,
      forwarded: 'for=192.0.2.67',
      'x-real-ip': '192.0.2.68',
    });
  const rows = await service.database.sql<{ address: string }>(
    `SELECT address FROM audit_events WHERE sub = $1 AND type = 'user.sign_in_failed' ORDER BY id`,
    [user.sub],
  );
  const own = expect.stringMatching(/^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/);
  expect(rows.map(({ address }) => address)).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::3', own, own, own]);
});
