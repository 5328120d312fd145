// Approving or disabling a client by any means takes effect on every instance of a running service within a second.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  adminToken,
  approveClient,
  call,
  eventually,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { runCommand } from '../helpers/command-line.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, tokenRequest, UserAgent, withoutReference } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const redirect = 'https://rp.example.com/callback';
const grants = ['authorization_code', 'refresh_token', 'client_credentials'];
type Registered = Record<string, string>;

async function register(
  metadata: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  of = service,
): Promise<Registered> {
  const body = { redirect_uris: [redirect], grant_types: grants, client_name: 'Harbour', ...metadata };
  const answer = await call(`${of.issuer}/register`, { method: 'POST', body, headers });
  expect(answer.status).toBe(201);
  return answer.body as Registered;
}
const asTestClient = (client: Registered) =>
  ({
    clientId: client['client_id']!,
    redirectUri: redirect,
    basic: `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`,
  }) as TestClient;
const manage = (client: Registered, method: string, body?: unknown) =>
  call(client['registration_client_uri']!, { method, body, token: client['registration_access_token']! });
const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });

const tokenErrorOf = (base: string, client: Registered) => async () =>
  (await tokenRequest(base, asTestClient(client), { grant_type: 'client_credentials' })).body['error'] ?? 'none';

/** Waits, for a second at most, until every instance treats the client so. */
async function inForce(client: Registered, status: 'enabled' | 'disabled'): Promise<void> {
  const wanted = status === 'enabled' ? 'none' : 'unauthorized_client';
  await Promise.all(
    service.instances.map((base) => eventually(tokenErrorOf(base, client), (error) => error === wanted)),
  );
}

/** Makes both instances hold the client in their caches. */
async function warm(client: Registered): Promise<void> {
  for (const base of service.instances) await tokenErrorOf(base, client)();
}

const ways: Record<string, Record<'approve' | 'disable', (clientId: string) => Promise<unknown>>> = {
  'the admin route': {
    approve: async (id) => expect(await approveClient(service.issuer, token, id)).toMatchObject({ status: 200 }),
    disable: async (id) => expect(await admin(`/clients/${id}/disable`, 'POST')).toMatchObject({ status: 200 }),
  },
  'a change of the status by the admin route': {
    approve: async (id) => {
      const { version } = (await admin(`/clients/${id}`)).body;
      expect(await admin(`/clients/${id}`, 'PATCH', { status: 'enabled', version })).toMatchObject({ status: 200 });
    },
    disable: (id) => admin(`/clients/${id}`, 'PATCH', { status: 'disabled' }),
  },
  'plain SQL': {
    approve: (id) => service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [id]),
    disable: (id) => service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [id]),
  },
  'the command line': {
    approve: async (id) => expect(await runCommand(service, ['client', 'approve', id])).toMatchObject({ code: 0 }),
    disable: async (id) => expect(await runCommand(service, ['client', 'disable', id])).toMatchObject({ code: 0 }),
  },
};

describe.each(Object.entries(ways))('by %s', (_name, { approve, disable }) => {
  test('approving, disabling and enabling again take effect on both instances within a second (decisions section 2)', async () => {
    const client = await register();
    const id = client['client_id']!;
    await warm(client);
    await approve(id);
    await inForce(client, 'enabled');
    await disable(id);
    await inForce(client, 'disabled');
    await approve(id);
    await inForce(client, 'enabled');
  });

  test('everything that was issued before disabling stays revoked after enabling again (security R42)', async () => {
    const client = await register();
    await approve(client['client_id']!);
    await inForce(client, 'enabled');
    const user = await service.createUser();
    const agent = new UserAgent(service);
    const tokens = await obtainTokens(service, asTestClient(client), user, { scope: 'openid' }, agent);
    const own = await tokenRequest(service.issuer, asTestClient(client), { grant_type: 'client_credentials' });
    const code = await obtainCode(service, asTestClient(client), undefined, {}, agent);
    await disable(client['client_id']!);
    await approve(client['client_id']!);
    await inForce(client, 'enabled');
    for (const base of service.instances) {
      expect(await userinfo(base, tokens.access_token)).toMatchObject({ status: 401 });
      expect(await userinfo(base, own.body['access_token'] as string)).toMatchObject({ status: 401 });
      expect(await refresh(base, asTestClient(client), tokens.refresh_token)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
      expect(await redeem(base, asTestClient(client), code)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
    }
  });
});

describe('a disabled client', () => {
  test('the token endpoint answers a disabled client unauthorized_client, and 401 if its credentials are wrong (decisions section 2, security R42)', async () => {
    const client = await register();
    for (const grant_type of grants) {
      expect(await tokenRequest(service.issuer, asTestClient(client), { grant_type })).toMatchObject({
        status: 400,
        body: { error: 'unauthorized_client' },
      });
    }
    const wrong = await tokenRequest(service.issuer, asTestClient({ ...client, client_secret: 'guess' }), {
      grant_type: 'client_credentials',
    });
    const unknown = await tokenRequest(service.issuer, asTestClient({ client_id: 'unknown', client_secret: 'x' }), {
      grant_type: 'client_credentials',
    });
    expect(wrong).toMatchObject({ status: 401, body: unknown.body });
  });

  test('a disabled client, an unknown client and a wrong redirect URI get the same page at /authorize and /authenticate (security A2)', async () => {
    const client = await register();
    const working = await service.createClient();
    for (const path of ['authorize', 'authenticate']) {
      const pages = await Promise.all(
        [
          { clientId: client['client_id']!, redirectUri: redirect },
          { clientId: 'unknown', redirectUri: redirect },
          { clientId: working.clientId, redirectUri: 'https://evil.example/' },
        ].map(async (of) => {
          const agent = new UserAgent(service);
          const first = await agent.get(authorizationUrl(service.issuer, of).replace('/authorize', `/${path}`));
          return { first, last: await agent.follow(first) };
        }),
      );
      for (const { first, last } of pages) {
        expect(first).toMatchObject({ status: pages[0]!.first.status, location: pages[0]!.first.location });
        expect(last).toMatchObject({ status: 400, location: undefined, url: pages[0]!.last.url });
        expect(withoutReference(last)).toBe(withoutReference(pages[0]!.last));
        expect(last.body).not.toContain('id="password"');
      }
    }
  });

  test('a disabled client can read, update, repeat and delete its registration (decisions section 2)', async () => {
    const client = await register();
    expect(await manage(client, 'GET')).toMatchObject({ status: 200, body: { status: 'disabled' } });
    const body = { redirect_uris: ['https://rp.example.com/new'], client_id: client['client_id'] };
    const updated = await manage(client, 'PUT', body);
    expect(updated).toMatchObject({ status: 200, body: { status: 'disabled', redirect_uris: body.redirect_uris } });
    expect(updated.body).not.toHaveProperty('pending_changes');
    const repeated = await call(`${service.issuer}/register`, {
      method: 'POST',
      body,
      token: client['registration_access_token']!,
    });
    expect(repeated).toMatchObject({ status: 200, body: { status: 'disabled' } });
    expect(await manage(repeated.body as Registered, 'DELETE')).toMatchObject({ status: 204 });
  });
});

describe('an update that widens an approved registration', () => {
  const approved = async (metadata: Record<string, unknown> = {}) => {
    const client = await register({ token_endpoint_auth_method: 'client_secret_post', ...metadata });
    await approveClient(service.issuer, token, client['client_id']!);
    return client;
  };
  const base = {
    redirect_uris: [redirect],
    grant_types: grants,
    token_endpoint_auth_method: 'client_secret_post',
    client_name: 'Harbour',
  };
  const widenings: Record<string, unknown>[] = [
    { redirect_uris: [redirect, 'https://rp.example.com/two'] },
    { redirect_uris: ['https://evil.example/'] },
    { token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] },
    { jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] } },
    { jwks_uri: 'https://rp.example.com/jwks' },
    { uma_profile: true },
    { scope: 'openid profile email scope' },
    { application_type: 'native' },
  ];

  test.each(widenings)(
    'the update waits for approval, and the old values stay in force: %j (security R45)',
    async (change) => {
      const client = await approved();
      const id = client['client_id']!;
      const answer = await manage(client, 'PUT', { ...base, ...change, client_id: id });
      expect(answer).toMatchObject({ status: 200, body: { status: 'enabled', ...base, pending_changes: change } });
      for (const member of Object.keys(change)) expect(answer.body[member]).not.toEqual(change[member]);
      expect((await admin(`/clients/${id}`)).body).toMatchObject({ ...base, pending_changes: change });
      await approveClient(service.issuer, token, id);
      const after = await manage(client, 'GET');
      expect(after.body).toMatchObject({ status: 'enabled', ...base, ...change });
      expect(after.body).not.toHaveProperty('pending_changes');
    },
  );

  test('a new redirect URI is refused before the approval, and accepted at once after it (security R45)', async () => {
    const client = await approved();
    const added = { clientId: client['client_id']!, redirectUri: 'https://rp.example.com/two' };
    await manage(client, 'PUT', { ...base, redirect_uris: [redirect, added.redirectUri], client_id: added.clientId });
    const before = new UserAgent(service);
    expect((await before.follow(await before.get(authorizationUrl(service.issuer, added)))).status).toBe(400);
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [added.clientId]);
    for (const base of service.instances) {
      const url = authorizationUrl(service.issuer, added).replace(service.issuer, base);
      await eventually(
        async () => (await new UserAgent(service).get(url)).location,
        (location) => location?.includes('/login?transaction=') === true,
      );
    }
  });

  test('a narrower or neutral update takes effect at once (decisions section 2)', async () => {
    const client = await approved();
    const answer = await manage(client, 'PUT', {
      ...base,
      grant_types: ['authorization_code'],
      default_max_age: 60,
      client_id: client['client_id'],
    });
    expect(answer.body).toMatchObject({ status: 'enabled', default_max_age: 60, grant_types: ['authorization_code'] });
    expect(answer.body).not.toHaveProperty('pending_changes');
  });

  test('the update takes effect at once for a client that is marked self-managed (decisions section 2)', async () => {
    const client = await approved();
    await admin(`/clients/${client['client_id']}`, 'PATCH', { self_managed: true });
    const answer = await manage(client, 'PUT', { ...base, uma_profile: true, client_id: client['client_id'] });
    expect(answer.body).toMatchObject({ uma_profile: true });
    expect(answer.body).not.toHaveProperty('pending_changes');
  });

  test('an approval of an outdated version is refused with 409 (security R90)', async () => {
    const client = await register();
    const path = `/clients/${client['client_id']}`;
    const seen = (await admin(path)).body['version'] as number;
    await manage(client, 'PUT', { ...base, redirect_uris: ['https://evil.example/'], client_id: client['client_id'] });
    expect(await admin(`${path}/approve`, 'POST', { version: seen })).toMatchObject({
      status: 409,
      body: { error: 'conflict' },
    });
    expect((await admin(path)).body).toMatchObject({ status: 'disabled' });
    const now = (await admin(path)).body['version'] as number;
    expect(now).toBeGreaterThan(seen);
    expect(await admin(`${path}/approve`, 'POST', { version: now })).toMatchObject({
      status: 200,
      body: { status: 'enabled' },
    });
    expect(await admin(`${path}/approve`, 'POST', { version: '1' })).toMatchObject({ status: 400 });
    expect(await admin(`${path}/approve`, 'POST', {})).toMatchObject({ status: 400 });
    expect(await admin('/clients/unknown/approve', 'POST', { version: 1 })).toMatchObject({ status: 404 });
  });
});

describe('registrations that need no approval', () => {
  test('an initial access token enables a registration at once; an expired or invented one is refused (RFC 7591 3)', async () => {
    const { body } = await admin('/registration-tokens', 'POST', {});
    const headers = { authorization: `Bearer ${body['initial_access_token'] as string}` };
    const client = await register({}, headers);
    expect(client['status']).toBe('enabled');
    expect(await tokenErrorOf(service.instances[1]!, client)()).toBe('none');
    const again = await register({}, headers);
    expect(again['client_id']).not.toBe(client['client_id']);
    await service.database.sql(`UPDATE initial_access_tokens SET expires_at = now() - interval '1 second'`);
    for (const sent of [headers, { authorization: `Bearer ghia_${'A'.repeat(49)}` }]) {
      const answer = await call(`${service.issuer}/register`, {
        method: 'POST',
        body: { redirect_uris: [redirect] },
        headers: sent,
      });
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    }
  });

  test('with REGISTRATION_APPROVAL=automatic, every registration and every update takes effect at once (decisions section 2)', async () => {
    const other = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
    try {
      const client = await register({}, {}, other);
      expect(client['status']).toBe('enabled');
      const answer = await manage(client, 'PUT', {
        client_id: client['client_id'],
        redirect_uris: ['https://rp.example.com/two'],
      });
      expect(answer.body).toMatchObject({ redirect_uris: ['https://rp.example.com/two'] });
      expect(answer.body).not.toHaveProperty('pending_changes');
    } finally {
      await other.stop();
    }
  });

  test('with REGISTRATION_APPROVAL=automatic, a registration that names no scope gets the standard scopes (RFC 7591 section 2)', async () => {
    const other = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
    try {
      const standard = 'openid profile email address phone offline_access';
      const client = await register({}, {}, other);
      expect(client['scope']).toBe(standard);
      const { client_id } = client;
      const narrowed = await manage(client, 'PUT', { client_id, redirect_uris: [redirect], scope: 'openid' });
      expect(narrowed.body['scope']).toBe('openid');
      const whole = await manage(client, 'PUT', { client_id, redirect_uris: [redirect] });
      expect(whole.body['scope']).toBe(standard);
    } finally {
      await other.stop();
    }
  });

  test('with an initial access token, a registration that names no scope gets the standard scopes, also when it is repeated or updated (decisions section 2)', async () => {
    const standard = 'openid profile email address phone offline_access';
    const { body } = await admin('/registration-tokens', 'POST', {});
    const headers = { authorization: `Bearer ${body['initial_access_token'] as string}` };
    const client = await register({}, headers);
    expect(client).toMatchObject({ status: 'enabled', scope: standard });
    const whole = { client_id: client['client_id'], redirect_uris: [redirect], client_name: 'Harbour' };
    const updated = await manage(client, 'PUT', whole);
    expect(updated.body).toMatchObject({ status: 'enabled', scope: standard });
    expect(updated.body).not.toHaveProperty('pending_changes');
    const token = client['registration_access_token']!;
    const repeated = await call(`${service.issuer}/register`, { method: 'POST', body: whole, token });
    expect(repeated.body).toMatchObject({ status: 'enabled', scope: standard });
    // a named scope is granted, unless only an administrator grants it
    expect(await register({ scope: 'openid admin scope' }, headers)).toMatchObject({ scope: 'openid scope' });
    expect((await register({ scope: 'admin' }, headers))['scope']).not.toContain('admin');
    // other registrations get the basic scopes
    expect(await register()).toMatchObject({ status: 'disabled', scope: 'openid profile email' });
  });

  test('beyond LIMIT_REGISTRATIONS_WAITING a registration gets 503, unless it has an initial access token (security R49, F15)', async () => {
    const other = await startTestService({ environment: { LIMIT_REGISTRATIONS_WAITING: '2' } });
    try {
      for (let count = 0; count < 2; count++) await register({}, {}, other);
      const late = await call(`${other.issuer}/register`, { method: 'POST', body: { redirect_uris: [redirect] } });
      expect(late).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
      expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
      const { body } = await call(`${other.issuer}/admin/api/registration-tokens`, {
        method: 'POST',
        token: await adminToken(other),
      });
      expect(
        await register({}, { authorization: `Bearer ${body['initial_access_token'] as string}` }, other),
      ).toMatchObject({ status: 'enabled' });
    } finally {
      await other.stop();
    }
  });
});
