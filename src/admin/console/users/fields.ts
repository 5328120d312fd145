// Defines the fields of the console's form for a user: their values, the change that a submitted form makes, and its faults.
import { isDeepStrictEqual } from 'node:util';
import type { UserField } from '../../../pages/views/console-users.ts';
import type { FaultView } from '../../../pages/views/parts.ts';
import { claimRules, email, userName } from '../../../rules/users/administration.ts';
import { faultOf } from '../../../oauth/refusals.ts';
import type { User, UserChange } from '../../../repositories/users/users.ts';

const textClaims = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'gender',
  'birthdate',
  'phone_number',
  'website',
  'profile',
  'picture',
  'locale',
  'zoneinfo',
] as const;
const addressFields = ['formatted', 'street_address', 'postal_code', 'locality', 'region', 'country'] as const;
const checks = ['email_verified', 'phone_number_verified'] as const;
export type UserFieldName =
  'username' | 'email' | (typeof textClaims)[number] | (typeof addressFields)[number] | (typeof checks)[number];

/** The fields for a new user; the administrator adds others on the user's page. */
export const newUserFields: readonly UserFieldName[] = [
  'username',
  'email',
  'email_verified',
  'name',
  'given_name',
  'family_name',
];
export const allUserFields: readonly UserFieldName[] = [
  'username',
  'email',
  ...textClaims,
  ...addressFields,
  ...checks,
];

type Typed = Record<string, string | undefined>;
export type UserFaults = Partial<Record<UserFieldName, FaultView>>;

const isCheck = (field: string) => (checks as readonly string[]).includes(field);
const isAddressField = (field: string) => (addressFields as readonly string[]).includes(field);
/** Browsers end lines with CR LF. */
const tidy = (value: string): string => value.replace(/\r\n?/g, '\n').trim();
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The stored value of a field. */
function stored(user: User | undefined, field: UserFieldName): string {
  if (field === 'username' || field === 'email') return user?.[field] ?? '';
  if (field === 'email_verified') return user?.emailVerified ? 'true' : '';
  if (field === 'phone_number_verified') return user?.claims[field] === true ? 'true' : '';
  const address = (user?.claims['address'] ?? {}) as Record<string, unknown>;
  return textOf(isAddressField(field) ? address[field] : user?.claims[field]);
}

/** @param typed the values of a refused form; without it the fields show the stored values */
export function userFields(
  user: User | undefined,
  fields: readonly UserFieldName[],
  typed?: Typed,
  faults: UserFaults = {},
): UserField[] {
  return fields.map((field) => {
    const fault = faults[field];
    const value = typed ? (typed[field] ?? '') : stored(user, field);
    return { field, value, ...(fault && { fault }) };
  });
}

/**
 * Returns the change that a form makes, with null for a removed value, and its faults. An unchanged field is no change.
 * @param typed by field; a missing field is empty
 * @param before undefined for a new user
 */
export function readUserForm(
  typed: Typed,
  fields: readonly UserFieldName[],
  before?: User,
): { change: UserChange; faults: UserFaults } {
  const faults: UserFaults = {};
  const change: UserChange = {};
  const claims: Record<string, unknown> = {};
  const address: Record<string, string> = {};
  const addressBefore: Record<string, string> = {};
  for (const field of fields) {
    const value = tidy(typed[field] ?? '');
    const old = tidy(stored(before, field));
    const fault = value === old && value !== '' ? undefined : fieldFault(field, value);
    if (fault) faults[field] = fault;
    if (isAddressField(field)) {
      if (value !== '') address[field] = value;
      if (old !== '') addressBefore[field] = old;
    } else if (value === old) continue;
    else if (field === 'username') change.username = value;
    else if (field === 'email') change.email = value === '' ? null : (email.safeParse(value).data ?? value);
    else if (field === 'email_verified') change.confirmedBy = value === 'true' ? 'administrator' : null;
    else if (isCheck(field)) claims[field] = value === 'true';
    else claims[field] = value === '' ? null : value;
  }
  if (!isDeepStrictEqual(address, addressBefore))
    claims['address'] = Object.keys(address).length === 0 ? null : address;
  if (Object.keys(claims).length > 0) change.claims = claims;
  return { change, faults };
}

/** The maximum length of a field, in characters. */
function maxLength(field: UserFieldName): number {
  if (field === 'username') return 255;
  if (field === 'email') return 320;
  return ['website', 'profile', 'picture'].includes(field) ? 2000 : 1000;
}

function fieldFault(field: UserFieldName, value: string): FaultView | undefined {
  if (value === '') return field === 'username' ? { code: 'missing' } : undefined;
  if (isCheck(field)) return undefined;
  const most = maxLength(field);
  if (value.length > most) return { code: 'too-long', params: { most: String(most) } };
  const rule =
    field === 'username'
      ? userName
      : field === 'email'
        ? email
        : claimRules[(isAddressField(field) ? 'name' : field) as keyof typeof claimRules];
  const { error } = rule.safeParse(value);
  return error && faultOf(error.issues[0]!);
}
