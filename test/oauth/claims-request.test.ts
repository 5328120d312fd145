// The claims parameter is parsed, refused if malformed, and limited to the claims of registered scopes: tables of cases.
import { expect, test } from 'vitest';
import { acrOf, acrValues, multiFactor, preferredAcr } from '../../src/oauth/acr.ts';
import {
  type ClaimsRequest,
  parseClaimsRequest,
  requestedClaims,
  singleClaims,
} from '../../src/oauth/claims-request.ts';
import { OAuthError } from '../../src/oauth/errors.ts';

const nothing: ClaimsRequest = { userinfo: [], idToken: [], subjects: undefined, acr: undefined, needsAuthTime: false };
const password = 'urn:gatehouse:acr:password';

test.each<[string, unknown, Partial<ClaimsRequest>]>([
  ['nothing', {}, {}],
  [
    'names with null or an object',
    { userinfo: { name: null, nickname: { essential: true } } },
    { userinfo: ['name', 'nickname'] },
  ],
  [
    'both members are separate',
    { userinfo: { name: null }, id_token: { picture: null } },
    { userinfo: ['name'], idToken: ['picture'] },
  ],
  ['email with email_verified', { id_token: { email: null } }, { idToken: ['email', 'email_verified'] }],
  [
    'unknown claims, members and tags',
    { userinfo: { shoe_size: null, 'name#de': null, __proto__x: null }, x: { name: null } },
    {},
  ],
  ['claims of no scope are ignored', { id_token: { auth_time: null, nonce: null, iss: null } }, {}],
  ['an essential auth_time', { id_token: { auth_time: { essential: true } } }, { needsAuthTime: true }],
  ['a requested value is not required', { userinfo: { name: { value: 'Ada' } } }, { userinfo: ['name'] }],
  ['one subject', { id_token: { sub: { value: 'a' } } }, { subjects: ['a'] }],
  ['several subjects', { userinfo: { sub: { values: ['a', 'b'] } } }, { subjects: ['a', 'b'] }],
  ['a subject without a value', { id_token: { sub: null } }, {}],
  [
    'an essential acr',
    { id_token: { acr: { essential: true, values: ['x', 'y'] } } },
    { acr: { values: ['x', 'y'], essential: true } },
  ],
  ['a voluntary acr', { id_token: { acr: { value: 'x' } } }, { acr: { values: ['x'], essential: false } }],
  ['any acr', { id_token: { acr: { essential: true } } }, {}],
  ['null members', { userinfo: null, id_token: null }, {}],
])('%s (OpenID Connect Core 5.5)', (_what, sent, expected) => {
  expect(parseClaimsRequest(JSON.stringify(sent))).toEqual({ ...nothing, ...expected });
});

const deep = (levels: number): unknown => (levels === 0 ? 1 : { x: deep(levels - 1) });
test.each<[string, string]>([
  ['not JSON', 'name'],
  ['incomplete JSON', '{"userinfo":{'],
  ['a list', '[]'],
  ['a string', '"name"'],
  ['null', 'null'],
  ['a member that is a list', '{"userinfo":["name"]}'],
  ['a member that is a string', '{"id_token":"name"}'],
  ['a claim that is true', '{"userinfo":{"name":true}}'],
  ['a claim that is a list', '{"userinfo":{"name":["x"]}}'],
  ['a subject that is a number', '{"id_token":{"sub":{"value":5}}}'],
  ['acr values that are numbers', '{"id_token":{"acr":{"values":[1]}}}'],
  ['too deep', JSON.stringify(deep(17))],
  [
    'too many members',
    JSON.stringify({ userinfo: Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`c${n}`, null])) }),
  ],
  ['too long', `{"x":"${'x'.repeat(8192)}"}`],
])('%s is invalid_request (OpenID Connect Core 5.5, security R103)', (_what, sent) => {
  expect(() => parseClaimsRequest(sent)).toThrow(OAuthError);
  expect(() => parseClaimsRequest(sent)).toThrow(/^invalid_request/);
});

test('a client gets the claims of its registered scopes, beside those that the request already has (security R12)', () => {
  const requested = { ...nothing, userinfo: ['name', 'email', 'phone_number'], idToken: ['nickname', 'email'] };
  const registered = ['openid', 'profile', 'email'];
  const both = { userinfo: true, idToken: true };
  expect(singleClaims(requested, ['openid', 'email'], registered, both)).toEqual({
    userinfo: ['name'],
    idToken: ['nickname', 'email'],
    beside: ['name', 'nickname'],
  });
  expect(singleClaims(requested, ['openid'], ['openid'], both)).toEqual({ userinfo: [], idToken: [], beside: [] });
  // without UserInfo no claim is granted for it
  expect(singleClaims(requested, ['openid'], registered, { userinfo: false, idToken: true }).beside).toEqual([
    'nickname',
    'email',
  ]);
});

test('a client session stores only the requested claims, and nothing without a request (OpenID Connect Core 5.5)', () => {
  const none = { userinfo: [], idToken: [], beside: [] };
  expect(requestedClaims(none, undefined)).toBeUndefined();
  expect(requestedClaims(none, password)).toEqual({ acr: password });
  expect(requestedClaims({ ...none, userinfo: ['name'], idToken: ['email'] }, undefined)).toEqual({
    userinfo: ['name'],
    id_token: ['email'],
  });
});

test('an acr is satisfied by its authentication methods (OpenID Connect Core 2, RFC 8176)', () => {
  expect(acrValues).toEqual([password, multiFactor, 'phr', 'phrh']);
  const cases = [
    [['otp'], undefined],
    [['pwd'], password],
    [['otp', 'pwd'], password],
    [['pwd', 'otp', 'mfa'], multiFactor],
    [['pwd', 'swk', 'mfa'], 'phr'],
    [['swk', 'user', 'mfa'], 'phr'],
    [['hwk', 'user', 'mfa'], 'phrh'],
    // possession alone does not identify the holder
    [['hwk'], undefined],
  ] as const;
  for (const [amr, acr] of cases) expect(acrOf(amr), amr.join()).toBe(acr);
  // a stronger sign-in satisfies a weaker acr
  for (const acr of acrValues) expect(preferredAcr([acr], ['hwk', 'user', 'mfa'])).toBe(acr);
  expect(preferredAcr(['1', password], ['pwd'])).toBe(password);
  expect(preferredAcr(['1', '2'], ['pwd'])).toBeUndefined();
  expect(preferredAcr([password], [])).toBeUndefined();
});
