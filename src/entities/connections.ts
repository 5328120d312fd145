// Declares connections: providers and directories outside that say who a user is (federation 2).
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { groupRule } from '../rules/connections/group-rules.ts';
import { domainLabel } from '../rules/connections/mail-domain.ts';
import { groupName } from '../rules/users/administration.ts';
import { connectionClaimRule, connectionClaimRules, groupRules } from './connection-rules.ts';
import { column, entity, type EntityOf, type Input, member, type MembersOf } from './entity.ts';
import type { Field, Typing } from './field.ts';

/** Providers that need fewer settings, or more checks, than others of their kind. */
export const presets = ['google', 'microsoft', 'apple', 'github'] as const;

const maxClaims = 50;
const maxGroupRules = 500;

export const connectionId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{1,39}$/)
  // memberships that administrators add have the source `manual`
  .refine((id) => id !== 'manual');

/** Domains of addresses. */
export const domains = z
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

const isNew = ({ id }: Input): boolean => id === undefined;
const list: Field = { kind: 'lines', writing: 'ltr' };
/** An empty field leaves the value as it is. */
const unlessEmpty: Typing = { write: String, read: (typed) => typed.trim() || undefined };
/** An empty field is zero. */
const wholeNumber: Typing = {
  write: String,
  read: (typed) => (/^-?\d{0,9}$/.test(typed.trim()) ? Number(typed) : typed),
};

export const connections = entity({
  table: 'connections',
  one: 'connection',
  permission: 'connections',
  section: 'connections',
  key: 'id',
  called: 'display_name',
  sorted: 'position, id LIMIT 1000',
  versioned: true,
  marks: "updated_at = date_trunc('milliseconds', clock_timestamp())",
  // `settings` stands for those of the kind; the form shows groups in the order of their first member
  order: [
    'display_name',
    'id',
    'settings',
    'secret',
    'status',
    'provisioning',
    'domains',
    'subdomains',
    'enforced',
    'hidden',
    'position',
    'linking',
    'authoritative_domains',
    'trust_email',
    'username_from',
    'username_local_part',
    'username_suffix',
    'group_rules',
    'default_groups',
    'claim_rules',
    'session_lifetime',
    'trust_mfa',
    'logout',
    'store_tokens',
  ],
  members: {
    id: member('Part of its addresses; it never changes.', connectionId, {
      required: true,
      fixed: true,
      when: isNew,
      form: { kind: 'text', most: 40 },
    }),
    // only kinds that this version has: a row of another kind can come from another version
    kind: member('', z.enum(['oidc', 'oauth', 'ldap', 'saml']), { required: true, fixed: true }),
    preset: member(
      'A provider with settings of its own: github is of the kind oauth, and the others are of the kind oidc.',
      z.enum(presets),
      { fixed: true },
    ),
    display_name: member('The name on its button.', text(100).min(1, rule('empty')), {
      required: true,
      form: { kind: 'text', writing: 'auto' },
    }),
    status: member(
      'Whether users can sign in with it. With link_only, signed-in users can link their accounts, and no user can sign in with it.',
      z.enum(['enabled', 'disabled', 'link_only']),
      { start: 'disabled', form: { kind: 'radio', choices: ['disabled', 'enabled', 'link_only'] } },
    ),
    position: member('The order of the buttons.', z.int().min(0).max(10_000), {
      start: 0,
      group: 'who',
      form: { kind: 'number', most: 9, typing: wholeNumber },
    }),
    hidden: member('Whether the sign-in page shows no button.', z.boolean(), {
      start: false,
      group: 'who',
      form: 'check',
    }),
    domains: member('Domains whose users sign in with this connection.', domains, {
      start: [],
      trust: true,
      option: 'domain',
      group: 'who',
      form: list,
    }),
    subdomains: member('Whether the domains below these count, too.', z.boolean(), {
      start: false,
      trust: true,
      group: 'who',
      form: 'check',
    }),
    enforced: member(
      'Whether users with an address in these domains can sign in only with this connection.',
      z.boolean(),
      { start: false, trust: true, group: 'who', form: 'check' },
    ),
    authoritative_domains: member(
      'Domains whose addresses count as verified if the connection sends them; only domains that it owns.',
      domains,
      { start: [], trust: true, option: 'authoritative-domain', group: 'accounts', form: list },
    ),
    linking: member(
      'How an account with the same confirmed address is linked: after a sign-in to it (ask), without asking in the domains that the connection owns (domain), or never (never).',
      z.enum(['never', 'ask', 'domain']),
      { start: 'ask', trust: true, group: 'accounts', form: { kind: 'radio', choices: ['ask', 'domain', 'never'] } },
    ),
    provisioning: member('Whether a user is created for an unknown identity.', z.enum(['off', 'invited', 'on']), {
      start: 'off',
      group: 'who',
      form: 'radio',
    }),
    username_from: member('The path of the user name of a new user.', path, {
      start: 'preferred_username',
      group: 'accounts',
      form: { kind: 'text', typing: unlessEmpty },
    }),
    username_local_part: member(
      'Whether the user name of a new user is the part of that value before the @.',
      z.boolean(),
      { start: false, group: 'accounts', form: 'check' },
    ),
    username_suffix: member(
      'Whether a new user whose name is taken gets the name with a number, instead of being asked for another name.',
      z.boolean(),
      { start: false, group: 'accounts', form: 'check' },
    ),
    claim_rules: member('The claims that the connection sets.', z.array(connectionClaimRule).max(maxClaims), {
      start: [],
      json: true,
      holds: { depth: 2, members: maxClaims * Object.keys(connectionClaimRule.shape).length },
      form: connectionClaimRules,
    }),
    group_rules: member(
      'The groups that the connection assigns; on the command line value = group, prefix* = group, dn:DN = group for one entry of a directory, or * = prefix*.',
      z.array(groupRule).max(maxGroupRules),
      {
        start: [],
        json: true,
        // a value, and its group
        holds: { depth: 2, members: maxGroupRules * 2 },
        option: 'group-rule',
        form: groupRules,
      },
    ),
    default_groups: member('Groups of all users who sign in with it.', z.array(groupName).max(50), {
      start: [],
      option: 'default-group',
      group: 'groups',
      form: { ...list, writing: 'auto', picks: 'groups' },
    }),
    sync: member('When claims and groups are updated.', z.enum(['first', 'always', 'never']), { start: 'always' }),
    // security R157
    trust_email: member(
      'Whether an address that the provider calls verified is verified for applications, too.',
      z.boolean(),
      { start: false, trust: true, group: 'accounts', form: 'check' },
    ),
    trust_mfa: member('Whether the two-factor sign-in of the provider is trusted.', z.boolean(), {
      start: false,
      trust: true,
      group: 'session',
      form: 'check',
    }),
    mfa_values: member('Values of acr that mean two factors.', z.array(text(200)).max(20), { start: [], trust: true }),
    session_lifetime: member(
      'The maximum length of its sessions, in seconds; null for that of the service.',
      z
        .int()
        .min(60)
        .max(366 * 86_400),
      { group: 'session', form: { kind: 'number', most: 9 } },
    ),
    logout: member('Whether a user who signs out here is signed out there, too.', z.enum(['local', 'propagate']), {
      start: 'local',
      group: 'session',
      form: 'radio',
    }),
    store_tokens: member('Whether its tokens are stored for clients that may read them.', z.boolean(), {
      start: false,
      group: 'protocol',
      form: 'check',
      noSecret: 'It says whether tokens are kept.',
    }),
    settings: member('Settings of the kind.', z.record(z.string(), z.unknown()), { start: {} }),
    secret: member('The secret, which no answer shows; null removes it.', text(16_384).min(1, rule('empty')), {
      secret: true,
      form: 'secret',
    }),
  },
  row: {
    // the key with which this service authenticates at the provider: a private JWK, and its public half, which the service publishes
    key_encrypted: column<Buffer | undefined>(z.base64().optional()),
    key_public: column<Record<string, unknown> | undefined>(z.record(z.string(), z.unknown()).optional()),
    key_since: column<Date | undefined>(z.iso.datetime().optional()),
    // the metadata that the provider last published
    discovery: column<Record<string, unknown> | undefined>(z.record(z.string(), z.unknown()).optional()),
    discovered_at: column<Date | undefined>(z.iso.datetime().optional()),
    // the file name of the logo that an administrator uploaded
    logo: column<string | undefined>(z.string().optional()),
    updated_at: column<Date>(z.iso.datetime()),
  },
});

/** The members that an administrator sets. */
export type ConnectionMembers = MembersOf<typeof connections>;
export type Connection = EntityOf<typeof connections>;
