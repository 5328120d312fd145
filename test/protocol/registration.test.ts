// POST /register registers clients, and /register/{clientId} reads, updates and deletes them (RFC 7592).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, call, eventually, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

const redirect = 'https://rp.example.com/callback';
const register = (body: unknown, headers: Record<string, string> = {}) =>
  call(`${service.issuer}/register`, { method: 'POST', body, headers });
const registered = async (metadata: Record<string, unknown> = {}): Promise<Record<string, string>> => {
  const answer = await register({ redirect_uris: [redirect], ...metadata });
  expect(answer.status).toBe(201);
  return answer.body as Record<string, string>;
};
const manage = (client: Record<string, string>, method: string, body?: unknown, token?: string) =>
  call(client['registration_client_uri']!, { method, body, token: token ?? client['registration_access_token']! });
const keySet = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
  ],
};

test('a feature that is switched off is left out of the answer, also for a client that registered it before (RFC 7591 3.2.1, reports C4)', async () => {
  const device = 'urn:ietf:params:oauth:grant-type:device_code';
  const metadata = { grant_types: ['authorization_code', device], request_object_signing_alg: 'none' };
  const on = await startTestService({
    environment: { ...withoutLimits, DEVICE_GRANT: 'on', REQUEST_OBJECT_UNSIGNED: 'true' },
    database: { ...service.database, drop: async () => undefined },
    secretKey: service.secretKey,
  });
  try {
    const before = await call(`${on.issuer}/register`, { body: { redirect_uris: [redirect], ...metadata } });
    expect(before).toMatchObject({ status: 201, body: metadata });
    const uri = `${service.issuer}/register/${before.body['client_id'] as string}`;
    const read = await call(uri, { token: before.body['registration_access_token'] as string });
    expect(read).toMatchObject({ status: 200, body: { grant_types: ['authorization_code'] } });
    expect(read.body).not.toHaveProperty('request_object_signing_alg');
    const fresh = await registered({ grant_types: ['authorization_code', device] });
    expect(fresh['grant_types']).toEqual(['authorization_code']);
  } finally {
    await on.stop();
  }
});

test('the registration access token of a client that was deleted is refused with the same words as any other wrong one (RFC 7592 2, reports D)', async () => {
  const [gone, other] = [await registered(), await registered()];
  expect((await manage(gone, 'DELETE')).status).toBe(204);
  const answers = [await manage(gone, 'GET'), await manage(other, 'GET', undefined, gone['registration_access_token'])];
  for (const answer of answers)
    expect(answer).toMatchObject({
      status: 401,
      body: { error: 'invalid_token', error_description: expect.stringContaining('the client was deleted') as unknown },
    });
});

describe('a first registration', () => {
  test("returns every value with its default, the credentials once, and the URLs of the service's pages (decisions section 2, security R40)", async () => {
    const answer = await register({ redirect_uris: [redirect], client_name: 'Harbour', something_else: 7 });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const { client_id: clientId } = answer.body;
    expect(answer.body).toEqual({
      client_id: expect.stringMatching(/^[\w-]{16,}$/),
      client_id_issued_at: expect.any(Number),
      client_secret: expect.stringMatching(/^[\w-]{43}$/),
      client_secret_expires_at: 0,
      shared_secret: expect.stringMatching(/^[\w-]{43}$/),
      registration_access_token: expect.stringMatching(/^ghra_[\w-]{49}$/),
      registration_client_uri: `${service.issuer}/register/${clientId as string}`,
      status: 'disabled',
      login_uri: `${service.issuer}/login`,
      logout_uri: `${service.issuer}/logout`,
      error_uri: `${service.issuer}/error`,
      access_denied_uri: `${service.issuer}/access-denied`,
      redirect_uris: [redirect],
      client_name: 'Harbour',
      response_types: ['code'],
      grant_types: ['authorization_code'],
      application_type: 'web',
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: 'RS256',
      subject_type: 'public',
      scope: 'openid profile email',
      require_pkce: false,
      uma_profile: false,
      id_token_claims: false,
    });
    expect(Math.abs((answer.body['client_id_issued_at'] as number) - Date.now() / 1000)).toBeLessThan(60);
    expect(answer.body['shared_secret']).not.toBe(answer.body['client_secret']);
  });

  test('a public client and a client with keys get no client_secret (RFC 7591 3.2.1)', async () => {
    for (const metadata of [
      { token_endpoint_auth_method: 'none' },
      { token_endpoint_auth_method: 'private_key_jwt', jwks: keySet },
    ]) {
      const client = await registered(metadata);
      expect(client).not.toHaveProperty('client_secret');
      expect(client).not.toHaveProperty('client_secret_expires_at');
      expect(client).toHaveProperty('shared_secret');
    }
  });

  test('members that only an administrator may set are ignored (decisions section 2, security R44)', async () => {
    const client = await registered({
      status: 'enabled',
      first_party: true,
      self_managed: true,
      introspect: 'any',
      access_token_lifetime: 86_400,
      scope: 'openid admin',
    });
    expect(client).toMatchObject({ status: 'disabled', scope: 'openid' });
    const [row] = await service.database.sql('SELECT * FROM clients WHERE client_id = $1', [client['client_id']]);
    expect(row).toMatchObject({
      status: 'disabled',
      first_party: false,
      self_managed: false,
      introspect: 'own',
      access_token_lifetime: null,
    });
  });

  test('secrets are stored so that a dump yields no credentials (security R26)', async () => {
    const client = await registered();
    const [row] = await service.database.sql('SELECT c::text AS dump FROM clients c WHERE client_id = $1', [
      client['client_id'],
    ]);
    for (const secret of ['client_secret', 'shared_secret', 'registration_access_token']) {
      expect(row!['dump']).not.toContain(client[secret]);
      expect(row!['dump']).not.toContain(Buffer.from(client[secret]!).toString('hex'));
      expect(JSON.stringify(service.logs)).not.toContain(client[secret]);
    }
  });

  test('equal metadata registers another client, and neither reveals nor replaces the first (security R43)', async () => {
    const first = await registered({ client_name: 'Twin' });
    const second = await registered({ client_name: 'Twin', client_id: first['client_id'] });
    expect(second['client_id']).not.toBe(first['client_id']);
    expect((await manage(first, 'GET')).status).toBe(200);
  });

  test.each([
    ['application/x-www-form-urlencoded', 'redirect_uris=x', 415],
    ['text/plain', '{}', 415],
    ['application/json', '{"redirect_uris":', 400],
    ['application/json', '[]', 400],
    ['application/json', '"x"', 400],
    ['application/json', '{"__proto__":{"status":"enabled"}}', 400],
    ['application/json', '{"a":{"constructor":1}}', 400],
    ['application/json', `{"a":${'['.repeat(20)}${']'.repeat(20)}}`, 400],
    ['application/json', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400],
    ['application/json', '{"client_name":"a\\u0000b"}', 400],
    ['application/json', '{"client_name":"\\ud800"}', 400],
    ['application/json', JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, 1]))), 400],
    ['application/json', JSON.stringify({ a: 'x'.repeat(66_000) }), 413],
  ])('a body of %s that cannot be parsed is refused: %.40s (security A65, R106)', async (type, body, status) => {
    const response = await fetch(`${service.issuer}/register`, {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.any(String), error_description: expect.any(String) });
  });
});

describe('reading, updating and deleting', () => {
  test('a read returns the registered metadata, without the secrets (RFC 7592 2.1)', async () => {
    const client = await registered({ client_name: 'Harbour' });
    const answer = await manage(client, 'GET');
    // the registration access token is the one that the client presented (RFC 7592 3)
    const secrets = ['client_secret', 'shared_secret'];
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(Object.fromEntries(Object.entries(client).filter(([name]) => !secrets.includes(name))));
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('an update replaces all metadata (RFC 7592 2.2)', async () => {
    const client = await registered({ client_name: 'Old', contacts: ['a@example.com'] });
    const { client_id, client_secret } = client;
    const answer = await manage(client, 'PUT', {
      client_id,
      client_secret,
      redirect_uris: ['https://rp.example.com/new'],
    });
    expect(answer).toMatchObject({ status: 200, body: { redirect_uris: ['https://rp.example.com/new'], client_id } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).not.toHaveProperty('client_name');
    expect(answer.body).not.toHaveProperty('contacts');
    expect((await manage(client, 'GET')).body).toMatchObject({ redirect_uris: ['https://rp.example.com/new'] });
  });

  test('an update with exactly the answer of a read or of the registration changes nothing (RFC 7592 2.2, security R46)', async () => {
    const client = await registered({ client_name: 'Harbour', contacts: ['a@example.com'] });
    const { body: read } = await manage(client, 'GET');
    const version = async () =>
      (await service.database.sql('SELECT version FROM clients WHERE client_id = $1', [client['client_id']]))[0];
    const before = await version();
    const answer = await manage(client, 'PUT', read);
    expect(answer).toMatchObject({ status: 200, body: read });
    // the answer to the registration contained the secrets, too
    expect(await manage(client, 'PUT', client)).toMatchObject({ status: 200, body: read });
    expect(await version()).toEqual(before);
    expect((await manage(client, 'GET')).body).toEqual(read);
    const renamed = await manage(client, 'PUT', { ...read, client_name: 'Quay' });
    expect(renamed).toMatchObject({ status: 200, body: { client_name: 'Quay' } });
    expect(await manage(client, 'PUT', { ...read, status: 'enabled' })).toMatchObject({ status: 400 });
    // the client does not learn of its approval, and sends the answer from before
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client['client_id']]);
    expect(await manage(client, 'PUT', { ...client, client_name: 'Quay' })).toMatchObject({
      status: 200,
      body: { status: 'enabled' },
    });
  });

  test('values that an administrator set may be sent back, and stay (RFC 7592 2.2, security R46)', async () => {
    const { clientId, registrationAccessToken: token } = await service.createClient({
      scope: 'admin openid',
      request_object_signing_alg: 'none',
    });
    const uri = `${service.issuer}/register/${clientId}`;
    const { body: read } = await call(uri, { token });
    expect(read).toMatchObject({ scope: 'admin openid', status: 'enabled' });
    expect(await call(uri, { method: 'PUT', token, body: read })).toMatchObject({ status: 200, body: read });
    for (const scope of ['admin openid metrics', 'metrics'])
      expect(await call(uri, { method: 'PUT', token, body: { ...read, scope } })).toMatchObject({ status: 400 });
    expect((await call(uri, { token })).body).toEqual(read);
  });

  test('a waiting change and a refusal reason may be sent back unchanged, and an update without a change leaves the waiting one (RFC 7592 2.2, security R46)', async () => {
    const client = await registered({ client_name: 'Harbour' });
    const id = client['client_id']!;
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [id]);
    const wider = { client_id: id, client_name: 'Harbour', redirect_uris: [redirect, 'https://rp.example.com/two'] };
    await manage(client, 'PUT', wider);
    const { body: read } = await manage(client, 'GET');
    expect(read).toMatchObject({ redirect_uris: [redirect], pending_changes: { redirect_uris: wider.redirect_uris } });
    expect(await manage(client, 'PUT', read)).toMatchObject({ status: 200, body: read });
    const other = { ...(read['pending_changes'] as Record<string, unknown>), uma_profile: true };
    expect(await manage(client, 'PUT', { ...read, pending_changes: other })).toMatchObject({ status: 400 });
    // without the member, the waiting change is withdrawn
    expect((await manage(client, 'PUT', { ...read, pending_changes: undefined })).body).not.toHaveProperty(
      'pending_changes',
    );
    await manage(client, 'PUT', wider);
    await service.store.clients.refuse(id, 'Not this address.');
    const { body: refused } = await manage(client, 'GET');
    expect(refused).toMatchObject({ refusal_reason: 'Not this address.' });
    expect(await manage(client, 'PUT', { ...refused, refusal_reason: 'Another.' })).toMatchObject({ status: 400 });
    expect(await manage(client, 'PUT', refused)).toMatchObject({ status: 200 });
  });

  test.each([
    ['another client_id', { client_id: 'other' }],
    ['no client_id', { client_id: undefined }],
    ['a wrong client_secret', { client_secret: 'guess' }],
    ['no redirect URI', { redirect_uris: undefined }],
    ...[
      'status',
      'first_party',
      'self_managed',
      'ciba_trusted',
      'introspect',
      'scim_source',
      'required_acr',
      'access',
      'access_groups',
      'connections',
      'upstream_tokens',
      'networks',
      'start_uri',
      'start_hidden',
      'claim_rules',
      'authorization_code_lifetime',
      'access_token_lifetime',
      'refresh_token_lifetime',
      'id_token_lifetime',
    ].map((member): [string, Record<string, unknown>] => [`the administrator's ${member}`, { [member]: 1 }]),
    ['the scope admin', { scope: 'openid admin' }],
    ...[
      'registration_access_token',
      'registration_client_uri',
      'client_secret_expires_at',
      'client_id_issued_at',
      'shared_secret',
      'login_uri',
      'logout_uri',
      'error_uri',
      'access_denied_uri',
      'pending_changes',
      'refusal_reason',
    ].map((member): [string, Record<string, unknown>] => [`the service's ${member}`, { [member]: 'x' }]),
  ])('an update with %s is refused without effect (security A66, R46)', async (_what, change) => {
    const client = await registered({ client_name: 'Before' });
    const answer = await manage(client, 'PUT', {
      client_id: client['client_id'],
      redirect_uris: [redirect],
      ...change,
    });
    expect(answer.status).toBe(400);
    // the error description says what to do instead
    expect(answer.body['error_description']).toMatch(
      /must|differs|missing|scope may contain|leave it out, or send the value that GET/,
    );
    expect((await manage(client, 'GET')).body).toMatchObject({ client_name: 'Before' });
  });

  test('a registration access token works for its own client only, and all refusals are the same (security A59, R44)', async () => {
    const one = await registered();
    const two = await registered();
    const unknown = { ...one, registration_client_uri: `${service.issuer}/register/unknown` };
    const answers: Answer[] = [];
    for (const method of ['GET', 'DELETE'])
      for (const target of [two, unknown])
        answers.push(await manage(target, method, undefined, one['registration_access_token']!));
    answers.push(
      await manage(
        two,
        'PUT',
        { client_id: two['client_id'], redirect_uris: [redirect] },
        one['registration_access_token']!,
      ),
    );
    answers.push(await manage(two, 'GET', undefined, two['client_secret']!));
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 401, body: answers[0]!.body });
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    }
    const without = await fetch(one['registration_client_uri']!);
    expect(without.status).toBe(401);
    expect(without.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"');
    expect((await manage(two, 'GET')).status).toBe(200);
  });

  test('a content type without a body counts as no body: a deletion succeeds, a registration and an update report the missing metadata (RFC 9110 8.3)', async () => {
    const headers = { 'content-type': 'application/json' };
    const client = await registered();
    const uri = client['registration_client_uri']!;
    const token = client['registration_access_token']!;
    for (const missing of [register(undefined, headers), call(uri, { method: 'PUT', token, headers })]) {
      const { status, body } = await missing;
      expect([status, body['error_description']]).toEqual([400, 'send the client metadata as a JSON object']);
    }
    expect((await call(uri, { method: 'DELETE', token, headers })).status).toBe(204);
  });

  test('a deletion ends all tokens at once, and the same metadata registers another client (security A67, R46)', async () => {
    const { body: created } = await register({
      redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const client = created as Record<string, string>;
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client['client_id']]);
    const basic = `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`;
    await eventually(
      () => tokenRequest(service.issuer, { basic }, { grant_type: 'authorization_code', code: 'x' }),
      (answer) => answer.body['error'] === 'invalid_grant',
    );
    const party = { clientId: client['client_id']!, redirectUri: redirect, basic } as Parameters<
      typeof obtainTokens
    >[1];
    const user = await service.createUser();
    const tokens = await obtainTokens(service, party, user);
    expect((await manage(client, 'DELETE')).status).toBe(204);
    expect(await userinfo(service.issuer, tokens.access_token)).toMatchObject({ status: 401 });
    expect(await refresh(service.issuer, party, tokens.refresh_token)).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    for (const method of ['GET', 'DELETE']) expect((await manage(client, method)).status).toBe(401);
    expect((await new UserAgent(service).authorize(party, undefined)).status).toBe(400);
    const again = await registered({ grant_types: ['authorization_code', 'refresh_token'] });
    expect(again['client_id']).not.toBe(client['client_id']);
    expect(again['status']).toBe('disabled');
  });
});
