// The console asks where people sign in, and then only for what that provider needs; the command line takes the same.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addRule, formOf, openConsole } from '../helpers/console.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { appleKey, canary, type PresetProviders, startPresetProviders } from '../helpers/preset-connections.ts';
import { tenants } from '../helpers/preset-provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let providers: PresetProviders;

beforeAll(async () => {
  providers = await startPresetProviders();
  const hosts = Object.values(providers).map(({ host }) => host);
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: hosts.join(',') } });
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(async () => {
  await service?.stop();
  await Promise.all(Object.values(providers ?? {}).map((provider) => provider.stop()));
});

/** The fields of a page's form that a person fills in, each with what the page proposes. */
function fieldsOf(body: string): Record<string, string> {
  const form = body.slice(body.indexOf('<form class="card"'), body.lastIndexOf('</form>'));
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input [^>]*>/g)) {
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    const type = attribute('type');
    if (type === 'hidden' || (type === 'radio' && !tag.includes(' checked'))) continue;
    fields[attribute('name')!] = type === 'checkbox' ? String(tag.includes(' checked')) : (attribute('value') ?? '');
  }
  for (const [, name, value] of form.matchAll(/<textarea [^>]*?name="([^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g))
    fields[name!] = value!;
  return fields;
}
/** A page without the places where an address may break. */
const whole = (body: string) => body.replaceAll('<wbr>', '');
/** Fills in the form of a page, as a browser sends it. */
async function send(path: string, typed: Record<string, string>) {
  const page = await agent.get(path);
  const proposed = Object.entries(fieldsOf(page.body)).filter(([, value]) => value !== 'false');
  return agent.follow(await agent.post(path, { ...formOf(page, path), ...Object.fromEntries(proposed), ...typed }));
}
const own = (body: string) => {
  const common = [
    'id',
    'display_name',
    'secret',
    'status',
    'linking',
    'provisioning',
    'domains',
    'authoritative_domains',
    'username_from',
    'username_local_part',
    'username_suffix',
    'trust_email',
    'default_groups',
    'position',
    'session_lifetime',
    'subdomains',
    'enforced',
    'hidden',
    'store_tokens',
  ];
  return Object.keys(fieldsOf(body)).filter((name) => !common.includes(name));
};

test('the console offers OpenID Connect, four presets, OAuth 2.0, SAML and directories, and no form for anything else (federation 5)', async () => {
  const page = await agent.get('/admin/connections/new');
  const types = [...page.body.matchAll(/href="\/admin\/connections\/new\/([a-z]+)"/g)].map(([, type]) => type);
  expect(types).toEqual(['google', 'microsoft', 'github', 'apple', 'oidc', 'oauth', 'saml', 'directory']);
  for (const type of ['none', '__proto__', 'constructor'])
    expect((await agent.get(`/admin/connections/new/${type}`)).status).toBe(404);
});

test.each([
  ['google', ['client_id'], 'Google doesn’t send groups'],
  ['microsoft', ['client_id', 'graph_groups', 'trust_mfa', 'tenants', 'logout'], 'xms_edov'],
  ['github', ['client_id', 'base', 'organizations'], 'Authorization callback URL'],
  ['apple', ['client_id', 'team_id', 'key_id'], 'Return URL'],
])(
  'the form of %s has few fields of its own, and says where the redirect URI goes (federation 5)',
  async (type, fields, words) => {
    const { body } = await agent.get(`/admin/connections/new/${type}`);
    expect(own(body).sort()).toEqual([...fields].sort());
    expect(body).toContain(words);
    expect(whole(body)).toContain(`${service.issuer}/connections/${type}/callback`);
    // the rest is folded
    const asked = body.slice(body.indexOf('<form class="card"'), body.indexOf('<details'));
    expect([...asked.matchAll(/<label for=/g)].length).toBeLessThanOrEqual(6);
    expect(fieldsOf(body)).toMatchObject({ id: type, display_name: expect.stringMatching(new RegExp(type, 'i')) });
  },
);

describe('a connection', () => {
  test('to GitHub is made by its form, shown without its secret, and changed (federation 5, FR17)', async () => {
    const made = await send('/admin/connections/new/github', {
      id: 'code',
      display_name: 'Code',
      client_id: 'Iv1.1',
      secret: canary,
      status: 'enabled',
      base: providers.github.origin,
      organizations: 'Example-Org\r\nother',
    });
    expect(made.url, made.body.slice(0, 2000)).toContain('/admin/connections/code?done=connection-made');
    expect(made.body).toContain('GitHub');
    expect(whole(made.body)).toContain(providers.github.origin);
    expect(made.body).not.toContain(canary);
    const ruled = await addRule(
      agent,
      { path: '/admin/connections/code', member: 'group_rules', kind: 'equals' },
      { equals: 'a/b', group: 'c' },
    );
    expect(ruled.body).toContain('<bdi>c</bdi> = users with the value <bdi>a/b</bdi>');
    expect(await service.store.connections.find('code')).toMatchObject({
      kind: 'oauth',
      preset: 'github',
      groupRules: [{ equals: 'a/b', group: 'c' }],
      settings: { client_id: 'Iv1.1', organizations: ['Example-Org', 'other'], base: providers.github.origin },
    });
    const edit = await agent.get('/admin/connections/code/edit');
    expect(fieldsOf(edit.body)).toMatchObject({
      organizations: 'Example-Org\nother',
      secret: '',
    });
    const changed = await send('/admin/connections/code/edit', { organizations: '', display_name: 'Code 2' });
    expect(changed.url).toContain('done=connection-changed');
    const stored = (await service.store.connections.find('code'))!;
    // the form has no rules, and keeps them
    expect(stored).toMatchObject({
      displayName: 'Code 2',
      groupRules: [{ equals: 'a/b', group: 'c' }],
      settings: { organizations: [] },
    });
    expect(stored.secretEncrypted).toBeDefined();
  });

  test('by OpenID Connect with private_key_jwt shows the address of its key, to be copied (federation 5)', async () => {
    const made = await send('/admin/connections/new/oidc', {
      id: 'keyed',
      display_name: 'Keyed',
      client_id: 'k',
      issuer: providers.google.origin,
      status: 'enabled',
      token_endpoint_auth_method: 'private_key_jwt',
    });
    expect(whole(made.body)).toContain(`${service.issuer}/connections/keyed/jwks`);
    expect((await agent.get('/admin/connections/code')).body).not.toContain('/connections/code/jwks');
  });

  test('by OAuth 2.0 is made with three addresses, and what is left empty has its default (federation 5)', async () => {
    const { origin } = providers.service;
    const made = await send('/admin/connections/new/oauth', {
      id: 'plain',
      display_name: 'Plain',
      client_id: 'p',
      secret: canary,
      subject_claim: '',
      email_verified_from: '',
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      userinfo_endpoint: `${origin}/me`,
    });
    expect(made.url).toContain('done=connection-made');
    const { settings } = (await service.store.connections.find('plain'))!;
    expect(settings).toMatchObject({ subject_claim: 'sub', email_claim: 'email' });
    expect(settings).not.toHaveProperty('email_verified_from');
  });

  test.each<[string, string, Record<string, string>, string]>([
    ['of Apple with another file', 'apple', { team_id: 'TEAM000001', key_id: 'KEY0000001', secret: 'x' }, '.p8 file'],
    ['of Apple without the team', 'apple', { key_id: 'KEY0000001', secret: appleKey }, 'This is required'],
    ['of Microsoft with common', 'microsoft', { tenants: 'common', secret: 'x' }, 'Enter the IDs of tenants'],
    ['of Microsoft without a secret', 'microsoft', { tenants: tenants[0], status: 'enabled' }, 'Enter the secret'],
    [
      'of GitHub with an inward address',
      'github',
      { base: 'https://10.0.0.1', secret: 'x' },
      'https URL with a public host',
    ],
  ])(
    '%s is not made: the form says why, and keeps what was typed except the secret (federation 5)',
    async (_title, type, typed, words) => {
      const page = await send(`/admin/connections/new/${type}`, {
        id: 'wrong',
        display_name: 'Wrong',
        client_id: 'w',
        ...typed,
      });
      expect(page.status).toBe(400);
      expect(page.body).toContain(words);
      expect(fieldsOf(page.body)).toMatchObject({ id: 'wrong', client_id: 'w', secret: '' });
      expect(await service.store.connections.find('wrong')).toBeUndefined();
    },
  );
});

describe('the command line', () => {
  const run = (args: string[], stdin = '') =>
    runCommand(service, args, {
      stdin,
      environment: {
        OUTBOUND_ALLOW: Object.values(providers)
          .map(({ host }) => host)
          .join(','),
      },
    });

  test('creates each preset, with the secret from standard input, and names the redirect URI and the key (federation 5, FR17)', async () => {
    const cases: [string, string[], string][] = [
      ['google', ['oidc', '--settings', `issuer=${providers.google.origin}`, '--domain', 'corp.example'], canary],
      [
        'microsoft',
        ['oidc', '--settings', `authority=${providers.microsoft.origin}`, '--settings', `tenants=${tenants[0]}`],
        canary,
      ],
      [
        'github',
        [
          'oauth',
          '--settings',
          `base=${providers.github.origin}`,
          '--settings',
          'organizations=one,two',
          '--group-rule',
          'one/a = as',
          '--group-rule',
          'two/* = twos',
          '--group-rule',
          '* = all-*',
        ],
        canary,
      ],
      [
        'apple',
        [
          'oidc',
          '--settings',
          `issuer=${providers.apple.origin}`,
          '--settings',
          'team_id=TEAM000001',
          '--settings',
          'key_id=KEY0000001',
        ],
        // in one line, as a browser's field keeps it, too
        appleKey.replaceAll('\n', ''),
      ],
    ];
    for (const [preset, more, secret] of cases) {
      const args = ['connection', 'create', `cli-${preset}`, more[0]!, '--preset', preset, '--display-name', preset];
      const done = await run([...args, '--secret', '--settings', 'client_id=x', ...more.slice(1)], secret);
      expect(done, done.stderr).toMatchObject({ code: 0 });
      expect(done.stdout).toContain(`${service.issuer}/connections/cli-${preset}/callback`);
      expect(await service.store.connections.find(`cli-${preset}`)).toMatchObject({ preset });
    }
    expect(await service.store.connections.find('cli-github')).toMatchObject({
      groupRules: [
        { equals: 'one/a', group: 'as' },
        { starts_with: 'two/', group: 'twos' },
        { all: true, prefix: 'all-' },
      ],
      settings: { organizations: ['one', 'two'] },
    });
  });

  test('keeps an id of digits as it was typed, changes without the secret, and renews a key (federation 5)', async () => {
    const { origin } = providers.service;
    const args = [
      'connection',
      'create',
      'cli-plain',
      'oauth',
      '--display-name',
      'Plain',
      '--settings',
      'client_id=123456789012345678',
      '--settings',
      `authorization_endpoint=${origin}/authorize`,
      '--settings',
      `token_endpoint=${origin}/token`,
      '--settings',
      `userinfo_endpoint=${origin}/me`,
      '--settings',
      'token_endpoint_auth_method=private_key_jwt',
    ];
    const done = await run([...args, '--status', 'enabled']);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(done.stdout).toContain(`${service.issuer}/connections/cli-plain/jwks`);
    const first = (await service.store.connections.find('cli-plain'))!;
    expect(first.settings).toMatchObject({ client_id: '123456789012345678' });
    expect((await run(['connection', 'change', 'cli-plain', '--settings', 'client_id=42'])).code).toBe(0);
    expect((await run(['connection', 'change', 'cli-plain', '--renew-key'])).code).toBe(0);
    const second = (await service.store.connections.find('cli-plain'))!;
    expect(second.settings).toMatchObject({ client_id: '42' });
    expect(second.keyPublic!['kid']).not.toBe(first.keyPublic!['kid']);
    const shown = await run(['connection', 'show', 'cli-plain']);
    expect(shown.stdout).not.toContain('"d"');
  });

  test('refuses a preset of another kind, and a setting that is not valid, by name (federation 5)', async () => {
    const create = ['connection', 'create', 'cli-wrong'];
    const wrong = await run([
      ...create,
      'oauth',
      '--preset',
      'google',
      '--display-name',
      'x',
      '--settings',
      'client_id=x',
    ]);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('no such preset') });
    const common = ['--settings', 'client_id=x', '--settings', 'tenants=common'];
    const unknown = await run([...create, 'oidc', '--preset', 'microsoft', '--display-name', 'x', ...common]);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('settings.tenants.0') });
  });

  test('links a user of one of several tenants only with the issuer (federation FR1)', async () => {
    const several = ['--settings', `tenants=${tenants.join(',')}`];
    expect((await run(['connection', 'change', 'cli-microsoft', ...several])).code).toBe(0);
    await service.createUser({ username: 'linked' });
    const link = ['user', 'link', 'linked', 'cli-microsoft', '00000000-0000-4000-8000-000000000001'];
    expect(await run(link)).toMatchObject({ code: 1, stderr: expect.stringContaining('issuer') });
    const issuer = `${providers.microsoft.origin}/${tenants[1]}/v2.0`;
    const done = await run([...link, '--issuer', issuer]);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    const found = await service.database.sql(
      `SELECT issuer FROM linked_identities WHERE connection_id = 'cli-microsoft'`,
    );
    expect(found).toEqual([{ issuer }]);
  });
});
