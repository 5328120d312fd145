// Clients authenticate by a secret, or by none with PKCE: each request uses exactly the registered method, and all failures get the same answer.
import { connect } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { form } from '../spec/kit.ts';
import { pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let basic: TestClient;
let post: TestClient;
let publicClient: TestClient;
let disabled: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  const grants = ['authorization_code', 'client_credentials'];
  basic = await service.createClient({ grant_types: grants });
  post = await service.createClient({ grant_types: grants, token_endpoint_auth_method: 'client_secret_post' });
  publicClient = await service.createClient({ token_endpoint_auth_method: 'none' });
  disabled = await service.createClient({ grant_types: grants }, { status: 'disabled' });
});
afterAll(() => service?.stop());

const grant = { grant_type: 'client_credentials' };
const encode = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString('base64')}`;
const withHeader = (header: string | undefined, form: Record<string, string> = grant): Promise<Answer> =>
  tokenRequest(service.issuer, header === undefined ? undefined : { basic: header }, form);

function expectRefused(answer: Answer): void {
  expect(answer).toMatchObject({
    status: 401,
    body: { error: 'invalid_client', error_description: expect.any(String) },
  });
  expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}

describe('the registered method', () => {
  test('client_secret_basic and client_secret_post each work for the clients that registered them (RFC 6749 2.3.1)', async () => {
    expect(await withHeader(basic.basic)).toMatchObject({ status: 200 });
    expect(
      await withHeader(undefined, { ...grant, client_id: post.clientId, client_secret: post.clientSecret }),
    ).toMatchObject({ status: 200 });
    // a client_id in the form is not a second method
    expect(await withHeader(basic.basic, { ...grant, client_id: basic.clientId })).toMatchObject({ status: 200 });
  });

  test('client_secret_basic and client_secret_post are equivalent: a secret works in the header and in the form (security R37)', async () => {
    for (const path of ['/token', '/introspect', '/revoke', '/par'])
      for (const client of [basic, post]) {
        const ask = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
          form(service.issuer + path, { ...grant, token: 'x', ...fields }, headers);
        const answers = [
          await ask({}, { authorization: client.basic }),
          await ask({ client_id: client.clientId, client_secret: client.clientSecret }),
        ];
        for (const { status, body } of answers) {
          expect(status, path).not.toBe(401);
          expect(body['error'], path).not.toBe('invalid_client');
        }
        expectRefused(await ask({}, { authorization: encode(`${client.clientId}:wrong`) }));
        expectRefused(await ask({ client_id: client.clientId, client_secret: 'wrong' }));
      }
  });

  test('client_assertion_type without an assertion is no authentication, and leaves a public client as it is (RFC 7521 4.2)', async () => {
    const publicClient = await service.createClient({ token_endpoint_auth_method: 'none' });
    const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: publicClient.redirectUri };
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const answer = await withHeader(undefined, {
      ...code,
      client_id: publicClient.clientId,
      client_assertion_type: type,
    });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expectRefused(await withHeader(undefined, { ...grant, client_id: basic.clientId, client_assertion_type: type }));
  });

  test('correct credentials by another method get the name of the registered method, and wrong ones get the common answer (security R37, R39)', async () => {
    const grants = { grant_types: ['client_credentials'], redirect_uris: [] };
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwks = { keys: [await exportJWK(publicKey)] };
    const asserting = await service.createClient({ ...grants, token_endpoint_auth_method: 'client_secret_jwt' });
    const keyed = await service.createClient({ ...grants, jwks, token_endpoint_auth_method: 'private_key_jwt' });
    const sending = await service.createClient({ ...grants, jwks, id_token_signed_response_alg: 'HS256' });
    const assertion = (client: TestClient, key: CryptoKey | Uint8Array) =>
      new SignJWT({ iss: client.clientId, sub: client.clientId, aud: service.issuer, jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: key instanceof Uint8Array ? 'HS256' : 'ES256' })
        .setExpirationTime('1m')
        .sign(key);
    const byAssertion = async (client: TestClient, key: CryptoKey | Uint8Array) =>
      withHeader(undefined, {
        ...grant,
        client_assertion: await assertion(client, key),
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
    const bySecret = ({ clientId: client_id }: TestClient, client_secret: string) =>
      withHeader(undefined, { ...grant, client_id, client_secret });
    const misplaced: [string, Answer][] = [
      ['client_secret_jwt', await withHeader(asserting.basic)],
      ['client_secret_jwt', await bySecret(asserting, asserting.clientSecret)],
      ['client_secret_basic', await byAssertion(sending, Buffer.from(sending.clientSecret))],
      ['client_secret_basic', await byAssertion(sending, privateKey)],
    ];
    for (const [method, answer] of misplaced) {
      expectRefused(answer);
      expect(answer.body['error_description']).toContain(`registered for ${method}`);
    }
    const other = (await generateKeyPair('ES256')).privateKey;
    const wrong = [
      await withHeader(encode(`${asserting.clientId}:wrong`)),
      await bySecret(asserting, 'wrong'),
      await bySecret(keyed, 'wrong'),
      await byAssertion(sending, Buffer.from('wrong'.repeat(8))),
      await byAssertion(sending, other),
      await byAssertion(asserting, other),
      await byAssertion(keyed, Buffer.from('wrong'.repeat(8))),
    ];
    const unknown = await withHeader(encode('nobody:wrong'));
    for (const answer of wrong) {
      expectRefused(answer);
      expect(answer.body).toEqual(unknown.body);
    }
    // correct credentials work by the registered method only
    expect((await byAssertion(keyed, privateKey)).status).toBe(200);
    expect((await byAssertion(asserting, Buffer.from(asserting.clientSecret))).status).toBe(200);
    expect((await withHeader(sending.basic)).status).toBe(200);
  });

  test('a confidential client cannot act as a public one, and a public client cannot add a secret (security A48)', async () => {
    expectRefused(
      await withHeader(undefined, {
        grant_type: 'authorization_code',
        code: 'x',
        client_id: basic.clientId,
        code_verifier: pkce().code_verifier,
      }),
    );
    const form = { grant_type: 'authorization_code', code: 'x' };
    expectRefused(
      await withHeader(undefined, { ...form, client_id: publicClient.clientId, client_secret: 'invented' }),
    );
    expectRefused(await withHeader(encode(`${publicClient.clientId}:invented`), form));
    expectRefused(await withHeader(encode(`${publicClient.clientId}:`), form));
    expectRefused(await withHeader(undefined, { ...form, client_id: post.clientId, client_secret: '' }));
  });

  test('a public client redeems and refreshes with its client_id and PKCE only (RFC 9700 2.1.1)', async () => {
    const { code_verifier, ...challenge } = pkce();
    const page = await new UserAgent(service).authorize(publicClient, await service.createUser(), challenge);
    const form = {
      grant_type: 'authorization_code',
      code: responseParameters(page)['code']!,
      redirect_uri: publicClient.redirectUri,
      client_id: publicClient.clientId,
    };
    expect(await withHeader(undefined, form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const answer = await withHeader(undefined, { ...form, code_verifier });
    expect(answer).toMatchObject({ status: 200 });
    const next = {
      grant_type: 'refresh_token',
      refresh_token: answer.body['refresh_token'] as string,
      client_id: publicClient.clientId,
    };
    expect(await withHeader(undefined, next)).toMatchObject({ status: 200 });
    expectRefused(await withHeader(undefined, { ...grant, client_id: publicClient.clientId }));
  });
});

describe('two mechanisms in one request', () => {
  test.each([
    ['a header and a secret in the form', () => ({ client_secret: basic.clientSecret })],
    [
      'a header and the secret of another client',
      () => ({ client_id: post.clientId, client_secret: post.clientSecret }),
    ],
    ['a header and another client_id', () => ({ client_id: post.clientId })],
    ['a header and an assertion', () => ({ client_assertion: 'a.b.c', client_assertion_type: 'x' })],
    ['a header and half an assertion', () => ({ client_assertion_type: 'x' })],
  ])('%s are refused with 400 (security A45, R37)', async (_what, form) => {
    expect(await withHeader(basic.basic, { ...grant, ...form() })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  });

  test('a secret and an assertion in the form are refused with 400 (security A45)', async () => {
    const form = { client_id: post.clientId, client_secret: post.clientSecret, client_assertion: 'a.b.c' };
    expect(await withHeader(undefined, { ...grant, ...form })).toMatchObject({ status: 400 });
  });

  test('two Authorization headers are refused, even if the first one is correct (security R37)', async () => {
    const answer = await raw(service.issuer, [
      `Authorization: ${basic.basic}`,
      `Authorization: ${encode('other:secret')}`,
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 40[01] /);
    expect(answer).not.toContain('access_token');
  });
});

describe('the Basic header', () => {
  test.each([
    ['an asterisk within the base64', () => basic.basic.replace(/(.{12})/, '$1*')],
    ['text after the padding', () => `${encode(`${basic.clientId}:${basic.clientSecret}`)}garbage`],
    [
      'base64url',
      () =>
        encode(new Uint8Array([0xfb, 0xff, 0x3a, 0xff]))
          .replaceAll('+', '-')
          .replaceAll('/', '_'),
    ],
    ['the word basic twice', () => `Basic ${basic.basic}`],
    ['no colon', () => encode(basic.clientId + basic.clientSecret)],
    ['an invalid percent sign', () => encode(`${basic.clientId}:%zz`)],
    ['half a percent sign', () => encode(`${basic.clientId}:${basic.clientSecret}%`)],
    ['a control character', () => encode(`${basic.clientId}:${basic.clientSecret}\n`)],
    ['a percent-encoded NUL', () => encode(`${basic.clientId}:%00`)],
    ['a byte order mark', () => encode(`\ufeff${basic.clientId}:${basic.clientSecret}`)],
    ['bytes that are not UTF-8', () => encode(new Uint8Array([0xc3, 0x28, 0x3a, 0x61]))],
    ['an empty client_id', () => encode(`:${basic.clientSecret}`)],
    ['nothing', () => 'Basic '],
    ['another scheme', () => `Bearer ${basic.clientSecret}`],
  ])('with %s gets the same refusal as wrong credentials (security A46, R38)', async (_what, header) => {
    expectRefused(await withHeader(header()));
  });

  test('is form-decoded after base64 (RFC 6749 2.3.1)', async () => {
    const percent = (text: string) =>
      [...text].map((c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
    expect(await withHeader(encode(`${percent(basic.clientId)}:${percent(basic.clientSecret)}`))).toMatchObject({
      status: 200,
    });
    // an imported client may have a client_id that needs the encoding
    const name = 'a client:with+signs%';
    await service.database.sql(
      `INSERT INTO clients (client_id, status, metadata, client_secret_hash, shared_secret_encrypted)
       SELECT $2, 'enabled', metadata, client_secret_hash, shared_secret_encrypted FROM clients WHERE client_id = $1`,
      [basic.clientId, name.replaceAll(' ', '_')],
    );
    const encoded = encodeURIComponent(name.replaceAll(' ', '_'));
    expect(await withHeader(encode(`${encoded}:${basic.clientSecret}`))).toMatchObject({ status: 200 });
    expectRefused(await withHeader(encode(`${name.replaceAll(' ', '_')}:${basic.clientSecret}`)));
  });
});

test('base64 with stray bits in its last character is refused, even if it decodes to the correct secret (security R38)', async () => {
  const name = 'importedclient1';
  await service.database.sql(
    `INSERT INTO clients (client_id, status, metadata, client_secret_hash, shared_secret_encrypted)
     SELECT $2, 'enabled', metadata, client_secret_hash, shared_secret_encrypted FROM clients WHERE client_id = $1`,
    [basic.clientId, name],
  );
  const header = encode(`${name}:${basic.clientSecret}`);
  expect(await withHeader(header)).toMatchObject({ status: 200 });
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const stray = header.replace(
    /(.)(=+)$/,
    (_all, last: string, padding: string) => alphabet[alphabet.indexOf(last) + 1]! + padding,
  );
  expect(stray).not.toBe(header);
  expect(Buffer.from(stray.slice(6), 'base64')).toEqual(Buffer.from(header.slice(6), 'base64'));
  expectRefused(await withHeader(stray));
  expectRefused(await withHeader(header.replace(/=+$/, '')));
});

describe('an attacker', () => {
  test("gets the same answer for an unknown client, a wrong, another client's and a renewed secret, and a disabled client (security A47, R39)", async () => {
    const rotated = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
    const repeat = await fetch(`${service.issuer}/register`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${rotated.registrationAccessToken}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ grant_types: ['client_credentials'] }),
    });
    expect(repeat.status).toBe(200);
    const secret = basic.clientSecret;
    const answers = [
      await withHeader(encode(`nobody:${secret}`)),
      await withHeader(encode(`${basic.clientId}:wrong`)),
      await withHeader(encode(`${basic.clientId}:${secret.slice(0, -1)}`)),
      await withHeader(encode(`${basic.clientId}:${post.clientSecret}`)),
      await withHeader(encode(`${basic.clientId}:${basic.sharedSecret}`)),
      await withHeader(encode(`${disabled.clientId}:wrong`)),
      await withHeader(rotated.basic),
      await withHeader(undefined, { ...grant, client_id: 'nobody' }),
      await withHeader(undefined, { ...grant, client_id: disabled.clientId }),
      await withHeader(undefined),
    ];
    const visible = (answer: Answer) => ({
      body: answer.body,
      headers: Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date')),
    });
    for (const answer of answers) {
      expectRefused(answer);
      expect(visible(answer)).toEqual(visible(answers[0]!));
    }
  });

  test('with the correct secret of a disabled client learns that it is disabled (decisions section 2)', async () => {
    expect(await withHeader(disabled.basic)).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  });

  test('finds no secret in the log, correct or wrong (security R99)', async () => {
    await withHeader(encode(`${basic.clientId}:wrong-canary-value`));
    await withHeader(undefined, { ...grant, client_id: post.clientId, client_secret: 'posted-canary-value' });
    await withHeader(basic.basic);
    const lines = JSON.stringify(service.logs);
    for (const secret of [basic.clientSecret, basic.basic, 'wrong-canary-value', 'posted-canary-value'])
      expect(lines).not.toContain(secret);
  });
});

/** Sends a token request as bytes on a socket, where fetch would refuse or change it. */
function raw(base: string, headers: string[]): Promise<string> {
  const { hostname, port } = new URL(base);
  const body = new URLSearchParams(grant).toString();
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
    socket.write(
      [
        'POST /token HTTP/1.1',
        `Host: ${hostname}:${port}`,
        'Connection: close',
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
        ...headers,
        '',
        body,
      ].join('\r\n'),
    );
  });
}
