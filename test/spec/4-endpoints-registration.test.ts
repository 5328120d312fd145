// Specification section 4.5: tests register, read, update and delete, each with its method, its answer and its authentication.
import { expect, test } from 'vitest';
import { adminToken, approveClient, call } from '../helpers/grants.ts';
import { manage, register, second, useService } from './kit.ts';

const service = useService();
const redirect_uris = ['https://rp.example.com/callback'];
const at = (client: Record<string, string>, method: string, token?: string, body?: unknown) =>
  call(`${second(service())}/register/${client['client_id']}`, { method, body, ...(token !== undefined && { token }) });

test('4.5 Register: a POST without authentication answers 201 with the whole registration (decisions 2)', async () => {
  const { status, headers, body } = await register(service());
  expect(status).toBe(201);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(Object.keys(body)).toEqual(
    expect.arrayContaining([
      'client_id',
      'client_id_issued_at',
      'client_secret',
      'client_secret_expires_at',
      'shared_secret',
      'status',
      'registration_access_token',
      'registration_client_uri',
      'redirect_uris',
      'scope',
      'response_types',
      'login_uri',
      'logout_uri',
      'error_uri',
      'access_denied_uri',
    ]),
  );
});

test('4.5 Register: with an initial access token of an administrator the client is enabled at once (decisions 2)', async () => {
  const made = await call(`${service().issuer}/admin/api/registration-tokens`, {
    method: 'POST',
    token: await adminToken(service()),
  });
  const { body } = await register(
    service(),
    {},
    { authorization: `Bearer ${made.body['initial_access_token'] as string}` },
  );
  expect(body['status']).toBe('enabled');
});

test('4.5 Register: only a client that requests the mode approval gets 202, and then 201 when it is approved (draft-dellaert-oauth-approval-based-dcr 3.1)', async () => {
  const plain = await register(service(), { registration_mode: ['immediate'] });
  expect(plain).toMatchObject({ status: 201, body: { status: 'disabled' } });
  const deferred = await register(service(), { client_name: 'Deferred', registration_mode: ['approval'] });
  expect(deferred.status).toBe(202);
  const poll = (base: string) =>
    call(`${base}/register`, { body: { registration_code: deferred.body['registration_code'] } });
  expect(await poll(second(service()))).toMatchObject({ status: 202, body: {} });
  await service().database.sql(`UPDATE clients SET status = 'enabled' WHERE metadata ->> 'client_name' = 'Deferred'`);
  expect(await poll(second(service()))).toMatchObject({ status: 201, body: { status: 'enabled' } });
});

test('4.5 Read: GET returns the current metadata (decisions 2)', async () => {
  const { body } = await register(service(), { client_name: 'Quay' });
  const read = await at(body, 'GET', body['registration_access_token']);
  expect(read).toMatchObject({ status: 200, body: { client_id: body['client_id'], client_name: 'Quay' } });
});

test('4.5 Update: PUT replaces the whole metadata, and returns the metadata in force (decisions 2)', async () => {
  const { body } = await register(service(), { client_name: 'Quay' });
  const token = body['registration_access_token'];
  const updated = await at(body, 'PUT', token, {
    client_id: body['client_id'],
    redirect_uris,
    tos_uri: 'https://rp.example.com/tos',
  });
  expect(updated).toMatchObject({ status: 200, body: { tos_uri: 'https://rp.example.com/tos' } });
  expect(updated.body).not.toHaveProperty('client_name');
  expect((await at(body, 'GET', token)).body).not.toHaveProperty('client_name');
});

test('4.5 Update: another client_id, a wrong client_secret and changed members of the service are refused (decisions 2)', async () => {
  const { body } = await register(service());
  for (const wrong of [
    { client_id: 'another' },
    { client_secret: 'wrong' },
    { shared_secret: body['client_secret'] },
    { status: 'enabled' },
    { first_party: true },
  ] as Record<string, unknown>[]) {
    const sent = { client_id: body['client_id'], redirect_uris, ...wrong };
    expect((await at(body, 'PUT', body['registration_access_token'], sent)).status, JSON.stringify(wrong)).toBe(400);
  }
});

test('4.5 Update: a change that widens the approved metadata is pending, and the old values stay in force (decisions 2)', async () => {
  const { body } = await register(service());
  const token = await adminToken(service());
  await approveClient(service().issuer, token, body['client_id']!);
  const wider = { redirect_uris: [...redirect_uris, 'https://rp.example.com/second'] };
  const answer = await manage(body, 'PUT', { client_id: body['client_id'], client_name: 'Harbour', ...wider });
  expect(answer.body).toMatchObject({ status: 'enabled', redirect_uris, pending_changes: wider });
  await approveClient(service().issuer, token, body['client_id']!);
  expect((await manage(body, 'GET')).body).toMatchObject({ status: 'enabled', ...wider });
});

test('4.5 Delete: DELETE answers 204, and then the registration access token gets 401 (decisions 2)', async () => {
  const { body } = await register(service());
  const token = body['registration_access_token']!;
  const response = await fetch(body['registration_client_uri']!, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  });
  expect([response.status, await response.text()]).toEqual([204, '']);
  for (const method of ['GET', 'DELETE']) expect((await at(body, method, token)).status).toBe(401);
});

test('4.5 authentication: read, update and delete accept only the registration access token of this client (decisions 2)', async () => {
  const { body } = await register(service());
  const { body: other } = await register(service());
  const sent = { client_id: body['client_id'], redirect_uris };
  for (const token of [undefined, 'nonsense', other['registration_access_token'], body['client_secret']]) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status, headers } = await at(body, method, token, method === 'PUT' ? sent : undefined);
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  }
  expect((await at(body, 'GET', body['registration_access_token'])).status).toBe(200);
});

test('4.5 clientId: an unknown one in the path gets the same answer as a wrong token (decisions 2)', async () => {
  const { body } = await register(service());
  const unknown = await at({ client_id: 'nobody' }, 'GET', body['registration_access_token']);
  const wrong = await at(body, 'GET', 'nonsense');
  expect([unknown.status, unknown.body['error']]).toEqual([wrong.status, wrong.body['error']]);
});
