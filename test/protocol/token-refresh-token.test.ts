// POST /token with grant_type refresh_token rotates tokens, allows a grace period, and ends the client session on reuse.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, obtainTokens, redeem, refresh, type Tokens, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: { sub: string; username: string; password: string };
let agent: UserAgent;
beforeAll(async () => {
  // one session obtains the codes of all tests
  service = await startTestService({ environment: { LIMIT_CODES_PER_SESSION: '0' } });
  user = await service.createUser();
  agent = new UserAgent(service);
});
afterAll(() => service?.stop());

const invalidGrant = { status: 400, body: { error: 'invalid_grant', error_description: expect.any(String) } };
const ok = { status: 200 };
const successor = (answer: Answer): string => answer.body['refresh_token'] as string;
const accessOf = (answer: Answer): string => answer.body['access_token'] as string;

/** Creates a client, and obtains the tokens of its first authorization. */
async function begin(
  parameters: Record<string, string> = {},
  metadata: Record<string, unknown> = {},
): Promise<{
  client: TestClient;
  tokens: Tokens;
  use: (token: string, more?: Record<string, string>) => Promise<Answer>;
}> {
  const client = await service.createClient(metadata);
  const tokens = await obtainTokens(service, client, user, parameters, agent);
  return { client, tokens, use: (token, more) => refresh(service.issuer, client, token, more) };
}

/** Moves the first use of the client's spent tokens into the past. */
const moveIntoPast = (client: TestClient, seconds: number) =>
  service.database.sql(
    `UPDATE refresh_tokens rt SET spent_at = spent_at - make_interval(secs => $2) FROM client_sessions cs
      WHERE cs.id = rt.client_session_id AND cs.client_id = $1 AND rt.spent_at IS NOT NULL`,
    [client.clientId, seconds],
  );

describe('a refresh', () => {
  test('yields new tokens of the same authorization, in a response that must not be stored (RFC 6749 6)', async () => {
    const { tokens, use } = await begin({ scope: 'openid profile' });
    const answer = await use(tokens.refresh_token);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^ghat_/),
      refresh_token: expect.stringMatching(/^ghrt_/),
      id_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'openid profile',
    });
    expect(accessOf(answer)).not.toBe(tokens.access_token);
    expect(successor(answer)).not.toBe(tokens.refresh_token);
    expect(await userinfo(service.issuer, accessOf(answer))).toMatchObject(ok);
  });

  test('yields an ID Token for the same user and sign-in, without a nonce (OpenID Connect Core 12.2)', async () => {
    const { tokens, use } = await begin({ nonce: 'n-1' });
    const first = decodeJwt(tokens.id_token);
    const second = decodeJwt((await use(tokens.refresh_token)).body['id_token'] as string);
    for (const claim of ['iss', 'sub', 'aud', 'auth_time', 'sid']) expect(second[claim]).toEqual(first[claim]);
    expect(first['nonce']).toBe('n-1');
    expect(second).not.toHaveProperty('nonce');
  });

  test('with a narrower scope limits only its own access token (RFC 6749 6)', async () => {
    const { tokens, use } = await begin({ scope: 'openid profile email' });
    const narrow = await use(tokens.refresh_token, { scope: 'email openid' });
    expect(narrow.body['scope']).toBe('email openid');
    expect((await userinfo(service.issuer, accessOf(narrow))).body).not.toHaveProperty('preferred_username');
    const unnarrowed = await use(successor(narrow));
    expect(unnarrowed.body['scope']).toBe('openid profile email');
    const withoutOpenid = await use(successor(unnarrowed), { scope: 'email' });
    expect(withoutOpenid.status).toBe(200);
    expect(withoutOpenid.body).not.toHaveProperty('id_token');
  });

  test.each(['openid profile', 'openid offline_access', 'openid admin', 'x', 'openid  "'])(
    'the scope %s beyond the grant is refused, and the token stays unspent (security A37, R12)',
    async (scope) => {
      const { tokens, use } = await begin({ scope: 'openid' });
      expect(await use(tokens.refresh_token, { scope })).toMatchObject({
        status: 400,
        body: { error: 'invalid_scope' },
      });
      for (let count = 0; count < 6; count++) expect(await use(tokens.refresh_token)).toMatchObject(ok);
      expect(await use(tokens.refresh_token)).toMatchObject(invalidGrant);
    },
  );
});

describe('a spent refresh token', () => {
  test('may be used five more times within the grace period, each time for another successor, and the sixth use fails (decisions section 4, security R32)', async () => {
    const { client, tokens, use } = await begin();
    const answers = [await use(tokens.refresh_token)];
    await moveIntoPast(client, 4);
    for (let count = 0; count < 5; count++) answers.push(await use(tokens.refresh_token));
    for (const answer of answers) expect(answer).toMatchObject(ok);
    expect(new Set(answers.map(successor)).size).toBe(6);
    expect(await use(tokens.refresh_token)).toMatchObject(invalidGrant);
    for (const answer of answers) {
      expect(await userinfo(service.issuer, accessOf(answer))).toMatchObject(ok);
      expect(await use(successor(answer))).toMatchObject(ok);
    }
  });

  test('ends the whole client session after the grace period, with its other refresh tokens and access tokens (security A51, R31, R33)', async () => {
    const { client, tokens, use } = await begin();
    const first = await use(tokens.refresh_token);
    const sibling = await use(tokens.refresh_token);
    const second = await use(successor(first));
    await moveIntoPast(client, 11);
    expect(await use(tokens.refresh_token)).toMatchObject(invalidGrant);
    for (const answer of [first, sibling, second]) {
      expect(await use(successor(answer))).toMatchObject(invalidGrant);
      expect(await userinfo(service.issuer, accessOf(answer))).toMatchObject({ status: 401 });
    }
    expect(await userinfo(service.issuer, tokens.access_token)).toMatchObject({ status: 401 });
    const reuse = await service.database.sql(
      `SELECT outcome, sub FROM audit_events WHERE type = 'refresh_token.reused' AND client_id = $1`,
      [client.clientId],
    );
    expect(reuse).toEqual([{ outcome: 'failure', sub: user.sub }]);
  });

  test.each([0, 1, 2])(
    'of generation %i of four within one second ends the client session after the grace period (security A53, R34)',
    async (which) => {
      const { client, tokens, use } = await begin();
      const chain = [tokens.refresh_token];
      for (let generation = 0; generation < 3; generation++) chain.push(successor(await use(chain.at(-1)!)));
      await moveIntoPast(client, 11);
      expect(await use(chain[which]!)).toMatchObject(invalidGrant);
      expect(await use(chain[3]!)).toMatchObject(invalidGrant);
    },
  );

  test('is still recognized as spent after it has expired (security R34)', async () => {
    const { client, tokens, use } = await begin();
    const first = await use(tokens.refresh_token);
    await moveIntoPast(client, 11);
    await service.database.sql(
      `UPDATE refresh_tokens rt SET expires_at = now() - interval '1 day' FROM client_sessions cs
        WHERE cs.id = rt.client_session_id AND cs.client_id = $1 AND rt.spent_at IS NOT NULL`,
      [client.clientId],
    );
    expect(await use(tokens.refresh_token)).toMatchObject(invalidGrant);
    expect(await use(successor(first))).toMatchObject(invalidGrant);
  });

  test('of another client ends nothing, spent or not, and the attempt is recorded (security A56)', async () => {
    const { client, tokens, use } = await begin();
    const otherClient = await service.createClient();
    expect(await refresh(service.issuer, otherClient, tokens.refresh_token)).toMatchObject(invalidGrant);
    const first = await use(tokens.refresh_token);
    await moveIntoPast(client, 11);
    expect(await refresh(service.issuer, otherClient, tokens.refresh_token)).toMatchObject(invalidGrant);
    expect(await use(successor(first))).toMatchObject(ok);
    const misuse = await service.database.sql(
      `SELECT actor FROM audit_events WHERE type = 'refresh_token.misused' AND client_id = $1`,
      [client.clientId],
    );
    expect(misuse).toEqual([{ actor: otherClient.clientId }, { actor: otherClient.clientId }]);
  });
});

describe('a refused refresh', () => {
  test.each([
    ['the session ended', `DELETE FROM sessions WHERE sub = $1`],
    ['the session expired', `UPDATE sessions SET idle_expires_at = now() - interval '1 second' WHERE sub = $1`],
    ['the user was disabled', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
    ['the grant was withdrawn', `DELETE FROM grants WHERE sub = $1`],
    [
      'the token expired',
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 second'
       WHERE client_session_id IN (SELECT id FROM client_sessions WHERE sub = $1)`,
    ],
  ])('a refresh is refused when %s (security R36)', async (_what, statement) => {
    const user = await service.createUser();
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, user);
    await service.database.sql(statement, [user.sub]);
    expect(await refresh(service.issuer, client, tokens.refresh_token)).toMatchObject(invalidGrant);
  });

  test('only the exact token is known (security A35, R27)', async () => {
    const { tokens, use } = await begin();
    const token = tokens.refresh_token;
    for (const wrong of [
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `Bearer ${token}`,
      tokens.access_token,
    ])
      expect(await use(wrong), wrong).toMatchObject(invalidGrant);
    expect(await use(token)).toMatchObject(ok);
  });

  test('a client without the grant type is refused (RFC 6749 5.2)', async () => {
    const { tokens } = await begin();
    const other = await service.createClient({ grant_types: ['authorization_code'] });
    expect(await refresh(service.issuer, other, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
    });
  });
});

describe('the lifetime of a client session', () => {
  const remaining = async (client: TestClient) =>
    service.database.sql<{ token: number; session: number }>(
      `SELECT round(extract(epoch FROM rt.expires_at - now()) / 3600)::int AS token,
              round(extract(epoch FROM cs.expires_at - now()) / 3600)::int AS session
         FROM refresh_tokens rt JOIN client_sessions cs ON cs.id = rt.client_session_id
        WHERE cs.client_id = $1 ORDER BY rt.generation DESC LIMIT 1`,
      [client.clientId],
    );

  test('without offline_access ends with the session at the latest (security R36)', async () => {
    const { client, tokens, use } = await begin();
    await use(tokens.refresh_token);
    expect(await remaining(client)).toEqual([{ token: 24, session: 24 }]);
  });

  test('with offline_access is extended by 30 days at each use, up to 180 days (decisions section 4, security R36)', async () => {
    const { client, tokens, use } = await begin({ scope: 'openid offline_access' }, { scope: 'openid offline_access' });
    expect(await remaining(client)).toEqual([{ token: 720, session: 4320 }]);
    await service.database.sql(
      `UPDATE client_sessions SET created_at = created_at - interval '170 days' WHERE client_id = $1`,
      [client.clientId],
    );
    await use(tokens.refresh_token);
    expect(await remaining(client)).toMatchObject([{ token: 240 }]);
  });

  test('with offline_access continues after the logout, and without it does not (decisions section 6)', async () => {
    const browser = new UserAgent(service);
    const client = await service.createClient({ scope: 'openid offline_access' });
    const online = await obtainTokens(service, client, user, { scope: 'openid' }, browser);
    const offline = await obtainTokens(service, client, user, { scope: 'openid offline_access' }, browser);
    await browser.submit(await browser.get('/logout'), { decision: 'sign-out' });
    expect(await refresh(service.issuer, client, online.refresh_token)).toMatchObject(invalidGrant);
    expect(await userinfo(service.issuer, offline.access_token)).toMatchObject({ status: 401 });
    const renewed = await refresh(service.issuer, client, offline.refresh_token);
    expect(renewed).toMatchObject(ok);
    expect(await userinfo(service.issuer, accessOf(renewed))).toMatchObject(ok);
  });
});

test('REFRESH_TOKEN_GRACE is the time in which a lost answer can be repeated, at most 5 times; afterwards the client session ends (security R32, R121, reports C1)', async () => {
  const patient = await startTestService({
    environment: { REFRESH_TOKEN_GRACE: '300' },
    database: { ...service.database, drop: async () => undefined },
    secretKey: service.secretKey,
  });
  try {
    for (const [seconds, status] of [
      [290, 200],
      [310, 400],
    ] as const) {
      const { client, tokens } = await begin();
      const use = (token: string) => refresh(patient.issuer, client, token);
      // the answer to the first use is lost
      expect(await use(tokens.refresh_token)).toMatchObject(ok);
      await moveIntoPast(client, seconds);
      const again = await use(tokens.refresh_token);
      expect(again.status, String(seconds)).toBe(status);
      if (status !== 200) continue;
      for (let count = 1; count < 5; count++) expect(await use(tokens.refresh_token)).toMatchObject(ok);
      expect(await use(tokens.refresh_token)).toMatchObject(invalidGrant);
      expect(await use(successor(again))).toMatchObject(ok);
    }
  } finally {
    await patient.stop();
  }
});

test('with REFRESH_TOKEN_ROTATION=public, refresh tokens of public clients rotate, and those of confidential clients do not (security R31)', async () => {
  const other = await startTestService({ environment: { REFRESH_TOKEN_ROTATION: 'public' } });
  try {
    const user = await other.createUser();
    const confidential = await other.createClient();
    const tokens = await obtainTokens(other, confidential, user);
    for (let count = 0; count < 10; count++) {
      const answer = await refresh(other.issuer, confidential, tokens.refresh_token);
      expect(answer).toMatchObject({ status: 200, body: { refresh_token: tokens.refresh_token } });
    }
    const publicClient = await other.createClient({ token_endpoint_auth_method: 'none' });
    const { code_verifier, ...challenge } = pkce();
    const page = await new UserAgent(other).authorize(publicClient, user, challenge);
    const { code } = responseParameters(page);
    const first = await tokenRequest(other.issuer, undefined, {
      grant_type: 'authorization_code',
      code: code!,
      redirect_uri: publicClient.redirectUri,
      code_verifier,
      client_id: publicClient.clientId,
    });
    const second = await tokenRequest(other.issuer, undefined, {
      grant_type: 'refresh_token',
      refresh_token: successor(first),
      client_id: publicClient.clientId,
    });
    expect(second.status).toBe(200);
    expect(successor(second)).not.toBe(successor(first));
  } finally {
    await other.stop();
  }
});

test('a refresh token is not a code, and an access token is not a refresh token (security R30)', async () => {
  const { client, tokens, use } = await begin();
  expect(await redeem(service.issuer, client, tokens.refresh_token)).toMatchObject(invalidGrant);
  expect(await use(tokens.access_token)).toMatchObject(invalidGrant);
});
