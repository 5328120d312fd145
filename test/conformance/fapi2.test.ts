// A client with a FAPI 2.0 profile gets what the Security Profile and Message Signing demand, and nothing that they forbid.
import { constants, generateKeyPairSync, type KeyObject, randomBytes, sign as signBytes } from 'node:crypto';
import {
  createRemoteJWKSet,
  type CryptoKey,
  decodeJwt,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProofKey, present, proofFor, type ProofKey } from '../helpers/dpop.ts';
import { adminToken, type Answer, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  pkce,
  responseParameters,
  UserAgent,
} from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
/** With the Security Profile. */
let client: TestClient;
/** With Message Signing on top. */
let signing: TestClient;
/** Without a profile. */
let common: TestClient;
/** With the Security Profile and signed requests, and so with plain responses. */
let requesting: TestClient;
/** Is signed in. */
let agent: UserAgent;
/** Those of every client of this file, by algorithm. */
let keys: Record<string, CryptoKey>;
let byKey: Record<string, unknown>;
/** Of the DPoP proofs. */
let proofKey: ProofKey;
let otherKey: ProofKey;

beforeAll(async () => {
  service = await startTestService({
    environment: {
      ...withoutLimits,
      // both longer than the profile allows
      AUTHORIZATION_CODE_LIFETIME: '600',
      PUSHED_REQUEST_LIFETIME: '600',
    },
  });
  user = await service.createUser();
  const pairs = await Promise.all(
    ['PS256', 'ES256', 'EdDSA', 'RS256'].map(
      async (alg) => [alg, await generateKeyPair(alg, { extractable: true })] as const,
    ),
  );
  keys = Object.fromEntries(pairs.map(([alg, { privateKey }]) => [alg, privateKey]));
  const published = pairs.map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: alg }));
  byKey = {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: await Promise.all(published) },
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    scope: 'openid profile offline_access',
  };
  client = await create({ fapi2: 'security' });
  signing = await create({ fapi2: 'message_signing' });
  common = await create({});
  requesting = await create({ fapi2: 'security', require_signed_request_object: true });
  [proofKey, otherKey] = [await newProofKey('ES256'), await newProofKey('PS256')];
  agent = new UserAgent(service);
  await agent.signIn(user);
});
afterAll(() => service?.stop());

const create = (metadata: Record<string, unknown>) =>
  service.createClient({ ...byKey, ...metadata }, { firstParty: true });
const any: unknown = expect.any(String);
const now = () => Math.floor(Date.now() / 1000);

const sign = (payload: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> => {
  const alg = header.alg ?? 'ES256';
  return new SignJWT(payload).setProtectedHeader({ kid: alg, ...header, alg }).sign(keys[alg]!);
};

const assertion = (rp: TestClient, change: JWTPayload = {}, alg = 'ES256') =>
  sign(
    {
      iss: rp.clientId,
      sub: rp.clientId,
      aud: service.issuer,
      jti: crypto.randomUUID(),
      iat: now(),
      exp: now() + 60,
      ...change,
    },
    { alg },
  );

async function send(path: string, form: Record<string, string>, dpop?: string): Promise<Answer> {
  const headers: Record<string, string> = dpop === undefined ? {} : { dpop };
  const response = await fetch(service.issuer + path, { method: 'POST', body: new URLSearchParams(form), headers });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

/** Sends a form with a client assertion; a token request also with a DPoP proof, as a profile demands. */
const post = async (
  path: string,
  form: Record<string, string>,
  rp = client,
  signed?: string,
  dpop?: string | 'none',
): Promise<Answer> => {
  const proof =
    dpop ?? (path === '/token' && rp !== common ? await proofFor(proofKey, `${service.issuer}/token`) : 'none');
  return send(
    path,
    {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: signed ?? (await assertion(rp)),
      ...form,
    },
    proof === 'none' ? undefined : proof,
  );
};

const challenge = pkce();
const requestOf = (rp: TestClient, change: Record<string, string | undefined> = {}): Record<string, string> => {
  const request = {
    client_id: rp.clientId,
    response_type: 'code',
    scope: 'openid offline_access',
    state: 's',
    nonce: 'n',
    redirect_uri: rp.redirectUri,
    code_challenge: challenge.code_challenge,
    code_challenge_method: 'S256',
    ...change,
  };
  return Object.fromEntries(
    Object.entries(request).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

/** A request object that obeys every rule, unless changed. */
const requestObject = (
  rp: TestClient,
  change: Record<string, unknown> = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> =>
  sign(
    {
      ...requestOf(rp, rp === signing ? { response_mode: 'jwt' } : {}),
      iss: rp.clientId,
      aud: service.issuer,
      nbf: now(),
      exp: now() + 300,
      ...change,
    },
    header,
  );

const push = (change: Record<string, string | undefined> = {}, rp = client, signed?: string, dpop?: string) =>
  post('/par', requestOf(rp, change), rp, signed, dpop);
const pushObject = async (object: string, rp = signing, beside: Record<string, string> = {}) =>
  post('/par', { client_id: rp.clientId, request: object, ...beside }, rp);

function open(pushed: Answer, browser = agent, rp = client): Promise<Page> {
  const query = new URLSearchParams({ client_id: rp.clientId, request_uri: pushed.body['request_uri'] as string });
  return browser.get(`${service.issuer}/authorize?${query.toString()}`);
}

const codeOf = async (rp = client) => responseParameters(await open(await push({}, rp), agent, rp))['code']!;
const redeem = (code: string, rp = client, change: Record<string, string> = {}, dpop?: string) =>
  post(
    '/token',
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: rp.redirectUri,
      code_verifier: challenge.code_verifier,
      ...change,
    },
    rp,
    undefined,
    dpop,
  );
const refresh = (token: unknown, rp = client, dpop?: string) =>
  post('/token', { grant_type: 'refresh_token', refresh_token: token as string }, rp, undefined, dpop);

/** The JWT of a response. */
async function responseJwt(page: Page): Promise<JWTPayload> {
  const parameters = responseParameters(page);
  expect(Object.keys(parameters)).toEqual(['response']);
  const jwks = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
  return (await jwtVerify(parameters['response']!, jwks, { algorithms: ['ES256'], audience: signing.clientId }))
    .payload;
}

describe('client authentication', () => {
  test.each(['PS256', 'ES256', 'EdDSA'])(
    'by private_key_jwt with %s is accepted (FAPI 2.0 SP 5.3.2.1, 5.4)',
    async (alg) => {
      expect(await push({}, client, await assertion(client, {}, alg))).toMatchObject({ status: 201 });
    },
  );

  test('with RS256 is invalid_client, unless the client has no profile (FAPI 2.0 SP 5.4, protocols P31)', async () => {
    const refused = { status: 401, body: { error: 'invalid_client' } };
    expect(await push({}, client, await assertion(client, {}, 'RS256'))).toMatchObject(refused);
    expect(await push({}, common, await assertion(common, {}, 'RS256'))).toMatchObject({ status: 201 });
  });

  test('with no signature, a shared secret, the public key as a secret, or a short RSA key is invalid_client (FAPI 2.0 SP 5.4, protocols P31)', async () => {
    const claims = { iss: client.clientId, sub: client.clientId, aud: service.issuer, exp: now() + 60 };
    const unsigned = new UnsecuredJWT({ ...claims, jti: crypto.randomUUID() }).encode();
    const [, publicKey] = (byKey['jwks'] as { keys: JWK[] }).keys;
    const secrets = [randomBytes(32), Buffer.from(JSON.stringify(publicKey)), Buffer.from(publicKey!.x!)];
    const bySecret = secrets.map((secret) =>
      new SignJWT({ ...claims, jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'HS256', kid: 'ES256' })
        .sign(secret),
    );
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const byShortKey = signedPs256(short.privateKey, { ...claims, jti: crypto.randomUUID() });
    for (const refused of [unsigned, ...(await Promise.all(bySecret)), byShortKey])
      expect(await push({}, client, refused), refused).toMatchObject({
        status: 401,
        body: { error: 'invalid_client' },
      });
    const registered = await call(`${service.issuer}/register`, {
      body: {
        ...byKey,
        redirect_uris: [client.redirectUri],
        scope: 'openid',
        fapi2: 'security',
        jwks: { keys: [short.publicKey.export({ format: 'jwk' })] },
      },
    });
    expect(registered).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });

  test('accepts as aud the issuer as one string only; a client without a profile keeps the others (FAPI 2.0 SP 5.3.2.1-8, protocols P30)', async () => {
    const { issuer } = service;
    const others = [`${issuer}/token`, `${issuer}/par`, [issuer], [issuer, 'https://other.example'], `${issuer}/`];
    for (const aud of others) {
      const answers = [
        await push({}, client, await assertion(client, { aud })),
        await post('/token', { grant_type: 'client_credentials' }, client, await assertion(client, { aud })),
      ];
      for (const answer of answers)
        expect(answer, JSON.stringify(aud)).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    }
    for (const aud of [issuer, `${issuer}/token`, `${issuer}/par`, [issuer]])
      expect(await push({}, common, await assertion(common, { aud })), JSON.stringify(aud)).toMatchObject({
        status: 201,
      });
  });

  test('accepts iat and nbf 8 seconds ahead, and refuses them 61 seconds ahead (FAPI 2.0 SP 5.3.2.1-13)', async () => {
    for (const name of ['iat', 'nbf']) {
      expect(await push({}, client, await assertion(client, { [name]: now() + 8 })), name).toMatchObject({
        status: 201,
      });
      const ahead = await assertion(client, { [name]: now() + 61, exp: now() + 120 });
      expect(await push({}, client, ahead), name).toMatchObject({ status: 401 });
    }
  });

  test('by the key of another client, and without an assertion, is refused (FAPI 2.0 SP 5.3.2.1-6)', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const foreign = await new SignJWT({ iss: client.clientId, sub: client.clientId, aud: service.issuer, jti: 'x' })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1 minute')
      .sign(privateKey);
    expect(await push({}, client, foreign)).toMatchObject({ status: 401 });
    const { status } = await send('/par', requestOf(client));
    expect(status).toBe(401);
  });
});

describe('an authorization request', () => {
  test('that is pushed gets a code with iss, by a request_uri that lives under ten minutes (FAPI 2.0 SP 5.3.2.2)', async () => {
    const pushed = await push();
    expect(pushed).toMatchObject({ status: 201, body: { request_uri: any } });
    expect(pushed.body['expires_in']).toBe(599);
    const [stored] = await service.database.sql<{ left: number }>(
      'SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM authorization_requests WHERE client_id = $1 ORDER BY expires_at DESC LIMIT 1',
      [client.clientId],
    );
    expect(stored!.left).toBeLessThan(600);
    // the setting holds for other clients
    expect((await push({}, common)).body['expires_in']).toBe(600);
    expect(responseParameters(await open(pushed))).toMatchObject({ code: any, state: 's', iss: service.issuer });
  });

  test('around the push gets no code: plain, by a request object, by a foreign request_uri, or at /authenticate (FAPI 2.0 SP 5.3.2.2-2, protocols P29)', async () => {
    for (const rp of [client, signing]) {
      const object = await requestObject(rp);
      const pages = [
        await agent.get(authorizationUrl(service.issuer, rp, requestOf(rp))),
        await agent.get(authorizationUrl(service.issuer, rp, { request: object })),
        await agent.get(authorizationUrl(service.issuer, rp, { request_uri: 'https://evil.example/object' })),
        await agent.get(
          `${service.issuer}/authenticate?${new URLSearchParams({ client_id: rp.clientId, redirect_uri: rp.redirectUri }).toString()}`,
        ),
      ];
      for (const page of pages) expect(page.location ?? '').not.toMatch(/[?&#](code|response=.*code)=/);
      expect(responseParameters(pages[0]!)).toMatchObject({ error: 'invalid_request' });
      expect(pages[3]!.location).toBe(`${service.issuer}/login?problem=client`);
    }
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['no redirect_uri', { redirect_uri: undefined }],
    ['no code_challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['plain PKCE', { code_challenge_method: 'plain' }],
    ['another response type', { response_type: 'code id_token' }],
    ['a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }],
  ])('with %s is refused at /par (FAPI 2.0 SP 5.3.2.2-1, -5, -6)', async (_what, change) => {
    expect(await push(change)).toMatchObject({ status: 400, body: { error: any } });
  });

  test('with a nonce of 64 characters is answered, and one of 300 comes back whole (FAPI 2.0 SP 5.3.2.2-14)', async () => {
    for (const length of [64, 300]) {
      const nonce = 'n'.repeat(length);
      const code = responseParameters(await open(await push({ nonce })))['code']!;
      const { id_token: idToken } = (await redeem(code)).body as { id_token: string };
      const jwks = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
      const { payload } = await jwtVerify(idToken, jwks, { algorithms: ['ES256'], audience: client.clientId });
      expect(payload['nonce']).toBe(nonce);
    }
  });

  test('loaded twice before the user acts is answered once, for its own client and in one browser (FAPI 2.0 SP 5.3.2.2-11, protocols P35)', async () => {
    const pushed = await push();
    const stranger = await create({ fapi2: 'security' });
    expect(responseParameters(await open(pushed, agent, stranger))['code']).toBeUndefined();
    const browser = new UserAgent(service);
    await open(pushed, browser);
    const page = await open(pushed, browser);
    const second = new UserAgent(service);
    expect((await open(pushed, second)).location).toBe(`${service.issuer}/login?problem=expired`);
    const response = responseParameters(await browser.signIn(user, await browser.follow(page)));
    expect(response['code']).toEqual(any);
    expect(responseParameters(await open(pushed, browser))['code']).toBeUndefined();
  });

  test('that is opened after its time gets no code, and the user sees a page (FAPI 2.0 SP 5.3.2.2-11, protocols P35)', async () => {
    const pushed = await push();
    await service.database.sql(
      `UPDATE authorization_requests SET expires_at = expires_at - interval '599 seconds' WHERE client_id = $1`,
      [client.clientId],
    );
    expect((await open(pushed)).location).toBe(`${service.issuer}/login?problem=expired`);
  });

  test('goes on from the form with the password by 303, which carries no password (FAPI 2.0 SP 5.3.2.2-10)', async () => {
    const browser = new UserAgent(service);
    const page = await browser.follow(await open(await push(), browser));
    const { username, password } = user;
    const answer = await browser.post('/login', { ...hiddenFields(page.body), username, password });
    expect(answer.status).toBe(303);
    expect(answer.location).not.toContain(encodeURIComponent(password));
  });

  test('that the user denies is access_denied with iss (FAPI 2.0 SP 5.3.2.2-7)', async () => {
    const rp = await service.createClient({ ...byKey, fapi2: 'security' });
    const page = await open(await push({}, rp), agent, rp);
    const denied = await agent.submit(await agent.follow(page), { decision: 'deny' });
    expect(responseParameters(denied)).toMatchObject({ error: 'access_denied', state: 's', iss: service.issuer });
  });
});

describe('tokens', () => {
  test('come from a code that lives at most 60 seconds, whatever the setting says (FAPI 2.0 SP 5.3.2.1-11)', async () => {
    for (const [rp, seconds] of [
      [client, 60],
      [common, 600],
    ] as const) {
      await codeOf(rp);
      const [code] = await service.database.sql<{ left: number }>(
        `SELECT extract(epoch FROM ac.expires_at - cs.created_at)::float8 AS left
           FROM authorization_codes ac JOIN client_sessions cs ON cs.id = ac.client_session_id
          WHERE cs.client_id = $1 ORDER BY cs.id DESC LIMIT 1`,
        [rp.clientId],
      );
      expect(Math.round(code!.left)).toBe(seconds);
    }
  });

  test('count in the header only, and neither in the query nor in a form (FAPI 2.0 SP 5.3.4)', async () => {
    const { access_token: token } = (await redeem(await codeOf())).body as { access_token: string };
    const body = new URLSearchParams({ access_token: token });
    const dpop = () => proofFor(proofKey, `${service.issuer}/user/info`, { method: 'GET', token });
    const answers = [
      await fetch(`${service.issuer}/user/info?${body}`, { headers: { dpop: await dpop() } }),
      await fetch(`${service.issuer}/user/info`, { method: 'POST', body }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(await answer.text()).not.toContain(user.sub);
    }
    expect(await present(service, '/user/info', token, proofKey)).toMatchObject({ status: 200 });
  });

  test('of a code that is used again end at once; those of a client without a profile survive a quick retry (FAPI 2.0 SP 5.3.2.1-11, protocols P34)', async () => {
    for (const [rp, status] of [
      [client, 401],
      [common, 200],
    ] as const) {
      const code = await codeOf(rp);
      const { access_token: token } = (await redeem(code, rp)).body as { access_token: string };
      expect(await redeem(code, rp)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      const answer =
        rp === common
          ? await call(`${service.issuer}/user/info`, { token })
          : await present(service, '/user/info', token, proofKey);
      expect(answer).toMatchObject({ status });
    }
  });

  test('are refreshed by the same refresh token again and again, which does not rotate (FAPI 2.0 SP 5.3.2.1-9)', async () => {
    const { refresh_token: token } = (await redeem(await codeOf())).body;
    for (let use = 1; use <= 7; use++)
      expect(await refresh(token), String(use)).toMatchObject({
        status: 200,
        body: { access_token: any, refresh_token: token },
      });
    const rotated = (await redeem(await codeOf(common), common)).body['refresh_token'];
    expect((await refresh(rotated, common)).body['refresh_token']).not.toBe(rotated);
  });

  test('are refused for a code of another client or with another redirect_uri or verifier (FAPI 2.0 SP 5.3.2.1-10)', async () => {
    const other = await create({ fapi2: 'security' });
    expect(await redeem(await codeOf(), other)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    for (const change of [
      { redirect_uri: 'https://rp.example.com/other' },
      { code_verifier: 'x'.repeat(43) },
    ] as Record<string, string>[])
      expect(await redeem(await codeOf(), client, change)).toMatchObject({ body: { error: 'invalid_grant' } });
  });

  test('have an ID Token by ES256 unless the client registered another allowed algorithm (FAPI 2.0 SP 5.4)', async () => {
    expect(client.metadata).toMatchObject({ id_token_signed_response_alg: 'ES256' });
    const rp = await create({ fapi2: 'security', id_token_signed_response_alg: 'PS256' });
    const { id_token: idToken } = (await redeem(await codeOf(rp), rp)).body as { id_token: string };
    await jwtVerify(idToken, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)), { algorithms: ['PS256'] });
  });
});

describe('DPoP', () => {
  const atToken = (options: Parameters<typeof proofFor>[2] = {}, key = proofKey) =>
    proofFor(key, `${service.issuer}/token`, options);
  const credentials = (dpop: string) => post('/token', { grant_type: 'client_credentials' }, client, undefined, dpop);

  test('is needed at every token request: without a proof the code and the refresh token stay good (FAPI 2.0 SP 5.3.2.1-4, protocols P33)', async () => {
    const refused = { status: 400, body: { error: 'invalid_dpop_proof' } };
    const code = await codeOf();
    expect(await redeem(code, client, {}, 'none')).toMatchObject(refused);
    const { status, body } = await redeem(code);
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    expect(await refresh(body['refresh_token'], client, 'none')).toMatchObject(refused);
    expect(await refresh(body['refresh_token'])).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    expect(await credentials('none')).toMatchObject(refused);
    expect(await credentials(await atToken())).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
  });

  test('binds the code where the request names a key, and another key or none gets invalid_grant (FAPI 2.0 SP 5.3.2.1-12, RFC 9449 10)', async () => {
    for (const [change, dpop] of [
      [{ dpop_jkt: proofKey.jkt }, undefined],
      [{}, await proofFor(proofKey, `${service.issuer}/par`)],
      [{ dpop_jkt: proofKey.jkt }, await proofFor(proofKey, `${service.issuer}/par`)],
    ] as const) {
      const pushed = await push(change, client, undefined, dpop);
      const code = responseParameters(await open(pushed))['code']!;
      const byOther = await redeem(code, client, {}, await atToken({}, otherKey));
      expect(byOther).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      expect(await redeem(code)).toMatchObject({ status: 200 });
    }
    const disagreeing = await push(
      { dpop_jkt: otherKey.jkt },
      client,
      undefined,
      await proofFor(proofKey, `${service.issuer}/par`),
    );
    expect(disagreeing).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['made 10 seconds ago', () => ({ iat: now() - 10 })],
    ['from 10 seconds ahead', () => ({ iat: now() + 10 })],
    ['with nbf and exp', () => ({ nbf: now() + 3600, exp: now() - 3600 })],
    ['with htu in upper case', () => ({ htu: `${service.issuer.toUpperCase()}/token` })],
    ['with a query in htu', () => ({ htu: `${service.issuer}/token?a=b#c` })],
  ])('accepts a proof %s (RFC 9449 4.3)', async (_what, claims) => {
    expect(await credentials(await atToken({ claims: claims() }))).toMatchObject({ status: 200 });
  });

  test.each<[string, () => Promise<string>]>([
    ['made an hour ago', () => atToken({ claims: { iat: now() - 3600 } })],
    ['from an hour ahead', () => atToken({ claims: { iat: now() + 3600 } })],
    ['without iat', () => atToken({ claims: { iat: undefined } })],
    ['without jti', () => atToken({ claims: { jti: undefined } })],
    ['for another method', () => atToken({ method: 'GET' })],
    ['for another address', () => proofFor(proofKey, `${service.issuer}/par`)],
    ['of another typ', () => atToken({ header: { typ: 'jwt' } })],
    ['by RS256', async () => atToken({}, await newProofKey('RS256'))],
    ['with another key than that of its signature', () => atToken({ header: { jwk: otherKey.jwk } })],
    ['with a private key', () => atToken({ header: { jwk: { ...proofKey.jwk, d: 'AAAA' } } })],
    ['twice', async () => `${await atToken()}, ${await atToken()}`],
  ])('refuses a proof %s (RFC 9449 4.3)', async (_what, dpop) => {
    expect(await credentials(await dpop())).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
  });

  test('refuses a proof that was used before, at the token endpoint and at a resource (RFC 9449 11.1)', async () => {
    const dpop = await atToken();
    expect(await credentials(dpop)).toMatchObject({ status: 200 });
    expect(await credentials(dpop)).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
    const { access_token: token } = (await redeem(await codeOf())).body as { access_token: string };
    const options = { claims: { jti: crypto.randomUUID() } };
    expect(await present(service, '/user/info', token, proofKey, options)).toMatchObject({ status: 200 });
    expect(await present(service, '/user/info', token, proofKey, options)).toMatchObject({ status: 401 });
  });

  test('is needed at a resource, under the scheme in any case, and with the digest of the token (RFC 9449 7.1, FAPI 2.0 SP 5.3.4)', async () => {
    const { access_token: token } = (await redeem(await codeOf())).body as { access_token: string };
    for (const scheme of ['DPoP', 'dpop', 'DPOP'])
      expect(await present(service, '/user/info', token, proofKey, { scheme }), scheme).toMatchObject({ status: 200 });
    for (const claims of [{ ath: undefined }, { ath: 'AAAA' }])
      expect(await present(service, '/user/info', token, proofKey, { claims })).toMatchObject({ status: 401 });
    expect(await present(service, '/user/info', token, otherKey)).toMatchObject({ status: 401 });
    expect(await call(`${service.issuer}/user/info`, { token })).toMatchObject({ status: 401 });
    expect(await present(service, '/user/info', token, proofKey, { scheme: 'Bearer' })).toMatchObject({ status: 401 });
  });
});

describe('registration', () => {
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, {
      body: { redirect_uris: [client.redirectUri], ...byKey, scope: 'openid', ...metadata },
    });

  test('sets what the profile prescribes (FAPI 2.0 SP 5.3.2.2, MS 5.3, 5.4, 5.5)', async () => {
    const security = {
      require_pushed_authorization_requests: true,
      require_pkce: true,
      id_token_signed_response_alg: 'ES256',
      authorization_signed_response_alg: 'ES256',
    };
    const { body } = await register({ fapi2: 'security', require_pkce: false });
    expect(body).toMatchObject(security);
    expect(body).not.toHaveProperty('introspection_signed_response_alg');
    const message = { ...security, require_signed_request_object: true, introspection_signed_response_alg: 'ES256' };
    expect((await register({ fapi2: 'message_signing' })).body).toMatchObject(message);
  });

  test.each<[string, Record<string, unknown>]>([
    ['a shared secret', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['no authentication', { token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] }],
    ['the device grant', { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] }],
    ['the implicit grant', { grant_types: ['authorization_code', 'implicit'] }],
    ['a hybrid response', { grant_types: ['authorization_code', 'implicit'], response_types: ['code id_token'] }],
    ['the response type none', { response_types: ['code', 'none'] }],
    ['uma_profile', { uma_profile: true }],
    ['an http redirect URI', { redirect_uris: ['http://127.0.0.1:8080/callback'] }],
    ['an ID Token by RS256', { id_token_signed_response_alg: 'RS256' }],
    ['an ID Token by HS256', { id_token_signed_response_alg: 'HS256' }],
    ['UserInfo by RS256', { userinfo_signed_response_alg: 'RS256' }],
    ['responses by RS256', { authorization_signed_response_alg: 'RS256' }],
    ['introspection by RS256', { introspection_signed_response_alg: 'RS256' }],
    ['assertions by RS256', { token_endpoint_auth_signing_alg: 'RS256' }],
    ['request objects by RS256', { request_object_signing_alg: 'RS256' }],
    ['unsigned request objects', { request_object_signing_alg: 'none' }],
    ['an unknown profile', { fapi2: 'baseline' }],
  ])('with %s is refused (FAPI 2.0 SP 5.3.2, 5.4, protocols P31)', async (_what, metadata) => {
    const answer = await register({ fapi2: 'security', ...metadata });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/) as unknown },
    });
  });

  test('accepts http on a loopback address for a native application, with its key (FAPI 2.0 SP 5.3.2.2-8)', async () => {
    const native = { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'] };
    expect(await register({ fapi2: 'security', ...native })).toMatchObject({ status: 201 });
  });

  test('that takes the profile off or lowers it waits for an administrator, who cannot leave half of it (protocols P36)', async () => {
    const { body } = await register({ fapi2: 'message_signing' });
    const clientId = body['client_id'] as string;
    const token = await adminToken(service);
    await approveClient(service.issuer, token, clientId);
    for (const fapi2 of [undefined, 'security']) {
      const update = await call(body['registration_client_uri'] as string, {
        method: 'PUT',
        token: body['registration_access_token'] as string,
        body: { client_id: clientId, redirect_uris: [client.redirectUri], ...byKey, scope: 'openid', fapi2 },
      });
      expect(update).toMatchObject({
        status: 200,
        body: { fapi2: 'message_signing', pending_changes: expect.anything() },
      });
    }
    const change = { method: 'PATCH', token, body: { token_endpoint_auth_method: 'none' } };
    expect(await call(`${service.issuer}/admin/api/clients/${clientId}`, change)).toMatchObject({ status: 400 });
  });
});

describe('with Message Signing, a request object', () => {
  test('is required at /par, and gets a response as a JWT (FAPI 2.0 MS 5.3, 5.4)', async () => {
    expect(await push({ response_mode: 'jwt' }, signing)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
    const pushed = await pushObject(await requestObject(signing));
    expect(pushed).toMatchObject({ status: 201 });
    const response = await responseJwt(await open(pushed, agent, signing));
    expect(response).toMatchObject({ iss: service.issuer, code: any, state: 's' });
    expect(await redeem(response['code'] as string, signing)).toMatchObject({ status: 200 });
  });

  const refusals: [string, () => Promise<string>][] = [
    ['without exp', () => requestObject(signing, { exp: undefined })],
    ['without nbf', () => requestObject(signing, { nbf: undefined })],
    ['without aud', () => requestObject(signing, { aud: undefined })],
    ['that expires 70 minutes after nbf', () => requestObject(signing, { exp: now() + 4200 })],
    ['whose nbf is 70 minutes old', () => requestObject(signing, { nbf: now() - 4200, exp: now() + 60 })],
    ['whose nbf is 61 seconds ahead', () => requestObject(signing, { nbf: now() + 61 })],
    ['that has expired', () => requestObject(signing, { nbf: now() - 600, exp: now() - 60 })],
    ['for another audience', () => requestObject(signing, { aud: 'https://other.example' })],
    ['with a request_uri inside', () => requestObject(signing, { request_uri: 'https://rp.example.com/object' })],
    ['by RS256', () => requestObject(signing, {}, { alg: 'RS256' })],
    ['without a signature', () => Promise.resolve(unsigned(signing))],
    ['with a broken signature', async () => (await requestObject(signing)).replace(/.{8}$/, 'AAAAAAAA')],
    ['of another client', () => requestObject(signing, { iss: client.clientId })],
    ['by the key of another client', () => foreignObject()],
  ];
  const foreignObject = async () => {
    const { privateKey } = await generateKeyPair('ES256');
    return new SignJWT(decodeJwt(await requestObject(signing)))
      .setProtectedHeader({ alg: 'ES256', kid: 'ES256' })
      .sign(privateKey);
  };
  const unsigned = (rp: TestClient) =>
    new UnsecuredJWT({
      ...requestOf(rp, { response_mode: 'jwt' }),
      iss: rp.clientId,
      aud: service.issuer,
      nbf: now(),
      exp: now() + 300,
    }).encode();
  test.each(refusals)('%s is refused as JSON (FAPI 2.0 MS 5.3.1, protocols P31, P37)', async (_what, object) => {
    const answer = await pushObject(await object());
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request_object' } });
  });

  test('whose nbf is 8 seconds ahead, or whose aud is a list with the issuer, is accepted (FAPI 2.0 MS 5.3.1, protocols P37)', async () => {
    for (const change of [{ nbf: now() + 8 }, { aud: ['https://other.example', service.issuer] }])
      expect(await pushObject(await requestObject(signing, change))).toMatchObject({ status: 201 });
  });

  test('with a jti is accepted once (FAPI 2.0 MS 5.3.1)', async () => {
    const object = await requestObject(signing, { jti: crypto.randomUUID() });
    const answers = await Promise.all([1, 2, 3].map(() => pushObject(object)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
  });

  test('alone counts: the parameters beside it at /par and at /authorize do not (RFC 9101 6.3, protocols P38)', async () => {
    const beside = { scope: 'openid profile', state: 'outside', redirect_uri: 'https://evil.example/' };
    const pushed = await pushObject(await requestObject(signing, { state: undefined }), signing, beside);
    expect(pushed).toMatchObject({ status: 201 });
    const query = new URLSearchParams({
      client_id: signing.clientId,
      request_uri: pushed.body['request_uri'] as string,
      state: 'outside',
    });
    const page = await agent.get(`${service.issuer}/authorize?${query.toString()}`);
    expect(page.location).toMatch(`${signing.redirectUri}?`);
    const response = await responseJwt(page);
    expect(response).not.toHaveProperty('state');
    expect((await redeem(response['code'] as string, signing)).body).not.toMatchObject({
      scope: expect.stringContaining('profile'),
    });
  });

  test('is required of a client with the Security Profile that registered so, whose responses stay plain (FAPI 2.0 MS 5.3)', async () => {
    expect(await push({}, requesting)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    const pushed = await pushObject(await requestObject(requesting), requesting);
    expect(pushed).toMatchObject({ status: 201 });
    const response = responseParameters(await open(pushed, agent, requesting));
    expect(response).toMatchObject({ code: any, state: 's', iss: service.issuer });
    expect(await redeem(response['code']!, requesting)).toMatchObject({ status: 200 });
  });

  test('of a client with the Security Profile obeys the same rules where it is sent (FAPI 2.0 MS 5.3, protocols P37)', async () => {
    expect(await pushObject(await requestObject(client), client)).toMatchObject({ status: 201 });
    const untimed = await requestObject(client, { nbf: undefined });
    expect(await pushObject(untimed, client)).toMatchObject({ status: 400, body: { error: 'invalid_request_object' } });
    const free = await requestObject(common, { nbf: undefined, exp: undefined });
    expect(await pushObject(free, common)).toMatchObject({ status: 201 });
  });
});

describe('with Message Signing, a response', () => {
  test('is a JWT or refused (FAPI 2.0 MS 5.4)', async () => {
    for (const response_mode of [undefined, 'query', 'form_post']) {
      const answer = await pushObject(await requestObject(signing, { response_mode }));
      expect(answer, response_mode).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    }
  });

  test('to an introspection is a JWT by ES256, whatever the caller accepts (FAPI 2.0 MS 5.5)', async () => {
    const form = {
      token: 'gh_at_unknown',
      client_assertion: await assertion(signing),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    const { access_token: token } = (await post('/token', { grant_type: 'client_credentials' }, signing)).body;
    const response = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({ ...form, token: token as string }),
    });
    expect(response.headers.get('content-type')).toBe('application/token-introspection+jwt');
    const jwks = createRemoteJWKSet(new URL(`${service.issuer}/jwks`));
    const { payload } = await jwtVerify(await response.text(), jwks, { algorithms: ['ES256'] });
    expect(payload).toMatchObject({ aud: signing.clientId, token_introspection: { active: true } });
  });
});

describe('discovery', () => {
  test('has an allowed algorithm in each list, and a list where a module reads one (FAPI 2.0 SP 5.4, JARM 4)', async () => {
    const { body } = await call(`${service.issuer}/.well-known/openid-configuration`);
    const signatures = Object.keys(body).filter((name) => name.endsWith('signing_alg_values_supported'));
    expect(signatures).toEqual(
      expect.arrayContaining([
        'id_token_signing_alg_values_supported',
        'userinfo_signing_alg_values_supported',
        'request_object_signing_alg_values_supported',
        'authorization_signing_alg_values_supported',
        'token_endpoint_auth_signing_alg_values_supported',
        'dpop_signing_alg_values_supported',
      ]),
    );
    for (const name of signatures)
      expect(
        (body[name] as string[]).some((alg) => ['PS256', 'ES256', 'EdDSA'].includes(alg)),
        name,
      ).toBe(true);
    for (const name of ['alg', 'enc'])
      expect(body[`authorization_encryption_${name}_values_supported`]).toEqual(expect.any(Array));
    expect(body).toMatchObject({
      token_endpoint_auth_methods_supported: expect.arrayContaining(['private_key_jwt']) as unknown,
      code_challenge_methods_supported: expect.arrayContaining(['S256']) as unknown,
      response_modes_supported: expect.arrayContaining([
        'jwt',
        'query.jwt',
        'fragment.jwt',
        'form_post.jwt',
      ]) as unknown,
      authorization_response_iss_parameter_supported: true,
      pushed_authorization_request_endpoint: `${service.issuer}/par`,
    });
  });
});

describe('oauth4webapi with a private key and DPoP', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const metadata = async () => {
    const issuer = new URL(service.issuer);
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  };

  test.each<[string, () => TestClient, { signed: boolean; jarm: boolean }]>([
    ['a plain pushed request', () => client, { signed: false, jarm: false }],
    ['a signed request object and a plain response', () => requesting, { signed: true, jarm: false }],
    ['a signed request object and a response as a JWT', () => signing, { signed: true, jarm: true }],
  ])(
    'signs in with OpenID Connect by %s, and reads UserInfo (FAPI 2.0 SP, FAPI 2.0 MS)',
    async (_how, of, { signed, jarm }) => {
      const as = await metadata();
      const { clientId, redirectUri } = of();
      const rp: oauth.Client = {
        client_id: clientId,
        id_token_signed_response_alg: 'ES256',
        authorization_signed_response_alg: 'ES256',
      };
      const DPoP = oauth.DPoP(rp, await oauth.generateKeyPair('ES256'));
      const authentication = oauth.PrivateKeyJwt({ key: keys['ES256']!, kid: 'ES256' });
      const verifier = oauth.generateRandomCodeVerifier();
      const nonce = oauth.generateRandomNonce();
      const parameters = {
        response_type: 'code',
        scope: 'openid',
        redirect_uri: redirectUri,
        state: 's',
        nonce,
        code_challenge_method: 'S256',
        ...(jarm && { response_mode: 'jwt' }),
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      };
      const request = signed
        ? { request: await oauth.issueRequestObject(as, rp, parameters, { key: keys['ES256']!, kid: 'ES256' }) }
        : parameters;
      const pushed = await oauth.processPushedAuthorizationResponse(
        as,
        rp,
        await oauth.pushedAuthorizationRequest(as, rp, authentication, request, { ...insecure, DPoP }),
      );
      const query = new URLSearchParams({ client_id: rp.client_id, request_uri: pushed.request_uri });
      const page = await agent.get(`${as.authorization_endpoint}?${query.toString()}`);
      const address = new URL(page.location!);
      const callback = jarm
        ? await oauth.validateJwtAuthResponse(as, rp, address, 's', insecure)
        : oauth.validateAuthResponse(as, rp, address, 's');
      const response = await oauth.authorizationCodeGrantRequest(
        as,
        rp,
        authentication,
        callback,
        redirectUri,
        verifier,
        { ...insecure, DPoP },
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, rp, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: user.sub });
      const info = await oauth.userInfoRequest(as, rp, tokens.access_token, { ...insecure, DPoP });
      expect(await oauth.processUserInfoResponse(as, rp, user.sub, info)).toMatchObject({ sub: user.sub });
    },
  );

  test('gets a token of its own by client credentials (FAPI 2.0 SP)', async () => {
    const as = await metadata();
    const rp: oauth.Client = { client_id: client.clientId };
    const DPoP = oauth.DPoP(rp, await oauth.generateKeyPair('ES256'));
    const authentication = oauth.PrivateKeyJwt({ key: keys['ES256']!, kid: 'ES256' });
    const response = await oauth.clientCredentialsGrantRequest(as, rp, authentication, {}, { ...insecure, DPoP });
    expect(await oauth.processClientCredentialsResponse(as, rp, response)).toMatchObject({ token_type: 'dpop' });
  });
});

/** A JWS by PS256 with a key that is too short for libraries to use. */
function signedPs256(key: KeyObject, payload: JWTPayload): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${part({ alg: 'PS256', kid: 'PS256' })}.${part(payload)}`;
  const signature = signBytes('sha256', Buffer.from(content), {
    key,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  });
  return `${content}.${signature.toString('base64url')}`;
}
