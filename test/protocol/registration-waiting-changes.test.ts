// A change by a client that was ever approved waits for approval, also while the client is disabled, and enabling the client does not approve it.
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, approveClient, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let console: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  const ada = await service.createUser({ username: 'ada', admin: true });
  console = (await openConsole(service, ada)).agent;
});
afterAll(() => service?.stop());

const redirect = 'https://rp.example.com/callback';
const elsewhere = 'https://evil.example/callback';
const base = { redirect_uris: [redirect], client_name: 'Harbour', scope: 'openid' };
type Registered = Record<string, string>;

const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });
const manage = (client: Registered, method: string, body?: unknown) =>
  call(`${service.issuer}/register/${client['client_id']}`, {
    method,
    body,
    token: client['registration_access_token']!,
  });
const update = (client: Registered, change: Record<string, unknown>) =>
  manage(client, 'PUT', { ...base, ...change, client_id: client['client_id'] });
const basic = (id: string, secret: unknown) => `Basic ${Buffer.from(`${id}:${String(secret)}`).toString('base64')}`;

/** Registers a client, and approves it. */
async function approved(metadata: Record<string, unknown> = {}): Promise<Registered> {
  const { body } = await call(`${service.issuer}/register`, { body: { ...base, ...metadata } });
  const client = body as Registered;
  expect(await approveClient(service.issuer, token, client['client_id']!)).toMatchObject({ status: 200 });
  return client;
}
const disable = (client: Registered) => admin(`/clients/${client['client_id']}/disable`, 'POST');

const ways: Record<string, (clientId: string) => Promise<unknown>> = {
  'the admin route': (id) => approveClient(service.issuer, token, id),
  'several clients at once by the admin route': async (id) => {
    const { version } = (await admin(`/clients/${id}`)).body;
    const clients = [{ client_id: id, version }];
    return admin('/clients/decide', 'POST', { decision: 'approve', clients });
  },
  'the command line': (id) => runCommand(service, ['client', 'approve', id]),
  'plain SQL': (id) => service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [id]),
  'the console': async (id) => {
    const form = formOf(await console.get(`/admin/clients/${id}`), '/admin/clients/decide');
    return console.post('/admin/clients/decide', { ...form, decision: 'approve' });
  },
};

describe('a change that a client makes while it is disabled', () => {
  /** The response to a browser with a session and a consent, if no page is needed. */
  const requestSilently = async (agent: UserAgent, clientId: string, redirectUri: string) => {
    const url = authorizationUrl(service.issuer, { clientId, redirectUri }, { prompt: 'none', scope: 'openid' });
    const { status, location } = await agent.get(url);
    return {
      status,
      location,
      code: location === undefined ? undefined : responseParameters({ location } as never).code,
    };
  };

  test.each(Object.entries(ways))(
    'still waits after the client is enabled by %s, and a second approval approves it (decisions section 2, security R116)',
    async (_way, approve) => {
      const client = await approved();
      const id = client['client_id']!;
      const agent = new UserAgent(service);
      const party = { clientId: id, redirectUri: redirect, basic: basic(id, client['client_secret']) } as TestClient;
      await obtainTokens(service, party, await service.createUser(), { scope: 'openid' }, agent);
      await disable(client);
      const answer = await update(client, { redirect_uris: [redirect, elsewhere] });
      expect(answer).toMatchObject({
        status: 200,
        body: {
          status: 'disabled',
          redirect_uris: [redirect],
          pending_changes: { redirect_uris: [redirect, elsewhere] },
        },
      });
      await approve(id);
      await eventually(
        () => requestSilently(agent, id, redirect),
        ({ location }) => location?.startsWith(`${redirect}?code=`) === true,
      );
      expect((await requestSilently(agent, id, elsewhere)).location ?? '').not.toContain('evil.example');
      expect((await admin(`/clients/${id}`)).body).toMatchObject({
        status: 'enabled',
        redirect_uris: [redirect],
        pending_changes: { redirect_uris: [redirect, elsewhere] },
      });
      await approve(id);
      await eventually(
        () => requestSilently(agent, id, elsewhere),
        ({ location }) => location?.startsWith(`${elsewhere}?code=`) === true,
      );
      expect((await admin(`/clients/${id}`)).body).not.toHaveProperty('pending_changes');
    },
  );

  test('is not approved by a change of the status, whether the client is disabled or enabled (decisions section 2, security R116)', async () => {
    const client = await approved();
    const path = `/clients/${client['client_id']}`;
    await disable(client);
    await update(client, { redirect_uris: [elsewhere] });
    for (let time = 0; time < 2; time++) {
      const { version } = (await admin(path)).body;
      expect(await admin(path, 'PATCH', { status: 'enabled', version })).toMatchObject({
        status: 200,
        body: { status: 'enabled', redirect_uris: [redirect], pending_changes: { redirect_uris: [elsewhere] } },
      });
    }
  });

  test('by a repeated registration waits, too, and administrators are notified (decisions section 2, security R116)', async () => {
    const client = await approved();
    const id = client['client_id']!;
    await disable(client);
    const ordered = (filter: string) => service.database.sql(`SELECT FROM outbox WHERE ${filter}`);
    const wait = { timeout: 10_000, interval: 20 };
    await vi.waitUntil(async () => (await ordered(`channel = 'event'`)).length === 0, wait);
    await service.database.sql(`DELETE FROM outbox WHERE name = 'registrations'`);
    const repeated = await call(`${service.issuer}/register`, {
      body: { ...base, redirect_uris: [elsewhere] },
      token: client['registration_access_token']!,
    });
    expect(repeated).toMatchObject({
      status: 200,
      body: { status: 'disabled', redirect_uris: [redirect], pending_changes: { redirect_uris: [elsewhere] } },
    });
    await vi.waitUntil(async () => (await ordered(`name = 'registrations'`)).length === 1, wait);
    const types = (
      await service.database.sql('SELECT type FROM audit_events WHERE client_id = $1 ORDER BY id', [id])
    ).map((row) => row['type'] as string);
    expect(types.slice(-2)).toEqual(['client.credentials_renewed', 'client.updated']);
    expect((await admin('/clients?waiting=true&limit=200')).body['clients']).toContainEqual(
      expect.objectContaining({ client_id: id, status: 'disabled' }),
    );
  });

  test('can be refused, and the reason stays until the next change (decisions section 2, security R116)', async () => {
    const client = await approved();
    const path = `/clients/${client['client_id']}`;
    await disable(client);
    await update(client, { redirect_uris: [elsewhere] });
    const { version } = (await admin(path)).body;
    expect(await admin(`${path}/refuse`, 'POST', { version, reason: 'Not this one.' })).toMatchObject({ status: 200 });
    const { body } = await manage(client, 'GET');
    expect(body).toMatchObject({ status: 'disabled', redirect_uris: [redirect], refusal_reason: 'Not this one.' });
    expect(body).not.toHaveProperty('pending_changes');
    expect((await update(client, { redirect_uris: [elsewhere] })).body).not.toHaveProperty('refusal_reason');
  });

  test('takes effect at once before the first approval, and for a self-managed client (decisions section 2)', async () => {
    const { body: fresh } = await call(`${service.issuer}/register`, { body: base });
    const managed = await approved();
    await admin(`/clients/${managed['client_id']}`, 'PATCH', { self_managed: true });
    await disable(managed);
    for (const client of [fresh as Registered, managed]) {
      const { body } = await update(client, { redirect_uris: [elsewhere], client_name: 'Quay' });
      expect(body).toMatchObject({ status: 'disabled', redirect_uris: [elsewhere], client_name: 'Quay' });
      expect(body).not.toHaveProperty('pending_changes');
    }
  });

  test('is shown beside the button that enables the client, and the command line reports what it approved (security R116)', async () => {
    const client = await approved();
    const id = client['client_id']!;
    await disable(client);
    await update(client, { redirect_uris: [elsewhere] });
    const page = await console.get(`/admin/clients/${id}`);
    expect(page.body).toMatch(/<del>.*rp\.example\.com.*<\/del>/);
    expect(page.body).toMatch(/<ins>.*evil\.example.*<\/ins>/);
    expect(page.body).toContain('Approving enables it with its previously approved settings');
    expect(page.body).toMatch(/form="approval-client"[^>]*>Enable</);
    const first = await runCommand(service, ['client', 'approve', id]);
    expect(first.stdout).toContain(elsewhere);
    expect(first.stdout).toContain('Its change (pending_changes) is still pending');
    const again = await console.get(`/admin/clients/${id}`);
    expect(again.body).toMatch(/form="approval-client"[^>]*>Approve</);
    expect(again.body).not.toContain('Approving enables it');
    expect((await runCommand(service, ['client', 'approve', id])).stdout).toContain(
      'pending changes are now in effect',
    );

    const others = [await approved(), await approved()];
    for (const other of others) await update(other, { redirect_uris: [elsewhere] });
    await disable(others[0]!);
    const several = await runCommand(service, ['client', 'approve', ...others.map((other) => other['client_id']!)]);
    expect(several.stdout).toMatch(/enabled; its change is still pending.*\n.* approved /);
  });
});

test('changes to what users see of an approved client wait, and users see the approved values until then (decisions section 2, security R117)', async () => {
  const client = await approved({ client_uri: 'https://rp.example.com/' });
  const party = { clientId: client['client_id']!, redirectUri: redirect };
  const changes = {
    client_name: 'Bank of the Harbour',
    client_uri: 'https://evil.example/',
    logo_uri: 'https://evil.example/logo.png',
    policy_uri: 'https://evil.example/policy',
    tos_uri: 'https://evil.example/terms',
    contacts: ['ops@evil.example'],
  };
  const { body } = await update(client, changes);
  expect(body).toMatchObject({
    client_name: 'Harbour',
    client_uri: 'https://rp.example.com/',
    pending_changes: changes,
  });
  for (const member of ['logo_uri', 'policy_uri', 'tos_uri', 'contacts']) expect(body).not.toHaveProperty(member);
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, party)));
  expect(page.body).toContain('Harbour');
  expect(page.body).not.toMatch(/Bank of the Harbour|evil\.example/);
});

describe('a change from keys to a secret', () => {
  const byKey = async () => {
    const { publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwks = { keys: [await exportJWK(publicKey)] };
    const grant_types = ['authorization_code', 'client_credentials'];
    const metadata = { grant_types, jwks, token_endpoint_auth_method: 'private_key_jwt' };
    return { client: await approved(metadata), weaker: { grant_types, jwks } };
  };
  const getsToken = async (client: Registered, secret: unknown) => {
    const sent = { basic: basic(client['client_id']!, secret) };
    return (await tokenRequest(service.issuer, sent, { grant_type: 'client_credentials' })).status === 200;
  };
  const repeatsRegistration = async (client: Registered, weaker: object, secret: unknown) =>
    (
      await call(`${service.issuer}/register`, {
        body: { ...base, ...weaker, token_endpoint_auth_method: 'private_key_jwt' },
        headers: { authorization: basic(client['client_id']!, secret) },
      })
    ).status === 200;

  test.each([false, true])(
    'waits, and its secret is not accepted until it is approved; while disabled: %s (decisions section 2, security R117, R116)',
    async (whileDisabled) => {
      const { client, weaker } = await byKey();
      const id = client['client_id']!;
      if (whileDisabled) await disable(client);
      const { body } = await update(client, weaker);
      expect(body).toMatchObject({
        token_endpoint_auth_method: 'private_key_jwt',
        pending_changes: { token_endpoint_auth_method: 'client_secret_basic' },
        client_secret: expect.any(String),
      });
      if (whileDisabled) await approveClient(service.issuer, token, id);
      expect(await getsToken(client, body['client_secret'])).toBe(false);
      expect(await repeatsRegistration(client, weaker, body['client_secret'])).toBe(false);
      // an update with the answer of a read changes nothing
      expect(await manage(client, 'PUT', (await manage(client, 'GET')).body)).toMatchObject({ status: 200 });
      await approveClient(service.issuer, token, id);
      expect(await getsToken(client, body['client_secret'])).toBe(true);
    },
  );

  test('that is refused or withdrawn leaves no secret stored, and the next change gets another (security R116)', async () => {
    const { client, weaker } = await byKey();
    const id = client['client_id']!;
    const secretOf = async () =>
      (await service.database.sql('SELECT client_secret_hash AS hash FROM clients WHERE client_id = $1', [id]))[0]![
        'hash'
      ];
    const first = await update(client, weaker);
    const { version } = (await admin(`/clients/${id}`)).body;
    await admin(`/clients/${id}/refuse`, 'POST', { version, reason: 'Keep the keys.' });
    expect(await secretOf()).toBeNull();
    await update(client, weaker);
    await update(client, { ...weaker, token_endpoint_auth_method: 'private_key_jwt', scope: 'openid phone' });
    expect(await secretOf()).toBeNull();
    const second = await update(client, weaker);
    const third = await update(client, weaker);
    await approveClient(service.issuer, token, id);
    expect(await getsToken(client, third.body['client_secret'])).toBe(true);
    for (const { body } of [first, second]) expect(await getsToken(client, body['client_secret'])).toBe(false);
  });
});
