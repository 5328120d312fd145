// Holds the rules for claims that scopes release, and for the roles of clients, for the admin API, the console and the command line.
import { z } from 'zod';
import { groupName } from '../users/administration.ts';
import { supportedClaims } from '../../oauth/claim-names.ts';
import { mayMakeClaim } from './reserved-claims.ts';
import { rule } from '../../oauth/refusals.ts';
import { isScope, isServiceScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';

/** The most roles of a client. */
export const maxRoles = 200;

/** Whether a scope may release the claim: a standard one but `sub`, or one by which an attribute can be called. */
export const isReleasable = (claim: string): boolean =>
  claim !== 'sub' && (supportedClaims.includes(claim) || (/^[a-z][a-z0-9_]{0,49}$/.test(claim) && mayMakeClaim(claim)));

/** A word that is a scope of an API or for claims: no scope of the service. */
export const scopeWord = z
  .string(rule('string'))
  .refine((value) => value.length <= 100 && !value.includes(' ') && isScope(value), rule('scope-value'))
  .refine((value) => !isServiceScope(value), rule('service-scope'));

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
