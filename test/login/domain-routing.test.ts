// Tests which connection a name meets at the sign-in page: the domain of the address alone decides, and an enforced domain signs in by nothing else.
import argon2 from 'argon2';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { addConnection, answerOf, changeConnection, leave, signInBy } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { MailServer } from '../helpers/mail-server.ts';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let client: TestClient;
let alice: TestUser;
const mails = new MailServer();

beforeAll(async () => {
  await mails.start();
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
      LIMIT_MAILED_LINKS: '0',
      LIMIT_MAILED_LINKS_PER_NETWORK: '0',
      SIGN_UP: 'on',
      SMTP_URL: `smtp://gatehouse:let%20me%20in@127.0.0.1:${mails.port}`,
    },
  });
  const corporate = {
    domains: ['corp.example'],
    hidden: true,
    provisioning: 'on',
    authoritative_domains: ['corp.example'],
  };
  await addConnection(service, provider, 'corporate', corporate);
  await addConnection(service, provider, 'partners', { domains: ['part.example'], subdomains: true });
  client = await service.createClient({}, { firstParty: true });
  alice = await service.createUser({ username: 'alice', email: 'alice@corp.example', emailVerified: true });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
  await mails.stop();
});
beforeEach(async () => {
  provider.lie({});
  await enforce(false);
});

/** Enforces the domain, or not, and waits until both instances do so: their lists are a second old at most. */
async function enforce(enforced: boolean): Promise<void> {
  await changeConnection(service, 'corporate', { enforced });
  for (const issuer of service.instances)
    await vi.waitUntil(
      async () => {
        const { body } = await new UserAgent({ issuer }).get('/login?connection=corporate');
        return body.includes('id="connection-corporate"') === enforced && body.includes('id="continue"') === !enforced;
      },
      { timeout: 5000, interval: 50 },
    );
}

/** Types a name at the page that asks for it. */
async function type(name: string, address = '/login', agent = new UserAgent(service)): Promise<Page> {
  const page = await agent.follow(await agent.get(address));
  return agent.post('/login/user', { ...hiddenFields(page.body), username: name });
}
/** Where a page leads by itself. */
const target = ({ body }: Page) => {
  const found = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
  return found === undefined ? undefined : new URL(found);
};
const hasPassword = ({ body }: Page) => body.includes('id="password"');
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
/** Signs in with a password at the page for that. */
async function withPassword(
  user: { username: string; password: string },
  agent = new UserAgent(service),
): Promise<Page> {
  const page = await agent.get('/login?local=1');
  const fields = { ...hiddenFields(page.body), username: user.username, password: user.password };
  return agent.follow(await agent.post('/login', fields));
}

describe('a name', () => {
  test('is asked for first, in a field that a password manager fills, and so is the password then (federation 4)', async () => {
    const first = await new UserAgent(service).get('/login');
    expect(first.body).toMatch(/<input id="username"[^>]*autocomplete="username webauthn"/);
    expect(hasPassword(first)).toBe(false);
    expect(first.body).toContain('id="connection-partners"');
    expect(first.body).not.toContain('corporate');
    const second = await type('bob@else.example');
    expect(second.status).toBe(200);
    expect(second.body).toMatch(
      /<input id="username"[^>]*value="bob@else.example"[^>]*autocomplete="username webauthn"/,
    );
    expect(second.body).toMatch(/<input id="password"[^>]*autocomplete="current-password"/);
  });

  test('at a domain leads to its connection, which learns the name, and back to the application (federation 4)', async () => {
    provider.be({ sub: 'routed-1', preferred_username: 'routed.one', email: 'one@corp.example' });
    const agent = new UserAgent(service);
    const left = await type('One@CORP.example', authorizationUrl(service.issuer, client), agent);
    const uri = target(left)!;
    expect(uri.origin).toBe(provider.issuer);
    expect(uri.searchParams.get('login_hint')).toBe('One@CORP.example');
    expect(left.body).toContain(`href="${uri.href.replaceAll('&', '&amp;')}"`);
    const answer = await answerOf({ ...left, location: uri.href });
    expect(responseParameters(await agent.follow(await agent.get(answer)))).toHaveProperty('code');
  });

  test.each([
    ['x@corp.example', 'corporate'],
    ['x@sub.corp.example', undefined],
    ['x@evilcorp.example', undefined],
    ['x@corp.example.evil.test', undefined],
    ['x@corp.example.', undefined],
    ['x@cоrp.example', undefined],
    ['"x@corp.example"@evil.test', undefined],
    ['x@y@corp.example', undefined],
    ['@corp.example', undefined],
    ['corp.example', undefined],
    ['x@part.example', 'partners'],
    ['x@a.b.part.example', 'partners'],
    ['x@apart.example', undefined],
  ])('%j leads to %s (federation FR2, F21)', async (name, connection) => {
    const page = await type(name);
    expect(page.status).toBe(200);
    const found = /\/connections\/([a-z]+)\/callback/.exec(target(page)?.searchParams.get('redirect_uri') ?? '')?.[1];
    expect(found).toBe(connection);
    expect(hasPassword(page)).toBe(connection === undefined);
  });

  test('is not sent on from another site, without its token, or for a request that is over (security R55)', async () => {
    const agent = new UserAgent(service);
    const fields = hiddenFields((await agent.get('/login')).body);
    const foreign = await agent.post(
      '/login/user',
      { ...fields, username: 'x@corp.example' },
      { 'sec-fetch-site': 'cross-site' },
    );
    expect(foreign.status).toBe(403);
    for (const wrong of [{ csrf: '' }, { transaction: 'gone' }] as Record<string, string>[]) {
      const page = await agent.post('/login/user', { ...fields, ...wrong, username: 'x@corp.example' });
      expect([page.status, target(page)]).toEqual([400, undefined]);
    }
    expect((await agent.post('/login/user', { ...fields, username: ' ' })).status).toBe(400);
  });

  test('whose connection does not answer gets a page with another try, and the trail an event (federation 4)', async () => {
    await service.database.sql(
      `UPDATE connections SET discovered_at = now() - interval '2 days' WHERE id = 'corporate'`,
    );
    provider.lie({ write: { discovery: (response) => void response.writeHead(500).end() } });
    const page = await vi.waitUntil(
      async () => {
        const tried = await type('x@corp.example');
        return tried.status === 503 ? tried : undefined;
      },
      { timeout: 5000, interval: 50 },
    );
    expect(page.body).toContain('The corporate isn’t available');
    expect(page.body).toContain('id="connection-corporate"');
    const events = await service.database.sql(
      `SELECT detail FROM audit_events WHERE type = 'identity.refused' ORDER BY id DESC LIMIT 1`,
    );
    expect(events).toMatchObject([{ detail: { connection: 'corporate', reason: 'unreachable' } }]);
    await service.database.sql(`UPDATE connections SET discovered_at = now() WHERE id = 'corporate'`);
    await vi.waitUntil(async () => target(await type('x@corp.example')) !== undefined, { timeout: 5000, interval: 50 });
  });
});

/** A page without what differs between any two requests. */
const shapeOf = ({ status, headers, body }: Page, name: string) => ({
  status,
  names: [...headers.keys()].filter((header) => header !== 'date').sort(),
  body: body
    .replaceAll(name, 'NAME')
    .replaceAll(encodeURIComponent(name), 'NAME')
    .replaceAll(/(name="csrf" value=")[^"]*/g, '$1')
    .replaceAll(/data-options="[^"]*"/g, '')
    .replaceAll(/[\w-]{43}/g, ''),
});

test('names at a domain, known, unknown, disabled or of an administrator, meet one page at one cost, and the same holds elsewhere (federation FR12, F19)', async () => {
  await service.createUser({ username: 'boss', email: 'boss@corp.example', emailVerified: true, admin: true });
  await service.createUser({ username: 'bossy', email: 'bosse@else.example', emailVerified: true, admin: true });
  for (const email of ['gone@corp.example', 'gonee@else.example'])
    await service.store.users.update((await service.createUser({ email })).sub, { status: 'disabled' });
  await service.createUser({ username: 'known', email: 'known@else.example', emailVerified: true });
  const verify = vi.spyOn(argon2, 'verify');
  const observed = async (name: string) => {
    const agent = new UserAgent(service);
    const page = await agent.get('/login');
    verify.mockClear();
    const before = service.ofRequests.length;
    const answer = await agent.post('/login/user', { ...hiddenFields(page.body), username: name });
    const statements = service.ofRequests.slice(before);
    return { ...shapeOf(answer, name), statements, verified: verify.mock.calls.length };
  };
  for (const domain of [
    ['alice@corp.example', 'boss@corp.example', 'gone@corp.example', 'none@corp.example'],
    ['known@else.example', 'bosse@else.example', 'gonee@else.example', 'nobody@else.example'],
  ]) {
    const all = [];
    for (const name of domain) all.push(await observed(name));
    for (const one of all) expect(one).toEqual(all[0]);
    expect(all[0]!.statements.filter((name) => name.startsWith('users.'))).toEqual([]);
    expect(all[0]!.verified).toBe(0);
  }
  verify.mockRestore();
});

describe('a request of an application', () => {
  const arrive = async (parameters: Record<string, string>, at = client) => {
    const agent = new UserAgent(service);
    return { agent, page: await agent.get(authorizationUrl(service.issuer, at, parameters)) };
  };

  test.each([
    [{ connection: 'corporate' }, 'corporate'],
    [{ domain_hint: 'corp.example' }, 'corporate'],
    [{ domain_hint: 'CORP.example' }, 'corporate'],
    [{ domain_hint: 'a.part.example' }, 'partners'],
    [{ domain_hint: 'a.corp.example' }, undefined],
    [{ domain_hint: 'else.example' }, undefined],
    [{ connection: 'nowhere' }, undefined],
    [{ connection: '../admin' }, undefined],
    [{ connection: 'partners', domain_hint: 'corp.example' }, 'partners'],
  ])('with %j leads to %s (federation 4)', async (parameters: Record<string, string>, connection) => {
    const { agent, page } = await arrive(parameters);
    const last = await agent.follow(page);
    if (connection === undefined) expect(last.url).toContain('/login?transaction=');
    else expect(last.location).toContain(encodeURIComponent(`/connections/${connection}/callback`));
  });

  test('is pushed with them, too, and leads there once: the sign-in page stays within reach (RFC 9126, federation 4)', async () => {
    const pushing = new URLSearchParams({
      ...Object.fromEntries(new URL(authorizationUrl('x:', client)).searchParams),
      connection: 'corporate',
    });
    const response = await fetch(`${service.issuer}/par`, {
      method: 'POST',
      body: pushing,
      headers: { authorization: client.basic },
    });
    const { request_uri } = (await response.json()) as { request_uri: string };
    const agent = new UserAgent(service);
    const query = new URLSearchParams({ client_id: client.clientId, request_uri });
    const left = await agent.follow(await agent.get(`/authorize?${query}`));
    expect(left.location).toContain(encodeURIComponent('/connections/corporate/callback'));
    const transaction = new URL(left.url).searchParams.get('transaction')!;
    const page = await agent.get(`/login?transaction=${transaction}`);
    expect([page.status, page.body.includes('id="continue"')]).toEqual([200, true]);
    // a page that continues the request leads to the sign-in page, and not there again
    expect((await agent.get(`/consent?transaction=${transaction}`)).location).toContain('/login?transaction=');
  });

  test('gives its login_hint to a connection only if that has its domain (federation 4)', async () => {
    for (const [hint, learns] of [
      ['x@corp.example', true],
      ['x@else.example', false],
    ] as const) {
      const { agent, page } = await arrive({ connection: 'corporate', login_hint: hint });
      const { location } = await agent.follow(page);
      expect(new URL(location!).searchParams.get('login_hint')).toBe(learns ? hint : null);
    }
    const page = await type(
      'x@corp.example',
      authorizationUrl(service.issuer, client, { login_hint: 'y@else.example' }),
    );
    expect(target(page)!.searchParams.get('login_hint')).toBe('x@corp.example');
  });

  test('with prompt=none meets no connection (OpenID Connect Core 3.1.2.1)', async () => {
    const { page } = await arrive({ connection: 'corporate', prompt: 'none' });
    expect(responseParameters(page)['error']).toBe('login_required');
  });
});

describe('an enforced domain', () => {
  const required = 'With your email address, you sign in with The corporate';

  test('lets no password sign in, under any name of the account, and tells nothing about accounts (federation 4, F19)', async () => {
    await enforce(true);
    const before = await service.database.sql('SELECT FROM sessions');
    const shapes = [];
    for (const user of [
      alice,
      { ...alice, username: 'alice@corp.example' },
      { username: 'alice@corp.example', password: 'not the password' },
      { username: 'nobody@corp.example', password: alice.password },
    ]) {
      const page = await withPassword(user);
      expect(page.body).toContain(required);
      expect(hasPassword(page)).toBe(false);
      expect(page.body).toContain('id="connection-corporate"');
      shapes.push(shapeOf(page, user.username));
    }
    for (const shape of shapes) expect(shape).toEqual(shapes[0]);
    // a wrong password for a plain name tells what it always tells
    expect((await withPassword({ ...alice, password: 'not the password' })).body).toContain(
      'Incorrect user name or password',
    );
    expect(await service.database.sql('SELECT FROM sessions')).toHaveLength(before.length);
    const events = await service.database.sql(
      `SELECT detail FROM audit_events WHERE sub = $1 AND type = 'user.sign_in_failed' ORDER BY id`,
      [alice.sub],
    );
    expect(events).toContainEqual({ detail: { reason: 'enforced', connection: 'corporate' } });
  });

  test('holds at a request of an application, and signs in by the connection (federation 4)', async () => {
    await enforce(true);
    provider.be({ sub: 'enforced-1', preferred_username: 'enforced.one', email: 'enforced@corp.example' });
    const agent = new UserAgent(service);
    const start = await agent.follow(await agent.get(`${authorizationUrl(service.issuer, client)}`));
    const transaction = new URL(start.url).searchParams.get('transaction')!;
    const local = await agent.get(`/login?local=1&transaction=${transaction}`);
    const page = await agent.follow(
      await agent.post('/login', { ...hiddenFields(local.body), username: alice.username, password: alice.password }),
    );
    expect(page.body).toContain(required);
    const answer = await answerOf(await leave(agent, page, 'corporate'));
    expect(responseParameters(await agent.follow(await agent.get(answer)))).toHaveProperty('code');
  });

  test('lets no passkey sign in, either (federation 4)', async () => {
    const user = await service.createUser({ email: 'key@corp.example', emailVerified: true });
    const agent = new UserAgent(service);
    await withPassword(user, agent);
    const key = new Authenticator(service.issuer);
    const adding = passkeyForm(await agent.get('/account/passkeys'));
    await agent.post(adding.action, { ...adding.fields, credential: key.create(adding.options) });
    await enforce(true);
    const other = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await other.get('/login'));
    const page = await other.follow(await other.post(action, { ...fields, credential: key.get(options) }));
    expect(page.body).toContain(required);
    expect(await isSignedIn(other)).toBe(false);
    await enforce(false);
    const again = passkeyForm(await other.get('/login'));
    await other.post(again.action, { ...again.fields, credential: key.get(again.options) });
    expect(await isSignedIn(other)).toBe(true);
  });

  test('lets no other connection sign in, either, also one that the user linked before (federation 4)', async () => {
    await addConnection(service, provider, 'elsewhere', { provisioning: 'on' });
    const user = await service.createUser({ email: 'linked@corp.example', emailVerified: true });
    for (const connection of ['elsewhere', 'corporate'])
      await service.database.sql(
        `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ($1, $2, 'linked-1', $3, 'person')`,
        [connection, provider.issuer, user.sub],
      );
    provider.be({ sub: 'linked-1' });
    await enforce(true);
    const agent = new UserAgent(service);
    const page = await signInBy(agent, 'elsewhere', '/login?local=1');
    expect(page.body).toContain(required);
    expect(await isSignedIn(agent)).toBe(false);
    expect(await service.database.sql('SELECT FROM sessions WHERE sub = $1', [user.sub])).toEqual([]);
    // by the connection of the domain the user comes in
    await agent.follow(await agent.get(await answerOf(await leave(agent, page, 'corporate'))));
    expect(await isSignedIn(agent)).toBe(true);
    await enforce(false);
    const other = new UserAgent(service);
    await signInBy(other, 'elsewhere', '/login?local=1');
    expect(await isSignedIn(other)).toBe(true);
    await service.database.sql(`DELETE FROM connections WHERE id = 'elsewhere'`);
  });

  test('lets users of other domains sign in as before (federation 4)', async () => {
    await enforce(true);
    const other = await service.createUser({ email: 'someone@else.example', emailVerified: true });
    const agent = new UserAgent(service);
    await withPassword(other, agent);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('is not enforced while its connection is disabled (federation 4)', async () => {
    await enforce(true);
    await changeConnection(service, 'corporate', { status: 'disabled' });
    const agent = new UserAgent(service);
    await vi.waitUntil(
      async () => {
        await withPassword(alice, agent);
        return isSignedIn(agent);
      },
      { timeout: 5000, interval: 100 },
    );
    await changeConnection(service, 'corporate', { status: 'enabled' });
  });

  test('sends a mail that says where to sign in, and no link that sets a password (federation 4)', async () => {
    await enforce(true);
    const user = await service.createUser({ email: 'forgetful@corp.example', emailVerified: true });
    const agent = new UserAgent(service);
    const forgotten = await agent.get('/password/forgotten');
    const answered = await agent.post('/password/forgotten', { ...hiddenFields(forgotten.body), login: user.username });
    expect(answered.status).toBe(200);
    const mail = await mails.find('forgetful@corp.example', /How to sign in/);
    expect(mail.text).toContain('you sign in with The corporate');
    expect(mail.text).not.toContain('/password/reset');
    expect(await service.database.sql('SELECT FROM mailed_links WHERE sub = $1', [user.sub])).toEqual([]);
  });

  test('makes no account of its own: a user who signs up reads where to sign in (federation 4)', async () => {
    await enforce(true);
    const agent = new UserAgent(service);
    const page = await agent.get('/sign-up');
    await agent.post('/sign-up', { ...hiddenFields(page.body), email: 'newcomer@corp.example' });
    const mail = await mails.find('newcomer@corp.example', /How to sign in/);
    expect(mail.text).toContain('you sign in with The corporate');
    expect(mail.text).not.toContain('/sign-up/complete');
    const other = await agent.get('/sign-up');
    await agent.post('/sign-up', { ...hiddenFields(other.body), email: 'newcomer@else.example' });
    expect((await mails.to('newcomer@else.example'))[0]!.text).toContain('/sign-up/complete');
  });

  test('is passed by a user whom an administrator has marked, at /login?local=1 alone (federation 4, FR14)', async () => {
    await enforce(true);
    const user = await service.createUser({ username: 'rescue', email: 'rescue@corp.example', emailVerified: true });
    await service.store.breakGlass.set(user.sub, true);
    expect(target(await type('rescue@corp.example'))).toBeDefined();
    const agent = new UserAgent(service);
    expect((await withPassword({ ...user, username: 'rescue@corp.example' }, agent)).url).toBe(
      `${service.issuer}/account`,
    );
    await service.store.breakGlass.set(user.sub, false);
    expect((await withPassword(user)).body).toContain(required);
  });

  test('ends a password reset, too, at the page that names the connection (federation 4)', async () => {
    const user = await service.createUser({ email: 'late@corp.example', emailVerified: true });
    const agent = new UserAgent(service);
    const forgotten = await agent.get('/password/forgotten');
    await agent.post('/password/forgotten', { ...hiddenFields(forgotten.body), login: user.username });
    const { link } = await mails.find('late@corp.example', /Reset your password/);
    // the domain is enforced after the mail was sent
    await enforce(true);
    const page = await agent.get(link!);
    const done = await agent.follow(
      await agent.post('/password/reset', { ...hiddenFields(page.body), new_password: 'a few words of no sense' }),
    );
    expect(done.body).toContain(required);
    expect(await isSignedIn(agent)).toBe(false);
  });
});

test('a directory keeps the form of the password: for a client that names it, and for a domain that it enforces (federation 4, 6)', async () => {
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, status, domains, enforced) VALUES ('tree', 'ldap', 'The tree', 'enabled', '{tree.example}', true)`,
  );
  try {
    const user = await service.createUser({ email: 'leaf@tree.example', emailVerified: true });
    // its own password here signs the user in no more
    const page = await vi.waitUntil(
      async () => {
        const agent = new UserAgent(service);
        const shown = await withPassword(user, agent);
        return (await isSignedIn(agent)) ? undefined : shown;
      },
      { timeout: 5000, interval: 100 },
    );
    expect(page.body).toContain('With your email address, you sign in with The tree');
    expect(hasPassword(page)).toBe(true);
    expect(page.body).not.toContain('id="use-passkey"');
    // no name leads away to it
    const named = await type('leaf@tree.example');
    expect([target(named), hasPassword(named)]).toEqual([undefined, true]);
    const own = await service.createClient({}, { firstParty: true });
    await service.database.sql(`UPDATE clients SET connections = '{tree}' WHERE client_id = $1`, [own.clientId]);
    const agent = new UserAgent(service);
    const asked = await vi.waitUntil(
      async () => {
        const first = await agent.follow(await agent.get(authorizationUrl(service.issuer, own)));
        return first.body.includes('id="connection-partners"') ? undefined : first;
      },
      { timeout: 5000, interval: 50 },
    );
    const second = await agent.post('/login/user', { ...hiddenFields(asked.body), username: 'leaf@tree.example' });
    expect(hasPassword(second)).toBe(true);
    expect(second.body).not.toContain('id="use-passkey"');
  } finally {
    await service.database.sql(`DELETE FROM connections WHERE id = 'tree'`);
  }
});

test('token, refresh and introspection run no statement about connections (federation 4)', async () => {
  provider.be({ sub: 'lean-1', preferred_username: 'lean.one' });
  const agent = new UserAgent(service);
  const left = await type('lean@corp.example', authorizationUrl(service.issuer, client), agent);
  const page = await agent.follow(await agent.get(await answerOf({ ...left, location: target(left)!.href })));
  const before = service.ofRequests.length;
  const tokens = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(page)['code']!,
    redirect_uri: client.redirectUri,
  });
  const refreshed = await tokenRequest(service.issuer, client, {
    grant_type: 'refresh_token',
    refresh_token: String(tokens.body['refresh_token']),
  });
  expect(refreshed.status).toBe(200);
  const response = await fetch(`${service.issuer}/introspect`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token: String(refreshed.body['access_token']) }),
  });
  expect(await response.json()).toMatchObject({ active: true });
  const statements = service.ofRequests.slice(before);
  expect(statements.length).toBeGreaterThan(0);
  expect(statements.filter((name) => /connection|linked|break_glass/.test(name))).toEqual([]);
});
