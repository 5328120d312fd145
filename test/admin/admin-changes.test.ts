// A change by an administrator is atomic, loses no concurrent change, and writes one audit event that names what changed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, type Answer, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const instance = (n: number) => service.instances[n % 2]!;
const admin = (path: string, method = 'GET', body?: unknown, base = service.issuer) =>
  call(`${base}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) });

interface Row {
  type: string;
  actor: string;
  sub: string | null;
  detail: Record<string, unknown>;
}
/** Returns the audit rows of a client or a user, oldest first, except that of its creation. */
async function rows(of: { client?: string; sub?: string }): Promise<Row[]> {
  return service.database.sql<Row & { id: string }>(
    `SELECT type, actor, sub, detail FROM audit_events
      WHERE (client_id = $1 OR sub = $2) AND type NOT IN ('client.created', 'client.registered', 'user.created') ORDER BY id`,
    [of.client, of.sub],
  );
}

const reviewedUri = 'https://rp.example.com/callback';
const unreviewedUri = 'https://attacker.example.com/callback';
async function register(): Promise<Record<string, string>> {
  const { body } = await call(`${service.issuer}/register`, { method: 'POST', body: { redirect_uris: [reviewedUri] } });
  return body as Record<string, string>;
}
const widen = (client: Record<string, string>, n: number) =>
  call(`${instance(n)}/register/${client['client_id']}`, {
    method: 'PUT',
    token: client['registration_access_token']!,
    body: { client_id: client['client_id'], redirect_uris: [reviewedUri, unreviewedUri] },
  });

describe('enabling a client', () => {
  test('in 60 rounds, enabling a client during an update by its registrant never enables a redirect URI that the administrator has not reviewedUri (decisions section 2)', async () => {
    for (let round = 0; round < 60; round++) {
      const client = await register();
      const path = `/clients/${client['client_id']}`;
      const { version } = (await admin(path)).body;
      const change = { status: 'enabled', version, ...(round % 2 && { client_name: 'Looked at' }) };
      const patching = () => admin(path, 'PATCH', change, instance(round));
      const putting = () => widen(client, round + 1);
      // alternate which request is sent first
      const sent = round % 4 < 2 ? [patching(), putting()] : [putting(), patching()].reverse();
      const [patched, put] = (await Promise.all(sent)) as [Answer, Answer];
      expect(put.status).toBe(200);
      expect([200, 409]).toContain(patched.status);
      const { body } = await admin(path);
      const enabled = patched.status === 200;
      expect(body).toMatchObject({ status: enabled ? 'enabled' : 'disabled' });
      if (enabled) expect(body).toMatchObject({ redirect_uris: [reviewedUri] });
      else expect(body['client_name']).not.toBe('Looked at');
      const types = (await rows({ client: client['client_id']! })).map(({ type }) => type).sort();
      expect(types).toEqual(enabled ? ['client.approved', 'client.updated'] : ['client.updated']);
    }
  });

  test('a request with an outdated version neither enables nor changes the client (decisions section 2)', async () => {
    const client = await register();
    await widen(client, 0);
    const path = `/clients/${client['client_id']}`;
    const { body: before } = await admin(path);
    for (const change of [{ client_name: 'Late' }, { access_token_lifetime: 60 }, {}])
      expect(await admin(path, 'PATCH', { status: 'enabled', version: 1, ...change })).toMatchObject({ status: 409 });
    expect(await admin(path, 'PATCH', { version: 1, client_name: 'Late' })).toMatchObject({ status: 409 });
    expect((await admin(path)).body).toEqual(before);
    expect(await rows({ client: client['client_id']! })).toHaveLength(1);
  });

  test('a request that enables and changes a client does both as one operation (decisions section 7)', async () => {
    const client = await register();
    const id = client['client_id']!;
    const change = { status: 'enabled', version: 1, client_name: 'Named', first_party: true };
    expect(await admin(`/clients/${id}`, 'PATCH', change)).toMatchObject({ status: 200, body: { status: 'enabled' } });
    const events = await rows({ client: id });
    expect(events).toMatchObject([{ type: 'client.approved', detail: { members: ['client_name', 'first_party'] } }]);
  });

  test('a request that enables a client and changes its metadata does both, and a pending update stays pending (decisions section 2)', async () => {
    const client = await service.createClient();
    const { registrationAccessToken: registration_access_token, clientId: client_id } = client;
    await widen({ client_id, registration_access_token }, 0);
    await admin(`/clients/${client_id}/disable`, 'POST');
    const { version } = (await admin(`/clients/${client_id}`)).body;
    const change = { status: 'enabled', version, client_name: 'Kept' };
    expect(await admin(`/clients/${client_id}`, 'PATCH', change)).toMatchObject({
      status: 200,
      body: { status: 'enabled', client_name: 'Kept', pending_changes: { redirect_uris: expect.any(Array) } },
    });
  });
});

describe('the audit event of a change', () => {
  test('the event names each changed member by its name on the wire, and no unchanged member (decisions section 7)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Before' });
    const path = `/clients/${clientId}`;
    await admin(path, 'PATCH', {
      client_name: 'After',
      first_party: false,
      self_managed: true,
      contacts: ['a@b.example'],
    });
    await admin(path, 'PATCH', { access_token_lifetime: 60, introspect: 'any' });
    const events = await rows({ client: clientId });
    expect(events.map(({ type }) => type)).toEqual(['client.updated', 'client.updated']);
    expect(events[0]!.detail).toMatchObject({ members: ['client_name', 'contacts', 'self_managed'] });
    expect(events[1]!.detail).toMatchObject({ members: ['access_token_lifetime', 'introspect'] });
  });

  test('the event of an added scope holds the scopes before and after (decisions section 7)', async () => {
    const { clientId, metadata } = await service.createClient();
    await admin(`/clients/${clientId}`, 'PATCH', { scope: `${metadata.scope} admin` });
    const [event] = await rows({ client: clientId });
    expect(event!.detail).toMatchObject({
      members: ['scope'],
      scope_before: metadata.scope,
      scope: `${metadata.scope} admin`,
    });
  });

  test('a request that changes nothing writes no event (decisions section 7)', async () => {
    const { clientId, metadata, registrationAccessToken } = await service.createClient({ client_name: 'Same' });
    const { sub } = await service.createUser({ groups: ['staff'], claims: { name: 'Same' } });
    await admin(`/clients/${clientId}`, 'PATCH', {});
    await admin(`/clients/${clientId}`, 'PATCH', { client_name: 'Same', status: 'enabled', introspect: 'own' });
    await call(`${service.issuer}/register/${clientId}`, {
      method: 'PUT',
      token: registrationAccessToken,
      body: { ...metadata, client_id: clientId },
    });
    await admin(`/users/${sub}`, 'PATCH', { groups: ['staff'], claims: { name: 'Same' }, status: 'enabled' });
    expect(await rows({ client: clientId, sub })).toEqual([]);
  });

  test('disabling a client or a user twice writes one event, and the command line says that nothing changed (decisions section 7)', async () => {
    const { clientId } = await service.createClient();
    const user = await service.createUser();
    for (let times = 0; times < 2; times++) {
      await admin(`/clients/${clientId}/disable`, 'POST');
      await admin(`/users/${user.sub}`, 'PATCH', { status: 'disabled' });
    }
    const again = await Promise.all([
      runCommand(service, ['client', 'disable', clientId]),
      runCommand(service, ['user', 'disable', user.username]),
    ]);
    for (const { code, stdout } of again) {
      expect(code).toBe(0);
      expect(stdout).toContain('is already disabled: nothing changed');
    }
    const events = await rows({ client: clientId, sub: user.sub });
    expect(events.map(({ type }) => type)).toEqual(['client.disabled', 'user.disabled']);
  });

  test('the event of a user names the changed claims, and says that the user became an administrator (decisions section 7)', async () => {
    const { sub } = await service.createUser({ email: `${Date.now()}@example.com` });
    await admin(`/users/${sub}`, 'PATCH', { admin: true, email_verified: true, claims: { nickname: 'ada' } });
    await admin(`/users/${sub}`, 'PATCH', { password: 'another horse battery', groups: ['crew'] });
    const events = await rows({ sub });
    expect(events).toMatchObject([
      { type: 'user.changed', detail: { members: ['admin', 'email_verified', 'nickname'], admin: true } },
      { type: 'user.password_changed', detail: { members: ['groups', 'password'] } },
    ]);
  });

  test('creating a client with settings writes one event, and so does ending a session (decisions section 7)', async () => {
    const body = { client_name: 'Tool', redirect_uris: [reviewedUri], self_managed: true, access_token_lifetime: 60 };
    const created = await admin('/clients', 'POST', body);
    expect(created.body).toMatchObject({ self_managed: true, access_token_lifetime: 60 });
    expect(await rows({ client: created.body['client_id'] as string })).toEqual([]);
    const user = await service.createUser();
    await new UserAgent(service).signIn(user);
    const { sessions } = (await admin(`/sessions?sub=${user.sub}`)).body as { sessions: { id: string }[] };
    await admin(`/sessions/${sessions[0]!.id}`, 'DELETE');
    const ended = (await rows({ sub: user.sub })).filter(({ type }) => type === 'session.ended');
    expect(ended).toMatchObject([{ sub: user.sub, detail: { session: sessions[0]!.id } }]);
  });
});

test('14 concurrent changes of different claims of one user all take effect (decisions section 8)', async () => {
  const { sub } = await service.createUser({ claims: { gender: 'x' } });
  const claims = [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'zoneinfo',
    'locale',
    'phone_number',
    'birthdate',
    'profile',
    'picture',
    'website',
    'gender',
  ];
  const value = (claim: string, round: number) =>
    claim === 'birthdate'
      ? `19${10 + round}-01-01`
      : /^(profile|picture|website)$/.test(claim)
        ? `https://example.com/${round}`
        : `${claim} ${round}`;
  for (let round = 1; round <= 3; round++) {
    const answers = await Promise.all(
      claims.map((claim, n) =>
        admin(`/users/${sub}`, 'PATCH', { claims: { [claim]: value(claim, round) } }, instance(n)),
      ),
    );
    for (const answer of answers) expect(answer.status).toBe(200);
    const { body } = await admin(`/users/${sub}`);
    expect(body['claims']).toEqual(Object.fromEntries(claims.map((claim) => [claim, value(claim, round)])));
  }
  expect((await rows({ sub })).map(({ detail }) => detail['members'])).toHaveLength(3 * claims.length);
});
