// Tests the sign-in by a connection: whom it signs in, links, makes and refuses, and what binds its answer.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setUpAuthenticator } from '../helpers/authenticator.ts';
import { addConnection, answerOf, changeConnection, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { type Provider, providerClient, startProvider } from '../helpers/provider.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let honest: Provider;
let liar: Provider;
let alice: TestUser;
let bob: TestUser;
let root: TestUser;

beforeAll(async () => {
  [honest, liar] = [await startProvider(), await startProvider()];
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${honest.host},${liar.host}`,
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addConnection(service, honest, 'honest', { authoritative_domains: ['corp.example'], provisioning: 'on' });
  await addConnection(service, liar, 'liar', { provisioning: 'on' });
  alice = await service.createUser({ username: 'alice', email: 'alice@corp.example', emailVerified: true });
  bob = await service.createUser({ username: 'bob', email: 'bob@else.example', emailVerified: true });
  root = await service.createUser({ username: 'root', email: 'root@corp.example', emailVerified: true, admin: true });
});
afterAll(async () => {
  await service?.stop();
  await honest?.stop();
  await liar?.stop();
});
beforeEach(async () => {
  for (const provider of [honest, liar]) provider.lie({});
  await changeConnection(service, 'honest', {
    status: 'enabled',
    linking: 'ask',
    provisioning: 'on',
    trust_mfa: false,
  });
  await changeConnection(service, 'liar', { status: 'enabled', linking: 'ask', provisioning: 'on' });
});

let number = 0;
const newSubject = () => `subject-${++number}`;
const usersOf = (connection: string, subject: string) =>
  service.database.sql<{ sub: string; how: string }>(
    'SELECT sub, how FROM linked_identities WHERE connection_id = $1 AND subject = $2',
    [connection, subject],
  );
const sessionsOf = (sub: string) =>
  service.database.sql<{ amr: string[]; connection_id: string | null }>(
    'SELECT amr, connection_id FROM sessions WHERE sub = $1 ORDER BY id',
    [sub],
  );
const linksOf = async () =>
  (await service.database.sql<{ count: number }>('SELECT count(*)::int AS count FROM linked_identities'))[0]!.count;
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;
const signInOf = (user: TestUser, page: Page, agent: UserAgent) =>
  agent.signIn({ username: user.username, password: user.password }, page);
/** A page of ours that says why the sign-in ended. */
const refused = (page: Page, words: string, status = 400) =>
  expect(page).toMatchObject({ status, body: expect.stringContaining(words) });

describe('a new user', () => {
  test('gets an account at the first sign-in, and the same one at the next (federation 4)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: 'new.person', name: 'New Person', email: 'new@corp.example' });
    const agent = new UserAgent(service);
    expect((await signInBy(agent, 'honest')).url).toBe(`${service.issuer}/account`);
    const [link] = await usersOf('honest', sub);
    expect(link!.how).toBe('provisioned');
    expect(await service.store.users.find(link!.sub)).toMatchObject({
      username: 'new.person',
      email: 'new@corp.example',
      emailVerified: true,
      claims: { name: 'New Person' },
    });
    expect(await sessionsOf(link!.sub)).toEqual([{ amr: ['fed'], connection_id: 'honest' }]);
    const again = new UserAgent(service);
    expect((await signInBy(again, 'honest')).url).toBe(`${service.issuer}/account`);
    expect(await usersOf('honest', sub)).toEqual([link]);
  });

  test('continues the request of the application, whose tokens name the methods and the lowest level (federation 4, FR11)', async () => {
    honest.be({ sub: newSubject(), preferred_username: 'continues' });
    const client = await service.createClient({}, { firstParty: true });
    const request = new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
    });
    const page = await signInBy(new UserAgent(service), 'honest', `/authorize?${request}`);
    expect(responseParameters(page)).toHaveProperty('code');
  });

  test('gets no address for which the connection does not vouch, and the word of the connection confirms none (federation FR2, F28)', async () => {
    const [plain, word] = [newSubject(), newSubject()];
    liar.be({ sub: plain, preferred_username: 'unvouched', email: 'victim@third.example' });
    await signInBy(new UserAgent(service), 'liar');
    liar.be({ sub: word, preferred_username: 'by.word', email: 'victim@third.example', email_verified: true });
    await signInBy(new UserAgent(service), 'liar');
    const found = async (subject: string) => service.store.users.find((await usersOf('liar', subject))[0]!.sub);
    expect((await found(plain))!.email).toBeUndefined();
    expect(await found(word)).toMatchObject({ email: 'victim@third.example', emailVerified: false });
  });

  test('with an address in a domain of another connection is refused, and led to that connection (federation F28)', async () => {
    liar.be({ sub: newSubject(), preferred_username: 'x', email: 'somebody@corp.example', email_verified: true });
    const page = await signInBy(new UserAgent(service), 'liar');
    refused(page, 'With your email address, you have to sign in another way');
    expect(page.body).toContain('action="/connections/honest"');
  });

  test('with an address below a domain of another connection belongs to the connection of the nearest domain (federation 4, F28)', async () => {
    await changeConnection(service, 'honest', { subdomains: true });
    await changeConnection(service, 'liar', { authoritative_domains: ['branch.corp.example'] });
    const [near, far] = [newSubject(), newSubject()];
    liar.be({ sub: near, preferred_username: `near ${number}`, email: `near${number}@branch.corp.example` });
    expect((await signInBy(new UserAgent(service), 'liar')).url).toBe(`${service.issuer}/account`);
    const [link] = await usersOf('liar', near);
    expect(await service.store.users.find(link!.sub)).toMatchObject({
      email: expect.stringContaining('@branch.corp.example'),
      emailVerified: true,
    });
    honest.be({ sub: far, preferred_username: `far ${number}`, email: `far${number}@branch.corp.example` });
    const page = await signInBy(new UserAgent(service), 'honest');
    refused(page, 'With your email address, you have to sign in another way');
    expect(page.body).toContain('action="/connections/liar"');
    await changeConnection(service, 'honest', { subdomains: false });
    await changeConnection(service, 'liar', { authoritative_domains: [] });
  });

  test.each(['alice', 'ALICE', 'ａlice', 'alice ', 'root', 'alice@corp.example', 'stranger@evil.example'])(
    'named %j is asked for another name, and no account changes (federation FR1, F3)',
    async (preferred_username) => {
      const before = await service.database.sql(`SELECT * FROM users WHERE username IN ('alice', 'root') ORDER BY sub`);
      const sub = newSubject();
      liar.be({ sub, preferred_username, name: 'alice', nickname: 'alice', phone_number: '+1' });
      const agent = new UserAgent(service);
      const page = await signInBy(agent, 'liar');
      expect(page.url).toBe(`${service.issuer}/login/name`);
      expect(await usersOf('liar', sub)).toEqual([]);
      expect((await agent.submit(page, { username: 'Alice' })).body).toContain('This user name is taken');
      const named = await agent.submit(page, { username: `chosen ${number}` });
      expect(named.url).toBe(`${service.issuer}/account`);
      expect(await usersOf('liar', sub)).toHaveLength(1);
      expect(
        await service.database.sql(`SELECT * FROM users WHERE username IN ('alice', 'root') ORDER BY sub`),
      ).toEqual(before);
    },
  );

  test('is refused if the connection makes no accounts (federation 4)', async () => {
    await changeConnection(service, 'honest', { provisioning: 'off' });
    const sub = newSubject();
    honest.be({ sub, preferred_username: 'uninvited' });
    refused(await signInBy(new UserAgent(service), 'honest'), 'You don’t have an account here yet');
    expect(await usersOf('honest', sub)).toEqual([]);
  });
});

describe('an account with the address', () => {
  test('is linked after its user has signed in to it once, and its user gets a mail (federation 4, FR9, F2, reports A4)', async () => {
    await changeConnection(service, 'liar', { linking: 'domain' });
    const sub = newSubject();
    liar.be({ sub, preferred_username: 'somebody', email: 'bob@else.example', email_verified: true });
    const agent = new UserAgent(service);
    const page = await signInBy(agent, 'liar');
    expect(page.url).toBe(`${service.issuer}/login/connect`);
    expect(page.body).not.toContain('id="connect"');
    expect(await usersOf('liar', sub)).toEqual([]);
    // the form without the proof
    expect((await agent.post('/login/connect', hiddenFields(page.body))).status).toBe(400);
    const proven = await signInOf(bob, await agent.get('/login?destination=connect'), agent);
    expect(proven.url).toBe(`${service.issuer}/login/connect`);
    const cookies = new Map(agent.cookies);
    const linked = await agent.submit(proven, {});
    expect(linked.url).toBe(`${service.issuer}/account`);
    expect(await usersOf('liar', sub)).toEqual([{ sub: bob.sub, how: 'person' }]);
    // a double click of this form in this browser goes on, for ten seconds (reports A4)
    const clicked = async (form: Record<string, string>, of = cookies) => {
      const browser = new UserAgent(service);
      for (const [name, value] of of) browser.cookies.set(name, value);
      return (await browser.post('/login/connect', form)).location;
    };
    expect(await clicked(hiddenFields(proven.body))).toBe(`${service.issuer}/account`);
    expect(await clicked({ ...hiddenFields(proven.body), csrf: '' })).toBeUndefined();
    expect(await clicked(hiddenFields(proven.body), new Map())).toBeUndefined();
    await service.database.sql('UPDATE form_outcomes SET expires_at = now()');
    expect(await clicked(hiddenFields(proven.body))).toBeUndefined();
    const other = new UserAgent(service);
    expect((await signInBy(other, 'liar')).url).toBe(`${service.issuer}/account`);
    expect((await other.get('/account/profile')).body).toContain('bob');
  });

  test('is not linked by the sign-in of another user, nor by an older one (federation FR9)', async () => {
    const carol = await service.createUser({ email: 'carol@else.example', emailVerified: true });
    const sub = newSubject();
    liar.be({ sub, email: 'carol@else.example', email_verified: true });
    const agent = new UserAgent(service);
    await signInOf(carol, await agent.get('/login'), agent);
    const page = await signInBy(agent, 'liar');
    expect(page.body).not.toContain('id="connect"');
    const other = await signInOf(bob, await agent.get('/login?destination=connect&account=other'), agent);
    expect(other.body).toContain('That was a different account');
    expect(other.body).not.toContain('id="connect"');
    expect(await usersOf('liar', sub)).toEqual([]);
  });

  test('in a domain of the connection is linked without a question if the connection says so (federation 4)', async () => {
    await changeConnection(service, 'honest', { linking: 'domain' });
    const dora = await service.createUser({ email: 'dora@corp.example', emailVerified: true });
    const sub = newSubject();
    honest.be({ sub, email: 'Dora@corp.example' });
    expect((await signInBy(new UserAgent(service), 'honest')).url).toBe(`${service.issuer}/account`);
    expect(await usersOf('honest', sub)).toEqual([{ sub: dora.sub, how: 'domain' }]);
    // a second identity with the same address is no heir (federation F9)
    honest.be({ sub: newSubject(), email: 'dora@corp.example' });
    const other = await signInBy(new UserAgent(service), 'honest');
    refused(other, 'is connected to a different');
    // a user who cannot sign in cannot remove a connection (reports D)
    expect(other.body).not.toContain('Remove that connection');
  });

  test('is never linked if it is root or a member of a guarded group (federation FR7)', async () => {
    await changeConnection(service, 'honest', { linking: 'domain' });
    const olga = await service.createUser({ email: 'olga@corp.example', emailVerified: true, groups: ['ops'] });
    for (const email of [root.email!, olga.email!]) {
      honest.be({ sub: newSubject(), email });
      refused(await signInBy(new UserAgent(service), 'honest'), 'An account with your email address already exists');
    }
    expect(await sessionsOf(root.sub)).toEqual([]);
  });

  test.each([
    ['erin@evilcorp.example', 'evilcorp.example'],
    ['erin@corp.example.evil.test', 'a longer domain'],
    ['erin@sub.corp.example', 'a domain below'],
    ['erin@corp.example.', 'a final dot'],
    ['"erin@corp.example"@evil.test', 'quotes'],
    ['erin@corp.example@evil.test', 'two @'],
    ['erin@cоrp.example', 'a Cyrillic letter'],
    ['erin@corp.example／.evil.test', 'a full-width solidus'],
    ['erin\ud800@corp.example', 'a lone surrogate'],
  ])('is not vouched for by %j: %s (federation FR2, F21)', async (email) => {
    await changeConnection(service, 'honest', { linking: 'domain' });
    const sub = newSubject();
    honest.be({ sub, preferred_username: `almost ${number}`, email });
    await signInBy(new UserAgent(service), 'honest');
    expect((await service.store.users.find((await usersOf('honest', sub))[0]!.sub))!.email).toBeUndefined();
  });
});

describe('an answer', () => {
  const start = async (agent = new UserAgent(service), id = 'honest') => {
    honest.be({ sub: newSubject(), preferred_username: `answer ${number}` });
    return { agent, answer: await answerOf(await leave(agent, await signInPage(agent, id), id)) };
  };
  const expired = 'expired, was already used, or started in another browser';

  test('is accepted once, from the browser that began the sign-in, at the connection of the request (federation FR3, FR4, F5)', async () => {
    const { agent, answer } = await start();
    refused(await new UserAgent(service).get(answer), expired);
    // a browser with a sign-in of its own under way
    const { agent: other } = await start();
    refused(await other.get(answer), expired);
    refused(await agent.get(answer.replace('/honest/', '/liar/')), expired);
    const without = new URL(answer);
    without.searchParams.delete('state');
    refused(await agent.get(without.href), expired);
    expect((await agent.get(`${answer}&state=again`)).status).toBe(400);
    const asked = honest.count('token');
    // the other instance takes it
    const moved = answer.replace(service.issuer, service.instances[1]!);
    expect((await agent.fetch(moved)).status).toBe(303);
    expect(honest.count('token')).toBe(asked + 1);
    refused(await agent.get(answer), expired);
    expect(honest.count('token')).toBe(asked + 1);
  });

  test('that is older than FORM_LIFETIME is refused (federation FR4, F5)', async () => {
    const { agent, answer } = await start();
    await service.database.sql(`UPDATE connection_steps SET expires_at = now() - interval '1 second'`);
    refused(await agent.get(answer), expired);
  });

  test.each([['https://evil.example'], [undefined], ['']])(
    'with iss %j is refused before the service sends any request (RFC 9207 2.4, federation FR3)',
    async (iss) => {
      honest.lie({ answer: { iss: iss as string } });
      const asked = honest.seen.length;
      const { agent, answer } = await start();
      refused(await agent.get(answer), 'couldn’t verify the response');
      expect(honest.seen.length).toBe(asked + 1); // the browser's own
    },
  );

  test('by prefetch, in a frame or as a subresource changes nothing, and the form of another site begins nothing (federation F18)', async () => {
    const { agent, answer } = await start();
    for (const headers of [
      { 'sec-purpose': 'prefetch' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'image' },
    ] as Record<string, string>[])
      expect((await agent.get(answer, headers)).status).toBe(403);
    expect((await agent.fetch(answer, { method: 'HEAD' })).status).toBeGreaterThanOrEqual(400);
    const page = await signInPage(agent, 'honest');
    const form = hiddenFields(page.body.slice(page.body.indexOf('action="/connections/honest"')));
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await agent.post('/connections/honest', form, foreign)).status).toBe(403);
    expect((await agent.follow(await agent.get(answer))).url).toBe(`${service.issuer}/account`);
  });

  test('belongs to a request with PKCE, a nonce and a state of 256 bits each (federation 5)', async () => {
    await start();
    const { query } = honest.last('authorize')!;
    expect(query).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${service.issuer}/connections/honest/callback`,
    });
    for (const name of ['code_challenge', 'nonce', 'state']) expect(query[name]).toMatch(/^[\w-]{43}$/);
    expect(query['scope']!.split(' ')).toContain('openid');
  });

  test('with an error leads to a page with texts of the service only, if the user cancelled or the provider failed (federation FR13, F15)', async () => {
    const cases: [string, string, number][] = [
      ['access_denied', 'You didn’t finish signing in', 400],
      ['temporarily_unavailable', 'isn’t responding', 503],
      ['invalid_scope', 'rejected our request', 400],
      ['<script>alert(1)</script>', 'rejected our request', 400],
    ];
    for (const [error, words, status] of cases) {
      const answer = { code: undefined, error, error_description: 'Call <a href="https://evil.example">us</a>' };
      honest.lie({ answer: answer as never });
      const { agent, answer: address } = await start();
      const page = await agent.get(address);
      refused(page, words, status);
      expect(page.body).not.toContain('evil.example');
      expect(page.body).not.toContain('alert(1)');
    }
  });
});

describe('a linked user', () => {
  test('who is disabled is refused, and so is each sign-in while the connection is disabled (federation FR5)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: 'leaver' });
    await signInBy(new UserAgent(service), 'honest');
    const [link] = await usersOf('honest', sub);
    const agent = new UserAgent(service);
    const answer = await answerOf(await leave(agent, await signInPage(agent, 'honest'), 'honest'));
    await changeConnection(service, 'honest', { status: 'disabled' });
    refused(await agent.get(answer), 'This sign-in expired');
    await changeConnection(service, 'honest', { status: 'enabled' });
    await service.store.users.update(link!.sub, { status: 'disabled' });
    refused(await signInBy(new UserAgent(service), 'honest'), 'is disabled');
    expect(await sessionsOf(link!.sub)).toEqual([]);
  });

  test('has the subject byte for byte: case, space and form make another user (federation FR1, F26)', async () => {
    const base = newSubject();
    const subjects = [`${base}ABC`, `${base}abc`, `${base}abc `, `${base}\u00e9`, `${base}e\u0301`];
    for (const [index, sub] of subjects.entries()) {
      honest.be({ sub, preferred_username: `almost the subject ${base} ${index}` });
      await signInBy(new UserAgent(service), 'honest');
    }
    const found = await Promise.all(subjects.map((subject) => usersOf('honest', subject)));
    expect(new Set(found.map(([link]) => link!.sub)).size).toBe(5);
    honest.be({ sub: 'x'.repeat(255), preferred_username: `longest ${base}` });
    expect((await signInBy(new UserAgent(service), 'honest')).url).toBe(`${service.issuer}/account`);
  });

  test('has a name that the user or the provider chooses by the rule of sign-up, and no address of others (security R154, reports A7, B8)', async () => {
    for (const said of [
      'carol@else.example',
      'bob@else.example',
      'bo\u200bb',
      'Go to evil.example now',
      alice.sub,
      'ALICE@CORP.example',
      // the provider's word is no authority over the address
      'word@else.example',
    ]) {
      liar.be({ sub: newSubject(), preferred_username: said, email: 'word@else.example', email_verified: true });
      expect((await signInBy(new UserAgent(service), 'liar')).url, said).toBe(`${service.issuer}/login/name`);
    }
    // an address with an account and one without get the same answer
    const agent = new UserAgent(service);
    let page = await signInBy(agent, 'liar');
    const answers = [];
    for (const username of ['bob@else.example', 'nobody@else.example', 'bob＠else.example']) {
      page = await agent.submit(page, { username });
      answers.push(page.body.replace(/ value="[^"]*"/g, ''));
    }
    expect(answers[1]).toBe(answers[0]);
    expect(answers[2]).toBe(answers[0]);
    expect(answers[0]).toContain('Use up to 64 letters');
    // by authority over it the address of the user is a name
    honest.be({
      sub: newSubject(),
      preferred_username: 'Own@corp.example',
      email: 'own@corp.example',
      email_verified: true,
    });
    expect((await signInBy(new UserAgent(service), 'honest')).url).toBe(`${service.issuer}/account`);
    expect((await service.store.users.findByUsername('own@corp.example'))?.email).toBe('own@corp.example');
  });

  test('of a deleted connection is not linked to a new connection of the same id (federation FR1, F27)', async () => {
    await addConnection(service, honest, 'reborn', { provisioning: 'on' });
    honest.be({ sub: 'old', preferred_username: 'before the rebirth' });
    const agent = new UserAgent(service);
    await signInBy(agent, 'reborn');
    await service.database.sql(`DELETE FROM connections WHERE id = 'reborn'`);
    await addConnection(service, liar, 'reborn', { provisioning: 'off' });
    liar.be({ sub: 'old' });
    refused(await signInBy(new UserAgent(service), 'reborn'), 'You don’t have an account here yet');
    await service.database.sql(`DELETE FROM connections WHERE id = 'reborn'`);
  });

  test('is not made from an answer that is older than the connection or its issuer (federation FR1, FR9, F27)', async () => {
    const token = await adminToken(service);
    const api = `${service.issuer}/admin/api/connections`;
    const make = (provider: Provider) =>
      call(api, {
        token,
        body: {
          id: 'replaced',
          kind: 'oidc',
          display_name: 'Replaced',
          secret: providerClient.secret,
          status: 'enabled',
          provisioning: 'on',
          settings: provider.settings,
        },
      });
    const waits = async () => {
      honest.be({ sub: newSubject(), preferred_username: 'alice' });
      const agent = new UserAgent(service);
      const page = await signInBy(agent, 'replaced');
      expect(page.url).toBe(`${service.issuer}/login/name`);
      return { agent, page };
    };
    const continued = async ({ agent, page }: { agent: UserAgent; page: Page }, name: string) => {
      expect((await agent.submit(page, { username: name })).status).toBe(400);
      expect(await isSignedIn(agent)).toBe(false);
      expect(await service.store.users.findByUsername(name)).toBeUndefined();
    };
    expect((await make(honest)).status).toBe(201);
    const beforeDeletion = await waits();
    expect((await call(`${api}/replaced`, { token, method: 'DELETE' })).status).toBe(200);
    expect((await make(honest)).status).toBe(201);
    await continued(beforeDeletion, 'of the deleted one');
    // another issuer gets no secret of the present one (security R162)
    const { secret } = providerClient;
    const change = async (settings: object) =>
      expect((await call(`${api}/replaced`, { token, method: 'PATCH', body: { settings, secret } })).status).toBe(200);
    const ofOtherClient = await waits();
    await change({ client_id: 'another' });
    await continued(ofOtherClient, 'of the former client');
    await change(honest.settings);
    const beforeChange = await waits();
    await change(liar.settings);
    await continued(beforeChange, 'of the former issuer');
    // the identity is refused also while its step is there
    const replace = ({ settings }: Provider) =>
      changeConnection(service, 'replaced', { settings, discovery: null, discovered_at: null });
    await replace(honest);
    const beforeStep = await waits();
    await replace(liar);
    await continued(beforeStep, 'of the step');
    await service.database.sql(`DELETE FROM connections WHERE id = 'replaced'`);
  });

  test('who is already signed in keeps the session at most for the lifetime of the connection (federation 4)', async () => {
    honest.be({ sub: newSubject(), preferred_username: `brief ${number}` });
    const agent = new UserAgent(service);
    await signInBy(agent, 'honest');
    await changeConnection(service, 'honest', { session_lifetime: 600 });
    await signInBy(agent, 'honest');
    const [link] = await usersOf('honest', `subject-${number}`);
    const sessions = await service.database.sql<{ left: number }>(
      'SELECT extract(epoch FROM expires_at - now())::int AS left FROM sessions WHERE sub = $1',
      [link!.sub],
    );
    expect(sessions).toEqual([{ left: expect.toSatisfy((left: number) => left > 0 && left <= 600) }]);
    await changeConnection(service, 'honest', { session_lifetime: null });
  });

  test('who shows a second factor after the connection was disabled, or the link removed, is not signed in (federation FR5)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: `half way ${number}`, auth_time: Math.floor(Date.now() / 1000) });
    const first = new UserAgent(service);
    await signInBy(first, 'honest');
    const { recoveryCodes } = await setUpAuthenticator(first);
    const [link] = await usersOf('honest', sub);
    const before = await sessionsOf(link!.sub);
    const finish = async (meanwhile: () => Promise<unknown>) => {
      const agent = new UserAgent(service);
      const page = await signInBy(agent, 'honest');
      expect(page.url).toContain('/login/second-factor');
      await meanwhile();
      await agent.submit(page, { recovery_code: recoveryCodes.pop()! });
      return isSignedIn(agent);
    };
    expect(await finish(() => changeConnection(service, 'honest', { status: 'disabled' }))).toBe(false);
    await changeConnection(service, 'honest', { status: 'enabled' });
    expect(await finish(() => service.database.sql('DELETE FROM linked_identities WHERE sub = $1', [link!.sub]))).toBe(
      false,
    );
    expect(await sessionsOf(link!.sub)).toHaveLength(before.length);
    await service.database.sql(
      `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('honest', $1, $2, $3, 'person')`,
      [honest.issuer, sub, link!.sub],
    );
    expect(await finish(async () => undefined)).toBe(true);
  });

  test('who changes the password keeps a session by the connection as old and as short as it is (federation 4, FR10)', async () => {
    const password = 'a password of the linked user';
    const user = await service.createUser({ password });
    const sub = newSubject();
    await service.database.sql(
      `INSERT INTO linked_identities (connection_id, issuer, subject, sub, how) VALUES ('honest', $1, $2, $3, 'person')`,
      [honest.issuer, sub, user.sub],
    );
    honest.be({ sub, auth_time: Math.floor(Date.now() / 1000) - 60 });
    await changeConnection(service, 'honest', { session_lifetime: 600 });
    const agent = new UserAgent(service);
    await signInBy(agent, 'honest');
    const read = () =>
      service.database.sql('SELECT amr, auth_time, expires_at, connection_id FROM sessions WHERE sub = $1', [user.sub]);
    const before = await read();
    const page = await agent.get('/account/password');
    const typed = { current_password: password, new_password: 'another password of the linked user' };
    expect((await agent.submit(page, typed)).url).toContain('done=password-changed');
    expect(await read()).toEqual(before);
    await changeConnection(service, 'honest', { session_lifetime: null });
  });

  test('is one user, even if many browsers send the identity at once (federation FR1, F9)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: `at once ${number}` });
    const ready = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const agent = new UserAgent(service);
        const answer = await answerOf(await leave(agent, await signInPage(agent, 'honest'), 'honest'));
        return { agent, answer: index % 2 ? answer : answer.replace(service.issuer, service.instances[1]!) };
      }),
    );
    const pages = await Promise.all(ready.map(({ agent, answer }) => agent.fetch(answer)));
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 303));
    expect(await usersOf('honest', sub)).toHaveLength(1);
    expect(await sessionsOf((await usersOf('honest', sub))[0]!.sub)).toHaveLength(10);
  });

  test('with a second factor here is asked for it, unless the service trusts the second factor of the connection (federation FR11, F17)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: `two factors ${number}`, amr: ['pwd', 'mfa'] });
    await signInBy(new UserAgent(service), 'honest');
    const [link] = await usersOf('honest', sub);
    await service.database.sql(
      `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ($1, $1, 'Phone', decode(repeat('03', 16), 'hex'), 1)`,
      [link!.sub],
    );
    const asked = async (idToken: Record<string, unknown>) => {
      honest.lie({ idToken });
      const agent = new UserAgent(service);
      return (await signInBy(agent, 'honest')).url.includes('/login/second-factor');
    };
    expect(await asked({})).toBe(true);
    await changeConnection(service, 'honest', { trust_mfa: true, mfa_values: ['urn:two'] });
    expect(await asked({ amr: 'mfa' })).toBe(true);
    expect(await asked({ amr: undefined, acr: 'urn:one' })).toBe(true);
    expect(await asked({ amr: ['phr'] })).toBe(true);
    expect(await asked({ amr: undefined, acr: 'urn:two' })).toBe(false);
    expect(await asked({ amr: ['mfa'] })).toBe(false);
    expect((await sessionsOf(link!.sub)).at(-1)!.amr).toEqual(['fed', 'mfa']);
    // two factors there satisfy a demand for two, and no demand for a passkey
    const levelOf = async (required: string) => {
      const client = await service.createClient({}, { firstParty: true });
      await service.database.sql('UPDATE clients SET required_acr = $2 WHERE client_id = $1', [
        client.clientId,
        required,
      ]);
      const page = await signInBy(new UserAgent(service), 'honest', authorizationUrl(service.issuer, client));
      return { page, done: page.location !== undefined && page.location.startsWith(client.redirectUri) };
    };
    expect((await levelOf('urn:gatehouse:acr:mfa')).done).toBe(true);
    const phr = await levelOf('phr');
    expect(phr.done).toBe(false);
    // its answer says no time: the factor of the account is asked for
    expect(phr.page.url).toContain('/login/second-factor?transaction=');
  });

  test('has a sign-in that is as fresh as the answer states, and no fresher (federation FR10, F16)', async () => {
    const sub = newSubject();
    honest.be({ sub, preferred_username: `fresh ${number}` });
    await signInBy(new UserAgent(service), 'honest');
    const now = () => Math.floor(Date.now() / 1000);
    const isFresh = async (auth_time: unknown) => {
      honest.lie({ idToken: { auth_time } });
      const agent = new UserAgent(service);
      await signInBy(agent, 'honest');
      // an operation that needs a sign-in of the last 15 minutes
      const page = await agent.get('/account/data');
      return (await agent.post('/account/data', hiddenFields(page.body))).status === 200;
    };
    expect(await isFresh(now())).toBe(true);
    expect(await isFresh(now() - 16 * 60)).toBe(false);
    for (const wrong of [undefined, now() + 3600, String(now()), -1, 1.5])
      expect(await isFresh(wrong), String(wrong)).toBe(false);
  });

  test('must sign in at the provider again if the application asks for it, and the answer must have a later time (federation FR10, F16)', async () => {
    honest.be({ sub: newSubject(), preferred_username: `again ${number}` });
    const client = await service.createClient({}, { firstParty: true });
    const request = new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      prompt: 'login',
    });
    honest.lie({ idToken: { auth_time: Math.floor(Date.now() / 1000) - 5 } });
    const stale = await signInBy(new UserAgent(service), 'honest', `/authorize?${request}`);
    expect(honest.last('authorize')!.query).toMatchObject({ prompt: 'login', max_age: '0' });
    // no code, and not the same trip again (reports A2)
    expect(responseParameters(stale)).toMatchObject({ error: 'login_required' });
    honest.lie({ idToken: { auth_time: Math.floor(Date.now() / 1000) + 50 } });
    const agent = new UserAgent(service);
    const left = await leave(agent, await signInPage(agent, 'honest', `/authorize?${request}`), 'honest');
    // a sign-in takes longer than the clocks of service and database differ
    await service.database.sql(`UPDATE authorization_requests SET created_at = created_at - interval '2 seconds'`);
    expect(responseParameters(await agent.follow(await agent.get(await answerOf(left))))).toHaveProperty('code');
  });
});

test('nothing that was refused left a link, and no secret of a connection is in a log (federation FR17, F31)', async () => {
  expect(await linksOf()).toBeGreaterThan(0);
  const logs = JSON.stringify(service.logs);
  for (const canary of ['canary-of-the-client-secret', 'canary-of-the-access-token'])
    expect(logs).not.toContain(canary);
  expect(await isSignedIn(new UserAgent(service))).toBe(false);
  expect(alice.username).toBe('alice');
});
