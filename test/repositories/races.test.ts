// Uses codes and refresh tokens many times at once, on two instances over one database: only a race shows these faults.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, obtainCode, obtainTokens, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
});
afterAll(() => service?.stop());

const instance = (index: number) => service.instances[index % 2]!;

/** Sends `count` requests at once, in turn to both instances. */
const atOnce = (count: number, send: (base: string, index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(instance(index), index)));

function sort(answers: Answer[]): { good: Answer[]; refused: Answer[] } {
  const good = answers.filter((answer) => answer.status === 200);
  const refused = answers.filter((answer) => answer.status !== 200);
  for (const answer of refused) expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  return { good, refused };
}

describe('an authorization code', () => {
  test('200 redemptions at once give exactly one success and no server error (decisions section 4, security F1)', async () => {
    const client = await service.createClient();
    const code = await obtainCode(service, client, await service.createUser());
    const { good, refused } = sort(await atOnce(200, (base) => redeem(base, client, code)));
    expect(good).toHaveLength(1);
    expect(refused).toHaveLength(199);
  });

  test('40 users who redeem and refresh at once each get tokens of their own session, and refusals affect no other user (security R14)', async () => {
    const client = await service.createClient();
    const signIns: { user: TestUser; code: string }[] = [];
    // one after the other: 40 password hashes at once would keep a slow machine from everything else
    for (let count = 0; count < 40; count++) {
      const user = await service.createUser();
      signIns.push({ user, code: await obtainCode(service, client, user) });
    }
    const wrong = { redirect_uri: 'https://rp.example.com/other' };
    const isRefused = (index: number) => index % 7 === 3;
    const redeemed = await atOnce(40, (base, index) =>
      redeem(base, client, signIns[index]!.code, isRefused(index) ? wrong : {}),
    );
    expect(redeemed.map(({ status }) => status)).toEqual(signIns.map((_, index) => (isRefused(index) ? 400 : 200)));
    const refreshed = await atOnce(40, (base, index) =>
      refresh(base, client, (redeemed[index]!.body['refresh_token'] as string | undefined) ?? 'none'),
    );
    for (const [index, { user }] of signIns.entries()) {
      if (isRefused(index)) {
        expect(refreshed[index]).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
        continue;
      }
      for (const { body } of [redeemed[index]!, refreshed[index]!]) {
        expect(decodeJwt(body['id_token'] as string)).toMatchObject({ sub: user.sub });
        const answer = await userinfo(instance(index), body['access_token'] as string);
        expect(answer).toMatchObject({ status: 200, body: { sub: user.sub } });
      }
    }
  });

  test('20 rounds of 50 redemptions each give exactly one success (security R15)', async () => {
    const client = await service.createClient();
    const user = await service.createUser();
    for (let round = 0; round < 20; round++) {
      const code = await obtainCode(service, client, user);
      const { good } = sort(await atOnce(50, (base) => redeem(base, client, code)));
      expect(good, `round ${round}`).toHaveLength(1);
    }
  });

  test('at most one of concurrent right and wrong attempts succeeds, and five wrong ones invalidate the code (security R16)', async () => {
    const client = await service.createClient();
    const user = await service.createUser();
    for (let round = 0; round < 10; round++) {
      const code = await obtainCode(service, client, user);
      const wrong = { redirect_uri: 'https://rp.example.com/other' };
      const answers = await atOnce(20, (base, index) => redeem(base, client, code, index % 2 ? wrong : {}));
      const { good } = sort(answers);
      expect(good.length, `round ${round}`).toBeLessThanOrEqual(1);
      expect(sort([await redeem(instance(round), client, code)]).good).toHaveLength(0);
    }
  });

  test('100 wrong attempts at once count as five: the code is invalid and no request fails otherwise (decisions section 4)', async () => {
    const client = await service.createClient();
    const code = await obtainCode(service, client, await service.createUser());
    const { good } = sort(
      await atOnce(100, (base) => redeem(base, client, code, { redirect_uri: 'https://rp.example.com/other' })),
    );
    expect(good).toHaveLength(0);
    sort([await redeem(service.issuer, client, code)]);
    expect(
      await service.database.sql('SELECT 1 FROM client_sessions WHERE client_id = $1', [client.clientId]),
    ).toHaveLength(0);
  });
});

describe('a refresh token', () => {
  test('200 uses at once leave one family with at most six live successors (decisions section 4, security R32)', async () => {
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, await service.createUser());
    const { good } = sort(await atOnce(200, (base) => refresh(base, client, tokens.refresh_token)));
    expect(good).toHaveLength(6);
    const successors = good.map((answer) => answer.body['refresh_token'] as string);
    expect(new Set(successors).size).toBe(6);
    const [live] = await service.database.sql<{ families: number; unspent: number }>(
      `SELECT count(DISTINCT cs.id)::int AS families, count(*) FILTER (WHERE rt.spent_at IS NULL)::int AS unspent
         FROM refresh_tokens rt JOIN client_sessions cs ON cs.id = rt.client_session_id WHERE cs.client_id = $1`,
      [client.clientId],
    );
    expect(live).toEqual({ families: 1, unspent: 6 });
    for (const answer of good)
      expect(await userinfo(instance(1), answer.body['access_token'] as string)).toMatchObject({ status: 200 });
    // every successor is a different token
    for (const token of successors) expect(await refresh(instance(0), client, token)).toMatchObject({ status: 200 });
  });

  test('five uses at once all succeed (security F2)', async () => {
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, await service.createUser());
    for (let round = 0, token = tokens.refresh_token; round < 20; round++) {
      const { good } = sort(await atOnce(5, (base) => refresh(base, client, token)));
      expect(good).toHaveLength(5);
      token = good.at(-1)!.body['refresh_token'] as string;
    }
  });

  test('50 uses at once after the grace period all fail, and nothing of the family lives (security R33)', async () => {
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, await service.createUser());
    const first = await refresh(service.issuer, client, tokens.refresh_token);
    await afterTheGrace(service, client);
    const { good } = sort(
      await atOnce(50, (base, index) =>
        refresh(base, client, index % 5 === 0 ? (first.body['refresh_token'] as string) : tokens.refresh_token),
      ),
    );
    await expectDead(
      client,
      [tokens.access_token, first.body['access_token'] as string, ...good.map(accessToken)],
      [tokens.refresh_token, first.body['refresh_token'] as string, ...good.map(refreshToken)],
    );
  });

  test('two lines used at once after the grace period end the family, in 20 rounds (security R121)', async () => {
    const client = await service.createClient();
    const user = await service.createUser();
    const agent = new UserAgent(service);
    for (let round = 0; round < 20; round++) {
      const tokens = await obtainTokens(service, client, user, {}, agent);
      const lines = [
        await refresh(instance(0), client, tokens.refresh_token),
        await refresh(instance(1), client, tokens.refresh_token),
      ].map(refreshToken);
      await afterTheGrace(service, client);
      const count = [4, 50][round % 2]!;
      // half of the uses of each line, on both instances
      const { good } = sort(await atOnce(count, (base, index) => refresh(base, client, lines[(index >> 1) % 2]!)));
      expect(good.length).toBeGreaterThanOrEqual(1);
      expect(good.length).toBeLessThanOrEqual(6);
      await expectDead(client, [tokens.access_token, ...good.map(accessToken)], [...lines, ...good.map(refreshToken)]);
    }
  });

  test('50 uses of one line at once after the grace period end the other line, and nothing else (security R121, R32)', async () => {
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, await service.createUser());
    const other = await refresh(instance(0), client, tokens.refresh_token);
    const one = await refresh(instance(1), client, tokens.refresh_token);
    await afterTheGrace(service, client);
    const { good } = sort(await atOnce(50, (base) => refresh(base, client, refreshToken(one))));
    expect(good).toHaveLength(6);
    for (const token of good.map(refreshToken))
      expect(await refresh(instance(0), client, token)).toMatchObject({ status: 200 });
    await afterTheGrace(service, client);
    sort([await refresh(instance(1), client, refreshToken(other))]);
    await expectDead(client, [tokens.access_token, ...good.map(accessToken)], good.map(refreshToken));
  });
});

/** Some 200 races in all, as security F3 requires. */
const racesEach = 34;

/** The operations that end an authorization; each round has a new client, and a user who is signed in in a browser. */
const ends: Record<string, (round: Round) => Promise<unknown>> = {
  'a logout': async ({ agent }) => {
    const confirmation = await agent.get('/logout');
    return () => agent.submit(confirmation, { decision: 'sign-out' });
  },
  'disabling the client':
    async ({ client }) =>
    () =>
      service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [client.clientId]),
  'deleting the client':
    async ({ client }) =>
    () =>
      fetch(`${instance(1)}/register/${client.clientId}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${client.registrationAccessToken}` },
      }),
  'disabling the user':
    async ({ sub }) =>
    () =>
      service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [sub]),
  'deleting the user':
    async ({ sub }) =>
    () =>
      service.database.sql('DELETE FROM users WHERE sub = $1', [sub]),
  'withdrawing the grant':
    async ({ sub, client }) =>
    () =>
      service.store.grants.withdraw(sub, client.clientId),
};

interface Round {
  client: TestClient;
  sub: string;
  agent: UserAgent;
}

describe.each(Object.entries(ends))('a refresh concurrent with %s', (_name, prepare) => {
  test('the races leave no active token, and cause no server error (security R35, F3)', async () => {
    // a user costs a password hash, so each takes part in several rounds, unless a round ends the user
    let user = await service.createUser();
    let agent = new UserAgent(service);
    for (let round = 0; round < racesEach; round++) {
      const client = await service.createClient({}, { firstParty: true });
      const [known] = await service.database.sql(`SELECT 1 FROM users WHERE sub = $1 AND status = 'enabled'`, [
        user.sub,
      ]);
      if (!known) {
        user = await service.createUser();
        agent = new UserAgent(service);
      }
      if (round % 10 === 9) agent = new UserAgent(service);
      const tokens = await obtainTokens(service, client, user, {}, agent);
      const end = (await prepare({ client, sub: user.sub, agent })) as () => Promise<unknown>;
      const answers: Answer[] = [];
      const use = async (base: string) => void answers.push(await refresh(base, client, tokens.refresh_token));
      const before = round % 5;
      await Promise.all([
        ...Array.from({ length: before }, (_, index) => use(instance(index))),
        end(),
        ...Array.from({ length: 4 - before }, (_, index) => use(instance(index + 1))),
      ]);
      for (const answer of answers)
        expect(answer.status, `round ${round}: ${JSON.stringify(answer.body)}`).toBeLessThan(500);
      const good = answers.filter((answer) => answer.status === 200);
      await expectDead(
        client,
        [tokens.access_token, ...good.map(accessToken)],
        [tokens.refresh_token, ...good.map(refreshToken)],
      );
    }
  });
});

const accessToken = (answer: Answer) => answer.body['access_token'] as string;
const refreshToken = (answer: Answer) => answer.body['refresh_token'] as string;

/** Moves the first use of every spent token of the client out of the grace period. */
async function afterTheGrace(of: TestService, client: TestClient): Promise<void> {
  await of.database.sql(
    `UPDATE refresh_tokens rt SET spent_at = spent_at - interval '11 seconds' FROM client_sessions cs
      WHERE cs.id = rt.client_session_id AND cs.client_id = $1 AND rt.spent_at IS NOT NULL`,
    [client.clientId],
  );
}

async function expectDead(client: TestClient, accessTokens: string[], refreshTokens: string[]): Promise<void> {
  for (const [index, token] of accessTokens.entries()) {
    expect(await userinfo(instance(index), token)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  }
  for (const [index, token] of refreshTokens.entries()) {
    const answer = await refresh(instance(index), client, token);
    expect([400, 401]).toContain(answer.status);
  }
  const left = await service.database.sql(
    `SELECT 1 FROM client_sessions cs WHERE cs.client_id = $1 UNION ALL SELECT 1 FROM access_tokens t WHERE t.client_id = $1`,
    [client.clientId],
  );
  expect(left).toHaveLength(0);
}
