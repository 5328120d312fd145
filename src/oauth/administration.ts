// What an administrator may send about users and clients, and how both are shown: the same for routes and command line.
import { z } from 'zod';
import { acrValues } from './acr.ts';
import type { storableClaims } from './claims.ts';
import { rule } from './refusals.ts';

const wellFormed = (value: string) => !value.includes('\0') && value.isWellFormed();
export const name = z
  .string()
  .trim()
  .min(1, rule('empty'))
  .max(255, rule('most-characters'))
  .refine((value) => wellFormed(value) && !/[\p{Cc}]/u.test(value), rule('control-characters'));

/** A group has an address by its name; whoever reads an address takes these two for the folder itself and the one above (RFC 3986 5.2.4). */
export const groupName = name.refine((value) => value !== '.' && value !== '..', rule('dots'));

/** In characters, of a name that somebody chooses for themselves. */
export const longestOwnName = 64;

/**
 * A user name that somebody chooses for themselves. It stands in mails that this person can have sent to others, so it holds nothing that
 * reads as an address: a dot within a word only where that word is all of the name.
 */
export const ownName = name
  .refine((value) => [...value].length <= longestOwnName)
  .regex(/^[\p{L}\p{M}\p{N} ._'’-]+$/u)
  .refine((value) => !/^www\./iu.test(value) && !/ .*\.[^ .]|\.[^ .].* /u.test(value));

/** One address of mail. */
export const email = z
  .string()
  .max(320)
  // the control characters by their numbers: the OpenAPI document's readers do not all know \p{Cc}
  .regex(/^[^\s@\u0000-\u001f\u007f-\u009f]+@[^\s@\u0000-\u001f\u007f-\u009f]+$/u, rule('email'));

const text = z.string().min(1).max(1000).refine(wellFormed, rule('text'));
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

/** Standard claims by name; an unknown one is refused. */
export const claimsShape = z.strictObject(
  Object.fromEntries(Object.entries(claimRules).map(([claim, rule]) => [claim, rule.nullable().optional()])),
  // an unknown member is refused by its own name
  { error: (issue) => (issue.code === 'invalid_type' ? rule('standard-claims').error : undefined) },
);

/** True for a claim whose value is text: one that looks like a number is text, too. */
export function isTextClaim(claim: string): boolean {
  return Object.hasOwn(claimRules, claim) && claimRules[claim as keyof typeof claimRules].def.type === 'string';
}

/** In characters. */
export const longestPassword = 128;

export const password = (minLength: number) =>
  z
    .string()
    .refine((value) => [...value].length >= minLength, rule('too-short', { least: String(minLength) }))
    .refine((value) => [...value].length <= longestPassword, rule('too-long', { most: String(longestPassword) }))
    .refine(wellFormed, rule('text'))
    .meta({ minLength, maxLength: longestPassword });

export const newUserShape = (minPasswordLength: number) =>
  z.strictObject({
    username: name,
    email: email.optional(),
    email_verified: z.boolean().optional(),
    password: password(minPasswordLength).optional(),
    groups: z.array(groupName).max(1000).optional(),
    admin: z.boolean().optional(),
    claims: claimsShape.optional(),
  });

export const userChangeShape = (minPasswordLength: number) =>
  z.strictObject({
    username: name.optional(),
    email: email.nullable().optional(),
    email_verified: z.boolean().optional(),
    password: password(minPasswordLength).optional(),
    groups: z.array(groupName).max(1000).optional(),
    admin: z.boolean().optional(),
    status: z.enum(['enabled', 'disabled']).optional(),
    claims: claimsShape.optional(),
  });

export const groupDescription = z.string().trim().max(1000, rule('too-long')).refine(wellFormed, rule('text'));
export const newGroupShape = z.strictObject({ name: groupName, description: groupDescription.optional() });
export const groupChangeShape = z.strictObject({
  name: groupName.optional(),
  description: groupDescription.optional(),
});

const lifetime = z
  .int()
  .min(1)
  .max(366 * 86_400)
  .nullable()
  .optional();

/** What an administrator sets beside the registered metadata. */
export const clientChangeShape = z.looseObject({
  status: z.enum(['enabled', 'disabled']).optional(),
  /** The version that was looked at: needed where the status becomes enabled, and nothing happens if the client changed since. */
  version: z.int().optional(),
  first_party: z.boolean().optional(),
  self_managed: z.boolean().optional(),
  introspect: z.enum(['own', 'any']).optional(),
  /** The level of authentication that its people have to reach; null for any. */
  required_acr: z
    .string()
    .refine((acr) => acrValues.includes(acr), rule('one-of', { values: acrValues.join(', ') }))
    .nullable()
    .optional(),
  authorization_code_lifetime: lifetime,
  access_token_lifetime: lifetime,
  refresh_token_lifetime: lifetime,
  id_token_lifetime: lifetime,
});
