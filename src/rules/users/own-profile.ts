// Reads the form by which a user changes their own claims (OpenID Connect Core 5.1).
import { isDeepStrictEqual } from 'node:util';
import { claimsShape } from './administration.ts';
import type { storableClaims } from '../../oauth/claim-names.ts';

/** The claims that PROFILE_EDITABLE may name: not the user name, and nothing that states a verification. */
export type EditableClaim = Exclude<(typeof storableClaims)[number], 'preferred_username' | 'phone_number_verified'>;

const addressFields = ['street_address', 'postal_code', 'locality', 'region', 'country'] as const;
type AddressField = (typeof addressFields)[number];

/** A field of the form: a claim or a member of the address. */
export type ProfileField = Exclude<EditableClaim, 'address'> | AddressField;

/** What is wrong with a field: a key of the catalogue under `account.profile.fault.`. */
export type ProfileFault = 'text' | 'long' | 'url' | 'date' | 'phone' | 'language' | 'zone';

/** In characters. A longer value that an administrator stored stays. */
export const maxFieldLength = 255;

export function isAddressField(field: string): field is AddressField {
  return (addressFields as readonly string[]).includes(field);
}

/** Returns the fields of these claims, in their order. */
export function profileFields(editable: readonly EditableClaim[]): ProfileField[] {
  return editable.flatMap((claim) => (claim === 'address' ? [...addressFields] : [claim]));
}

/** Returns the current value of a field. */
export function fieldValue(claims: Record<string, unknown>, field: ProfileField): string {
  if (!isAddressField(field)) return textOf(claims[field]);
  const address = addressOf(claims);
  const parts = addressFields.some((part) => textOf(address[part]) !== '');
  // an address that is stored as `formatted` only
  return textOf(!parts && field === 'street_address' ? address['formatted'] : address[field]);
}

/**
 * Compares a form with the stored claims. An unchanged field is neither checked nor a change.
 * @param typed values by field; a missing field is empty
 * @returns the changed claims, null for one that is removed, and the faults by field
 */
export function readOwnProfile(
  typed: Record<string, string | undefined>,
  editable: readonly EditableClaim[],
  before: Record<string, unknown>,
): { change: Record<string, unknown>; faults: Partial<Record<ProfileField, ProfileFault>> } {
  const change: Record<string, unknown> = {};
  const faults: Partial<Record<ProfileField, ProfileFault>> = {};
  const address: Record<string, string> = {};
  for (const field of profileFields(editable)) {
    const value = normalized(typed[field] ?? '');
    const old = fieldValue(before, field);
    const fault = value === '' || value === normalized(old) ? undefined : faultOf(field, value);
    if (fault) faults[field] = fault;
    if (isAddressField(field)) {
      if (value !== '') address[field] = value;
    } else if (value !== normalized(old)) change[field] = value === '' ? null : stored(field, value);
  }
  if (editable.includes('address')) {
    const old = addressFields.flatMap((field) => {
      const value = normalized(fieldValue(before, field));
      return value === '' ? [] : [[field, value]];
    });
    // a stored `formatted` would contradict the new members, so the address is replaced
    if (!isDeepStrictEqual(address, Object.fromEntries(old)))
      change['address'] = Object.keys(address).length === 0 ? null : address;
  }
  // a new number is not verified
  if ('phone_number' in change) change['phone_number_verified'] = null;
  return { change, faults };
}

/** The claim `name` that a new user typed; none for an empty text. */
export function readDisplayName(typed = ''): { claims: Record<string, unknown>; fault?: 'text' | 'long' } {
  const { change, faults } = readOwnProfile({ name: typed }, ['name'], {});
  // these are the faults that a name can have
  const fault = faults.name as 'text' | 'long' | undefined;
  return fault ? { claims: {}, fault } : { claims: change };
}

function faultOf(field: ProfileField, value: string): ProfileFault | undefined {
  if ([...value].length > maxFieldLength) return 'long';
  if ((field === 'street_address' ? /[^\P{Cc}\n]/u : /\p{Cc}/u).test(value) || !value.isWellFormed()) return 'text';
  switch (field) {
    case 'website':
    case 'profile':
    case 'picture':
      return claimsShape.safeParse({ [field]: value }).success ? undefined : 'url';
    case 'birthdate':
      return isBirthdate(value) ? undefined : 'date';
    case 'phone_number':
      return /^\+?[0-9 ()./-]{3,40}(;ext=\d{1,8})?$/.test(value) ? undefined : 'phone';
    case 'locale':
      return canonicalLocale(value) === undefined ? 'language' : undefined;
    case 'zoneinfo':
      return isTimeZone(value) ? undefined : 'zone';
    default:
      return undefined;
  }
}

const stored = (field: ProfileField, value: string): string =>
  field === 'locale' ? (canonicalLocale(value) ?? value) : value;

/** YYYY-MM-DD or YYYY: an existing day that is not in the future; year 0000 when the year is omitted (Core 5.1). */
function isBirthdate(value: string): boolean {
  const match = /^(\d{4})(?:-(\d{2})-(\d{2}))?$/.exec(value);
  if (!match) return false;
  const [, year, month = '01', day = '01'] = match;
  // a leap year, for the 29th of February
  const date = new Date(`${year === '0000' ? '2000' : year}-${month}-${day}T00:00:00Z`);
  // a day ahead of UTC somewhere
  return date.getUTCDate() === Number(day) && date.getTime() < Date.now() + 86_400_000;
}

function canonicalLocale(value: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(value)[0];
  } catch {
    return undefined;
  }
}

/** Whether it is a name of the time zone database, and not an offset. */
function isTimeZone(value: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(value)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== undefined;
  } catch {
    return false;
  }
}

function addressOf(claims: Record<string, unknown>): Record<string, unknown> {
  const address = claims['address'];
  return typeof address === 'object' && address !== null ? (address as Record<string, unknown>) : {};
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Normalizes the value of a form field: browsers end lines with CR LF. */
const normalized = (value: string): string => value.replace(/\r\n?/g, '\n').trim();
