// Exchanges many times at once while an administrator disables what an exchange depends on, on two instances over one database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let token: string;
let app: TestClient;
let server: TestClient;
const ledger = 'https://ledger.example/';
const scopes = [{ value: 'ledger.read' }];
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  await made(service, token, 'resources', { resource: ledger, name: 'Ledger', client_id: server.clientId, scopes });
});
afterAll(() => service?.stop());

let number = 0;
/** A user, the clients and the policy of one round. */
async function world() {
  const uri = `https://gateway-${(number += 1)}.example/`;
  app = await service.createClient({ scope: 'openid' });
  const user = await service.createUser();
  const client = await service.createClient(exchangeMetadata);
  await made(service, token, 'resources', {
    resource: uri,
    name: 'Gateway',
    client_id: client.clientId,
    scopes,
    clients: 'approved',
  });
  const policy = await made(service, token, 'exchange-policies', {
    name: `race ${number}`,
    client_id: client.clientId,
    subject_clients: [app.clientId],
    resources: [ledger],
    scopes: ['ledger.read'],
  });
  const agent = new UserAgent(service);
  const given = await obtainTokens(service, app, user, { scope: 'openid ledger.read', resource: uri }, agent);
  return { user, client, app, policy: String(policy['id']), given: given.access_token };
}
type World = Awaited<ReturnType<typeof world>>;

const off = { status: 'disabled' };
test.each<[string, (of: World) => Promise<unknown>, boolean]>([
  ['the user', ({ user }) => made(service, token, `users/${user.sub}`, off, 'PATCH'), true],
  ['the client that exchanges', ({ client }) => made(service, token, `clients/${client.clientId}`, off, 'PATCH'), true],
  [
    'the client of the presented token',
    ({ app: of }) => made(service, token, `clients/${of.clientId}`, off, 'PATCH'),
    true,
  ],
  ['the policy', ({ policy }) => made(service, token, `exchange-policies/${policy}`, off, 'PATCH'), false],
])(
  'while %s is disabled, fifty exchanges end as tokens of before or as refusals, and afterwards nothing is issued (security R133, protocols R145)',
  async (_what, disable, ends) => {
    for (let round = 0; round < 5; round++) {
      const of = await world();
      const send = (index: number) => exchange(service.instances[index % 2]!, of.client, of.given);
      const before = Array.from({ length: 25 }, (_, index) => send(index));
      const disabled = disable(of);
      const during = Array.from({ length: 25 }, (_, index) => send(index));
      const answers = await Promise.all([...before, ...during]);
      await disabled;
      expect(answers.filter(({ status }) => ![200, 400, 401].includes(status))).toEqual([]);
      const stored = 'SELECT count(*)::int AS n FROM access_tokens WHERE exchange IS NOT NULL AND client_id = $1';
      const [{ n: issued } = { n: -1 }] = await service.database.sql<{ n: number }>(stored, [of.client.clientId]);
      for (let index = 0; index < 4; index++) expect((await send(index)).status).not.toBe(200);
      const [{ n: later } = { n: -2 }] = await service.database.sql<{ n: number }>(stored, [of.client.clientId]);
      expect(later).toBe(issued);
      // what ended takes its tokens along
      if (!ends) continue;
      const tokens = answers.flatMap(({ status, body }) => (status === 200 ? [String(body['access_token'])] : []));
      for (const each of tokens)
        expect((await introspect(service.instances[1]!, server, each)).body).toEqual({ active: false });
    }
  },
);
