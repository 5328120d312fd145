// When a client, a connection or a resource was last used is stored apart from requests, at most once an hour for each, and shown in the console.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNotedUses } from '../../src/repositories/uses/noted-uses.ts';
import { addConnection, signInBy } from '../helpers/connections.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
});
afterAll(() => service?.stop());

const uses = (clientId: string) => service.store.uses.list('clients', [clientId]);
/** Uses of another instance, that stores when the test says so. */
const instance = (onError: (error: unknown) => void = (error) => expect.fail(String(error))) =>
  createNotedUses(service.store, onError);

test('no request stores the use of its client, and the stop of the instance does (pages, clients)', async () => {
  const own = await startTestService({ environment: withoutLimits });
  const client = await own.createClient();
  const user = await own.createUser();
  own.statements.length = 0;
  await obtainTokens(own, client, user);
  expect(own.statements.filter((name) => name.startsWith('uses.store'))).toEqual([]);
  await own.stop();
  expect(own.statements).toContain('uses.store.client_uses');
});

test('a use is stored once an hour, also by two instances, and the newest one stays (pages, clients)', async () => {
  const { clientId } = await service.createClient();
  const [one, other] = [instance(), instance()];
  one.note('clients', clientId);
  await one.store();
  const first = (await uses(clientId)).get(clientId)!;
  expect(Date.now() - first.getTime()).toBeLessThan(60_000);
  one.note('clients', clientId);
  await one.store();
  other.note('clients', clientId);
  await other.store();
  expect((await uses(clientId)).get(clientId)).toEqual(first);
  await service.database.sql(`UPDATE client_uses SET used_at = now() - interval '61 minutes' WHERE client_id = $1`, [
    clientId,
  ]);
  const third = instance();
  third.note('clients', clientId);
  await third.stop();
  expect((await uses(clientId)).get(clientId)!.getTime()).toBeGreaterThanOrEqual(first.getTime());
  await Promise.all([one.stop(), other.stop()]);
});

test('a client that is deleted meanwhile prevents no other use, and a failure is tried again (pages, clients)', async () => {
  const { clientId } = await service.createClient();
  const failures: unknown[] = [];
  const one = instance((error) => failures.push(error));
  one.note('clients', 'gone');
  one.note('clients', clientId);
  await service.database.sql('ALTER TABLE client_uses RENAME TO client_uses_away');
  await one.store();
  expect(failures).toHaveLength(1);
  await service.database.sql('ALTER TABLE client_uses_away RENAME TO client_uses');
  await one.stop();
  expect([...(await uses(clientId)).keys()]).toEqual([clientId]);
});

test('a refused client is not used, and the list and the page of a client say when it was (pages, clients)', async () => {
  const client = await service.createClient({ client_name: 'Lantern' });
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const row = async () => /Lantern.*?<\/tr>/s.exec((await agent.get('/admin/clients')).body)![0];
  await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.clientId}:wrong`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  expect(await row()).toContain('Never');
  await service.database.sql(`INSERT INTO client_uses VALUES ($1, now() - interval '3 hours')`, [client.clientId]);
  expect(await row()).toContain('3 hours ago');
  expect((await agent.get(`/admin/clients/${client.clientId}`)).body).toMatch(
    /Last used, to the hour<\/dt><dd><time[^>]*>3 hours ago/,
  );
});

test('a sign-in by a connection, a token for an API and its introspection are uses, and no request stores them (pages, lists)', async () => {
  const provider = await startProvider({ sub: 'ada-1', preferred_username: 'ada-of-harbour', name: 'Ada' });
  const own = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  const stores = () => own.statements.filter((name) => name.startsWith('uses.store'));
  await addConnection(own, provider, 'harbour', { provisioning: 'on' });
  const [server, client] = await Promise.all(
    ['', 'tides.read'].map((scope) =>
      own.createClient({ redirect_uris: [], grant_types: ['client_credentials'], ...(scope && { scope }) }),
    ),
  );
  const token = await adminToken(own);
  const tides = { resource: 'https://tides.example/api', name: 'Tides', client_id: server!.clientId };
  const body = { ...tides, scopes: [{ value: 'tides.read' }] };
  expect((await call(`${own.issuer}/admin/api/resources`, { token, body })).status).toBe(201);
  own.statements.length = 0;
  expect(new URL((await signInBy(new UserAgent(own), 'harbour')).url).pathname).toBe('/account');
  const issued = await tokenRequest(own.issuer, client!, { grant_type: 'client_credentials', scope: 'tides.read' });
  const access = String(issued.body['access_token']);
  expect((await introspect(own.issuer, server!, access)).body).toMatchObject({
    active: true,
    aud: [tides.resource, server!.clientId],
  });
  expect(stores()).toEqual([]);
  await own.stop();
  expect(stores().toSorted()).toEqual(
    ['client_uses', 'connection_uses', 'resource_uses'].map((table) => `uses.store.${table}`),
  );
  await provider.stop();
});

test('the lists of connections and of APIs say when each was last used, an API in any spelling of its URI (pages, lists)', async () => {
  const token = await adminToken(service);
  const [tides, logbook] = await Promise.all(
    ['https://tides.example/api', 'https://logbook.example'].map(async (resource) => {
      const { body } = await call(`${service.issuer}/admin/api/resources`, {
        token,
        body: { resource, name: resource },
      });
      return String(body['id']);
    }),
  );
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, settings) VALUES ('harbour', 'oidc', 'Harbour', '{}'), ('pier', 'oidc', 'Pier', '{}')`,
  );
  const noted = instance();
  for (const name of ['HTTPS://Tides.example:443/api', 'https://tides.example/api', 'https://gone.example'])
    noted.note('resources', name);
  noted.note('connections', 'harbour');
  await noted.stop();
  expect([...(await service.store.uses.list('resources', [tides!, logbook!])).keys()]).toEqual([tides]);
  await service.database.sql(`UPDATE resource_uses SET used_at = now() - interval '3 hours'`);
  await service.database.sql(`UPDATE connection_uses SET used_at = now() - interval '2 days'`);
  const { agent } = await openConsole(service, await service.createUser({ admin: true }));
  const rowOf = async (list: string, name: string) =>
    new RegExp(`<tr><th[^>]*>(?:(?!</tr>).)*${name}.*?</tr>`, 's').exec((await agent.get(list)).body)![0];
  expect(await rowOf('/admin/resources', 'tides')).toContain('3 hours ago');
  expect(await rowOf('/admin/resources', 'logbook')).toContain('Never');
  expect(await rowOf('/admin/connections', 'Harbour')).toContain('2 days ago');
  expect(await rowOf('/admin/connections', 'Pier')).toContain('Never');
});
