// Tests the presets of connections against the shapes of their providers' answers: whom each signs in, and what of an answer it believes.
import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import {
  appleKey,
  canary,
  connectionTo,
  createAdministrator,
  type PresetProviders,
  presets,
  signInBy,
  startPresetProviders,
} from '../helpers/preset-connections.ts';
import { fixture, type Preset, type PresetProvider, startPresetProvider, tenants } from '../helpers/preset-provider.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let providers: PresetProviders;
let strict: PresetProvider;
let administrator: Awaited<ReturnType<typeof createAdministrator>>;
let root: TestUser;

beforeAll(async () => {
  providers = await startPresetProviders();
  strict = await startPresetProvider('microsoft');
  const hosts = [...Object.values(providers), strict].map(({ host }) => host);
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: hosts.join(','),
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  administrator = await createAdministrator(service);
  for (const preset of presets)
    expect((await administrator.create(connectionTo(preset, providers[preset]))).body).toMatchObject({ id: preset });
  root = await service.createUser({ username: 'root', email: 'root@corp.example', emailVerified: true, admin: true });
});
afterAll(async () => {
  await service?.stop();
  await Promise.all([...Object.values(providers ?? {}), strict].map((provider) => provider?.stop()));
});
const plain = { domains: [], authoritative_domains: [], linking: 'ask', group_rules: [], claim_rules: [] };
beforeEach(async () => {
  for (const preset of presets) {
    providers[preset].reset();
    const { settings } = connectionTo(preset, providers[preset]);
    await administrator.change(preset, { ...plain, settings });
    providers[preset].reset();
  }
});

let number = 0;
const newSubject = () => `subject-${++number}`;
const signIn = (preset: Preset) => signInBy(new UserAgent(service), preset);
/** Signs in, and chooses a name if one is asked for. @returns the user who is linked */
async function userOf(preset: Preset, subject: string, agent = new UserAgent(service)) {
  const page = await signInBy(agent, preset);
  const done =
    page.url === `${service.issuer}/login/name` ? await agent.submit(page, { username: `u${++number}` }) : page;
  expect(done.url, done.body.slice(0, 3000)).toBe(`${service.issuer}/account`);
  const [link] = await linksTo(preset, subject);
  return (await service.store.users.find(link!.sub))!;
}
const linksTo = (preset: Preset, subject: string) =>
  service.database.sql<{ sub: string; issuer: string }>(
    'SELECT sub, issuer FROM linked_identities WHERE connection_id = $1 AND subject = $2',
    [preset, subject],
  );
const links = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM linked_identities'))[0]!.n;
const unknownGroups = async (preset: Preset) =>
  (
    await service.database.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM audit_events WHERE type = 'groups.unknown' AND detail->>'connection' = $1`,
      [preset],
    )
  )[0]!.n;
const refused = (page: Page, words: string, status = 400) =>
  expect(page).toMatchObject({ status, body: expect.stringContaining(words) });
/** Nothing is linked, and the page has our sentence. */
async function isRefused(preset: Preset, words = 'couldn’t verify the response', status = 400): Promise<void> {
  const before = await links();
  refused(await signIn(preset), words, status);
  expect(await links()).toBe(before);
}
const everyGroup = [{ all: true, prefix: '' }];

describe('google', () => {
  const claim = (claims: Record<string, unknown>) => {
    const sub = newSubject();
    providers.google.state.claims = { sub, ...claims };
    return sub;
  };

  test('signs a user in by the subject (federation 5)', async () => {
    const sub = claim({ email: 'gwen@third.example', hd: undefined });
    expect(await userOf('google', sub)).toMatchObject({
      // an address without authority over it is no name: the user chose one (security R154)
      username: expect.not.stringContaining('@'),
      email: 'gwen@third.example',
      claims: { name: 'Gwen Example', given_name: 'Gwen', family_name: 'Example' },
    });
    expect(providers.google.last('/token')!.form).toMatchObject({ client_id: 'g', client_secret: canary });
    expect(providers.google.count('/userinfo')).toBe(0);
  });

  test.each([
    ['a@gmail.com', undefined, 'word'],
    ['b@GoogleMail.com', undefined, 'word'],
    ['c@firm.example', 'firm.example', 'word'],
    ['d@firm.example', undefined, undefined],
    ['e@firm.example', 'other.example', undefined],
    ['f@gmail.com.evil.example', undefined, undefined],
    ['g@sub.firm.example', 'firm.example', undefined],
  ])('confirms %s under hd %j by: %s (security R157)', async (email, hd, confirmedBy) => {
    // no setting makes more of its word
    await administrator.change('google', { trust_email: true });
    const user = await userOf('google', claim({ email, hd }));
    expect(user).toMatchObject({ emailVerified: confirmedBy !== undefined, confirmedBy });
    expect(user.email?.toLowerCase()).toBe(email.toLowerCase());
    await administrator.change('google', { trust_email: false });
  });

  test('does not store an address that is not verified (federation FR2)', async () => {
    const sub = claim({ email: 'unverified@third.example', email_verified: false, hd: undefined });
    expect((await userOf('google', sub)).email).toBeUndefined();
  });

  test.each([undefined, 'evilcorp.example', 'sub.corp.example', 'corp.example.evil.test', 7])(
    'with the domain corp.example admits no account whose hd is %j (federation 5)',
    async (hd) => {
      await administrator.change('google', { domains: ['corp.example'] });
      claim({ hd, email: 'x@corp.example' });
      await isRefused('google', 'belongs to another organization');
    },
  );

  test('with the domain corp.example admits its accounts, and asks Google for them (federation 5)', async () => {
    await administrator.change('google', { domains: ['corp.example'] });
    const sub = claim({ hd: 'CORP.example', email: 'inside@corp.example' });
    await userOf('google', sub);
    expect(providers.google.last('/auth')!.query).toMatchObject({ hd: 'corp.example' });
  });

  test('has authority over an address only under hd: for any other, the user must sign in to the account with the address (federation 5, F21)', async () => {
    await administrator.change('google', { authoritative_domains: ['corp.example'], linking: 'domain' });
    const dana = await service.createUser({ email: 'dana@corp.example', emailVerified: true });
    claim({ hd: undefined, email: 'dana@corp.example' });
    expect((await signIn('google')).url).toBe(`${service.issuer}/login/connect`);
    claim({ hd: 'other.example', email: 'dana@corp.example' });
    expect((await signIn('google')).url).toBe(`${service.issuer}/login/connect`);
    const sub = claim({ hd: 'corp.example', email: 'dana@corp.example' });
    expect((await userOf('google', sub)).sub).toBe(dana.sub);
  });

  test('gets prompt=select_account instead of prompt=login, and its sign-in is not fresh (federation FR10)', async () => {
    const client = await service.createClient({}, { firstParty: true });
    const request = new URLSearchParams({
      response_type: 'code',
      scope: 'openid',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      prompt: 'login',
    });
    const sub = claim({ hd: undefined, email: `fresh${number}@third.example` });
    await userOf('google', sub);
    const stale = await signInBy(new UserAgent(service), 'google', `/authorize?${request}`);
    expect(providers.google.last('/auth')!.query).toMatchObject({ prompt: 'select_account' });
    expect(providers.google.last('/auth')!.query).not.toHaveProperty('max_age');
    // one trip, and then an answer (reports A2)
    expect(responseParameters(stale)).toMatchObject({ error: 'login_required' });
  });
});

describe('microsoft', () => {
  const [corporate, partner] = tenants;
  const claim = (claims: Record<string, unknown> = {}) => {
    const oid = `00000000-0000-4000-8000-${String(++number).padStart(12, '0')}`;
    providers.microsoft.state.claims = { oid, email: undefined, ...claims };
    return oid;
  };
  const issuerOf = (tenant: string) => `${providers.microsoft.origin}/${tenant}/v2.0`;
  const several = () => administrator.change('microsoft', { settings: { tenants: [corporate, partner] } });

  test('signs a user of the tenant in by oid, within tid (federation 5)', async () => {
    const oid = claim();
    await userOf('microsoft', oid);
    expect((await linksTo('microsoft', oid))[0]!.issuer).toBe(issuerOf(corporate));
    expect(await linksTo('microsoft', 'AAAAAAAAAAAAAAAAAAAAAPairwiseForThisClient')).toEqual([]);
  });

  test('always gets a request with the scope that a token with oid needs (federation 5)', async () => {
    await administrator.change('microsoft', { settings: { scope: 'openid email' } });
    await userOf('microsoft', claim());
    expect(providers.microsoft.last('/authorize')!.query['scope']!.split(' ').toSorted()).toEqual([
      'email',
      'openid',
      'profile',
    ]);
    await administrator.change('microsoft', { settings: { scope: null } });
  });

  test('with several tenants keeps the same oid of two of them apart (federation 5, FR1)', async () => {
    expect((await several()).status).toBe(200);
    const oid = claim();
    const first = await userOf('microsoft', oid);
    providers.microsoft.state.claims = { oid, tid: partner, iss: issuerOf(partner) };
    await signInBy(new UserAgent(service), 'microsoft');
    const agent = new UserAgent(service);
    await agent.submit(await signInBy(agent, 'microsoft'), { username: `partner ${number}` });
    const found = await linksTo('microsoft', oid);
    expect(found.map(({ issuer }) => issuer).sort()).toEqual([issuerOf(corporate), issuerOf(partner)]);
    expect(found.filter(({ sub }) => sub === first.sub)).toHaveLength(1);
    expect(providers.microsoft.last('/authorize')!.path).toBe('/organizations/oauth2/v2.0/authorize');
  });

  test('with several tenants refuses another one, and a tid that is missing or does not fit iss (federation 5, F24)', async () => {
    await several();
    const other = '33333333-3333-4333-8333-333333333333';
    claim({ tid: other, iss: issuerOf(other) });
    await isRefused('microsoft', 'belongs to another organization');
    for (const claims of [
      { tid: partner, iss: issuerOf(corporate) },
      { tid: corporate, iss: issuerOf(partner) },
      { tid: undefined },
      { tid: [corporate] },
      { iss: issuerOf('common'), tid: 'common' },
      { iss: `${providers.microsoft.origin}/{tenantid}/v2.0`, tid: '{tenantid}' },
      { iss: `https://evil.example/${corporate}/v2.0` },
      { iss: issuerOf(corporate).toUpperCase() },
      { oid: undefined },
      { oid: 7 },
    ]) {
      claim(claims);
      await isRefused('microsoft');
    }
  });

  test('with one tenant refuses a token of another (federation F24)', async () => {
    claim({ tid: partner, iss: issuerOf(partner) });
    await isRefused('microsoft');
    claim({ tid: partner });
    await isRefused('microsoft');
  });

  test('refuses a signature by a key that is published for another issuer (federation F11)', async () => {
    const { settings, ...body } = connectionTo('microsoft', strict);
    const made = { ...body, id: 'strict', settings: { ...(settings as object), tenants: [...tenants] } };
    expect((await administrator.create(made)).status).toBe(201);
    // such as that of the consumers' tenant
    strict.state.key = { issuer: `${strict.origin}/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0` };
    const before = await links();
    refused(await signInBy(new UserAgent(service), 'strict'), 'couldn’t verify the response');
    expect(await links()).toBe(before);
    expect(strict.count('/keys')).toBe(1);
  });

  test.each([
    ['common', 'tenants', ['common']],
    ['organizations', 'tenants', 'organizations'],
    ['no tenant', 'tenants', []],
    ['another authority', 'authority', 'https://login.evil.example'],
  ])('cannot be saved with %s (federation 5, F24)', async (_title, member, value) => {
    const answer = await administrator.change('microsoft', { settings: { [member]: value } });
    const error_description = expect.stringContaining(`settings.${member}`);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', error_description } });
  });

  test.each([undefined, false, '1', 'true', 1])(
    'does not vouch for an address with xms_edov %j, whatever email_verified says: root stays alone (federation FR2, F24)',
    async (xms_edov) => {
      const oid = claim({ email: 'root@corp.example', email_verified: true, xms_edov });
      const user = await userOf('microsoft', oid);
      expect(user.email).toBeUndefined();
      expect(user.sub).not.toBe(root.sub);
    },
  );

  test('vouches for an address with xms_edov true, which applications do not see as confirmed (federation FR2, F28)', async () => {
    const oid = claim({ email: `edov${number}@third.example`, xms_edov: true });
    expect(await userOf('microsoft', oid)).toMatchObject({
      email: expect.stringContaining('@third.example'),
      emailVerified: false,
    });
  });

  describe('with rules for groups', () => {
    const overage = (endpoint: string) => {
      const { _claim_names, _claim_sources } = fixture('microsoft-overage') as Record<string, object>;
      expect(_claim_sources).toBeDefined();
      return { groups: undefined, _claim_names, _claim_sources: { src1: { endpoint } } };
    };
    const groupsOf = async (oid: string) => (await userOf('microsoft', oid)).groups;
    const [one, two] = ['aaaaaaaa-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000002'];

    test('gives the groups of the token, and only an empty list removes them (federation FR15, F22)', async () => {
      await administrator.change('microsoft', { group_rules: everyGroup });
      const oid = claim();
      expect(await groupsOf(oid)).toEqual([one]);
      const trap = `${providers.microsoft.origin}/trap`;
      for (const claims of [{ groups: undefined }, { groups: '' }, { groups: {} }, overage(trap)]) {
        providers.microsoft.state.claims = { oid, ...claims };
        const before = await unknownGroups('microsoft');
        expect(await groupsOf(oid)).toEqual([one]);
        expect(await unknownGroups('microsoft')).toBe(before + 1);
      }
      // the address of the answer is never asked (federation FR13)
      expect(providers.microsoft.count('/trap')).toBe(0);
      expect(providers.microsoft.count('/microsoft.graph.group')).toBe(0);
      providers.microsoft.state.claims = { oid, groups: [] };
      expect(await groupsOf(oid)).toEqual([]);
    });

    test('reads groups from the fixed address of Microsoft Graph if the settings say so, and uses only a complete answer (federation FR13, FR15, F22)', async () => {
      const graph = '/v1.0/me/transitiveMemberOf/microsoft.graph.group';
      const { state } = providers.microsoft;
      await administrator.change('microsoft', { group_rules: everyGroup, settings: { graph_groups: true } });
      const oid = claim();
      const trap = `${providers.microsoft.origin}/trap`;
      state.claims = { oid, ...overage(trap) };
      expect(await groupsOf(oid)).toEqual([one, two]);
      expect(providers.microsoft.last('/authorize')!.query['scope']!.split(' ')).toContain('User.Read');
      const partial = { ...(fixture('microsoft-graph-groups') as object), '@odata.nextLink': trap };
      for (const answer of [
        { status: 403, body: { error: { code: 'Authorization_RequestDenied' } } },
        { status: 500, body: {} },
        { body: partial },
        { body: { value: [{ id: 7 }] } },
        { body: { value: 'all' } },
        { body: [] },
        { body: { value: Array.from({ length: 10_000 }, () => ({ id: one })) } },
      ]) {
        state.answers[graph] = answer;
        const before = await unknownGroups('microsoft');
        expect(await groupsOf(oid)).toEqual([one, two]);
        expect(await unknownGroups('microsoft')).toBe(before + 1);
      }
      expect(providers.microsoft.count('/trap')).toBe(0);
      state.answers[graph] = { body: { value: [] } };
      expect(await groupsOf(oid)).toEqual([]);
    });
  });
});

describe('github', () => {
  const be = (user: Record<string, unknown>, emails?: unknown) => {
    const id = 1000 + ++number;
    const { answers } = providers.github.state;
    answers['/api/v3/user'] = { body: { ...(fixture('github-user') as object), id, ...user } };
    if (emails !== undefined) answers['/api/v3/user/emails'] = { body: emails };
    return String(id);
  };
  const address = (email: string, verified = true, primary = true) => ({ email, primary, verified, visibility: null });

  test('signs a user in by the number, with the primary verified address and never that of the profile (federation 5, F25)', async () => {
    const id = be({ login: 'gus' }, [address('root@corp.example', true, false), address('gus@third.example')]);
    const user = await userOf('github', id);
    // without trust_email its word confirms nothing
    expect(user).toMatchObject({
      username: 'gus',
      email: 'gus@third.example',
      emailVerified: false,
      claims: { name: 'Gus Example' },
    });
    expect((await linksTo('github', id))[0]!.issuer).toBe(providers.github.origin);
    expect(await linksTo('github', 'gus')).toEqual([]);
    expect(providers.github.last('/user')!.authorization).toMatch(/^Bearer /);
    const { query } = providers.github.last('/authorize')!;
    expect(query).toMatchObject({ scope: 'read:user user:email', code_challenge_method: 'S256' });
    expect(query).not.toHaveProperty('nonce');
  });

  test('confirms an address with trust_email only, and an existing account is not taken over by it (security R157)', async () => {
    await administrator.change('github', { trust_email: true });
    const id = be({ login: 'trusted' }, [address('trusted@third.example')]);
    expect(await userOf('github', id)).toMatchObject({ emailVerified: true, confirmedBy: 'word' });
    await administrator.change('github', { trust_email: false });
    const other = be({ login: 'untrusted' }, [address('untrusted@third.example')]);
    expect(await userOf('github', other)).toMatchObject({ email: 'untrusted@third.example', confirmedBy: undefined });
  });

  test('treats a user who took a login that another user gave up as a new user (federation FR1, F25)', async () => {
    const before = await userOf('github', be({ login: 'shared' }, []));
    const id = be({ login: 'shared' }, []);
    expect((await userOf('github', id)).sub).not.toBe(before.sub);
  });

  test.each<[string, unknown]>([
    ['the primary one is not verified', [address('root@corp.example', false)]],
    ['only another one is verified', [address('root@corp.example', true, false)]],
    ['verified is a text', [{ ...address('root@corp.example'), verified: 'true' }]],
    ['there is none', []],
    ['the answer is no list', { email: 'root@corp.example', primary: true, verified: true }],
    ['the list has other things', [null, 7, 'root@corp.example']],
  ])('has no address where %s: root stays alone (federation FR2, F25)', async (_title, emails) => {
    const user = await userOf('github', be({}, emails));
    expect(user.email).toBeUndefined();
    expect(user.sub).not.toBe(root.sub);
  });

  test('has no address without the scope for it (federation F25)', async () => {
    const id = be({});
    providers.github.state.answers['/api/v3/user/emails'] = { status: 404, body: { message: 'Not Found' } };
    expect((await userOf('github', id)).email).toBeUndefined();
  });

  test.each([undefined, null, '583231', 0, -1, 1.5, 2 ** 53, '__proto__'])(
    'refuses a user whose id is %j (federation FR1)',
    async (id) => {
      be({ id });
      await isRefused('github');
    },
  );

  test('has one problem for a refused secret and another for a refused code, though GitHub answers both with 200 (federation 4)', async () => {
    be({});
    providers.github.state.isClient = () => false;
    await isRefused('github', 'rejected our request');
    providers.github.state.answers['/login/oauth/access_token'] = { body: fixture('github-token-error') };
    await isRefused('github');
  });

  test('gives teams as organization/team, only of the named organizations (federation 5)', async () => {
    await administrator.change('github', { group_rules: everyGroup, settings: { organizations: 'example-org' } });
    expect((await administrator.show('github')).body).toMatchObject({ settings: { organizations: ['example-org'] } });
    const id = be({}, []);
    expect((await userOf('github', id)).groups).toEqual(['example-org/site-reliability']);
    expect(providers.github.last('/authorize')!.query['scope']).toContain('read:org');
    const { answers } = providers.github.state;
    for (const answer of [
      { status: 403, body: {} },
      { body: { teams: [] } },
      { body: [{ slug: 'admins' }] },
      { body: [null] },
    ]) {
      answers['/api/v3/user/teams'] = answer;
      const before = await unknownGroups('github');
      expect((await userOf('github', id)).groups).toEqual(['example-org/site-reliability']);
      expect(await unknownGroups('github')).toBe(before + 1);
    }
    // page after page is full: that is not all, so nothing is known
    const [team] = fixture('github-teams') as object[];
    answers['/api/v3/user/teams'] = { body: Array.from({ length: 100 }, () => team) };
    const before = await unknownGroups('github');
    expect((await userOf('github', id)).groups).toEqual(['example-org/site-reliability']);
    expect(await unknownGroups('github')).toBe(before + 1);
    answers['/api/v3/user/teams'] = { body: [] };
    expect((await userOf('github', id)).groups).toEqual([]);
  });

  test.each(['http://github.example', 'https://10.0.0.1', 'https://github.example/path', 'https://u:p@github.example'])(
    'cannot be saved with the base %s (federation FR13, F13)',
    async (base) => {
      expect((await administrator.change('github', { settings: { base } })).status).toBe(400);
    },
  );
});

describe('apple', () => {
  const claim = (claims: Record<string, unknown> = {}) => {
    const sub = newSubject();
    providers.apple.state.claims = { sub, email: `${sub}@privaterelay.example`, ...claims };
    return sub;
  };

  test('posts its answer, and gets a secret of five minutes that was signed for the request (federation 5)', async () => {
    const secrets: string[] = [];
    providers.apple.state.isClient = async ({ client_secret: secret = '' }) => {
      const { payload, protectedHeader } = await jwtVerify(secret, createPublicKey(appleKey), {
        issuer: 'TEAM000001',
        subject: 'com.example.gatehouse',
        audience: providers.apple.origin,
      });
      secrets.push(secret);
      expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'KEY0000001' });
      expect(payload.exp! - payload.iat!).toBe(300);
      return true;
    };
    const sub = claim();
    const user = await userOf('apple', sub);
    expect(user).toMatchObject({ email: `${sub}@privaterelay.example`, emailVerified: true });
    expect(providers.apple.last('/authorize')!.query).toMatchObject({
      response_mode: 'form_post',
      scope: 'openid name email',
    });
    expect(secrets).toHaveLength(1);
  });

  test.each<[unknown, boolean]>([
    ['true', true],
    [true, true],
    ['false', false],
    [false, false],
    ['TRUE', false],
    [1, false],
    [undefined, false],
  ])('with email_verified %j vouches for the address: %j (federation 5, FR2)', async (email_verified, vouches) => {
    const sub = claim({ email_verified });
    expect((await userOf('apple', sub)).email !== undefined).toBe(vouches);
  });

  test('fills an empty name once from the unsigned field, and nothing else (federation 5, FR2)', async () => {
    const { state } = providers.apple;
    state.posted = { user: JSON.stringify(fixture('apple-user')) };
    const sub = claim({ email: undefined });
    const user = await userOf('apple', sub);
    expect(user.claims).toEqual({ name: 'Ann Example', given_name: 'Ann', family_name: 'Example' });
    expect(user.email).toBeUndefined();
    expect(user.sub).not.toBe(root.sub);
    state.posted = { user: JSON.stringify({ name: { firstName: 'Other', lastName: 'Name' } }) };
    expect((await userOf('apple', sub)).claims['name']).toBe('Ann Example');
  });

  test.each([
    '{',
    '[]',
    'null',
    '7',
    '{"name":7}',
    '{"name":{"firstName":{"a":1}}}',
    '{"name":{"firstName":"a\\u0000b"}}',
  ])('signs in without a name where the field is %s (federation F15)', async (user) => {
    providers.apple.state.posted = { user };
    expect((await userOf('apple', claim())).claims).toEqual({});
  });

  test('leads a user who cancelled to a page, also by a posted answer (federation 4)', async () => {
    providers.apple.state.refusal = { error: 'user_cancelled_authorize' };
    await isRefused('apple', 'You didn’t finish signing in');
  });

  test.each([
    'not a key',
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
    appleKey.replace(/\n.{20}/, '\n'),
  ])('cannot be saved with something else than a .p8 key (federation 5)', async (secret) => {
    expect(await administrator.change('apple', { secret })).toMatchObject({
      status: 400,
      body: { error_description: expect.stringContaining('.p8') },
    });
  });
});

test.each(['google', 'apple'] as const)(
  '%s cannot be another provider, unless OUTBOUND_ALLOW names it as a test system (federation FR2, FR14)',
  async (preset) => {
    for (const issuer of ['https://evil.example', 'http://127.0.0.1:1', `${providers[preset].origin}/path`])
      expect(await administrator.change(preset, { settings: { issuer } })).toMatchObject({
        status: 400,
        body: { error_description: expect.stringContaining('settings.issuer is not valid') },
      });
  },
);

test('a preset belongs to its kind, and never changes (federation 4)', async () => {
  const wrong = { ...connectionTo('github', providers.github), id: 'wrong', kind: 'oidc' };
  expect(await administrator.create(wrong)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect((await administrator.change('github', { preset: 'google' })).status).toBe(400);
});

test('no secret of a preset, no token and no part of a key is in an answer, an event or a log (federation FR17, F31)', async () => {
  const shown = await Promise.all(presets.map((preset) => administrator.show(preset)));
  const events = await service.database.sql('SELECT * FROM audit_events');
  const body = appleKey.split('\n')[1]!;
  for (const text of [
    JSON.stringify(shown.map((one) => one.body)),
    JSON.stringify(events),
    JSON.stringify(service.logs),
  ])
    for (const part of [canary, body, 'canary-of-the-access-token']) expect(text).not.toContain(part);
  const rows = await service.database.sql<{ row: string }>('SELECT c::text AS row FROM connections c');
  for (const { row } of rows) for (const part of [canary, body]) expect(row).not.toContain(part);
});
