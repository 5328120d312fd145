// A client of development: only an administrator makes one, its redirect URIs may be http in a private network, and users decide each time.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { weakened } from '../../src/rules/clients/weakened.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';

const redirectUri = 'http://192.168.1.20:8080/callback';
let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

const path = () => `${service.issuer}/admin/api/clients`;
const create = (body: object) => call(path(), { token, body: { client_name: 'Prototype', ...body } });
const change = (id: string, body: object) => call(`${path()}/${id}`, { token, method: 'PATCH', body });
const developed = async (more: object = {}) => {
  const { body } = await create({ redirect_uris: [redirectUri], development: true, require_pkce: false, ...more });
  return { clientId: String(body['client_id']), redirectUri, body };
};

test('an administrator makes one, and another client gets no such address (delivery 3)', async () => {
  const { status, body } = await create({ redirect_uris: [redirectUri] });
  expect({ status, error: body['error'] }).toEqual({ status: 400, error: 'invalid_redirect_uri' });
  const made = await developed({ post_logout_redirect_uris: ['http://nas/after'] });
  expect(made.body).toMatchObject({ development: true, redirect_uris: [redirectUri] });
  for (const uri of ['http://rp.example.com/cb', 'http://*.local/cb', 'http://nas/*'])
    expect((await create({ redirect_uris: [uri], development: true })).status).toBe(400);
});

test('a client does not keep such an address without the mark (delivery 3)', async () => {
  const { clientId } = await developed();
  expect((await change(clientId, { development: false })).status).toBe(400);
  expect((await change(clientId, { redirect_uris: ['http://nas.lan/cb'] })).status).toBe(200);
  const both = await change(clientId, { development: false, redirect_uris: ['https://rp.example.com/cb'] });
  expect({ status: both.status, development: both.body['development'] }).toEqual({ status: 200, development: false });
  expect((await change(clientId, { redirect_uris: ['http://nas.lan/cb'] })).status).toBe(400);
});

test('no registration makes one, and none gives its client such an address (delivery 3)', async () => {
  const register = (body: object) =>
    call(`${service.issuer}/register`, {
      body: { client_name: 'Self', redirect_uris: ['https://rp.example.com/cb'], ...body },
    });
  // an unknown member of a registration is dropped (RFC 7591 2)
  const dropped = await register({ development: true });
  expect(await service.store.clients.find(String(dropped.body['client_id']))).toMatchObject({ development: false });
  expect((await register({ development: true, redirect_uris: [redirectUri] })).status).toBe(400);
  expect((await register({ redirect_uris: [redirectUri] })).status).toBe(400);
  // not even that of a client which an administrator has made one of development
  const { clientId, body } = await developed();
  const registered = await call(`${service.issuer}/register/${clientId}`, {
    token: String(body['registration_access_token']),
    method: 'PUT',
    body: { client_id: clientId, client_name: 'Prototype', redirect_uris: ['http://nas/other'] },
  });
  expect(registered.status).toBe(400);
});

test('users are asked for consent each time, also if it is first-party and they have allowed it (delivery 3)', async () => {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  const client = await developed({ first_party: true });
  for (let time = 1; time <= 2; time++) {
    const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
    const asked = page.body.includes('id="allow"') ? page : await agent.signIn(user, page);
    expect(asked.body).toContain('id="allow"');
    const end = await agent.submit(asked, { decision: 'allow' });
    expect(end.location).toMatch(/^http:\/\/192\.168\.1\.20:8080\/callback\?code=/);
  }
  const silent = await agent.get(authorizationUrl(service.issuer, client, { prompt: 'none' }));
  expect(silent.location).toContain('error=consent_required');
});

test('the console marks it, and one function names it with a weak secret (delivery 3)', async () => {
  const { clientId } = await developed({ client_name: 'Marked prototype' });
  const weak = await create({ grant_types: ['client_credentials'], client_secret: 'sesame', weak_secret: true });
  const { agent, page } = await openConsole(
    service,
    await service.createUser({ admin: true }),
    '/admin/clients?q=marked',
  );
  expect(page.body).toContain('<span class="tag warning">Development</span>');
  expect((await agent.get(`/admin/clients/${clientId}`)).body).toContain('This client is for development.');
  const other = await create({ redirect_uris: ['https://rp.example.com/cb'] });
  expect((await agent.get(`/admin/clients/${String(other.body['client_id'])}`)).body).not.toContain(
    'is for development',
  );
  const clients = await service.store.clients.listWeakened(100);
  const named = weakened({ allowHttp: true, issuer: 'http://nas' }, clients);
  expect(named).toContainEqual({ kind: 'allow_http', issuer: 'http://nas' });
  expect(named).toContainEqual({ kind: 'development', clientId, name: 'Marked prototype' });
  expect(named).toContainEqual({ kind: 'weak_secret', clientId: weak.body['client_id'], name: 'Prototype' });
  expect(clients.map(({ clientId: id }) => id)).not.toContain(other.body['client_id']);
});
