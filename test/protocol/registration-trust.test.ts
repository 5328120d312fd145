// A registration token moves no trust that an administrator gave, and changes nothing that configuration files keep, also with automatic approval.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
  token = await adminToken(service);
  await admin('/connections', 'POST', {
    id: 'corp',
    kind: 'oauth',
    preset: 'github',
    display_name: 'Corp',
    settings: { client_id: 'Iv1.0123456789abcdef' },
    secret: 'x'.repeat(40),
  });
  await admin('/scim-sources', 'POST', { id: 'hr', name: 'HR' });
});
afterAll(() => service?.stop());

const own = 'https://self.example/callback';
const elsewhere = 'https://evil.example/callback';
const base = { client_name: 'Self', redirect_uris: [own], scope: 'openid' };
type Registered = Record<string, string>;

const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });
const manage = (client: Registered, method: string, body?: unknown) =>
  call(`${service.issuer}/register/${client['client_id']}`, {
    method,
    body,
    token: client['registration_access_token']!,
  });
const update = (client: Registered, change: Record<string, unknown> = {}) =>
  manage(client, 'PUT', { ...base, ...change, client_id: client['client_id'] });
const repeat = (client: Registered, change: Record<string, unknown> = {}) =>
  call(`${service.issuer}/register`, { body: { ...base, ...change }, token: client['registration_access_token']! });

async function registered(metadata: Record<string, unknown> = {}): Promise<Registered> {
  const { status, body } = await call(`${service.issuer}/register`, { body: { ...base, ...metadata } });
  expect(status).toBe(201);
  return body as Registered;
}

/** What an administrator gives a client, beyond what it can register. */
const given: Record<string, Record<string, unknown>> = {
  first_party: { first_party: true },
  ciba_trusted: { ciba_trusted: true },
  introspect: { introspect: 'any' },
  scim_source: { scim_source: 'hr' },
  upstream_tokens: { upstream_tokens: ['corp'] },
  claim_rules: { claim_rules: [{ claim: 'team', from: 'constant', value: 'crew', into: ['userinfo'] }] },
  'the scope admin': { scope: 'openid admin', grant_types: ['authorization_code', 'client_credentials'] },
};

test.each(Object.entries(given))(
  'with automatic approval, new redirect URIs of a client with %s from an administrator wait (security R44, R116)',
  async (_name, trust) => {
    const client = await registered();
    const path = `/clients/${client['client_id']}`;
    expect(await admin(path, 'PATCH', trust)).toMatchObject({ status: 200 });
    const grants = { ...(trust['grant_types'] !== undefined && { grant_types: trust['grant_types'] }) };
    for (const change of [update, repeat]) {
      expect(await change(client, { ...grants, redirect_uris: [own, elsewhere] })).toMatchObject({
        status: 200,
        body: { status: 'enabled', redirect_uris: [own], pending_changes: { redirect_uris: [own, elsewhere] } },
      });
    }
    expect((await admin('/clients?waiting=true&limit=200')).body['clients']).toContainEqual(
      expect.objectContaining({ client_id: client['client_id'] }),
    );
    expect(await approveClient(service.issuer, token, client['client_id']!)).toMatchObject({ status: 200 });
    expect((await admin(path)).body).toMatchObject({ redirect_uris: [own, elsewhere], ...trust });
  },
);

test('a user of a first-party client is not sent to an address that the client has just registered (security R44, A25)', async () => {
  const client = await registered();
  await admin(`/clients/${client['client_id']}`, 'PATCH', { first_party: true });
  const agent = new UserAgent(service);
  await agent.signIn(await service.createUser());
  const ask = async (redirectUri: string) => {
    const party = { clientId: client['client_id']!, redirectUri };
    const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, party, { scope: 'openid' })));
    return page.location ?? '';
  };
  expect(await ask(own)).toContain(`${own}?code=`);
  await update(client, { redirect_uris: [elsewhere] });
  expect(await ask(elsewhere)).not.toContain('evil.example');
});

test('with automatic approval, what a client without such rights changes takes effect at once, also for a self-managed client (decisions section 2)', async () => {
  const restricted = await registered();
  await admin(`/clients/${restricted['client_id']}`, 'PATCH', { required_acr: 'urn:gatehouse:acr:mfa' });
  const managed = await registered();
  await admin(`/clients/${managed['client_id']}`, 'PATCH', { first_party: true, self_managed: true });
  for (const client of [await registered(), restricted, managed]) {
    const { body } = await update(client, { redirect_uris: [elsewhere] });
    expect(body).toMatchObject({ redirect_uris: [elsewhere] });
    expect(body).not.toHaveProperty('pending_changes');
  }
});

test('the registration token changes and deletes no client that configuration files keep, until an administrator takes it over (federation 10, RFC 7592 2.2)', async () => {
  const client = await registered();
  const id = client['client_id']!;
  const file = join(service.dataDir, 'kept.yaml');
  writeFileSync(
    file,
    `apiVersion: gatehouse/v1
name: team
adopt: true
clients:
  ${id}: { client_name: Self, redirect_uris: ['${own}'], scope: openid, first_party: true }
`,
  );
  expect(await runCommand(service, ['config', 'apply', file])).toMatchObject({ code: 0 });
  const refused = { status: 403, body: { error: 'kept_by_file' } };
  expect(await update(client, { redirect_uris: [elsewhere] })).toMatchObject(refused);
  expect(await update(client, { client_name: 'Other' })).toMatchObject(refused);
  expect(await repeat(client, { redirect_uris: [elsewhere] })).toMatchObject(refused);
  expect(await manage(client, 'DELETE')).toMatchObject(refused);
  expect((await admin(`/clients/${id}`)).body).toMatchObject({ client_name: 'Self', redirect_uris: [own] });
  expect(await runCommand(service, ['config', 'drift', file])).toMatchObject({ code: 0 });
  // what leaves the client as it is needs no files: it reads, sends back, and renews its credentials
  expect(await manage(client, 'GET')).toMatchObject({ status: 200 });
  expect(await update(client)).toMatchObject({ status: 200 });
  const { status, body } = await repeat(client);
  expect(status).toBe(200);
  await admin('/config/take-over', 'POST', { section: 'clients', key: id });
  expect(await manage(body as Registered, 'DELETE')).toMatchObject({ status: 204 });
});
