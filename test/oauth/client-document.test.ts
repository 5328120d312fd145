// Which client_id is the address of a document, how users recognise its client, and what a document may say: tables of cases.
import { describe, expect, test } from 'vitest';
import {
  documentMetadata,
  documentName,
  hasOnlyLoopback,
  isDocumentAddress,
  otherHosts,
  parseDocument,
} from '../../src/oauth/client-document.ts';

const issuer = 'https://idp.example/base';
const clientId = 'https://editor.example/client.json';

test.each([
  'https://h.example/x',
  'https://h.example:8443/x',
  'https://h.example/a//b',
  'https://h.example/@user/x',
  'https://h.example/a%20b',
  'https://h.example/a,b;c=d',
  `https://h.example/${'x'.repeat(494)}`,
])('%s is the address of a document (draft-ietf-oauth-client-id-metadata-document 3)', (address) => {
  expect(isDocumentAddress(address, issuer)).toBe(true);
});

test.each([
  '',
  'x',
  'https://',
  'https://h.example',
  'https://h.example/',
  'http://h.example/x',
  'HTTPS://h.example/x',

  'https://H.example/x',
  'https://h.example:443/x',
  'https://h.example./x',
  'https://h.example/x#',
  'https://h.example/x?',
  'https://h.example/./x',
  'https://h.example/a/../x',
  'https://h.example/%2e%2E/x',
  'https://h.example/a/.%2e',

  'https://u@h.example/x',
  'https://u:p@h.example/x',
  'https://h.example\\x',
  'https://h.example/\tx',
  'https://h.example/ x',
  'https://xn--mnchen-3ya.example/x',
  'https://münchen.example/x',
  'https://h.example/ü',
  'https://h.example/x\n',

  `https://h.example/${'x'.repeat(495)}`,
  'https://idp.example/client.json',
  'https:h.example/x',
  'https://0x7f.1/x',
])('%j is not (draft-ietf-oauth-client-id-metadata-document 3, protocols P52)', (address) => {
  expect(isDocumentAddress(address, issuer)).toBe(false);
});

test.each([
  ['https://editor.example/oauth/client.json', 'editor.example'],
  ['https://editor.example:8443/client.json', 'editor.example:8443'],
  ['https://ada.github.io/editor/client.json', 'ada.github.io/editor'],
  ['https://storage.googleapis.com/bucket/client.json', 'storage.googleapis.com/bucket'],
  ['https://app.vercel.app/client.json', 'app.vercel.app/client.json'],
  ['https://notgithub.io/editor/client.json', 'notgithub.io'],
])('users recognise %s as %s (protocols 5.5)', (address, name) => {
  expect(documentName(address)).toBe(name);
});

test('redirect URIs are on the computer of the user, of the document, or of another host (protocols 5.5)', () => {
  const local = ['http://localhost/cb', 'http://127.0.0.1:1/cb', 'http://[::1]/cb'];
  expect(hasOnlyLoopback({ redirect_uris: local })).toBe(true);
  expect(hasOnlyLoopback({ redirect_uris: [...local, 'https://editor.example/cb'] })).toBe(false);
  expect(hasOnlyLoopback({ redirect_uris: [] })).toBe(false);
  expect(hasOnlyLoopback({ redirect_uris: ['http://localhost.evil.example/cb'] })).toBe(false);
  const others = [
    'https://editor.example:8443/cb',
    'https://other.example/cb',
    'com.example.app:/cb',
    'https://editor.example.evil.example/cb',
  ];
  expect(otherHosts(clientId, { redirect_uris: [...local, 'https://editor.example/cb', ...others] })).toEqual(others);
});

describe('the metadata of a document', () => {
  const read = (members: Record<string, unknown>, scopes: { apiScopes?: string[]; kept?: string } = {}) => {
    const text = JSON.stringify({ client_id: clientId, redirect_uris: ['https://editor.example/cb'], ...members });
    const { apiScopes = [], kept } = scopes;
    return documentMetadata(clientId, parseDocument(clientId, text), { apiScopes, kept }, { issuer });
  };

  test('has no authentication by default, and is that of a web application unless a redirect URI is not https', () => {
    expect(read({})).toMatchObject({ token_endpoint_auth_method: 'none', application_type: 'web' });
    expect(read({ redirect_uris: ['http://localhost/cb'] })).toMatchObject({ application_type: 'native' });
    expect(read({ redirect_uris: ['com.example.app:/cb'], application_type: 'web' })).toMatchObject({
      application_type: 'native',
    });
  });

  test.each<[string, { apiScopes?: string[]; kept?: string }, string | undefined, string]>([
    ['the default', {}, undefined, 'openid profile email'],
    ['what it names and may register', { apiScopes: ['notes'] }, 'openid notes admin teapot', 'openid notes'],
    ['the default, if it names nothing that it may register', {}, 'teapot', 'openid profile email'],
    ['the present one, if it names none', { kept: 'openid groups' }, undefined, 'openid groups'],
    [
      'what it names, and what only an administrator gave',
      { kept: 'openid secret-notes' },
      'profile',
      'profile secret-notes',
    ],
  ])('has as its scope %s (protocols 5.5)', (_what, scopes, scope, expected) => {
    expect(read(scope === undefined ? {} : { scope }, scopes).scope).toBe(expected);
  });

  test.each([
    [{ response_types: ['token'] }, /response_types/],
    [{ grant_types: ['urn:example:teapot'] }, /grant_types/],
    [{ token_endpoint_auth_method: 'tls_client_auth' }, /none or private_key_jwt/],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, /requires jwks or jwks_uri/],
    [
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://editor.example:8443/keys' },
      /host of the document/,
    ],
    [{ id_token_signed_response_alg: 'HS256' }, /HS256/],
    [{ client_secret_expires_at: 0 }, /client secret/],
    [{ redirect_uris: ['http://editor.example/cb'] }, /redirect_uris/],
    [{ redirect_uris: 'https://editor.example/cb' }, /redirect_uris/],
  ])('is refused with %j (draft-ietf-oauth-client-id-metadata-document 4.1)', (members, reason) => {
    expect(() => read(members)).toThrow(reason);
  });

  test('has none of the members for which the service would fetch something else (protocols 5.5, security R47)', () => {
    const members = {
      sector_identifier_uri: 'https://other.example/',
      request_uris: ['https://other.example/'],
      resource_uris: ['https://other.example/'],
      uma_profile: true,
    };
    for (const member of ['sector_identifier_uri', 'request_uris', 'resource_uris'])
      expect(read(members)).not.toHaveProperty(member);
    expect(read(members).uma_profile).toBe(false);
  });
});
