// POST /token with a spent refresh token decides which of its successors stay valid after the grace period.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { obtainTokens, refresh, userinfo, unbound } from '../helpers/grants.ts';
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
 * The refresh tokens of a client session, and what happens to them step by step. The first token is `r`.
 *
 * - `x>y`: a use of x succeeds and returns its successor y
 * - `x~`: a use of x fails without further effect
 * - `x!`: a use of x fails as reuse and ends the client session
 * - `9s`: nine seconds pass
 */
async function newClientSession() {
  const client = await service.createClient();
  const first = await obtainTokens(service, client, user, {}, agent);
  const refreshTokens = new Map([['r', first.refresh_token]]);
  const accessTokens = [first.access_token];
  const use = (name: string) => refresh(service.issuer, client, refreshTokens.get(name)!);
  const inSession = `client_session_id IN (SELECT id FROM client_sessions WHERE client_id = $1)`;

  const step = async (text: string): Promise<void> => {
    if (text.endsWith('s')) {
      await service.database.sql(
        `UPDATE refresh_tokens SET spent_at = spent_at - make_interval(secs => $2) WHERE ${inSession} AND spent_at IS NOT NULL`,
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
    inSession,
    refreshTokens,
    accessTokens,
    run: async (steps: string) => {
      for (const text of steps.split(' ')) await step(text);
    },
  };
}

describe('after a spent refresh token is used again within the grace period', () => {
  test.each([
    ['both lines are valid within the grace period', 'r>a r>b a>c b>d c>e d>f'],
    ['the line that is used first after the grace period stays valid', 'r>a r>b 11s b>c c>d 11s d>e 60s e>f'],
    ['the line that is used second after the grace period ends the client session', 'r>a r>b 11s b>c a!'],
    ['the line of the first use can stay valid as well as that of a later use', 'r>a r>b 11s a>c b!'],
    ['the grace period begins with the first use, not with later uses', 'r>a 9s r>b 2s a>c b!'],
    ['a line that is used within the grace period does not end the other', 'r>a r>b a>c 11s b>d c!'],
    [
      'the last token of a line that was rotated within the grace period belongs to the line',
      'r>a r>b a>c c>d 11s d>e b!',
    ],
    ['a line that was rotated within the grace period ends as a whole', 'r>a r>b a>c c>d 11s b>e d!'],
    ['a spent token of an ended line ends the client session within its own grace period', 'r>a r>b 6s a>c 6s b>d a!'],
    [
      'a spent token of the remaining line may be used again within its own grace period',
      'r>a r>b 6s a>c 6s a>d c>e d>f',
    ],
    ['a token that is used again after the grace period of its parent keeps its line', 'r>a r>b 6s a>c 6s a>d b!'],
    ['one of six lines stays valid', 'r>a r>b r>c r>d r>e r>f r~ 11s d>g g>h 11s h>i'],
    ['five of six lines end', 'r>a r>b r>c r>d r>e r>f r~ 11s d>g f!'],
    ['a line that forks stays valid with both branches, within their grace period', 'r>a r>b 6s a>c a>d 6s c>e d>f'],
    ['a line that forks ends the other line', 'r>a r>b 6s a>c a>d 6s c>e b!'],
    ['one branch of a forked line stays valid after its own grace period', 'r>a r>b 6s a>c a>d 6s c>e 6s d>f e!'],
    ['one branch of two forked lines stays valid after all grace periods', 'r>a r>b a>c a>d b>e b>f 11s e>g f!'],
    ['the branches of another forked line end, too', 'r>a r>b a>c a>d b>e b>f 11s e>g d!'],
    [
      'the remaining line may fork again, and one branch stays valid again',
      'r>a r>b 11s b>c b>d 11s d>e e>f e>g 11s g>h f!',
    ],
    [
      'an ended line stays ended, however often the other line is rotated',
      'r>a r>b 11s b>c 11s c>d 11s d>e 11s e>f a!',
    ],
    [
      'a client that lost a response and continues with the last token is not affected',
      'r>a r>b 11s b>c 60s c>d c>e 60s e>f',
    ],
    ['the token that was used twice ends the client session after its grace period', 'r>a r>b 11s b>c r!'],
    ['a token before the fork ends the client session', 'r>a 11s a>b a>c 11s c>d r!'],
  ])('%s (security R121, R32, R33): %s', async (_what, steps) => {
    await (await newClientSession()).run(steps);
  });

  test('an ended line is still recognized after its tokens have expired (security R121, R34)', async () => {
    const { client, inSession, run } = await newClientSession();
    await run('r>a r>b 11s b>c');
    await service.database.sql(
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 day' WHERE ${inSession} AND spent_at IS NULL AND generation = 2`,
      [client.clientId],
    );
    await run('a!');
  });

  test('a token that expired within the grace period is refused, and ends no other line (security R121)', async () => {
    const { client, inSession, run } = await newClientSession();
    await run('r>a r>b a>c');
    await service.database.sql(
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 day' WHERE ${inSession} AND spent_at IS NULL AND generation = 2`,
      [client.clientId],
    );
    await run('11s b~ c>d');
  });

  test('access tokens of an ended line stay valid until they expire or the client session ends (security R121, R33)', async () => {
    const { accessTokens, run } = await newClientSession();
    await run('r>a r>b 11s b>c');
    for (const token of accessTokens) expect((await userinfo(service.issuer, token)).status).toBe(200);
    await run('a!');
  });

  test('lines from before lines were recorded become one line at the first use (security R121)', async () => {
    const { client, inSession, run } = await newClientSession();
    await run('r>a r>b a>c');
    await service.database.sql(`UPDATE refresh_tokens SET parent = NULL WHERE ${inSession}`, [client.clientId]);
    await service.database.sql('UPDATE client_sessions SET line = NULL WHERE client_id = $1', [client.clientId]);
    await run('11s c>d d>e 11s e>f b!');
  });
});

test('a use without rotation ends the other lines, too (security R121, R31)', async () => {
  const { client, refreshTokens, run } = await newClientSession();
  await run('r>a r>b 11s');
  // REFRESH_TOKEN_ROTATION=public has this effect for a confidential client
  for (let count = 0; count < 3; count++) {
    const used = await service.store.refreshTokens.rotate({
      tokenHash: opaqueTokenHash('refresh_token', refreshTokens.get('b')!)!,
      clientId: client.clientId,
      scope: undefined,
      resource: undefined,
      rotate: false,
      ...unbound,
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
