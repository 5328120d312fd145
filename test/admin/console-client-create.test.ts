// The console creates a client by its kind: few fields, the defaults that the standards recommend, and snippets that work.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import { clientKinds } from '../../src/admin/operations/client-kinds/kinds.ts';
import { runCommand } from '../helpers/command-line.ts';
import { filledForm, openConsole } from '../helpers/console.ts';
import { createOfKind, credential, snippetsOf } from '../helpers/created-client.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let user: Awaited<ReturnType<TestService['createUser']>>;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-snippets-'));
beforeAll(async () => {
  service = await startTestService({ environment: { DEVICE_GRANT: 'on' } });
  ({ agent } = await openConsole(service, await service.createUser({ admin: true })));
  user = await service.createUser({ claims: { name: 'Alice Adams' } });
  symlinkSync(resolve(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service?.stop();
});

const at = (path: string) => agent.get(`/admin/clients${path}`);
const stored = async (page: Page) => (await service.store.clients.find(credential(page, 'client_id')!))!;
/** The names of the form's controls, apart from hidden ones; several checkboxes of one field count once. */
const controls = (html: string) => [
  ...new Set(
    [...html.matchAll(/<(?:input|textarea|select)(?! type="hidden") [^>]*name="([^".]+)/g)]
      .map(([, name]) => name!)
      .filter((name) => name !== 'q'),
  ),
];
const parts = (page: Page) => {
  const form = page.body.slice(page.body.indexOf('<form class="edit"'));
  const start = form.indexOf('<details');
  return { asked: controls(form.slice(0, start)), advanced: controls(form.slice(start)) };
};

const web = { client_name: 'Harbour', redirect_uris: 'https://harbour.example/callback' };
const spa = { client_name: 'Lantern', redirect_uris: 'https://lantern.example/' };
const native = { client_name: 'Buoy', redirect_uris: 'http://127.0.0.1/callback\ncom.example.buoy:/callback' };
const device = { client_name: 'Beacon' };
const machine = { client_name: 'Tide' };
const api = { client_name: 'Logbook' };
const proxy = { client_name: 'Wiki', hosts: 'wiki.example.com' };
/** The least that an administrator types, by kind. */
const least: Record<string, Record<string, string>> = { web, spa, native, device, machine, api, proxy };

describe('the pages', () => {
  test('the first page asks for the kind alone: a link to the form of each (pages, clients)', async () => {
    const page = await at('/new');
    expect(page.status).toBe(200);
    const links = [...page.body.matchAll(/href="\/admin\/clients\/new\/(\w+)"[^>]*>([^<]*)/g)];
    expect(links.map(([, name, words]) => [name, words])).toEqual([
      ['web', 'Web application'],
      ['spa', 'Single-page application'],
      ['native', 'Mobile or desktop'],
      ['device', 'Device'],
      ['machine', 'Machine to machine'],
      ['api', 'API (resource server)'],
      ['proxy', 'Protected site'],
      ['saml', 'SAML application'],
    ]);
    expect(controls(page.body)).toEqual([]);
    expect((await at('/new/nothing')).status).toBe(404);
  });

  test.each([
    ['web', ['client_name', 'redirect_uris', 'post_logout_redirect_uris', 'start_uri']],
    ['spa', ['client_name', 'redirect_uris', 'post_logout_redirect_uris', 'start_uri']],
    ['native', ['client_name', 'redirect_uris']],
    ['device', ['client_name', 'client_uri']],
    ['machine', ['client_name', 'scope', 'introspect']],
    ['api', ['client_name', 'resource_uris']],
    ['proxy', ['client_name', 'hosts', 'access', 'access_groups']],
    ['saml', ['client_name', 'saml_preset', 'saml_metadata_uri', 'saml_metadata']],
  ])(
    'the form of the kind %s asks for at most four fields; the others are under Advanced (pages, clients)',
    async (kind, fields) => {
      const page = await at(`/new/${kind}`);
      const { asked, advanced } = parts(page);
      expect(asked).toEqual(fields);
      expect(page.body).toMatch(/<details class="card group">/);
      expect(advanced).not.toEqual(expect.arrayContaining([expect.toBeOneOf(fields)]));
      expect(page.body).not.toContain('registration_access_token');
    },
  );

  test('a form offers no field that its kind has no use for: no secret or key for a public client, no address or user for a machine (pages, clients)', async () => {
    const shown = async (kind: string) => parts(await at(`/new/${kind}`)).advanced;
    for (const kind of ['spa', 'native']) {
      const fields = await shown(kind);
      for (const name of ['token_endpoint_auth_method', 'jwks', 'grant_types', 'uma_profile', 'backchannel_logout_uri'])
        expect(fields, kind).not.toContain(name);
      expect(fields).toContain('access_token_lifetime');
    }
    const fields = await shown('machine');
    for (const name of ['redirect_uris', 'logo_uri', 'id_token_signed_response_alg', 'refresh_token_lifetime'])
      expect(fields).not.toContain(name);
    expect(fields).toContain('token_endpoint_auth_method');
    expect(await shown('web')).toEqual(expect.arrayContaining(['token_endpoint_auth_method', 'jwks', 'grant_types']));
  });

  test('every field that a kind leaves out exists on the page that changes clients (pages, clients)', async () => {
    const { clientId } = await service.createClient();
    const fields = controls((await at(`/${clientId}/edit`)).body);
    // the others have a form of their own
    for (const kind of clientKinds.filter(({ stored }) => stored === undefined))
      expect(fields, kind.name).toEqual(expect.arrayContaining([...kind.unused, ...kind.asked]));
  });

  test('a fault under Advanced opens it, and a fault of a field that the kind leaves out shows this field (pages, clients)', async () => {
    const wrong = await createOfKind(agent, 'spa', { ...spa, access_token_lifetime: 'soon' });
    expect(wrong.status).toBe(400);
    expect(wrong.body).toMatch(/<details class="card group" open>/);
    expect(wrong.body).toContain('<p class="fault" id="access_token_lifetime-fault">');
    // one faulty field says so itself, several are listed at the top
    expect(wrong.body).not.toContain('id="problem"');
    const both = await createOfKind(agent, 'spa', { ...spa, access_token_lifetime: 'soon', logo_uri: 'nowhere' });
    expect(both.body).toContain('The client wasn’t created');
    expect(filledForm(wrong)).toMatchObject(spa);
    const unnamed = await createOfKind(agent, 'spa', { ...spa, client_name: ' ' });
    expect(unnamed.status).toBe(400);
    expect(unnamed.body).toContain('<p class="fault" id="client_name-fault">');
    const together = await createOfKind(agent, 'spa', { ...spa, id_token_signed_response_alg: 'HS256' });
    expect(together.body).toContain('<p class="fault" id="token_endpoint_auth_method-fault">');
  });
});

describe('the new client', () => {
  const code = {
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    require_pkce: true,
    id_token_signed_response_alg: 'RS256',
  };
  test.each([
    [
      'web',
      {
        ...code,
        application_type: 'web',
        token_endpoint_auth_method: 'client_secret_basic',
        scope: 'openid profile email',
      },
    ],
    ['spa', { ...code, application_type: 'web', token_endpoint_auth_method: 'none', scope: 'openid profile email' }],
    [
      'native',
      {
        ...code,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        scope: 'openid profile email offline_access',
      },
    ],
    [
      'device',
      {
        grant_types: [deviceGrant, 'refresh_token'],
        response_types: [],
        redirect_uris: [],
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        scope: 'openid profile email offline_access',
      },
    ],
    [
      'machine',
      {
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: 'client_secret_basic',
        scope: '',
      },
    ],
    [
      'api',
      {
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: 'client_secret_basic',
        scope: '',
      },
    ],
  ])(
    'a client of the kind %s has the defaults of the standards, whoever creates it: console, HTTP API or command line (RFC 9700 2.1, RFC 8252 8.1)',
    async (kind, metadata) => {
      const page = await createOfKind(agent, kind, least[kind]!);
      expect(page.status).toBe(200);
      const inConsole = await stored(page);
      expect(inConsole).toMatchObject({ status: 'enabled', approvedBy: 'administrator', firstParty: false, metadata });
      const redirect_uris = least[kind]!['redirect_uris']?.split('\n');
      const { client_name } = least[kind]!;
      const token = await adminToken(service);
      const body = { kind, client_name, ...(redirect_uris && { redirect_uris }) };
      const byApi = await call(`${service.issuer}/admin/api/clients`, { token, body });
      expect(byApi.status).toBe(201);
      const options = redirect_uris?.flatMap((uri) => ['--redirect-uri', uri]) ?? [];
      const args = ['client', 'create', '--name', client_name!, '--kind', kind, ...options, '--json'];
      const byCommand = JSON.parse((await runCommand(service, args)).stdout) as { client_id: string };
      for (const clientId of [String(byApi.body['client_id']), byCommand.client_id])
        expect((await service.store.clients.find(clientId))!.metadata).toEqual(inConsole.metadata);
    },
  );

  test.each([
    ['client_secret_basic', 'Web application', 'Mobile or desktop'],
    ['none', 'Mobile or desktop', 'Web application'],
  ])(
    'a client on the loopback with the method %s is shown as a %s (pages, clients)',
    async (token_endpoint_auth_method, is, isNot) => {
      const uris = ['http://127.0.0.1:9000/cb'];
      const { clientId } = await service.createClient({ redirect_uris: uris, token_endpoint_auth_method });
      const { body } = await agent.get(`/admin/clients/${clientId}`);
      expect(body).toContain(is);
      expect(body).not.toContain(isNot);
    },
  );

  test('the HTTP API refuses an unknown kind, and given members replace those of the kind (pages, clients)', async () => {
    const token = await adminToken(service);
    const create = (body: object) => call(`${service.issuer}/admin/api/clients`, { token, body });
    expect(await create({ kind: 'robot', client_name: 'X' })).toMatchObject({
      status: 400,
      body: {
        error: 'invalid_request',
        error_description: expect.stringContaining('web, spa, native, device, machine, api'),
      },
    });
    const own = {
      kind: 'web',
      redirect_uris: ['https://quay.example/cb'],
      token_endpoint_auth_method: 'client_secret_post',
    };
    expect((await create(own)).body).toMatchObject({
      token_endpoint_auth_method: 'client_secret_post',
      require_pkce: true,
    });
  });

  test('the result shows a secret only to a client that has one, once, and no credential that the kind does not need (pages, clients)', async () => {
    const names = ['client_id', 'issuer', 'client_secret', 'shared_secret', 'registration_access_token'];
    const shown = (page: Page) => names.filter((name) => credential(page, name) !== undefined);
    for (const kind of ['web', 'machine', 'api']) {
      const page = await createOfKind(agent, kind, least[kind]!);
      expect(shown(page)).toEqual(['client_id', 'issuer', 'client_secret']);
      expect(page.body).toContain('You won’t be able to see it again.');
      expect((await at(`/${credential(page, 'client_id')}`)).body).not.toContain(credential(page, 'client_secret'));
    }
    for (const kind of ['spa', 'native', 'device']) {
      const page = await createOfKind(agent, kind, least[kind]!);
      expect(shown(page)).toEqual(['client_id', 'issuer']);
      expect(page.body).not.toMatch(/client_secret|CLIENT_SECRET/);
    }
    const managed = await createOfKind(agent, 'web', { ...web, self_managed: 'true' });
    expect(shown(managed)).toContain('registration_access_token');
  });

  test('each value has a button that only a script shows, and can be selected without one (pages, clients)', async () => {
    const page = await createOfKind(agent, 'web', web);
    for (const id of ['client_id', 'client_secret', 'snippet-openid-client'])
      expect(page.body).toMatch(new RegExp(`<button type="button" [^>]*hidden data-copy="${id}"`));
    expect(page.body).toMatch(/<script src="\/assets\/copy\.[0-9a-f]+\.js" defer>/);
    expect(page.body.match(/<details name="snippet"/g)).toHaveLength(4);
  });
});

describe('the snippets', () => {
  /** Opens the address in a browser, signs in, and returns the address to which the service sends the browser back. */
  async function signInAt(address: string): Promise<string> {
    const browser = new UserAgent(service);
    let page = await browser.signIn(user, await browser.follow(await browser.get(address)));
    if (page.body.includes('id="allow"')) page = await browser.submit(page, { decision: 'allow' });
    return page.location!;
  }
  function start(program: string, environment: Record<string, string>) {
    const file = join(folder, `${environment['PORT'] ?? 'app'}.mjs`);
    writeFileSync(file, program);
    const child = spawn(process.execPath, [file], { env: { ...process.env, ...environment } });
    child.stderr.pipe(process.stderr);
    return child;
  }
  const secretOf = (page: Page) => ({ CLIENT_SECRET: credential(page, 'client_secret')! });

  test('the program for openid-client signs a user in with what the page says (pages, clients)', async () => {
    const port = await freePort();
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    const page = await createOfKind(agent, 'web', { ...web, redirect_uris: redirectUri });
    const child = start(snippetsOf(page)['openid-client']!, { ...secretOf(page), PORT: String(port) });
    try {
      const open = (address: string, cookie = '') => fetch(address, { redirect: 'manual', headers: { cookie } });
      const home = `http://127.0.0.1:${port}/`;
      await expect
        .poll(() =>
          open(home).then(
            ({ status }) => status,
            () => 0,
          ),
        )
        .toBe(302);
      const first = await open(home);
      const cookie = first.headers.get('set-cookie')!.split(';')[0]!;
      const answer = await signInAt(first.headers.get('location')!);
      expect(answer).toContain(redirectUri);
      expect((await open(answer)).status).toBe(400);
      expect(await (await open(answer, cookie)).text()).toBe('Signed in as Alice Adams\n');
    } finally {
      child.kill();
      await once(child, 'close');
    }
  });

  test('the program for a desktop signs a user in at a loopback address with any port (RFC 8252 7.3)', async () => {
    const page = await createOfKind(agent, 'native', native);
    const child = start(snippetsOf(page)['loopback']!, {});
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const address = /https?:.*/.exec(String((await lines.next()).value))![0];
      const answer = await signInAt(address);
      expect(answer).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?/);
      expect(await (await fetch(answer)).text()).toContain('You can close this window.');
      expect((await lines.next()).value).toBe('Signed in as Alice Adams');
    } finally {
      child.kill();
    }
  });

  test('the program for a device shows the address and the code, and gets tokens once the user allowed it (RFC 8628 3.3)', async () => {
    const page = await createOfKind(agent, 'device', device);
    const child = start(snippetsOf(page)['device']!, {});
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const [, address, code] = /^Open (\S+) and enter the code (\S+)$/.exec(String((await lines.next()).value))!;
      const browser = new UserAgent(service);
      await browser.signIn(user, await browser.follow(await browser.get(address!)));
      await browser.submit(await browser.get(`${address}?user_code=${code}`), { decision: 'allow' });
      expect((await lines.next()).value).toBe('Signed in as Alice Adams');
    } finally {
      child.kill();
    }
  });

  test('the commands for a device get its codes and poll (RFC 8628 3.1, 3.4)', async () => {
    const page = await createOfKind(agent, 'device', device);
    const [first, second] = snippetsOf(page)['device-curl']!.split('\n\n');
    const run = (command: string, environment: Record<string, string> = {}) => {
      const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', command], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...environment },
      });
      return text(child.stdout).then((stdout) => JSON.parse(stdout) as Record<string, string>);
    };
    const codes = await run(first!);
    expect(codes['user_code']).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(await run(second!, { DEVICE_CODE: codes['device_code']! })).toMatchObject({
      error: 'authorization_pending',
    });
  });

  test.each([
    ['', '"active":true'],
    ['admin', '"clients":['],
  ])('the commands for a machine with the scope “%s” get a token and use it (RFC 6749 4.4)', async (scope, answer) => {
    const scopes: Record<string, string> = scope === '' ? {} : { 'scope.0': 'on' };
    const page = await createOfKind(agent, 'machine', { ...machine, ...scopes });
    expect((await stored(page)).metadata.scope).toBe(scope);
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', snippetsOf(page)['curl']!], {
      // with a socket as its input, bash reads the start files of the machine
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...secretOf(page) },
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining(answer) as string, stderr: '' });
    expect(stdout).toContain('"active":true');
  });

  describe('of an API', () => {
    const resource = 'https://logbook.example/v1';
    const admin = async (path: string, body?: object) =>
      call(`${service.issuer}/admin/api${path}`, { token: await adminToken(service), ...(body && { body }) });

    test('verify its access tokens and no others, and introspect them, with the resource that the form created (RFC 9068 4, RFC 7662 2, protocols 5.1)', async () => {
      const page = await createOfKind(agent, 'api', { ...api, resource_uris: resource });
      const clientId = credential(page, 'client_id')!;
      const made = (await service.store.resources.find(resource))!;
      expect(made).toMatchObject({ clientId, accessTokenFormat: 'jwt', clients: 'approved' });
      expect(page.body).toContain(`href="/admin/resources/${made.id}"`);
      const snippets = snippetsOf(page);
      expect(Object.keys(snippets)).toEqual(['api-jose', 'api-spring', 'api-curl']);
      for (const name of ['api-jose', 'api-spring']) expect(snippets[name]).toContain(`"${resource}"`);

      const caller = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: '' });
      const tokenFor = async (fields: Record<string, string>) => {
        const { body } = await tokenRequest(service.issuer, caller, { grant_type: 'client_credentials', ...fields });
        return String(body['access_token']);
      };
      await admin('/resources', {
        resource: 'https://other.example',
        name: 'Other',
        access_token_format: 'jwt',
        clients: 'approved',
      });
      const [good, ...wrong] = [
        await tokenFor({ resource }),
        await tokenFor({ resource: 'https://other.example' }),
        await tokenFor({}),
      ];
      const port = await freePort();
      const child = start(snippets['api-jose']!, { PORT: String(port) });
      try {
        const ask = (authorization: string) => fetch(`http://127.0.0.1:${port}/`, { headers: { authorization } });
        const status = () =>
          ask('').then(
            (answer) => answer.status,
            () => 0,
          );
        await expect.poll(status).toBe(401);
        const answer = await ask(`Bearer ${good}`);
        expect([answer.status, await answer.json()]).toEqual([
          200,
          { sub: caller.clientId, client_id: caller.clientId, scope: '' },
        ]);
        for (const token of wrong) expect((await ask(`Bearer ${token}`)).status).toBe(401);
      } finally {
        child.kill();
        await once(child, 'close');
      }
      const introspected = async (token: string) => {
        const environment = { ...process.env, ...secretOf(page), TOKEN: token };
        const curl = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', snippets['api-curl']!], {
          stdio: ['ignore', 'pipe', 'inherit'],
          env: environment,
        });
        return JSON.parse(await text(curl.stdout)) as Record<string, unknown>;
      };
      expect(await introspected(good)).toMatchObject({ active: true, aud: [resource, clientId] });
      for (const token of wrong) expect(await introspected(token)).toEqual({ active: false });
    });

    test('are fewer without a resource, and the page leads to the form for one (pages, clients)', async () => {
      const page = await createOfKind(agent, 'api', api);
      expect(Object.keys(snippetsOf(page))).toEqual(['api-curl']);
      expect(page.body).toContain('href="/admin/resources/new"');
    });

    test('the HTTP API and the command line create the resource, too (protocols 1.1)', async () => {
      const [first, second] = ['https://by-api.example', 'https://by-command.example'];
      const byApi = await admin('/clients', { kind: 'api', client_name: 'By API', resource_uris: [first] });
      expect(byApi.status).toBe(201);
      const args = ['client', 'create', '--name', 'By command', '--kind', 'api', '--resource-uri', second];
      expect((await runCommand(service, args)).stderr).toBe('');
      for (const uri of [first, second])
        expect(await service.store.resources.find(uri)).toMatchObject({ accessTokenFormat: 'jwt' });
    });
  });

  test('the configurations name the issuer, the client ID, the redirect URI and the scopes of the client (pages, clients)', async () => {
    const page = await createOfKind(agent, 'web', { ...web, post_logout_redirect_uris: 'https://harbour.example/bye' });
    const snippets = snippetsOf(page);
    const clientId = credential(page, 'client_id')!;
    expect(Object.keys(snippets)).toEqual(['openid-client', 'spring', 'apache', 'oauth2-proxy']);
    for (const snippet of Object.values(snippets)) expect(snippet).not.toContain(secretOf(page).CLIENT_SECRET);

    const yaml = Object.fromEntries(
      [...snippets['spring']!.matchAll(/^ +([\w-]+): (.+)$/gm)].map(([, key, value]) => [
        key,
        value!.replace(/^"|"$/g, ''),
      ]),
    );
    expect(yaml).toEqual({
      'client-id': clientId,
      'client-secret': '${CLIENT_SECRET}',
      'client-authentication-method': 'client_secret_basic',
      'authorization-grant-type': 'authorization_code',
      'redirect-uri': web.redirect_uris,
      scope: 'openid,profile,email',
      'issuer-uri': service.issuer,
    });

    const directives = Object.fromEntries(
      [...snippets['apache']!.matchAll(/^(OIDC\w+) "?([^"\n]*)"?$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(directives).toEqual({
      OIDCProviderMetadataURL: `${service.issuer}/.well-known/openid-configuration`,
      OIDCClientID: clientId,
      OIDCClientSecret: '${CLIENT_SECRET}',
      OIDCRedirectURI: web.redirect_uris,
      OIDCDefaultLoggedOutURL: 'https://harbour.example/bye',
      OIDCScope: 'openid profile email',
      OIDCPKCEMethod: 'S256',
      OIDCCryptoPassphrase: '${SESSION_KEY}',
    });

    const toml = Object.fromEntries(
      [...snippets['oauth2-proxy']!.matchAll(/^(\w+) = (.+)$/gm)].map(([, key, value]) => [
        key,
        JSON.parse(value!) as unknown,
      ]),
    );
    expect(toml).toMatchObject({
      provider: 'oidc',
      oidc_issuer_url: service.issuer,
      client_id: clientId,
      redirect_url: web.redirect_uris,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    });
  });

  test('the programs for browsers and telephones name the issuer, the client ID and the redirect URI of the client (pages, clients)', async () => {
    const strings = (snippet: string) => [...snippet.matchAll(/"([^"]*)"/g)].map(([, value]) => value);
    const browser = await createOfKind(agent, 'spa', {
      ...spa,
      post_logout_redirect_uris: 'https://lantern.example/bye',
    });
    const inBrowser = snippetsOf(browser);
    expect(Object.keys(inBrowser)).toEqual(['oidc-client-ts', 'browser']);
    expect(strings(inBrowser['oidc-client-ts']!)).toEqual([
      service.issuer,
      credential(browser, 'client_id'),
      spa.redirect_uris,
      'https://lantern.example/bye',
      'openid profile email',
    ]);

    const telephone = await createOfKind(agent, 'native', native);
    const snippets = snippetsOf(telephone);
    expect(Object.keys(snippets)).toEqual(['loopback', 'appauth-android', 'appauth-ios']);
    for (const name of ['appauth-android', 'appauth-ios'])
      expect(strings(snippets[name]!)).toEqual(
        expect.arrayContaining([service.issuer, credential(telephone, 'client_id'), 'com.example.buoy:/callback']),
      );
    const loopbackOnly = await createOfKind(agent, 'native', { ...native, redirect_uris: 'http://127.0.0.1/cb' });
    expect(Object.keys(snippetsOf(loopbackOnly))).toEqual(['loopback']);
  });

  test('a client with another authentication than that of its kind gets no snippet (pages, clients)', async () => {
    const other = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://harbour.example/jwks' };
    const page = await createOfKind(agent, 'web', { ...web, ...other });
    expect(page.status).toBe(200);
    expect(snippetsOf(page)).toEqual({});
    expect(credential(page, 'client_secret')).toBeUndefined();
  });
});

describe('a protected site', () => {
  test('gets a proxy secret that is shown once, and a form of its own that changes it (federation 13)', async () => {
    const page = await createOfKind(agent, 'proxy', proxy);
    expect(page.status).toBe(200);
    expect(credential(page, 'proxy_secret')).toMatch(/^[\w-]{43}$/);
    expect(page.body).not.toContain('id="client_secret"');
    expect(snippetsOf(page)['protected-site']).toContain('wiki.example.com');
    const made = await stored(page);
    expect(made).toMatchObject({ kind: 'proxy', firstParty: true, startUri: 'https://wiki.example.com/' });
    const path = `/${made.clientId}`;
    const shown = await at(path);
    expect(shown.body).toContain('Protected site');
    expect(shown.body).not.toContain(credential(page, 'proxy_secret'));
    const form = filledForm(await at(`${path}/edit`));
    expect(Object.keys(form)).not.toEqual(expect.arrayContaining(['redirect_uris']));
    const changes = { hosts: 'docs.example.com', open_paths: '/public/', client_name: 'Docs' };
    expect((await agent.post(`/admin/clients${path}/edit`, { ...form, ...changes })).status).toBe(303);
    const { metadata, hosts, openPaths, headers } = (await service.store.clients.find(made.clientId))!;
    expect({ hosts, openPaths }).toEqual({ hosts: ['docs.example.com'], openPaths: ['/public/'] });
    expect(metadata).toEqual({
      ...made.metadata,
      client_name: 'Docs',
      redirect_uris: ['https://docs.example.com/.gatehouse/callback'],
    });
    expect(headers).toEqual(made.headers);
    const secrets = await agent.get(`/admin/clients${path}/secrets`);
    expect(secrets.body).toContain('Proxy secret');
  });

  test.each([
    ['hosts', { hosts: '' }],
    ['hosts', { hosts: 'https://wiki.example.com' }],
    ['open_paths', { hosts: 'paths.example.com', open_paths: '/a/../' }],
    ['hosts', { hosts: 'held.example.com' }],
  ])('marks the field %s when it is refused (federation 13)', async (field, typed) => {
    await createOfKind(agent, 'proxy', { client_name: 'Held', hosts: 'held.example.com' });
    const page = await createOfKind(agent, 'proxy', { client_name: 'New', ...typed });
    expect([400, 409]).toContain(page.status);
    expect(page.body).toContain(`<p class="fault" id="${field}-fault">`);
  });
});
