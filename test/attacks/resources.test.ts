// Attacks resources (RFC 8707): APIs of others, tokens for more than was granted.
import { afterAll, beforeAll, expect } from 'vitest';
import {
  adminToken,
  approveClient,
  call,
  obtainCode,
  redeem,
  refresh,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let token: string;
let server: TestClient;
let machine: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient();
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  for (const resource of ['https://api.example/one', 'https://host.example'])
    await admin('/resources', { resource, name: 'One', client_id: server.clientId, clients: 'approved' });
});
afterAll(() => service?.stop());

const admin = (path: string, body: unknown) => call(`${service.issuer}/admin/api${path}`, { token, body });
const credentials = (fields: Record<string, string>) =>
  tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', ...fields });

attack(
  {
    id: 'P44',
    name: 'Resource widened later',
    request:
      'A code for one API redeemed for another, its refresh token used for another, two resources in one token request, and the code of a request without resource redeemed for an API',
    answer: 'invalid_target each time, and code and refresh token stay good for what was granted',
    source: 'RFC 8707 2.2, workers-oauth-provider#120',
    requirements: ['R139', 'R12'],
  },
  async () => {
    const [one, two] = ['https://api.example/one', 'https://host.example'];
    const client = await service.createClient();
    const user = await service.createUser();
    const refusal = { status: 400, body: { error: 'invalid_target' } };
    const code = await obtainCode(service, client, user, { resource: one });
    for (const resource of [two, service.issuer, `${service.issuer}/user/info`, `${one}/`, server.clientId])
      expect(await redeem(service.issuer, client, code, { resource }), resource).toMatchObject(refusal);
    expect(await redeem(service.issuer, client, code, { resource: `${one} ${two}` })).toMatchObject(refusal);
    const first = await redeem(service.issuer, client, code, { resource: one });
    expect(first.status).toBe(200);
    let token = String(first.body['refresh_token']);
    for (const resource of [two, service.issuer, `${one} ${two}`])
      expect(await refresh(service.issuer, client, token, { resource }), resource).toMatchObject(refusal);
    const second = await refresh(service.issuer, client, token, { resource: one });
    expect(second.status).toBe(200);
    token = String(second.body['access_token']);
    expect((await introspect(service.issuer, server, token)).body).toMatchObject({ aud: [one, server.clientId] });
    expect((await userinfo(service.issuer, token)).status).toBe(401);
    const plain = await obtainCode(service, client, user);
    expect(await redeem(service.issuer, client, plain, { resource: one })).toMatchObject(refusal);
    expect((await redeem(service.issuer, client, plain)).status).toBe(200);
  },
);

attack(
  {
    id: 'P45',
    name: 'Squatter',
    request: 'A registration that claims the URI of an existing API in other spellings; an administrator approves it',
    answer: 'the approval is refused, the conflict names the API, and tokens go on to its server only',
    source: 'RFC 3986 6.2, RFC 8707 3',
    requirements: ['R45', 'R139'],
  },
  async () => {
    const spellings = {
      'https://api.example/one': ['https://api.example/one', 'HTTPS://API.example:443/one'],
      'https://host.example': ['https://host.example', 'https://host.example/', 'https://HOST.example:443'],
    };
    for (const [resource, claims] of Object.entries(spellings)) {
      for (const uri of claims) {
        const claimant = await call(`${service.issuer}/register`, {
          body: { redirect_uris: ['https://rp.example/cb'], resource_uris: [uri] },
        });
        expect(claimant.status).toBe(201);
        const clientId = String(claimant.body['client_id']);
        const refused = await approveClient(service.issuer, token, clientId);
        expect(refused, uri).toMatchObject({ status: 409, body: { error: 'conflict' } });
        expect(refused.body['error_description']).toContain(`the client ${server.clientId} holds ${resource}`);
        expect((await service.store.clientReview.heldResources([{ clientId, uri }])).get(clientId)).toMatchObject([
          { uri, clientId: server.clientId },
        ]);
        const { body } = await credentials({ resource: uri });
        const seen = await introspect(service.issuer, server, String(body['access_token']));
        expect(seen.body).toMatchObject({ active: true, aud: [resource, server.clientId] });
      }
    }
  },
);
