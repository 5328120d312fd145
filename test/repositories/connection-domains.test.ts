// A domain belongs to one connection: the database keeps that, also when two connections get it at once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call } from '../helpers/grants.ts';
import { addConnection } from '../helpers/connections.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let provider: Provider;
let token: string;
const ids = ['one', 'two', 'three', 'four'];

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({ instances: 2, environment: { OUTBOUND_ALLOW: provider.host } });
  token = await adminToken(service);
  for (const id of ids) await addConnection(service, provider, id);
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const change = (id: string, body: Record<string, unknown>, instance = 0) =>
  call(`${service.instances[instance]!}/admin/api/connections/${id}`, { token, method: 'PATCH', body });
const domainsOf = () =>
  service.database.sql('SELECT purpose, domain, connection_id FROM connection_domains ORDER BY purpose, domain');

test.each(['domains', 'authoritative_domains'])(
  'if several connections get a domain at once in %s, one has it (federation 4)',
  async (member) => {
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all(
        ids.map((id, index) => change(id, { [member]: [`round-${round}.example`, `${id}.example`] }, index % 2)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
      const refused = answers.find(({ status }) => status === 409)!;
      expect(refused.body['error_description']).toMatch(
        /a domain belongs to one connection, and (one|two|three|four) has/,
      );
      const lists = await service.database.sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM connections WHERE $1 = ANY (${member})`,
        [`round-${round}.example`],
      );
      expect(lists).toEqual([{ n: 1 }]);
      for (const id of ids) expect((await change(id, { [member]: [] })).status).toBe(200);
    }
    expect(await domainsOf()).toEqual([]);
  },
);

test('the rows have the domains of the lists, and a deleted connection loses its domains (federation 4)', async () => {
  await change('one', { domains: ['corp.example', 'BÜCHER.example'], authoritative_domains: ['corp.example'] });
  expect(await domainsOf()).toEqual([
    { purpose: 'authority', domain: 'corp.example', connection_id: 'one' },
    { purpose: 'route', domain: 'corp.example', connection_id: 'one' },
    { purpose: 'route', domain: 'xn--bcher-kva.example', connection_id: 'one' },
  ]);
  // what one has as a route, another may confirm: these are two purposes
  await change('one', { authoritative_domains: [] });
  expect((await change('two', { authoritative_domains: ['corp.example'] })).status).toBe(200);
  expect((await change('two', { domains: ['bücher.example'] })).status).toBe(409);
  expect((await change('one', { display_name: 'Renamed' })).status).toBe(200);
  await call(`${service.issuer}/admin/api/connections/one`, { token, method: 'DELETE' });
  expect((await change('two', { domains: ['bücher.example'] })).status).toBe(200);
});
