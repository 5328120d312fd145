// Attacks resources (RFC 8707): APIs of others, tokens for more than was granted.
import { afterAll, beforeAll, expect } from 'vitest';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
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
