// Gives example data of the console's lists of rules, and of the page that asks for one.
import { linesOf, typedOfRule, viewOfRule } from '../../src/admin/console/rules.ts';
import { claimRuleList } from '../../src/entities/claim-rules.ts';
import { connectionClaimRules, groupRules } from '../../src/entities/connection-rules.ts';
import type { RuleList } from '../../src/entities/field.ts';
import type { ConsoleRulesPages, RuleListView } from '../../src/pages/views/console-rules.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const longName = 'Harbour operations and logistics of the northern region';
const clientUri = '/admin/clients/harbour';
const connectionUri = '/admin/connections/corporate';

/** One rule of each kind, and each further step. */
export const claimRules = [
  {
    claim: 'grafana_role',
    from: 'groups',
    only: { prefix: 'grafana-' },
    strip: 'grafana-',
    as: 'first',
    default: 'viewer',
    into: ['id_token', 'userinfo'],
  },
  {
    claim: 'https://harbour.example/claims/with/a/very/long/name/that/no/window/of/a/phone/has/space/for',
    from: 'roles',
    case: 'upper',
    as: 'joined',
    into: ['id_token', 'userinfo', 'introspection'],
  },
  {
    claim: 'teams',
    from: 'groups',
    only: { one_of: ['crew', 'staff', 'ops', 'night shift', 'harbour masters', 'guests', 'interns'] },
    case: 'lower',
    as: 'list',
    default: ['none'],
    into: ['userinfo'],
  },
  { claim: 'scopes', from: 'roles', only: { prefix: 'api:' }, into: ['introspection'] },
  { claim: 'editor', from: 'roles', only: { one_of: ['editor', 'admin'] }, into: ['introspection'] },
  {
    claim: 'dept',
    from: 'department',
    map: { Harbour: 'H-1', Lighthouse: 'L-1', Pier: 'P-1', Dock: 'D-1', Office: 'O-1' },
    into: ['userinfo'],
  },
  { claim: 'shift', from: 'shifts', only: { prefix: 'night-' }, into: ['userinfo'] },
  { claim: 'floor', from: 'floors', only: { one_of: ['1', '2'] }, into: ['userinfo'] },
  { claim: 'groups', from: 'groups', into: ['id_token'] },
  { claim: 'tenant', from: 'constant', value: 'harbour', into: ['id_token'] },
];
const connectionRules = [
  { to: 'phone_number', from: 'telephoneNumber' },
  { to: 'department', from: 'org.department.name', default: 'Harbour' },
];
const ofGroups = [
  { equals: 'Staff', group: 'staff' },
  { starts_with: 'ops-', group: 'operations and logistics of the northern region' },
  { all: true, prefix: 'corp-' },
  { all: true, prefix: '' },
];
const ofDirectory = [...ofGroups, { dn: 'cn=Staff,ou=groups,dc=example,dc=com', group: 'staff' }];

const listOf = (
  list: RuleList,
  { member, words, uri }: { member: string; words: string; uri: string },
  rules: readonly object[],
): RuleListView => ({
  member,
  words,
  general: words === 'console.directory' ? 'console.connection' : words,
  lines: linesOf(list, rules, (id) => `${uri}/rules/${member}/${id}`),
  newUri: `${uri}/rules/${member}/new`,
  form: form(`${uri}/rules/${member}`),
  ordered: list.ordered ?? false,
});

export const claimRulesOf = (rules: readonly object[]): RuleListView =>
  listOf(claimRuleList, { member: 'claim_rules', words: 'console.client', uri: clientUri }, rules);
/** @param words those of connections to providers, or to directories */
export const rulesOfConnection = (words: 'console.connection' | 'console.directory', full: boolean): RuleListView[] => {
  const uri = connectionUri;
  const groups = words === 'console.directory' ? ofDirectory : ofGroups;
  return [
    listOf(groupRules, { member: 'group_rules', words, uri }, full ? groups : []),
    listOf(connectionClaimRules, { member: 'claim_rules', words, uri }, full ? connectionRules : []),
  ];
};

const formsOf = (list: RuleList, uri: string, values: Readonly<Record<string, unknown>>) =>
  list.kinds.map((kind) => ({
    kind: kind.name,
    fields: viewOfRule(kind, typedOfRule(kind, values)),
    form: form(`${uri}?kind=${kind.name}`),
  }));
const frame = { ...consoleFrame, section: 'clients' as const };

export const consoleRulesExamples: Examples<ConsoleRulesPages> = {
  'console-rule': [
    {
      ...frame,
      member: 'claim_rules',
      words: 'console.client',
      general: 'console.client',
      of: { name: 'Harbour', uri: `${clientUri}/claims` },
      trail: [{ uri: '/admin/clients', words: 'console.clients.title' }],
      isNew: true,
      kinds: formsOf(claimRuleList, `${clientUri}/rules/claim_rules/new`, {}),
      kindsUri: `${clientUri}/rules/claim_rules/new`,
    },
    {
      ...frame,
      section: 'connections',
      member: 'group_rules',
      words: 'console.directory',
      general: 'console.connection',
      of: { name: longName, uri: connectionUri },
      trail: [
        { uri: '/admin/connections', words: 'console.connections.title' },
        { uri: connectionUri, name: longName },
      ],
      isNew: false,
      kinds: formsOf(groupRules, `${connectionUri}/rules/group_rules/x`, {
        equals: 'Harbour-operations-and-logistics-of-the-northern-region',
        group: '..',
      }),
      chosen: 'equals',
      kindsUri: `${connectionUri}/rules/group_rules/x`,
      refused: { field: 'group', member: 'group', code: 'dots', whole: false },
    },
  ],
};
