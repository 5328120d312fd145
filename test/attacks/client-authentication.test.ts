// Attacks client authentication: two identities at once, malformed credentials, oracles, and the lock-out of a client.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { type Answer, call, obtainCode, redeem } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { pkce, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { basic, form, second, useService } from '../spec/kit.ts';
import { attack } from './attack.ts';
import { hostOf, raw } from './raw.ts';

// the requests of A49 arrive through a proxy, so each network has its own limit; the other cases stay below the limit
const service = useService({ TRUST_PROXY: '127.0.0.1,::1', LIMIT_CLIENT_AUTH_FAILURES: '30' });
const grant_types = ['authorization_code', 'refresh_token', 'client_credentials'];
let [c1, c2, p1, d1]: TestClient[] = [];
let agent: UserAgent;
beforeAll(async () => {
  c1 = await service().createClient({ grant_types });
  c2 = await service().createClient({ grant_types, token_endpoint_auth_method: 'client_secret_post' });
  p1 = await service().createClient({ token_endpoint_auth_method: 'none' });
  d1 = await service().createClient({ grant_types }, { status: 'disabled' });
  agent = new UserAgent(service());
  await agent.signIn(await service().createUser());
});

const own = { grant_type: 'client_credentials' };
const endpoints = ['/token', '/introspect', '/revoke', '/par'];
let callers = 0;
/** A network from which no request has come before. */
const elsewhere = () => ({ 'x-forwarded-for': `203.0.${++callers % 256}.${callers >> 8}` });
/** Builds a form for an endpoint, with the parameters that the endpoint needs besides credentials. */
const send = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  form(service().issuer + path, { ...own, token: 'x', ...fields }, { ...elsewhere(), ...headers });

const invalidClient = { status: 401, body: { error: 'invalid_client' } };
/** Everything about an answer that an attacker can compare. */
const seen = ({ status, headers, body }: Answer) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => name !== 'date')),
  body,
});

/** Builds an assertion for client_secret_jwt (OpenID Connect Core 9). */
const assertion = ({ clientId, clientSecret }: TestClient) =>
  new SignJWT({ iss: clientId, sub: clientId, aud: service().issuer, jti: randomUUID() })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(Buffer.from(clientSecret));

attack(
  {
    id: 'A45',
    name: 'Two mechanisms, two identities',
    request:
      'The Basic header of one client together with another’s id, secret or assertion in the body, with its own, two headers, and an assertion in the header, at each endpoint that authenticates clients',
    answer:
      '400 invalid_request, or 401 invalid_client for a header that is not Basic: the service never picks the mechanism that matched',
    source: 'RFC 6749 2.3, CVE-2026-16093',
    requirements: ['R37'],
  },
  async () => {
    const signer = await service().createClient({ grant_types, token_endpoint_auth_method: 'client_secret_jwt' });
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const header = { authorization: c1!.basic };
    const secret = { client_id: c2!.clientId, client_secret: c2!.clientSecret };
    for (const path of endpoints) {
      const signed = { client_assertion: await assertion(signer), client_assertion_type };
      const both: [Record<string, string>, Record<string, string>][] = [
        [header, secret],
        [header, { client_id: c2!.clientId }],
        [header, { client_secret: c1!.clientSecret }],
        [header, { client_id: c1!.clientId, client_secret: c1!.clientSecret }],
        [header, signed],
        [header, { client_assertion_type }],
        [{}, { ...secret, ...signed }],
        [{ authorization: basic(signer.clientId, signer.clientSecret) }, signed],
      ];
      for (const [headers, fields] of both)
        expect(await send(path, fields, headers), path).toMatchObject({
          status: 400,
          body: { error: 'invalid_request' },
        });
      for (const scheme of ['Bearer ', 'JWT ', 'private_key_jwt ', '', 'Basic ']) {
        const answer = await send(path, {}, { authorization: scheme + (await assertion(signer)) });
        expect(answer, path + scheme).toMatchObject(invalidClient);
      }
      const other = await send(path, { ...signed, client_id: c1!.clientId });
      expect(other).toMatchObject(invalidClient);
      const body = new URLSearchParams({ ...own, token: 'x' }).toString();
      for (const two of [
        [c1!.basic, c1!.basic],
        [c1!.basic, basic('nobody', 'x')],
        [basic('nobody', 'x'), c1!.basic],
      ]) {
        const lines = two.map((value) => `Authorization: ${value}`);
        const type = 'Content-Type: application/x-www-form-urlencoded';
        const answer = await raw(
          service().issuer,
          [`POST ${path} HTTP/1.1`, hostOf(service().issuer), type, ...lines],
          body,
        );
        expect(answer.status, path).toBe(400);
      }
      expect((await send(path, signed)).status, path).not.toBe(401);
    }
  },
);

attack(
  {
    id: 'A46',
    name: 'Malformed Basic',
    request:
      'A right Basic header with stray characters in its base64, text after it, the scheme twice, no colon, bad escapes, control characters, a byte order mark, invalid UTF-8, other alphabets, and half of it',
    answer: '401 invalid_client with WWW-Authenticate, as for any wrong secret; never accepted',
    source: 'node-oidc-provider f1bb868',
    requirements: ['R38'],
  },
  async () => {
    const encode = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString('base64')}`;
    const pair = `${c1!.clientId}:${c1!.clientSecret}`;
    const padded = encode(pair);
    const stray = padded.slice(6).replace(/=*$/, '');
    const sloppy = [
      'Basic Y2xp*ZW50!OnNlY3JldA==garbage',
      padded.replace(/(.{12})/, '$1*'),
      padded.replace(/(.{12})/, '$1 '),
      `${padded}garbage`,
      `${padded}=`,
      `${padded}, ${padded}`,
      `Basic ${padded}`,
      `Basic: ${padded.slice(6)}`,
      `Basic realm="x"`,
      'Basic',
      'Basic ',
      'Basic Og==',
      encode(c1!.clientId + c1!.clientSecret),
      encode(`${pair}%`),
      encode(`${pair}%zz`),
      encode(`${pair}%00`),
      encode(`${pair}%ff`),
      encode(`${pair}\n`),
      encode(`${pair}\0`),
      encode(`${pair} `),
      encode(`\t${pair}`),
      encode(`\ufeff${pair}`),
      encode(Buffer.concat([Buffer.from(pair), Buffer.from([0xff])])),
      encode(Buffer.from(`\ufeff${pair}`, 'utf16le')),
      encode(`:${c1!.clientSecret}`),
      encode(`${c1!.clientId}:`),
      `Basic ${Buffer.from(`${pair}??>>`).toString('base64url')}`,
      `Basic ${stray}A`,
    ];
    for (const path of ['/token', '/introspect']) {
      const wrong = seen(await send(path, {}, { authorization: basic(c1!.clientId, 'wrong') }));
      expect(wrong).toMatchObject(invalidClient);
      expect(wrong.headers['www-authenticate']).toMatch(/^Basic realm=/);
      for (const authorization of sloppy)
        expect(seen(await send(path, {}, { authorization })), `${path} ${authorization}`).toEqual(wrong);
    }
    for (const scheme of ['Basic', 'basic', 'BASIC'])
      expect((await send('/token', {}, { authorization: padded.replace('Basic', scheme) })).status).toBe(200);
  },
);

attack(
  {
    id: 'A47',
    name: 'Enumeration of clients',
    request:
      'An unknown client, a disabled one, a wrong secret and a replaced one, by header and by body, at each endpoint that authenticates clients',
    answer: 'The same 401, headers and body after the same work in the database, so the response time reveals nothing',
    source: 'RFC 6749 5.2, authelia#949',
    requirements: ['R39'],
  },
  async () => {
    const rotated = await service().createClient({ grant_types });
    const renewed = await call(`${service().issuer}/register`, {
      token: rotated.registrationAccessToken,
      body: { redirect_uris: [rotated.redirectUri], grant_types },
    });
    expect(renewed.status).toBe(200);
    const { clientSecret } = c1!;
    const signer = await service().createClient({ grant_types, token_endpoint_auth_method: 'client_secret_jwt' });
    const pairs = [
      ['unknown', clientSecret],
      [d1!.clientId, 'wrong'],
      [d1!.clientId, clientSecret],
      [c1!.clientId, 'wrong'],
      [c1!.clientId, clientSecret.slice(1)],
      [c1!.clientId, c1!.sharedSecret],
      [c2!.clientId, clientSecret],
      [signer.clientId, 'wrong'],
      [p1!.clientId, 'invented'],
      [rotated.clientId, rotated.clientSecret],
    ] as const;
    for (const path of endpoints) {
      const asked = pairs.map(
        ([id, secret]) =>
          () =>
            send(path, {}, { authorization: basic(id, secret) }),
      );
      const bodies = pairs.map(
        ([client_id, client_secret]) =>
          () =>
            send(path, { client_id, client_secret }),
      );
      const answers = [];
      for (const ask of [...asked, ...bodies]) {
        // the service caches known clients
        await send('/token', {}, { authorization: c1!.basic });
        await send('/token', {}, { authorization: d1!.basic });
        const before = service().statements.length;
        const answer = seen(await ask());
        const work = service().statements.slice(before);
        answers.push({ ...answer, work: work.filter((name) => !name.startsWith('signing_keys.')).sort() });
      }
      expect(answers[0]).toMatchObject(invalidClient);
      expect(answers[0]!.work.length).toBeGreaterThan(0);
      for (const answer of answers) expect(answer, path).toEqual(answers[0]);
    }
  },
);

attack(
  {
    id: 'A48',
    name: 'Confidential client goes public',
    request:
      'A confidential client’s code redeemed with its verifier and client_id alone, with an empty secret or header; a public client’s with an invented secret',
    answer: '401 invalid_client, and each code stays valid for its client',
    source: 'RFC 6749 3.2.1, RFC 9700 2.5',
    requirements: ['R37'],
  },
  async () => {
    for (const client of [c1!, c2!, p1!]) {
      const { code_verifier, code_challenge, code_challenge_method } = pkce();
      const code = await obtainCode(service(), client, undefined, { code_challenge, code_challenge_method }, agent);
      const { clientId: client_id, redirectUri: redirect_uri } = client;
      const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier };
      const tries: [Record<string, string>, Record<string, string>][] =
        client === p1
          ? [
              [{ client_id, client_secret: 'invented' }, {}],
              [{}, { authorization: basic(client_id, 'invented') }],
              [{}, { authorization: basic(client_id, '') }],
            ]
          : [
              [{ client_id }, {}],
              [{ client_id, client_secret: '' }, {}],
              [{}, { authorization: basic(client_id, '') }],
              [{ client_id: p1!.clientId }, { authorization: basic(client_id, '') }],
            ];
      for (const [more, headers] of tries) {
        const answer = await send('/token', { ...fields, ...more }, headers);
        expect([400, 401], JSON.stringify(more)).toContain(answer.status);
        expect(['invalid_client', 'invalid_request']).toContain(answer.body['error']);
      }
      const byForm = client === c1 ? {} : { client_id, ...(client === c2 && { client_secret: client.clientSecret }) };
      const byHeader: Record<string, string> = client === c1 ? { authorization: c1.basic } : {};
      expect((await send('/token', { ...fields, ...byForm }, byHeader)).status).toBe(200);
    }
    // a public client cannot redeem the code of the confidential client either
    const code = await obtainCode(service(), c1!, undefined, {}, agent);
    const stolen = { grant_type: 'authorization_code', code, client_id: p1!.clientId, redirect_uri: c1!.redirectUri };
    expect(await tokenRequest(service().issuer, undefined, stolen)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await redeem(second(service()), c1!, code)).toMatchObject({ status: 200 });
  },
);

attack(
  {
    id: 'A49',
    name: 'Lock-out of a client',
    request:
      'A thousand wrong secrets for one client from all addresses of 192.0.2.0/24, to two instances, while the client works from its own address',
    answer:
      'Thirty answers of 401 to the attacking network and then 429 with Retry-After, also for the right secret; the client’s own requests, and those of other clients from that network, are still answered',
    source: 'frappe#41542, nametag GHSA-qwj2-9jr7-f273',
    requirements: ['R41'],
  },
  async () => {
    const victim = await service().createClient({ grant_types });
    const from = (address: string, by: string, index = 0) =>
      form(`${service().instances[index % 2]}/token`, own, { authorization: by, 'x-forwarded-for': address });
    const wrong = basic(victim.clientId, 'wrong');
    const statuses: number[] = [];
    for (let batch = 0; batch < 40; batch++) {
      const storm = Array.from({ length: 25 }, (_, index) =>
        from(`192.0.2.${(batch * 25 + index) % 256}`, wrong, index),
      );
      const answered = from('198.51.100.7', victim.basic, batch);
      for (const { status, headers } of await Promise.all(storm)) {
        statuses.push(status);
        if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect((await answered).status, `batch ${batch}`).toBe(200);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(30);
    expect(statuses.filter((status) => status === 429)).toHaveLength(970);
    for (const index of [0, 1]) {
      expect((await from('192.0.2.77', victim.basic, index)).status).toBe(429);
      expect((await from('192.0.2.77', c1!.basic, index)).status).toBe(200);
      expect((await from('192.0.3.77', victim.basic, index)).status).toBe(200);
      // an address that the attacker writes into the header does not count: the last one, which the proxy adds, counts
      expect((await from('198.51.100.7, 192.0.2.9', wrong, index)).status).toBe(429);
    }
  },
  120_000,
);

test('Nothing to see when off: a header for a certificate changes nothing, and neither discovery nor registration knows certificates (protocols P93)', async () => {
  const { issuer } = service();
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const { body } = await call(`${issuer}/.well-known/${name}`);
    expect(JSON.stringify(body)).not.toMatch(/tls_client|mtls/);
  }
  const header = { 'client-cert': ':AAAA:', 'client-cert-verify': 'SUCCESS' };
  const answer = await form(`${issuer}/token`, { ...own, client_id: c1!.clientId }, { ...elsewhere(), ...header });
  expect(answer).toMatchObject(invalidClient);
  expect((await send('/token', own, { ...header, authorization: c1!.basic })).status).toBe(200);
  const metadata = { redirect_uris: ['https://rp.example.com/callback'], tls_client_auth_subject_dn: 'CN=app' };
  for (const method of ['tls_client_auth', 'self_signed_tls_client_auth'])
    expect(
      await call(`${issuer}/register`, { body: { ...metadata, token_endpoint_auth_method: method } }),
    ).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  const registered = await call(`${issuer}/register`, { body: metadata });
  expect(Object.keys(registered.body).filter((member) => member.startsWith('tls_'))).toEqual([]);
});
