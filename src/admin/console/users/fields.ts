// Declares the console's form for a user, and reads the change that it makes. An unchanged field is no change, whatever it holds.
import { isDeepStrictEqual } from 'node:util';
import { type FormMember, paragraph, read } from '../../../entities/field.ts';
import { claimRules, email, userName } from '../../../rules/users/administration.ts';
import type { User, UserChange } from '../../../repositories/users/users.ts';
import { checkedInput, type Faults, type Typed, typedOf } from '../form.ts';

const most = 1000;
const url = { kind: 'address', most: 2000, removable: true } as const;
const text = { kind: 'text', most, removable: true, writing: 'auto' } as const;
const code = { ...text, writing: 'ltr' } as const;
const lines = { kind: 'lines', most, removable: true, lines: 2, typing: paragraph } as const;
const check = { kind: 'check' } as const;

const signIn: FormMember[] = [
  { name: 'username', kind: 'text', most: 255, required: true, writing: 'auto' },
  { name: 'email', kind: 'email', most: 320, removable: true },
  { name: 'email_verified', ...check },
];
const groups: Record<string, FormMember[]> = {
  'sign-in': signIn,
  person: [
    { name: 'name', ...text },
    { name: 'given_name', ...text },
    { name: 'family_name', ...text },
    { name: 'middle_name', ...text },
    { name: 'nickname', ...text },
    { name: 'preferred_username', ...text },
    { name: 'gender', ...text },
    { name: 'birthdate', ...code },
  ],
  contact: [
    { name: 'phone_number', ...code },
    { name: 'phone_number_verified', ...check },
    { name: 'website', ...url },
    { name: 'profile', ...url },
    { name: 'picture', ...url },
  ],
  address: [
    { name: 'formatted', inside: 'address', ...lines },
    { name: 'street_address', inside: 'address', ...lines },
    { name: 'postal_code', inside: 'address', ...text },
    { name: 'locality', inside: 'address', ...text },
    { name: 'region', inside: 'address', ...text },
    { name: 'country', inside: 'address', ...text },
  ],
  language: [
    { name: 'locale', ...code },
    { name: 'zoneinfo', ...code, list: 'zones' },
  ],
};

export const userForm: readonly FormMember[] = Object.entries(groups).flatMap(([group, members]) =>
  members.map((member) => ({ ...member, group })),
);
const ofNew = ['username', 'email', 'email_verified', 'name', 'given_name', 'family_name'];
/** The fields for a new user; the administrator adds others on the user's page. */
export const newUserForm = userForm.filter(({ name }) => ofNew.includes(name));

/** The form with the stored values. */
export const typedOfUser = (form: readonly FormMember[], user: User | undefined): Typed =>
  typedOf(form, { ...user?.claims, username: user?.username, email: user?.email, email_verified: user?.emailVerified });

/** @param before undefined for a new user */
export function readUserForm(
  form: readonly FormMember[],
  typed: Typed,
  before?: User,
): { change: UserChange; faults: Faults } {
  const old = typedOfUser(form, before);
  const differs = (member: FormMember) =>
    !isDeepStrictEqual(read(member, typed[member.name]), read(member, old[member.name]));
  const isMoved = form.some((member) => member.inside && differs(member));
  // an address is stored as a whole
  const changed = form.filter((member) => (member.inside ? isMoved : differs(member) || (member.required && !before)));
  const parts = Object.fromEntries(form.flatMap(({ name, inside }) => (inside ? [[name, claimRules.name]] : [])));
  const { input, faults } = checkedInput(changed, typed, { ...claimRules, ...parts, username: userName, email });
  const { username, email: address, email_verified: verified, address: postal, ...claims } = input;
  if (postal) {
    const given = Object.entries(postal).filter(([, value]) => value !== null);
    claims['address'] = given.length > 0 ? Object.fromEntries(given) : null;
  }
  return {
    change: {
      ...(username !== undefined && { username: String(username) }),
      ...(address !== undefined && { email: address === null ? null : String(address) }),
      ...(verified !== undefined && { confirmedBy: verified === true ? 'administrator' : null }),
      ...(Object.keys(claims).length > 0 && { claims }),
    },
    faults,
  };
}
