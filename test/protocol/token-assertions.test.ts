// Clients authenticate with private_key_jwt and client_secret_jwt, replays are refused, and keys may rotate (RFC 7523).
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, eventually, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
interface Pair {
  privateKey: CryptoKey;
  jwk: JWK;
}

let service: TestService;
let keyServer: Server;
let keyServerPort: number;
/** The response of the client's key server, and the number of requests to it. */
let published: { status: number; body: string; requests: number };
let pairs: Record<string, Pair>;
let byKey: TestClient;
let bySecret: TestClient;
let fetched: TestClient;

const grants = { grant_types: ['client_credentials'], redirect_uris: [] };
beforeAll(async () => {
  published = { status: 200, body: '', requests: 0 };
  keyServer = createServer((_request, response) => {
    published.requests++;
    response.writeHead(published.status, { 'content-type': 'application/json' }).end(published.body);
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  keyServerPort = (keyServer.address() as AddressInfo).port;
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${keyServerPort}` },
  });
  pairs = Object.fromEntries(await Promise.all(algorithms.map(async (alg) => [alg, await newPair(alg, `key-${alg}`)])));
  byKey = await service.createClient({
    ...grants,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: Object.values(pairs).map((pair) => pair.jwk) },
  });
  bySecret = await service.createClient({ ...grants, token_endpoint_auth_method: 'client_secret_jwt' });
  fetched = await service.createClient({
    ...grants,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `http://127.0.0.1:${keyServerPort}/jwks`,
  });
});
afterAll(async () => {
  await service?.stop();
  keyServer?.close();
});

async function newPair(alg: string, kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

const now = () => Math.floor(Date.now() / 1000);
const claims = (client: TestClient, change: JWTPayload = {}): JWTPayload => ({
  iss: client.clientId,
  sub: client.clientId,
  aud: `${service.issuer}/token`,
  jti: crypto.randomUUID(),
  iat: now(),
  exp: now() + 60,
  ...change,
});
const signed = (payload: JWTPayload, pair: Pair, header: Record<string, unknown> = {}) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: pair.jwk.alg!, ...(pair.jwk.kid && { kid: pair.jwk.kid }), ...header })
    .sign(pair.privateKey);
const hmac = (payload: JWTPayload, secret: string, alg = 'HS256') =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
const send = (assertion: string, form: Record<string, string> = {}, base = service.issuer): Promise<Answer> =>
  tokenRequest(base, undefined, {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
    ...form,
  });
const refused = { status: 401, body: { error: 'invalid_client' } };

describe('the token endpoint accepts', () => {
  test.each(algorithms)('private_key_jwt with a registered %s key (OpenID Connect Core 9)', async (alg) => {
    expect(await send(await signed(claims(byKey), pairs[alg]!))).toMatchObject({ status: 200 });
  });

  test('client_secret_jwt with the characters of the secret as the key (OpenID Connect Core 9)', async () => {
    expect(await send(await hmac(claims(bySecret), bySecret.clientSecret))).toMatchObject({ status: 200 });
    expect(
      await send(await hmac(claims(bySecret), bySecret.clientSecret), { client_id: bySecret.clientId }),
    ).toMatchObject({ status: 200 });
  });

  test('the issuer as the audience (RFC 7523 3)', async () => {
    for (const aud of [service.issuer, [service.issuer], `${service.issuer}/token`])
      expect(await send(await signed(claims(byKey, { aud }), pairs['ES256']!))).toMatchObject({ status: 200 });
  });
});

test.each<[string, () => Promise<string>]>([
  ['another audience', () => signed(claims(byKey, { aud: 'https://other.example' }), pairs['ES256']!)],
  [
    'one audience of the service and one of another',
    () => signed(claims(byKey, { aud: [service.issuer, 'https://other.example'] }), pairs['ES256']!),
  ],
  ['no audience', () => signed(claims(byKey, { aud: undefined }), pairs['ES256']!)],
  ['another issuer', () => signed(claims(byKey, { iss: bySecret.clientId }), pairs['ES256']!)],
  ['the subject of another client', () => signed(claims(byKey, { sub: bySecret.clientId }), pairs['ES256']!)],
  ['no jti', () => signed(claims(byKey, { jti: undefined }), pairs['ES256']!)],
  ['an empty jti', () => signed(claims(byKey, { jti: '' }), pairs['ES256']!)],
  ['no exp', () => signed(claims(byKey, { exp: undefined }), pairs['ES256']!)],
  ['an exp in the past', () => signed(claims(byKey, { exp: now() - 120 }), pairs['ES256']!)],
  ['an exp in a year', () => signed(claims(byKey, { exp: now() + 366 * 86_400 }), pairs['ES256']!)],
  ['an iat in the future', () => signed(claims(byKey, { iat: now() + 3600, exp: now() + 3000 }), pairs['ES256']!)],
  ['an nbf in the future', () => signed(claims(byKey, { nbf: now() + 3600 }), pairs['ES256']!)],
  ['a key that is not registered', async () => signed(claims(byKey), await newPair('ES256', 'key-ES256'))],
  [
    'a key in its header',
    async () => {
      const pair = await newPair('ES256', 'key-ES256');
      return signed(claims(byKey), pair, { jwk: pair.jwk });
    },
  ],
  ['a key URL in its header', () => signed(claims(byKey), pairs['ES256']!, { jku: 'https://evil.example/jwks' })],
  ['no signature', async () => new UnsecuredJWT(claims(byKey)).encode()],
  ['an HMAC with the public key', () => hmac(claims(byKey), JSON.stringify(pairs['RS256']!.jwk))],
  [
    'a broken signature',
    async () => (await signed(claims(byKey), pairs['ES256']!)).replace(/\.[^.]{4}([^.]*)$/, '.AAAA$1'),
  ],
  ['HS512 for HS256', () => hmac(claims(bySecret), bySecret.clientSecret.repeat(2), 'HS512')],
  ['the wrong secret', () => hmac(claims(bySecret), `${bySecret.clientSecret}x`)],
  ['the shared secret', () => hmac(claims(bySecret), bySecret.sharedSecret)],
  ['a private key instead of the secret', () => signed(claims(bySecret), pairs['ES256']!)],
  ['text that is not a JWT', async () => 'a.b.c'],
  [
    'a subject that is not a string',
    async () =>
      `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.${Buffer.from('{"sub":{}}').toString('base64url')}.AAAA`,
  ],
])('an assertion with %s is refused (RFC 7523 3, security A45)', async (_what, make) => {
  expect(await send(await make())).toMatchObject(refused);
});

test('an assertion for another client_id or of another type is refused (RFC 7521 4.2)', async () => {
  const assertion = await signed(claims(byKey), pairs['ES256']!);
  expect(await send(assertion, { client_id: bySecret.clientId })).toMatchObject(refused);
  expect(await send(assertion, { client_assertion_type: 'urn:x' })).toMatchObject({ status: 400 });
  expect(await send(assertion, { client_assertion_type: '' })).toMatchObject({ status: 400 });
});

describe('a jti', () => {
  test('is accepted once, on any instance (RFC 7523 3)', async () => {
    const assertion = await signed(claims(byKey), pairs['ES256']!);
    expect(await send(assertion)).toMatchObject({ status: 200 });
    for (const base of service.instances) expect(await send(assertion, {}, base)).toMatchObject(refused);
    const again = await signed(claims(byKey, { jti: 'fixed' }), pairs['ES256']!);
    expect(await send(again)).toMatchObject({ status: 200 });
    expect(await send(await signed(claims(byKey, { jti: 'fixed' }), pairs['RS256']!))).toMatchObject(refused);
    expect(await send(await hmac(claims(bySecret, { jti: 'fixed' }), bySecret.clientSecret))).toMatchObject({
      status: 200,
    });
  });

  test('that is sent 50 times at once on two instances is accepted once (security R15)', async () => {
    const assertion = await hmac(claims(bySecret), bySecret.clientSecret);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => send(assertion, {}, service.instances[index % 2])),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 401)).toHaveLength(49);
  });
});

describe('keys at a jwks_uri', () => {
  const publish = (...of: Pair[]) => {
    published = { ...published, status: 200, body: JSON.stringify({ keys: of.map((pair) => pair.jwk) }) };
  };
  const unnamed = ({ privateKey, jwk: { kty, crv, x, y, alg } }: Pair): Pair => ({
    privateKey,
    jwk: { kty, crv, x, y, alg } as JWK,
  });
  const attemptWith =
    (pair: Pair, client = fetched) =>
    async () =>
      (await send(await signed(claims(client), pair))).status;

  test('are fetched, and a rotated key works within seconds and without a restart, with or without a kid (OpenID Connect Core 10.1.1)', async () => {
    const [first, second] = [await newPair('ES256', 'one'), await newPair('ES256', 'two')];
    const [plain, plainSecond] = [unnamed(await newPair('ES256', '')), unnamed(await newPair('ES256', ''))];
    const other = await service.createClient({
      ...grants,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `http://127.0.0.1:${keyServerPort}/unnamed`,
    });
    publish(first, plain);
    expect(await attemptWith(first)()).toBe(200);
    expect(await attemptWith(plain, other)()).toBe(200);
    publish(first, second, plainSecond);
    const known = (status: number) => status === 200;
    await Promise.all([eventually(attemptWith(second), known), eventually(attemptWith(plainSecond, other), known)]);
    expect(await attemptWith(plain, other)()).toBe(401);
    expect(await attemptWith(first)()).toBe(200);
  });

  test('are not fetched for each request, neither for known nor for invented keys (security R47)', async () => {
    const [known, invented] = [await newPair('ES256', 'known'), await newPair('ES256', 'invented')];
    publish(known);
    await eventually(attemptWith(known), (status) => status === 200);
    const { requests } = published;
    for (let count = 0; count < 20; count++) {
      await attemptWith(known)();
      expect(await attemptWith(invented)()).toBe(401);
    }
    expect(published.requests - requests).toBeLessThanOrEqual(2);
  });

  test('are fetched again soon after the client could not be reached (OpenID Connect Core 10.1.1)', async () => {
    const pair = await newPair('ES256', 'late');
    const client = await service.createClient({
      ...grants,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `http://127.0.0.1:${keyServerPort}/late`,
    });
    const attempt = async () => (await send(await signed(claims(client), pair))).status;
    published.status = 503;
    expect(await attempt()).toBe(401);
    publish(pair);
    await eventually(attempt, (status) => status === 200);
  });

  test.each([
    ['a redirect', 302, ''],
    ['a document that is not a key set', 200, '[]'],
    ['something that is not JSON', 200, '<html>'],
    ['more than 64 KiB', 200, JSON.stringify({ keys: [], filler: 'x'.repeat(70_000) })],
  ])('that answer with %s authenticate no client (security A63)', async (what, status, body) => {
    const pair = await newPair('ES256', 'none');
    const client = await service.createClient({
      ...grants,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `http://127.0.0.1:${keyServerPort}/${encodeURIComponent(what)}`,
    });
    published = { ...published, status, body };
    expect(await send(await signed(claims(client), pair))).toMatchObject(refused);
  });

  test('at an address that is not allowed are never fetched (security A62)', async () => {
    const pair = await newPair('ES256', 'inside');
    for (const uri of [`http://[::1]:${keyServerPort}/jwks`, `https://127.0.0.1:${keyServerPort + 1}/jwks`]) {
      const client = await service.createClient({
        ...grants,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: uri,
      });
      const { requests } = published;
      expect(await send(await signed(claims(client), pair))).toMatchObject(refused);
      expect(published.requests).toBe(requests);
    }
  });
});
