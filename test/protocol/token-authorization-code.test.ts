// POST /token with grant_type authorization_code issues tokens for a valid code, and a second redemption ends them.
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsOf } from '../helpers/events.ts';
import { type Answer, obtainCode, obtainTokens, redeem, refresh, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { pkce, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let user: { sub: string; username: string; password: string };
let agent: UserAgent;
beforeAll(async () => {
  // one session obtains the codes of all tests
  service = await startTestService({ environment: { LIMIT_CODES_PER_SESSION: '0' } });
  client = await service.createClient();
  user = await service.createUser();
  agent = new UserAgent(service);
});
afterAll(() => service?.stop());

const invalidGrant = { status: 400, body: { error: 'invalid_grant', error_description: expect.any(String) } };
const newCode = (parameters: Record<string, string> = {}, rp = client) =>
  obtainCode(service, rp, user, parameters, agent);
const events = (type: string, clientId = client.clientId) => eventsOf(service, { type, clientId });

/** Moves the times of a client's codes into the past. */
const moveIntoPast = (rp: TestClient, seconds: number) =>
  service.database.sql(
    `UPDATE authorization_codes ac SET expires_at = ac.expires_at - make_interval(secs => $2),
            redeemed_at = ac.redeemed_at - make_interval(secs => $2)
       FROM client_sessions cs WHERE cs.id = ac.client_session_id AND cs.client_id = $1`,
    [rp.clientId, seconds],
  );

describe('the redemption of a code', () => {
  test('has a response with the members of the standards that must not be stored (RFC 6749 5.1, OpenID Connect Core 3.1.3.3)', async () => {
    const answer = await redeem(service.issuer, client, await newCode({ scope: 'openid profile' }));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^ghat_[\w-]{57}$/),
      refresh_token: expect.stringMatching(/^ghrt_[\w-]{57}$/),
      id_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'openid profile',
    });
  });

  test('yields a signed, short-lived ID Token that is bound to the request and the access token (OpenID Connect Core 3.1.3.6)', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { body } = await redeem(service.issuer, client, await newCode({ nonce: 'n-0S6_WzA2Mj' }));
    const { payload, protectedHeader } = await jwtVerify(
      body['id_token'] as string,
      createRemoteJWKSet(new URL(`${service.issuer}/jwks`)),
      { issuer: service.issuer, audience: client.clientId, algorithms: ['RS256'] },
    );
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) });
    const digest = createHash('sha256')
      .update(body['access_token'] as string)
      .digest();
    expect(payload).toMatchObject({
      sub: user.sub,
      aud: client.clientId,
      azp: client.clientId,
      nonce: 'n-0S6_WzA2Mj',
      at_hash: digest.subarray(0, 16).toString('base64url'),
      amr: ['pwd'],
      acr: expect.any(String),
      sid: expect.any(String),
    });
    expect(payload.exp! - payload.iat!).toBe(600);
    expect(payload['auth_time']).toBeLessThanOrEqual(payload.iat!);
    expect(payload.iat).toBeGreaterThanOrEqual(before - 1);
  });

  test('yields no refresh token for a client without the grant type refresh_token (RFC 7591 2)', async () => {
    const plainClient = await service.createClient({ grant_types: ['authorization_code'] });
    const { status, body } = await redeem(service.issuer, plainClient, await newCode({}, plainClient));
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('refresh_token');
  });

  test('uses the lifetimes that an administrator set for the client (decisions section 4)', async () => {
    const ownClient = await service.createClient();
    await service.database.sql(
      'UPDATE clients SET access_token_lifetime = 120, id_token_lifetime = 60, refresh_token_lifetime = 1000 WHERE client_id = $1',
      [ownClient.clientId],
    );
    const { body } = await redeem(service.issuer, ownClient, await newCode({}, ownClient));
    expect(body['expires_in']).toBe(120);
    const { exp, iat } = decodeJwt(body['id_token'] as string);
    expect(exp! - iat!).toBe(60);
    const [row] = await service.database.sql<{ life: number }>(
      `SELECT extract(epoch FROM rt.expires_at - rt.issued_at)::int AS life FROM refresh_tokens rt
         JOIN client_sessions cs ON cs.id = rt.client_session_id WHERE cs.client_id = $1`,
      [ownClient.clientId],
    );
    expect(row?.life).toBe(1000);
  });

  test('does not change the granted scope, even with a scope parameter (security A37, R12)', async () => {
    const { body } = await redeem(service.issuer, client, await newCode({ scope: 'openid' }), {
      scope: 'openid profile email admin',
    });
    expect(body['scope']).toBe('openid');
  });
});

describe('a refused redemption', () => {
  test.each([
    ['is missing', {}, undefined],
    ['has another path', {}, 'https://rp.example.com/other'],
    ['differs in case', {}, 'https://rp.example.com/Callback'],
    ['ends in a slash', {}, 'https://rp.example.com/callback/'],
    ['ends in a question mark', {}, 'https://rp.example.com/callback?'],
  ])('a redirect_uri that %s is refused (security A31, R16, R23)', async (_what, _parameters, redirectUri) => {
    const code = await newCode();
    const answer = await tokenRequest(service.issuer, client, {
      grant_type: 'authorization_code',
      code,
      ...(redirectUri !== undefined && { redirect_uri: redirectUri }),
    });
    expect(answer).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, code)).toMatchObject({ status: 200 });
  });

  test('a verifier must match the challenge, and is refused without one (security R22)', async () => {
    const { code_verifier, ...challenge } = pkce();
    const code = await newCode(challenge);
    expect(await redeem(service.issuer, client, code)).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, code, otherVerifier())).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, code, { code_verifier: 'short' })).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, code, { code_verifier: challenge.code_challenge })).toMatchObject(
      invalidGrant,
    );
    expect(await redeem(service.issuer, client, code, { code_verifier })).toMatchObject({ status: 200 });

    const withoutChallenge = await newCode();
    expect(await redeem(service.issuer, client, withoutChallenge, { code_verifier })).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, withoutChallenge)).toMatchObject({ status: 200 });
  });

  test('another client cannot redeem the code, which stays valid, and the attempt is recorded (RFC 6749 5.2, security R101)', async () => {
    const otherClient = await service.createClient();
    const code = await newCode();
    expect(await redeem(service.issuer, otherClient, code)).toMatchObject(invalidGrant);
    expect(await events('code.misused')).toMatchObject([
      { actor: otherClient.clientId, outcome: 'failure', sub: user.sub },
    ]);
    expect(await redeem(service.issuer, client, code)).toMatchObject({ status: 200 });
  });

  test('four failed attempts leave the code valid, and the fifth ends it (decisions section 4, security R16)', async () => {
    const attempt = (code: string, redirect_uri: string) => redeem(service.issuer, client, code, { redirect_uri });
    const four = await newCode();
    for (let count = 0; count < 4; count++)
      expect(await attempt(four, 'https://rp.example.com/x')).toMatchObject(invalidGrant);
    expect(await attempt(four, client.redirectUri)).toMatchObject({ status: 200 });

    const ownClient = await service.createClient();
    const five = await newCode({}, ownClient);
    const try5 = (redirect_uri: string) => redeem(service.issuer, ownClient, five, { redirect_uri });
    for (let count = 0; count < 5; count++) {
      expect(await events('code.burned', ownClient.clientId)).toEqual([]);
      expect(await try5('https://rp.example.com/x')).toMatchObject(invalidGrant);
    }
    for (let count = 0; count < 2; count++) expect(await try5(ownClient.redirectUri)).toMatchObject(invalidGrant);
    expect(await events('code.burned', ownClient.clientId)).toMatchObject([
      { outcome: 'failure', actor: ownClient.clientId, sub: user.sub, detail: { failure: 'redirect_uri' } },
    ]);
  });

  test("the end of a code by another client's attempts is recorded once, with the client of the code (decisions section 7)", async () => {
    const [ownClient, attacker] = [await service.createClient(), await service.createClient()];
    const code = await newCode({}, ownClient);
    for (let count = 0; count < 6; count++)
      expect(await redeem(service.issuer, attacker, code)).toMatchObject(invalidGrant);
    expect(await events('code.misused', ownClient.clientId)).toHaveLength(4);
    expect(await events('code.burned', ownClient.clientId)).toMatchObject([
      { actor: attacker.clientId, sub: user.sub, detail: { failure: 'client' } },
    ]);
  });

  test('a code is valid for 60 seconds by the clock of the database (security A30, R14)', async () => {
    const ownClient = await service.createClient();
    const young = await newCode({}, ownClient);
    await moveIntoPast(ownClient, 55);
    expect(await redeem(service.issuer, ownClient, young)).toMatchObject({ status: 200 });
    const old = await newCode({}, ownClient);
    await moveIntoPast(ownClient, 61);
    expect(await redeem(service.issuer, ownClient, old)).toMatchObject(invalidGrant);
  });

  test('only the exact code is known, with nothing removed, added, changed or mixed (security A35, A36, R13, R27)', async () => {
    const code = await newCode();
    const other = await newCode();
    const wrong = [
      code.slice(0, -1),
      `${code}A`,
      `${code}=`,
      `${code} `,
      code.slice(0, 10) + flipped(code.slice(10)),
      code.slice(0, 25) + other.slice(25),
      code.replace('ghac_', 'ghat_'),
      code.toUpperCase(),
      'ghac_',
      'x',
    ];
    for (const text of wrong) expect(await redeem(service.issuer, client, text), text).toMatchObject(invalidGrant);
    expect(await redeem(service.issuer, client, code)).toMatchObject({ status: 200 });
  });

  test('tokens of other kinds are not codes (security R30)', async () => {
    const tokens = await obtainTokens(service, client, user, {}, agent);
    for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token, client.registrationAccessToken]) {
      const answer = await redeem(service.issuer, client, token);
      expect(answer.status).toBe(400);
      expect(['invalid_grant', 'invalid_request']).toContain(answer.body['error']);
    }
  });

  test.each([
    ['the session ended', `DELETE FROM sessions WHERE sub = $1`],
    ['the session expired', `UPDATE sessions SET idle_expires_at = now() - interval '1 second' WHERE sub = $1`],
    ['the user was disabled', `UPDATE users SET status = 'disabled' WHERE sub = $1`],
    ['the user was deleted', `DELETE FROM users WHERE sub = $1`],
    ['the grant was withdrawn', `DELETE FROM grants WHERE sub = $1`],
  ])('a code is refused when %s before its redemption (security R16)', async (_what, statement) => {
    const newUser = await service.createUser();
    const code = await obtainCode(service, client, newUser);
    await service.database.sql(statement, [newUser.sub]);
    expect(await redeem(service.issuer, client, code)).toMatchObject(invalidGrant);
  });
});

describe('a second redemption', () => {
  const redeemed = async (rp: TestClient): Promise<{ code: string; first: Answer }> => {
    const code = await newCode({}, rp);
    const first = await redeem(service.issuer, rp, code);
    expect(first.status).toBe(200);
    return { code, first };
  };
  const statuses = async (rp: TestClient, first: Answer) => [
    (await userinfo(service.issuer, first.body['access_token'] as string)).status,
    (await refresh(service.issuer, rp, first.body['refresh_token'] as string)).status,
  ];

  test('within 5 seconds by the same client only fails, since it may be a retry after a lost response (decisions section 4, security R17)', async () => {
    const ownClient = await service.createClient();
    const { code, first } = await redeemed(ownClient);
    expect(await redeem(service.issuer, ownClient, code)).toMatchObject(invalidGrant);
    expect(await statuses(ownClient, first)).toEqual([200, 200]);
    expect(await events('code.replayed', ownClient.clientId)).toHaveLength(0);
  });

  test('later fails and ends all tokens of the first redemption (RFC 6749 4.1.2, security R17)', async () => {
    const ownClient = await service.createClient();
    const { code, first } = await redeemed(ownClient);
    const second = await refresh(service.issuer, ownClient, first.body['refresh_token'] as string);
    await moveIntoPast(ownClient, 6);
    expect(await redeem(service.issuer, ownClient, code)).toMatchObject(invalidGrant);
    expect(await statuses(ownClient, first)).toEqual([401, 400]);
    expect(await statuses(ownClient, second)).toEqual([401, 400]);
    expect(await events('code.replayed', ownClient.clientId)).toMatchObject([{ outcome: 'failure', sub: user.sub }]);
  });

  test('long after the code expired still ends all tokens (RFC 6749 10.5)', async () => {
    const ownClient = await service.createClient();
    const { code, first } = await redeemed(ownClient);
    await moveIntoPast(ownClient, 3600);
    expect(await redeem(service.issuer, ownClient, code)).toMatchObject(invalidGrant);
    expect(await statuses(ownClient, first)).toEqual([401, 400]);
  });

  test('by another client ends all tokens at once (decisions section 4)', async () => {
    const ownClient = await service.createClient();
    const { code, first } = await redeemed(ownClient);
    expect(await redeem(service.issuer, client, code)).toMatchObject(invalidGrant);
    expect(await statuses(ownClient, first)).toEqual([401, 400]);
  });

  test('with a wrong verifier counts as a replay, too (security R17)', async () => {
    const ownClient = await service.createClient();
    const { code, first } = await redeemed(ownClient);
    await moveIntoPast(ownClient, 6);
    expect(await redeem(service.issuer, ownClient, code, otherVerifier())).toMatchObject(invalidGrant);
    expect(await statuses(ownClient, first)).toEqual([401, 400]);
  });
});

/** A verifier without a challenge. */
function otherVerifier(): { code_verifier: string } {
  return { code_verifier: pkce().code_verifier };
}

/** Swaps the case of the first letter. */
function flipped(text: string): string {
  return text.replace(/[a-zA-Z]/, (letter) =>
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
  );
}
