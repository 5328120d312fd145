// Declares sign-up links: an administrator hands over a link, by which several users create their own accounts (pages, sign-up links).
import { z } from 'zod';
import { nounName } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { domainLabel } from '../rules/connections/mail-domain.ts';
import { groupName } from '../rules/users/administration.ts';
import { column, entity, type EntityOf, member } from './entity.ts';
import type { Typing } from './field.ts';

const minute = 60_000;
/** The most accounts of a link. */
const maxUses = 10_000;
const maxGroups = 50;
/** The furthest end of a link, in milliseconds. */
export const maxSignUpLinkLifetime = 366 * 24 * 60 * minute;

/** Whether a link works, or why it does not: it is disabled, used up or over, or a group of it gives power. */
export const signUpLinkStates = ['open', 'disabled', 'used_up', 'expired', 'power'] as const;
export type SignUpLinkState = (typeof signUpLinkStates)[number];

/** A group gives power by the roles that it carries, or if it is guarded, which only the settings say. */
const state = `CASE WHEN status = 'disabled' THEN 'disabled' WHEN used >= uses THEN 'used_up' WHEN expires_at <= now() THEN 'expired'
  WHEN carries_role(groups) THEN 'power' ELSE 'open' END`;

const domain = z
  .string(rule('string'))
  .max(255, rule('too-long'))
  .transform((given, context) => {
    const label = domainLabel(given.trim());
    if (label === undefined)
      context.addIssue({ code: 'custom', message: 'domain', params: { domain: given.slice(0, 100) }, input: given });
    return label ?? given;
  });

/** To the minute, as the form shows it. */
const toMinute = {
  read: (given: string): Date => new Date(Math.floor(Date.parse(given) / minute) * minute),
  show: (end: Date): string => end.toISOString(),
};
/** A browser types a time as 2026-12-31T18:00, which is one of UTC here. */
const timeTyping: Typing = {
  write: (given: string) => given.slice(0, 16),
  read: (text) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text.trim()) ? `${text.trim()}:00Z` : text.trim()),
};

export const signUpLinks = entity({
  table: 'sign_up_links',
  one: 'sign_up_link',
  permission: 'users',
  section: 'users',
  called: 'name',
  find: 'id = $1 OR name = $1',
  members: {
    name: member('What administrators call the link; users do not see it.', nounName, {
      required: true,
      form: 'text',
      list: true,
    }),
    groups: member(
      'The groups of the new users: neither guarded ones nor those with roles.',
      z.array(groupName).max(maxGroups, rule('entries', { most: String(maxGroups) })),
      {
        start: [],
        trust: true,
        refers: 'groups',
        released: true,
        option: 'group',
        form: { kind: 'lines', writing: 'auto' },
        list: (groups: readonly string[]) => groups.join(', '),
      },
    ),
    domain: member(
      'The only domain of the addresses that can sign up, whatever SIGN_UP_DOMAINS says; without one SIGN_UP_DOMAINS decides.',
      domain,
      { trust: true, form: { kind: 'text', most: 255 } },
    ),
    uses: member(
      'How many accounts can be created by the link.',
      z.int(rule('sign-up-uses')).min(1, rule('sign-up-uses')).max(maxUses, rule('sign-up-uses')),
      { required: true, form: { kind: 'number', most: 5 } },
    ),
    expires_at: member(
      'The end of the link, at most 366 days ahead.',
      z.iso.datetime({ offset: true, error: 'time' }),
      {
        required: true,
        convert: toMinute,
        form: { kind: 'time', typing: timeTyping },
      },
    ),
    status: member('Whether the link works.', z.enum(['enabled', 'disabled']), { start: 'enabled', form: 'radio' }),
  },
  row: {
    used: column<number>(z.int().describe('How many accounts were created by the link.')),
    state: column<SignUpLinkState>(
      z
        .enum(signUpLinkStates)
        .describe('Whether the link works (open), or why not. With power, a group of it is guarded or has a role.'),
      state,
    ),
    // the database has only its digest: the creation adds it
    uri: column<string | undefined>(
      z.url().optional().describe('The link itself, in the answer to its creation only.'),
      'NULL',
    ),
  },
});

export type SignUpLink = EntityOf<typeof signUpLinks>;
