// Holds the rules for users and groups, for the admin API, the console and the command line.
import { z } from 'zod';
import { isNoFolder } from '../../oauth/display-text.ts';
import { acrValues } from '../../oauth/acr.ts';
import type { storableClaims } from '../../oauth/claim-names.ts';
import { storedAddress } from '../connections/mail-domain.ts';
import { looksLikeSub } from './login-key.ts';
import { rule } from '../../oauth/refusals.ts';

/** Whether PostgreSQL stores the text. */
export const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed();
export const name = z
  .string()
  .trim()
  .min(1, rule('empty'))
  .max(255, rule('most-characters'))
  .refine((value) => isStorable(value) && !/[\p{Cc}]/u.test(value), rule('control-characters'));

/** A group's name is a path segment of its address, where . and .. are dot segments (RFC 3986 5.2.4). */
export const groupName = name.refine(isNoFolder, rule('dots'));

/** Characters that no one sees, or whose meaning a later Unicode decides: controls, formats, fillers and unassigned ones. */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]/u;
/** Each check of a user name is also one of the form in which names are compared (RFC 8265 3). */
const compared = (value: string) => value.normalize('NFKC').trim();

/** A user name of an import, where a name may be the user's own sub. */
export const importedName = name
  .refine((value) => !invisible.test(value) && !invisible.test(compared(value)), rule('invisible-characters'))
  .refine((value) => compared(value).length >= 1 && compared(value).length <= 255, rule('most-characters'));

/** A user name that an administrator gives; it may be an address. */
export const userName = importedName.refine((value) => !looksLikeSub(value), rule('like-sub'));

/** Characters of a user name that a user chooses. */
export const maxOwnNameLength = 64;

/**
 * A user name that a user or a connection chooses (security R154). It appears in mails that the user can have sent to others, so it must
 * not read as an address or a sentence: a word with a dot in it must be the whole name.
 */
export const ownName = userName.refine((value) => {
  const text = compared(value);
  return (
    [...text].length <= maxOwnNameLength &&
    /^[\p{L}\p{M}\p{N} ._'’-]+$/u.test(text) &&
    !/^www\./iu.test(text) &&
    !/ .*\.[^ .]|\.[^ .].* /u.test(text)
  );
});

/** An email address, in the form in which it is stored (security R158). */
export const email = z
  .string()
  .max(320)
  // control characters by number: not every reader of the OpenAPI document knows \p{Cc}
  .regex(/^[^\s@\u0000-\u001f\u007f-\u009f]+@[^\s@\u0000-\u001f\u007f-\u009f]+$/u, rule('email'))
  .refine((address) => storedAddress(address) !== undefined, rule('email'))
  .transform((address) => storedAddress(address) ?? address);

const text = z.string().min(1).max(1000).refine(isStorable, rule('text'));
const url = z.url({ protocol: /^https?$/ }).max(2000);

export const claimRules: Record<(typeof storableClaims)[number], z.ZodType> = {
  name: text,
  family_name: text,
  given_name: text,
  middle_name: text,
  nickname: text,
  preferred_username: text,
  profile: url,
  picture: url,
  website: url,
  gender: text,
  birthdate: z.string().regex(/^(\d{4}-\d{2}-\d{2}|\d{4})$/, rule('date')),
  zoneinfo: text,
  locale: text,
  address: z.strictObject({
    formatted: text.optional(),
    street_address: text.optional(),
    locality: text.optional(),
    region: text.optional(),
    postal_code: text.optional(),
    country: text.optional(),
  }),
  phone_number: text,
  phone_number_verified: z.boolean(),
};

/** Standard claims by name; an unknown claim is refused. */
export const claimsShape = z.strictObject(
  Object.fromEntries(Object.entries(claimRules).map(([claim, rule]) => [claim, rule.nullable().optional()])),
  // an unknown member is refused by its own name
  { error: (issue) => (issue.code === 'invalid_type' ? rule('standard-claims').error : undefined) },
);

/** Values of attributes in a request; they are checked against the stored definitions. */
const attributes = z
  .record(z.string().max(50), z.unknown())
  .optional()
  .describe('Values of the attributes that are defined here; null removes one.');

/** Whether a claim's value is text, also where it looks like a number. */
export function isTextClaim(claim: string): boolean {
  return Object.hasOwn(claimRules, claim) && claimRules[claim as keyof typeof claimRules].def.type === 'string';
}

/** Characters of a password. */
export const maxPasswordLength = 128;

/** Of the normalized password, as it is hashed (security R59). */
export const password = (minLength: number) =>
  z
    .string()
    .normalize('NFKC')
    .refine((value) => [...value].length >= minLength, rule('too-short', { least: String(minLength) }))
    .refine((value) => [...value].length <= maxPasswordLength, rule('too-long', { most: String(maxPasswordLength) }))
    .refine(isStorable, rule('text'))
    .meta({ minLength, maxLength: maxPasswordLength });

export const newUserShape = (minPasswordLength: number) =>
  z.strictObject({
    username: userName.describe('The name by which the user signs in.'),
    email: email.optional().describe('The email address, with which the user can also sign in.'),
    email_verified: z.boolean().optional().describe('Whether the email address is known to be that of the user.'),
    password: password(minPasswordLength)
      .optional()
      .describe('The password; the command line reads it from standard input.'),
    groups: z.array(groupName).max(1000).optional().describe('The groups that the user belongs to.'),
    admin: z.boolean().optional().describe('Whether the user is an administrator.'),
    claims: claimsShape.optional().describe('Standard claims of OpenID Connect, such as name and phone_number.'),
    attributes,
  });

export const userChangeShape = (minPasswordLength: number) => {
  const { username, email, ...others } = newUserShape(minPasswordLength).shape;
  const status = z.enum(['enabled', 'disabled']).optional();
  return z.strictObject({
    username: username.optional(),
    email: email.unwrap().nullable().optional().describe(email.description!),
    status,
    ...others,
  });
};

/** A level of authentication. */
export const acr = z
  .string()
  .refine((value) => acrValues.includes(value), rule('one-of', { values: acrValues.join(', ') }));
