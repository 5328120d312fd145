// Attacks DPoP: tokens without their key, crafted and repeated proofs, look-alike addresses, wrong clocks and keys (RFC 9449).
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSlotNonces } from '../../src/crypto/slot-nonces.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { allowPolls, decide, type DeviceCodes, deviceMetadata } from '../helpers/device.ts';
import {
  craft,
  newProofKey,
  post,
  postWithProof,
  present,
  proofFor,
  type ProofKey,
  signTexts,
} from '../helpers/dpop.ts';
import { adminToken, approveClient, call, obtainCode, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { attack } from './attack.ts';
import { hostOf, raw } from './raw.ts';

let service: TestService;
/** Over the same database, and asks for nonces. */
let strict: TestService;
let client: TestClient;
let machine: TestClient;
let bound: TestClient;
let user: TestUser;
let agent: UserAgent;
let key: ProofKey;
let other: ProofKey;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  strict = await startTestService({
    // the other service ends later, and drops it
    database: { ...service.database, drop: async () => undefined },
    secretKey: service.secretKey,
    environment: { ...withoutLimits, DPOP_NONCE: 'required' },
  });
  client = await service.createClient({ scope: 'openid email' });
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: '' });
  bound = await service.createClient({
    token_endpoint_auth_method: 'none',
    dpop_bound_access_tokens: true,
    scope: 'openid email',
  });
  user = await service.createUser({ email: 'ada@example.org' });
  agent = new UserAgent(service);
  [key, other] = [await newProofKey(), await newProofKey()];
});
afterAll(async () => {
  await strict?.stop();
  await service?.stop();
});

const own = { grant_type: 'client_credentials' };
const tokenAddress = (base = service.issuer) => `${base}/token`;
const refused = { status: 400, body: { error: 'invalid_dpop_proof' } };
/** The answer to a token request with this header. */
const withHeader = (dpop: string) => post(tokenAddress(), machine, own, dpop);
const withClaims = async (claims: Record<string, unknown>) =>
  withHeader(await proofFor(key, tokenAddress(), { claims }));

async function grantOf(of: TestClient, parameters: Record<string, string> = {}): Promise<Record<string, string>> {
  const verifier = 'v'.repeat(43);
  const challenge = { code_challenge: s256(verifier), code_challenge_method: 'S256' };
  const code = await obtainCode(service, of, user, { scope: 'openid email', ...challenge, ...parameters }, agent);
  return { grant_type: 'authorization_code', code, redirect_uri: of.redirectUri, code_verifier: verifier };
}
async function tokensOf(of: TestClient, by = key): Promise<Record<string, string>> {
  const { status, body } = await postWithProof(service, '/token', of, await grantOf(of), by);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Record<string, string>;
}

attack(
  {
    id: 'P1',
    name: 'No proof for a bound token',
    request:
      'The bound token of a client under Bearer, under DPoP without a proof, and with the proof of another request.',
    answer: '401 with a DPoP challenge that names the algorithms, and no claim.',
    source: 'RFC 9449 7.1, 7.2',
    requirements: ['R134'],
  },
  async () => {
    const token = (await tokensOf(bound))['access_token']!;
    const address = `${service.issuer}/user/info`;
    const elsewhere = await proofFor(key, `${service.issuer}/user/me/info`, { method: 'GET', token });
    const forAnotherToken = await proofFor(key, address, { method: 'GET', token: 'another' });
    const withoutToken = await proofFor(key, address, { method: 'GET' });
    const byAnotherKey = await proofFor(other, address, { method: 'GET', token });
    for (const path of ['/user/info', '/user/me/info', '/admin/api/clients'])
      for (const [scheme, dpop] of [
        ['Bearer', undefined],
        ['DPoP', undefined],
        ['Bearer', elsewhere],
        ['DPoP', path === '/user/me/info' ? undefined : elsewhere],
        ['DPoP', forAnotherToken],
        ['DPoP', withoutToken],
        ['DPoP', byAnotherKey],
      ] as const) {
        const headers = { authorization: `${scheme} ${token}`, ...(dpop !== undefined && { dpop }) };
        const answer = await call(service.issuer + path, { headers });
        expect(answer.status, `${path} ${JSON.stringify(headers)}`).toBe(401);
        expect(['invalid_token', 'invalid_dpop_proof']).toContain(answer.body['error']);
        expect(answer.body).not.toHaveProperty('sub');
        const challenge = answer.headers.get('www-authenticate')!;
        expect(challenge).toMatch(/(^|, )DPoP algs="ES256 EdDSA PS256"/);
        expect(challenge).toContain('Bearer realm="gatehouse"');
      }
    for (const scheme of ['DPoP', 'dpop', 'DPOP'])
      expect((await present(service, '/user/info', token, key, { scheme })).status).toBe(200);
    // an unbound token is not made better by a proof
    const bearer = (await post(tokenAddress(), client, await grantOf(client))).body['access_token'] as string;
    expect((await present(service, '/user/info', bearer, key)).status).toBe(401);
    expect((await present(service, '/user/info', bearer, key, { scheme: 'Bearer' })).status).toBe(400);
    const none = await call(address);
    expect(none.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="gatehouse"(, [a-z_]+="[^"]*")*, DPoP algs="ES256 EdDSA PS256"$/,
    );
  },
);

attack(
  {
    id: 'P4',
    name: 'Same jti, new signature',
    request:
      'A new proof with the jti of an earlier one, by the same key and by another key, at a token request and at UserInfo.',
    answer: 'the first is refused at each instance, and the second accepted, since each key has its own names.',
    source: 'RFC 9449 11.1',
    requirements: ['R135'],
  },
  async () => {
    const jti = randomUUID();
    const iat = Math.floor(Date.now() / 1000);
    expect((await withClaims({ jti, iat })).status).toBe(200);
    for (const off of [-1, 1, -50, 50]) expect(await withClaims({ jti, iat: iat + off })).toMatchObject(refused);
    expect(await withClaims({ jti, iat })).toMatchObject(refused);
    const byOther = await proofFor(other, tokenAddress(), { claims: { jti } });
    expect((await withHeader(byOther)).status).toBe(200);
    const token = (await tokensOf(client))['access_token']!;
    const [base, second] = service.instances as [string, string];
    const claims = { jti: randomUUID(), iat };
    expect((await present(service, '/user/info', token, key, { claims, base })).status).toBe(200);
    for (const at of [base, second]) {
      const again = await present(service, '/user/info', token, key, { claims, base: at });
      expect(again).toMatchObject({ status: 401, body: { error: 'invalid_dpop_proof' } });
    }
    const events = await service.database.sql(
      `SELECT 1 FROM audit_events WHERE type = 'dpop.replayed' AND client_id = $1 AND sub = $2`,
      [client.clientId, user.sub],
    );
    expect(events).toHaveLength(2);
  },
);

attack(
  {
    id: 'P5',
    name: 'Two headers',
    request: 'The header DPoP twice, one header with two proofs, and a name of the header in upper case.',
    answer: 'two proofs are refused, and the name counts in any case.',
    source: 'RFC 9449 4.3-1, certification suite',
    requirements: ['R135'],
  },
  async () => {
    const proofs = [await proofFor(key, tokenAddress()), await proofFor(key, tokenAddress())];
    expect(await withHeader(proofs.join(', '))).toMatchObject(refused);
    expect(await withHeader(proofs.join(','))).toMatchObject(refused);
    expect(await withHeader(proofs.join(' '))).toMatchObject(refused);
    const send = (...headers: string[]) =>
      raw(
        service.issuer,
        [
          'POST /token HTTP/1.1',
          hostOf(service.issuer),
          `Authorization: ${machine.basic}`,
          'Content-Type: application/x-www-form-urlencoded',
          ...headers,
        ],
        'grant_type=client_credentials',
      );
    expect(await send(`DPoP: ${proofs[0]}`, `DPoP: ${proofs[1]}`)).toMatchObject({ status: 400 });
    expect(await send('DPoP: ', `DPoP: ${proofs[1]}`)).toMatchObject({ status: 400 });
    const upper = await send(`DPOP: ${proofs[0]}`);
    expect([upper.status, upper.body]).toEqual([200, expect.stringContaining('"token_type":"DPoP"')]);
  },
);

attack(
  {
    id: 'P6',
    name: 'Crafted headers of a proof',
    request:
      'Unsigned and symmetric proofs, other types, keys of other kinds, private and short keys, critical members and addresses of keys.',
    answer: 'all are refused, and the service asks no address.',
    source: 'RFC 9449 4.3, RFC 8725, certification suite',
    requirements: ['R135'],
  },
  async () => {
    let asked = 0;
    const canary = createServer((_request, response) => {
      asked++;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => canary.once('listening', resolve));
    const uri = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/jwks`;
    const payload = { jti: randomUUID(), htm: 'POST', htu: tokenAddress(), iat: Math.floor(Date.now() / 1000) };
    const { jwk } = key;
    const hmac = (secret: string) => {
      const text = craft({ typ: 'dpop+jwt', alg: 'HS256', jwk }, payload, '').slice(0, -1);
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    };
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const rsaKey = await exportJWK(rsa.publicKey);
    const privateKey = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey);
    const signed = (header: Record<string, unknown>) => proofFor(key, tokenAddress(), { header });
    const proofs = [
      craft({ typ: 'dpop+jwt', alg: 'none', jwk }, payload, ''),
      craft({ typ: 'dpop+jwt', alg: 'none', jwk }, payload),
      hmac(jwk.x!),
      hmac(JSON.stringify(jwk)),
      await new SignJWT(payload)
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'RS256', jwk: rsaKey })
        .sign(rsa.privateKey),
      await signed({ jwk: rsaKey }),
      await signed({ jwk: other.jwk }),
      await signed({ jwk: { ...jwk, x: other.jwk.x } }),
      await signed({ jwk: { kty: 'EC', crv: 'P-256' } }),
      await signed({ jwk: { ...jwk, d: privateKey.d } }),
      await signed({ jwk: { kty: 'oct', k: 'AAAA' } }),
      await signed({ jwk: undefined, jku: uri }),
      await signed({ typ: undefined }),
      await signed({ typ: 'JWT' }),
      await signed({ typ: 'DPOP+JWT' }),
      await signed({ jku: uri }),
      await signed({ x5u: uri }),
      craft({ typ: 'dpop+jwt', alg: 'ES256', jwk, crit: ['exp'], exp: 1 }, payload),
      await signTexts(
        key,
        `{"typ":"JWT","typ":"dpop+jwt","alg":"ES256","jwk":${JSON.stringify(jwk)}}`,
        JSON.stringify(payload),
      ),
      craft('[]', payload),
      craft('no JSON', payload),
      (await signed({})).replace(/.$/, ''),
      'a.b',
      'x'.repeat(9000),
    ];
    for (const [index, proof] of proofs.entries())
      expect(await withHeader(proof), `proof ${index}`).toMatchObject(refused);
    expect(asked).toBe(0);
    canary.close();
  },
);

attack(
  {
    id: 'P7',
    name: 'Claims of the wrong type',
    request: 'htu, iat and jti of other types, too long or with control characters, and a name twice.',
    answer: '400, and never a server error.',
    source: 'node-oidc-provider dbf6bfc',
    requirements: ['R135'],
  },
  async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const wrong: Record<string, unknown>[] = [
      ...[['x'], 1, {}, null, undefined, '\0', 'http://['].map((htu) => ({ htu })),
      ...['1', -1, 1.5, null, {}, [1], undefined].map((iat) => ({ iat })),
      // these would count if only the time were compared
      ...[String(seconds), seconds + 0.5, [seconds]].map((iat) => ({ iat })),
      ...['', 'x'.repeat(10_240), 'a\0b', 1, null, ['a'], undefined].map((jti) => ({ jti })),
      ...[null, 1, ['POST'], 'GET', 'post', ' POST', undefined].map((htm) => ({ htm })),
      ...[1, null, {}].map((nonce) => ({ nonce })),
    ];
    for (const claims of wrong) expect(await withClaims(claims), JSON.stringify(claims)).toMatchObject(refused);
    const good = JSON.stringify({ jti: randomUUID(), htm: 'POST', htu: tokenAddress(), iat: seconds });
    const header = JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk });
    for (const payload of [
      good.replace(/"iat":\d+/, '"iat":1e400'),
      good.replace('"jti"', '"jti":"a","jti"'),
      good.replace('"htm"', '"htm":"GET","htm"'),
      '"text"',
    ])
      expect(await withHeader(await signTexts(key, header, payload)), payload).toMatchObject(refused);
    expect((await withHeader(await signTexts(key, header, good))).status).toBe(200);
  },
);

attack(
  {
    id: 'P9',
    name: 'Look-alike htu',
    request:
      'Addresses that differ in the case of the path, a final slash, an escape, the port, the case of the host, a query, a fragment and user information.',
    answer: 'query, fragment and the case of the host do not count, and every other difference is refused.',
    source: 'RFC 3986 6.2, certification suite',
    requirements: ['R135'],
  },
  async () => {
    const { port } = new URL(service.issuer);
    const proof = (htu: string) => withClaims({ htu });
    for (const htu of [`${tokenAddress()}?a=b`, `${tokenAddress()}#a`, `HTTP://LocalHost:${port}/token`])
      expect((await proof(htu)).status, htu).toBe(200);
    for (const htu of [
      `${service.issuer}/Token`,
      `${service.issuer}/token/`,
      `${service.issuer}/%74oken`,
      `http://user@localhost:${port}/token`,
      'http://localhost/token',
      `http://127.0.0.1:${port}/token`,
      `${service.instances[1]}/token`,
      '/token',
    ])
      expect(await proof(htu), htu).toMatchObject(refused);
    // the request's own names for its host do not count, whatever the client and a proxy send
    const forged = await proofFor(key, 'https://evil.example/token');
    const response = await fetch(tokenAddress(), {
      method: 'POST',
      body: new URLSearchParams(own),
      headers: {
        authorization: machine.basic,
        dpop: forged,
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      },
    });
    expect(response.status).toBe(400);
    const otherHost = await raw(
      service.issuer,
      [
        'POST /token HTTP/1.1',
        'Host: evil.example',
        `Authorization: ${machine.basic}`,

        'Content-Type: application/x-www-form-urlencoded',
        `DPoP: ${await proofFor(key, 'http://evil.example/token')}`,
      ],
      'grant_type=client_credentials',
    );
    expect(otherHost).toMatchObject({ status: 400, body: expect.stringContaining('invalid_dpop_proof') as unknown });
  },
);

attack(
  {
    id: 'P10',
    name: 'Old and early proofs',
    request:
      'Proofs that are 61 seconds and an hour old or early, and proofs within ten seconds, with nbf and exp beside iat.',
    answer: 'only those within ten seconds are accepted, whatever nbf and exp say.',
    source: 'RFC 9449 11.1, certification suite',
    requirements: ['R135'],
  },
  async () => {
    const now = () => Math.floor(Date.now() / 1000);
    for (const off of [-10, 10]) {
      expect((await withClaims({ iat: now() + off })).status).toBe(200);
      expect((await withClaims({ iat: now() + off, nbf: now() + 3600, exp: now() - 3600 })).status).toBe(200);
    }
    for (const off of [-62, 62, -3600, 3600]) expect(await withClaims({ iat: now() + off })).toMatchObject(refused);
  },
);

attack(
  {
    id: 'P11',
    name: 'Nonce required',
    request:
      'Proofs without a nonce, with one of another deployment, of two slots ago and with a changed letter, with a code beside them.',
    answer: 'each is asked for a nonce and leaves the code, and the nonce of one instance is good at the others.',
    source: 'RFC 9449 8, 9',
    requirements: ['R135'],
  },
  async () => {
    const grant = await grantOf(client);
    const nonces = (secretKey: string, seconds: number) =>
      createSlotNonces(
        [parseSecretKey(secretKey).dpopNonce],
        300,
        () => new Date(Date.now() + seconds * 1000),
      ).current();
    const current = nonces(service.secretKey, 0);
    const foreign = nonces(Buffer.alloc(32, 7).toString('base64url'), 0);
    const changed = (current.startsWith('A') ? 'B' : 'A') + current.slice(1);
    for (const nonce of [undefined, foreign, nonces(service.secretKey, -600), changed, '', 'x'.repeat(4000)]) {
      const options = nonce === undefined ? {} : { nonce };
      const answer = await postWithProof(strict, '/token', client, grant, key, options);
      expect(answer, nonce).toMatchObject({ status: 400, body: { error: 'use_dpop_nonce' } });
      expect(answer.headers.get('dpop-nonce')).toBe(nonces(service.secretKey, 0));
    }
    const asked = await postWithProof(strict, '/par', client, {}, key);
    expect(asked).toMatchObject({ status: 400, body: { error: 'use_dpop_nonce' } });
    // 200 seconds old: only the nonce says that the proof is not older
    const claims = { iat: Math.floor(Date.now() / 1000) - 200 };
    const redeemed = await postWithProof(strict, '/token', client, grant, key, { nonce: current, claims });
    expect(redeemed.status, JSON.stringify(redeemed.body)).toBe(200);
    expect(redeemed.headers.get('dpop-nonce')).toBeNull();
    const token = redeemed.body['access_token'] as string;
    const atResource = await present(strict, '/user/info', token, key);
    expect(atResource).toMatchObject({ status: 401, body: { error: 'use_dpop_nonce' } });
    expect(atResource.headers.get('www-authenticate')).toMatch(/^DPoP algs="[^"]*", error="use_dpop_nonce"/);
    const nonce = atResource.headers.get('dpop-nonce')!;
    expect((await present(strict, '/user/info', token, key, { nonce })).status).toBe(200);
    expect((await present(service, '/user/info', token, key, { nonce, claims })).status).toBe(200);
    // the nonce of the former slot is still good, and a new one comes with the answer
    const former = nonces(service.secretKey, -300);
    const renewed = await present(strict, '/user/info', token, key, { nonce: former });
    expect([renewed.status, renewed.headers.get('dpop-nonce')]).toEqual([200, nonces(service.secretKey, 0)]);
    // a client can ask for nonces by itself
    const careful = await service.createClient({ dpop_nonce: true, scope: 'openid email' });
    const carefulGrant = await grantOf(careful);
    const first = await postWithProof(service, '/token', careful, carefulGrant, key);
    expect(first.body['error']).toBe('use_dpop_nonce');
    const second = await postWithProof(service, '/token', careful, carefulGrant, key, {
      nonce: first.headers.get('dpop-nonce')!,
    });
    const carefulToken = second.body['access_token'] as string;
    expect((await present(service, '/user/info', carefulToken, key)).body['error']).toBe('use_dpop_nonce');
    expect((await present(service, '/user/info', carefulToken, key, { nonce })).status).toBe(200);
  },
);

test.each([
  ['1970', 0],
  ['2100', 4_102_444_800],
])(
  'a proof with a good nonce counts whatever its time says, here %s, and once, also signed again with another time (RFC 9449 4.3, protocols R135, reports E2)',
  async (_year, iat) => {
    const nonce = (seconds: number) =>
      createSlotNonces(
        [parseSecretKey(service.secretKey).dpopNonce],
        300,
        () => new Date(Date.now() + seconds * 1000),
      ).current();
    const replayed = { body: { error: 'invalid_dpop_proof' } };
    const proof = await proofFor(key, tokenAddress(strict.issuer), { nonce: nonce(0), claims: { iat } });
    const token = (await post(tokenAddress(strict.issuer), machine, own, proof)).body['access_token'] as string;
    expect(token).toBeDefined();
    expect(await post(tokenAddress(strict.issuer), machine, own, proof)).toMatchObject(replayed);
    const jti = randomUUID();
    const again = (of: number, time: number) =>
      postWithProof(strict, '/token', machine, own, key, { nonce: nonce(of), claims: { iat: time, jti } });
    expect(await again(-300, iat)).toMatchObject({ status: 200 });
    for (const [of, time] of [
      ...[-300, 0].map((slot) => [slot, iat + 3600] as const),
      [0, Math.floor(Date.now() / 1000)] as const,
    ])
      expect(await again(of, time)).toMatchObject(replayed);
    // at a resource, where the service or the client asks for a nonce
    const careful = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scope: '',
      dpop_nonce: true,
    });
    const issued = await postWithProof(service, '/token', careful, own, key, { nonce: nonce(0), claims: { iat } });
    for (const [at, bearer] of [
      [strict, token],
      [service, issued.body['access_token'] as string],
    ] as const) {
      const options = { nonce: nonce(0), claims: { iat, jti: randomUUID() } };
      // the token is known and lacks a scope, which is checked after the proof
      expect((await present(at, '/user/info', bearer, key, options)).status).toBe(403);
      expect(await present(at, '/user/info', bearer, key, options)).toMatchObject({ status: 401, ...replayed });
    }
  },
);

test('the row of a proof with a nonce is kept until its nonce is no longer good, whatever its time says (RFC 9449 11.1, protocols R135, reports E2)', async () => {
  const { dpopNonce } = parseSecretKey(service.secretKey);
  const former = createSlotNonces([dpopNonce], 300, () => new Date(Date.now() - 300_000)).current();
  await service.database.sql('TRUNCATE dpop_proofs');
  const proof = await proofFor(key, tokenAddress(strict.issuer), { nonce: former, claims: { iat: 9 * 60 } });
  expect((await post(tokenAddress(strict.issuer), machine, own, proof)).status).toBe(200);
  const [kept] = await service.database.sql<{ slot: number; minute: number }>(
    'SELECT slot, floor(extract(epoch FROM clock_timestamp()) / 60)::int AS minute FROM dpop_proofs',
  );
  // the service empties the tables of seven to nine minutes ahead, which are those of seven to nine minutes ago
  const emptiedIn = (((kept!.slot - kept!.minute - 9) % 16) + 16) % 16;
  const endOfNonce = (Math.floor(kept!.minute / 5) + 1) * 5;
  expect(emptiedIn).toBeGreaterThanOrEqual(endOfNonce - kept!.minute);
});

attack(
  {
    id: 'P13',
    name: 'dpop_jkt against the proof',
    request:
      'dpop_jkt of another key than the proof at /par, twice, of 42 characters, and another one outside a request object than inside.',
    answer: '400 for each.',
    source: 'RFC 9449 10.1, certification suite',
    requirements: ['R134'],
  },
  async () => {
    const asked = { response_type: 'code', scope: 'openid', redirect_uri: client.redirectUri };
    const mixed = await postWithProof(service, '/par', client, { ...asked, dpop_jkt: other.jkt }, key);
    expect(mixed).toMatchObject(refused);
    const same = await postWithProof(service, '/par', client, { ...asked, dpop_jkt: key.jkt }, key);
    expect(same.status).toBe(201);
    const invalid = { status: 400, body: { error: 'invalid_request' } };
    for (const jkt of [key.jkt.slice(1), `${key.jkt}=`, 'é'.repeat(43)])
      expect(await post(`${service.issuer}/par`, client, { ...asked, dpop_jkt: jkt }), jkt).toMatchObject(invalid);
    const twice = await fetch(`${service.issuer}/par`, {
      method: 'POST',
      body: new URLSearchParams([...Object.entries(asked), ['dpop_jkt', key.jkt], ['dpop_jkt', other.jkt]]),
      headers: { authorization: client.basic },
    });
    expect(twice.status).toBe(400);
    const signing = await newProofKey();
    const jwks = { keys: [{ ...signing.jwk, alg: 'ES256', use: 'sig' }] };
    const signed = await service.createClient({ jwks, scope: 'openid' });
    const object = await new SignJWT({ ...asked, dpop_jkt: key.jkt })
      .setProtectedHeader({ alg: 'ES256', typ: 'oauth-authz-req+jwt' })
      .setIssuer(signed.clientId)
      .setAudience(service.issuer)
      .setIssuedAt()
      .setNotBefore('0s')
      .setExpirationTime('5m')
      .sign(signing.privateKey);
    const push = (more: Record<string, string>, by = key) =>
      postWithProof(service, '/par', signed, { request: object, ...more }, by);
    expect(await push({ dpop_jkt: other.jkt })).toMatchObject({ status: 400 });
    expect(await push({}, other)).toMatchObject(refused);
    expect((await push({})).status).toBe(201);
    // outside an object that has none, it would be dropped
    const unbound = await new SignJWT(asked)
      .setProtectedHeader({ alg: 'ES256', typ: 'oauth-authz-req+jwt' })
      .setIssuer(signed.clientId)
      .setAudience(service.issuer)
      .setIssuedAt()
      .setNotBefore('0s')
      .setExpirationTime('5m')
      .sign(signing.privateKey);
    const beside = { request: unbound, dpop_jkt: key.jkt };
    expect(await post(`${service.issuer}/par`, signed, beside)).toMatchObject({ status: 400 });
  },
);

attack(
  {
    id: 'P15',
    name: 'A confidential client changes keys',
    request: 'Tokens for one key, refreshed with a proof of another key.',
    answer: 'the new token is bound to the new key only, and the old token still needs the old key.',
    source: 'RFC 9449 5, Duende products#1641',
    requirements: ['R134'],
  },
  async () => {
    const before = await tokensOf(client);
    const refreshing = { grant_type: 'refresh_token', refresh_token: before['refresh_token']! };
    const { status, body } = await postWithProof(service, '/token', client, refreshing, other);
    expect(status).toBe(200);
    const [old, renewed] = [before['access_token']!, body['access_token'] as string];
    for (const [token, by, expected] of [
      [old, key, 200],
      [old, other, 401],
      [renewed, other, 200],
      [renewed, key, 401],
    ] as const)
      expect((await present(service, '/user/info', token, by)).status).toBe(expected);
  },
);

attack(
  {
    id: 'P16',
    name: 'Downgrade by response type',
    request:
      'A registration that wants bound tokens and a response type with a token, an update that takes the binding away, and a request for a token from the browser.',
    answer: 'the registration is refused, the update waits for an administrator, and the request is refused.',
    source: 'node-oidc-provider cd7e0f4',
    requirements: ['R134', 'R45'],
  },
  async () => {
    const metadata = { redirect_uris: ['https://rp.example.com/callback'], dpop_bound_access_tokens: true };
    const register = (members: Record<string, unknown>) =>
      call(`${service.issuer}/register`, { body: { ...metadata, ...members } });
    for (const response_types of [['id_token token'], ['code token'], ['code', 'code id_token token']])
      expect(await register({ response_types, grant_types: ['authorization_code', 'implicit'] })).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata' },
      });
    const made = await register({ client_name: 'Bound' });
    expect(made).toMatchObject({ status: 201, body: { dpop_bound_access_tokens: true } });
    const clientId = made.body['client_id'] as string;
    await approveClient(service.issuer, await adminToken(service), clientId);
    const { client_id, client_secret } = made.body;
    const uri = made.body['registration_client_uri'] as string;
    const update = { ...metadata, client_name: 'Bound', client_id, client_secret, dpop_bound_access_tokens: false };
    const changed = await call(uri, {
      method: 'PUT',
      token: made.body['registration_access_token'] as string,
      body: update,
    });
    expect(changed.body, JSON.stringify(changed.body)).toMatchObject({ dpop_bound_access_tokens: true });
    expect(changed.body).toHaveProperty('pending_changes');
    const page = await agent.authorize(bound, user, {
      response_type: 'code token',
      nonce: 'n',
      code_challenge: s256('v'.repeat(43)),
      code_challenge_method: 'S256',
    });
    expect(page.location).toContain('error=unauthorized_client');
  },
);

attack(
  {
    id: 'P17',
    name: 'Bound handle of the UMA profile',
    request:
      'The code in the URL as a token at the addresses of a user, and the handle of the token response without a proof, of a client that takes bound tokens only.',
    answer: '401 for the code and for the handle without a proof, and 200 with a proof over the handle.',
    source: 'decisions section 5',
    requirements: ['R134', 'R82'],
  },
  async () => {
    const house = await service.createClient({
      uma_profile: true,
      dpop_bound_access_tokens: true,
      scope: 'openid email scope',
    });
    const unused = (await grantOf(house, { scope: 'openid email scope' }))['code']!;
    const asBearer = (token: string) => call(`${service.issuer}/user/me/scope`, { token });
    expect((await asBearer(unused)).status).toBe(401);
    expect((await present(service, '/user/me/scope', unused, key)).status).toBe(401);
    const grant = await grantOf(house, { scope: 'openid email scope' });
    const { body } = await postWithProof(service, '/token', house, grant, key);
    const handle = body['client_session_handle'] as string;
    expect((await asBearer(grant['code']!)).status).toBe(401);
    expect((await asBearer(handle)).status).toBe(401);
    expect((await present(service, '/user/me/scope', handle, other)).status).toBe(401);
    const claims = { jti: randomUUID() };
    expect((await present(service, '/user/me/scope', handle, key, { claims })).status).toBe(200);
    expect((await present(service, '/user/me/scope', handle, key, { claims })).status).toBe(401);
    expect((await present(service, '/user/me/scope', handle, key)).status).toBe(200);
  },
);

attack(
  {
    id: 'P18',
    name: 'Preflight',
    request: 'Preflights that ask for the header DPoP, and scripts that read the header DPoP-Nonce.',
    answer: 'both are allowed where scripts may call at all, and no other address allows them.',
    source: 'RFC 9449 8',
    requirements: ['R97'],
  },
  async () => {
    const preflight = (path: string) =>
      fetch(service.issuer + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'dpop,authorization',
        },
      });
    for (const path of ['/token', '/user/info', '/par', '/device_authorization']) {
      const { headers } = await preflight(path);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-allow-headers')).toMatch(/(^|, *)dpop(,|$)/);
      const answer = await fetch(service.issuer + path, { headers: { origin: 'https://app.example' } });
      if (path === '/user/info') expect(answer.headers.get('access-control-expose-headers')).toContain('dpop-nonce');
    }
    const { headers } = await postWithProof(strict, '/token', machine, own, key);
    expect(headers.get('access-control-expose-headers')).toContain('dpop-nonce');
    for (const path of ['/introspect', '/admin/api/clients', '/login', '/user/me/info'])
      expect((await preflight(path)).headers.get('access-control-allow-origin')).toBeNull();
  },
);

attack(
  {
    id: 'P66',
    name: 'A device code in the hands of a thief',
    request:
      'A device code that was asked for with a proof, polled with another key and with none, before and after the decision of the user.',
    answer: 'each poll is refused, and the device still gets its tokens.',
    source: 'draft-parecki-oauth-dpop-device-flow',
    requirements: ['R134'],
  },
  async () => {
    const tv = await service.createClient(deviceMetadata);
    const asked = await postWithProof(service, '/device_authorization', tv, { scope: 'openid' }, key);
    const codes = asked.body as unknown as DeviceCodes;
    const grant = { grant_type: deviceGrant, device_code: codes.device_code };
    const stolen = async () => {
      for (const answer of [
        await post(tokenAddress(), tv, grant),
        await postWithProof(service, '/token', tv, grant, other),
      ])
        expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    };
    await stolen();
    await decide(agent, codes, 'allow');
    await stolen();
    await allowPolls(service);
    const answer = await postWithProof(service, '/token', tv, grant, key);
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
  },
);

test('Nothing to see when off: a DPoP header changes nothing where no token is asked for or presented, and no answer has a nonce (protocols P93)', async () => {
  const garbage = { dpop: 'garbage' };
  const ask = async (path: string, init: RequestInit = {}) => {
    const [bare, sent] = await Promise.all(
      [{}, garbage].map((more) =>
        fetch(service.issuer + path, { ...init, redirect: 'manual', headers: { ...init.headers, ...more } }),
      ),
    );
    expect(sent!.status, path).toBe(bare!.status);
    expect(sent!.headers.get('dpop-nonce')).toBeNull();
  };
  const form = (parameters: Record<string, string>) => ({
    method: 'POST',
    body: new URLSearchParams(parameters),
    headers: { authorization: client.basic },
  });
  await ask('/introspect', form({ token: 'x' }));
  await ask('/revoke', form({ token: 'x' }));
  for (const path of ['/jwks', '/login', '/authorize', '/.well-known/openid-configuration', '/register'])
    await ask(path);
  const grant = await grantOf(client);
  const { headers } = await postWithProof(service, '/token', client, grant, key);
  expect(headers.get('dpop-nonce')).toBeNull();
  const registered = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://rp.example.com/callback'] },
  });
  expect(Object.keys(registered.body).filter((member) => member.startsWith('dpop'))).toEqual([]);
});

test('Canary values: no log line, metric or event has a proof or a nonce (security R99, protocols P95)', async () => {
  const jti = `canary-${randomUUID()}`;
  const claims = { jti };
  const proof = await proofFor(key, tokenAddress(), { claims, nonce: 'canary-nonce' });
  for (let count = 0; count < 2; count++) await withHeader(proof);
  await withHeader(`${proof}x`);
  await postWithProof(strict, '/token', machine, own, key, { claims: { jti: `${jti}2` } });
  const token = (await tokensOf(client))['access_token']!;
  for (let count = 0; count < 2; count++) await present(service, '/user/info', token, key, { claims });
  const events = await service.database.sql('SELECT * FROM audit_events');
  const written = JSON.stringify([service.logs, strict.logs, events]);
  expect(written).toContain('dpop.replayed');
  for (const secret of [jti, proof, proof.split('.')[1]!, proof.split('.')[2]!, 'canary-nonce'])
    expect(written).not.toContain(secret);
});

test('Database away: token requests, pushed requests and resources answer 503 with Retry-After, and no token without a stored proof (security R152, protocols P94, P19)', async () => {
  const other = await startTestService({ environment: withoutLimits });
  const { database } = other.database.connection;
  try {
    const of = await other.createClient({ grant_types: ['authorization_code', 'client_credentials'], scope: 'openid' });
    const { body } = await postWithProof(other, '/token', of, own, key);
    const token = body['access_token'] as string;
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
    await service.database.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
    const asked = { response_type: 'code', scope: 'openid', redirect_uri: of.redirectUri };
    const answers = await Promise.all([
      postWithProof(other, '/token', of, own, key),
      postWithProof(other, '/par', of, asked, key),
      present(other, '/user/info', token, key),
      present(other, '/admin/api/clients', token, key),
    ]);
    expect(answers.map(({ status, headers }) => [status, headers.has('retry-after')])).toEqual(
      Array(4).fill([503, true]),
    );
    for (const answer of answers) expect(answer.body).not.toHaveProperty('access_token');
  } finally {
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
    await other.stop();
  }
});

test('Flood of proofs: each of one client is stored once and none is kept in a process, and another client is served meanwhile (security R151, protocols P19)', async () => {
  const token = (await tokensOf(client))['access_token']!;
  const before = await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM dpop_proofs');
  const jtis = Array.from({ length: 1000 }, () => randomUUID());
  const flood = Promise.all(
    jtis.map((jti, index) =>
      present(service, '/user/info', token, key, { claims: { jti }, base: service.instances[index % 2]! }),
    ),
  );
  const meanwhile = await postWithProof(service, '/token', machine, own, other);
  expect(meanwhile.status).toBe(200);
  expect(new Set((await flood).map(({ status }) => status))).toEqual(new Set([200]));
  const after = await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM dpop_proofs');
  expect(after[0]!.n - before[0]!.n).toBe(1001);
  // the other instance, which did not see a proof, refuses it as well
  for (const index of [0, 1]) {
    const claims = { jti: jtis[index]! };
    const base = service.instances[1 - (index % 2)]!;
    expect((await present(service, '/user/info', token, key, { claims, base })).status).toBe(401);
  }
});

function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
