// Scopes are parsed, registrable scopes are listed, and PKCE values are checked for their form: tables of cases.
import { expect, test } from 'vitest';
import { codeChallenge, isCodeChallenge, isCodeVerifier } from '../../src/oauth/pkce.ts';
import { isScope, registrableScopes, scopeClaims, splitScope } from '../../src/oauth/scope.ts';

test.each([
  ['openid', ['openid']],
  ['openid email', ['openid', 'email']],
  ['email openid email', ['email', 'openid']],
  ['  openid   email ', ['openid', 'email']],
  ['', []],
  ['   ', []],
  ['OpenID openid', ['OpenID', 'openid']],
  ['__proto__ constructor', ['__proto__', 'constructor']],
])('%j is split into %j (RFC 6749 3.3)', (scope, expected) => {
  expect(splitScope(scope)).toEqual(expected);
});

test.each([
  'openid',
  'openid email',
  'openid  email',
  '!',
  '#[]~',
  'https://api.example/read',
  '<svg/onload=1>',
  'x'.repeat(1000),
])('%j has the characters of a scope (RFC 6749 appendix A.4)', (scope) => {
  expect(isScope(scope)).toBe(true);
});

test.each(['', ' ', ' openid', 'openid ', 'a"b', 'a\\b', 'a\tb', 'a\nb', 'openid\r\n', 'a\0b', 'é', '✓', '\x7f'])(
  '%j does not have the characters of a scope (RFC 6749 appendix A.4)',
  (scope) => {
    expect(isScope(scope)).toBe(false);
  },
);

test('a long run of spaces is checked at once (security R103)', () => {
  expect(isScope(`a${' '.repeat(100_000)}"`)).toBe(false);
});

test('clients may register the scopes of decisions, and never admin (decisions section 2)', () => {
  expect(registrableScopes().sort()).toEqual([
    'address',
    'email',
    'groups',
    'offline_access',
    'openid',
    'phone',
    'profile',
    'roles',
    'scope',
    'upstream_token',
  ]);
});

test.each([
  ['openid', []],
  ['email', ['email', 'email_verified']],
  ['address', ['address']],
  ['phone', ['phone_number', 'phone_number_verified']],
  ['scope', ['preferred_username', 'groups']],
  ['groups', ['groups']],
  ['offline_access', []],
])('%s releases %j (OpenID Connect Core 5.4, decisions section 5)', (scope, claims) => {
  expect(scopeClaims[scope]).toEqual(claims);
});

test("the challenge is that of the standard's example (RFC 7636 appendix B)", () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  expect(codeChallenge(verifier)).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  expect(isCodeVerifier(verifier)).toBe(true);
  expect(isCodeChallenge(codeChallenge(verifier))).toBe(true);
});

test.each([
  ['', false, false],
  ['a'.repeat(42), false, false],
  ['a'.repeat(43), true, true],
  ['a'.repeat(44), false, true],
  ['a'.repeat(128), false, true],
  ['a'.repeat(129), false, false],
  [`${'a'.repeat(42)}.`, false, true],
  [`${'a'.repeat(42)}~`, false, true],
  [`${'a'.repeat(42)}=`, false, false],
  [`${'a'.repeat(42)}+`, false, false],
  [`${'a'.repeat(42)}/`, false, false],
  [`${'a'.repeat(42)} `, false, false],
  [`${'a'.repeat(43)}\n`, false, false],
  [`${'a'.repeat(42)}é`, false, false],
])('%j: a challenge %s, a verifier %s (RFC 7636 4.1, 4.2, security R21)', (text, challenge, verifier) => {
  expect([isCodeChallenge(text), isCodeVerifier(text)]).toEqual([challenge, verifier]);
});
