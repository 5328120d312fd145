// The rules for DPoP proofs: tables of headers, claims, addresses and times (RFC 9449 4.2, 4.3).
import { describe, expect, test } from 'vitest';
import { faultOfHeader, isAddress, isFresh, isThumbprint, readProofClaims } from '../../src/oauth/dpop-proof.ts';

const ec = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
const rsa = (bits: number) => ({ kty: 'RSA', e: 'AQAB', n: Buffer.alloc(bits / 8, 0xff).toString('base64url') });
const good = { typ: 'dpop+jwt', alg: 'ES256', jwk: ec };

test.each<[string, Record<string, unknown>]>([
  ['ES256', {}],
  ['EdDSA', { alg: 'EdDSA', jwk: { kty: 'OKP', crv: 'Ed25519', x: 'x' } }],
  ['EdDSA by the name of its curve', { alg: 'Ed25519', jwk: { kty: 'OKP', crv: 'Ed25519', x: 'x' } }],
  ['PS256', { alg: 'PS256', jwk: rsa(2048) }],
  ['another member', { kid: 'one' }],
])('a header is accepted: %s (RFC 9449 4.2)', (_name, header) => {
  expect(faultOfHeader({ ...good, ...header })).toBeUndefined();
});

test.each<[string, Record<string, unknown>]>([
  ['no typ', { typ: undefined }],
  ['another typ', { typ: 'JWT' }],
  ['typ in upper case', { typ: 'DPOP+JWT' }],
  ['alg none', { alg: 'none' }],
  ['a symmetric alg', { alg: 'HS256' }],
  ['RS256', { alg: 'RS256', jwk: rsa(2048) }],
  ['ES256 with an RSA key', { jwk: rsa(2048) }],
  ['PS256 with an EC key', { alg: 'PS256' }],
  ['another curve', { jwk: { ...ec, crv: 'P-384' } }],
  ['no jwk', { jwk: undefined }],
  ['jwk as text', { jwk: JSON.stringify(ec) }],
  ['jwk as an array', { jwk: [ec] }],
  ['jwk null', { jwk: null }],
  ['a private key', { jwk: { ...ec, d: 'd' } }],
  ['a symmetric key', { jwk: { kty: 'oct', k: 'k' } }],
  ['a key for encryption', { jwk: { ...ec, use: 'enc' } }],
  ['a key without a type', { jwk: { crv: 'P-256' } }],
  ['a short RSA key', { alg: 'PS256', jwk: rsa(1024) }],
  ['a long RSA key', { alg: 'PS256', jwk: rsa(8192) }],
  ['crit', { crit: ['exp'] }],
  ['jku', { jku: 'https://keys.example' }],
  ['x5u', { x5u: 'https://keys.example' }],
])('a header is refused: %s (RFC 9449 4.3, security R135)', (_name, header) => {
  expect(faultOfHeader({ ...good, ...header })).toEqual(expect.any(String));
});

const request = { method: 'POST', address: 'https://op.example/token', tokenDigest: undefined };
const claims = { jti: 'one', iat: 1000, htm: 'POST', htu: 'https://op.example/token' };

test('the claims that count are read, and others are ignored (RFC 9449 4.2)', () => {
  expect(readProofClaims({ ...claims, nonce: 'n', exp: 1, nbf: 9e9, sub: 'x' }, request)).toEqual({
    jti: 'one',
    iat: 1000,
    nonce: 'n',
  });
  const withToken = { ...request, tokenDigest: 'digest' };
  expect(readProofClaims({ ...claims, ath: 'digest' }, withToken)).toMatchObject({ jti: 'one' });
});

test.each<[string, Record<string, unknown>]>([
  ['no jti', { jti: undefined }],
  ['an empty jti', { jti: '' }],
  ['a long jti', { jti: 'x'.repeat(257) }],
  ['jti with NUL', { jti: 'a\0' }],
  ['jti as a number', { jti: 1 }],
  ['no iat', { iat: undefined }],
  ['iat as text', { iat: '1000' }],
  ['a negative iat', { iat: -1 }],
  ['an infinite iat', { iat: Infinity }],
  ['iat with a fraction', { iat: 1000.5 }],
  ['no htm', { htm: undefined }],
  ['another method', { htm: 'GET' }],
  ['the method in lower case', { htm: 'post' }],
  ['no htu', { htu: undefined }],
  ['htu as an array', { htu: ['https://op.example/token'] }],
  ['htu as a number', { htu: 1 }],
  ['htu as an object', { htu: {} }],
  ['another address', { htu: 'https://op.example/par' }],
  ['nonce as a number', { nonce: 1 }],
])('claims are refused: %s (RFC 9449 4.3, security R135)', (_name, wrong) => {
  expect(readProofClaims({ ...claims, ...wrong }, request)).toEqual(expect.any(String));
});

test.each([[undefined], [''], ['other'], [1]])(
  'with a token, ath must be its digest: %s is refused (RFC 9449 4.3, 7)',
  (ath) => {
    expect(readProofClaims({ ...claims, ath }, { ...request, tokenDigest: 'digest' })).toContain('ath');
  },
);

describe('the address', () => {
  test.each([
    'https://op.example/token',
    'HTTPS://OP.Example/token',
    'https://op.example:443/token',
    'https://op.example/token?a=b',
    'https://op.example/token#a',
    'https://op.example/token?a#b',
  ])('%s is the same (RFC 3986 6.2, protocols P9)', (htu) => {
    expect(isAddress(htu, request.address)).toBe(true);
  });
  test.each([
    'https://op.example/Token',
    'https://op.example/token/',
    'https://op.example//token',
    'https://op.example/./token',
    'https://op.example/%74oken',
    'https://user@op.example/token',
    'https://op.example.evil/token',
    'https://op.example:444/token',
    'http://op.example/token',
    'https://op.example/toke',
    '/token',
    'token',
    '',
    '?',
    'https://op.example/token\n',
  ])('%j is another one (RFC 3986 6.2, protocols P9)', (htu) => {
    expect(isAddress(htu, request.address)).toBe(false);
  });
});

test.each<[age: number, lifetime: number, expected: boolean]>([
  [0, 60, true],
  [60, 60, true],
  [61, 60, false],
  [-60, 60, true],
  [-61, 60, false],
  [10, 10, true],
  [11, 10, false],
])(
  'a proof without a nonce that is %d seconds old, with a lifetime of %d: %s (RFC 9449 11.1)',
  (age, lifetime, expected) => {
    expect(isFresh(10_000 - age, new Date(10_000_900), lifetime)).toBe(expected);
  },
);

test.each<[string, boolean]>([
  ['a'.repeat(43), true],
  ['a'.repeat(42), false],
  ['a'.repeat(44), false],
  [`${'a'.repeat(42)}=`, false],
  [`${'a'.repeat(42)}+`, false],
])('%s as a thumbprint: %s (RFC 7638)', (text, expected) => {
  expect(isThumbprint(text)).toBe(expected);
});
