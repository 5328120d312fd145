// An administrator renews the secrets of a client: the new ones work, the old ones do not, and an event records it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const renew = (clientId: string, body: unknown = {}) =>
  call(`${service.issuer}/admin/api/clients/${clientId}/secrets`, { token, body });
const machine = () => service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
async function authenticates(clientId: string, secret: string): Promise<boolean> {
  const answer = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'openid' }),
  });
  return answer.status !== 401;
}
const readsRegistration = async (clientId: string, registrationToken: string) =>
  (await call(`${service.issuer}/register/${clientId}`, { method: 'GET', token: registrationToken })).status === 200;

test('renewing all secrets replaces each of them, and the old ones stop working at once (security R70)', async () => {
  const client = await machine();
  expect(await authenticates(client.clientId, client.clientSecret)).toBe(true);
  const { status, body, headers } = await renew(client.clientId);
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(Object.keys(body).sort()).toEqual(
    ['client_id', 'client_secret', 'registration_access_token', 'shared_secret', 'version'].sort(),
  );
  expect(await authenticates(client.clientId, client.clientSecret)).toBe(false);
  expect(await authenticates(client.clientId, body['client_secret'] as string)).toBe(true);
  expect(await readsRegistration(client.clientId, client.registrationAccessToken)).toBe(false);
  expect(await readsRegistration(client.clientId, body['registration_access_token'] as string)).toBe(true);
  const [event] = await service.database.sql<{ detail: { members: string[] } }>(
    `SELECT detail FROM audit_events WHERE client_id = $1 AND type = 'client.credentials_renewed'`,
    [client.clientId],
  );
  expect(event!.detail.members).toEqual(['client_secret', 'registration_access_token', 'shared_secret']);
});

test('a request that names secrets renews only those (decisions section 2)', async () => {
  const client = await machine();
  const { body } = await renew(client.clientId, { secrets: ['shared_secret'] });
  expect(Object.keys(body).sort()).toEqual(['client_id', 'shared_secret', 'version']);
  expect(await authenticates(client.clientId, client.clientSecret)).toBe(true);
  expect(await readsRegistration(client.clientId, client.registrationAccessToken)).toBe(true);
});

test('a renewal makes no secret that the client does not use, and none for an unknown or uncollected client (security R90)', async () => {
  const client = await service.createClient({ token_endpoint_auth_method: 'none' });
  expect(await renew(client.clientId, { secrets: ['client_secret'] })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  });
  expect(Object.keys((await renew(client.clientId)).body)).not.toContain('client_secret');
  expect(await renew(client.clientId, { secrets: ['password'] })).toMatchObject({ status: 400 });
  expect(await renew('nobody')).toMatchObject({ status: 404 });
  const deferred = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://rp.example.com/cb'], registration_mode: ['approval'] },
  });
  expect(deferred.status).toBe(202);
  const [uncollected] = await service.database.sql<{ client_id: string }>(
    `SELECT client_id FROM clients WHERE uncollected`,
  );
  expect(await renew(uncollected!.client_id)).toMatchObject({ status: 409 });
});
