// GET /jwks publishes public members only, and keys rotate while two instances issue and check tokens.
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, eventually, obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

type Key = { kid: string; alg: string; state: string; expires_at?: string };
const algorithms = ['ES256', 'EdDSA', 'PS256', 'RS256'];

const jwks = async (base: string) => (await call(`${base}/jwks`)).body as unknown as JSONWebKeySet;
const keysOf = async (target: TestService): Promise<Key[]> => {
  const { stdout } = await runCommand(target, ['keys', 'list', '--json']);
  return JSON.parse(stdout) as Key[];
};

describe('the key set', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service?.stop());

  test('contains public members only, with one key and one kid for each algorithm (RFC 7517 4, security A128, R94)', async () => {
    const answer = await call(`${service.issuer}/jwks`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/(jwk-set\+)?json/);
    expect(Object.keys(answer.body)).toEqual(['keys']);
    const { keys } = answer.body as unknown as JSONWebKeySet;
    expect(keys.map((key) => key.alg).sort()).toEqual(algorithms);
    expect(new Set(keys.map((key) => key.kid)).size).toBe(4);
    const members: Record<string, string[]> = { RSA: ['n', 'e'], EC: ['crv', 'x', 'y'], OKP: ['crv', 'x'] };
    for (const key of keys)
      expect(Object.keys(key).sort()).toEqual(['kty', 'kid', 'alg', 'use', ...members[key.kty!]!].sort());
    for (const key of keys) expect(key.use).toBe('sig');
    for (const key of keys.filter((each) => each.kty === 'RSA'))
      expect(Buffer.from(key.n!, 'base64url')).toHaveLength(256);
  });

  test('may be cached, and scripts of any origin may read it (security R97)', async () => {
    const answer = await call(`${service.issuer}/jwks`, { headers: { origin: 'https://app.example' } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
  });

  test('private keys are stored encrypted, each bound to its own row (security R29)', async () => {
    const rows = await service.database.sql<{ kid: string; sealed: Buffer }>(
      'SELECT kid, private_key_encrypted AS sealed FROM signing_keys ORDER BY kid',
    );
    for (const row of rows) expect(row.sealed.toString('latin1')).not.toMatch(/"d"|"kty"|PRIVATE/);
    await service.database.sql(
      `UPDATE signing_keys a SET private_key_encrypted = b.private_key_encrypted FROM signing_keys b WHERE a.alg = 'ES256' AND b.alg = 'EdDSA'`,
    );
    const { code, stdout } = await runCommand(service, ['keys', 'list', '--json']);
    expect(code).toBe(1);
    expect(stdout).toBe('');
  });
});

test('five instances that start at once on an empty database create one key set (security A128)', async () => {
  const service = await startTestService();
  try {
    await service.database.sql('DELETE FROM signing_keys');
    const started = await Promise.all(Array.from({ length: 5 }, () => runCommand(service, ['keys', 'list', '--json'])));
    for (const one of started) expect(one).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(started.map((one) => one.stdout)).size).toBe(1);
    expect(await service.database.sql('SELECT 1 FROM signing_keys')).toHaveLength(4);
  } finally {
    await service.stop();
  }
});

describe('a rotation', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService({ instances: 2, environment: withoutLimits });
  });
  afterEach(() => service?.stop());

  const published = (kids: string[]) =>
    Promise.all(
      service.instances.map((base) =>
        eventually(
          () => jwks(base),
          ({ keys }) => kids.every((kid) => keys.some((key) => key.kid === kid)),
        ),
      ),
    );
  /** Moves the times of all keys into the past. */
  const moveIntoPast = (seconds: number) =>
    service.database.sql(
      `UPDATE signing_keys SET active_at = active_at - make_interval(secs => $1), expires_at = expires_at - make_interval(secs => $1)`,
      [seconds],
    );

  test.each(['command', 'route'])(
    'by %s publishes the new keys at once, signs with them later, and keeps the old keys until their tokens have expired (security R95)',
    async (way) => {
      const before = await keysOf(service);
      if (way === 'command') expect(await runCommand(service, ['keys', 'rotate'])).toMatchObject({ code: 0 });
      else {
        const answer = await call(`${service.issuer}/admin/api/keys`, {
          method: 'POST',
          token: await adminToken(service),
          body: {},
        });
        expect(answer).toMatchObject({ status: 201 });
      }
      const during = await keysOf(service);
      const fresh = during.filter((key) => !before.some((old) => old.kid === key.kid));
      expect(fresh.map((key) => key.alg).sort()).toEqual(algorithms);
      for (const key of fresh) expect(key.state).toBe('waiting');
      await published(during.map((key) => key.kid));

      const client = await service.createClient();
      const user = await service.createUser();
      const kidOf = async () => decodeProtectedHeader((await obtainTokens(service, client, user)).id_token).kid;
      const old = before.find((key) => key.alg === 'RS256')!.kid;
      const next = fresh.find((key) => key.alg === 'RS256')!.kid;
      expect(await kidOf()).toBe(old);
      await moveIntoPast(601);
      await eventually(kidOf, (kid) => kid === next);
      for (const base of service.instances) expect((await jwks(base)).keys).toHaveLength(8);
      await moveIntoPast(600 + 3600);
      for (const base of service.instances)
        await eventually(
          () => jwks(base),
          ({ keys }) => keys.length === 4 && keys.every((key) => key.kid !== old),
        );
    },
  );

  test('under load invalidates no old or new token for a client that reads the key set from either instance (security F18)', async () => {
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, await service.createUser());
    let current = tokens.refresh_token;
    let rotating = true;
    let checked = 0;
    const all = [tokens.id_token];
    const work = (async () => {
      while (rotating) {
        const base = service.instances[checked % 2]!;
        const answer = await refresh(base, client, current);
        expect(answer.status).toBe(200);
        current = answer.body['refresh_token'] as string;
        all.push(answer.body['id_token'] as string);
        // a relying party reads the key set again for an unknown kid
        const keys = createLocalJWKSet(await jwks(service.instances[(checked + 1) % 2]!));
        await jwtVerify(all.at(-1)!, keys, { issuer: service.issuer, audience: client.clientId });
        checked++;
      }
    })();
    const countKids = () => new Set(all.map((token) => decodeProtectedHeader(token).kid)).size;
    try {
      expect(await runCommand(service, ['keys', 'rotate', '--immediate'])).toMatchObject({ code: 0 });
      await eventually(
        async () => countKids(),
        (kids) => kids === 2,
      );
      expect(await runCommand(service, ['keys', 'rotate'])).toMatchObject({ code: 0 });
      await published((await keysOf(service)).map((key) => key.kid));
      await moveIntoPast(601);
      await eventually(
        async () => countKids(),
        (kids) => kids === 3,
      );
    } finally {
      rotating = false;
      await work;
    }
    const set = createLocalJWKSet(await jwks(service.issuer));
    for (const token of all) await jwtVerify(token, set, { issuer: service.issuer });
  });

  test('that is immediate replaces a waiting key, and the signing key stays published (security R95)', async () => {
    await runCommand(service, ['keys', 'rotate']);
    await runCommand(service, ['keys', 'rotate', '--immediate']);
    await moveIntoPast(3);
    const signing = async () => (await keysOf(service)).filter((key) => key.state === 'signing');
    const now = await signing();
    expect(now.map((key) => key.alg).sort()).toEqual(algorithms);
    await moveIntoPast(700);
    const later = await signing();
    expect(later.map((key) => key.kid).sort()).toEqual(now.map((key) => key.kid).sort());
    for (const key of later) expect(key.expires_at).toBeUndefined();
  });

  test('keeps an old key for as long as the longest-lived ID Token that it signed (security R95)', async () => {
    const client = await service.createClient();
    await service.database.sql('UPDATE clients SET id_token_lifetime = 86400 WHERE client_id = $1', [client.clientId]);
    const { id_token: token } = await obtainTokens(service, client, await service.createUser());
    await runCommand(service, ['keys', 'rotate', '--immediate']);
    await moveIntoPast(86_000);
    await runCommand(service, ['keys', 'list']);
    const { kid } = decodeProtectedHeader(token);
    expect((await keysOf(service)).map((key) => key.kid)).toContain(kid);
  });
});
