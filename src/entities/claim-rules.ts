// Declares how the console shows the rules for claims of a client, each as a line, and how it asks for one.
import { type ClaimRule, claimPlaces, claimRuleMembers, keptValues } from '../rules/claims/claim-rules.ts';
import { lines, type RuleField, type RuleKind, type RuleList, type RuleLine, type Said, type Typing } from './field.ts';

/** Replacements on a line each, old=new. */
const replacements: Typing = {
  write: (map: Readonly<Record<string, string>>) =>
    Object.entries(map)
      .map(([old, value]) => `${old}=${value}`)
      .join('\n'),
  read: (text) =>
    Object.fromEntries(
      (lines.read(text) as string[]).map((line) => {
        const at = line.indexOf('=');
        return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
    ),
};

/** One line is a text, and several are a list. */
const textOrList: Typing = {
  write: (value: string | readonly string[]) => (typeof value === 'string' ? value : value.join('\n')),
  read(text) {
    const entries = lines.read(text) as string[];
    return entries.length === 1 ? entries[0] : entries;
  },
};

const { shape } = claimRuleMembers;
const more = { removable: true, group: 'more' } as const;
const into: RuleField = { name: 'into', kind: 'boxes', choices: claimPlaces, rule: shape.into };
const claim: RuleField = { name: 'claim', kind: 'text', required: true, rule: shape.claim };
const prefix: RuleField = { name: 'prefix', kind: 'text', removable: true, rule: keptValues.prefix };
const chosen: RuleField = { name: 'one_of', kind: 'lines', rule: keptValues.one_of, ...more };
const strip: RuleField = { name: 'strip', kind: 'text', removable: true, rule: shape.strip };
/** The further steps, in the order in which the service takes them. */
const steps: readonly RuleField[] = [
  { name: 'case', kind: 'select', choices: ['', 'lower', 'upper'], rule: shape.case, ...more },
  { name: 'map', kind: 'lines', typing: replacements, rule: shape.map, ...more },
  { name: 'as', kind: 'select', choices: ['', 'list', 'first', 'joined'], rule: shape.as, ...more },
  { name: 'default', kind: 'lines', lines: 2, typing: textOrList, rule: shape.default, ...more },
];
const rare = (fields: readonly RuleField[]) => fields.map((field): RuleField => ({ ...field, rare: true }));

type Values = Readonly<Record<string, unknown>>;
const given = (values: Values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));

/** Fields have the two ways to keep values each for itself; with both, the rule is refused. */
const make = (own: Values) => (values: Values) => {
  const { prefix: beginning, one_of: among, ...rest } = given({ ...values, ...own });
  const only = given({ prefix: beginning, one_of: among });
  return { ...rest, ...(Object.keys(only).length > 0 && { only }) };
};
const read = ({ only, ...rule }: ClaimRule): Values => ({ ...rule, ...only });

/** How many replacements a line names. */
const mostNamed = 3;

function notesOf({ strip: beginning, case: letters, map = {}, as, default: otherwise }: ClaimRule): Said[] {
  const replaced = Object.entries(map);
  const all: (Said | undefined)[] = [
    beginning === undefined ? undefined : { key: 'strip', values: { beginning } },
    letters && { key: `case.${letters}`, values: {} },
    ...replaced.slice(0, mostNamed).map(([old, value]): Said => ({ key: 'map', values: { old, value } })),
    replaced.length > mostNamed ? { key: 'map.more', values: { count: replaced.length - mostNamed } } : undefined,
    as && { key: `as.${as}`, values: {} },
    otherwise === undefined ? undefined : { key: 'default', values: { value: otherwise } },
  ];
  return all.filter((note) => note !== undefined);
}

/** @param only which values the sentence says that the rule keeps */
const lineOf = (kind: string, rule: ClaimRule, values: Said['values'], only?: ClaimRule['only']): RuleLine => ({
  key: [kind, ...Object.keys(only ?? {})].join('.'),
  values: { claim: rule.claim, ...values, ...only },
  notes: notesOf(rule),
  tags: rule.into.map((place) => `into.choice.${place}`),
});

/** A kind whose source is always the same. */
const sourceKind = (name: string, fields: readonly RuleField[]): RuleKind => ({
  name,
  fields,
  is: ({ from }: ClaimRule) => from === name,
  read,
  make: make({ from: name }),
  says: (rule: ClaimRule) => lineOf(name, rule, {}, rule.only),
});

const named = ['groups', 'roles', 'constant'];

export const claimRuleList: RuleList = {
  starts: { into: ['id_token', 'userinfo'] },
  standIn: { only: 'one_of', 'claim-twice': 'claim' },
  kinds: [
    sourceKind('groups', [
      claim,
      { ...prefix, words: 'prefix.groups' },
      strip,
      into,
      { ...chosen, words: 'one_of.groups', picks: 'groups', writing: 'auto' },
      ...steps,
    ]),
    sourceKind('roles', [claim, into, { ...prefix, group: 'more' }, chosen, { ...strip, group: 'more' }, ...steps]),
    {
      name: 'attribute',
      fields: [
        claim,
        { name: 'from', kind: 'text', required: true, picks: 'claims', rule: shape.from },
        into,
        { ...prefix, group: 'more' },
        chosen,
        { ...strip, group: 'more' },
        ...steps,
      ],
      is: ({ from }: ClaimRule) => !named.includes(from),
      read,
      make: make({}),
      says: (rule: ClaimRule) => lineOf('attribute', rule, { from: rule.from }, rule.only),
    },
    {
      ...sourceKind('constant', [
        claim,
        { name: 'value', kind: 'text', most: 1000, required: true, writing: 'auto', rule: shape.value },
        into,
        ...rare([prefix, chosen, strip, ...steps]),
      ]),
      // which values are kept says nothing about a single one
      says: (rule: ClaimRule) => lineOf('constant', rule, { value: String(rule.value) }),
    },
  ],
};
