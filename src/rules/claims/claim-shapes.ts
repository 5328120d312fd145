// Holds the rules for scopes of an operator and for the roles of clients, for the admin API, the console and the command line.
import { z } from 'zod';
import { groupName } from '../users/administration.ts';
import { supportedClaims } from '../../oauth/claim-names.ts';
import { displayText } from '../../oauth/client-metadata.ts';
import { mayMakeClaim } from './reserved-claims.ts';
import { languageTag } from '../../oauth/language-tag.ts';
import { rule } from '../../oauth/refusals.ts';
import { isScope, isServiceScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';

/** The most scopes of an operator, and the most claims of each. */
export const maxScopes = 100;
/** The most roles of a client. */
export const maxRoles = 200;

/** Whether a scope may release the claim: a standard one but `sub`, or one by which an attribute can be called. */
const isReleasable = (claim: string): boolean =>
  claim !== 'sub' && (supportedClaims.includes(claim) || (/^[a-z][a-z0-9_]{0,49}$/.test(claim) && mayMakeClaim(claim)));

const members = {
  text: z.record(languageTag, displayText).optional().describe('What users read on the consent page, by language.'),
  claims: z
    .array(z.string(rule('string')).refine(isReleasable, rule('claims-known')))
    .min(1, rule('empty'))
    .max(50, rule('entries', { most: '50' }))
    .refine((all) => new Set(all).size === all.length, rule('scope-twice'))
    .describe('The claims that the scope releases: attributes and standard claims.'),
};

export const newScopeShape = z.strictObject({
  name: z
    .string(rule('string'))
    .refine((value) => value.length <= 100 && !value.includes(' ') && isScope(value), rule('scope-value'))
    .refine((value) => !isServiceScope(value), rule('service-scope')),
  ...members,
});
export const scopeChangeShape = z.strictObject({ text: members.text, claims: members.claims.optional() });

/** Commas separate roles in some tables and claims. */
const roleName = z
  .string(rule('string'))
  .trim()
  .refine(
    (name) => name !== '' && [...name].length <= 100 && name.isWellFormed() && !/[\p{Cc},]/u.test(name),
    rule('role-name'),
  )
  .refine((name) => name !== '.' && name !== '..', rule('dots'));
const description = text(1000).optional().describe('What the role allows.');

export const newRoleShape = z.strictObject({ name: roleName, description });

const users = z
  .array(text(320))
  .max(500, rule('entries', { most: '500' }))
  .optional()
  .describe('Users, by sub, user name or email.');
export const roleHoldersShape = z.strictObject({
  groups: z
    .array(groupName)
    .max(500, rule('entries', { most: '500' }))
    .optional()
    .describe('Groups that exist.'),
  users,
});
