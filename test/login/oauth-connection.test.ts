// Tests connections by OAuth 2.0: whom a service without OpenID Connect signs in, and that its word counts for nothing else.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { leave, signInPage } from '../helpers/connections.ts';
import {
  answered,
  canary,
  connectionTo,
  createAdministrator,
  postFromElsewhere,
  signInBy,
} from '../helpers/preset-connections.ts';
import { type PresetProvider, startPresetProvider } from '../helpers/preset-provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: PresetProvider;
let administrator: Awaited<ReturnType<typeof createAdministrator>>;
let bob: TestUser;

beforeAll(async () => {
  provider = await startPresetProvider('service');
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  administrator = await createAdministrator(service);
  expect((await administrator.create(connectionTo('service', provider))).status).toBe(201);
  bob = await service.createUser({ username: 'bob', email: 'bob@else.example', emailVerified: true });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
const start = {
  subject_claim: null,
  email_claim: null,
  email_verified_from: null,
  groups_claim: null,
  response_mode: null,
  token_endpoint_auth_method: null,
};
beforeEach(async () => {
  provider.reset();
  // the claim of the subject stays while there are links (security R165)
  await service.database.sql(`DELETE FROM linked_identities WHERE connection_id = 'service'`);
  await administrator.change('service', { settings: start, authoritative_domains: [], group_rules: [] });
});

let number = 0;
const newSubject = () => `service-${++number}`;
const set = async (settings: Record<string, unknown>) =>
  expect((await administrator.change('service', { settings })).body).not.toHaveProperty('error');
const say = (body: unknown, status = 200) => (provider.state.answers['/me'] = { body, status });
const linksTo = (subject: string) =>
  service.database.sql<{ sub: string; issuer: string }>(
    `SELECT sub, issuer FROM linked_identities WHERE connection_id = 'service' AND subject = $1`,
    [subject],
  );
const links = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM linked_identities'))[0]!.n;
async function userOf(subject: string) {
  const agent = new UserAgent(service);
  const page = await signInBy(agent, 'service');
  const done =
    page.url === `${service.issuer}/login/name` ? await agent.submit(page, { username: `u${++number}` }) : page;
  expect(done.url, done.body.slice(0, 3000)).toBe(`${service.issuer}/account`);
  return (await service.store.users.find((await linksTo(subject))[0]!.sub))!;
}
const refused = (page: Page, words: string, status = 400) =>
  expect(page).toMatchObject({ status, body: expect.stringContaining(words) });
async function isRefused(words = 'couldn’t verify the response', status = 400): Promise<void> {
  const before = await links();
  refused(await signInBy(new UserAgent(service), 'service'), words, status);
  expect(await links()).toBe(before);
}

test('asks with PKCE and a state of 256 bits, at the address of this connection, and without what belongs to OpenID Connect (federation 5, FR3, FR4)', async () => {
  const sub = newSubject();
  say({ sub });
  await userOf(sub);
  const { query } = provider.last('/authorize')!;
  expect(query).toEqual({
    response_type: 'code',
    client_id: 's',
    code_challenge_method: 'S256',
    redirect_uri: `${service.issuer}/connections/service/callback`,
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
  });
  const { form, authorization } = provider.last('/token')!;
  expect(form).toMatchObject({ grant_type: 'authorization_code', redirect_uri: query['redirect_uri'] });
  expect(authorization).toBe(`Basic ${Buffer.from(`s:${canary}`).toString('base64')}`);
  expect(form).not.toHaveProperty('client_secret');
  expect(provider.last('/me')!.authorization).toBe('Bearer canary-of-the-access-token-gho');
  expect((await linksTo(sub))[0]!.issuer).toBe(provider.origin);
});

describe('the subject', () => {
  test('is at the path that the settings name, as text byte for byte or as a whole number (federation 5, FR1, F26)', async () => {
    await set({ subject_claim: 'data.user.id' });
    const subjects: [unknown, string][] = [
      ['ABC', 'ABC'],
      ['abc', 'abc'],
      ['abc ', 'abc '],
      ['\u00e9', '\u00e9'],
      ['e\u0301', 'e\u0301'],
      [42, '42'],
      ['042', '042'],
      ['x'.repeat(255), 'x'.repeat(255)],
    ];
    const users = new Set<string>();
    for (const [id, subject] of subjects) {
      say({ data: { user: { id } } });
      users.add((await userOf(subject)).sub);
    }
    expect(users.size).toBe(subjects.length);
  });

  test.each([
    [undefined],
    [null],
    [''],
    ['x'.repeat(256)],
    ['\u00e9'.repeat(128)],
    ['a\0b'],
    [true],
    [1.5],
    [2 ** 53],
    [['a']],
    [{ a: 1 }],
  ])('%j is refused (federation FR1, F26)', async (sub) => {
    say({ sub });
    await isRefused();
  });

  test('two numbers that a parser cannot tell apart are refused (federation FR1)', async () => {
    for (const digits of ['9007199254740993', '9007199254740992']) {
      provider.state.answers['/me'] = { raw: `{"sub":${digits}}` };
      await isRefused();
    }
  });
});

describe('the address', () => {
  test.each([true, 'true', 1])(
    'is not vouched for by email_verified: %j alone (federation 5, FR2)',
    async (verified) => {
      const sub = newSubject();
      say({ sub, email: 'bob@else.example', email_verified: verified });
      const user = await userOf(sub);
      expect(user.email).toBeUndefined();
      expect(user.sub).not.toBe(bob.sub);
    },
  );

  test('is accepted by the member that the settings name, and not confirmed for applications (federation 5, FR2)', async () => {
    await set({ email_verified_from: 'mail.checked', email_claim: 'mail.address' });
    const sub = newSubject();
    say({ sub, mail: { address: 'new@third.example', checked: true } });
    expect(await userOf(sub)).toMatchObject({ email: 'new@third.example', emailVerified: false });
    say({ sub: newSubject(), mail: { address: 'bob@else.example', checked: true } });
    expect((await signInBy(new UserAgent(service), 'service')).url).toBe(`${service.issuer}/login/connect`);
    for (const checked of ['true', 1, false, undefined]) {
      const other = newSubject();
      say({ sub: other, mail: { address: 'bob@else.example', checked }, email_verified: true });
      expect((await userOf(other)).email).toBeUndefined();
    }
  });

  test('is accepted and confirmed by authority (federation 4)', async () => {
    await administrator.change('service', { authoritative_domains: ['corp.example'] });
    const sub = newSubject();
    say({ sub, email: 'owned@corp.example' });
    expect(await userOf(sub)).toMatchObject({ email: 'owned@corp.example', emailVerified: true });
  });

  test('is trusted after a change, whose event has the old and the new value (federation FR14)', async () => {
    await set({ email_verified_from: 'verified' });
    const [event] = await service.database.sql<{ detail: object }>(
      `SELECT detail FROM audit_events WHERE type = 'connection.changed' ORDER BY id DESC LIMIT 1`,
    );
    expect(event!.detail).toMatchObject({ email_verified_from_before: '', email_verified_from: 'verified' });
  });
});

test('a sign-in is not fresh, whatever time and methods the answer has, and is no second factor (federation FR10, FR11)', async () => {
  const sub = newSubject();
  await administrator.change('service', { trust_mfa: true, mfa_values: ['urn:two'] });
  say({ sub, auth_time: Math.floor(Date.now() / 1000), amr: ['mfa'], acr: 'urn:two' });
  const { sub: user } = await userOf(sub);
  const agent = new UserAgent(service);
  await signInBy(agent, 'service');
  expect((await agent.get('/account/email')).status).not.toBe(200);
  const sessions = await service.database.sql<{ amr: string[] }>('SELECT amr FROM sessions WHERE sub = $1', [user]);
  expect(sessions.map(({ amr }) => amr)).toEqual(sessions.map(() => ['fed']));
  await administrator.change('service', { trust_mfa: false });
});

test('groups come from the path that the settings name, and an answer without them takes none away (federation FR15)', async () => {
  await administrator.change('service', {
    group_rules: [{ equals: 'a', group: 'as' }],
    settings: { groups_claim: 'my.teams' },
  });
  const sub = newSubject();
  say({ sub, my: { teams: ['a', 'b'] } });
  expect((await userOf(sub)).groups).toEqual(['as']);
  say({ sub });
  expect((await userOf(sub)).groups).toEqual(['as']);
  say({ sub, my: { teams: [] } });
  expect((await userOf(sub)).groups).toEqual([]);
});

describe('an answer of the service', () => {
  test.each<[string, unknown, number, string, number]>([
    ['as a list', [], 200, 'couldn’t verify the response', 400],
    ['as text', 'sub', 200, 'couldn’t verify the response', 400],
    ['without right', {}, 401, 'couldn’t verify the response', 400],
    ['as a redirect', {}, 302, 'couldn’t verify the response', 400],
    ['in trouble', {}, 500, 'isn’t responding', 503],
    ['that wants us to wait', {}, 429, 'isn’t responding', 503],
    ['that is too big', { sub: 'x', more: 'x'.repeat(100_000) }, 200, 'isn’t responding', 503],
  ])('%s is refused (federation FR13, F12, F14)', async (_title, body, status, words, shown) => {
    say(body, status);
    await isRefused(words, shown);
  });

  test.each<[string, object, number, string, number]>([
    ['with a wrong secret', { error: 'invalid_client' }, 401, 'rejected our request', 400],
    ['with a used code', { error: 'invalid_grant' }, 400, 'couldn’t verify the response', 400],
    ['with an error and 200', { error: 'invalid_grant', access_token: 'x' }, 200, 'couldn’t verify the response', 400],
    ['without a token', { token_type: 'bearer' }, 200, 'couldn’t verify the response', 400],
    ['with a token that is no text', { access_token: { a: 1 } }, 200, 'couldn’t verify the response', 400],
    [
      'with a token that breaks a header',
      { access_token: 'a\r\nx-injected: 1' },
      200,
      'couldn’t verify the response',
      400,
    ],
    ['in trouble', {}, 503, 'isn’t responding', 503],
  ])(
    'to the code %s is refused, and the user is asked for nothing (federation FR13)',
    async (_title, body, status, words, shown) => {
      provider.state.answers['/token'] = { body, status };
      const before = provider.count('/me');
      await isRefused(words, shown);
      expect(provider.count('/me')).toBe(before);
    },
  );

  test('that arrives at another connection, or is used again, is refused before the service sends any request (federation FR3, FR4)', async () => {
    const other = await startPresetProvider('service');
    expect((await administrator.create({ ...connectionTo('service', provider), id: 'second' })).status).toBe(201);
    say({ sub: newSubject() });
    const agent = new UserAgent(service);
    const { address } = await answered(agent, 'service');
    const asked = provider.count('/token');
    refused(await agent.get(address.replace('/service/', '/second/')), 'This sign-in expired');
    refused(await new UserAgent(service).get(address), 'This sign-in expired');
    expect(provider.count('/token')).toBe(asked);
    await agent.get(address);
    expect(provider.count('/token')).toBe(asked + 1);
    refused(await agent.get(address), 'This sign-in expired');
    expect(provider.count('/token')).toBe(asked + 1);
    await administrator.delete('second');
    await other.stop();
  });
});

test.each([
  ['authorization_endpoint', 'javascript:alert(1)'],
  ['authorization_endpoint', 'http://third.example/authorize'],
  ['token_endpoint', 'https://127.0.0.1/token'],
  ['token_endpoint', 'https://user:password@third.example/token'],
  ['userinfo_endpoint', 'https://169.254.169.254/me'],
  ['userinfo_endpoint', 'https://[::ffff:7f00:1]/me'],
  ['userinfo_endpoint', undefined],
])('the setting %s cannot be %j (federation FR13, F13)', async (member, address) => {
  const settings = { ...(connectionTo('service', provider)['settings'] as object), [member]: address };
  const answer = await administrator.create({ ...connectionTo('service', provider), id: 'inward', settings });
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});

test('a connection whose stored settings do not fit this version leads to a page that says so, not to an internal error (federation 4)', async () => {
  await administrator.create({ ...connectionTo('service', provider), id: 'older' });
  await service.database.sql(`UPDATE connections SET settings = '{"client_id": 7}' WHERE id = 'older'`);
  const agent = new UserAgent(service);
  refused(await leave(agent, await signInPage(agent, 'older'), 'older'), 'rejected our request');
  const posted = await postFromElsewhere(`${service.issuer}/connections/older/callback`, { state: 'a'.repeat(43) });
  expect(posted.status).toBe(303);
  expect((await administrator.link(bob.sub, { connection: 'older', subject: 'x' })).status).toBe(409);
  expect((await administrator.show('older')).status).toBe(200);
  await administrator.delete('older');
});

test('an identity of another service at the same connection is another user (federation FR1, F27)', async () => {
  const other = await startPresetProvider('service');
  const alone = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `${provider.host},${other.host}` },
  });
  const own = await createAdministrator(alone);
  await own.create(connectionTo('service', provider));
  say({ sub: 'same', preferred_username: 'first' });
  other.state.answers['/me'] = { body: { sub: 'same', preferred_username: 'second' } };
  await signInBy(new UserAgent(alone), 'service');
  const { settings, secret } = connectionTo('service', other);
  await own.change('service', { settings, secret });
  await signInBy(new UserAgent(alone), 'service');
  const found = await alone.database.sql<{ sub: string }>(`SELECT sub FROM linked_identities WHERE subject = 'same'`);
  expect(new Set(found.map(({ sub }) => sub)).size).toBe(2);
  await alone.stop();
  await other.stop();
});
