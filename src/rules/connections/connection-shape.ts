// Holds the rules for connections. The admin API, the console and the command line use them.
import { z } from 'zod';
import { claimRules, groupName } from '../users/administration.ts';
import { isAttributeName } from '../claims/attributes.ts';
import { readName } from './distinguished-name.ts';
import { domainLabel } from './mail-domain.ts';
import { rule } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';

export const connectionId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{1,39}$/)
  // memberships that administrators add have the source `manual`
  .refine((id) => id !== 'manual');

const domains = z
  .array(z.string().max(255))
  .max(100)
  .transform((given, context) =>
    given.map((domain) => {
      const label = domainLabel(domain.trim());
      if (label === undefined)
        context.addIssue({
          code: 'custom',
          message: 'domain',
          params: { domain: domain.slice(0, 100) },
          input: domain,
        });
      return label ?? domain;
    }),
  );
const path = text(200).min(1, rule('empty'));
const claimRule = z.strictObject({
  to: z
    .string(rule('string'))
    .refine((name) => Object.hasOwn(claimRules, name) || isAttributeName(name), rule('claim-target'))
    .describe('A standard claim, or an attribute.'),
  from: path.describe('The path of the value in the answer: names, separated by dots.'),
  default: text(1000).optional().describe('The value where the answer has none.'),
});
const groupRule = z.union([
  z.strictObject({ equals: text(1000), group: groupName }),
  z.strictObject({ dn: text(4000).refine((dn) => readName(dn) !== undefined), group: groupName }),
  z.strictObject({ starts_with: text(1000), group: groupName }),
  z.strictObject({ all: z.literal(true), prefix: text(100) }),
]);

/** Providers that need fewer settings, or more checks, than others of their kind. */
export const presets = ['google', 'microsoft', 'apple', 'github'] as const;

const members = {
  display_name: text(100).min(1, rule('empty')).describe('The name on its button.'),
  status: z
    .enum(['enabled', 'disabled', 'link_only'])
    .optional()
    .describe(
      'Whether users sign in by it. With link_only, signed-in users link their accounts, and no user signs in by it.',
    ),
  position: z.int().min(0).max(10_000).optional().describe('The order of the buttons.'),
  hidden: z.boolean().optional().describe('Whether the sign-in page shows no button.'),
  domains: domains.optional().describe('Domains of addresses that lead here.'),
  subdomains: z.boolean().optional().describe('Whether the domains below these count, too.'),
  enforced: z
    .boolean()
    .optional()
    .describe('Whether users whose address is of these domains sign in by this connection, and by nothing else.'),
  authoritative_domains: domains
    .optional()
    .describe('Domains whose addresses are confirmed because this connection says them: only those that it owns.'),
  linking: z
    .enum(['never', 'ask', 'domain'])
    .optional()
    .describe('How an account with the same confirmed address is linked: ask asks for its own sign-in.'),
  provisioning: z.enum(['off', 'invited', 'on']).optional().describe('Whether a user is made for an unknown identity.'),
  username_from: path.optional().describe('The path of the user name of a new user.'),
  username_local_part: z
    .boolean()
    .optional()
    .describe('Whether the user name of a new user is the part of that value before the @.'),
  username_suffix: z
    .boolean()
    .optional()
    .describe('Whether a new user whose name is taken gets the name with a number, and is not asked for another one.'),
  claim_rules: z.array(claimRule).max(50).optional().describe('The claims that the connection sets.'),
  group_rules: z
    .array(groupRule)
    .max(500)
    .optional()
    .describe(
      'The groups that the connection gives; on the command line value = group, prefix* = group, dn:DN = group for one entry of a directory, or * = prefix*.',
    ),
  default_groups: z.array(groupName).max(50).optional().describe('Groups of everyone who signs in by it.'),
  sync: z.enum(['first', 'always', 'never']).optional().describe('When claims and groups are taken over.'),
  trust_email: z
    .boolean()
    .optional()
    .describe('Whether an address that the provider calls verified is verified for applications, too.'),
  trust_mfa: z.boolean().optional().describe('Whether its word counts that two factors were shown.'),
  mfa_values: z.array(text(200)).max(20).optional().describe('Values of acr that mean two factors.'),
  session_lifetime: z
    .int()
    .min(60)
    .max(366 * 86_400)
    .nullable()
    .optional()
    .describe('The most seconds of a session that came by it; null for that of the service.'),
  logout: z
    .enum(['local', 'propagate'])
    .optional()
    .describe('Whether a user who signs out here is signed out there, too.'),
  store_tokens: z
    .boolean()
    .optional()
    .describe('Whether the tokens that it gives are kept, for clients that may read them.'),
  settings: z.record(z.string(), z.unknown()).optional().describe('Settings of the kind.'),
  secret: text(16_384)
    .min(1, rule('empty'))
    .nullable()
    .optional()
    .describe('The secret, which no answer shows; null removes it.'),
};

export const newConnectionShape = z.strictObject({
  id: connectionId.describe('Part of its addresses; it never changes.'),
  // only kinds that this version has: a row of another kind can come from another version
  kind: z.enum(['oidc', 'oauth', 'ldap']),
  preset: z
    .enum(presets)
    .optional()
    .describe('A provider with settings of its own: github is of the kind oauth, and the others are of the kind oidc.'),
  ...members,
});

export const connectionChangeShape = z.strictObject({
  ...members,
  display_name: members.display_name.optional(),
  version: z.int().optional().describe('The version that the change is for: a newer one is a conflict.'),
  renew_key: z
    .boolean()
    .optional()
    .describe('Replaces the key of the connection: the other side must read the published one again.'),
  end_sessions: z
    .boolean()
    .optional()
    .describe('With status disabled or link_only: ends all sessions that came by it.'),
});

export type ConnectionInput = Omit<z.infer<typeof connectionChangeShape>, 'version' | 'end_sessions' | 'renew_key'>;
