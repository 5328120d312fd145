// SCIM by access tokens: a client opens the source that an administrator gave it, and no other token opens one (federation 8).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProofKey, postWithProof, present, proofFor } from '../helpers/dpop.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { directoryOf, startDirectory } from '../helpers/scim.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, LIMIT_SCIM: '0' } });
  admin = await adminToken(service);
  await startDirectory(service, admin, 'hers');
  await startDirectory(service, admin, 'other');
});
afterAll(() => service?.stop());

const api = (path: string, method = 'GET', body?: object) =>
  call(`${service.issuer}/admin/api${path}`, { method, token: admin, ...(body && { body }) });
const give = (client: TestClient, source: string | null) =>
  api(`/clients/${client.clientId}`, 'PATCH', { scim_source: source });
const machine = (scope = 'scim', more: object = {}) =>
  service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope, ...more });
const tokenOf = async (client: TestClient, parameters: Record<string, string> = {}) => {
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials', ...parameters });
  return String(body['access_token']);
};
const path = '/scim/v2/hers/Users';
const statusOf = async (token: string, at = path) => (await call(service.issuer + at, { token })).status;
const refused = {
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: '401',
  detail: 'send the token of this source as Bearer',
};

test('a client with the scope scim opens the source that an administrator gave it, as a token of the source does (federation F69)', async () => {
  const client = await machine();
  expect((await give(client, 'hers')).body['scim_source']).toBe('hers');
  const source = directoryOf(`${service.issuer}/scim/v2/hers`, 'hers', await tokenOf(client));
  const made = await source.user({ userName: 'by-client' });
  expect((await source.patch(`/Users/${made.id}`, { op: 'replace', path: 'active', value: false })).status).toBe(200);
  expect((await eventsOf(service, { sub: made.id })).map(({ type, actor }) => [type, actor])).toEqual([
    ['user.created', 'scim:hers'],
    ['user.disabled', 'scim:hers'],
  ]);
});

test('every other access token gets the same answer as no token (federation F69; federation FR34)', async () => {
  const client = await machine();
  await give(client, 'hers');
  const token = await tokenOf(client);
  const withoutScope = await machine('admin');
  await give(withoutScope, 'hers');
  const withoutSource = await machine();
  const of = async (resource: string) => tokenOf(client, { resource });
  const both = await service.createClient({ scope: 'openid scim' });
  await give(both, 'hers');
  const user = await service.createUser();
  const ofUser = await obtainTokens(service, both, user, { scope: 'openid scim' });
  expect(ofUser.scope).toContain('scim');
  const revoked = await tokenOf(client);
  await fetch(`${service.issuer}/revoke`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token: revoked }),
  });
  const requests: [string, string, string?][] = [
    ['another source', token, '/scim/v2/other/Users'],
    ['a source that does not exist', token, '/scim/v2/none/Users'],
    ['no scope', await tokenOf(withoutScope)],
    ['no source', await tokenOf(withoutSource)],
    ['a user', ofUser.access_token],
    ['an administrator', admin],
    ['a revoked token', revoked],
    ['the audience of another source', await of(`${service.issuer}/scim/v2/other`)],
    ['the audience of another address', await of(`${service.issuer}/user/info`)],
  ];
  const answers = await Promise.all(
    requests.map(async ([what, given, at = path]) => {
      const { status, headers, body } = await call(service.issuer + at, { token: given });
      return [what, status, headers.get('www-authenticate'), body];
    }),
  );
  expect(answers).toEqual(requests.map(([what]) => [what, 401, 'Bearer realm="gatehouse"', refused]));
  expect(await statusOf(await of(service.issuer))).toBe(200);
  expect(await statusOf(await of(`${service.issuer}/scim/v2/hers`))).toBe(200);
  expect((await call(`${service.issuer}${path}?access_token=${token}`)).status).toBe(401);
});

test('what an administrator takes back ends at once: the source of the client, the client, and the source (federation F69)', async () => {
  const client = await machine();
  await give(client, 'hers');
  const token = await tokenOf(client);
  expect(await statusOf(token)).toBe(200);
  await api('/scim-sources/hers', 'PATCH', { status: 'disabled' });
  expect(await statusOf(token)).toBe(401);
  await api('/scim-sources/hers', 'PATCH', { status: 'enabled' });
  expect(await statusOf(token)).toBe(200);
  await give(client, null);
  expect(await statusOf(token)).toBe(401);
  await give(client, 'other');
  expect(await statusOf(token)).toBe(401);
  await give(client, 'hers');
  await api(`/clients/${client.clientId}/disable`, 'POST');
  expect(await statusOf(token)).toBe(401);
});

test('a source that is deleted and made again has no client, and a client names only a source that exists (federation FR34)', async () => {
  const client = await machine();
  const unknown = await give(client, 'brief');
  expect([unknown.status, unknown.body['error_description']]).toEqual([400, 'scim_source is unknown']);
  await startDirectory(service, admin, 'brief');
  await give(client, 'brief');
  const token = await tokenOf(client);
  expect(await statusOf(token, '/scim/v2/brief/Users')).toBe(200);
  await api('/scim-sources/brief', 'DELETE');
  await startDirectory(service, admin, 'brief');
  expect(await statusOf(token, '/scim/v2/brief/Users')).toBe(401);
  expect((await api(`/clients/${client.clientId}`)).body).not.toHaveProperty('scim_source');
});

test('a token that is bound to a key needs the proof here as elsewhere, and a proof counts once (security R115; RFC 9449 7.1)', async () => {
  const client = await machine('scim', { dpop_bound_access_tokens: true });
  await give(client, 'hers');
  const key = await newProofKey();
  const { body } = await postWithProof(service, '/token', client, { grant_type: 'client_credentials' }, key);
  const token = String(body['access_token']);
  expect((await present(service, path, token, key)).status).toBe(200);
  expect((await present(service, path, token, await newProofKey())).body).toEqual(refused);
  expect((await call(service.issuer + path, { token })).body).toEqual(refused);
  const dpop = await proofFor(key, service.issuer + path, { method: 'GET', token });
  const headers = { authorization: `DPoP ${token}`, dpop };
  expect((await call(service.issuer + path, { headers })).status).toBe(200);
  expect((await call(service.issuer + path, { headers })).body).toEqual(refused);
});

test('a client that must use nonces learns the nonce (RFC 9449 9)', async () => {
  const client = await machine('scim', { dpop_bound_access_tokens: true, dpop_nonce: true });
  await give(client, 'hers');
  const key = await newProofKey();
  const first = await postWithProof(service, '/token', client, { grant_type: 'client_credentials' }, key);
  const nonce = first.headers.get('dpop-nonce')!;
  const parameters = { grant_type: 'client_credentials' };
  const { body } = await postWithProof(service, '/token', client, parameters, key, { nonce });
  const token = String(body['access_token']);
  const answer = await present(service, path, token, key);
  expect([answer.status, answer.body['status']]).toEqual([401, '401']);
  expect(answer.headers.get('www-authenticate')).toMatch(/^DPoP .*error="use_dpop_nonce"/);
  expect((await present(service, path, token, key, { nonce: answer.headers.get('dpop-nonce')! })).status).toBe(200);
});

test('a client that registers itself gets neither the scope nor a source (federation 8; decisions 2)', async () => {
  const registering = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
  try {
    const register = (body: object) => call(`${registering.issuer}/register`, { body });
    const asked = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid scim' };
    const { status, body } = await register(asked);
    expect([status, body['scope']]).toEqual([201, 'openid']);
    // a first registration ignores it, and an update is refused
    const { body: second } = await register({ ...asked, scim_source: 'hers' });
    expect((await registering.store.clients.find(String(second['client_id'])))!.scimSource).toBeUndefined();
    const change = (more: object) =>
      call(`${registering.issuer}/register/${String(body['client_id'])}`, {
        method: 'PUT',
        token: String(body['registration_access_token']),
        body: { ...asked, client_id: body['client_id'], ...more },
      });
    expect((await change({ scope: 'openid scim' })).status).toBe(400);
    expect((await change({ scope: 'openid', scim_source: 'hers' })).status).toBe(400);
  } finally {
    await registering.stop();
  }
});
