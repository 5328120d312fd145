// The service validates each member of the client metadata at registration and in an update.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

const redirect = 'https://rp.example.com/callback';
const register = (body: unknown) => call(`${service.issuer}/register`, { method: 'POST', body });
const registered = async (metadata: Record<string, unknown> = {}): Promise<Record<string, string>> =>
  (await register({ redirect_uris: [redirect], ...metadata })).body as Record<string, string>;
const manage = (client: Record<string, string>, method: string, body?: unknown) =>
  call(client['registration_client_uri']!, { method, body, token: client['registration_access_token']! });
const keySet = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
  ],
};
const [goodKey] = keySet.keys;
const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
/** An RSA key from random numbers, since the generation of a real key of such a size takes long. @param exponent in hexadecimal digits */
const rsaOf = (bits: number, exponent = '010001') => {
  const number = randomBytes(Math.ceil(bits / 8));
  number[0] = 1 << ((bits - 1) % 8);
  number[number.length - 1]! |= 1;
  return { kty: 'RSA', n: number.toString('base64url'), e: Buffer.from(exponent, 'hex').toString('base64url') };
};
/** The metadata of a client that authenticates with keys. */
const withKeys = (keys: unknown[], more: Record<string, unknown> = {}) => ({
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys },
  ...more,
});

/** Refused metadata, with its error; RFC 7591 3.2.2 has a separate error for redirect_uris. */
const refusals: [string, Record<string, unknown>, string][] = [
  ['no redirect URI', { redirect_uris: undefined }, 'invalid_redirect_uri'],
  ['an empty list', { redirect_uris: [] }, 'invalid_redirect_uri'],
  ['text instead of a list', { redirect_uris: redirect }, 'invalid_redirect_uri'],
  ...[
    'http://rp.example.com/cb',
    'http://localhost:80/cb',
    'http://localhost./cb',
    'http://localhost.evil.example/cb',
    'https://rp.example.com/cb#',
    'https://rp.example.com/cb#x',
    'https://user@rp.example.com/cb',
    'https://rp.example.com/*',
    'https://rp.example.com/a/../b',
    'https://RP.example.com/cb',
    'https://rp.example.com:443/cb',
    'https:\\\\rp.example.com/cb',
    'https:/rp.example.com/cb',
    ' https://rp.example.com/cb',
    'https://rp.example.com/c b',
    'https://rp.example.com/cb%00',
    'https://rp.example.com./cb',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'blob:https://rp.example.com/x',
    'com.example.app:/cb',
    '/cb',
    '',
    `https://rp.example.com/${'a'.repeat(2000)}`,
  ].map((uri): [string, Record<string, unknown>, string] => [
    `the redirect URI ${uri.slice(0, 40)}`,
    { redirect_uris: [uri] },
    'invalid_redirect_uri',
  ]),
  [
    '21 redirect URIs',
    { redirect_uris: Array.from({ length: 21 }, (_, i) => `https://rp.example.com/${i}`) },
    'invalid_redirect_uri',
  ],
  [
    'a scheme without a period for a web client',
    { redirect_uris: ['myapp:/cb'], application_type: 'web' },
    'invalid_redirect_uri',
  ],
  ...['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri'].map(
    (field): [string, Record<string, unknown>, string] => [
      `script as ${field}`,
      { [field]: 'javascript:alert(1)' },
      'invalid_client_metadata',
    ],
  ),
  ['a foreign post-logout address', { post_logout_redirect_uris: ['javascript:alert(1)'] }, 'invalid_client_metadata'],
  ['an unknown response type', { response_types: ['token'] }, 'invalid_client_metadata'],
  ['an unknown grant type', { grant_types: ['password'] }, 'invalid_client_metadata'],
  ['an unknown method', { token_endpoint_auth_method: 'tls_client_auth' }, 'invalid_client_metadata'],
  ['unsigned ID Tokens', { id_token_signed_response_alg: 'none' }, 'invalid_client_metadata'],
  ['an unknown subject type', { subject_type: 'transient' }, 'invalid_client_metadata'],
  ['an unknown scope', { scope: 'openid root' }, 'invalid_client_metadata'],
  [
    'keys by value and by reference',
    { jwks: keySet, jwks_uri: 'https://rp.example.com/jwks' },
    'invalid_client_metadata',
  ],
  ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
  ['a private key', { jwks: { keys: [{ ...keySet.keys[0], d: 'x' }] } }, 'invalid_client_metadata'],
  ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }, 'invalid_client_metadata'],
  ...[
    ['only keys of an unknown type', [{ kty: 'foo' }]],
    ['a type that is a property of every object', [{ kty: 'constructor' }]],
    ['a curve that is a property of every object', [{ kty: 'EC', crv: 'toString' }]],
    ['only keys of an unknown curve', [{ kty: 'EC', crv: 'P-1', x: 'AA', y: 'AA' }]],
    ['a broken point', [{ ...goodKey, x: 'a' }]],
    ['a point off the curve', [{ ...goodKey, x: goodKey!.y }]],
    ['a broken key beside a valid one', [goodKey, { kty: 'OKP', crv: 'Ed25519', x: 'AA' }]],
    ['RSA without a modulus', [{ kty: 'RSA', e: 'AQAB' }]],
    ['RSA of 1024 bits', [goodKey, rsa(1024)]],
    ['RSA of 2047 bits', [goodKey, rsaOf(2047)]],
    ['RSA of 2047 bits after zeros', [goodKey, { ...rsaOf(2047), n: `AAAA${rsaOf(2040).n}` }]],
    ['RSA of 4097 bits', [goodKey, rsaOf(4097)]],
    ['RSA of 16384 bits', [goodKey, rsaOf(16_384)]],
    ['RSA with an exponent of 2^32 and 1', [goodKey, rsaOf(2048, '0100000001')]],
    ['RSA with an exponent as long as its modulus', [goodKey, { ...rsaOf(2048), e: rsaOf(2048).n }]],
    ['RSA with an exponent of 1', [goodKey, rsaOf(2048, '01')]],
    ['21 keys', Array.from({ length: 21 }, () => goodKey)],
    ['a curve that is not a string', [{ kty: 'EC', crv: { toString: 1 } }]],
    ['numbers instead of strings', [{ ...goodKey, x: 1, y: 2 }]],
  ].map(([what, keys]): [string, Record<string, unknown>, string] => [
    `jwks with ${what as string}`,
    { jwks: { keys } },
    'invalid_client_metadata',
  ]),
  ['private_key_jwt with a key for encryption', withKeys([{ ...goodKey, use: 'enc' }]), 'invalid_client_metadata'],
  [
    'private_key_jwt with a key of another use',
    withKeys([{ ...goodKey, key_ops: ['wrapKey'] }]),
    'invalid_client_metadata',
  ],
  [
    'private_key_jwt with a key of another algorithm',
    withKeys([goodKey], { token_endpoint_auth_signing_alg: 'RS256' }),
    'invalid_client_metadata',
  ],
  ['the grant type implicit without response types', { grant_types: ['implicit'] }, 'invalid_client_metadata'],
  ['no response types', { response_types: [] }, 'invalid_client_metadata'],
  [
    'a public client with client credentials',
    { token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] },
    'invalid_client_metadata',
  ],
  [
    'a public client with HS256 ID Tokens',
    { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'HS256' },
    'invalid_client_metadata',
  ],
  [
    'a public client with uma_profile',
    { token_endpoint_auth_method: 'none', uma_profile: true },
    'invalid_client_metadata',
  ],
  [
    'refresh tokens without a code',
    { grant_types: ['refresh_token', 'client_credentials'] },
    'invalid_client_metadata',
  ],
  ['a string for a flag', { require_pkce: 'true' }, 'invalid_client_metadata'],
  ['a negative age', { default_max_age: -1 }, 'invalid_client_metadata'],
  ...['a\r\nb', 'a\u202eb', 'a\u200bb', 'x'.repeat(101), '', 7].map(
    (name): [string, Record<string, unknown>, string] => [
      `the name ${JSON.stringify(name).slice(0, 20)}`,
      { client_name: name },
      'invalid_client_metadata',
    ],
  ),
];

test.each(refusals)(
  '%s is refused at registration and in an update (RFC 7591 3.2.2, security A44, R25, R114)',
  async (_what, metadata, error) => {
    const refusal = { status: 400, body: { error, error_description: expect.any(String) } };
    expect(await register({ redirect_uris: [redirect], ...metadata })).toMatchObject(refusal);
    const client = await registered({ client_name: 'Before' });
    const { client_id } = client;
    expect(await manage(client, 'PUT', { redirect_uris: [redirect], client_id, ...metadata })).toMatchObject(refusal);
    expect((await manage(client, 'GET')).body).toMatchObject({ client_name: 'Before', redirect_uris: [redirect] });
  },
);

test.each([
  ['https with a query', { redirect_uris: ['https://rp.example.com/cb?x=1'] }],
  ['http on a loopback literal', { redirect_uris: ['http://127.0.0.1:8080/cb', 'http://[::1]/cb'] }],
  [
    'http on localhost (security R24, R25)',
    {
      redirect_uris: ['http://localhost:8080/cb'],
      post_logout_redirect_uris: ['http://localhost:8080/'],
      client_uri: 'http://localhost:8080/',
    },
  ],
  [
    'a reverse-domain scheme of a native client',
    { redirect_uris: ['com.example.app:/cb'], application_type: 'native' },
  ],
  ['a client without a browser', { redirect_uris: undefined, grant_types: ['client_credentials'] }],
  ['the grant type implicit with its response type', { grant_types: ['implicit'], response_types: ['id_token'] }],
  [
    'a valid key beside keys of unknown types and curves',
    withKeys([{ kty: 'foo' }, { kty: 'EC', crv: 'P-1' }, goodKey]),
  ],
  ['a key for encryption beside one for signatures', withKeys([goodKey, { ...rsa(2048), use: 'enc' }])],
  ['RSA of 2048 bits', withKeys([rsa(2048)], { token_endpoint_auth_signing_alg: 'PS256' })],
  ['RSA of 4096 bits with an exponent below 2^32', withKeys([rsaOf(4096, 'ffffffff')])],
  ['RSA of 4096 bits after a zero', withKeys([{ ...rsaOf(4096), n: `AAAA${rsaOf(4096).n}` }])],
  [
    'a key whose curve is not a string beside an encryption key',
    {
      id_token_encrypted_response_alg: 'ECDH-ES',
      jwks: { keys: [goodKey, { kty: 'EC', crv: { toString: 1 } }] },
    },
  ],
  ['20 keys', withKeys(Array.from({ length: 20 }, () => goodKey))],
  ['a name in another script', { client_name: 'Ἀθήνα' }],
])('%s may be registered (RFC 8252 7, OpenID Connect Registration 2)', async (_what, metadata) => {
  expect(await register({ redirect_uris: [redirect], ...metadata })).toMatchObject({ status: 201 });
});

test('initiate_login_uri is returned at registration and on a read, and must use https (OpenID Connect Core 4)', async () => {
  const initiate_login_uri = 'https://rp.example.com/login?tenant=1';
  const created = await register({ redirect_uris: [redirect], initiate_login_uri });
  expect(created).toMatchObject({ status: 201, body: { initiate_login_uri } });
  expect(await manage(created.body as Record<string, string>, 'GET')).toMatchObject({
    status: 200,
    body: { initiate_login_uri },
  });
  for (const wrong of ['http://rp.example.com/login', 'http://127.0.0.1:8081/login', 'com.example.app:/login', 5])
    expect(await register({ redirect_uris: [redirect], initiate_login_uri: wrong })).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata', error_description: expect.stringContaining('initiate_login_uri') },
    });
});
