// Client metadata is accepted with defaults or refused with a code, and changes that need approval are recognized: tables of cases.
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
import { widens } from '../../src/rules/clients/widening-change.ts';

const redirect_uris = ['https://rp.example.com/cb'];
const publicKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

/** Returns the code of the refusal, or undefined if the metadata is accepted. */
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

test('a missing member gets the default of the standard or of decisions (RFC 7591 2, decisions section 2)', () => {
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

test('unknown members and members that only an administrator sets are dropped (RFC 7591 2, security R48)', () => {
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

describe('accepted metadata', () => {
  test.each<[string, Record<string, unknown>]>([
    [
      'a native client with a private-use scheme',
      { application_type: 'native', redirect_uris: ['com.example.app:/cb'] },
    ],
    ['a native client on loopback', { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] }],
    ['a public client', { token_endpoint_auth_method: 'none' }],
    ['private_key_jwt with jwks', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } }],
    [
      'private_key_jwt with jwks_uri',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://rp.example.com/jwks' },
    ],
    ['client credentials without a redirect URI', { grant_types: ['client_credentials'], redirect_uris: [] }],
    ['every registrable scope', { scope: 'openid profile email address phone scope groups offline_access' }],
    ['twenty redirect URIs', { redirect_uris: Array.from({ length: 20 }, (_, n) => `https://rp.example.com/${n}`) }],
    ['a name of 100 characters of any script', { client_name: '名'.repeat(100) }],
    ['HS256 ID Tokens with a secret', { id_token_signed_response_alg: 'HS256' }],
    ['an initiate_login_uri', { initiate_login_uri: 'https://rp.example.com/login?tenant=1' }],
    ['default_acr_values, known or not', { default_acr_values: ['urn:mace:incommon:iap:silver', '1'] }],
    ['HS256 request objects with a secret', { request_object_signing_alg: 'HS256' }],
    ['ES256 request objects with keys', { request_object_signing_alg: 'ES256', jwks: { keys: [publicKey] } }],
    [
      'request objects by reference',
      { request_uris: ['https://rp.example.com/object', 'https://rp.example.com/object#h'] },
    ],
  ])('%s (RFC 7591 2)', (_what, input) => {
    expect(refused(input)).toBeUndefined();
  });

  test('contains the scope admin only from an administrator (decisions section 2)', () => {
    expect(refused({ scope: 'openid admin' })).toBe('invalid_client_metadata');
    expect(refused({ scope: 'openid admin' }, { admin: true })).toBeUndefined();
  });

  test('contains unsigned request objects only if the service accepts them, or from an administrator (RFC 9101 10.5)', () => {
    const input = { request_object_signing_alg: 'none' };
    expect(refused(input)).toBe('invalid_client_metadata');
    for (const options of [{ unsigned: true }, { admin: true }]) {
      expect(refused(input, options)).toBeUndefined();
      expect(refused({ ...input, require_signed_request_object: true }, options)).toBe('invalid_client_metadata');
    }
  });

  test('is normalized: names are composed and trimmed, and scopes are unique (security R48)', () => {
    const metadata = parseClientMetadata({ redirect_uris, client_name: '  Cafe\u0301 ', scope: 'openid email openid' });
    expect(metadata.client_name).toBe('Café');
    expect(metadata.scope).toBe('openid email');
  });
});

describe('refused metadata', () => {
  test.each<[string, unknown]>([
    ['no URI', []],
    ['a string instead of a list', 'https://rp.example.com/cb'],
    ['a number', [1]],
    ['null', null],
    ['a script', ['javascript:alert(1)']],
    ['http', ['http://rp.example.com/cb']],
    ['a fragment', ['https://rp.example.com/cb#x']],
    ['user information', ['https://rp@evil.example/cb']],
    ['a wildcard', ['https://*.example.com/cb']],
    ['a private-use scheme in a web client', ['com.example.app:/cb']],
    ['one valid and one invalid URI', [...redirect_uris, 'data:text/html,x']],
    ['too many', Array.from({ length: 21 }, (_, n) => `https://rp.example.com/${n}`)],
  ])('redirect_uris with %s is invalid_redirect_uri (security R24, RFC 7591 3.2.2)', (_what, value) => {
    expect(refused({ redirect_uris: value })).toBe('invalid_redirect_uri');
  });

  test.each<[string, Record<string, unknown>]>([
    ['a post-logout script', { post_logout_redirect_uris: ['javascript:alert(1)'] }],
    ['a logo over http', { logo_uri: 'http://rp.example.com/logo.png' }],
    ['a policy as data', { policy_uri: 'data:text/html,x' }],
    ['terms as a script', { tos_uri: 'javascript:alert(1)' }],
    ['a home page with a fragment', { client_uri: 'https://rp.example.com/#x' }],
    ['keys over http', { jwks_uri: 'http://rp.example.com/jwks' }],
    ['keys twice', { jwks_uri: 'https://rp.example.com/jwks', jwks: { keys: [publicKey] } }],
    ['a private key', { jwks: { keys: [{ ...publicKey, d: 'secret' }] } }],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'secret' }] } }],
    ['no keys', { jwks: { keys: [] } }],
    ['keys that are not a set', { jwks: 'keys' }],
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
      'HS256 assertions with a key',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicKey] },
        token_endpoint_auth_signing_alg: 'HS256',
      },
    ],
    [
      'RS256 assertions with a secret',
      { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'RS256' },
    ],
    ['an initiate_login_uri over http', { initiate_login_uri: 'http://rp.example.com/login' }],
    ['an initiate_login_uri over http on loopback', { initiate_login_uri: 'http://127.0.0.1/login' }],
    ['an initiate_login_uri as a script', { initiate_login_uri: 'javascript:alert(1)' }],
    ['an initiate_login_uri with a fragment', { initiate_login_uri: 'https://rp.example.com/login#x' }],
    ['default_acr_values as a string', { default_acr_values: '1 2' }],
    ['an acr with a space', { default_acr_values: ['1 2'] }],
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
    ['a request_uri over http', { request_uris: ['http://rp.example.com/object'] }],
    ['a request_uri with user information', { request_uris: ['https://rp@rp.example.com/object'] }],
    ['the request_uri of a pushed request', { request_uris: ['urn:ietf:params:oauth:request_uri:x'] }],
    ['request_uris that are not a list', { request_uris: 'https://rp.example.com/object' }],
    ['require_signed_request_object as a string', { require_signed_request_object: 'true' }],
    ['require_pushed_authorization_requests as a string', { require_pushed_authorization_requests: 'true' }],
    ['an unknown scope', { scope: 'openid everything' }],
    ['the scope admin', { scope: 'admin' }],
    ['a scope that is not a string', { scope: ['openid'] }],
    ['a negative default_max_age', { default_max_age: -1 }],
    ['a fractional default_max_age', { default_max_age: 1.5 }],
    ['a default_max_age as a string', { default_max_age: '60' }],
    ['require_pkce as a string', { require_pkce: 'true' }],
    ['id_token_claims as a string', { id_token_claims: 'yes' }],
    ['a name of 101 characters', { client_name: 'x'.repeat(101) }],
    ['an empty name', { client_name: ' ' }],
    ['a name that is not a string', { client_name: 1 }],
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

describe('a change that an administrator has not reviewed', () => {
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
    ['a jwks_uri', { jwks_uri: 'https://rp.example.com/jwks' }],
    ['uma_profile', { uma_profile: true }],
    ['one more scope', { scope: 'openid profile email phone' }],
    ['a post-logout address', { post_logout_redirect_uris: ['https://rp.example.com/bye'] }],
    ['web to native', { application_type: 'native' }],
    ['no required PKCE', { require_pkce: false }],
    ['a request_uri', { request_uris: ['https://rp.example.com/object'] }],
    ['no required signature of requests', { require_signed_request_object: false }],
    ['no required push of requests', { require_pushed_authorization_requests: undefined }],
    ['no setting for signed requests', { require_signed_request_object: undefined }],
    ['any algorithm of request objects', { request_object_signing_alg: undefined }],
    ['unsigned request objects', { request_object_signing_alg: 'none', require_signed_request_object: undefined }],
  ])('%s needs approval (decisions section 2, security R45)', (_what, change) => {
    expect(widens(current, next(change))).toBe(true);
  });

  test.each<[string, Record<string, unknown>]>([
    ['another name', { client_name: 'Quay' }],
    ['no name', { client_name: undefined }],
    ['a logo', { logo_uri: 'https://rp.example.com/logo.png' }],
    ['another home page', { client_uri: 'https://rp.example.com/new' }],
    ['a policy', { policy_uri: 'https://rp.example.com/policy' }],
    ['terms', { tos_uri: 'https://rp.example.com/terms' }],
    ['another contact', { contacts: ['ops@rp.example.com'] }],
  ])('%s is shown to users, and needs approval (decisions section 2, security R117)', (_what, change) => {
    const named = { ...approved, client_name: 'Harbour', client_uri: 'https://rp.example.com/' };
    const before = parseClientMetadata({ ...named, contacts: ['desk@rp.example.com'] });
    expect(widens(before, parseClientMetadata({ ...named, contacts: ['desk@rp.example.com'], ...change }))).toBe(true);
  });

  test.each<[string, Record<string, unknown>]>([
    ['encrypted ID Tokens', { id_token_encrypted_response_alg: undefined }],
    ['ID Tokens with a key of the service', { id_token_signed_response_alg: 'HS256' }],
    ['UserInfo responses with a signature', { userinfo_signed_response_alg: undefined }],
    ['introspection responses with a signature', { introspection_signed_response_alg: undefined }],
    ['authorization responses with a key of the service', { authorization_signed_response_alg: 'HS256' }],
    ['required acr values', { default_acr_values: undefined }],
    ['the maximum age of the sign-in', { default_max_age: 7200 }],
  ])('%s: the removal of this protection needs approval (decisions section 2, security R117)', (_what, change) => {
    const encryptionKey = { ...publicKey, use: 'enc' };
    const guarded = {
      redirect_uris,
      jwks: { keys: [encryptionKey] },
      id_token_encrypted_response_alg: 'ECDH-ES',
      id_token_signed_response_alg: 'ES256',
      default_acr_values: [multiFactor],
      default_max_age: 3600,
      userinfo_signed_response_alg: 'ES256',
      introspection_signed_response_alg: 'ES256',
      authorization_signed_response_alg: 'ES256',
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
  ] as const)('from %s to %s lowers the protection: %s (decisions section 2, security R117)', (from, to, lowers) => {
    const by = (token_endpoint_auth_method: string) =>
      parseClientMetadata({ redirect_uris, jwks: { keys: [publicKey] }, token_endpoint_auth_method });
    expect(widens(by(from), by(to))).toBe(lowers);
  });

  test.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['fewer scopes', { scope: 'openid' }],
    ['the same scopes in another order', { scope: 'email openid profile' }],
    ['the claims in ID Tokens, which UserInfo returns, too', { id_token_claims: true }],
    ['another confidential method', { token_endpoint_auth_method: 'client_secret_post' }],
    ['a stronger method', { token_endpoint_auth_method: 'client_secret_jwt' }],
  ])('%s needs no approval (decisions section 2)', (_what, change) => {
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
])('users see %s as %s (security R11)', (uri, host) => {
  expect(redirectHost(uri)).toBe(host);
});

test('a client without a name is shown by its client_id (decisions section 2)', () => {
  expect(displayName('c-1', parseClientMetadata({ redirect_uris }))).toBe('c-1');
  expect(displayName('c-1', parseClientMetadata({ redirect_uris, client_name: 'Harbour' }))).toBe('Harbour');
});
