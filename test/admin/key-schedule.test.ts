// Signing keys are rotated by the schedule or on request, and withdrawn, on two instances (security R95).
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { type KeyAlgorithm, keyAlgorithms, makeKeyPair } from '../../src/tokens/key-ring.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const day = 86_400;
type Key = { kid: string; alg: string; state: string; expires_at?: string };

let service: TestService;
let token: string;
async function start(environment: Record<string, string> = {}): Promise<void> {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, ...environment } });
  token = await adminToken(service);
}
afterEach(() => service?.stop());

const jwks = async (base: string) => (await call(`${base}/jwks`)).body as unknown as JSONWebKeySet;
const keysOf = async () => (await call(`${service.issuer}/admin/api/keys`, { token })).body['keys'] as unknown as Key[];
const rotate = (algorithms: string[]) => call(`${service.issuer}/admin/api/keys`, { token, body: { algorithms } });
const rotations = () =>
  service.database.sql<{ actor: string; detail: { kids: string[] } }>(
    `SELECT actor, detail FROM audit_events WHERE type = 'keys.rotated' ORDER BY id`,
  );
/** Waits until every instance publishes keys that satisfy the condition. */
const published = (satisfies: (kids: string[]) => boolean) =>
  Promise.all(
    service.instances.map((base) =>
      eventually(
        () => jwks(base),
        ({ keys }) => satisfies(keys.map((key) => key.kid!)),
      ),
    ),
  );
/** Moves the creation of keys into the past; the instances are notified as of any change. */
const age = (seconds: number, alg = '%') =>
  service.database.sql(
    `UPDATE signing_keys SET created_at = created_at - make_interval(secs => $1) WHERE alg LIKE $2`,
    [seconds, alg],
  );

describe('the schedule', () => {
  test('the schedule makes new keys once the newest are old enough, on one of two instances, and keeps the old ones (security R95)', async () => {
    await start();
    const before = await keysOf();
    await age(90 * day - 60);
    await published((kids) => kids.length === 4);
    expect(await rotations()).toEqual([]);
    await age(120);
    await published((kids) => kids.length === 8);
    const during = await keysOf();
    for (const old of before) expect(during.find((key) => key.kid === old.kid)).toMatchObject({ state: 'signing' });
    const fresh = during.filter((key) => !before.some((old) => old.kid === key.kid));
    expect(fresh.map((key) => key.state)).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
    const events = await rotations();
    expect(events).toEqual([{ actor: 'schedule', detail: { kids: expect.any(Array) } }]);
    expect(events[0]!.detail.kids.sort()).toEqual(fresh.map((key) => key.kid).sort());
    // the notifications of the rotation cause no second one
    await age(0);
    await published((kids) => kids.length === 8);
    expect(await rotations()).toHaveLength(1);
    expect(service.logs.filter((line) => line['event'] === 'keys.rotated')).toHaveLength(1);
  });

  test("the schedule rotates each algorithm separately: a key that was made by hand starts its algorithm's interval anew (security R95)", async () => {
    await start({ KEY_ROTATION_INTERVAL: '3600' });
    await age(3000);
    expect(await rotate(['RS256'])).toMatchObject({ status: 201 });
    await age(700);
    await published((kids) => kids.length === 8);
    const [byHand, scheduled] = await rotations();
    expect(byHand!.actor).not.toBe('schedule');
    expect(scheduled!.detail.kids).toHaveLength(3);
    expect((await keysOf()).filter((key) => key.alg === 'RS256')).toHaveLength(2);
  });

  test('the schedule can be switched off (security R95)', async () => {
    await start({ KEY_ROTATION_INTERVAL: '0' });
    await age(4000 * day);
    // both instances see this change after that one
    await rotate(['ES256']);
    await published((kids) => kids.length === 5);
    expect(await rotations()).toHaveLength(1);
  });

  test('an instance that starts makes the keys that came due while none ran (security R95)', async () => {
    await start({ KEY_ROTATION_INTERVAL: '0' });
    await age(91 * day);
    await whileInstanceRuns({}, () => published((kids) => kids.length === 8));
    expect(await rotations()).toMatchObject([{ actor: 'schedule' }]);
  });

  test('the schedule holds no lock on the keys while it generates new ones (security R95)', async () => {
    await start({ KEY_ROTATION_INTERVAL: '0' });
    await age(91 * day);
    const made: KeyAlgorithm[] = [];
    const newKeyPair = async (alg: KeyAlgorithm) => {
      await service.database.sql('DO $$ BEGIN LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE NOWAIT; END $$');
      made.push(alg);
      return makeKeyPair(alg);
    };
    await whileInstanceRuns({ newKeyPair }, () => published((kids) => kids.length === 8));
    expect(made.sort()).toEqual([...keyAlgorithms].sort());
  });
});

/** Does the work while one more instance runs, which follows the schedule. */
async function whileInstanceRuns(
  options: Pick<Parameters<typeof buildApp>[0], 'newKeyPair'>,
  work: () => Promise<unknown>,
): Promise<void> {
  const { connection, url } = service.database;
  const database = openDatabase({ connection, poolSize: 4, onError: () => undefined });
  const app = await buildApp({
    config: loadConfig({ DATABASE_URL: url, SECRET_KEY: service.secretKey }),
    database,
    secretKeys: [service.secretKey],
    logger: pino({ level: 'silent' }),
    ...options,
  });
  try {
    await work();
  } finally {
    await app.close();
    await database.close();
  }
}

describe('a rotation of some algorithms', () => {
  beforeEach(async () => {
    await start();
  });

  test('a rotation of some algorithms makes keys of only those, by command and by admin route (decisions section 8)', async () => {
    const { stdout } = await runCommand(service, ['keys', 'rotate', '--alg', 'RS256', '--alg', 'ES256', '--json']);
    const waiting = (keys: Key[]) => keys.filter((key) => key.state === 'waiting').map((key) => key.alg);
    expect(waiting(JSON.parse(stdout) as Key[]).sort()).toEqual(['ES256', 'RS256']);
    const answer = await rotate(['PS256', 'PS256']);
    expect(answer.status).toBe(201);
    expect(waiting(answer.body['keys'] as Key[]).sort()).toEqual(['ES256', 'PS256', 'RS256']);
  });

  test('a rotation refuses an unknown algorithm (decisions section 8)', async () => {
    expect(await runCommand(service, ['keys', 'rotate', '--alg', 'HS256'])).toMatchObject({
      code: 1,
      stderr: '--alg must be one of: RS256, PS256, ES256, EdDSA.\n',
    });
    for (const algorithms of [['HS256'], [], 'RS256'])
      expect(await call(`${service.issuer}/admin/api/keys`, { token, body: { algorithms } })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    expect(await rotations()).toEqual([]);
  });
});

describe('withdrawing a key', () => {
  beforeEach(async () => {
    await start();
  });
  const withdraw = (kid: string, by = token) =>
    call(`${service.issuer}/admin/api/keys/${encodeURIComponent(kid)}`, { method: 'DELETE', token: by });

  test('a leaked key that was replaced at once leaves the key set of both instances, and its signatures are refused (security R95)', async () => {
    const client = await service.createClient();
    const user = await service.createUser();
    const agent = new UserAgent(service);
    const { id_token: old } = await obtainTokens(service, client, user, {}, agent);
    const { kid, alg } = decodeProtectedHeader(old);
    const silent = async () =>
      responseParameters(
        await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none', id_token_hint: old })),
      );
    expect(await silent()).toHaveProperty('code');
    expect(await runCommand(service, ['keys', 'rotate', '--immediate', '--alg', alg!])).toMatchObject({ code: 0 });
    // at once, since the command waited until the new key signs
    expect(await runCommand(service, ['keys', 'withdraw', kid!])).toMatchObject({ code: 0, stderr: '' });
    await published((kids) => !kids.includes(kid!));
    expect(await silent()).toMatchObject({ error: 'invalid_request' });
    const introspected = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ token: old }),
    });
    expect(await introspected.json()).toEqual({ active: false });
    const { id_token: fresh } = await obtainTokens(service, client, user, {}, agent);
    expect(decodeProtectedHeader(fresh).kid).not.toBe(kid);
    for (const base of service.instances) await jwtVerify(fresh, createLocalJWKSet(await jwks(base)));
    const events = await service.database.sql(`SELECT actor, detail FROM audit_events WHERE type = 'keys.withdrawn'`);
    expect(events).toEqual([{ actor: 'command line', detail: { kid, alg } }]);
  });

  test('the only signing key of an algorithm cannot be withdrawn (security R95)', async () => {
    const [key] = await keysOf();
    expect(await withdraw(key!.kid)).toMatchObject({
      status: 409,
      body: { error: 'conflict', error_description: expect.stringContaining(key!.alg) },
    });
    await rotate([key!.alg]);
    expect(await withdraw(key!.kid)).toMatchObject({ status: 409 });
    await published((kids) => kids.includes(key!.kid));
  });

  test('a key that does not sign yet can be withdrawn, and its predecessor then has no end (security R95)', async () => {
    const before = await keysOf();
    await rotate(['EdDSA']);
    const during = await keysOf();
    const waiting = during.find((key) => key.state === 'waiting')!;
    const predecessor = before.find((key) => key.alg === 'EdDSA')!;
    expect(during.find((key) => key.kid === predecessor.kid)!.expires_at).toEqual(expect.any(String));
    expect(await withdraw(waiting.kid)).toMatchObject({ status: 204 });
    await published((kids) => !kids.includes(waiting.kid));
    expect(await keysOf()).toEqual(before);
  });

  test('a key is withdrawn by its complete kid, by an administrator (decisions section 8)', async () => {
    // a kid that begins with a dash would stay the same below
    const key = (await keysOf()).find(({ kid }) => !kid.startsWith('-'));
    for (const kid of [key!.kid.slice(1), `-${key!.kid.slice(1)}`, 'x'.repeat(64)]) {
      expect(await withdraw(kid)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
    const unknown = await runCommand(service, ['keys', 'withdraw', `-${key!.kid.slice(1)}`]);
    expect(unknown).toMatchObject({ code: 1, stderr: 'There is no such key.\n' });
    expect(await withdraw(key!.kid, 'x')).toMatchObject({ status: 401 });
  });
});
