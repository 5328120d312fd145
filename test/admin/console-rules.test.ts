// The console shows each rule of a list as a sentence, and adds, changes, moves and removes one by a form of only the fields that its kind needs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimRuleList } from '../../src/entities/claim-rules.ts';
import { connectionClaimRules, groupRules } from '../../src/entities/connection-rules.ts';
import type { RuleKind, RuleList } from '../../src/entities/field.ts';
import { addRule, filledForm, formOf, openConsole } from '../helpers/console.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: TestUser;
let agent: UserAgent;
let clientId: string;
let client: string;
const provider = '/admin/connections/corporate';
const directory = '/admin/connections/company';

beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, CONNECTIONS_ALLOW: 'ldap.example:636' } });
  admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  ({ clientId } = await service.createClient({ client_name: 'Grafana' }));
  client = `/admin/clients/${clientId}`;
  await create('oauth', {
    id: 'corporate',
    display_name: 'Corporate',
    client_id: 'gatehouse',
    secret: 's',
    authorization_endpoint: 'https://login.example.com/authorize',
    token_endpoint: 'https://login.example.com/token',
    userinfo_endpoint: 'https://login.example.com/me',
    subject_claim: 'id',
  });
  await create('directory', {
    id: 'company',
    display_name: 'Company',
    preset: 'openldap',
    url: 'ldaps://ldap.example',
    bind_dn: 'cn=gatehouse,dc=example,dc=com',
    base: 'dc=example,dc=com',
    provisioning: 'on',
    status: 'disabled',
  });
});
afterAll(() => service?.stop());

async function create(type: string, typed: Record<string, string>): Promise<void> {
  const path = `/admin/connections/new/${type}`;
  const page = await agent.get(path);
  const made = await agent.follow(await agent.post(path, { ...filledForm(page), ...formOf(page, path), ...typed }));
  expect(made.url, made.body.slice(0, 3000)).toContain('done=connection-made');
}

const rulesOfClient = async () => (await service.store.clients.find(clientId))!.claimRules;
const rulesOf = async (id: string) => (await service.store.connections.find(id))!;
/** What a line of a list says, as a user reads it. */
const sentences = ({ body }: Page, member: string): string[] => {
  const list = body.slice(body.indexOf(`<section class="card" id="${member}"`)).split('</section>')[0]!;
  return [...list.matchAll(/<p class="rule"[^>]*>(.*?)<\/p>/gs)].map(([, line]) => line!.replace(/<[^>]*>/g, ''));
};
const notesIn = ({ body }: Page): string[] =>
  [...body.matchAll(/<ul class="notes">(.*?)<\/ul>/gs)].flatMap(([, notes]) =>
    [...notes!.matchAll(/<li>(.*?)<\/li>/gs)].map(([, note]) => note!.replace(/<[^>]*>/g, '').trim()),
  );
const marked = ({ body }: Page): string[] =>
  [...body.matchAll(/<\w+ [^>]*aria-invalid="true"[^>]*>/g)].map(([tag]) => / id="([^"]*)"/.exec(tag)![1]!);
/** The addresses of the forms of the rules in a list. */
const formsIn = (page: Page, member: string): string[] =>
  [...page.body.matchAll(new RegExp(`href="([^"]*/rules/${member}/[\\w-]{22})"`, 'g'))].map(([, uri]) => uri!);
const act = async (page: Page, path: string, fields: Record<string, string>) =>
  agent.follow(await agent.post(path, { ...formOf(page, path), ...fields }));
const german = async <T>(read: () => Promise<T>): Promise<T> => {
  await agent.get('/admin?locale=de');
  try {
    return await read();
  } finally {
    await agent.get('/admin?locale=en');
  }
};

describe('the rules for claims of a client', () => {
  test('are added by their kind and its fields, read as sentences in the language of the page, changed and removed (pages, forms)', async () => {
    const list = await agent.get(`${client}/claims`);
    expect(list.body).toContain('No rules yet.');
    const add = /href="([^"]*\/rules\/claim_rules\/new)"/.exec(list.body)![1]!;
    // without a script the kind is a page of its own
    const kinds = await agent.get(add);
    const offered = [...kinds.body.matchAll(/name="kind" value="(\w+)"/g)].map(([, kind]) => kind);
    expect(offered).toEqual(['groups', 'roles', 'attribute', 'constant']);
    expect(kinds.body.replace(/<template[^]*?<\/template>/g, '')).not.toContain('name="claim"');
    const form = await agent.get(`${add}?kind=groups`);
    const shown = form.body.replace(/<template[^]*?<\/template>/g, '');
    const asked = shown.slice(shown.indexOf('id="rule-form"'), shown.indexOf('<details'));
    expect([...asked.matchAll(/ name="([a-z_]+)"/g)].map(([, name]) => name)).toEqual([
      'csrf',
      'claim',
      'prefix',
      'strip',
    ]);
    const added = await addRule(
      agent,
      { path: client, member: 'claim_rules', kind: 'groups' },
      {
        claim: 'grafana_role',
        prefix: 'grafana-',
        strip: 'grafana-',
        as: 'first',
        default: 'viewer',
        'into.0': 'on',
        'into.1': 'on',
      },
    );
    expect(added.body).toContain('Rule added.');
    expect(await rulesOfClient()).toEqual([
      {
        claim: 'grafana_role',
        from: 'groups',
        only: { prefix: 'grafana-' },
        strip: 'grafana-',
        as: 'first',
        default: 'viewer',
        into: ['id_token', 'userinfo'],
      },
    ]);
    expect(sentences(added, 'claim_rules')).toEqual(['grafana_role = groups that begin with grafana-']);
    expect(notesIn(added)).toEqual([
      'without the prefix grafana-',
      'only the first value',
      'viewer if no value is left',
    ]);
    expect(await german(async () => sentences(await agent.get(`${client}/claims`), 'claim_rules'))).toEqual([
      'grafana_role = Gruppen, die mit grafana- beginnen',
    ]);
    const [edit = ''] = formsIn(added, 'claim_rules');
    const opened = await agent.get(edit);
    expect(filledForm(opened)).toMatchObject({ claim: 'grafana_role', prefix: 'grafana-', default: 'viewer' });
    const action = `${edit}?kind=groups`;
    const changed = await act(opened, action, { ...filledForm(opened), ...formOf(opened, action), prefix: 'team-' });
    expect(changed.body).toContain('Rule saved.');
    expect(sentences(changed, 'claim_rules')).toEqual(['grafana_role = groups that begin with team-']);
    const [, remove = ''] = /name="remove" value="([^"]*)"/.exec(changed.body) ?? [];
    const removed = await act(changed, `${client}/rules/claim_rules`, { remove });
    expect(removed.body).toContain('Rule removed.');
    expect(await rulesOfClient()).toEqual([]);
  });

  test('keep what the form of their kind does not ask for, and the type of each value that is not typed anew (pages, forms)', async () => {
    const rules = [
      { claim: 'level', from: 'constant', value: 5, map: { 5: 'five' }, into: ['userinfo'] },
      { claim: 'flag', from: 'roles', only: { one_of: ['a', 'b'] }, default: ['none'], into: ['userinfo'] },
      { claim: 'eq', from: 'department', map: { 'a=b': 'c' }, into: ['userinfo'] },
    ];
    await service.database.sql('UPDATE clients SET claim_rules = $1 WHERE client_id = $2', [
      JSON.stringify(rules),
      clientId,
    ]);
    const list = await agent.get(`${client}/claims`);
    expect(sentences(list, 'claim_rules')).toEqual([
      'level = always 5',
      'flag = roles among a and b',
      'eq = department',
    ]);
    for (const [index, kind] of ['constant', 'roles', 'attribute'].entries()) {
      const edit = formsIn(await agent.get(`${client}/claims`), 'claim_rules')[index]!;
      const page = await agent.get(edit);
      await act(page, `${edit}?kind=${kind}`, { ...onlyOfForm(page), claim: `changed_${index}` });
    }
    expect(await rulesOfClient()).toEqual(rules.map((rule, index) => ({ ...rule, claim: `changed_${index}` })));
    // another kind of the same rule keeps the fields that both have
    const edit = formsIn(await agent.get(`${client}/claims`), 'claim_rules')[1]!;
    const other = await agent.get(`${edit}?kind=groups`);
    await act(other, `${edit}?kind=groups`, onlyOfForm(other));
    expect((await rulesOfClient())[1]).toEqual({ ...rules[1], claim: 'changed_1', from: 'groups' });
    await service.database.sql(`UPDATE clients SET claim_rules = NULL WHERE client_id = $1`, [clientId]);
  });

  test('come back filled in after a sign-in that was too old, and are not lost with the rule that they change (pages, kept forms)', async () => {
    const list = { path: client, member: 'claim_rules', kind: 'attribute' };
    const added = await addRule(agent, list, { claim: 'dept', from: 'department', 'into.1': 'on' });
    const [edit = ''] = formsIn(added, 'claim_rules');
    const action = `${edit}?kind=attribute`;
    const opened = await agent.get(edit);
    const typed = { ...onlyOfForm(opened), claim: 'typed_long', 'into.2': 'on' };
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes'`);
    const confirmation = await agent.follow(await agent.post(action, { ...formOf(opened, action), ...typed }));
    expect(confirmation.body).toContain('Confirm');
    const back = await agent.signIn(admin, confirmation);
    expect(back.body).toContain('We’ve kept what you typed');
    expect(onlyOfForm(back)).toMatchObject({ claim: 'typed_long', from: 'department', 'into.2': 'on' });
    expect((await rulesOfClient()).map(({ claim }) => claim)).toEqual(['dept']);
    // another administrator removes it meanwhile
    await service.database.sql(`UPDATE clients SET claim_rules = NULL WHERE client_id = $1`, [clientId]);
    const lost = await agent.post(action, { ...formOf(back, action), ...onlyOfForm(back) });
    expect([lost.status, lost.body.includes('was changed or removed in the meantime')]).toEqual([409, true]);
    const fresh = `${client}/rules/claim_rules/new?kind=attribute`;
    const saved = await act(lost, fresh, onlyOfForm(lost));
    expect(sentences(saved, 'claim_rules')).toEqual(['typed_long = department']);
    expect(await rulesOfClient()).toMatchObject([{ into: ['userinfo', 'introspection'] }]);
    const removed = await act(await agent.get(`${client}/claims`), `${client}/rules/claim_rules`, { remove: 'gone' });
    expect(removed.url).toContain('done=rule-gone');
    expect((await agent.get(edit)).status).toBe(404);
    await service.database.sql(`UPDATE clients SET claim_rules = NULL WHERE client_id = $1`, [clientId]);
  });

  test('are not added twice by a double click, nor for the console’s own client (pages, forms)', async () => {
    const uri = `${client}/rules/claim_rules/new?kind=constant`;
    const form = { ...formOf(await agent.get(uri), uri), claim: 'tenant', value: 'harbour', 'into.0': 'on' };
    const both = await Promise.all([agent.post(uri, form), agent.post(uri, form)]);
    expect(both.map(({ status }) => status)).toContain(303);
    expect(await rulesOfClient()).toHaveLength(1);
    expect((await agent.follow(await agent.post(uri, form))).body).toContain('Rule added.');
    expect(await rulesOfClient()).toHaveLength(1);
    await service.database.sql(`UPDATE clients SET claim_rules = NULL WHERE client_id = $1`, [clientId]);
    for (const path of [
      '/admin/clients/gatehouse-console/rules/claim_rules/new',
      `${client}/rules/roles/new`,
      `${client}/rules/constructor/new`,
    ])
      expect([path, (await agent.get(path)).status]).toEqual([path, 404]);
    expect((await agent.post(`${client}/rules/claim_rules/new?kind=none`, form)).status).toBe(400);
  });
});

/** What a browser sends of the form of the chosen kind. */
function onlyOfForm(page: Page): Record<string, string> {
  const from = page.body.slice(page.body.indexOf('id="rule-form"'));
  const filled = filledForm({ ...page, body: from.slice(0, from.indexOf('</form>')) });
  return Object.fromEntries(Object.entries(filled).filter(([name]) => name !== 'csrf'));
}

describe('the rules of a connection', () => {
  test('to a provider and to a directory have the kinds and the words of each (pages, forms; federation FR15)', async () => {
    const kindsAt = async (path: string) =>
      [...(await agent.get(`${path}/rules/group_rules/new`)).body.matchAll(/name="kind" value="(\w+)"/g)].map(
        ([, kind]) => kind,
      );
    expect(await kindsAt(provider)).toEqual(['equals', 'starts_with', 'all']);
    expect(await kindsAt(directory)).toEqual(['equals', 'starts_with', 'dn', 'all']);
    const kinds: [string, Record<string, string>][] = [
      ['equals', { equals: 'Staff', group: 'staff' }],
      ['starts_with', { starts_with: 'ops-', group: 'ops' }],
      ['all', { prefix: 'corp-' }],
      ['all', { prefix: '' }],
    ];
    for (const [kind, fields] of kinds)
      for (const path of [provider, directory]) await addRule(agent, { path, member: 'group_rules', kind }, fields);
    const entry = { dn: 'cn=Staff,dc=example,dc=com', group: 'staff' };
    const last = await addRule(agent, { path: directory, member: 'group_rules', kind: 'dn' }, entry);
    expect(sentences(last, 'group_rules')).toEqual([
      'staff = members of Staff',
      'ops = members of groups that begin with ops-',
      'Each group of the directory becomes a group, with the prefix corp-',
      'Each group of the directory becomes a group of the same name',
      'staff = members of the entry cn=Staff,dc=example,dc=com',
    ]);
    expect(sentences(await agent.get(provider), 'group_rules')).toEqual([
      'staff = users with the value Staff',
      'ops = users with a value that begins with ops-',
      'Each value becomes a group, with the prefix corp-',
      'Each value becomes a group of the same name',
    ]);
    expect((await rulesOf('company')).groupRules).toEqual([
      { equals: 'Staff', group: 'staff' },
      { starts_with: 'ops-', group: 'ops' },
      { all: true, prefix: 'corp-' },
      { all: true, prefix: '' },
      entry,
    ]);
  });

  test('for claims are in an order that matters, and are moved up (pages, forms)', async () => {
    const member = 'claim_rules';
    const add = (fields: Record<string, string>) => addRule(agent, { path: directory, member, kind: 'value' }, fields);
    await add({ to: 'nickname', from: 'uid' });
    await add({ to: 'phone_number', from: 'telephoneNumber' });
    const page = await add({ to: 'nickname', from: 'displayName', default: 'Nobody' });
    expect(sentences(page, member)).toEqual([
      'nickname = uid',
      'phone_number = telephoneNumber',
      'nickname = displayName, or Nobody if there is no value',
    ]);
    const up = [...page.body.matchAll(/name="up" value="([^"]*)"/g)].map(([, id]) => id!);
    expect(up).toHaveLength(2);
    const moved = await act(page, `${directory}/rules/${member}`, { up: up[1]! });
    expect(moved.body).toContain('Rule moved up.');
    expect((await rulesOf('company')).claimRules.map(({ from }) => from)).toEqual([
      'uid',
      'displayName',
      'telephoneNumber',
    ]);
    // one kind needs no choice
    expect((await agent.get(`${directory}/rules/${member}/new`)).body).not.toContain('name="kind"');
  });

  test('that only the API makes are shown, too, and their kind can be changed (pages, forms)', async () => {
    const stored = [{ dn: 'cn=a', group: 'a' }];
    await service.database.sql(`UPDATE connections SET group_rules = $1 WHERE id = 'corporate'`, [
      JSON.stringify(stored),
    ]);
    const page = await agent.get(provider);
    expect(sentences(page, 'group_rules')).toEqual(['a = members of the entry cn=a']);
    const [edit = ''] = formsIn(page, 'group_rules');
    expect(onlyOfForm(await agent.get(edit))).toEqual({ dn: 'cn=a', group: 'a' });
  });
});

describe('what a form of a rule refuses is beside its field', () => {
  const long = 'x'.repeat(20_000);
  const claim = { claim: 'wrong', 'into.0': 'on' };
  const steps = { strip: long, map: `a=${long}`, default: long, case: 'tampered', as: 'tampered', prefix: long };
  const into = { 'into.0': '' };
  /** By kind what is right, and a wrong value of each field. */
  const cases: [string, string, RuleList, Record<string, [Record<string, string>, Record<string, string | object>]>][] =
    [
      [
        'a client',
        'claim_rules',
        claimRuleList,
        {
          groups: [claim, { claim: 'sub', ...steps, one_of: long, into }],
          roles: [claim, { claim: 'sub', ...steps, one_of: long, into }],
          attribute: [
            { ...claim, from: 'department' },
            { claim: '', from: 'no source', ...steps, one_of: long, into },
          ],
          constant: [
            { ...claim, value: 'x' },
            { claim: 'sub', value: '', ...steps, one_of: long, into },
          ],
        },
      ],
      [
        'a directory',
        'group_rules',
        groupRules,
        {
          equals: [
            { equals: 'a', group: 'b' },
            { equals: '', group: '..' },
          ],
          starts_with: [
            { starts_with: 'a', group: 'b' },
            { starts_with: long, group: '' },
          ],
          dn: [
            { dn: 'cn=a', group: 'b' },
            { dn: 'no name', group: '..' },
          ],
          all: [{}, { prefix: long }],
        },
      ],
      [
        'a connection',
        'claim_rules',
        connectionClaimRules,
        {
          value: [
            { to: 'nickname', from: 'a' },
            { to: 'email', from: long, default: long },
          ],
        },
      ],
    ];
  test.each(cases)('of %s: %s (pages, forms)', async (owner, member, list, kinds) => {
    const path = owner === 'a client' ? client : directory;
    expect(Object.keys(kinds)).toEqual(list.kinds.map(({ name }) => name));
    for (const kind of list.kinds) {
      const [right, wrong] = kinds[kind.name]!;
      expect(Object.keys(wrong).sort()).toEqual(kind.fields.map(({ name }) => name).sort());
      for (const [field, value] of Object.entries(wrong)) {
        const typed = { ...right, ...(typeof value === 'string' ? { [field]: value } : value) };
        const sent = Object.fromEntries(
          Object.entries(typed).filter(([name, text]) => !(name === 'into.0' && text === '')),
        );
        const page = await addRule(agent, { path, member, kind: kind.name }, sent);
        expect([kind.name, field, page.status, marked(page)]).toEqual([kind.name, field, 400, [field]]);
        expect(onlyTyped(kind, page)).toMatchObject(
          Object.fromEntries(Object.entries(sent).filter(([, text]) => text.length < 500 && text !== 'tampered')),
        );
      }
    }
  });

  const onlyTyped = (kind: RuleKind, page: Page) => {
    const typed = onlyOfForm(page);
    return Object.fromEntries(
      Object.entries(typed).filter(([name]) => kind.fields.some((field) => field.name === name.split('.')[0])),
    );
  };

  test('also what breaks a rule together with others, and all faults at once (pages, forms)', async () => {
    const kind = { path: client, member: 'claim_rules', kind: 'groups' };
    const both = await addRule(agent, kind, { ...claim, prefix: 'a', one_of: 'b' });
    expect([both.status, marked(both)]).toEqual([400, ['one_of']]);
    expect(both.body).toContain('Enter a prefix or a list of values, not both.');
    await addRule(agent, kind, { ...claim, claim: 'twice' });
    const twice = await addRule(agent, { ...kind, kind: 'roles' }, { ...claim, claim: 'twice' });
    expect([twice.status, marked(twice)]).toEqual([400, ['claim']]);
    expect(twice.body).toContain('Another rule already creates this claim');
    const several = await addRule(agent, kind, { claim: 'sub', strip: long });
    expect(marked(several)).toEqual(['claim', 'strip', 'into']);
    expect(several.body).toContain('<a href="#into">Included in: Choose at least one place.</a>');
  });

  test('a rule without a valid token of its form changes nothing (security R96)', async () => {
    const before = await rulesOfClient();
    const uri = `${client}/rules/claim_rules/new?kind=constant`;
    const other = formOf(await agent.get(uri), uri);
    for (const [path, form] of [
      [uri, { csrf: 'A'.repeat(43) }],
      [`${client}/rules/claim_rules/new?kind=groups`, other],
      [`${client}/rules/claim_rules`, other],
    ] as const)
      expect([path, (await agent.post(path, { ...form, ...claim, value: 'x' })).status]).toEqual([path, 400]);
    expect(await rulesOfClient()).toEqual(before);
  });
});
