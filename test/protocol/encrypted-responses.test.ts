// The service encrypts ID Tokens and UserInfo responses to the client's key: nested JWTs, the choice of the key, and unusable key sets.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  compactDecrypt,
  createRemoteJWKSet,
  type CryptoKey,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
} from 'jose';
import * as openid from 'openid-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adminToken, call, obtainCode, obtainTokens, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, testRedirectUri, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

interface Pair {
  privateKey: CryptoKey;
  jwk: JWK;
}

let service: TestService;
let user: { sub: string; username: string; password: string };
let keyServer: Server;
let keyServerPort: number;
/** The response of the client's key server. */
let published: { status: number; body: string };
let rsa: Pair;
let older: Pair;
let ec: Pair;
let x25519: Pair;
let signing: Pair;

beforeAll(async () => {
  published = { status: 200, body: '' };
  keyServer = createServer((_request, response) => {
    response.writeHead(published.status, { 'content-type': 'application/json' }).end(published.body);
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  keyServerPort = (keyServer.address() as AddressInfo).port;
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${keyServerPort}` },
  });
  user = await service.createUser({ email: 'ada@example.com', claims: { name: 'Ada' } });
  rsa = await pair('RSA-OAEP-256', { kid: 'rsa', use: 'enc' });
  older = await pair('RSA-OAEP', { kid: 'older', use: 'enc' });
  ec = await pair('ECDH-ES', { kid: 'ec', use: 'enc' });
  x25519 = await pair('ECDH-ES', { kid: 'x25519' }, { crv: 'X25519' });
  signing = await pair('RS256', { kid: 'signing', use: 'sig' });
});
afterAll(async () => {
  await service?.stop();
  keyServer?.close();
});

async function pair(
  alg: string,
  members: Partial<JWK>,
  options: { crv?: string; modulusLength?: number } = {},
): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true, ...options });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), ...members } };
}

/** Values that look like keys, but cannot encrypt. */
const brokenKeys = () => [
  { kty: 'RSA', n: 'AQ', e: 'AQAB' },
  { kty: 'RSA', n: rsa.jwk.n!.slice(0, 171), e: 'AQAB' },
  { kty: 'RSA', n: `${rsa.jwk.n}`.repeat(10), e: 'AQAB' },
  { ...rsa.jwk, e: rsa.jwk.n },
  { ...rsa.jwk, n: 5 },
  { kty: 'RSA' },
];

/** Decrypts and verifies a nested JWT, as a relying party does. */
async function open(token: string, key: Pair, client: TestClient) {
  const { plaintext, protectedHeader } = await compactDecrypt(token, key.privateKey);
  const signed = new TextDecoder().decode(plaintext);
  const { payload } = await jwtVerify(signed, createRemoteJWKSet(new URL(`${service.issuer}/jwks`)), {
    issuer: service.issuer,
    audience: client.clientId,
  });
  return { payload, header: protectedHeader, signed };
}

const userinfo = (token: string) =>
  fetch(`${service.issuer}/user/info`, { headers: { authorization: `Bearer ${token}`, accept: 'application/json' } });

describe('an ID Token', () => {
  test.each([
    ['RSA-OAEP-256', '', () => rsa],
    ['RSA-OAEP-256', 'A256GCM', () => rsa],
    ['RSA-OAEP', 'A128GCM', () => older],
    ['ECDH-ES', 'A128CBC-HS256', () => ec],
    ['ECDH-ES+A128KW', 'A256CBC-HS512', () => ec],
    ['ECDH-ES+A256KW', 'A256GCM', () => ec],
    ['ECDH-ES', 'A256GCM', () => x25519],
  ])(
    "by %s and %s is signed, then encrypted to the client's key (OpenID Connect Core 10.2, 16.14)",
    async (alg, enc, of) => {
      const key = of();
      const client = await service.createClient({
        id_token_encrypted_response_alg: alg,
        ...(enc && { id_token_encrypted_response_enc: enc }),
        // the key set contains keys for other uses and of other types
        jwks: { keys: [signing.jwk, key.jwk] },
      });
      const tokens = await obtainTokens(service, client, user, { nonce: 'n' });
      const { payload, header } = await open(tokens.id_token, key, client);
      expect(header).toMatchObject({ alg, enc: enc || 'A128CBC-HS256', cty: 'JWT', kid: key.jwk.kid });
      expect(payload).toMatchObject({ sub: user.sub, nonce: 'n', at_hash: expect.any(String) });
      const renewed = await refresh(service.issuer, client, tokens.refresh_token);
      expect((await open(renewed.body['id_token'] as string, key, client)).payload.sub).toBe(user.sub);
    },
  );

  test('from the authorization endpoint is encrypted in the same way (OpenID Connect Core 3.2.2.10)', async () => {
    const client = await service.createClient({
      response_types: ['code id_token', 'id_token'],
      grant_types: ['authorization_code', 'implicit'],
      id_token_encrypted_response_alg: 'ECDH-ES',
      jwks: { keys: [ec.jwk] },
    });
    for (const response_type of ['code id_token', 'id_token']) {
      const page = await new UserAgent(service).authorize(client, user, { response_type, nonce: 'n' });
      const token = new URLSearchParams(new URL(page.location!).hash.slice(1)).get('id_token')!;
      const { payload } = await open(token, ec, client);
      expect(payload).toMatchObject({ sub: user.sub, nonce: 'n' });
      expect('c_hash' in payload).toBe(response_type !== 'id_token');
    }
  });

  test('is accepted as a hint in its inner, signed form only, since the service cannot decrypt the outer one (OpenID Connect Core 3.1.2.1)', async () => {
    const client = await service.createClient({
      id_token_encrypted_response_alg: 'RSA-OAEP-256',
      jwks: { keys: [rsa.jwk] },
    });
    const agent = new UserAgent(service);
    const { id_token } = await obtainTokens(service, client, user, {}, agent);
    const { signed } = await open(id_token, rsa, client);
    const silent = async (hint: string) =>
      new URL(
        (await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none', id_token_hint: hint }))).location!,
      ).searchParams;
    expect((await silent(signed)).has('code')).toBe(true);
    expect((await silent(id_token)).get('error')).toBe('invalid_request');
  });

  test('is encrypted to the encryption key, and never to a key for signatures or of another type (RFC 7517 4.2)', async () => {
    const plain = await pair('RSA-OAEP-256', { kid: 'plain' });
    const client = await service.createClient({
      id_token_encrypted_response_alg: 'RSA-OAEP-256',
      jwks: { keys: [signing.jwk, ec.jwk, plain.jwk, { ...rsa.jwk, alg: 'RSA-OAEP-256' }] },
    });
    const { id_token } = await obtainTokens(service, client, user);
    expect(decodeProtectedHeader(id_token).kid).toBe('rsa');
  });
});

describe('UserInfo', () => {
  test('that is signed and encrypted is a nested JWT (OpenID Connect Core 5.3.2)', async () => {
    const client = await service.createClient({
      userinfo_signed_response_alg: 'ES256',
      userinfo_encrypted_response_alg: 'ECDH-ES+A256KW',
      userinfo_encrypted_response_enc: 'A256GCM',
      jwks: { keys: [ec.jwk] },
    });
    const { access_token, id_token } = await obtainTokens(service, client, user, { scope: 'openid profile' });
    expect(id_token.split('.')).toHaveLength(3);
    const response = await userinfo(access_token);
    expect(response.headers.get('content-type')).toBe('application/jwt');
    const { payload, header } = await open(await response.text(), ec, client);
    expect(header).toMatchObject({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', cty: 'JWT' });
    expect(payload).toMatchObject({ sub: user.sub, name: 'Ada' });
  });

  test('that is only encrypted contains the claims themselves (OpenID Connect Core 5.3.2)', async () => {
    const client = await service.createClient({
      userinfo_encrypted_response_alg: 'RSA-OAEP-256',
      jwks: { keys: [rsa.jwk] },
    });
    const { access_token } = await obtainTokens(service, client, user, { scope: 'openid profile' });
    const response = await userinfo(access_token);
    expect(response.headers.get('content-type')).toBe('application/jwt');
    const { plaintext, protectedHeader } = await compactDecrypt(await response.text(), rsa.privateKey);
    expect(protectedHeader.cty).toBeUndefined();
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toMatchObject({ sub: user.sub, name: 'Ada' });
  });
});

test('openid-client decrypts and verifies an ID Token and a UserInfo response (OpenID Connect Core 3.1.3.7)', async () => {
  const client = await service.createClient({
    id_token_encrypted_response_alg: 'RSA-OAEP-256',
    id_token_encrypted_response_enc: 'A256GCM',
    userinfo_signed_response_alg: 'RS256',
    userinfo_encrypted_response_alg: 'RSA-OAEP-256',
    userinfo_encrypted_response_enc: 'A256GCM',
    jwks: { keys: [rsa.jwk] },
  });
  const configuration = await openid.discovery(
    new URL(service.issuer),
    client.clientId,
    { userinfo_signed_response_alg: 'RS256' },
    openid.ClientSecretBasic(client.clientSecret),
    { execute: [openid.allowInsecureRequests] },
  );
  openid.enableNonRepudiationChecks(configuration);
  openid.enableDecryptingResponses(configuration, ['A256GCM'], {
    key: rsa.privateKey,
    kid: 'rsa',
    alg: 'RSA-OAEP-256',
  });
  const address = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: testRedirectUri,
    scope: 'openid profile',
  });
  const agent = new UserAgent(service);
  let page = await agent.signIn(user, await agent.follow(await agent.get(address.href)));
  if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
  const tokens = await openid.authorizationCodeGrant(configuration, new URL(page.location!));
  expect(tokens.claims()).toMatchObject({ sub: user.sub });
  const claims = await openid.fetchUserInfo(configuration, tokens.access_token, user.sub);
  expect(claims).toMatchObject({ sub: user.sub, name: 'Ada' });
});

describe('a jwks_uri', () => {
  let client: TestClient;
  beforeEach(async () => {
    published = { status: 200, body: JSON.stringify({ keys: [rsa.jwk] }) };
    client = await service.createClient({
      id_token_encrypted_response_alg: 'RSA-OAEP-256',
      userinfo_encrypted_response_alg: 'RSA-OAEP-256',
      jwks_uri: `http://127.0.0.1:${keyServerPort}/${crypto.randomUUID()}`,
      response_types: ['code', 'id_token'],
      grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    });
  });

  test.each([
    ['that does not answer', 503, 503, 'temporarily_unavailable', () => ({ status: 500, body: '' })],
    ['that serves no key set', 503, 503, 'temporarily_unavailable', () => ({ status: 200, body: 'nothing' })],
    [
      'without a suitable key',
      400,
      400,
      'invalid_request',
      () => ({ status: 200, body: JSON.stringify({ keys: [signing.jwk, null, ...brokenKeys()] }) }),
    ],
  ])(
    '%s is a clear error, and the client loses neither its code nor its refresh token (decisions section 4)',
    async (_what, atToken, atUserinfo, error, state) => {
      const code = await obtainCode(service, client, user);
      const good = published;
      published = state();
      const refused = await redeem(service.issuer, client, code);
      expect(refused).toMatchObject({
        status: atToken,
        body: { error, error_description: expect.stringMatching(/key set/) },
      });
      if (atToken === 503) expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      published = good;
      await forgetKeys(client);
      const tokens = await redeem(service.issuer, client, code);
      expect(tokens.status).toBe(200);

      published = state();
      await forgetKeys(client);
      const refreshToken = tokens.body['refresh_token'] as string;
      expect(await refresh(service.issuer, client, refreshToken)).toMatchObject({ status: atToken, body: { error } });
      const response = await userinfo(tokens.body['access_token'] as string);
      expect(response.status).toBe(atUserinfo);
      expect(await response.json()).toMatchObject({ error });
      const page = await new UserAgent(service).authorize(client, user, { response_type: 'id_token', nonce: 'n' });
      expect(Object.fromEntries(new URLSearchParams(new URL(page.location!).hash.slice(1)))).toMatchObject({ error });
      published = good;
      await forgetKeys(client);
      expect(await refresh(service.issuer, client, refreshToken)).toMatchObject({ status: 200 });
    },
  );

  /** Changes the client's jwks_uri, so that the service fetches the key set again. */
  async function forgetKeys({ clientId }: TestClient): Promise<void> {
    const answer = await call(`${service.issuer}/admin/api/clients/${clientId}`, {
      method: 'PATCH',
      token: await adminToken(service),
      body: { jwks_uri: `http://127.0.0.1:${keyServerPort}/${crypto.randomUUID()}` },
    });
    expect(answer.status).toBe(200);
  }
});

describe('registration', () => {
  const register = (metadata: Record<string, unknown>) =>
    call(`${service.issuer}/register`, { body: { redirect_uris: [testRedirectUri], ...metadata } });

  test.each(['id_token', 'userinfo'])(
    'of %s returns the default of enc (OpenID Connect Registration 2)',
    async (of) => {
      const answer = await register({ [`${of}_encrypted_response_alg`]: 'RSA-OAEP-256', jwks: { keys: [rsa.jwk] } });
      expect(answer).toMatchObject({
        status: 201,
        body: { [`${of}_encrypted_response_alg`]: 'RSA-OAEP-256', [`${of}_encrypted_response_enc`]: 'A128CBC-HS256' },
      });
    },
  );

  test.each([
    ['enc without alg', () => ({ id_token_encrypted_response_enc: 'A256GCM', jwks: { keys: [rsa.jwk] } })],
    ['enc of UserInfo without alg', () => ({ userinfo_encrypted_response_enc: 'A256GCM', jwks: { keys: [rsa.jwk] } })],
    ['alg without a key set', () => ({ id_token_encrypted_response_alg: 'RSA-OAEP-256' })],
    [
      'alg with keys of another type',
      () => ({ id_token_encrypted_response_alg: 'ECDH-ES', jwks: { keys: [rsa.jwk] } }),
    ],
    [
      'alg with keys for signatures',
      () => ({ id_token_encrypted_response_alg: 'RSA-OAEP', jwks: { keys: [signing.jwk] } }),
    ],
    ['RSA1_5', () => ({ id_token_encrypted_response_alg: 'RSA1_5', jwks: { keys: [rsa.jwk] } })],
    ['dir', () => ({ userinfo_encrypted_response_alg: 'dir', jwks: { keys: [rsa.jwk] } })],
    [
      'an unknown enc',
      () => ({
        userinfo_encrypted_response_alg: 'RSA-OAEP',
        userinfo_encrypted_response_enc: 'A128CBC',
        jwks: { keys: [rsa.jwk] },
      }),
    ],
  ])('of %s is refused (OpenID Connect Registration 2)', async (_what, metadata) => {
    expect(await register(metadata())).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });
});
