// Lists states of the page that asks for a rule, for each list and kind of rules, beside the examples.
import { typedOfRule, viewOfRule } from '../../../src/admin/console/rules.ts';
import { claimRuleList } from '../../../src/entities/claim-rules.ts';
import { connectionClaimRules, groupRules } from '../../../src/entities/connection-rules.ts';
import type { RuleList } from '../../../src/entities/field.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const [unchosen, page] = examples['console-rule'];
/** The page of a list, with a value in each field that is rare. */
const stateOf = (list: RuleList, member: string, words: string): View[] =>
  list.kinds.map((chosen) => {
    const rare = Object.fromEntries(chosen.fields.flatMap(({ name, rare: is }) => (is ? [[name, ['x']]] : [])));
    const kinds = list.kinds.map((kind) => ({
      kind: kind.name,
      fields: viewOfRule(kind, typedOfRule(kind, kind === chosen ? rare : {})),
      form: page.kinds[0]!.form,
    }));
    const plain = { ...page };
    delete plain.refused;
    const data = { ...plain, member, words, general: 'console.connection', isNew: true, kinds, chosen: chosen.name };
    return { name: 'console-rule', data };
  });

const lists: [RuleList, string, string][] = [
  [claimRuleList, 'claim_rules', 'console.client'],
  [groupRules, 'group_rules', 'console.connection'],
  [groupRules, 'group_rules', 'console.directory'],
  [connectionClaimRules, 'claim_rules', 'console.connection'],
  [connectionClaimRules, 'claim_rules', 'console.directory'],
];
const states = lists.flatMap((list) => stateOf(...list));
const withField = (words: string, member: string, field: string) =>
  states.find(
    ({ name, data }) =>
      name === 'console-rule' &&
      data.words === words &&
      data.member === member &&
      data.kinds.some(({ kind, fields }) => kind === data.chosen && fields.some((one) => one.name === field)),
  )!;

export const consoleRulesStates: View[] = [
  ...states,
  ...lists.flatMap(([, member, words]) =>
    ownRefusals(`${words}.${member}`).map((refused): View => {
      const { data } = withField(words, member, refused.field!);
      return { name: 'console-rule', data: { ...data, refused } } as View;
    }),
  ),
  { name: 'console-rule', data: { ...unchosen, gone: true } },
  ...(['added', 'changed', 'removed', 'moved', 'gone'] as const).map((done): View => ({
    name: 'console-connection',
    data: { ...examples['console-connection'][1], done: `rule-${done}` },
  })),
];
