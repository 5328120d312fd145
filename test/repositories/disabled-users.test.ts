// A disabled user gets nothing by any grant: disabling ends the sessions at clients, and the check before issuing refuses where one is left.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { answer, askUser, cibaMetadata, grantSomething, poll as pollRequest } from '../helpers/ciba.ts';
import { decide, deviceCodes, deviceMetadata, poll as pollDevice } from '../helpers/device.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, type Answer, obtainCode, redeem, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
let app: TestClient;
let gateway: TestClient;
let device: TestClient;
let bank: TestClient;
const ledger = 'https://ledger.example/';
const uri = 'https://gateway.example/';
const audience = 'https://id.tracker.example';
const scopes = [{ value: 'ledger.read' }];
beforeAll(async () => {
  const environment = { ...withoutLimits, CIBA: 'on', DEVICE_GRANT: 'on', LIMIT_CIBA_REQUESTS: '0', ID_JAG: 'on' };
  service = await startTestService({ environment });
  token = await adminToken(service);
  app = await service.createClient({
    scope: 'openid offline_access',
    grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrant],
  });
  gateway = await service.createClient(exchangeMetadata);
  device = await service.createClient(deviceMetadata);
  bank = await service.createClient(cibaMetadata);
  await made(service, token, 'resources', { resource: ledger, name: 'Ledger', scopes });
  const api = { resource: uri, name: 'Gateway', client_id: gateway.clientId, scopes, clients: 'approved' };
  await made(service, token, 'resources', api);
  await made(service, token, 'exchange-policies', {
    name: 'gateway',
    client_id: gateway.clientId,
    subject_clients: [app.clientId],
    resources: [ledger],
    scopes: ['ledger.read'],
  });
  const clients = [{ client: app.clientId, id: 'there', scopes: ['issues.read'] }];
  await made(service, token, 'connected-servers', { name: 'Tracker', issuer: audience, clients, resources: [] });
});
afterAll(() => service?.stop());

const codeOf = (user: TestUser, more: Record<string, string> = {}) =>
  obtainCode(service, app, user, { scope: 'openid offline_access', ...more });
const tokensOf = async (user: TestUser, more: Record<string, string> = {}) =>
  (await redeem(service.issuer, app, await codeOf(user, more))).body as Record<string, string>;
const signedIn = async (user: TestUser): Promise<UserAgent> => {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
};
const idJag = (given: string, type: string) =>
  exchange(service.issuer, app, given, {
    subject_token_type: type,
    requested_token_type: tokenTypes.idJag,
    audience,
  });

/** What the user does, and then the request of the client. */
const grants: Record<string, (user: TestUser) => Promise<() => Promise<Answer>>> = {
  async 'a code'(user) {
    const code = await codeOf(user);
    return () => redeem(service.issuer, app, code);
  },
  async 'a refresh token'(user) {
    const { refresh_token } = await tokensOf(user);
    return () => refresh(service.issuer, app, refresh_token!);
  },
  async 'an exchange'(user) {
    const { access_token } = await tokensOf(user, { scope: 'openid offline_access ledger.read', resource: uri });
    return () => exchange(service.issuer, gateway, access_token!);
  },
  async 'an ID-JAG by an ID Token'(user) {
    const { id_token } = await tokensOf(user);
    return () => idJag(id_token!, tokenTypes.idToken);
  },
  async 'an ID-JAG by a refresh token'(user) {
    const { refresh_token } = await tokensOf(user);
    return () => idJag(refresh_token!, tokenTypes.refreshToken);
  },
  async 'a device code'(user) {
    const codes = await deviceCodes(service.issuer, device);
    await decide(await signedIn(user), codes);
    return () => pollDevice(service.issuer, device, codes);
  },
  async 'a backchannel request'(user) {
    await grantSomething(service, bank, user.sub);
    const { body } = await askUser(service.issuer, bank, { login_hint: user.username });
    await answer(await signedIn(user));
    return () => pollRequest(service.issuer, bank, String(body['auth_req_id']));
  },
};

const ways: Record<string, (sub: string) => Promise<unknown>> = {
  'is disabled': (sub) => made(service, token, `users/${sub}`, { status: 'disabled' }, 'PATCH'),
  // as when a session at a client is stored while the user is being disabled
  'is disabled, and has a session at the client left': (sub) =>
    service.database.sql(
      `BEGIN; ALTER TABLE users DISABLE TRIGGER USER; UPDATE users SET status = 'disabled' WHERE sub = '${sub}';
       ALTER TABLE users ENABLE TRIGGER USER; COMMIT`,
    ),
};

test.each(Object.keys(grants).flatMap((grant) => Object.keys(ways).map((way) => ({ grant, way }))))(
  'a user who $way gets nothing by $grant, and an enabled one does (security R133)',
  async ({ grant, way }) => {
    const [enabled, disabled] = [await service.createUser(), await service.createUser()];
    const [allowed, refused] = [await grants[grant]!(enabled), await grants[grant]!(disabled)];
    await ways[way]!(disabled.sub);
    expect((await allowed()).status).toBe(200);
    const { status, body } = await refused();
    expect([status, body['access_token']]).toEqual([400, undefined]);
    expect(['invalid_grant', 'invalid_request']).toContain(body['error']);
  },
);

test.each(Object.keys(ways))('an access token of a user who %s is worth nothing (security R133)', async (way) => {
  const user = await service.createUser();
  const { access_token: given } = await tokensOf(user);
  expect((await userinfo(service.issuer, given!)).status).toBe(200);
  await ways[way]!(user.sub);
  expect((await userinfo(service.issuer, given!)).status).toBe(401);
});
