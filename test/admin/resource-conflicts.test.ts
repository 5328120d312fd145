// Several clients may register the same resource, but an approval is refused while another client holds it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filledForm, formOf, openConsole } from '../helpers/console.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { hiddenFields, type UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  const ada = await service.createUser({ username: 'ada', admin: true });
  agent = (await openConsole(service, ada)).agent;
});
afterAll(() => service?.stop());

const redirect_uris = ['https://rp.example.com/callback'];
let number = 0;
const newResource = () => `https://api-${(number += 1)}.example.com/`;
type Registered = Record<string, string>;

const admin = (path: string, method = 'GET', body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, body });
const register = async (metadata: Record<string, unknown>, headers: Record<string, string> = {}) => {
  const answer = await call(`${service.issuer}/register`, { body: { redirect_uris, ...metadata }, headers });
  expect(answer.status).toBe(201);
  return answer.body as Registered;
};
const approve = (client: Registered, base = service.issuer) => approveClient(base, token, client['client_id']!);
const statusOf = async (client: Registered) => (await admin(`/clients/${client['client_id']}`)).body['status'];
const setStatus = (clientId: string, status: string) =>
  service.database.sql('UPDATE clients SET status = $2 WHERE client_id = $1', [clientId, status]);
const server = async (resource: string) => (await service.store.resources.findUsable([resource]))[0]?.clientId;
const held = (resource: string, { clientId }: Pick<TestClient, 'clientId'>) => ({
  status: 409,
  body: {
    error: 'conflict',
    error_description: `resource_uris: the client ${clientId} holds ${resource}: disable that client first, or refuse this claim`,
  },
});

describe('a claim of a resource that another client holds', () => {
  test('the claim is registered like any other, and its approval is refused with 409, which names the client and the resource (decisions section 2)', async () => {
    const resource = newResource();
    // registered first: it must not replace the client that was approved for the resource
    const claimant = await register({ resource_uris: [newResource(), resource] });
    const holder = await service.createClient({ resource_uris: [resource] });
    expect(await approve(claimant)).toMatchObject(held(resource, holder));
    const path = `/clients/${claimant['client_id']}`;
    const { version } = (await admin(path)).body;
    expect(await admin(path, 'PATCH', { status: 'enabled', version })).toMatchObject(held(resource, holder));
    const clients = [{ client_id: claimant['client_id'], version }];
    expect((await admin('/clients/decide', 'POST', { decision: 'approve', clients })).body).toEqual({
      outcomes: [{ client_id: claimant['client_id'], outcome: 'held' }],
    });
    const command = await runCommand(service, ['client', 'approve', claimant['client_id']!]);
    expect(command.code).not.toBe(0);
    expect(command.stderr).toContain(`the client ${holder.clientId} holds ${resource}`);
    await expect(setStatus(claimant['client_id']!, 'enabled')).rejects.toThrow(`${holder.clientId} holds ${resource}`);
    expect(await statusOf(claimant)).toBe('disabled');
    expect(await server(resource)).toBe(holder.clientId);
    // a disabled client holds no resource
    await setStatus(holder.clientId, 'disabled');
    expect(await approve(claimant)).toMatchObject({ status: 200, body: { status: 'enabled' } });
    expect(await server(resource)).toBe(claimant['client_id']);
    // the former holder cannot be enabled again
    await expect(setStatus(holder.clientId, 'enabled')).rejects.toThrow(`${claimant['client_id']} holds ${resource}`);
    expect(await approve({ client_id: holder.clientId })).toMatchObject({ status: 409 });
  });

  test('the waiting list and the page of the client name the conflict, and refuse the approval (decisions section 2)', async () => {
    const resource = newResource();
    const holder = await service.createClient({ resource_uris: [resource], client_name: 'Holding' });
    const claimant = await register({ resource_uris: [resource], client_name: 'Claiming' });
    const notice = new RegExp(
      `Other clients already have resources.*${resource}.*/admin/clients/${holder.clientId}".*Holding`,
      's',
    );
    for (const path of ['/admin/clients/waiting', `/admin/clients/${claimant['client_id']}`])
      expect((await agent.get(path)).body, path).toMatch(notice);
    const page = await agent.get(`/admin/clients/${claimant['client_id']}`);
    const form = formOf(page, '/admin/clients/decide');
    const answer = await agent.post('/admin/clients/decide', {
      ...form,
      'client.0': 'on',
      one: 'on',
      decision: 'approve',
    });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatch(/These clients claim resources of other clients\..*Claiming/s);
    expect(await statusOf(claimant)).toBe('disabled');
    // a disabled client that was approved before shows the conflict beside its button, too
    const former = await register({ resource_uris: [newResource()] });
    await approve(former);
    await setStatus(former['client_id']!, 'disabled');
    await service.database.sql(
      `UPDATE clients SET metadata = jsonb_set(metadata, '{resource_uris}', jsonb_build_array($2::text)) WHERE client_id = $1`,
      [former['client_id'], resource],
    );
    expect((await agent.get(`/admin/clients/${former['client_id']}`)).body).toMatch(notice);
  });

  test('in approval mode, the page names the conflict and refuses the approval, and a client holds its resources from the approval on (decisions section 2)', async () => {
    const resource = newResource();
    const holder = await service.createClient({ resource_uris: [resource], client_name: 'Holding' });
    const deferred = await call(`${service.issuer}/register`, {
      body: { redirect_uris, client_name: 'Late', resource_uris: [resource], registration_mode: ['approval'] },
    });
    expect(deferred.status).toBe(202);
    const page = await agent.get(deferred.body['verification_uri_complete'] as string);
    expect(page.body).toMatch(new RegExp(`class="notice warning held-resources".*${resource}.*Holding`, 's'));
    const answer = await agent.post('/admin/registration', { ...hiddenFields(page.body), decision: 'approve' });
    expect(answer.status).toBe(409);
    expect(answer.body).toContain('Another client already has a resource that this application claims');
    await setStatus(holder.clientId, 'disabled');
    const again = await agent.get(deferred.body['verification_uri_complete'] as string);
    expect((await agent.post('/admin/registration', { ...hiddenFields(again.body), decision: 'approve' })).status).toBe(
      200,
    );
    await expect(setStatus(holder.clientId, 'enabled')).rejects.toThrow(`holds ${resource}`);
    const code = { registration_code: deferred.body['registration_code'] };
    const collected = await call(`${service.issuer}/register`, { body: code });
    expect(collected).toMatchObject({ status: 201, body: { status: 'enabled' } });
    expect(await server(resource)).toBe(collected.body['client_id']);
  });

  test('a registration that needs no approval is not refused, and the holder stays the resource server (decisions section 2)', async () => {
    const resource = newResource();
    const holder = await service.createClient({ resource_uris: [resource] });
    const { body } = await admin('/registration-tokens', 'POST', {});
    const authorization = `Bearer ${body['initial_access_token'] as string}`;
    const claimant = await register({ resource_uris: [resource] }, { authorization });
    expect(claimant).toMatchObject({ status: 'enabled', resource_uris: [resource] });
    expect(await server(resource)).toBe(holder.clientId);
  });

  test('the claim in an update waits for approval, also for a client that needs no approval of its updates (decisions section 2)', async () => {
    const resource = newResource();
    const claimant = await register({ resource_uris: [newResource()], client_name: 'Claiming' });
    const id = claimant['client_id']!;
    await approve(claimant);
    await admin(`/clients/${id}`, 'PATCH', { self_managed: true });
    const holder = await service.createClient({ resource_uris: [resource] });
    const sent = { redirect_uris, client_name: 'Claiming', client_id: id, resource_uris: [resource] };
    const own = { token: claimant['registration_access_token']! };
    const changed = await call(`${service.issuer}/register/${id}`, { method: 'PUT', ...own, body: sent });
    expect(changed).toMatchObject({ status: 200, body: { pending_changes: { resource_uris: [resource] } } });
    expect(await approve(claimant)).toMatchObject(held(resource, holder));
    expect(await server(resource)).toBe(holder.clientId);
    await setStatus(holder.clientId, 'disabled');
    expect(await approve(claimant)).toMatchObject({ status: 200, body: { resource_uris: [resource] } });
  });

  test('an administrator cannot create or change a client with the claim, by admin route or in the console (decisions section 2)', async () => {
    const resource = newResource();
    const holder = await service.createClient({ resource_uris: [resource] });
    const created = await admin('/clients', 'POST', { redirect_uris, resource_uris: [resource] });
    expect(created).toMatchObject(held(resource, holder));
    const { clientId } = await service.createClient({ client_name: 'Pier', resource_uris: [newResource()] });
    expect(await admin(`/clients/${clientId}`, 'PATCH', { resource_uris: [resource] })).toMatchObject(
      held(resource, holder),
    );
    const edit = `/admin/clients/${clientId}/edit`;
    const form = filledForm(await agent.get(edit));
    const saved = await agent.post(edit, { ...form, resource_uris: resource });
    expect(saved.status).toBe(409);
    expect(saved.body).toContain(`the client ${holder.clientId} holds ${resource}`);
    const fresh = {
      ...filledForm(await agent.get('/admin/clients/new/web')),
      redirect_uris: redirect_uris[0]!,
      client_name: 'Quay',
    };
    const refused = await agent.post('/admin/clients/new/web', { ...fresh, resource_uris: resource });
    expect([refused.status, refused.body.includes(`holds ${resource}`)]).toEqual([409, true]);
    // the holder keeps its own resource
    const path = `/clients/${holder.clientId}`;
    expect(await admin(path, 'PATCH', { resource_uris: [resource, newResource()] })).toMatchObject({ status: 200 });
    expect(await approve({ client_id: holder.clientId })).toMatchObject({ status: 200 });
  });
});

test('two clients that claim one resource in concurrent updates learn nothing of each other (decisions section 2)', async () => {
  for (let round = 0; round < 10; round++) {
    const resource = newResource();
    const clients = await Promise.all([service.createClient(), service.createClient()]);
    const ids = clients.map(({ clientId }) => clientId);
    await service.database.sql('UPDATE clients SET self_managed = true WHERE client_id = ANY ($1)', [ids]);
    const answers = await Promise.all(
      clients.map(({ clientId, registrationAccessToken }, index) =>
        call(`${service.instances[index]!}/register/${clientId}`, {
          method: 'PUT',
          token: registrationAccessToken,
          body: { client_id: clientId, redirect_uris, resource_uris: [resource] },
        }),
      ),
    );
    for (const [index, { status, body }] of answers.entries()) {
      expect([200, 409]).toContain(status);
      expect(JSON.stringify(body)).not.toContain(ids[1 - index]);
    }
  }
});

test('only one of several clients with the same resource is approved when all are approved concurrently (decisions section 2)', async () => {
  for (let round = 0; round < 5; round++) {
    const resource = newResource();
    const claimants = await Promise.all(Array.from({ length: 6 }, () => register({ resource_uris: [resource] })));
    const answers = await Promise.all(
      claimants.map((claimant, index) => approve(claimant, service.instances[index % 2])),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    const winner = claimants[answers.findIndex(({ status }) => status === 200)]!;
    expect(await server(resource)).toBe(winner['client_id']);
  }
});
