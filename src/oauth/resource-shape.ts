// Holds the rules for resources, for the admin API, the console and the command line (RFC 8707, RFC 6749 3.3).
import { z } from 'zod';
import { requiredAcr } from './administration.ts';
import { resourceBindings } from './binding.ts';
import { displayText } from './client-metadata.ts';
import { isResourceUri } from './redirect-uri.ts';
import { rule } from './refusals.ts';
import { releasableClaims } from './claim-names.ts';
import { isScope, isServiceScope } from './scope.ts';
import { text } from './text.ts';

/** Characters; a token request with a longer resource would be of no use to most clients. */
const maxUri = 512;
const maxScopes = 100;

export const languageTag = z.string().regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/, rule('language'));

const scope = z.strictObject({
  value: z
    .string(rule('string'))
    .refine((value) => value.length <= 100 && !value.includes(' ') && isScope(value), rule('scope-value'))
    .refine((value) => !isServiceScope(value), rule('service-scope')),
  description: z.record(languageTag, displayText).optional().describe('What the scope allows, by language.'),
});

const members = {
  name: displayText.describe('The name that users see.'),
  client_id: text(255)
    .nullable()
    .optional()
    .describe('The client that introspects the tokens of the resource. A resource without one cannot introspect.'),
  scopes: z
    .array(scope)
    .max(maxScopes, rule('entries', { most: String(maxScopes) }))
    .refine((all) => new Set(all.map(({ value }) => value)).size === all.length, rule('scope-twice'))
    .optional()
    .describe('The scopes of the resource.'),
  clients: z
    .enum(['listed', 'approved'])
    .optional()
    .describe(
      'Who may request tokens: clients that are registered for one of the scopes (listed), or every enabled client (approved).',
    ),
  required_acr: requiredAcr.describe(
    'The level of authentication (acr) that users must reach before a client gets tokens for the resource.',
  ),
  binding: z
    .enum(resourceBindings)
    .optional()
    .describe(
      'Whether tokens must be bound to a key of the client: not (none), by any means (any), or by DPoP proofs (dpop).',
    ),
  access_token_format: z
    .enum(['opaque', 'jwt'])
    .optional()
    .describe(
      'The format of access tokens: the resource introspects opaque ones, and verifies JWTs with the published keys (RFC 9068).',
    ),
  access_token_signing_alg: z
    .enum(['RS256', 'PS256', 'ES256', 'EdDSA'])
    .optional()
    .describe('The algorithm that signs JWT access tokens.'),
  access_token_lifetime: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .nullable()
    .optional()
    .describe(
      'The maximum lifetime of tokens for the resource, in seconds. For JWTs the default is 300, and the maximum 3600.',
    ),
  token_claims: z
    .array(z.enum(releasableClaims, rule('token-claim')))
    .refine((all) => new Set(all).size === all.length, rule('token-claim'))
    .optional()
    .describe(
      'The claims of users that JWT access tokens contain. A token has those that its scope releases: groups, for example, with the scope groups.',
    ),
  public: z
    .boolean()
    .optional()
    .describe(
      'Whether the metadata of the service name the resource and its scopes, for everyone to see (RFC 9728 4).',
    ),
};

export const newResourceShape = z.strictObject({
  resource: z
    .string(rule('string'))
    .refine((uri) => uri.length <= maxUri && isResourceUri(uri), rule('resource-uri'))
    .describe('The URI that clients name as resource, and the audience of the tokens.'),
  ...members,
});

/** The URI stays: it is the audience of the tokens. */
export const resourceChangeShape = z.strictObject({ ...members, name: members.name.optional() });

export type ResourceMembers = z.infer<typeof resourceChangeShape>;
