// POST /token with grant_type refresh_token, where a spent token comes back: which of its successors live on after the grace.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { obtainTokens, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { opaqueTokenHash } from '../../src/tokens/opaque-token.ts';

let service: TestService;
let user: { sub: string; username: string; password: string };
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: { LIMIT_CODES_PER_SESSION: '0' } });
  user = await service.createUser();
  agent = new UserAgent(service);
});
afterAll(() => service?.stop());

/**
 * A family of tokens and what happens to it, step by step. The first token is `r`.
 *
 * - `x>y`: a use of x succeeds, and its successor is y from now on
 * - `x~`: a use of x fails, and changes nothing
 * - `x!`: a use of x fails as reuse, and ends the family
 * - `9s`: so many seconds pass
 */
async function family() {
  const client = await service.createClient();
  const first = await obtainTokens(service, client, user, {}, agent);
  const refreshTokens = new Map([['r', first.refresh_token]]);
  const accessTokens = [first.access_token];
  const use = (name: string) => refresh(service.issuer, client, refreshTokens.get(name)!);
  const inFamily = `client_session_id IN (SELECT id FROM client_sessions WHERE client_id = $1)`;

  const step = async (text: string): Promise<void> => {
    if (text.endsWith('s')) {
      await service.database.sql(
        `UPDATE refresh_tokens SET spent_at = spent_at - make_interval(secs => $2) WHERE ${inFamily} AND spent_at IS NOT NULL`,
        [client.clientId, Number.parseInt(text, 10)],
      );
      return;
    }
    const [, name, sign, successor] = /^(\w+)([>~!])(\w*)$/.exec(text)!;
    const { status, body } = await use(name!);
    if (sign === '>') {
      expect(status, text).toBe(200);
      refreshTokens.set(successor!, body['refresh_token'] as string);
      accessTokens.push(body['access_token'] as string);
      return;
    }
    expect({ status, error: body['error'] }, text).toEqual({ status: 400, error: 'invalid_grant' });
    const reuses = await service.database.sql(
      `SELECT outcome, sub FROM audit_events WHERE type = 'refresh_token.reused' AND client_id = $1`,
      [client.clientId],
    );
    expect(reuses, text).toEqual(sign === '!' ? [{ outcome: 'failure', sub: user.sub }] : []);
    if (sign === '~') return;
    for (const other of refreshTokens.keys()) expect((await use(other)).status, other).toBe(400);
    for (const token of accessTokens) expect((await userinfo(service.issuer, token)).status).toBe(401);
  };
  return {
    client,
    inFamily,
    refreshTokens,
    accessTokens,
    run: async (course: string) => {
      for (const text of course.split(' ')) await step(text);
    },
  };
}

describe('of a spent refresh token that came back within the grace', () => {
  test.each([
    ['both lines live within the grace', 'r>a r>b a>c b>d c>e d>f'],
    ['the line used first after the grace survives', 'r>a r>b 11s b>c c>d 11s d>e 60s e>f'],
    ['the line used second after the grace ends the family', 'r>a r>b 11s b>c a!'],
    ['the line of the first use survives as well as that of a later one', 'r>a r>b 11s a>c b!'],
    ['the grace counts from the first use, and not from the later ones', 'r>a 9s r>b 2s a>c b!'],
    ['a line that was used within the grace has not yet won', 'r>a r>b a>c 11s b>d c!'],
    ['the end of a line that was rotated within the grace belongs to it', 'r>a r>b a>c c>d 11s d>e b!'],
    ['a line that was rotated within the grace ends as a whole', 'r>a r>b a>c c>d 11s b>e d!'],
    ['a spent token of an ended line ends the family within its own grace', 'r>a r>b 6s a>c 6s b>d a!'],
    ['a spent token of the surviving line may come back within its own grace', 'r>a r>b 6s a>c 6s a>d c>e d>f'],
    ['a token that comes back after the grace of its parent keeps its line', 'r>a r>b 6s a>c 6s a>d b!'],
    ['six lines become one', 'r>a r>b r>c r>d r>e r>f r~ 11s d>g g>h 11s h>i'],
    ['each of six lines but one is ended', 'r>a r>b r>c r>d r>e r>f r~ 11s d>g f!'],
    ['a line that divides survives with both parts, within their grace', 'r>a r>b 6s a>c a>d 6s c>e d>f'],
    ['a line that divides ends the other one', 'r>a r>b 6s a>c a>d 6s c>e b!'],
    ['a line that divides becomes one after its own grace', 'r>a r>b 6s a>c a>d 6s c>e 6s d>f e!'],
    ['divided lines become one at once where all grace is over', 'r>a r>b a>c a>d b>e b>f 11s e>g f!'],
    ['divided lines of others end, too', 'r>a r>b a>c a>d b>e b>f 11s e>g d!'],
    ['the surviving line may divide again, and again one survives', 'r>a r>b 11s b>c b>d 11s d>e e>f e>g 11s g>h f!'],
    ['an ended line stays ended, however often the other one is rotated', 'r>a r>b 11s b>c 11s c>d 11s d>e 11s e>f a!'],
    [
      'a client that lost an answer and goes on with the last one notices nothing',
      'r>a r>b 11s b>c 60s c>d c>e 60s e>f',
    ],
    ['the token that was forked ends the family after its grace', 'r>a r>b 11s b>c r!'],
    ['a token before the fork ends the family', 'r>a 11s a>b a>c 11s c>d r!'],
  ])('%s (security R121, R32, R33): %s', async (_what, course) => {
    await (await family()).run(course);
  });

  test('an ended line is known as ended although its own life is over (security R121, R34)', async () => {
    const { client, inFamily, run } = await family();
    await run('r>a r>b 11s b>c');
    await service.database.sql(
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 day' WHERE ${inFamily} AND spent_at IS NULL AND generation = 2`,
      [client.clientId],
    );
    await run('a!');
  });

  test('a token that expired within the grace is no use, and ends no other line (security R121)', async () => {
    const { client, inFamily, run } = await family();
    await run('r>a r>b a>c');
    await service.database.sql(
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 day' WHERE ${inFamily} AND spent_at IS NULL AND generation = 2`,
      [client.clientId],
    );
    await run('11s b~ c>d');
  });

  test('access tokens of an ended line live until their end, and no longer than the family (security R121, R33)', async () => {
    const { accessTokens, run } = await family();
    await run('r>a r>b 11s b>c');
    for (const token of accessTokens) expect((await userinfo(service.issuer, token)).status).toBe(200);
    await run('a!');
  });

  test('lines from before lines were counted become one with the first use (security R121)', async () => {
    const { client, inFamily, run } = await family();
    await run('r>a r>b a>c');
    await service.database.sql(`UPDATE refresh_tokens SET parent = NULL WHERE ${inFamily}`, [client.clientId]);
    await service.database.sql('UPDATE client_sessions SET line = NULL WHERE client_id = $1', [client.clientId]);
    await run('11s c>d d>e 11s e>f b!');
  });
});

test('a use that does not rotate ends the other lines as well (security R121, R31)', async () => {
  const { client, refreshTokens, run } = await family();
  await run('r>a r>b 11s');
  // as with REFRESH_TOKEN_ROTATION=public, which an operator set meanwhile
  for (let count = 0; count < 3; count++) {
    const used = await service.store.refreshTokens.rotate({
      tokenHash: opaqueTokenHash('refresh_token', refreshTokens.get('b')!)!,
      clientId: client.clientId,
      scope: undefined,
      resource: undefined,
      rotate: false,
      accessTokenHash: randomBytes(32),
      refreshTokenHash: randomBytes(32),
      accessTokenLifetime: 600,
      refreshTokenLifetime: 600,
      refreshTokenAbsoluteLifetime: 600,
    });
    expect(used).toMatchObject({ rotated: false });
  }
  await run('a!');
});
