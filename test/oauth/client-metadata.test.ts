// Client metadata as tables: what registers, with which defaults, what is refused with which code, and what widens.
import { describe, expect, test } from 'vitest';
import {
  displayName,
  isPublicClient,
  needsSecret,
  needsSecretAsKey,
  parseClientMetadata,
  redirectHost,
} from '../../src/oauth/client-metadata.ts';
import { multiFactor } from '../../src/oauth/acr.ts';
import { OAuthError } from '../../src/oauth/errors.ts';
import { widens } from '../../src/oauth/widening-change.ts';

const redirect_uris = ['https://rp.example.com/cb'];
const publicKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

/** The code of the refusal, or undefined when it is accepted. */
function refused(input: Record<string, unknown>, options = {}): string | undefined {
  try {
    parseClientMetadata({ redirect_uris, ...input }, options);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(OAuthError);
    expect((error as OAuthError).status).toBe(400);
    expect((error as OAuthError).description).toMatch(/^[ !#-[\]-~]+$/);
    return (error as OAuthError).code;
  }
}

test('what is left out gets the default of the standard or of decisions (RFC 7591 2, decisions section 2)', () => {
  expect(parseClientMetadata({ redirect_uris })).toEqual({
    redirect_uris,
    response_types: ['code'],
    grant_types: ['authorization_code'],
    application_type: 'web',
    token_endpoint_auth_method: 'client_secret_basic',
    id_token_signed_response_alg: 'RS256',
    subject_type: 'public',
    scope: 'openid profile email',
    require_pkce: false,
    uma_profile: false,
    id_token_claims: false,
  });
});

test('unknown members, and those that an administrator sets, are dropped (RFC 7591 2, security R48)', () => {
  const metadata = parseClientMetadata({
    redirect_uris,
    first_party: true,
    status: 'enabled',
    introspect: 'any',
    client_id: 'mine',
    client_secret: 'mine',
    shared_secret: 'mine',
    anything: { else: 1 },
  });
  expect(metadata).toEqual(parseClientMetadata({ redirect_uris }));
});

describe('accepted', () => {
  test.each<[string, Record<string, unknown>]>([
    [
      'a native client with a scheme of its own',
      { application_type: 'native', redirect_uris: ['com.example.app:/cb'] },
    ],
    ['a native client on loopback', { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] }],
    ['a public client', { token_endpoint_auth_method: 'none' }],
    ['private_key_jwt with jwks', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } }],
    [
      'private_key_jwt with jwks_uri',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://rp.example.com/jwks' },
    ],
    ['client credentials without an address', { grant_types: ['client_credentials'], redirect_uris: [] }],
    ['every registrable scope', { scope: 'openid profile email address phone scope groups offline_access' }],
    ['twenty addresses', { redirect_uris: Array.from({ length: 20 }, (_, n) => `https://rp.example.com/${n}`) }],
    ['a name of 100 characters of any script', { client_name: '名'.repeat(100) }],
    ['HS256 ID Tokens with a secret', { id_token_signed_response_alg: 'HS256' }],
    ['a login to initiate', { initiate_login_uri: 'https://rp.example.com/login?tenant=1' }],
    ['levels of authentication, unknown ones too', { default_acr_values: ['urn:mace:incommon:iap:silver', '1'] }],
    ['HS256 request objects with a secret', { request_object_signing_alg: 'HS256' }],
    ['ES256 request objects with keys', { request_object_signing_alg: 'ES256', jwks: { keys: [publicKey] } }],
    [
      'request objects by reference',
      { request_uris: ['https://rp.example.com/object', 'https://rp.example.com/object#h'] },
    ],
  ])('%s (RFC 7591 2)', (_what, input) => {
    expect(refused(input)).toBeUndefined();
  });

  test('the scope admin from an administrator only (decisions section 2)', () => {
    expect(refused({ scope: 'openid admin' })).toBe('invalid_client_metadata');
    expect(refused({ scope: 'openid admin' }, { admin: true })).toBeUndefined();
  });

  test('unsigned request objects only where the service accepts them, or from an administrator (RFC 9101 10.5)', () => {
    const input = { request_object_signing_alg: 'none' };
    expect(refused(input)).toBe('invalid_client_metadata');
    for (const options of [{ unsigned: true }, { admin: true }]) {
      expect(refused(input, options)).toBeUndefined();
      expect(refused({ ...input, require_signed_request_object: true }, options)).toBe('invalid_client_metadata');
    }
  });

  test('names are composed and trimmed, scopes lose their doubles (security R48)', () => {
    const metadata = parseClientMetadata({ redirect_uris, client_name: '  Cafe\u0301 ', scope: 'openid email openid' });
    expect(metadata.client_name).toBe('Café');
    expect(metadata.scope).toBe('openid email');
  });
});

describe('refused', () => {
  test.each<[string, unknown]>([
    ['none', []],
    ['no list', 'https://rp.example.com/cb'],
    ['a number', [1]],
    ['null', null],
    ['a script', ['javascript:alert(1)']],
    ['http', ['http://rp.example.com/cb']],
    ['a fragment', ['https://rp.example.com/cb#x']],
    ['user information', ['https://rp@evil.example/cb']],
    ['a wildcard', ['https://*.example.com/cb']],
    ['a scheme of its own in a web client', ['com.example.app:/cb']],
    ['one good and one bad', [...redirect_uris, 'data:text/html,x']],
    ['too many', Array.from({ length: 21 }, (_, n) => `https://rp.example.com/${n}`)],
  ])('redirect_uris with %s is invalid_redirect_uri (security R24, RFC 7591 3.2.2)', (_what, value) => {
    expect(refused({ redirect_uris: value })).toBe('invalid_redirect_uri');
  });

  test.each<[string, Record<string, unknown>]>([
    ['a post-logout script', { post_logout_redirect_uris: ['javascript:alert(1)'] }],
    ['a logo by http', { logo_uri: 'http://rp.example.com/logo.png' }],
    ['a policy as data', { policy_uri: 'data:text/html,x' }],
    ['terms as a script', { tos_uri: 'javascript:alert(1)' }],
    ['a home page with a fragment', { client_uri: 'https://rp.example.com/#x' }],
    ['keys by http', { jwks_uri: 'http://rp.example.com/jwks' }],
    ['keys twice', { jwks_uri: 'https://rp.example.com/jwks', jwks: { keys: [publicKey] } }],
    ['a private key', { jwks: { keys: [{ ...publicKey, d: 'secret' }] } }],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'secret' }] } }],
    ['no keys', { jwks: { keys: [] } }],
    ['keys that are none', { jwks: 'keys' }],
    ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['an unknown method', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['an unknown grant type', { grant_types: ['password'] }],
    ['no grant type', { grant_types: [] }],
    ['refresh_token alone', { grant_types: ['refresh_token'] }],
    ['an unknown response type', { response_types: ['teapot'] }],
    ['an unknown application type', { application_type: 'desktop' }],
    ['unsigned ID Tokens', { id_token_signed_response_alg: 'none' }],
    [
      'HS256 ID Tokens of a public client',
      { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'HS256' },
    ],
    [
      'HS256 ID Tokens without a secret',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicKey] },
        id_token_signed_response_alg: 'HS256',
      },
    ],
    [
      'client credentials of a public client',
      { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'client_credentials'] },
    ],
    ['uma_profile of a public client', { token_endpoint_auth_method: 'none', uma_profile: true }],
    [
      'HS256 assertions by key',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicKey] },
        token_endpoint_auth_signing_alg: 'HS256',
      },
    ],
    [
      'RS256 assertions by secret',
      { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'RS256' },
    ],
    ['a login to initiate by http', { initiate_login_uri: 'http://rp.example.com/login' }],
    ['a login to initiate by http on loopback', { initiate_login_uri: 'http://127.0.0.1/login' }],
    ['a login to initiate as a script', { initiate_login_uri: 'javascript:alert(1)' }],
    ['a login to initiate with a fragment', { initiate_login_uri: 'https://rp.example.com/login#x' }],
    ['levels of authentication in words', { default_acr_values: '1 2' }],
    ['a level of authentication with a space', { default_acr_values: ['1 2'] }],
    ['an unknown algorithm of request objects', { request_object_signing_alg: 'RS1' }],
    ['signed request objects without keys', { request_object_signing_alg: 'RS256' }],
    [
      'HS256 request objects of a public client',
      { token_endpoint_auth_method: 'none', request_object_signing_alg: 'HS256' },
    ],
    [
      'HS256 request objects without a secret',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicKey] },
        request_object_signing_alg: 'HS256',
      },
    ],
    ['a request object by http', { request_uris: ['http://rp.example.com/object'] }],
    ['a request object with user information', { request_uris: ['https://rp@rp.example.com/object'] }],
    ['a request object by a name of the push', { request_uris: ['urn:ietf:params:oauth:request_uri:x'] }],
    ['a request object at no list', { request_uris: 'https://rp.example.com/object' }],
    ['a demand for signed requests in words', { require_signed_request_object: 'true' }],
    ['a demand for pushed requests in words', { require_pushed_authorization_requests: 'true' }],
    ['an unknown scope', { scope: 'openid everything' }],
    ['the scope admin', { scope: 'admin' }],
    ['a scope that is no text', { scope: ['openid'] }],
    ['a negative default_max_age', { default_max_age: -1 }],
    ['a fractional default_max_age', { default_max_age: 1.5 }],
    ['a default_max_age in words', { default_max_age: '60' }],
    ['require_pkce in words', { require_pkce: 'true' }],
    ['id_token_claims in words', { id_token_claims: 'yes' }],
    ['a name of 101 characters', { client_name: 'x'.repeat(101) }],
    ['an empty name', { client_name: ' ' }],
    ['a name that is no text', { client_name: 1 }],
    ['too many contacts', { contacts: Array.from({ length: 11 }, () => 'a@example.com') }],
  ])('%s is invalid_client_metadata (RFC 7591 3.2.2)', (_what, input) => {
    expect(refused(input)).toBe('invalid_client_metadata');
  });

  test.each(['a\nb', 'a\rb', 'a\0b', 'a\u202eb', 'a\u200bb', 'a\u2066b', 'a\ufeffb', 'a\ud800b', 'a\u2028b', 'a\x1bb'])(
    'the deceptive name %j is invalid_client_metadata (security A64, R48)',
    (client_name) => {
      expect(refused({ client_name })).toBe('invalid_client_metadata');
    },
  );
});

describe('what an administrator did not look at', () => {
  const approved = {
    redirect_uris,
    grant_types: ['authorization_code'],
    require_pkce: true,
    request_object_signing_alg: 'HS256',
    require_signed_request_object: true,
    require_pushed_authorization_requests: true,
  };
  const current = parseClientMetadata(approved);
  const next = (change: Record<string, unknown>) => parseClientMetadata({ ...approved, ...change }, { unsigned: true });

  test.each<[string, Record<string, unknown>]>([
    ['one more redirect URI', { redirect_uris: [...redirect_uris, 'https://rp.example.com/2'] }],
    ['another redirect URI', { redirect_uris: ['https://rp.example.com/2'] }],
    ['one more grant type', { grant_types: ['authorization_code', 'refresh_token'] }],
    ['auth method none', { token_endpoint_auth_method: 'none', request_object_signing_alg: undefined }],
    ['keys', { jwks: { keys: [publicKey] } }],
    ['an address of keys', { jwks_uri: 'https://rp.example.com/jwks' }],
    ['uma_profile', { uma_profile: true }],
    ['one more scope', { scope: 'openid profile email phone' }],
    ['a post-logout address', { post_logout_redirect_uris: ['https://rp.example.com/bye'] }],
    ['web to native', { application_type: 'native' }],
    ['no PKCE any more', { require_pkce: false }],
    ['an address of request objects', { request_uris: ['https://rp.example.com/object'] }],
    ['no signed requests any more', { require_signed_request_object: false }],
    ['no pushed requests any more', { require_pushed_authorization_requests: undefined }],
    ['signed requests left out', { require_signed_request_object: undefined }],
    ['any algorithm of request objects', { request_object_signing_alg: undefined }],
    ['none of them', { request_object_signing_alg: 'none', require_signed_request_object: undefined }],
  ])('%s widens (decisions section 2, security R45)', (_what, change) => {
    expect(widens(current, next(change))).toBe(true);
  });

  test.each<[string, Record<string, unknown>]>([
    ['another name', { client_name: 'Quay' }],
    ['no name any more', { client_name: undefined }],
    ['a logo', { logo_uri: 'https://rp.example.com/logo.png' }],
    ['another home page', { client_uri: 'https://rp.example.com/new' }],
    ['a policy', { policy_uri: 'https://rp.example.com/policy' }],
    ['terms', { tos_uri: 'https://rp.example.com/terms' }],
    ['another contact', { contacts: ['ops@rp.example.com'] }],
  ])('%s is what people see, and waits (decisions section 2, security R117)', (_what, change) => {
    const named = { ...approved, client_name: 'Harbour', client_uri: 'https://rp.example.com/' };
    const before = parseClientMetadata({ ...named, contacts: ['desk@rp.example.com'] });
    expect(widens(before, parseClientMetadata({ ...named, contacts: ['desk@rp.example.com'], ...change }))).toBe(true);
  });

  test.each<[string, Record<string, unknown>]>([
    ['encrypted ID Tokens', { id_token_encrypted_response_alg: undefined }],
    ['ID Tokens by a key of the service', { id_token_signed_response_alg: 'HS256' }],
    ['the level of the sign-in', { default_acr_values: undefined }],
    ['the age of the sign-in', { default_max_age: 7200 }],
  ])('%s is a protection, and giving it up waits (decisions section 2, security R117)', (_what, change) => {
    const encryptionKey = { ...publicKey, use: 'enc' };
    const guarded = {
      ...{ redirect_uris, jwks: { keys: [encryptionKey] }, id_token_encrypted_response_alg: 'ECDH-ES' },
      ...{ id_token_signed_response_alg: 'ES256', default_acr_values: [multiFactor], default_max_age: 3600 },
    };
    const before = parseClientMetadata(guarded);
    expect(widens(before, parseClientMetadata(guarded))).toBe(false);
    expect(widens(before, parseClientMetadata({ ...guarded, ...change }))).toBe(true);
    expect(widens(parseClientMetadata({ ...guarded, ...change }), before)).toBe(false);
  });

  test.each([
    ['private_key_jwt', 'client_secret_basic', true],
    ['private_key_jwt', 'client_secret_jwt', true],
    ['private_key_jwt', 'none', true],
    ['client_secret_jwt', 'none', true],
    ['client_secret_jwt', 'client_secret_basic', false],
    ['client_secret_post', 'private_key_jwt', false],
    ['none', 'client_secret_basic', false],
  ] as const)('from %s to %s lowers a protection: %s (decisions section 2, security R117)', (from, to, lowers) => {
    const by = (token_endpoint_auth_method: string) =>
      parseClientMetadata({ redirect_uris, jwks: { keys: [publicKey] }, token_endpoint_auth_method });
    expect(widens(by(from), by(to))).toBe(lowers);
  });

  test.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['fewer scopes', { scope: 'openid' }],
    ['the same scopes in another order', { scope: 'email openid profile' }],
    ['the claims in ID Tokens, which UserInfo gives anyway', { id_token_claims: true }],
    ['another confidential method', { token_endpoint_auth_method: 'client_secret_post' }],
    ['a stronger method', { token_endpoint_auth_method: 'client_secret_jwt' }],
  ])('%s does not (decisions section 2)', (_what, change) => {
    expect(widens(current, next(change))).toBe(false);
  });
});

test.each<[string, Record<string, unknown>, [isPublic: boolean, secret: boolean, asKey: boolean]]>([
  ['client_secret_basic', {}, [false, true, false]],
  ['client_secret_post', { token_endpoint_auth_method: 'client_secret_post' }, [false, true, false]],
  ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }, [false, true, true]],
  ['HS256 ID Tokens', { id_token_signed_response_alg: 'HS256' }, [false, true, true]],
  ['HS256 request objects', { request_object_signing_alg: 'HS256' }, [false, true, true]],
  [
    'private_key_jwt',
    { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } },
    [false, false, false],
  ],
  ['none', { token_endpoint_auth_method: 'none' }, [true, false, false]],
])('%s: public, has a secret, secret is a key: %j (decisions section 2)', (_what, input, expected) => {
  const metadata = parseClientMetadata({ redirect_uris, ...input });
  expect([isPublicClient(metadata), needsSecret(metadata), needsSecretAsKey(metadata)]).toEqual(expected);
});

test.each([
  ['https://rp.example.com/cb', 'rp.example.com'],
  ['https://rp.example.com:8443/cb', 'rp.example.com:8443'],
  ['http://127.0.0.1:5000/cb', '127.0.0.1:5000'],
  ['com.example.app:/cb', 'com.example.app:'],
])('people see %s as %s (security R11)', (uri, host) => {
  expect(redirectHost(uri)).toBe(host);
});

test('a client without a name is called by its id (decisions section 2)', () => {
  expect(displayName('c-1', parseClientMetadata({ redirect_uris }))).toBe('c-1');
  expect(displayName('c-1', parseClientMetadata({ redirect_uris, client_name: 'Harbour' }))).toBe('Harbour');
});
