// Checks the claims about a user in every place: well typed, never empty, never null (OpenID Connect Core 5.1).
import { expect } from 'vitest';

export const claimsOfScope: Readonly<Record<string, readonly string[]>> = {
  profile: [
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
    'preferred_username',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
};

const booleans = ['email_verified', 'phone_number_verified'];
const links = ['profile', 'picture', 'website'];
const addressMembers = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country'];

export function checkClaims(claims: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(claims)) {
    expect(value, name).not.toBeNull();
    if (name === 'updated_at') checkTime(name, value);
    else if (name === 'address') checkAddress(value);
    else if (booleans.includes(name)) expect(value, name).toBeTypeOf('boolean');
    else if (Object.values(claimsOfScope).flat().includes(name)) checkText(name, value);
  }
  for (const name of links.filter((link) => link in claims))
    expect(URL.canParse(claims[name] as string), name).toBe(true);
  if ('birthdate' in claims) {
    expect(claims['birthdate']).toMatch(/^(\d{4}|\d{4}-\d{2}-\d{2})$/);
    const year = Number((claims['birthdate'] as string).slice(0, 4));
    expect(year === 0 || year >= 1850, 'year of birth').toBe(true);
  }
  if ('email' in claims) expect(claims['email']).toMatch(/^[^@\s]+@[^@\s]+$/);
  // aggregated and distributed claims name sources that exist (Core 5.6.2)
  const names = (claims['_claim_names'] ?? {}) as Record<string, string>;
  const sources = (claims['_claim_sources'] ?? {}) as Record<string, unknown>;
  expect(Object.values(names).filter((source) => !(source in sources))).toEqual([]);
}

/** sub: at most 255 printable ASCII characters (Core 2). */
export function checkSubject(sub: unknown): void {
  expect(sub, 'sub').toEqual(expect.stringMatching(/^[\x20-\x7e]{1,255}$/));
}

function checkText(name: string, value: unknown): void {
  expect(value, name).toBeTypeOf('string');
  expect((value as string).trim(), name).not.toBe('');
  expect(value, name).not.toBe('null');
}

function checkAddress(value: unknown): void {
  expect(value, 'address').toBeTypeOf('object');
  const members = Object.entries(value as Record<string, unknown>);
  expect(members.length, 'members of address').toBeGreaterThan(0);
  for (const [name, member] of members) {
    expect(addressMembers).toContain(name);
    checkText(`address.${name}`, member);
  }
}

/** Seconds, not milliseconds and not text: between 1990 and now. */
function checkTime(name: string, value: unknown): void {
  expect(value, name).toBeTypeOf('number');
  expect(value as number, name).toBeGreaterThan(631_152_000);
  expect(value as number, name).toBeLessThanOrEqual(Date.now() / 1000 + 5);
}
