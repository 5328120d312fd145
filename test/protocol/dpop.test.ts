// Tokens are bound to a key of the client by DPoP proofs, at each grant type, each resource and each kind of token (RFC 9449).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowPolls, askForCodes, decide, type DeviceCodes, deviceMetadata } from '../helpers/device.ts';
import { newProofKey, post, postWithProof, present, proofFor, type ProofKey } from '../helpers/dpop.ts';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { adminToken, call, obtainCode, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { pkce, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let client: TestClient;
let browserClient: TestClient;
let machine: TestClient;
let user: TestUser;
let agent: UserAgent;
let key: ProofKey;
let other: ProofKey;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  client = await service.createClient({ scope: 'openid email offline_access' });
  browserClient = await service.createClient({ token_endpoint_auth_method: 'none', scope: 'openid email' });
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' });
  user = await service.createUser({ email: 'ada@example.org' });
  agent = new UserAgent(service);
  [key, other] = [await newProofKey(), await newProofKey('EdDSA')];
});
afterAll(() => service?.stop());

/** A code of the client, and what its redemption must send. */
async function newGrant(of = client, parameters: Record<string, string> = {}): Promise<Record<string, string>> {
  const { code_verifier, ...challenge } = pkce();
  const code = await obtainCode(service, of, user, { scope: 'openid email', ...challenge, ...parameters }, agent);
  return { grant_type: 'authorization_code', code, redirect_uri: of.redirectUri, code_verifier };
}
const token = (of: TestClient, parameters: Record<string, string>, by = key) =>
  postWithProof(service, '/token', of, parameters, by);
/** The tokens of a code grant with a proof. */
async function boundTokens(of = client, by = key): Promise<Record<string, string>> {
  const { status, body } = await token(of, await newGrant(of), by);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Record<string, string>;
}
const refreshWith = (refreshToken: string) => ({
  grant_type: 'refresh_token',
  refresh_token: refreshToken,
});

describe('token requests', () => {
  test.each(['ES256', 'EdDSA', 'Ed25519', 'PS256'])(
    'a proof by %s binds the access token (RFC 9449 5)',
    async (alg) => {
      const by = await newProofKey(alg);
      const tokens = await boundTokens(client, by);
      expect(tokens['token_type']).toBe('DPoP');
      const { status, body } = await present(service, '/user/info', tokens['access_token']!, by);
      expect([status, body['email']]).toEqual([200, 'ada@example.org']);
    },
  );

  test('without a proof the token is a Bearer token, as before (RFC 6750)', async () => {
    const { body } = await post(`${service.issuer}/token`, client, await newGrant());
    expect(body['token_type']).toBe('Bearer');
    expect((await call(`${service.issuer}/user/info`, { token: body['access_token'] as string })).status).toBe(200);
  });

  test('introspection shows the key and the type of a bound token (RFC 9449 6.2)', async () => {
    const tokens = await boundTokens();
    const { body } = await introspect(service.issuer, client, tokens['access_token']!);
    expect(body).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: key.jkt } });
    const unbound = await redeem(service.issuer, client, (await newGrant())['code']!, {});
    expect(unbound.body['error']).toBe('invalid_grant');
    const code = await obtainCode(service, client, user, { scope: 'openid' }, agent);
    const bearer = await redeem(service.issuer, client, code);
    const shown = await introspect(service.issuer, client, bearer.body['access_token'] as string);
    expect(shown.body).toMatchObject({ active: true, token_type: 'Bearer' });
    expect(shown.body).not.toHaveProperty('cnf');
  });

  test('a client gets a bound token of its own, which serves at the admin API with a proof only (RFC 9449 5, 7)', async () => {
    const { status, body } = await token(machine, { grant_type: 'client_credentials' });
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    const bound = body['access_token'] as string;
    expect((await present(service, '/admin/api/clients?limit=1', bound, key)).status).toBe(200);
    const dpop = await proofFor(key, `${service.issuer}/metrics`, { method: 'GET', token: bound });
    const headers = { authorization: `DPoP ${bound}`, dpop };
    expect((await fetch(`${service.issuer}/metrics`, { headers })).status).toBe(200);
    expect((await call(`${service.issuer}/admin/api/clients`, { token: bound })).status).toBe(401);
    expect((await present(service, '/admin/api/clients', bound, other)).status).toBe(401);
  });

  test('a proof that is used again by another request is refused, and the code stays (RFC 9449 11.1)', async () => {
    const proof = await proofFor(key, `${service.issuer}/token`);
    const grant = await newGrant();
    expect((await post(`${service.issuer}/token`, client, await newGrant(), proof)).status).toBe(200);
    for (const base of service.instances) {
      const again = await post(`${base}/token`, client, grant, proof);
      expect(again).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
      const own = await post(`${base}/token`, machine, { grant_type: 'client_credentials' }, proof);
      expect(own).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
    }
    expect((await token(client, grant)).status).toBe(200);
    const [event] = await service.database.sql(
      `SELECT * FROM audit_events WHERE type = 'dpop.replayed' AND client_id = $1`,
      [machine.clientId],
    );
    expect(event).toMatchObject({ outcome: 'failure', actor: machine.clientId });
  });

  test('of requests with one proof at the same time, one succeeds (RFC 9449 11.1)', async () => {
    for (let round = 0; round < 5; round++) {
      const proof = await proofFor(key, `${service.issuer}/token`);
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          post(`${service.instances[index % 2]}/token`, machine, { grant_type: 'client_credentials' }, proof),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(11).fill(400)]);
    }
  });
});

describe('refresh tokens', () => {
  test('those of a public client need a proof of the same key for ever (RFC 9449 5)', async () => {
    let { refresh_token: current } = await boundTokens(browserClient);
    for (let round = 0; round < 3; round++) {
      const parameters = refreshWith(current!);
      const without = await post(`${service.issuer}/token`, browserClient, parameters);
      expect(without).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      const byOther = await token(browserClient, parameters, other);
      expect(byOther).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      const renewed = await token(browserClient, parameters);
      expect(renewed).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
      expect((await present(service, '/user/info', renewed.body['access_token'] as string, key)).status).toBe(200);
      current = renewed.body['refresh_token'] as string;
    }
  });

  test('one that a public client got without a proof is bound at its first use with one (RFC 9449 5)', async () => {
    const { body } = await post(`${service.issuer}/token`, browserClient, await newGrant(browserClient));
    const bound = await token(browserClient, refreshWith(body['refresh_token'] as string));
    expect(bound).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    const next = refreshWith(bound.body['refresh_token'] as string);
    for (const answer of [
      await post(`${service.issuer}/token`, browserClient, next),
      await token(browserClient, next, other),
    ])
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await token(browserClient, next)).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
  });

  test('those of a confidential client are bound to its authentication, and not to the key (RFC 9449 5)', async () => {
    const tokens = await boundTokens();
    const without = await refresh(service.issuer, client, tokens['refresh_token']!);
    expect(without).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
  });
});

describe('codes', () => {
  test.each(['dpop_jkt at /authorize', 'dpop_jkt at /par', 'a proof at /par'])(
    'with %s, only the same key redeems the code, which stays after others (RFC 9449 10, 10.1)',
    async (how) => {
      const { code_verifier, ...challenge } = pkce();
      const asked = { response_type: 'code', scope: 'openid email', redirect_uri: client.redirectUri, ...challenge };
      let parameters: Record<string, string> = { ...asked, dpop_jkt: key.jkt };
      if (how !== 'dpop_jkt at /authorize') {
        const pushed =
          how === 'a proof at /par'
            ? await postWithProof(service, '/par', client, asked, key)
            : await post(`${service.issuer}/par`, client, parameters);
        expect(pushed.status).toBe(201);
        parameters = { request_uri: pushed.body['request_uri'] as string };
      }
      const code = await obtainCode(service, client, user, parameters, agent);
      const grant = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, code_verifier };
      const refusal = { status: 400, body: { error: 'invalid_grant' } };
      expect(await post(`${service.issuer}/token`, client, grant)).toMatchObject(refusal);
      expect(await token(client, grant, other)).toMatchObject(refusal);
      expect(await token(client, grant)).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    },
  );

  test('the fifth wrong key ends the code (RFC 9449 11.9, security R16)', async () => {
    const grant = await newGrant(client, { dpop_jkt: key.jkt });
    for (let count = 0; count < 5; count++) expect((await token(client, grant, other)).status).toBe(400);
    expect(await token(client, grant)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const [event] = await service.database.sql(`SELECT detail FROM audit_events WHERE type = 'code.burned'`);
    expect(event).toMatchObject({ detail: { failure: 'key' } });
  });

  test('a pushed request counts its proof once (RFC 9449 11.1)', async () => {
    const proof = await proofFor(key, `${service.issuer}/par`);
    const asked = { response_type: 'code', scope: 'openid', redirect_uri: client.redirectUri };
    expect((await post(`${service.issuer}/par`, client, asked, proof)).status).toBe(201);
    const again = await post(`${service.instances[1]}/par`, client, asked, proof);
    expect(again).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
  });
});

describe('devices', () => {
  const device = () => service.createClient({ ...deviceMetadata, token_endpoint_auth_method: 'none' });

  test('a device that asks with a proof redeems its code by the same key, and its refresh token is bound (RFC 9449 5)', async () => {
    const tv = await device();
    const asked = await postWithProof(service, '/device_authorization', tv, { scope: 'openid offline_access' }, key);
    expect(asked.status).toBe(200);
    const codes = asked.body as unknown as DeviceCodes;
    await decide(agent, codes, 'allow');
    await allowPolls(service);
    const grant = { grant_type: deviceGrant, device_code: codes.device_code };
    const answer = await token(tv, grant);
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    const refreshToken = answer.body['refresh_token'] as string;
    expect((await token(tv, refreshWith(refreshToken), other)).status).toBe(400);
    expect((await token(tv, refreshWith(refreshToken))).status).toBe(200);
  });

  test('a device authorization request counts its proof once (RFC 9449 11.1)', async () => {
    const tv = await device();
    const proof = await proofFor(key, `${service.issuer}/device_authorization`);
    expect((await askForCodes(service.issuer, tv, {}, { dpop: proof })).status).toBe(200);
    const again = await askForCodes(service.issuer, tv, {}, { dpop: proof });
    expect(again).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
  });
});

describe('clients that take bound tokens only', () => {
  let bound: TestClient;
  beforeAll(async () => {
    bound = await service.createClient({ dpop_bound_access_tokens: true, scope: 'openid email' });
  });

  test('a token request without a proof is refused, and leaves the code and the refresh token (RFC 9449 5.2)', async () => {
    const grant = await newGrant(bound);
    const refusal = { status: 400, body: { error: 'invalid_dpop_proof' } };
    expect(await post(`${service.issuer}/token`, bound, grant)).toMatchObject(refusal);
    const { status, body } = await token(bound, grant);
    expect(status).toBe(200);
    const refreshing = refreshWith(body['refresh_token'] as string);
    expect(await post(`${service.issuer}/token`, bound, refreshing)).toMatchObject(refusal);
    expect(await token(bound, refreshing, other)).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
  });
});

describe('resources', () => {
  let admin: string;
  let server: TestClient;
  beforeAll(async () => {
    admin = await adminToken(service);
    server = await service.createClient();
    for (const [resource, members] of [
      ['https://bound.example', { binding: 'dpop' }],
      ['https://any.example', { binding: 'any', access_token_format: 'jwt' }],
    ] as const)
      expect(
        await call(`${service.issuer}/admin/api/resources`, {
          token: admin,
          body: { resource, name: resource, client_id: server.clientId, clients: 'approved', ...members },
        }),
      ).toMatchObject({ status: 201, body: { binding: members.binding } });
  });

  test.each(['https://bound.example', 'https://any.example'])(
    '%s, which demands it, gets only bound tokens by each grant type (RFC 9449 5)',
    async (resource) => {
      const refusal = { status: 400, body: { error: 'invalid_dpop_proof' } };
      const bare = (of: TestClient, parameters: Record<string, string>) =>
        post(`${service.issuer}/token`, of, parameters);
      const own = { grant_type: 'client_credentials', resource };
      expect(await bare(machine, own)).toMatchObject(refusal);
      expect(await token(machine, own)).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
      const grant = await newGrant(client, { resource });
      expect(await bare(client, grant)).toMatchObject(refusal);
      const tokens = await token(client, grant);
      expect(tokens).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
      const refreshing = refreshWith(tokens.body['refresh_token'] as string);
      expect(await bare(client, refreshing)).toMatchObject(refusal);
      expect((await token(client, refreshing)).status).toBe(200);
      const shown = await introspect(service.issuer, server, tokens.body['access_token'] as string);
      expect(shown.body).toMatchObject({ active: true, cnf: { jkt: key.jkt } });
    },
  );

  test('a JWT access token names its key (RFC 9449 6.1)', async () => {
    const { body } = await token(machine, { grant_type: 'client_credentials', resource: 'https://any.example' });
    expect(decodeJwt(body['access_token'] as string)).toMatchObject({ cnf: { jkt: key.jkt } });
  });

  test('a browser gets no token for it, since no proof protects one there (RFC 9449 5)', async () => {
    const implicit = await service.createClient({
      grant_types: ['implicit'],
      response_types: ['id_token token'],
      scope: 'openid',
    });
    const page = await agent.authorize(implicit, user, {
      response_type: 'id_token token',
      nonce: 'n',
      resource: 'https://bound.example',
    });
    expect(page.location).toContain('error=invalid_target');
  });
});

test('the metadata name the algorithms of proofs (RFC 9449 5.1)', async () => {
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    const { body } = await call(`${service.issuer}/.well-known/${path}`);
    expect(body['dpop_signing_alg_values_supported']).toEqual(['ES256', 'EdDSA', 'PS256']);
  }
});
