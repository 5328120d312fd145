// A refusal of each member marks the field of this member on each form of the console, with a sentence in the language of the page.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;

beforeAll(async () => {
  service = await startTestService({
    environment: {
      ...withoutLimits,
      CONNECTIONS_ALLOW: 'ldap.example:636',
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
    },
  });
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

/** The controls of a page's form, without those that users do not see: each with its type, and what the page proposes. */
function controlsOf(page: Page, action: string): Map<string, { type: string; value: string }> {
  const form = page.body
    .split('<form')
    .find((text) => text.includes(`action="${action}"`) && /^[^>]*method="post"/.test(text))!
    .split('</form>')[0]!;
  const controls = new Map<string, { type: string; value: string }>();
  for (const [tag, kind] of form.matchAll(/<(input|textarea|select)\b[^>]*>/g)) {
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    const type = attribute('type') ?? kind!;
    const name = attribute('name');
    if (type === 'hidden' || name === undefined) continue;
    const isTaken = !['radio', 'checkbox'].includes(type) || tag.includes(' checked');
    if (isTaken || !controls.has(name)) controls.set(name, { type, value: isTaken ? (attribute('value') ?? '') : '' });
  }
  return controls;
}

/** Sends a form as a browser does, with some fields typed otherwise. */
async function send(path: string, typed: Record<string, string>, shownAt = path): Promise<Page> {
  const page = await agent.get(shownAt);
  const proposed = [...controlsOf(page, path)].filter(([, { value }]) => value !== '');
  const filled = Object.fromEntries(proposed.map(([name, { value }]) => [name, value]));
  return agent.post(path, { ...formOf(page, path), ...filled, ...typed });
}

/** The marked controls, each with the sentence that describes it. */
const marked = ({ body }: Page): [string, string][] =>
  [...body.matchAll(/<\w+ [^>]*aria-invalid="true"[^>]*>/g)].map(([tag]) => {
    const id = / id="([^"]*)"/.exec(tag)![1]!;
    const [described] = / aria-describedby="([^"]*)"/.exec(tag)![1]!.split(' ');
    return [id, new RegExp(`<p class="fault" id="${described}">([^<]*)</p>`).exec(body)![1]!];
  });

const long = 'x'.repeat(20_000);
/** As a browser types it. */
const inADay = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
const tampered = 'x';

type Typed = string | Record<string, string>;
interface Form {
  path: string;
  /** Fields of which any value is taken. */
  never?: string[];
  /** The page with the form, if it has another address. */
  page?: string;
  /** What makes the form acceptable, but for the field that is wrong. */
  right: Record<string, string>;
  /** Wrong values of each field that can be wrong; or all that has to be typed otherwise. */
  wrong: Record<string, Typed | Typed[]>;
}

const connection = {
  right: { id: 'marked', display_name: 'Marked', client_id: 'c', secret: 's' },
  wrong: {
    id: 'Not one',
    display_name: '',
    client_id: '',
    secret: { secret: '', status: 'enabled' },
    status: tampered,
    linking: tampered,
    provisioning: tampered,
    username_from: long,
    domains: 'not a domain',
    authoritative_domains: 'a@corp.example',
    default_groups: '..',
    position: '-1',
    session_lifetime: 'long',
  },
};
const address = (member: string) => ({ [member]: 'ftp://else.example' });
const service2 = 'https://login.corp.example';
const directory = {
  display_name: '',
  url: 'ldap://ldap.example:636',
  bind_dn: 'no name',
  base: '',
  group_base: 'no name',
  secret: { secret: '', status: 'enabled' },
  ca: 'a\0b',
  default_groups: '..',
  status: tampered,
  linking: tampered,
  provisioning: tampered,
  authoritative_domains: '-',
  import: '4',
};
const ofDirectory = { url: 'ldaps://ldap.example', bind_dn: 'cn=a,dc=x', base: 'dc=x' };

const forms: Record<string, Form> = {
  'OpenID Connect': {
    path: '/admin/connections/new/oidc',
    right: { ...connection.right, issuer: service2 },
    wrong: {
      ...connection.wrong,
      issuer: 'http://corp.example',
      scope: long,
      groups_claim: long,
      token_endpoint_auth_method: tampered,
      response_mode: tampered,
      logout: tampered,
    },
  },
  Google: { path: '/admin/connections/new/google', ...connection },
  Microsoft: {
    path: '/admin/connections/new/microsoft',
    right: { ...connection.right, tenants: '3f2504e0-4f89-11d3-9a0c-0305e82c3301' },
    wrong: { ...connection.wrong, tenants: 'common', logout: tampered },
  },
  GitHub: {
    path: '/admin/connections/new/github',
    right: connection.right,
    wrong: { ...connection.wrong, organizations: 'no one!', base: 'https://10.0.0.1' },
  },
  Apple: {
    path: '/admin/connections/new/apple',
    right: { ...connection.right, team_id: 'TEAM000001', key_id: 'KEY0000001' },
    wrong: { ...connection.wrong, secret: 'no key', team_id: '', key_id: '' },
  },
  'OAuth 2.0': {
    path: '/admin/connections/new/oauth',
    right: {
      ...connection.right,

      authorization_endpoint: `${service2}/a`,
      token_endpoint: `${service2}/t`,
      userinfo_endpoint: `${service2}/u`,
    },
    wrong: {
      ...connection.wrong,
      ...address('authorization_endpoint'),
      ...address('token_endpoint'),
      ...address('userinfo_endpoint'),
      scope: long,
      subject_claim: long,
      email_claim: long,
      groups_claim: long,
      email_verified_from: long,
      token_endpoint_auth_method: tampered,
      response_mode: tampered,
    },
  },
  'new directory': {
    path: '/admin/connections/new/directory',
    right: { ...ofDirectory, id: 'folk', display_name: 'Folk', secret: 's' },
    wrong: { ...directory, id: 'Not one', preset: tampered },
  },
  directory: {
    path: '/admin/connections/company/directory/edit',
    // an address that moves needs the secret again
    right: { secret: 's' },
    wrong: {
      ...directory,
      secret: long,
      user_filter: 'no filter',
      group_filter: '(',
      member_attribute: '!',
      login_attributes: 'not one',
    },
  },
  'new API': {
    path: '/admin/resources/new',
    right: { name: 'Notes', resource: 'https://notes.example' },
    wrong: {
      name: ['', 'x'.repeat(101), 'a\u202eb'],
      resource: ['', '/v1', '{issuer}/userinfo', 'https://held.example/'],
      scopes: ['openid', 'read [not a language] Read', 'crew'],
      clients: tampered,
      client_id: 'no-such-client',
      access_token_format: tampered,
      binding: tampered,
      access_token_lifetime: ['0', 'soon', '99999999'],
      token_claims: ['shoe_size', 'email email'],
    },
  },
  'new sign-up link': {
    path: '/admin/sign-up-links/new',
    right: { name: 'Crew', groups: '', domain: 'example.com', uses: '3', expires_at: inADay },
    wrong: {
      name: ['', 'x'.repeat(256), 'a\u202eb'],
      groups: ['nowhere'],
      domain: ['a@example.com', 'x', '127.0.0.1'],
      uses: ['', '0', '10001', 'many', '1.5'],
      expires_at: ['', 'tomorrow', '2020-01-01T00:00', '9999-01-01T00:00'],
      status: tampered,
    },
  },
  'new type of authorization details': {
    path: '/admin/authorization-details-types/new',
    right: {
      type: 'payment',
      schema: '{"type": "object", "properties": {"amount": {"type": "string"}}}',
      text: 'Pay {amount}',
    },
    wrong: {
      type: ['', 'a b', 'x"y'],
      schema: ['', 'x', '{"type": "object", "pattern": "a"}', '{"type": "string"}'],
      text: ['', '[de] Zahlen', 'Pay {unknown}', 'Pay {'],
      resources: ['https://nowhere.example/', 'https://held.example\nhttps://held.example'],
      required_acr: ['unknown'],
      status: tampered,
    },
  },
  'new exchange policy': {
    path: '/admin/exchange-policies/new',
    right: { name: 'Bridge', client_id: 'held-client', resources: 'https://held.example', scopes: 'read' },
    wrong: {
      name: ['', 'x'.repeat(101), 'a\u202eb'],
      client_id: ['', 'nobody'],
      mode: tampered,
      subject_clients: ['nobody', 'held-client\nheld-client'],
      resources: ['', 'https://nowhere.example/'],
      scopes: ['', 'admin', 'offline_access', 'a"b'],
      authorization_details_types: ['a b', 'payment\npayment'],
      status: tampered,
    },
  },
  'new trusted issuer': {
    path: '/admin/trusted-issuers/new',
    right: {
      name: 'Partner',
      issuer: 'https://partner.example',
      jwks_uri: 'https://partner.example/jwks',
      algorithms: 'ES256',
      resources: 'https://held.example',
      scopes: 'read',
      max_lifetime: '300',
    },
    wrong: {
      name: ['', 'x'.repeat(101), 'a\u202eb'],
      issuer: ['', 'http://partner.example', '{issuer}'],
      jwks_uri: ['', 'ftp://partner.example'],
      kind: tampered,
      jwks: ['{}', 'no JSON', '{"keys":[]}'],
      algorithms: ['', 'HS256', 'ES256 ES256'],
      subject: tampered,
      links: ['a', 'a b\na c'],
      email_domains: ['a@b', { email_domains: '', subject: 'email' }],
      clients: ['nobody', 'held-client\nheld-client'],
      resources: ['', 'https://nowhere.example/'],
      scopes: ['', 'admin', 'offline_access'],
      max_lifetime: ['0', '3601', 'long'],
      status: tampered,
    },
  },
  'new connected server': {
    path: '/admin/connected-servers/new',
    right: {
      name: 'Partner',
      issuer: 'https://partner.example',
      clients: '[{"client":"held-client","id":"x","scopes":["read"]}]',
    },
    wrong: {
      name: ['', 'x'.repeat(101), 'a\u202eb'],
      issuer: ['', 'http://partner.example', '{issuer}'],
      clients: ['', '{}', '[{"client":"nobody","id":"x","scopes":["read"]}]'],
      resources: 'no URI',
      subject: tampered,
      status: tampered,
    },
  },
  'new webhook': {
    path: '/admin/webhooks/new',
    right: { name: 'Harbour', url: 'https://hooks.example/', events: 'user.*' },
    wrong: {
      name: ['', 'x'.repeat(101), 'a\u202eb'],
      url: ['', 'http://hooks.example/', 'https://10.0.0.1/', 'https://hooks.example:25/'],
      events: ['', 'no type', 'nothing.*'],
      status: tampered,
    },
  },
  'new provisioning target': {
    path: '/admin/provisioning-targets/new',
    right: { client: 'held-client', base_url: 'https://app.example/scim', bearer_token: 'x' },
    wrong: {
      client: ['', 'nowhere'],
      base_url: ['', 'http://app.example/', 'https://10.0.0.1/', 'https://app.example:25/', 'https://app.example/?x'],
      bearer_token: '',
      token_endpoint: 'http://app.example/',
      client_id: 'x'.repeat(513),
      client_secret: 'x'.repeat(4001),
      groups: 'no such group',
      leave: tampered,
      status: tampered,
    },
  },
  'new attribute': {
    path: '/admin/attributes/new',
    right: { name: 'shoe_size', type: 'number' },
    wrong: {
      name: 'Shoe size',
      type: tampered,
      label: '[not a language] x',
      choices: 'x'.repeat(256),
      max: '0',
      person: tampered,
      unique: { type: 'boolean', unique: 'true' },
    },
  },
  attribute: {
    path: '/admin/attributes/flag',
    right: {},
    wrong: { label: long, choices: 'one', max: 'much', person: tampered, unique: 'true' },
  },
  'new scope': {
    path: '/admin/scopes/new',
    right: { name: 'staff', claims: 'flag' },
    wrong: { name: 'openid', text: '[not a language] x', claims: 'sub' },
  },
  scope: { path: '/admin/scopes/crew', right: { claims: 'flag' }, wrong: { text: long, claims: '' } },
  'new group': {
    path: '/admin/groups',
    right: { name: 'builders' },
    wrong: { name: ['', '..', 'a\u0007b', long, 'ops'], description: 'x'.repeat(1001) },
  },
  group: {
    path: '/admin/groups/ops/edit',
    right: {},
    wrong: { name: ['', 'crew', 'x'.repeat(256)], description: 'x'.repeat(1001), guarded_sources: 'No such!' },
  },
  'new user': {
    path: '/admin/users/new',
    never: ['access'],
    right: { username: 'grace', access: 'invite' },
    wrong: {
      username: ['', long, 'a\u200bb', '0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f', 'root'],
      email: ['none', long],
      name: long,
      given_name: long,
      family_name: long,
      password: { access: 'password', password: 'x' },
    },
  },
  'members of a group': {
    path: '/admin/groups/ops/members',
    page: '/admin/groups/ops',
    right: {},
    wrong: {
      users: ['', 'no-such-user', Array.from({ length: 1001 }, (_user, index) => `u${index}`).join('\n'), 'linked'],
    },
  },
};

describe.each(Object.entries(forms))(
  'the form of %s',
  (_name, { path, page: shownAt = path, right, wrong, never = [] }) => {
    beforeAll(prepare);

    test('marks the field of each member that is refused, and no other one (pages, forms)', async () => {
      const controls = controlsOf(await agent.get(shownAt), path);
      // no value of a box is refused, but for what it demands of other fields
      const asked = [...controls].filter(([name, { type }]) => type !== 'checkbox' || name in wrong);
      expect(asked.map(([name]) => name).sort()).toEqual([...Object.keys(wrong), ...never].sort());
      const cases = Object.entries(wrong).flatMap(([field, typed]) =>
        [typed].flat().map((one) => [field, one] as const),
      );
      for (const [field, given] of cases) {
        const typed = typeof given === 'string' ? given.replace('{issuer}', service.issuer) : given;
        const page = await send(
          path,
          { ...right, ...(typeof typed === 'string' ? { [field]: typed } : typed) },
          shownAt,
        );
        expect([400, 409], field).toContain(page.status);
        expect([field, typed, marked(page).map(([id]) => id)]).toEqual([field, typed, [field]]);
        expect(page.body, field).not.toContain('id="problem"');
      }
    });
  },
);

test('what is refused on the page of claims marks its control among those of each role (pages, forms)', async () => {
  await prepare();
  const { clientId } = await service.createClient();
  const path = `/admin/clients/${clientId}/claims`;
  const act = async (typed: Record<string, string>) =>
    agent.post(path, { ...formOf(await agent.get(path), path), ...typed });
  for (const name of ['reader', 'writer']) expect((await act({ act: 'role-add', name })).status).toBe(303);
  const cases: [Record<string, string>, string[]][] = [
    [{ act: 'role-add', name: 'a,b' }, ['role-name']],
    [{ act: 'role-add', name: 'reader' }, ['role-name']],
    [{ act: 'role-give', role: 'writer', user: 'no-such-user' }, ['give-user-1']],
    [{ act: 'role-give', role: 'writer', group: 'no-such-group' }, ['give-group-1']],
  ];
  for (const [typed, fields] of cases) {
    const page = await act(typed);
    expect([typed, page.status, marked(page).map(([id]) => id)]).toEqual([typed, 400, fields]);
  }
  // no control has these: the page says it at the top
  const whole: Record<string, string>[] = [
    { act: 'role-delete', role: 'none' },
    { act: 'scope-give', scope: 'none' },
  ];
  for (const typed of whole) {
    const page = await act(typed);
    expect([typed, page.status, marked(page), page.body.includes('id="problem"')]).toEqual([typed, 400, [], true]);
  }
});

test('a group that a user cannot join marks its field on the page of the user (pages, forms, security R165)', async () => {
  await prepare();
  const path = `/admin/users/${(await service.store.users.findNamed('linked'))!.sub}`;
  const sent = formOf(await agent.get(path), path);
  for (const group of ['', '..', 'no-such-group', 'ops']) {
    const page = await agent.post(path, { ...sent, act: 'join', group });
    expect([group, page.status, marked(page).map(([id]) => id)]).toEqual([group, 400, ['group']]);
  }
});

/** What the forms change, made once. */
let prepared: Promise<void> | undefined;
const prepare = () =>
  (prepared ??= (async () => {
    const made = [
      await send('/admin/connections/new/directory', {
        ...ofDirectory,
        id: 'company',
        display_name: 'Company',
        secret: 's',
      }),
      await send('/admin/attributes/new', { name: 'flag', type: 'boolean' }),
      await send('/admin/scopes/new', { name: 'crew', claims: 'flag' }),
      await send('/admin/resources/new', { name: 'Held', resource: 'https://held.example' }),
      await send('/admin/groups', { name: 'ops' }),
      await send('/admin/groups', { name: 'crew' }),
    ];
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 303));
    const client = { client_id: 'held-client', redirect_uris: ['https://held.example/callback'] };
    await call(`${service.issuer}/admin/api/clients`, { token: await adminToken(service), body: client });
    // a link that was made without a question keeps its user from power (security R165)
    const { sub } = await service.createUser({ username: 'linked' });
    await service.database.sql(
      `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('company', 'company', 's', $1, 'domain')`,
      [sub],
    );
  })());
