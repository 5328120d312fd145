// Tests operations of one user that are batched into one statement: locks and counts are as if each had run by itself.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { createStore, type Store } from '../../src/repositories/store.ts';
import { maxBrowsers } from '../../src/repositories/sessions/device-cookies.ts';
import { obtainTokens, unbound } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let opened: Database[];
let stores: Store[];
beforeAll(async () => {
  service = await startTestService();
  const { connection } = service.database;
  opened = [1, 2].map(() => openDatabase({ connection, poolSize: 10, onError: () => undefined }));
  stores = opened.map((database) => createStore(database));
});
afterAll(async () => {
  await Promise.all(opened?.map((database) => database.close()) ?? []);
  await service?.stop();
});

test('tokens of ten families that are refreshed on two instances in crossing orders do not deadlock (security R110)', async () => {
  const client = await service.createClient();
  for (let index = 0; index < 10; index++) await obtainTokens(service, client, await service.createUser());
  const families = await service.database.sql<{ id: string }>('SELECT id FROM client_sessions ORDER BY id');
  const make = async (family: number, first: number) => {
    const hash = Buffer.concat([Buffer.from([first]), randomBytes(31)]);
    await service.database.sql(
      `INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
       VALUES ($1, $2, 1, now() + interval '1 hour')`,
      [hash, families[family]!.id],
    );
    return hash;
  };
  const use = (store: Store, tokenHash: Buffer) =>
    store.refreshTokens.rotate({
      tokenHash,
      clientId: client.clientId,
      scope: undefined,
      resource: undefined,
      rotate: true,
      ...unbound,
      accessTokenHash: randomBytes(32),
      refreshTokenHash: randomBytes(32),
      accessTokenLifetime: 60,
      refreshTokenLifetime: 60,
      refreshTokenAbsoluteLifetime: 60,
    });
  const transactionsOf = async (hashes: Buffer[]) => {
    const rows = await service.database.sql<{ xmin: string }>(
      'SELECT DISTINCT xmin::text FROM refresh_tokens WHERE token_hash = ANY ($1)',
      [hashes],
    );
    return rows.length;
  };
  const rounds = 60;
  let whole = 0;
  for (let round = 0; round < rounds; round++) {
    const made = (instance: number) => Promise.all(families.map((_, family) => make(family, 2 * family + instance)));
    const orders = [await made(0), (await made(1)).reverse()];
    const used = orders.map((order, index) => Promise.all(order.map((hash) => use(stores[index]!, hash))));
    for (const result of (await Promise.all(used)).flat()) expect(result).toMatchObject({ rotated: true });
    const counts = await Promise.all(orders.map(transactionsOf));
    if (counts.every((count) => count === 1)) whole++;
  }
  // calls that block each other continue one by one: in most rounds if each instance locked in its own order, and now and then on a busy machine
  expect(whole).toBeGreaterThan(rounds / 2);
});

test("after a user's sign-ins in forty browsers at once, only the browsers used last stay known (security R63)", async () => {
  const { sub } = await service.createUser();
  const signedIn = await Promise.all(
    Array.from({ length: 40 }, () =>
      stores[0]!.signIns.insert({
        session: {
          tokenHash: randomBytes(32),
          sid: randomBytes(16).toString('hex'),
          sub,
          passwordHash: undefined,
          amr: ['pwd'],
          idleLifetime: 60,
          lifetime: 60,
          userAgent: undefined,
          address: undefined,
        },
        renews: undefined,
        browser: { hash: randomBytes(32), previousHash: undefined, lifetime: 60 },
        notice: { name: 'new-sign-in', sub },
        event: { type: 'user.signed_in', outcome: 'success', actor: sub, sub },
        resetsFailures: false,
        perUser: 0,
      }),
    ),
  );
  expect(signedIn).toEqual(Array(40).fill(true));
  const sessions = await service.database.sql<{ xmin: string }>('SELECT xmin::text FROM sessions WHERE sub = $1', [
    sub,
  ]);
  expect(sessions).toHaveLength(40);
  expect(new Set(sessions.map(({ xmin }) => xmin)).size).toBeLessThan(20);
  const known = await service.database.sql('SELECT FROM known_browsers WHERE sub = $1', [sub]);
  expect(known).toHaveLength(maxBrowsers);
});
