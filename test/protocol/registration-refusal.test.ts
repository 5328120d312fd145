// Waiting registrations are listed, refused with a reason for the registrant, and deleted when they are abandoned.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let bearer: string;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  const tool = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' });
  const { body } = await tokenRequest(service.issuer, tool, { grant_type: 'client_credentials' });
  bearer = `Bearer ${body['access_token'] as string}`;
});
afterAll(() => service?.stop());

async function call(
  path: string,
  { anonymous, ...init }: RequestInit & { headers?: Record<string, string>; anonymous?: boolean } = {},
) {
  const response = await fetch(service.issuer + path, {
    ...init,
    headers: {
      ...(!anonymous && { authorization: bearer }),
      ...(init.body && { 'content-type': 'application/json' }),
      ...init.headers,
    },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const register = async (body: Record<string, unknown> = {}) =>
  (
    await call('/register', {
      method: 'POST',
      anonymous: true,
      body: JSON.stringify({ redirect_uris: ['https://rp.example.com/cb'], ...body }),
    })
  ).body;
const refuse = (id: unknown, body: Record<string, unknown>) =>
  call(`/admin/api/clients/${id as string}/refuse`, { method: 'POST', body: JSON.stringify(body) });
const waiting = async () =>
  ((await call('/admin/api/clients?waiting=true')).body['clients'] as { client_id: string }[]).map(
    (client) => client.client_id,
  );

test('a waiting registration is listed, a refused one is not, and the registrant reads the reason (decisions section 2)', async () => {
  const registered = await register({ client_name: 'Look-alike' });
  expect(await waiting()).toContain(registered['client_id']);
  const refused = await refuse(registered['client_id'], { version: 1, reason: 'The host is not yours.' });
  expect(refused).toMatchObject({
    status: 200,
    body: { status: 'disabled', refusal_reason: 'The host is not yours.' },
  });
  expect(await waiting()).not.toContain(registered['client_id']);
  const read = await call(`/register/${registered['client_id'] as string}`, {
    headers: { authorization: `Bearer ${registered['registration_access_token'] as string}` },
  });
  expect(read.body).toMatchObject({ status: 'disabled', refusal_reason: 'The host is not yours.' });
});

test('a later approval removes the refusal, through SQL, too (decisions section 2)', async () => {
  const registered = await register();
  await refuse(registered['client_id'], { version: 1, reason: 'Not now.' });
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [registered['client_id']]);
  const shown = await call(`/admin/api/clients/${registered['client_id'] as string}`);
  expect(shown.body).toMatchObject({ status: 'enabled', approved_by: 'administrator' });
  expect(shown.body['refusal_reason']).toBeUndefined();
});

test('a refused change is deleted, and the current values stay (security R45)', async () => {
  const client = await service.createClient();
  const put = await call(`/register/${client.clientId}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${client.registrationAccessToken}` },
    body: JSON.stringify({
      client_id: client.clientId,
      redirect_uris: [client.redirectUri, 'https://other.example/cb'],
    }),
  });
  expect(put.body['pending_changes']).toBeDefined();
  expect(await waiting()).toContain(client.clientId);
  const { version } = (await call(`/admin/api/clients/${client.clientId}`)).body;
  const refused = await refuse(client.clientId, { version, reason: 'Unknown host.' });
  expect(refused.body).toMatchObject({ status: 'enabled', redirect_uris: [client.redirectUri] });
  expect(refused.body['pending_changes']).toBeUndefined();
});

test('the registrant reads why a change was refused, until the next change or an approval (decisions section 2)', async () => {
  const client = await service.createClient();
  const headers = { authorization: `Bearer ${client.registrationAccessToken}` };
  const path = `/register/${client.clientId}`;
  const put = (...redirect_uris: string[]) =>
    call(path, { method: 'PUT', headers, body: JSON.stringify({ client_id: client.clientId, redirect_uris }) });
  const refuseChange = async () => {
    await put(client.redirectUri, 'https://other.example/cb');
    const { version } = (await call(`/admin/api/clients/${client.clientId}`)).body;
    expect((await refuse(client.clientId, { version, reason: 'Unknown host.' })).status).toBe(200);
    const read = await call(path, { headers });
    expect(read.body).toMatchObject({ status: 'enabled', refusal_reason: 'Unknown host.' });
    expect(read.body).not.toHaveProperty('pending_changes');
  };
  await refuseChange();
  expect((await put(client.redirectUri, 'https://third.example/cb')).body).not.toHaveProperty('refusal_reason');
  await refuseChange();
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client.clientId]);
  expect((await call(path, { headers })).body).not.toHaveProperty('refusal_reason');
});

test('a refusal names the reviewed version, and requires a waiting registration or change (security R90)', async () => {
  const registered = await register();
  expect((await refuse(registered['client_id'], { version: 7, reason: 'x' })).status).toBe(409);
  expect((await refuse(registered['client_id'], { reason: 'x' })).status).toBe(400);
  expect((await refuse(registered['client_id'], { version: 1, reason: '' })).status).toBe(400);
  expect((await refuse('unknown', { version: 1, reason: 'x' })).status).toBe(404);
  const enabled = await service.createClient();
  expect((await refuse(enabled.clientId, { version: 1, reason: 'x' })).status).toBe(409);
});

test('registrations without approval are deleted after the retention period, and no other clients are (security R49)', async () => {
  const abandoned = await register();
  const recent = await register();
  const enabled = await service.createClient();
  await service.database.sql('ALTER TABLE clients DISABLE TRIGGER USER');
  await service.database.sql(`UPDATE clients SET updated_at = now() - interval '31 days' WHERE client_id = ANY ($1)`, [
    [abandoned['client_id'], enabled.clientId],
  ]);
  await service.database.sql('ALTER TABLE clients ENABLE TRIGGER USER');
  expect(await service.store.clients.deleteAbandoned(30 * 86_400)).toEqual([abandoned['client_id']]);
  expect(await service.store.clients.find(recent['client_id'] as string)).toBeDefined();
  expect(await service.store.clients.find(enabled.clientId)).toBeDefined();
});
