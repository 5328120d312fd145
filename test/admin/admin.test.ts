// The admin routes at work: users, clients, sessions, keys, audit and registration tokens, with their lists page by page.
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
  // there always is an administrator
  await service.createUser({ admin: true });
});
afterAll(() => service?.stop());

const admin = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });
const password = 'correct horse battery staple';

describe('users', () => {
  test('are made, shown, changed and deleted (decisions section 8)', async () => {
    const made = await admin('/users', 'POST', {
      username: 'Alice',
      email: 'alice@example.com',
      email_verified: true,
      password,
      groups: ['staff'],
      claims: { name: 'Alice Adams' },
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      sub: expect.any(String),
      username: 'Alice',
      email: 'alice@example.com',
      email_verified: true,
      status: 'enabled',
      admin: false,
      groups: ['staff'],
      claims: { name: 'Alice Adams' },
      has_password: true,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    const path = `/users/${made.body['sub'] as string}`;
    expect((await admin(path)).body).toEqual(made.body);
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
    ['an address without an at sign', { username: 'mail', email: 'x' }],
    ['an unknown member', { username: 'unknown', root: true }],
    ['an unknown claim', { username: 'claim', claims: { is_admin: true } }],
    ['a claim of another type', { username: 'type', claims: { birthdate: 7 } }],
    ['text for a flag', { username: 'flag', admin: 'true' }],
  ])('with %s are refused (security A123)', async (_what, body) => {
    expect(await admin('/users', 'POST', body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.any(String) },
    });
  });

  test('with a name or an address that is taken, however it is spelled, are refused with 409 (security A123)', async () => {
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

  test('that are disabled or get a new password lose all sessions and tokens at once (security R54)', async () => {
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

  test('that get a new password lose what outlived a logout by offline_access, too (decisions section 4)', async () => {
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

  test('are made enabled, with what only an administrator sets, and show their secrets once (decisions section 2)', async () => {
    const made = await make({
      scope: 'admin',
      first_party: true,
      self_managed: true,
      introspect: 'any',
      access_token_lifetime: 60,
      client_name: 'Tool',
    });
    expect(made).toMatchObject({
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
    expect(await credentials(made)).toMatchObject({ status: 200, body: { expires_in: 60, scope: 'admin' } });
    const shown = await admin(`/clients/${made['client_id'] as string}`);
    for (const secret of ['client_secret', 'shared_secret', 'registration_access_token'])
      expect(shown.body).not.toHaveProperty(secret);
    expect(JSON.stringify(shown.body)).not.toMatch(/hash|encrypted/);
  });

  test('are changed member by member, null taking one away, in force on every instance within a second (decisions section 2)', async () => {
    const made = await make({ client_name: 'Before', contacts: ['a@example.com'], access_token_lifetime: 60 });
    const path = `/clients/${made['client_id'] as string}`;
    for (const base of service.instances) expect(await credentials(made, base)).toMatchObject({ status: 200 });
    const changed = await admin(path, 'PATCH', { client_name: 'After', contacts: null, access_token_lifetime: 30 });
    expect(changed.body).toMatchObject({ client_name: 'After', access_token_lifetime: 30 });
    expect(changed.body).not.toHaveProperty('contacts');
    expect(changed.body['version']).toBeGreaterThan(made['version'] as number);
    for (const base of service.instances)
      await eventually(
        () => credentials(made, base),
        ({ body }) => body['expires_in'] === 30,
      );
    expect((await admin(path, 'PATCH', { access_token_lifetime: null })).body).not.toHaveProperty(
      'access_token_lifetime',
    );
  });

  test('are changed by several at once, and no change is lost (decisions section 8)', async () => {
    const made = await make();
    const path = `/admin/api/clients/${made['client_id'] as string}`;
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
    ['a member of the service', { client_id: 'x' }],
    ['an address that nobody may register', { redirect_uris: ['javascript:alert(1)'] }],
    ['an unknown status', { status: 'half' }],
    ['a lifetime of nothing', { access_token_lifetime: 0 }],
    ['an unknown right', { introspect: 'all' }],
    ['a list', []],
  ])('with %s are refused, and stay as they are (security R25)', async (_what, change) => {
    const made = await make();
    const path = `/clients/${made['client_id'] as string}`;
    expect((await admin(path, 'PATCH', change)).status).toBe(400);
    expect((await admin(path)).body['version']).toBe(made['version']);
  });

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
    ['a secret that would have to be a key', {}, { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['a secret that would have to sign ID Tokens', {}, { id_token_signed_response_alg: 'HS256' }],
  ])('are not changed so that their credentials cannot serve: %s (security A123)', async (_what, before, change) => {
    const made = await make(before);
    const path = `/clients/${made['client_id'] as string}`;
    const answer = await admin(path, 'PATCH', change);
    if (answer.status === 200) expect(answer.body).toHaveProperty('client_secret');
    else {
      expect(answer).toMatchObject({ status: 400, body: { error_description: expect.any(String) } });
      expect((await admin(path)).body['version']).toBe(made['version']);
    }
  });

  test('are deleted with all that was issued to them (RFC 7592 2.3)', async () => {
    const made = await make();
    const { body } = await credentials(made);
    expect(await admin(`/clients/${made['client_id'] as string}`, 'DELETE')).toMatchObject({ status: 204 });
    expect(await userinfo(service.issuer, body['access_token'] as string)).toMatchObject({ status: 401 });
    for (const base of service.instances)
      await eventually(
        () => credentials(made, base),
        ({ status }) => status === 401,
      );
    expect(await admin(`/clients/${made['client_id'] as string}`, 'DELETE')).toMatchObject({ status: 404 });
  });
});

describe('an empty body', () => {
  const send = (path: string, method: string) =>
    call(`${service.issuer}/admin/api${path}`, { method, token, headers: { 'content-type': 'application/json' } });

  test('is none, whatever type it is said to have (RFC 9110 8.3)', async () => {
    const { clientId } = await service.createClient();
    expect((await send(`/clients/${clientId}/disable`, 'POST')).status).toBe(200);
    expect((await send(`/clients/${clientId}`, 'PATCH')).status).toBe(200);
    expect((await send(`/users/${(await service.createUser()).sub}`, 'DELETE')).status).toBe(204);
  });

  test('where one is needed is refused with what to send (decisions section 7)', async () => {
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
  test('are listed without anything that could be replayed, and ended (security R54)', async () => {
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
  test('keys are listed without their private halves (security R94)', async () => {
    const { body } = await admin('/keys');
    const keys = body['keys'] as Record<string, unknown>[];
    expect(keys.length).toBeGreaterThanOrEqual(4);
    for (const key of keys)
      expect(
        Object.keys(key).filter((name) => !['kid', 'alg', 'state', 'active_at', 'expires_at'].includes(name)),
      ).toEqual([]);
    expect(await admin('/keys', 'POST', { immediate: 'yes' })).toMatchObject({ status: 400 });
  });

  test('an immediate rotation answers with keys that wait for two seconds, as its summary says (security R95)', async () => {
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

  test('a member that is missing is called missing, and a wrong one wrong (decisions section 7)', async () => {
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

  test('the audit trail tells what happened, newest first, and can be filtered but not changed (decisions section 7)', async () => {
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
