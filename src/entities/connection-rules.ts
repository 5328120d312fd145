// Declares how the console shows the rules by which a connection gives groups and claims, each as a line, and how it asks for one.
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { isAttributeName } from '../rules/claims/attributes.ts';
import { type GroupRule, groupRuleMembers } from '../rules/connections/group-rules.ts';
import { claimRules } from '../rules/users/administration.ts';
import type { RuleField, RuleKind, RuleLine, RuleList } from './field.ts';

export const connectionClaimRule = z.strictObject({
  to: z
    .string(rule('string'))
    .refine((name) => Object.hasOwn(claimRules, name) || isAttributeName(name), rule('claim-target'))
    .describe('A standard claim, or an attribute.'),
  from: text(200).min(1, rule('empty')).describe('The path of the value in the answer: names, separated by dots.'),
  default: text(1000).optional().describe('The value where the answer has none.'),
});
/** The claim or attribute that a rule sets, and the path of its value in the answer. */
type ClaimRule = z.infer<typeof connectionClaimRule>;

type GroupMember = keyof typeof groupRuleMembers;
const field = (name: GroupMember, more: Partial<RuleField> = {}): RuleField => ({
  name,
  kind: 'text',
  writing: 'auto',
  required: true,
  rule: groupRuleMembers[name],
  ...more,
});
const group = field('group', { picks: 'groups' });

/** A kind whose rules have this member, and the group. */
const groupKind = (name: 'equals' | 'starts_with' | 'dn', more: Partial<RuleField>): RuleKind => ({
  name,
  fields: [field(name, more), group],
  is: (one: GroupRule) => name in one,
  says: (one: Record<GroupMember, string>) => ({ key: name, values: { value: one[name], group: one.group } }),
});

export const groupRules: RuleList = {
  kinds: [
    groupKind('equals', { most: 1000 }),
    groupKind('starts_with', { most: 1000 }),
    { ...groupKind('dn', { most: 4000, writing: 'ltr' }), when: ({ kind }) => kind === 'ldap' },
    {
      name: 'all',
      fields: [field('prefix', { required: false, most: 100 })],
      is: (one: GroupRule) => 'all' in one,
      make: ({ prefix }) => ({ all: true, prefix }),
      says: ({ prefix }: { prefix: string }): RuleLine =>
        prefix === '' ? { key: 'all', values: {} } : { key: 'all.prefix', values: { prefix } },
    },
  ],
};

const { shape } = connectionClaimRule;
export const connectionClaimRules: RuleList = {
  // a later rule replaces the value of an earlier one
  ordered: true,
  kinds: [
    {
      name: 'value',
      fields: [
        { name: 'to', kind: 'text', required: true, picks: 'claims', rule: shape.to },
        { name: 'from', kind: 'text', required: true, rule: shape.from },
        { name: 'default', kind: 'text', most: 1000, removable: true, writing: 'auto', rule: shape.default },
      ],
      is: () => true,
      says: ({ to, from, default: value }: ClaimRule): RuleLine =>
        value === undefined
          ? { key: 'value', values: { to, from } }
          : { key: 'value.default', values: { to, from, value } },
    },
  ],
};
