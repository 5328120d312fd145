// Tests the deletion of expired rows: in batches, beside running requests, and never of valid rows.
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanUp } from '../../src/jobs/retention.ts';
import { openDatabase } from '../../src/database/database.ts';
import { expiredRepository, maxKept } from '../../src/repositories/retention/expired.ts';
import { obtainCode, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

/** One batch of one kind, as the background job does it. */
const deleteBatch = (kind: number) =>
  service.store.transaction(async ({ expired }) => ((await expired.claim()) ? expired.deleteBatch(kind) : 0));
async function deleteAll(from = 0, to = service.store.expired.kinds): Promise<void> {
  for (let kind = from; kind < to; kind++) while ((await deleteBatch(kind)) > 0);
}
const count = async (table: string) =>
  (await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n;

test('expired rows of every kind are deleted, 1000 at a time at most, and valid ones stay (security R105)', async () => {
  const client = await service.createClient();
  const user = await service.createUser();
  const tokens = await obtainTokens(service, client, user);
  await service.database.sql(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at)
     SELECT sha256(convert_to(n::text, 'UTF8')), $1, 0, '', now() - interval '1 second' FROM generate_series(1, 2500) n`,
    [client.clientId],
  );
  await service.database.sql(
    `INSERT INTO used_assertions SELECT $1, sha256(convert_to(n::text, 'UTF8')), now() - interval '1 second' FROM generate_series(1, 10) n`,
    [client.clientId],
  );
  await service.database.sql(
    `INSERT INTO initial_access_tokens (token_hash, expires_at) SELECT sha256('x'), now() - interval '1 second'`,
  );
  // an instance from before the clock of the database went back
  await service.database.sql(
    `INSERT INTO instances (id, secret_key_id, seen_at) VALUES (gen_random_uuid(), '0123456789abcdef', now() + interval '1 hour')`,
  );
  const instances = await count('instances');
  await obtainCode(service, client, user);
  await service.database.sql(
    `UPDATE client_sessions SET expires_at = now() - interval '1 second' WHERE id = (SELECT max(id) FROM client_sessions)`,
  );
  expect(await count('access_tokens')).toBe(2501);
  let largest = 0;
  for (let kind = 0; kind < service.store.expired.kinds; kind++)
    for (let gone = -1; gone !== 0; largest = Math.max(largest, gone)) gone = await deleteBatch(kind);
  expect(largest).toBe(1000);
  expect(await count('access_tokens')).toBe(1);
  expect(await count('used_assertions')).toBe(0);
  expect(await count('initial_access_tokens')).toBe(0);
  expect(await count('instances')).toBe(instances - 1);
  expect(await count('client_sessions')).toBe(1);
  expect(await count('authorization_codes')).toBe(1);
  expect(await userinfo(service.issuer, tokens.access_token)).toMatchObject({ status: 200 });
  expect(await refresh(service.issuer, client, tokens.refresh_token)).toMatchObject({ status: 200 });
});

test('unfinished sign-ins stay within a limit, however many browsers begin them, and so do their counters (security R105, A122)', async () => {
  const client = await service.createClient();
  const rows = `generate_series(1, 2500) n`;
  await service.database.sql(
    `INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, expires_at)
     SELECT sha256(n::text::bytea), CASE WHEN n > 10 THEN sha256(n::text::bytea) END, $1, 'authorization', '{}', now() + make_interval(secs => 60 + n)
       FROM ${rows}`,
    [client.clientId],
  );
  await service.database.sql(
    `INSERT INTO rate_limits SELECT 'signInPerNetwork:x' || n, 1, extract(epoch FROM now()) * 1000 + 60000 + n FROM ${rows}`,
  );
  await service.database.sql(
    `INSERT INTO sign_in_failures (account, sub, failures, held_until, expires_at)
     SELECT sha256(n::text::bytea), CASE WHEN n <= 1 THEN $1 END, 1, now(), now() + make_interval(secs => 60 + n) FROM ${rows}`,
    [(await service.createUser()).sub],
  );
  const { connection } = service.database;
  const database = openDatabase({ connection, poolSize: 1, onError: () => undefined });
  try {
    const expired = expiredRepository(database, {
      pendingSignIns: 40,
      limits: 30,
      unknownNames: 20,
      webhookDeliveries: 10,
    });
    for (let kind = 0; kind < expired.kinds; kind++) while ((await expired.deleteBatch(kind)) > 0);
    while ((await expired.deleteSurplusOfLimit('signInPerNetwork')) > 0);
  } finally {
    await database.close();
  }
  const [left] = await service.database.sql(
    `SELECT count(*)::int AS pending, (extract(epoch FROM min(expires_at) FILTER (WHERE browser_hash IS NOT NULL) - now()) > 2500) AS latest,
       count(*) FILTER (WHERE browser_hash IS NULL)::int AS pushed, (SELECT count(*)::int FROM rate_limits) AS counted,
       (SELECT count(*)::int FROM sign_in_failures) AS names
       FROM authorization_requests`,
  );
  // pushed requests have a separate limit
  expect(left).toEqual({ pending: 50, latest: true, pushed: 10, counted: 30, names: 20 + 1 });
  expect(maxKept).toEqual({ pendingSignIns: 100_000, limits: 200_000, unknownNames: 100_000, webhookDeliveries: 1000 });
  await service.database.sql('TRUNCATE authorization_requests, rate_limits, sign_in_failures');
});

test('a redeemed code and a spent token stay as long as their family: the service still detects their reuse (security R17, R34)', async () => {
  const client = await service.createClient();
  const user = await service.createUser();
  const code = await obtainCode(service, client, user);
  const { body } = await redeem(service.issuer, client, code);
  const next = await refresh(service.issuer, client, body['refresh_token'] as string);
  await service.database.sql(
    `UPDATE authorization_codes SET expires_at = expires_at - interval '1 hour', redeemed_at = redeemed_at - interval '1 hour'`,
  );
  await service.database.sql(
    `UPDATE refresh_tokens SET spent_at = spent_at - interval '1 hour', expires_at = now() - interval '1 minute' WHERE spent_at IS NOT NULL`,
  );
  await deleteAll();
  expect(await redeem(service.issuer, client, code)).toMatchObject({ status: 400 });
  expect(await refresh(service.issuer, client, next.body['refresh_token'] as string)).toMatchObject({ status: 400 });
});

test('whenever a session expires between two batches, its offline_access grants live on and the rest ends (decisions section 6)', async () => {
  const all = service.store.expired.kinds;
  for (let kind = 0; kind <= all; kind++) {
    const user = await service.createUser();
    const client = await service.createClient({ scope: 'openid offline_access' });
    const agent = new UserAgent(service);
    const offline = await obtainTokens(service, client, user, { scope: 'openid offline_access' }, agent);
    const online = await obtainTokens(service, client, user, { scope: 'openid' }, agent);
    await deleteAll(0, kind);
    await service.database.sql(`UPDATE sessions SET idle_expires_at = now() - interval '1 second' WHERE sub = $1`, [
      user.sub,
    ]);
    await deleteAll(kind);
    await deleteAll();
    expect(await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [user.sub])).toHaveLength(0);
    expect(await refresh(service.issuer, client, online.refresh_token)).toMatchObject({ status: 400 });
    expect(await refresh(service.issuer, client, offline.refresh_token), `before kind ${kind}`).toMatchObject({
      status: 200,
    });
  }
});

test('requests succeed while two instances clean up, and locked rows are left for later (security R105)', async () => {
  const client = await service.createClient();
  const user = await service.createUser();
  await service.database.sql(
    `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at)
     SELECT sha256(convert_to('b' || n, 'UTF8')), $1, 0, '', now() - interval '1 second' FROM generate_series(1, 20000) n`,
    [client.clientId],
  );
  const agent = new UserAgent(service);
  const cleaning = Promise.all([deleteAll(), deleteAll()]);
  let over = false;
  void cleaning.then(() => (over = true));
  let answered = 0;
  while (!over || answered < 5) {
    const tokens = await obtainTokens(service, client, user, {}, agent);
    expect(await refresh(service.issuer, client, tokens.refresh_token)).toMatchObject({ status: 200 });
    answered++;
  }
  await cleaning;
  await deleteAll();
  expect(await service.database.sql('SELECT 1 FROM access_tokens WHERE expires_at < now()')).toHaveLength(0);
});

test('the background job stops on request, also before its first round (decisions section 8)', async () => {
  await expect(
    cleanUp(service.store, { registrationWaiting: 86_400, auditRetention: 0 }, pino({ level: 'silent' })).stop(),
  ).resolves.toBeUndefined();
});
