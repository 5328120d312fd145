// Scopes release claims in standard types, without empty values and without claims of other scopes: tables of cases.
import { expect, test } from 'vitest';
import { storableClaims, supportedClaims } from '../../../src/oauth/claim-names.ts';
import { address, releasedClaims, type Subject } from '../../../src/rules/claims/claims.ts';

const subject: Subject = {
  sub: 's-1',
  username: 'alice',
  email: 'alice@example.com',
  emailVerified: true,
  groups: ['staff', 'crew'],
  claims: {
    name: 'Alice Adams',
    given_name: 'Alice',
    website: '',
    gender: null,
    address: { locality: 'Ghent', country: 'BE' },
    phone_number: '+32 9 123',
    unknown: 'x',
  },
  updatedAt: new Date('2026-01-02T03:04:05.678Z'),
};
const withoutClaims: Subject = { ...subject, email: undefined, emailVerified: false, groups: [], claims: {} };

test.each<[string, Subject, string[], Record<string, unknown>]>([
  ['openid alone releases nothing more', subject, ['openid'], {}],
  ['no scope releases nothing', subject, [], {}],
  ['unknown scopes release nothing', subject, ['admin', '__proto__', 'constructor', 'toString', 'x'], {}],
  ['email comes with email_verified', subject, ['email'], { email: 'alice@example.com', email_verified: true }],
  [
    'email_verified is false unless known',
    { ...subject, emailVerified: false },
    ['email'],
    { email: 'alice@example.com', email_verified: false },
  ],
  ['without an email there is neither', withoutClaims, ['email'], {}],
  ['an unknown email is left out', { ...withoutClaims, email: undefined }, ['openid', 'email'], {}],
  [
    'profile leaves out empty and unknown claims, and updated_at is in whole seconds',
    subject,
    ['profile'],
    { name: 'Alice Adams', given_name: 'Alice', preferred_username: 'alice', updated_at: 1_767_323_045 },
  ],
  [
    'profile of an account without claims releases the user name',
    withoutClaims,
    ['profile'],
    { preferred_username: 'alice', updated_at: 1_767_323_045 },
  ],
  [
    'a stored preferred_username replaces the user name',
    { ...withoutClaims, claims: { preferred_username: 'ali' } },
    ['scope'],
    { preferred_username: 'ali', groups: [] },
  ],
  [
    'scope releases user name and groups',
    subject,
    ['scope'],
    { preferred_username: 'alice', groups: ['staff', 'crew'] },
  ],
  [
    'a telephone number comes with phone_number_verified',
    subject,
    ['phone'],
    { phone_number: '+32 9 123', phone_number_verified: false },
  ],
  [
    'a verified telephone number is released as verified',
    { ...subject, claims: { phone_number: '+32', phone_number_verified: true } },
    ['phone'],
    { phone_number: '+32', phone_number_verified: true },
  ],
  [
    'phone_number_verified is left out without a number',
    { ...withoutClaims, claims: { phone_number_verified: true } },
    ['phone'],
    {},
  ],
  ['an account without an address releases no claim', withoutClaims, ['address'], {}],
  [
    'the claims of several scopes are combined',
    subject,
    ['email', 'scope'],
    { email: 'alice@example.com', email_verified: true, preferred_username: 'alice', groups: ['staff', 'crew'] },
  ],
])('%s (OpenID Connect Core 5.1, 5.4, decisions section 5)', (_what, user, scopes, expected) => {
  expect(releasedClaims(user, scopes)).toEqual(expected);
});

test.each<[unknown, Record<string, string> | undefined]>([
  [undefined, undefined],
  [null, undefined],
  ['Main Street 1', undefined],
  [{}, undefined],
  [{ street_address: '' }, undefined],
  [{ street_address: 7, planet: 'Earth' }, undefined],
  [{ formatted: 'All of it' }, { formatted: 'All of it' }],
  [
    { formatted: 'Mine', country: 'BE' },
    { formatted: 'Mine', country: 'BE' },
  ],
  [{ country: 'BE' }, { country: 'BE', formatted: 'BE' }],
  [
    { street_address: 'Main Street 1', locality: 'Ghent', region: 'East Flanders', postal_code: '9000', country: 'BE' },
    {
      street_address: 'Main Street 1',
      locality: 'Ghent',
      region: 'East Flanders',
      postal_code: '9000',
      country: 'BE',
      formatted: 'Main Street 1\n9000 Ghent\nEast Flanders\nBE',
    },
  ],
  [
    { locality: 'Ghent', extra: 'x' },
    { locality: 'Ghent', formatted: 'Ghent' },
  ],
  [
    { postal_code: '9000', country: 'BE' },
    { postal_code: '9000', country: 'BE', formatted: '9000\nBE' },
  ],
])('the address of %j is %j (OpenID Connect Core 5.1.1)', (stored, expected) => {
  expect(address(stored)).toEqual(expected);
});

test('the discovery document lists each claim of the standard and of decisions once (OpenID Connect Discovery 3)', () => {
  expect(new Set(supportedClaims).size).toBe(supportedClaims.length);
  expect(supportedClaims).toContain('sub');
  expect(supportedClaims).toContain('groups');
  for (const claim of storableClaims) expect(supportedClaims).toContain(claim);
});
