// The claims that scopes release, as tables: standard types, nothing empty, nothing that was not asked.
import { expect, test } from 'vitest';
import { address, releasedClaims, storableClaims, type Subject, supportedClaims } from '../../src/oauth/claims.ts';

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
const bare: Subject = { ...subject, email: undefined, emailVerified: false, groups: [], claims: {} };

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
  ['without an email there is neither', bare, ['email'], {}],
  ['an empty email counts as none known', { ...bare, email: undefined }, ['openid', 'email'], {}],
  [
    'profile leaves out what is empty or unknown, and updated_at is in whole seconds',
    subject,
    ['profile'],
    { name: 'Alice Adams', given_name: 'Alice', preferred_username: 'alice', updated_at: 1_767_323_045 },
  ],
  ['profile of a bare account', bare, ['profile'], { preferred_username: 'alice', updated_at: 1_767_323_045 }],
  [
    'a stored preferred_username wins over the user name',
    { ...bare, claims: { preferred_username: 'ali' } },
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
    'a telephone number comes with its state',
    subject,
    ['phone'],
    { phone_number: '+32 9 123', phone_number_verified: false },
  ],
  [
    'a confirmed telephone number',
    { ...subject, claims: { phone_number: '+32', phone_number_verified: true } },
    ['phone'],
    { phone_number: '+32', phone_number_verified: true },
  ],
  ['a state without a number is left out', { ...bare, claims: { phone_number_verified: true } }, ['phone'], {}],
  ['no address, no claim', bare, ['address'], {}],
  [
    'scopes add up',
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

test('every claim of the discovery document is one of the standard or of decisions, once (OpenID Connect Discovery 3)', () => {
  expect(new Set(supportedClaims).size).toBe(supportedClaims.length);
  expect(supportedClaims).toContain('sub');
  expect(supportedClaims).toContain('groups');
  for (const claim of storableClaims) expect(supportedClaims).toContain(claim);
});
