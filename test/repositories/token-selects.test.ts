// Selects and issues the access tokens of many users at the same time, on two instances: each request gets only its own data.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStore } from '../../src/repositories/store.ts';
import { openDatabase } from '../../src/database/database.ts';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { call, eventually, obtainTokens, userinfo, withoutLimits, unbound } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let clients: TestClient[];
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  const grants = ['authorization_code', 'client_credentials'];
  clients = await Promise.all(
    ['admin', 'metrics', 'admin metrics'].map((own) =>
      service.createClient({ grant_types: grants, scope: `openid profile ${own}` }),
    ),
  );
});
afterAll(() => service?.stop());

const instance = (index: number) => service.instances[index % 2]!;
const range = (length: number) => Array.from({ length }, (_, index) => index);

async function introspect(base: string, caller: TestClient, token: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${base}/introspect`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    headers: { authorization: caller.basic },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

interface Sample {
  token: string;
  hash: Buffer;
  client: TestClient;
  sub: string;
  session: string;
  /** Seconds since 1970: no two are the same. */
  expires: number;
}

type Family = Pick<Sample, 'client' | 'sub' | 'session'> & { sid: string; accessToken: string; idToken: string };
let families: Promise<Family[]> | undefined;
/** Of four users at three clients. */
async function makeFamilies(): Promise<Family[]> {
  const users = await Promise.all(range(4).map(() => service.createUser()));
  return Promise.all(
    users.flatMap((user) =>
      clients.map(async (client) => {
        const issued = await obtainTokens(service, client, user, { scope: 'openid profile' });
        const { extended_claims: claims } = await introspect(service.issuer, client, issued.access_token);
        const { sid } = claims as { sid: string };
        const [row] = await service.database.sql<{ id: string }>(
          'SELECT id FROM client_sessions WHERE sid = $1 AND client_id = $2',
          [sid, client.clientId],
        );
        const { access_token: accessToken, id_token: idToken } = issued;
        return { client, sub: user.sub, session: row!.id, sid, accessToken, idToken };
      }),
    ),
  );
}

/** Tokens with different times. */
async function makeTokens(count: number): Promise<Sample[]> {
  const made = await (families ??= makeFamilies());
  const begin = Math.floor(Date.now() / 1000) + 1000;
  const tokens = range(count).map((index) => ({
    ...newOpaqueToken('access_token'),
    ...made[index % made.length]!,
    expires: begin + index,
  }));
  await service.database.sql(
    `INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
     SELECT hash, session, to_timestamp(expires) FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS each (hash, session, expires)`,
    [tokens.map(({ hash }) => hash), tokens.map(({ session }) => session), tokens.map(({ expires }) => expires)],
  );
  return tokens;
}

test('hundreds of tokens introspected at once, live, expired, revoked and unknown, each get the right answer, with their own user and client (RFC 7662 2.2, security R30)', async () => {
  const tokens = await makeTokens(240);
  const expired = tokens.filter((_, index) => index % 8 === 1);
  const revoked = tokens.filter((_, index) => index % 8 === 2);
  const dead = new Set([...expired, ...revoked]);
  await service.database.sql(
    "UPDATE access_tokens SET issued_at = now() - interval '2 hours', expires_at = now() - interval '1 hour' WHERE token_hash = ANY ($1)",
    [expired.map(({ hash }) => hash)],
  );
  await Promise.all(
    revoked.map(async ({ client, token }, index) => {
      const headers = { authorization: client.basic };
      const body = new URLSearchParams({ token });
      expect((await fetch(`${instance(index)}/revoke`, { method: 'POST', body, headers })).status).toBe(200);
    }),
  );
  const each = [...tokens, ...tokens].map((sample, index) =>
    index % 9 === 0 ? { ...sample, token: newOpaqueToken('access_token').token, unknown: true } : sample,
  );
  await Promise.all(
    each.map(async (sample, index) => {
      const { client, token, sub, expires } = sample;
      const live = !('unknown' in sample) && !dead.has(sample);
      if (index % 3 === 0) {
        const { status, body } = await userinfo(instance(index), token);
        expect([status, body['sub']]).toEqual(live ? [200, sub] : [401, undefined]);
      } else {
        const answer = await introspect(instance(index), client, token);
        expect(answer).toEqual(
          live
            ? expect.objectContaining({ active: true, sub, exp: expires, client_id: client.clientId })
            : { active: false },
        );
      }
    }),
  );
});

test('a token that is revoked during a hundred introspections is dead for each that begins afterwards, on both instances (RFC 7009 2.1, security R30)', async () => {
  const tokens = await makeTokens(40);
  let running = true;
  const noise = range(12).map(async (index) => {
    for (let turn = index; running; turn++) {
      const { token, client } = tokens[turn % tokens.length]!;
      await introspect(instance(turn), client, token);
    }
  });
  try {
    for (const { token, client } of tokens.slice(0, 20)) {
      const headers = { authorization: client.basic };
      const before = range(4).map((index) => introspect(instance(index), client, token));
      await fetch(`${service.issuer}/revoke`, { method: 'POST', body: new URLSearchParams({ token }), headers });
      const after = await Promise.all(range(4).map((index) => introspect(instance(index), client, token)));
      expect(after).toEqual(Array(4).fill({ active: false }));
      await Promise.all(before);
    }
  } finally {
    running = false;
    await Promise.all(noise);
  }
});

test('ID Tokens and settings requested at once each belong to their own user and client (RFC 7662 2.2, specification 4.7)', async () => {
  const made = await (families ??= makeFamilies());
  const address = (base: string, { sub }: Family) => `${base}/user/${sub}/settings`;
  for (const [index, family] of made.entries()) {
    const body = { settings: { own: index } };
    await call(address(service.issuer, family), { method: 'PUT', token: family.accessToken, body });
  }
  await Promise.all(
    range(240).map(async (index) => {
      const place = index % made.length;
      const { client, sub, sid, idToken, accessToken } = made[place]!;
      const base = instance(index);
      expect((await call(address(base, made[place]!), { token: accessToken })).body).toMatchObject({
        settings: { own: place },
      });
      expect(await introspect(base, client, idToken)).toMatchObject({
        active: true,
        sub,
        client_id: client.clientId,
        extended_claims: { sid },
      });
    }),
  );
});

test('concurrent client credentials grants each get a token of the client that requests it (RFC 6749 4.4)', async () => {
  const issued = await Promise.all(
    range(120).map(async (index) => {
      const client = clients[index % clients.length]!;
      const { status, body } = await tokenRequest(instance(index), client, { grant_type: 'client_credentials' });
      expect(status).toBe(200);
      return { client, token: body['access_token'] as string };
    }),
  );
  expect(new Set(issued.map(({ token }) => token)).size).toBe(120);
  await Promise.all(
    issued.map(async ({ client, token }, index) => {
      const answer = await introspect(instance(index), client, token);
      const scope = client.metadata.scope.replace('openid profile ', '');
      expect(answer).toMatchObject({ active: true, client_id: client.clientId, sub: client.clientId, scope });
    }),
  );
});

test('the tokens of unknown and disabled clients among tokens stored at once are refused, and the others are stored (security R42)', async () => {
  const disabled = await service.createClient({}, { status: 'disabled' });
  const opened = openDatabase({ connection: service.database.connection, poolSize: 20, onError: () => undefined });
  try {
    const { accessTokens } = createStore(opened);
    const tokens = range(50).map((index) => ({
      tokenHash: index === 33 ? Buffer.alloc(31) : newOpaqueToken('access_token').hash,
      clientId: index % 7 === 0 ? disabled.clientId : index % 7 === 1 ? 'unknown' : clients[index % 3]!.clientId,
      scope: `s${index} "{}\\ 'x'`,
      lifetime: 1000 + index,
      audience: index % 2 === 0 ? undefined : [`https://rs.example/${index}?a="b",{c}\\`, 'NULL'],
      ...unbound,
    }));
    const results = await Promise.allSettled(tokens.map((token) => accessTokens.insertForClient(token)));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'refused'))).toEqual(
      range(50).map((index) => (index === 33 ? 'refused' : index % 7 > 1 ? 'stored' : 'disabled')),
    );
    const found = await Promise.all(tokens.map(({ tokenHash }) => accessTokens.find(tokenHash)));
    found.forEach((token, index) => {
      const { clientId, scope, lifetime, audience = [clientId] } = tokens[index]!;
      if (index === 33 || index % 7 <= 1) return expect(token).toBeUndefined();
      expect(token).toMatchObject({ clientId, scope, audience });
      expect((token!.expiresAt.getTime() - token!.issuedAt.getTime()) / 1000).toBe(lifetime);
    });
  } finally {
    await opened.close();
  }
});

test('batched selects use the index even if the table was small when they were planned, and has grown since (security R108)', async () => {
  const database = await createTestDatabase();
  const opened = openDatabase({ connection: database.connection, poolSize: 20, onError: () => undefined });
  try {
    const { accessTokens } = createStore(opened);
    const insert = (count: number) =>
      database.sql(
        `INSERT INTO access_tokens (token_hash, client_id, client_epoch, scope, expires_at)
         SELECT sha256(number::text::bytea), 'gone', 1, '', now() + interval '1 hour' FROM generate_series(1, $1) AS number
         ON CONFLICT DO NOTHING`,
        [count],
      );
    const askMany = () => Promise.all(range(60).map(() => accessTokens.find(newOpaqueToken('access_token').hash)));
    const scans = async () => {
      const [row] = await database.sql<{ whole: number; byIndex: number }>(
        `SELECT seq_scan::integer AS whole, idx_scan::integer AS "byIndex" FROM pg_stat_user_tables WHERE relname = 'access_tokens'`,
      );
      return row!;
    };
    await insert(1);
    await database.sql('ANALYZE access_tokens');
    await askMany();
    await insert(5_000);
    // a server reports its scans a second late
    const { byIndex, whole } = await scans();
    const after = await eventually(
      async () => (await askMany(), scans()),
      (now) => now.byIndex + now.whole > byIndex + whole + 100,
    );
    expect(after.whole).toBe(whole);
  } finally {
    await opened.close();
    await database.drop();
  }
});
