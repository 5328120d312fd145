// Holds the rules for the claims that scopes release, and for the users and groups that have a role of a client. The admin API, the console and the command line use them.
import { z } from 'zod';
import { groupName } from '../users/administration.ts';
import { supportedClaims } from '../../oauth/claim-names.ts';
import { mayMakeClaim } from './reserved-claims.ts';
import { rule } from '../../oauth/refusals.ts';
import { isScope, isServiceScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';

/** Whether a scope may release the claim: a standard claim other than `sub`, or a claim whose name an attribute can have. */
export const isReleasable = (claim: string): boolean =>
  claim !== 'sub' && (supportedClaims.includes(claim) || (/^[a-z][a-z0-9_]{0,49}$/.test(claim) && mayMakeClaim(claim)));

/** The name of a scope of an API or of a scope for claims. The service's own scopes are refused. */
export const scopeWord = z
  .string(rule('string'))
  .refine((value) => value.length <= 100 && !value.includes(' ') && isScope(value), rule('scope-value'))
  .refine((value) => !isServiceScope(value), rule('service-scope'));

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
