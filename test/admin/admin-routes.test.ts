// The admin routes manage users, clients, sessions, keys, audit events and registration tokens.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  adminToken,
  approveClient,
  type Answer,
  call,
  eventually,
  obtainTokens,
  refresh,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  // so that no user of a test is the last administrator
  await service.createUser({ admin: true });
});
afterAll(() => service?.stop());

const admin = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });
const password = 'correct horse battery staple';

describe('users', () => {
  test('an administrator creates, reads, changes and deletes a user (decisions section 8)', async () => {
    const created = await admin('/users', 'POST', {
      username: 'Alice',
      email: 'alice@example.com',
      email_verified: true,
      password,
      groups: ['staff'],
      claims: { name: 'Alice Adams' },
    });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      sub: expect.any(String),
      username: 'Alice',
      email: 'alice@example.com',
      email_verified: true,
      email_confirmed_by: 'administrator',
      status: 'enabled',
      admin: false,
      groups: ['staff'],
      claims: { name: 'Alice Adams' },
      has_password: true,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    const path = `/users/${created.body['sub'] as string}`;
    expect((await admin(path)).body).toEqual(created.body);
    expect((await new UserAgent(service).signIn({ username: 'alice', password })).url).toMatch(/\/account$/);
    const changed = await admin(path, 'PATCH', {
      email: 'new@example.com',
      groups: ['staff', 'crew'],
      claims: { name: null, nickname: 'Al' },
    });
    expect(changed.body).toMatchObject({
      email: 'new@example.com',
      email_verified: false,
      groups: ['staff', 'crew'],
      claims: { nickname: 'Al' },
    });
    expect(changed.body['claims']).not.toHaveProperty('name');
    expect((await admin(path, 'PATCH', { email: null })).body).not.toHaveProperty('email');
    expect(await admin(path, 'DELETE')).toMatchObject({ status: 204 });
    expect(await admin(path)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await admin(path, 'DELETE')).toMatchObject({ status: 404 });
    expect(await admin(path, 'PATCH', { admin: true })).toMatchObject({ status: 404 });
  });

  test.each([
    ['no user name', { password }],
    ['an empty user name', { username: ' ' }],
    ['a control character', { username: 'a\nb' }],
    ['a short password', { username: 'short', password: 'x' }],
    ['a password of 129 characters', { username: 'long', password: 'x'.repeat(129) }],
    ['an email address without an at sign', { username: 'mail', email: 'x' }],
    ['an unknown member', { username: 'unknown', root: true }],
    ['an unknown claim', { username: 'claim', claims: { is_admin: true } }],
    ['a claim of another type', { username: 'type', claims: { birthdate: 7 } }],
    ['a string for a boolean', { username: 'flag', admin: 'true' }],
  ])('a new user with %s is refused (security A123)', async (_what, body) => {
    expect(await admin('/users', 'POST', body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.any(String) },
    });
  });

  test('a user name or email address that is taken, in any spelling, is refused with 409 (security A123)', async () => {
    await admin('/users', 'POST', { username: 'Taken', email: 'taken@example.com' });
    const race = await Promise.all(
      Array.from({ length: 5 }, () => admin('/users', 'POST', { username: 'Racer', email: 'racer@example.com' })),
    );
    expect(race.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409]);
    for (const body of [
      { username: 'tAKEN ' },
      { username: 'ｔａｋｅｎ' },
      { username: 'x', email: 'TAKEN@example.com' },
    ]) {
      const answer = await admin('/users', 'POST', body);
      expect(answer).toMatchObject({ status: 409, body: { error: 'conflict' } });
      expect(JSON.stringify(answer.body)).not.toMatch(/23505|_key|constraint/);
    }
  });

  test('a user who is disabled or gets a new password loses all sessions and tokens at once (security R54)', async () => {
    for (const change of [{ status: 'disabled' }, { password: 'another long password' }]) {
      const user = await service.createUser();
      const client = await service.createClient({ scope: 'openid offline_access' });
      const agent = new UserAgent(service);
      const tokens = await obtainTokens(service, client, user, { scope: 'openid offline_access' }, agent);
      expect(await admin(`/users/${user.sub}`, 'PATCH', change)).toMatchObject({ status: 200 });
      expect(await userinfo(service.instances[1]!, tokens.access_token)).toMatchObject({ status: 401 });
      expect(await refresh(service.instances[1]!, client, tokens.refresh_token)).toMatchObject({ status: 400 });
      expect((await agent.authorize(client, undefined)).body).toContain('id="password"');
    }
  });

  test('a new password also revokes the offline_access tokens that outlived a logout (decisions section 4)', async () => {
    const user = await service.createUser();
    const client = await service.createClient({ scope: 'openid offline_access' });
    const agent = new UserAgent(service);
    const tokens = await obtainTokens(service, client, user, { scope: 'openid offline_access' }, agent);
    await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    const kept = await refresh(service.issuer, client, tokens.refresh_token);
    expect(kept).toMatchObject({ status: 200 });
    await admin(`/users/${user.sub}`, 'PATCH', { password: 'another long password' });
    expect(await refresh(service.issuer, client, kept.body['refresh_token'] as string)).toMatchObject({ status: 400 });
    expect(await userinfo(service.issuer, kept.body['access_token'] as string)).toMatchObject({ status: 401 });
  });
});

describe('clients', () => {
  const make = async (body: Record<string, unknown> = {}) =>
    (await admin('/clients', 'POST', { redirect_uris: [], grant_types: ['client_credentials'], ...body })).body;
  const credentials = (body: Record<string, unknown>, base = service.issuer) =>
    tokenRequest(
      base,
      { basic: `Basic ${Buffer.from(`${body['client_id']}:${body['client_secret']}`).toString('base64')}` },
      { grant_type: 'client_credentials' },
    );

  test('a client that an administrator creates is enabled, has the settings of an administrator, and its secrets are shown once (decisions section 2)', async () => {
    const created = await make({
      scope: 'admin',
      first_party: true,
      self_managed: true,
      introspect: 'any',
      access_token_lifetime: 60,
      client_name: 'Tool',
    });
    expect(created).toMatchObject({
      status: 'enabled',
      approved_by: 'administrator',
      scope: 'admin',
      first_party: true,
      self_managed: true,
      introspect: 'any',
      access_token_lifetime: 60,
      client_secret: expect.any(String),
      shared_secret: expect.any(String),
      registration_access_token: expect.any(String),
    });
    expect(await credentials(created)).toMatchObject({ status: 200, body: { expires_in: 60, scope: 'admin' } });
    const shown = await admin(`/clients/${created['client_id'] as string}`);
    for (const secret of ['client_secret', 'shared_secret', 'registration_access_token'])
      expect(shown.body).not.toHaveProperty(secret);
    expect(JSON.stringify(shown.body)).not.toMatch(/hash|encrypted/);
  });

  test('a request changes single members of a client, removes a member that is null, and takes effect on every instance within a second (decisions section 2)', async () => {
    const created = await make({ client_name: 'Before', contacts: ['a@example.com'], access_token_lifetime: 60 });
    const path = `/clients/${created['client_id'] as string}`;
    for (const base of service.instances) expect(await credentials(created, base)).toMatchObject({ status: 200 });
    const changed = await admin(path, 'PATCH', { client_name: 'After', contacts: null, access_token_lifetime: 30 });
    expect(changed.body).toMatchObject({ client_name: 'After', access_token_lifetime: 30 });
    expect(changed.body).not.toHaveProperty('contacts');
    expect(changed.body['version']).toBeGreaterThan(created['version'] as number);
    for (const base of service.instances)
      await eventually(
        () => credentials(created, base),
        ({ body }) => body['expires_in'] === 30,
      );
    expect((await admin(path, 'PATCH', { access_token_lifetime: null })).body).not.toHaveProperty(
      'access_token_lifetime',
    );
  });

  test('concurrent changes of one client all take effect (decisions section 8)', async () => {
    const created = await make();
    const path = `/admin/api/clients/${created['client_id'] as string}`;
    const members = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'client_name', 'software_id'];
    for (let round = 1; round <= 5; round++) {
      const change = Object.fromEntries(members.map((member) => [member, `https://rp.example.com/${round}`]));
      const answers = await Promise.all(
        members.map((member, n) =>
          call(service.instances[n % 2]! + path, { method: 'PATCH', token, body: { [member]: change[member] } }),
        ),
      );
      for (const answer of answers) expect(answer.status).toBe(200);
      expect((await admin(path.slice('/admin/api'.length))).body).toMatchObject(change);
    }
  });

  test.each([
    ['an unknown member', { root: true }],
    ['a member that the service sets', { client_id: 'x' }],
    ['a redirect URI that is not allowed', { redirect_uris: ['javascript:alert(1)'] }],
    ['an unknown status', { status: 'half' }],
    ['a lifetime of zero', { access_token_lifetime: 0 }],
    ['an unknown value of introspect', { introspect: 'all' }],
    ['a connection that does not exist', { connections: ['nowhere'] }],
    ['tokens of a connection that does not exist', { upstream_tokens: ['nowhere'] }],
    ['groups as its users, and no group', { access: 'groups' }],
    ['a list', []],
  ])(
    'a change of a client with %s is refused, and the client stays as it was (security R25)',
    async (_what, change) => {
      const created = await make();
      const path = `/clients/${created['client_id'] as string}`;
      expect((await admin(path, 'PATCH', change)).status).toBe(400);
      expect((await admin(path)).body['version']).toBe(created['version']);
    },
  );

  test.each([
    [
      'a public client that would need a secret',
      {
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        redirect_uris: ['https://rp.example.com/cb'],
      },
      { token_endpoint_auth_method: 'client_secret_basic' },
    ],
    ['a secret that would have to be a signing key', {}, { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['a secret that would have to sign ID Tokens', {}, { id_token_signed_response_alg: 'HS256' }],
  ])('a change never leaves a client without usable credentials: %s (security A123)', async (_what, before, change) => {
    const created = await make(before);
    const path = `/clients/${created['client_id'] as string}`;
    const answer = await admin(path, 'PATCH', change);
    if (answer.status === 200) expect(answer.body).toHaveProperty('client_secret');
    else {
      expect(answer).toMatchObject({ status: 400, body: { error_description: expect.any(String) } });
      expect((await admin(path)).body['version']).toBe(created['version']);
    }
  });

  test('deleting a client revokes everything issued to it (RFC 7592 2.3)', async () => {
    const created = await make();
    const { body } = await credentials(created);
    expect(await admin(`/clients/${created['client_id'] as string}`, 'DELETE')).toMatchObject({ status: 204 });
    expect(await userinfo(service.issuer, body['access_token'] as string)).toMatchObject({ status: 401 });
    for (const base of service.instances)
      await eventually(
        () => credentials(created, base),
        ({ status }) => status === 401,
      );
    expect(await admin(`/clients/${created['client_id'] as string}`, 'DELETE')).toMatchObject({ status: 404 });
  });
});

describe('an empty body', () => {
  const send = (path: string, method: string) =>
    call(`${service.issuer}/admin/api${path}`, { method, token, headers: { 'content-type': 'application/json' } });

  test('an empty body counts as no body, whatever its Content-Type (RFC 9110 8.3)', async () => {
    const { clientId } = await service.createClient();
    expect((await send(`/clients/${clientId}/disable`, 'POST')).status).toBe(200);
    expect((await send(`/clients/${clientId}`, 'PATCH')).status).toBe(200);
    expect((await send(`/users/${(await service.createUser()).sub}`, 'DELETE')).status).toBe(204);
  });

  test('a route that needs a body refuses an empty one, and says what to send (decisions section 7)', async () => {
    const { clientId } = await service.createClient();
    for (const path of ['/users', `/clients/${clientId}/approve`]) {
      expect(await send(path, 'POST')).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', error_description: 'the body is missing: send a JSON object' },
      });
    }
  });
});

describe('sessions', () => {
  test('the list of sessions holds nothing that can be replayed, and an administrator ends a session from it (security R54)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    const client: TestClient = await service.createClient();
    const tokens = await obtainTokens(service, client, user, {}, agent);
    const { body } = await admin(`/sessions?sub=${user.sub}`);
    const sessions = body['sessions'] as Record<string, string>[];
    expect(sessions).toHaveLength(1);
    expect(sessions[0]).toMatchObject({ sub: user.sub, username: user.username, id: expect.any(String) });
    for (const value of agent.cookies.values()) expect(JSON.stringify(body)).not.toContain(value);
    expect(await admin(`/sessions/${sessions[0]!['id']}`, 'DELETE')).toMatchObject({ status: 204 });
    expect(await admin(`/sessions/${sessions[0]!['id']}`, 'DELETE')).toMatchObject({ status: 404 });
    expect(await userinfo(service.issuer, tokens.access_token)).toMatchObject({ status: 401 });
    expect((await agent.get('/account')).location).toMatch(/\/login/);
    expect((await admin(`/sessions?sub=${user.sub}`)).body['sessions']).toEqual([]);
  });
});

describe('keys, audit and registration tokens', () => {
  test('the list of keys holds no private keys (security R94)', async () => {
    const { body } = await admin('/keys');
    const keys = body['keys'] as Record<string, unknown>[];
    expect(keys.length).toBeGreaterThanOrEqual(4);
    for (const key of keys)
      expect(
        Object.keys(key).filter((name) => !['kid', 'alg', 'state', 'active_at', 'expires_at'].includes(name)),
      ).toEqual([]);
    expect(await admin('/keys', 'POST', { immediate: 'yes' })).toMatchObject({ status: 400 });
  });

  test('an immediate rotation returns keys that wait for two seconds, as its summary says (security R95)', async () => {
    const { status, body } = await admin('/keys', 'POST', { immediate: true });
    expect(status).toBe(201);
    const waiting = (body['keys'] as Record<string, string>[]).filter(({ state }) => state === 'waiting');
    expect(waiting.length).toBeGreaterThanOrEqual(4);
    const [{ now }] = (await service.database.sql('SELECT now()')) as [{ now: Date }];
    for (const key of waiting) expect(Date.parse(key['active_at']!) - now.getTime()).toBeLessThanOrEqual(2000);
    const { paths } = (await admin('/openapi.json')).body as {
      paths: Record<string, Record<string, { summary: string }>>;
    };
    expect(paths['/admin/api/keys']!['post']!.summary).toContain('after two seconds with immediate');
  });

  test('a refusal tells a missing member from an invalid one (decisions section 7)', async () => {
    const { clientId } = await service.createClient({}, { status: 'disabled' });
    const approve = `/clients/${clientId}/approve`;
    for (const [path, body, description] of [
      ['/users', {}, 'username is missing'],
      ['/users', { username: 7 }, 'username is not valid'],
      [approve, {}, 'version is missing'],
      [approve, { version: '1' }, 'version is not valid'],
      [`/clients/${clientId}/refuse`, { version: 1 }, 'reason is missing'],
    ] as const) {
      expect(await admin(path, 'POST', body)).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', error_description: description },
      });
    }
  });

  test('the audit trail lists events newest first, can be filtered, and cannot be changed (decisions section 7)', async () => {
    const client = await service.createClient();
    await admin(`/clients/${client.clientId}/disable`, 'POST');
    await approveClient(service.issuer, token, client.clientId);
    const { body } = await admin(`/audit?client_id=${client.clientId}`);
    const events = body['events'] as Record<string, unknown>[];
    expect(events.map((event) => event['type'])).toEqual(['client.approved', 'client.disabled', 'client.created']);
    for (const event of events) expect(event).toMatchObject({ outcome: 'success', at: expect.stringMatching(/Z$/) });
    const only = await admin(`/audit?client_id=${client.clientId}&type=client.disabled`);
    expect(only.body['events']).toHaveLength(1);
    for (const statement of [
      'UPDATE audit_events SET actor = NULL',
      'DELETE FROM audit_events',
      'TRUNCATE audit_events',
    ])
      await expect(service.database.sql(statement)).rejects.toThrow('append-only');
  });

  test('a registration token is shown once and stored as a hash (security R26)', async () => {
    const { status, body } = await admin('/registration-tokens', 'POST', { lifetime: 60 });
    expect(status).toBe(201);
    expect(body).toEqual({ initial_access_token: expect.stringMatching(/^ghia_/), expires_at: expect.any(String) });
    expect(Math.abs(Date.parse(body['expires_at'] as string) - Date.now() - 60_000)).toBeLessThan(30_000);
    const rows = await service.database.sql('SELECT t::text FROM initial_access_tokens t');
    expect(JSON.stringify(rows)).not.toContain(body['initial_access_token']);
    expect(JSON.stringify(service.logs)).not.toContain(body['initial_access_token']);
    for (const lifetime of [0, -1, 1.5, '60', 1e12])
      expect(await admin('/registration-tokens', 'POST', { lifetime })).toMatchObject({ status: 400 });
  });
});
