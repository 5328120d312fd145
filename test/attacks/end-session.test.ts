// Attacks the signed end-session request: forged signatures, requests without expiry, other users' browsers, oracles.
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { adminToken, call, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';
import {
  type CodeFlow,
  endSessionAddress,
  isSignedIn,
  manage,
  register,
  runCodeFlow,
  second,
  signedOutUri,
  wholeClient,
} from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let client: TestClient;
/** A client that has registered keys besides its shared secret. */
let keyed: TestClient;
let keyPair: { privateKey: KeyObject; publicKey: KeyObject };
let alice: CodeFlow;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  keyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  client = await service.createClient(wholeClient);
  keyed = await service.createClient({
    ...wholeClient,
    jwks: { keys: [{ ...keyPair.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'ES256' }] },
  });
  alice = await runCodeFlow(service, client, { scope: 'openid' });
  await obtainTokens(service, keyed, undefined, {}, alice.agent);
});
afterAll(() => service?.stop());

const now = () => Math.floor(Date.now() / 1000);
function claims(of = client, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const all = {
    iss: of.clientId,
    aud: service.issuer,
    iat: now(),
    exp: now() + 60,
    jti: randomUUID(),
    redirect_uri: signedOutUri,
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** Signs by hand, because libraries refuse much of what an attacker does. */
function hmac(payload: Record<string, unknown>, key: string | Buffer, header: Record<string, unknown> = {}): string {
  const signed = `${encode({ alg: 'HS256', ...header })}.${encode(payload)}`;
  const hash = { HS384: 'sha384', HS512: 'sha512' }[String(header['alg'])] ?? 'sha256';
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`;
}
const send = (jwt: string, agent = alice.agent): Promise<Page> =>
  agent.get(`/end-session?request=${encodeURIComponent(jwt)}`);
const summaryOf = (page: Page) => ({
  status: page.status,
  location: page.location,
  body: page.body === '' ? undefined : (JSON.parse(page.body) as unknown),
});
const unsigned = {
  status: 401,
  location: undefined,
  body: {
    error: 'invalid_client',
    error_description:
      'the end-session request is not one that an enabled client signed with its shared_secret or a registered key',
  },
};
/** Expects that the session of a sign-in is valid, at the instance that did not answer the request. */
async function expectAlive(of = alice): Promise<void> {
  expect((await userinfo(second(service), of.tokens.access_token)).status).toBe(200);
  expect(await isSignedIn(of.agent, second(service))).toBe(true);
}
const sidOf = async ({ user }: CodeFlow) =>
  (await service.database.sql<{ sid: string }>('SELECT sid FROM sessions WHERE sub = $1', [user.sub]))[0]!.sid;

attack(
  {
    id: 'A86',
    name: 'Algorithm swap',
    request:
      'The same claims unsigned, under HS384 and HS512, under RS256 and ES256 with a key of the attacker, under HS256 keyed with public keys of the service or the client, and with jwk, jku, x5u, x5c or crit in the header',
    answer: '401 with the same body each time, and the session stays valid',
    source: 'RFC 8725 3.1, CVE-2026-16093',
    requirements: ['R71'],
  },
  async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { keys } = (await call(`${service.issuer}/jwks`)).body as unknown as { keys: JWK[] };
    const publicKeys = [
      keyPair.publicKey,
      ...keys.map((jwk) => createPublicKey({ key: jwk as Record<string, string>, format: 'jwk' })),
    ];
    const jwk = ec.publicKey.export({ format: 'jwk' }) as JWK;
    const forged: string[] = [];
    for (const of of [client, keyed]) {
      const payload = claims(of);
      const [header, body] = hmac(payload, of.sharedSecret).split('.') as [string, string];
      forged.push(
        new UnsecuredJWT(payload).encode(),
        ...['none', 'None', 'NONE', ''].map((alg) => `${encode({ alg })}.${encode(payload)}.AA`),
        `${header}.${body}.`,
        `${header}.${body}`,
        ...['HS384', 'HS512', 'HS1'].map((alg) => hmac(payload, of.sharedSecret, { alg })),
        await new SignJWT(payload).setProtectedHeader({ alg: 'RS256' }).sign(rsa.privateKey),
        await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'own' }).sign(ec.privateKey),
        await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', jwk }).sign(ec.privateKey),
        ...publicKeys.flatMap((key) => [
          hmac(payload, key.export({ format: 'pem', type: 'spki' })),
          hmac(payload, key.export({ format: 'der', type: 'spki' })),
          hmac(payload, JSON.stringify(key.export({ format: 'jwk' }))),
        ]),
        ...keys.map((published) => hmac(payload, JSON.stringify(published))),
        ...[
          { jwk },
          { jku: 'https://rp.example.com/jwks' },
          { x5u: 'https://rp.example.com/x5u' },
          { x5c: ['AAAA'] },
          { crit: ['exp'] },
          { crit: ['b64'], b64: false },
        ].map((more) => hmac(payload, of.sharedSecret, more)),
      );
    }
    for (const jwt of forged) expect(summaryOf(await send(jwt)), jwt).toEqual(unsigned);
    await expectAlive();
  },
);

attack(
  {
    id: 'A87',
    name: 'Request without a valid expiry',
    request:
      'Signed correctly, but without exp, iat, jti or iss, expiring in a hundred years, issued in an hour or an hour ago, for several audiences, with a wrong typ, with bytes around it, or with a jti that was used before',
    answer: '401 for each, although the library alone would accept several; the session stays valid',
    source: 'RFC 8725 3.8 to 3.12',
    requirements: ['R71', 'R72'],
  },
  async () => {
    const year = 365 * 86_400;
    const changes: [Record<string, unknown>, Record<string, unknown>?][] = [
      [{ exp: undefined }],
      [{ iat: undefined }],
      [{ jti: undefined }],
      [{ iss: undefined }],
      [{ aud: undefined }],
      [{ exp: now() + 100 * year }],
      [{ exp: now() + 310 }],
      [{ exp: now() - 1 }],
      [{ exp: now() - 10, iat: now() - 20 }],
      [{ exp: String(now() + 60) }],
      [{ iat: now() + 3600, exp: now() + 3660 }],
      [{ iat: now() - 3600 }],
      [{ iat: now() + 70, exp: now() + 60 }],
      [{ aud: [service.issuer, 'https://other.example'] }],
      [{ aud: [service.issuer] }],
      [{ aud: `${service.issuer}/end-session` }],
      [{ aud: `${service.issuer}/` }],
      [{ jti: '' }],
      [{ jti: 7 }],
      [{ jti: 'x'.repeat(513) }],
      [{ nbf: now() + 600 }],
      [{}, { typ: 'JWT' }],
      [{}, { typ: 'at+jwt' }],
      [{}, { typ: 'logout+jwt' }],
    ];
    for (const [change, header] of changes) {
      const what = JSON.stringify([change, header]);
      const page = await send(hmac(claims(client, change), client.sharedSecret, header));
      expect(summaryOf(page), what).toMatchObject({
        status: 401,
        location: undefined,
        body: { error: 'invalid_client' },
      });
    }
    // the same token with bytes that a lenient parser ignores
    const whole = hmac(claims(), client.sharedSecret);
    for (const sloppy of [`${whole}=`, `${whole}\n`, ` ${whole}`, `${whole}.`, whole.replace('.', '..')])
      expect(summaryOf(await send(sloppy)), JSON.stringify(sloppy.slice(-5))).toEqual(unsigned);
    await expectAlive();

    const reused = claims(client, { sid: 'of-another-user' });
    expect((await send(hmac(reused, client.sharedSecret))).status).toBe(400);
    for (const again of [reused, { ...claims(), jti: reused['jti'] }])
      expect(summaryOf(await send(hmac(again, client.sharedSecret)))).toMatchObject({
        status: 401,
        body: { error_description: expect.stringContaining('jti was used before') },
      });
    await expectAlive();
    // two tokens whose last character differs only in unused bits are one request: it works once
    const other = await runCodeFlow(service, client, { scope: 'openid' });
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(whole.at(-1)!);
    const statuses: number[] = [];
    for (const step of [0, 1, 2, 3])
      statuses.push((await send(whole.slice(0, -1) + alphabet[last ^ step], other.agent)).status);
    expect(statuses).toEqual([302, 401, 401, 401]);
  },
);

attack(
  {
    id: 'A90',
    name: 'Wrong browser',
    request:
      'The browser of bob, a signed-out browser, or alice’s browser without a session of this client opens a request for the sid or sub of alice',
    answer: '400 as JSON, no redirect, and the sessions of both are untouched',
    source: 'OWASP ASVS 10.6.2',
    requirements: ['R73'],
  },
  async () => {
    const bob = await runCodeFlow(service, client, { scope: 'openid' });
    const sid = await sidOf(alice);
    const otherClient = await service.createClient(wholeClient);
    for (const [agent, change, of] of [
      [bob.agent, { sid }, client],
      [bob.agent, { sub: alice.user.sub }, client],
      [bob.agent, { sid, sub: bob.user.sub }, client],
      [new UserAgent(service), { sid }, client],
      [new UserAgent(service), {}, client],
      [alice.agent, { sid }, otherClient],
      [alice.agent, {}, otherClient],
      [alice.agent, { sid, all: true }, client],
    ] as const) {
      const page = await send(hmac(claims(of, change), of.sharedSecret), agent);
      expect(summaryOf(page), JSON.stringify(change)).toMatchObject({
        status: 400,
        location: undefined,
        body: { error: 'invalid_request' },
      });
    }
    await expectAlive();
    await expectAlive(bob);
  },
);

attack(
  {
    id: 'A91',
    name: 'Offline guess of the key',
    request:
      'A registrant and an administrator try to set a key of 0, 1, 16 and 31 bytes or the client_secret as the end-session key; requests are signed with such keys and with a shortened, a decoded, a foreign and a replaced one',
    answer:
      'The service always generates the key from 256 random bits: it refuses or ignores every write of a key, and answers 401 to every other key',
    source: 'RFC 7518 3.2',
    requirements: ['R70'],
  },
  async () => {
    const token = await adminToken(service);
    const path = `${service.issuer}/admin/api/clients`;
    const weak = ['', 'x', 'x'.repeat(16), 'x'.repeat(31)];
    for (const shared_secret of weak) {
      const { body, status } = await register(service, { shared_secret });
      expect(status).toBe(201);
      expect(body['shared_secret']).toMatch(/^[\w-]{43}$/);
      expect(body['shared_secret']).not.toBe(body['client_secret']);
      const whole = { client_id: body['client_id'], redirect_uris: ['https://rp.example.com/callback'] };
      for (const value of [shared_secret, body['client_secret'], `${body['shared_secret']}A`])
        expect((await manage(body, 'PUT', { ...whole, shared_secret: value })).status).toBe(400);
      const created = await call(path, { token, body: { redirect_uris: whole.redirect_uris, shared_secret } });
      expect(created.status).toBe(400);
      const address = `${path}/${body['client_id']}`;
      expect((await call(address, { method: 'PATCH', token, body: { shared_secret } })).status).toBe(400);
    }
    const decoded = Buffer.from(client.sharedSecret, 'base64url');
    const shortened = client.sharedSecret.slice(0, -1);
    for (const key of [...weak, client.clientSecret, shortened, decoded, keyed.sharedSecret])
      expect(summaryOf(await send(hmac(claims(), key)))).toEqual(unsigned);
    await expectAlive();

    const fresh = await service.createClient(wholeClient);
    const visitor = await runCodeFlow(service, fresh, { scope: 'openid' });
    const metadata = { redirect_uris: [fresh.redirectUri], post_logout_redirect_uris: [signedOutUri] };
    const repeated = await register(service, metadata, { authorization: `Bearer ${fresh.registrationAccessToken}` });
    expect(repeated.status).toBe(200);
    expect(summaryOf(await send(hmac(claims(fresh), fresh.sharedSecret), visitor.agent))).toEqual(unsigned);
    const rotated = await endSessionAddress(service, fresh, {}, repeated.body['shared_secret']);
    expect((await visitor.agent.get(rotated)).location).toBe(signedOutUri);
  },
);

attack(
  {
    id: 'A92',
    name: 'End-session oracle',
    request:
      'Requests for an unknown, ended, foreign and malformed sid and sub; of an unknown and a disabled client, and with a bad signature',
    answer:
      'Only two answers, each the same in status, headers and bytes: no such session here, or not a request of an enabled client',
    source: 'CWE-204',
    requirements: ['R74'],
  },
  async () => {
    const volatile = ['date', 'set-cookie', 'connection', 'keep-alive'];
    const bytes = ({ status, headers, body }: Page) => ({
      status,
      body,
      headers: [...headers].filter(([name]) => !volatile.includes(name)),
    });
    const bob = await runCodeFlow(service, client, { scope: 'openid' });
    const gone = await runCodeFlow(service, client, { scope: 'openid' });
    const ended = await sidOf(gone);
    await gone.agent.submit(await gone.agent.get('/logout'), { decision: 'sign-out' });
    const without = [];
    for (const change of [
      { sid: 'unknown' },
      { sid: ended },
      { sid: await sidOf(bob) },
      { sid: '' },
      { sid: '%00' },
      { sub: bob.user.sub },
      { sub: 'nobody' },
    ])
      without.push(bytes(await send(hmac(claims(client, change), client.sharedSecret))));
    without.push(bytes(await send(hmac(claims(), client.sharedSecret), gone.agent)));
    expect(without[0]).toMatchObject({ status: 400 });
    for (const answer of without) expect(answer).toEqual(without[0]);

    const disabled = await service.createClient(wholeClient, { status: 'disabled' });
    const bad = [];
    for (const jwt of [
      hmac(claims(client, { iss: 'nobody' }), client.sharedSecret),
      hmac(claims(client, { iss: `${client.clientId}x` }), client.sharedSecret),
      hmac(claims(disabled), disabled.sharedSecret),
      hmac(claims(disabled), 'wrong'),
      hmac(claims(), 'wrong'),
      hmac(claims(client, { sid: await sidOf(bob) }), 'wrong'),
      hmac(claims(client, { exp: 0 }), 'wrong'),
      'x',
      'a.b.c',
    ])
      bad.push(bytes(await send(jwt)));
    expect(bad[0]).toMatchObject({ status: 401 });
    for (const answer of bad) expect(answer).toEqual(bad[0]);
    await expectAlive();
    await expectAlive(bob);
  },
);
