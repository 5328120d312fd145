// Declares the settings of a client that only administrators make: they are no registered metadata (RFC 7591 2).
import { z } from 'zod';
import { acr, groupName } from '../rules/users/administration.ts';
import { isWebUri } from '../oauth/redirect-uri.ts';
import { rule } from '../oauth/refusals.ts';
import { accessRules } from '../rules/access/access.ts';
import { isNetwork, plainNetwork } from '../rules/access/networks.ts';
import { type ClaimRule, claimRulesHold, claimRulesShape } from '../rules/claims/claim-rules.ts';
import { claimRuleList } from './claim-rules.ts';
import { siteSettings } from './protected-site.ts';
import { samlSettings } from './saml-application.ts';
import { type ChangeOf, inputsOf, member, type Members, type MembersOf } from './entity.ts';

/** More networks than this would slow each sign-in down. */
const maxNetworks = 100;
const maxLifetime = 366 * 86_400; // seconds

const connectionIds = z
  .array(
    z
      .string()
      .trim()
      .regex(/^[a-z][a-z0-9-]{1,39}$/, rule('connection.unknown')),
  )
  .max(50, rule('entries', { most: '50' }));
const names = z.array(z.string());
const ids = { kind: 'lines', writing: 'ltr' } as const;

const lifetime = (of: string) =>
  member(`The lifetime of ${of} of the client, in seconds.`, z.int().min(1).max(maxLifetime), {
    noSecret: 'It says how long they live.',
    form: 'number',
    group: 'tokens',
    answer: z.int().optional(),
  });

/** How far the client is trusted. */
const trustSettings = {
  first_party: member('Users are not asked for consent.', z.boolean(), {
    start: false,
    form: 'check',
    group: 'rights',
  }),
  self_managed: member('Whether changes of the registration need no approval.', z.boolean(), {
    start: false,
    form: 'check',
    group: 'rights',
  }),
  development: member(
    'Whether redirect URIs may be http at addresses and names of private networks; users are then always asked for consent.',
    z.boolean(),
    { start: false, trust: true, form: 'check', group: 'rights' },
  ),
  ciba_trusted: member(
    'Whether the client may ask users who have granted it nothing (CIBA), and learns that there is no such user.',
    z.boolean(),
    { start: false, trust: true, form: 'check', group: 'rights' },
  ),
};

/** Who may use the client, from where, and how the start page shows it. */
const accessSettings = {
  access: member(
    'Who may use the client: everyone (the default), or members of one of access_groups.',
    z.enum(accessRules),
    {
      start: 'everyone',
      form: 'select',
      group: 'access',
      answer: z.enum(accessRules).describe('Who may use the client: everyone, or members of one of access_groups.'),
    },
  ),
  access_groups: member(
    'The groups whose members may use the client.',
    z.array(groupName).max(200, rule('entries', { most: '200' })),
    {
      start: [],
      option: 'group',
      form: { kind: 'lines', writing: 'auto', picks: 'groups' },
      group: 'access',
      answer: names,
    },
  ),
  connections: member(
    'The ids of the connections with which users may sign in to the client; empty for every way to sign in.',
    connectionIds,
    {
      start: [],
      option: 'connection',
      refers: 'connections',
      form: ids,
      group: 'access',
      answer: names.describe('The connections by which users may sign in to it; empty for every way to sign in.'),
    },
  ),
  upstream_tokens: member(
    'The ids of the connections whose stored tokens the client may read, with the scope upstream_token.',
    connectionIds,
    {
      start: [],
      option: 'upstream-token',
      refers: 'connections',
      noSecret: 'It names connections.',
      form: ids,
      group: 'access',
      answer: names.describe('The connections whose stored tokens the client may read.'),
    },
  ),
  networks: member(
    'The networks (CIDR) from which browsers and clients may act; empty for all.',
    z
      .array(z.string().trim().overwrite(plainNetwork).refine(isNetwork, rule('network')))
      .max(maxNetworks, rule('entries', { most: String(maxNetworks) })),
    {
      start: [],
      option: 'network',
      form: ids,
      group: 'access',
      answer: names.describe('The networks from which browsers and clients may act; empty for all.'),
    },
  ),
  start_uri: member(
    'The address at which users begin to use the client, for the start page.',
    z
      .string(rule('string'))
      .refine((uri) => uri.startsWith('https://') && uri.length <= 2000 && isWebUri(uri), rule('https.start')),
    { form: { kind: 'address', most: 2000 }, group: 'access', answer: z.string().optional() },
  ),
  start_hidden: member('Whether the start page leaves the client out.', z.boolean(), {
    start: false,
    form: 'check',
    group: 'access',
  }),
};

/** What the client may do, and for which users. */
const useSettings = {
  introspect: member(
    'Whether the client introspects its own tokens only, or those of every client.',
    z.enum(['own', 'any']),
    { start: 'own', form: 'select', group: 'rights' },
  ),
  scim_source: member(
    'The id of the SCIM source that the client opens by access tokens of its own with the scope scim.',
    z.string().regex(/^[a-z][a-z0-9-]{1,39}$/, rule('unknown')),
    {
      refers: 'scim_sources',
      released: true,
      trust: true,
      form: { kind: 'text', most: 40 },
      group: 'rights',
      answer: z.string().optional().describe('The SCIM source that the client opens by access tokens of its own.'),
    },
  ),
  required_acr: member('The level of authentication (acr) that users must reach to sign in to the client.', acr, {
    answer: z.string().optional(),
  }),
  ...accessSettings,
  claim_rules: member(
    'Rules that create claims for the client, at most 50; they replace the current ones.',
    claimRulesShape,
    {
      start: [],
      json: true,
      holds: claimRulesHold,
      form: claimRuleList,
      convert: {
        read: (rules: readonly ClaimRule[]) => rules,
        show: (rules: readonly ClaimRule[]) => (rules.length > 0 ? rules : undefined),
      },
      answer: claimRulesShape.optional().describe('Present if the client has rules for claims.'),
    },
  ),
};

const lifetimeSettings = {
  authorization_code_lifetime: lifetime('authorization codes'),
  access_token_lifetime: lifetime('access tokens'),
  refresh_token_lifetime: lifetime('refresh tokens'),
  id_token_lifetime: lifetime('ID Tokens'),
  ...siteSettings,
};

/** All settings; their parts have the order of the API's answers, where other members stand between them. */
export const clientSettings = { ...trustSettings, ...useSettings, ...lifetimeSettings, ...samlSettings };
export const settingParts = { trust: trustSettings, use: useSettings, lifetimes: lifetimeSettings, saml: samlSettings };

/** The settings as the service uses them. */
export type ClientSettings = MembersOf<{ members: typeof clientSettings }>;
/** A change of settings, by their names in the API: one that is not given stays, and null removes one. */
export type ClientSettingsChange = ChangeOf<typeof clientSettings>;

/** The members of a change of a client, beside its registered metadata. */
export const clientChangeShape = z.looseObject({
  status: z.enum(['enabled', 'disabled']).optional(),
  version: z
    .int()
    .optional()
    .describe('The version that you saw, needed to enable a client; a client that changed since is a conflict.'),
  ...inputsOf(clientSettings, false),
});

/** The settings among the members of a change. */
export const settingsIn = (change: Readonly<Record<string, unknown>>): ClientSettingsChange =>
  Object.fromEntries(
    // their rules have checked the values
    Object.keys(clientSettings).flatMap((name) => (change[name] === undefined ? [] : [[name, change[name]]])),
  ) as ClientSettingsChange;

/** The schemas of settings in an answer. */
export const settingAnswers = <Part extends Members>(part: Part): Record<keyof Part & string, z.ZodType> =>
  // the compiler does not know the keys of fromEntries
  Object.fromEntries(Object.entries(part).map(([name, { answer, rule: own }]) => [name, answer ?? own])) as Record<
    keyof Part & string,
    z.ZodType
  >;

const optionsOf = (members: Members): Record<string, string> =>
  Object.fromEntries(Object.entries(members).map(([name, { option = name.replaceAll('_', '-') }]) => [option, name]));
/** The options of the command that sets who may use a client, and of the one that changes a protected site. */
export const accessOptions = optionsOf(accessSettings);
export const siteOptions = optionsOf(siteSettings);
