// What the options of commands set, empty, and read from files.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let folder: string;
let keys: string;
beforeAll(async () => {
  service = await startTestService();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-options-'));
  keys = join(folder, 'jwks.json');
  const { publicKey } = await generateKeyPair('PS256');
  writeFileSync(keys, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'PS256' }] }));
  const settings = ['--preset', 'github', '--settings', 'client_id=x'];
  await json('connection', 'create', 'corp', 'oauth', '--display-name', 'Corp', ...settings);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await service?.stop();
});

const run = (...args: string[]) => runCommand(service, args);
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
};

const made = async (...options: string[]) =>
  (await json('client', 'create', '--name', 'App', '--redirect-uri', 'https://app.example/cb', ...options))[
    'client_id'
  ] as string;

/** Each change command: what sets members, and the names that empty them, with the members of the answer afterwards. */
const changes: Record<
  string,
  { make: () => Promise<string>; set: string[]; unset: Record<string, [string, unknown]> }
> = {
  'connection change': {
    make: () => Promise.resolve('corp'),
    set: [
      '--domain',
      'corp.example',
      '--authoritative-domain',
      'corp.example',
      '--group-rule',
      'a = b',
      '--default-group',
      'staff',
      '--session-lifetime',
      '600',
      '--hidden',
      '--subdomains',
      '--enforced',
      '--trust-mfa',
      '--store-tokens',
      '--settings',
      'scope=openid email',
      '--settings',
      'client_id=x',
    ],
    unset: {
      domain: ['domains', []],
      'authoritative-domain': ['authoritative_domains', []],
      'group-rule': ['group_rules', []],
      'default-group': ['default_groups', []],

      'session-lifetime': ['session_lifetime', undefined],
      hidden: ['hidden', false],
      enforced: ['enforced', false],
      subdomains: ['subdomains', false],
      'trust-mfa': ['trust_mfa', false],
      'store-tokens': ['store_tokens', false],
      secret: ['secret', { set: false }],
    },
  },
  'resource change': {
    async make() {
      const client = await made();
      await json('resource', 'create', 'https://api.example/', '--name', 'API', '--client', client);
      return 'https://api.example/';
    },
    set: [
      '--scope',
      'read=Read things',
      '--required-acr',
      'urn:gatehouse:acr:mfa',
      '--public',
      '--access-token-lifetime',
      '60',
      '--token-claim',
      'email',
    ],
    unset: {
      scope: ['scopes', []],
      'required-acr': ['required_acr', undefined],
      public: ['public', false],
      'access-token-lifetime': ['access_token_lifetime', undefined],
      'token-claim': ['token_claims', []],
      client: ['client_id', undefined],
    },
  },
  'sign-up-link change': {
    async make() {
      await json('group', 'create', 'crew');
      const end = new Date(Date.now() + 86_400_000).toISOString();
      await json('sign-up-link', 'create', 'Crew', '--uses', '3', '--expires-at', end);
      return 'Crew';
    },
    set: ['--group', 'crew', '--domain', 'example.com', '--status', 'disabled'],
    unset: { group: ['groups', []], domain: ['domain', undefined] },
  },
  'webhook change': {
    async make() {
      await json('webhook', 'create', 'Hook', '--url', 'https://hooks.example/', '--event', 'user.*');
      await json('webhook', 'add-secret', 'Hook');
      return 'Hook';
    },
    set: ['--status', 'disabled'],
    unset: { 'second-secret': ['second_secret', { set: false }] },
  },
  'exchange-policy change': {
    async make() {
      await json('resource', 'create', 'https://exchange.example/', '--name', 'Exchange');
      const { client_id: id } = await json(
        'client',
        'create',
        '--name',
        'Gateway',
        '--grant-type',
        'client_credentials',
      );
      await json(
        'exchange-policy',
        'create',
        'Gateway',
        '--client',
        String(id),
        '--resource',
        'https://exchange.example/',
        '--scope',
        'read',
        '--subject-client',
        String(id),
      );
      return 'Gateway';
    },
    set: ['--mode', 'impersonate', '--status', 'disabled', '--scope', 'write'],
    unset: { 'subject-client': ['subject_clients', []] },
  },
  'authorization-details-type change': {
    async make() {
      const schema = join(folder, 'schema.json');
      writeFileSync(schema, JSON.stringify({ type: 'object', properties: { amount: { type: 'string' } } }));
      await json('resource', 'create', 'https://details.example/', '--name', 'Details');
      await json(
        'authorization-details-type',
        'create',
        'payment',
        '--schema',
        schema,
        '--text',
        'en=Pay {amount}',
        '--resource',
        'https://details.example/',
        '--required-acr',
        'phr',
      );
      return 'payment';
    },
    set: ['--removable', '--status', 'disabled', '--text', 'en=Pay', '--text', 'de=Zahlen'],
    unset: {
      resource: ['resources', []],
      'required-acr': ['required_acr', undefined],
      removable: ['removable', false],
    },
  },
  'trusted-issuer change': {
    async make() {
      await json('resource', 'create', 'https://issuers.example/', '--name', 'Issuers');
      const { client_id: id } = await json('client', 'create', '--name', 'Agent', '--grant-type', 'client_credentials');
      await json(
        'trusted-issuer',
        'create',
        'Partner',
        '--issuer',
        'https://partner.example',
        '--jwks-uri',
        'https://partner.example/jwks',
        '--resource',
        'https://issuers.example/',
        '--scope',
        'read',
        '--client',
        String(id),
        '--email-domain',
        'partner.example',
      );
      return 'Partner';
    },
    set: ['--subject', 'email', '--status', 'disabled', '--max-lifetime', '60', '--scope', 'write'],
    unset: { client: ['clients', []] },
  },
  'connected-server change': {
    async make() {
      const { client_id: id } = await json(
        'client',
        'create',
        '--name',
        'Portal',
        '--grant-type',
        'client_credentials',
      );
      const client = `${String(id)}=${JSON.stringify({ id: 'there', scopes: ['read'] })}`;
      await json(
        'connected-server',
        'create',
        'Partner',
        '--issuer',
        'https://as.partner.example',
        '--client',
        client,
        '--resource',
        'https://api.partner.example/',
      );
      return 'Partner';
    },
    set: ['--subject', 'pairwise', '--status', 'disabled'],
    unset: { resource: ['resources', []] },
  },
  'scim-source change': {
    async make() {
      await json('scim-source', 'create', 'entra', '--name', 'Entra', '--connection', 'corp');
      return 'entra';
    },
    set: ['--name', 'Other', '--status', 'disabled', '--on-delete', 'delete', '--group-prefix', 'Entra '],
    unset: { connection: ['connection_id', undefined] },
  },
  'provisioning-target change': {
    async make() {
      await json('group', 'create', 'crew-out');
      const client = await made();
      const { code } = await runCommand(
        service,
        ['provisioning-target', 'create', client, '--base-url', 'https://app.example/scim', '--bearer-token'],
        { stdin: 'token' },
      );
      expect(code).toBe(0);
      return client;
    },
    set: ['--group', 'crew-out', '--attribute', 'locale', '--leave', 'delete', '--status', 'disabled'],
    unset: { group: ['groups', []], attribute: ['attributes', []] },
  },
  'attribute change': {
    async make() {
      await json('attribute', 'create', 'floor', '--type', 'string');
      return 'floor';
    },
    set: ['--label', 'en=Floor', '--choice', 'one', '--max', '20', '--unique'],
    unset: { label: ['label', {}], choice: ['choices', undefined], max: ['max', undefined], unique: ['unique', false] },
  },
  'scope change': {
    async make() {
      await json('scope', 'create', 'team', '--claim', 'email');
      return 'team';
    },
    set: ['--text', 'en=Your team'],
    unset: { text: ['text', {}] },
  },
  'client access': {
    make: () => made(),
    set: [
      '--access',
      'everyone',
      '--group',
      'staff',
      '--connection',
      'corp',
      '--upstream-token',
      'corp',
      '--network',
      '192.0.2.0/24',
      '--start-uri',
      'https://app.example/',
      '--start-hidden',
    ],
    unset: {
      group: ['access_groups', []],
      connection: ['connections', []],
      'upstream-token': ['upstream_tokens', []],
      network: ['networks', []],
      'start-uri': ['start_uri', undefined],
      'start-hidden': ['start_hidden', false],
    },
  },
  'client site': {
    async make() {
      const made = await json('client', 'create', '--kind', 'proxy', '--name', 'Wiki', '--host', 'wiki.example.com');
      return made['client_id'] as string;
    },
    set: [
      '--host',
      'docs.example.com',
      '--header',
      'remote-user',
      '--open-path',
      '/public/',
      '--session-lifetime',
      '600',
    ],
    unset: {
      header: ['headers', undefined],
      'open-path': ['open_paths', undefined],
      'session-lifetime': ['session_lifetime', undefined],
    },
  },
  'client claims': {
    make: () => made(),
    set: ['--rule', '{"claim":"role","from":"groups","as":"first","into":["id_token"]}'],
    unset: { rule: ['claim_rules', undefined] },
  },
  'client require-acr': {
    make: () => made(),
    set: ['urn:gatehouse:acr:mfa'],
    unset: { 'required-acr': ['required_acr', undefined] },
  },
};

test.each(Object.entries(changes))(
  '%s sets members, and --unset empties each of them by the name of its option (reports D)',
  async (name, { make, set, unset }) => {
    const command = [...name.split(' '), await make()];
    const before = await json(...command, ...set);
    const { stdout: help } = await run(...command, '--help');
    for (const [option, [member, empty]] of Object.entries(unset)) {
      if (member !== 'secret') expect(before[member], option).not.toEqual(empty);
      expect(help).toMatch(new RegExp(`Removes the value of: [^\\n]*\\b${option}\\b`));
      expect((await json(...command, '--unset', option))[member], option).toEqual(empty);
    }
    const again = Object.keys(unset).flatMap((option) => ['--unset', option]);
    expect(await json(...command, ...again)).toMatchObject({});
    expect(await run(...command, '--unset', 'nothing-such')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^--unset cannot remove nothing-such\. .*\b[a-z-]+\b/) as string,
    });
  },
);

test('one entry of a member that is merged is removed by its name (reports D)', async () => {
  await json('attribute', 'create', 'desk', '--type', 'string');
  await service.createUser({ username: 'ada' });
  const ada = ['user', 'set-attributes', 'ada'];
  expect(await json(...ada, '--attribute', 'desk=12')).toMatchObject({ attributes: { desk: '12' } });
  expect((await json(...ada, '--unset', 'attribute.desk'))['attributes'] ?? {}).toEqual({});
  const corp = ['connection', 'change', 'corp'];
  const bases = [
    ['--settings', 'base=https://git.corp.example'],
    ['--unset', 'settings.base'],
  ];
  for (const [index, change] of bases.entries())
    expect(await json(...corp, ...change)).toMatchObject({
      settings: { base: ['https://git.corp.example', 'https://github.com'][index], client_id: 'x' },
    });
  expect(await run(...corp, '--unset', 'settings')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('settings.KEY') as string,
  });
});

test('a value that is set and removed at once is refused, and so is a name whose member needs a value (reports D)', async () => {
  const corp = ['connection', 'change', 'corp'];
  const both = await run(...corp, '--domain', 'a.example', '--unset', 'domain');
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('--unset domain') as string });
  for (const needed of ['display-name', 'renew-key', 'status'])
    expect((await run(...corp, '--unset', needed)).code, needed).toBe(1);
});

test('the word none is a value like any other (reports D)', async () => {
  const access = ['client', 'access', await made()];
  expect(await json(...access, '--group', 'none')).toMatchObject({ access_groups: ['none'] });
  for (const option of ['--network', '--start-uri', '--connection'])
    expect((await run(...access, option, 'none')).code, option).toBe(1);
  for (const one of [
    ['require-acr', access[2]!, 'none'],
    ['claims', access[2]!, '--rule', 'none'],
  ])
    expect((await run('client', ...one)).code, one.join(' ')).toBe(1);
});

test('rules for claims are objects in JSON, and what is not one is refused with an example (reports B1)', async () => {
  const claims = ['client', 'claims', await made()];
  const rules = [
    { claim: 'role', from: 'groups', only: { prefix: 'app-' }, strip: 'app-', as: 'first', into: ['id_token'] },
    { claim: 'tenant', from: 'constant', value: 7, into: ['userinfo'] },
  ];
  const given = rules.flatMap((rule) => ['--rule', JSON.stringify(rule)]);
  expect(await json(...claims, ...given)).toMatchObject({ claim_rules: rules });
  for (const wrong of ['a=b', '[]', '"text"', '{"claim"', 'null'])
    expect(await run(...claims, '--rule', wrong)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^--rule must be an object in JSON/) as string,
    });
  const refused = await run(...claims, '--rule', '{"claim":"sub","from":"groups","into":["id_token"]}');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('claim_rules.0.claim must be') as string });
});

test('a client is created with keys from a file, with the address of its keys, and with a FAPI 2.0 profile (reports E4)', async () => {
  const fapi = ['--auth-method', 'private_key_jwt', '--fapi2', 'security'];
  const create = ['client', 'create', '--name', 'Bank', '--redirect-uri', 'https://bank.example/cb'];
  const byFile = await json(...create, ...fapi, '--jwks', keys);
  expect(byFile).toMatchObject({ fapi2: 'security', jwks: { keys: [{ kid: 'k' }] } });
  const byAddress = await json(...create, ...fapi, '--jwks-uri', 'https://bank.example/jwks');
  expect(byAddress).toMatchObject({ fapi2: 'security', jwks_uri: 'https://bank.example/jwks' });
  const wrong = join(folder, 'wrong.json');
  writeFileSync(wrong, 'kty=RSA');
  for (const [file, sentence] of [
    [join(folder, 'missing.json'), /missing\.json does not exist\.$/m],
    [folder, /is a directory\.$/m],
    [wrong, /wrong\.json must be an object in JSON/],
  ] as const)
    expect(await run(...create, '--jwks', file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(sentence) as string,
    });
});

test('with FAPI2 set an administrator creates a client by command, and messages keep the letters of members (reports E4)', async () => {
  const environment = { FAPI2: 'message_signing' };
  const create = ['client', 'create', '--name', 'Bank', '--redirect-uri', 'https://bank.example/cb'];
  const refused = await runCommand(service, create, { environment });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^fapi2 requires token_endpoint_auth_method private_key_jwt/) as string,
  });
  const good = [...create, '--auth-method', 'private_key_jwt', '--jwks', keys, '--json'];
  const { code, stdout, stderr } = await runCommand(service, good, { environment });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ fapi2: 'message_signing' });
});
