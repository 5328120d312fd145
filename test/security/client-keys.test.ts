// Measures what the keys of clients cost: nothing for a client that was never enabled, and little for any other.
import { createHook } from 'node:async_hooks';
import nodeCrypto, { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { compactDecrypt, type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { form } from '../spec/kit.ts';

const redirect = 'https://rp.example.com/callback';
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const invalidClient = { status: 401, body: { error: 'invalid_client' } };

let service: TestService;
let keyServer: Server;
let keysAt: string;
/** The number of requests to the clients' own server. */
let asked = 0;
/** Its answer, if not the key that signs. */
let published: unknown[] | undefined;
let privateKey: CryptoKey;
let jwk: JWK;
beforeAll(async () => {
  const pair = await generateKeyPair('RS256', { extractable: true });
  privateKey = pair.privateKey;
  jwk = await exportJWK(pair.publicKey);
  keyServer = createServer((_request, response) => {
    asked++;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: published ?? [jwk] }));
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  const { port } = keyServer.address() as AddressInfo;
  keysAt = `http://127.0.0.1:${port}`;
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${port}` } });
});
afterAll(async () => {
  await service?.stop();
  keyServer?.close();
});

/** Counts the signatures that this process, the service included, made or verified meanwhile: Node.js counts each as one resource. */
async function signaturesIn(act: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'SIGNREQUEST' && count++) }).enable();
  try {
    await act();
  } finally {
    hook.disable();
  }
  return count;
}

/** Counts the keys that this process, the service included, imported meanwhile: by either interface of Node.js. */
async function importsIn(act: () => Promise<unknown>): Promise<number> {
  const imports = [vi.spyOn(crypto.subtle, 'importKey'), vi.spyOn(nodeCrypto, 'createPublicKey')] as const;
  syncBuiltinESMExports();
  try {
    await act();
    return imports.map(({ mock }) => mock.calls.length).reduce((a, b) => a + b);
  } finally {
    for (const each of imports) each.mockRestore();
    syncBuiltinESMExports();
  }
}

const claims = (clientId: string, change: JWTPayload = {}): JWTPayload => ({
  iss: clientId,
  sub: clientId,
  aud: service.issuer,
  jti: crypto.randomUUID(),
  iat: Math.floor(Date.now() / 1000),
  exp: Math.floor(Date.now() / 1000) + 60,
  ...change,
});
const signed = (payload: JWTPayload, secret?: string, kid?: string) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: secret === undefined ? 'RS256' : 'HS256', ...(kid !== undefined && { kid }) })
    .sign(secret === undefined ? privateKey : Buffer.from(secret));
const send = (path: string, client_assertion: string, headers: Record<string, string> = {}): Promise<Answer> =>
  form(
    service.issuer + path,
    { grant_type: 'client_credentials', token: 'x', client_assertion, client_assertion_type: assertionType },
    headers,
  );
const setStatus = (clientId: string, status: string) =>
  service.database.sql('UPDATE clients SET status = $2 WHERE client_id = $1', [clientId, status]);

describe('a client that was never enabled', () => {
  interface Registered {
    client_id: string;
    client_secret?: string;
    shared_secret: string;
  }
  const register = async (metadata: Record<string, unknown>): Promise<Registered> => {
    const answer = await call(`${service.issuer}/register`, { body: { redirect_uris: [redirect], ...metadata } });
    expect(answer.status).toBe(201);
    return answer.body as unknown as Registered;
  };
  const grants = { grant_types: ['client_credentials'] };

  test.each<[string, () => Record<string, unknown>]>([
    ['keys of its own', () => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } })],
    ['a jwks_uri', () => ({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${keysAt}/${Math.random()}` })],
    ['its secret as key', () => ({ token_endpoint_auth_method: 'client_secret_jwt' })],
  ])(
    'and has %s makes the service import, verify and fetch nothing by an assertion (security R113)',
    async (_what, metadata) => {
      const client = await register({ ...grants, ...metadata() });
      const assertion = () => signed(claims(client.client_id), client.client_secret);
      for (const path of ['/token', '/introspect', '/revoke', '/par']) {
        const right = await assertion();
        const before = asked;
        const refused = async () => expect(await send(path, right), path).toMatchObject(invalidClient);
        let signatures = 0;
        const imports = await importsIn(async () => (signatures = await signaturesIn(refused)));
        expect([imports, signatures, asked - before], path).toEqual([0, 0, 0]);
      }
      // the answer is the one for an unknown client
      const [own, unknown] = [await assertion(), await signed(claims('nobody'), client.client_secret)];
      expect((await send('/introspect', own)).body).toEqual((await send('/introspect', unknown)).body);

      await setStatus(client.client_id, 'enabled');
      const first = await assertion();
      const accepted = async () => expect((await send('/token', first)).status).toBe(200);
      let signatures = 0;
      expect(await importsIn(async () => (signatures = await signaturesIn(accepted)))).toBeGreaterThan(0);
      expect(signatures).toBe(1);
      // a client that was enabled before gets its state in the error
      await setStatus(client.client_id, 'disabled');
      expect(await send('/token', await assertion())).toMatchObject({ body: { error: 'unauthorized_client' } });
    },
  );

  test('makes it import, verify and fetch nothing by request objects, end-session requests and ID Tokens either (security R113)', async () => {
    const requestUri = `${keysAt}/object`;
    const client = await register({
      jwks_uri: `${keysAt}/others`,
      request_uris: [requestUri],
      id_token_signed_response_alg: 'HS256',
      request_object_signing_alg: 'RS256',
      response_types: ['code'],
    });
    const { client_id } = client;
    const request = await signed(claims(client_id, { sub: undefined, client_id, redirect_uri: redirect }));
    const byKey = await signed(claims(client_id, { redirect_uri: redirect }));
    const bySecret = await signed(claims(client_id, { redirect_uri: redirect }), client.shared_secret);
    const idToken = claims(client_id, { iss: service.issuer, aud: client_id, sub: 's', sid: 's', auth_time: 1 });
    const hint = await signed(idToken, client.client_secret);
    const addresses: [string, Record<string, string>][] = [
      ['/authorize', { client_id, redirect_uri: redirect, response_type: 'code', scope: 'openid', request }],
      ['/authorize', { client_id, redirect_uri: redirect, response_type: 'code', request_uri: requestUri }],
      ['/end-session', { request: byKey }],
      ['/end-session', { request: bySecret }],
      ['/logout', { id_token_hint: hint }],
    ];
    const useKeys = async () => {
      for (const [path, query] of addresses) {
        const answer = await fetch(`${service.issuer}${path}?${new URLSearchParams(query)}`);
        expect(answer.status, path).toBeGreaterThanOrEqual(400);
      }
    };
    const before = asked;
    let signatures = 0;
    const imports = await importsIn(async () => (signatures = await signaturesIn(useKeys)));
    expect([imports, signatures, asked - before]).toEqual([0, 0, 0]);
  });
});

test('the service verifies no assertion from a network that fails too often, and a right secret still passes (security R41, R113)', async () => {
  const limited = await startTestService({
    environment: { ...withoutLimits, TRUST_PROXY: '127.0.0.1,::1', LIMIT_CLIENT_AUTH_FAILURES: '2' },
  });
  try {
    const grants = { grant_types: ['client_credentials'], redirect_uris: [] };
    const keyed = await limited.createClient({
      ...grants,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [jwk] },
    });
    const secret = await limited.createClient(grants);
    const ask = (fields: Record<string, string>, address: string, headers: Record<string, string> = {}) =>
      form(
        `${limited.issuer}/token`,
        { grant_type: 'client_credentials', ...fields },
        { 'x-forwarded-for': address, ...headers },
      );
    const assert = async () => ({
      client_assertion: await signed({ ...claims(keyed.clientId), aud: limited.issuer }),
      client_assertion_type: assertionType,
    });
    // twenty times LIMIT_CLIENT_AUTH_FAILURES, and one more
    for (let count = 0; count < 41; count++)
      await ask({ client_id: `invented-${count}`, client_secret: 'x' }, '192.0.2.1');
    const right = await assert();
    const work = await signaturesIn(async () => {
      const answer = await ask(right, '192.0.2.2');
      expect(answer.status).toBe(429);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    });
    expect(work).toBe(0);
    expect((await ask({}, '192.0.2.3', { authorization: secret.basic })).status).toBe(200);
    expect((await ask(await assert(), '198.51.100.1')).status).toBe(200);
  } finally {
    await limited.stop();
  }
});

describe('a client that was enabled', () => {
  const grants = { grant_types: ['client_credentials'], redirect_uris: [] };
  const byKeys = { ...grants, token_endpoint_auth_method: 'private_key_jwt' };
  /** An RSA key built from numbers: to generate a true one of such a size would take long. */
  const rsa = (bits: number, exponent: Buffer = Buffer.from([1, 0, 1])): JWK => {
    const number = randomBytes(bits / 8);
    number[0]! |= 0x80;
    number[number.length - 1]! |= 1;
    return { kty: 'RSA', n: number.toString('base64url'), e: exponent.toString('base64url') };
  };
  const huge = () => rsa(16_384);
  const slow = () => rsa(2048, randomBytes(256));
  const other = () => rsa(2048);
  const times = (count: number, make: () => JWK) => Array.from({ length: count }, make);
  /** A client with keys that registration refuses today: they were stored before. */
  const withStoredKeys = async (keys: unknown[]) => {
    const client = await service.createClient({ ...byKeys, jwks: { keys: [jwk] } });
    const text = `UPDATE clients SET metadata = jsonb_set(metadata, '{jwks,keys}', $2) WHERE client_id = $1`;
    await service.database.sql(text, [client.clientId, JSON.stringify(keys)]);
    return client;
  };
  const withDocument = async (keys: unknown[]) => {
    published = keys;
    return service.createClient({ ...byKeys, jwks_uri: `${keysAt}/${crypto.randomUUID()}` });
  };
  /** How the service answers an assertion of the client, and how many signatures it verifies. */
  const tried = async ({ clientId }: TestClient, kid?: string) => {
    const assertion = await signed(claims(clientId), undefined, kid);
    let status = 0;
    const work = await signaturesIn(async () => (status = (await send('/token', assertion)).status));
    return [status, work];
  };
  afterAll(() => (published = undefined));

  test.each([
    ['stored', withStoredKeys],
    ['at its jwks_uri', withDocument],
  ])(
    'and has keys %s that cost too much is served by its acceptable ones alone (security R114)',
    async (_where, having) => {
      expect(await tried(await having([huge(), slow(), rsa(4104), rsa(1024), jwk]))).toEqual([200, 1]);
      expect(await tried(await having([...times(10, huge), ...times(10, slow)]))).toEqual([401, 0]);
      // an entry that is not a key does not spoil the valid keys
      const odd = [null, 'x', { kty: 7 }, { kty: 'EC', crv: { toString: 1 } }, { kty: 'RSA', n: '!', e: {} }];
      expect(await tried(await having([...odd, jwk]))).toEqual([200, 1]);
      expect(await tried(await having([...times(20, huge), jwk]))).toEqual([401, 0]);
    },
  );

  test.each([
    ['registered', withStoredKeys],
    ['at its jwks_uri', withDocument],
  ])(
    'and has keys %s without names is checked against four, once, and has to name one if it has more (security R114)',
    async (_where, having) => {
      expect(await tried(await having([...times(3, other), jwk]))).toEqual([200, 4]);
      expect(await tried(await having(times(4, other)))).toEqual([401, 4]);
      expect(await tried(await having([jwk, ...times(4, other)]))).toEqual([401, 0]);
      const named = await having([...times(4, other), { ...jwk, kid: 'own' }]);
      expect(await tried(named)).toEqual([401, 0]);
      expect(await tried(named, 'own')).toEqual([200, 1]);
    },
  );

  test('has to name its key in request objects and end-session requests too (security R114)', async () => {
    const client = await service.createClient({ jwks: { keys: [...times(4, other), { ...jwk, kid: 'own' }] } });
    const { clientId, redirectUri } = client;
    const parameters = { client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid' };
    const push = async (kid?: string) => {
      const request = await signed(claims(clientId, { ...parameters, sub: undefined }), undefined, kid);
      let answer: Answer | undefined;
      const work = await signaturesIn(async () => {
        const fields = { client_id: clientId, request };
        answer = await form(`${service.issuer}/par`, fields, { authorization: client.basic });
      });
      return { ...answer!, work };
    };
    expect(await push('own')).toMatchObject({ status: 201, work: 1 });
    expect(await push()).toMatchObject({
      status: 400,
      work: 0,
      body: { error: 'invalid_request_object', error_description: expect.stringContaining('kid') },
    });
    const end = async (kid?: string) => {
      const request = await signed(claims(clientId, { redirect_uri: redirectUri }), undefined, kid);
      let answer: Answer | undefined;
      const work = await signaturesIn(
        async () => (answer = await call(`${service.issuer}/end-session?request=${request}`)),
      );
      return { ...answer!, work };
    };
    // verified, and there is no session
    expect(await end('own')).toMatchObject({ status: 400, body: { error: 'invalid_request' }, work: 1 });
    expect(await end()).toMatchObject({ ...invalidClient, work: 0 });
  });

  test('gets nothing encrypted to a key that costs too much (security R114)', async () => {
    const { privateKey: own, publicKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true });
    published = [
      ...[huge(), slow()].map((key) => ({ ...key, use: 'enc' })),
      { ...(await exportJWK(publicKey)), use: 'enc' },
    ];
    const client = await service.createClient({
      id_token_encrypted_response_alg: 'RSA-OAEP-256',
      jwks_uri: `${keysAt}/encryption`,
    });
    const { id_token } = await obtainTokens(service, client, await service.createUser(), { scope: 'openid' });
    expect((await compactDecrypt(id_token!, own)).plaintext.length).toBeGreaterThan(0);
  });
});
