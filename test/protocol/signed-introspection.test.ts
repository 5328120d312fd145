// POST /introspect returns a JWT to each caller that asks for it: signed, and encrypted where registered (RFC 9701).
import { compactDecrypt, createRemoteJWKSet, type CryptoKey, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const jwtType = 'application/token-introspection+jwt';
let service: TestService;
/** A resource server, whose own tokens are introspected. */
let server: TestClient;
/** Another client, which may not know the tokens of the first. */
let other: TestClient;
let token: string;
let privateKey: CryptoKey;
let encryption: Record<string, unknown>;

beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  const machine = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
  server = await service.createClient(machine);
  other = await service.createClient(machine);
  token = await tokenOf(server);
  const pair = await generateKeyPair('RSA-OAEP-256', { extractable: true });
  ({ privateKey } = pair);
  const key = { ...(await exportJWK(pair.publicKey)), kid: 'enc', use: 'enc' };
  encryption = { introspection_encrypted_response_alg: 'RSA-OAEP-256', jwks: { keys: [key] } };
});
afterAll(() => service?.stop());

async function tokenOf(client: TestClient): Promise<string> {
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  return (body as { access_token: string }).access_token;
}

async function introspect(caller: TestClient, value = token, accept = jwtType) {
  const response = await fetch(`${service.issuer}/introspect`, {
    method: 'POST',
    headers: { authorization: caller.basic, accept },
    body: new URLSearchParams({ token: value }),
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

async function verify(jwt: string, caller: TestClient, alg = 'RS256') {
  const { payload } = await jwtVerify(jwt, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)), {
    issuer: service.issuer,
    audience: caller.clientId,
    typ: 'token-introspection+jwt',
    algorithms: [alg],
  });
  return payload;
}

test('a caller that accepts it gets the members of the plain response in a signed JWT, and nothing beside (RFC 9701 5, security R148)', async () => {
  const plain = await introspect(server, token, 'application/json');
  expect(JSON.parse(plain.text)).toMatchObject({ active: true, client_id: server.clientId });
  for (const accept of [jwtType, `application/json;q=0.5, ${jwtType}`, 'Application/Token-Introspection+JWT; q=1']) {
    const { status, type, text } = await introspect(server, token, accept);
    expect({ status, type }).toEqual({ status: 200, type: jwtType });
    expect(await verify(text, server)).toEqual({
      iss: service.issuer,
      aud: server.clientId,
      iat: expect.any(Number),
      token_introspection: JSON.parse(plain.text),
    });
  }
});

test('every inactive token gets active false alone in a signed JWT (RFC 9701 5, security R77, R148, protocols P42)', async () => {
  const revoked = await tokenOf(server);
  const body = new URLSearchParams({ token: revoked });
  await fetch(`${service.issuer}/revoke`, { method: 'POST', headers: { authorization: server.basic }, body });
  for (const [caller, value] of [
    [server, revoked],
    [server, await tokenOf(other)],
    [other, token],
  ] as const) {
    const { status, text } = await introspect(caller, value);
    expect(status).toBe(200);
    expect(await verify(text, caller)).toMatchObject({ token_introspection: { active: false } });
    expect(Object.keys((await verify(text, caller))['token_introspection'] as object)).toEqual(['active']);
  }
});

test('a request that fails gets an error as JSON, not a JWT (RFC 9701 4, protocols P42)', async () => {
  const stranger = { ...server, basic: `Basic ${Buffer.from(`${server.clientId}:wrong`).toString('base64')}` };
  expect(await introspect(stranger)).toMatchObject({ status: 401, type: /json/ });
  const app = await service.createClient({ token_endpoint_auth_method: 'none' });
  expect(await introspect(app)).toMatchObject({ status: 401 });
  expect(await introspect(server, 'malformed')).toMatchObject({ status: 400 });
});

describe('a caller that registered an algorithm', () => {
  test.each(['RS256', 'ES256', 'PS256', 'EdDSA'])(
    '%s gets every response so, whatever it accepts (RFC 9701 6)',
    async (alg) => {
      const caller = await service.createClient({ introspection_signed_response_alg: alg });
      const { type, text } = await introspect(caller, token, 'application/json');
      expect(type).toBe(jwtType);
      await verify(text, caller, alg);
    },
  );

  test('HS256 verifies the response with its secret (RFC 9701 6)', async () => {
    const caller = await service.createClient({ introspection_signed_response_alg: 'HS256' });
    const secret = new TextEncoder().encode(caller.clientSecret);
    const { payload } = await jwtVerify((await introspect(caller)).text, secret, { algorithms: ['HS256'] });
    expect(payload).toMatchObject({ aud: caller.clientId, token_introspection: { active: false } });
  });

  test('for encryption decrypts the response, and gets none if its key is gone (RFC 9701 5, 6)', async () => {
    const caller = await service.createClient(encryption);
    const { plaintext, protectedHeader } = await compactDecrypt((await introspect(caller)).text, privateKey);
    expect(protectedHeader).toMatchObject({ alg: 'RSA-OAEP-256', enc: 'A128CBC-HS256', cty: 'JWT' });
    await verify(new TextDecoder().decode(plaintext), caller);
    const lost = await service.createClient({
      introspection_encrypted_response_alg: 'RSA-OAEP-256',
      jwks_uri: 'https://127.0.0.1:1/jwks',
    });
    expect(await introspect(lost)).toMatchObject({ status: 503, type: /json/ });
  });
});

test('oauth4webapi and openid-client verify the response (RFC 9701 5)', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
  );
  expect(as.introspection_signing_alg_values_supported).toContain('RS256');
  for (const alg of [undefined, 'ES256']) {
    const metadata = { ...(alg !== undefined && { introspection_signed_response_alg: alg }) };
    const caller = await service.createClient({
      ...metadata,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    });
    const own = await tokenOf(caller);
    const rp = { client_id: caller.clientId, ...metadata };
    const authentication = oauth.ClientSecretBasic(caller.clientSecret);
    const options = { ...insecure, requestJwtResponse: true };
    const response = await oauth.introspectionRequest(as, rp, authentication, own, options);
    const members = await oauth.processIntrospectionResponse(as, rp, response);
    expect(members).toMatchObject({ active: true, client_id: caller.clientId });

    const config = await openid.discovery(
      issuer,
      caller.clientId,
      metadata,
      openid.ClientSecretBasic(caller.clientSecret),
      {
        execute: [openid.allowInsecureRequests],
      },
    );
    expect(await openid.tokenIntrospection(config, own)).toMatchObject({ active: true, client_id: caller.clientId });
  }
});

test('the JWT of a response is accepted as nothing else (RFC 8725 3.11, protocols P40, P42)', async () => {
  const user = await service.createUser();
  const rps = [
    await service.createClient({}, { firstParty: true }),
    await service.createClient(
      { id_token_signed_response_alg: 'HS256', introspection_signed_response_alg: 'HS256' },
      { firstParty: true },
    ),
  ];
  const agent = new UserAgent(service);
  await agent.signIn(user);
  for (const rp of rps) {
    const { text: jwt } = await introspect(rp);
    const hint = await agent.get(authorizationUrl(service.issuer, rp, { prompt: 'none', id_token_hint: jwt }));
    expect(responseParameters(hint)).toMatchObject({ error: 'invalid_request' });
    const object = await agent.get(authorizationUrl(service.issuer, rp, { request: jwt }));
    expect(responseParameters(object)).toMatchObject({ error: 'invalid_request_object' });
    const logout = await agent.get(`/logout?${new URLSearchParams({ id_token_hint: jwt }).toString()}`);
    expect(logout.location).toBeUndefined();
    expect(await call(`${service.issuer}/user/info`, { token: jwt })).toMatchObject({ status: 401 });
    expect(JSON.parse((await introspect({ ...other }, jwt, 'application/json')).text)).toEqual({ active: false });
    const asserted = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: jwt,
    });
    expect((await fetch(`${service.issuer}/token`, { method: 'POST', body: asserted })).status).toBe(401);
  }
});

test('an update that gives up encryption waits for an administrator (security R117)', async () => {
  const metadata = { redirect_uris: ['https://rp.example.com/cb'], ...encryption };
  const { body } = await call(`${service.issuer}/register`, { body: metadata });
  expect(body).toMatchObject({ ...encryption, introspection_encrypted_response_enc: 'A128CBC-HS256' });
  const clientId = body['client_id'] as string;
  await approveClient(service.issuer, await adminToken(service), clientId);
  const update = await call(body['registration_client_uri'] as string, {
    method: 'PUT',
    token: body['registration_access_token'] as string,
    body: { client_id: clientId, redirect_uris: metadata.redirect_uris },
  });
  expect(update).toMatchObject({ status: 200, body: { pending_changes: expect.anything() } });
});
