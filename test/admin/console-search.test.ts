// The console's search field finds users, clients and groups, and redirects to a single match.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ basePath: '/idp' });
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
});
afterAll(() => service?.stop());

const find = (q: string) => agent.get(`/admin/search?${new URLSearchParams({ q })}`);

test('one search field finds users, clients and groups, shows the first of each, and links to the rest (pages, search)', async () => {
  const client = await service.createClient({ client_name: 'Quay <b>notes</b>' });
  for (let count = 0; count < 10; count++) await service.createUser({ username: `quay-${count}` });
  await service.store.groups.insert({ name: 'quay hands' });
  const page = await find('QUAY');
  expect(page.status).toBe(200);
  expect(page.body.match(/href="\/idp\/admin\/users\/[^"]+"/g)).toHaveLength(8);
  expect(page.body).toContain('href="/idp/admin/users?q=QUAY"');
  expect(page.body).toContain(`href="/idp/admin/clients/${client.clientId}"`);
  expect(page.body).not.toContain('<b>notes');
  expect(page.body).toContain('href="/idp/admin/groups/quay%20hands"');
  expect(page.body).not.toContain('href="/idp/admin/groups?q=QUAY"');
  // every page has the search field, which keeps the query
  expect(page.body).toContain('value="QUAY"');
  expect((await agent.get('/admin')).body).toContain('action="/idp/admin/search"');
});

test('the search redirects to a single match, also by an identifier from a log: a sub, a client_id (pages, search)', async () => {
  const user = await service.createUser({ email: 'lonely@example.org' });
  const client = await service.createClient({ redirect_uris: ['https://lonesome.example/cb'] });
  await service.store.groups.insert({ name: 'hermits' });
  const targetOf = async (q: string) => (await find(q)).location?.slice(service.issuer.length);
  expect(await targetOf('lonely@example.org')).toBe(`/admin/users/${user.sub}`);
  expect(await targetOf(user.sub)).toBe(`/admin/users/${user.sub}`);
  expect(await targetOf(client.clientId)).toBe(`/admin/clients/${client.clientId}`);
  expect(await targetOf('lonesome.example')).toBe(`/admin/clients/${client.clientId}`);
  expect(await targetOf('hermits')).toBe('/admin/groups/hermits');
  expect((await find('nobody-and-nothing')).body).toContain('No results');
  expect((await find('  ')).status).toBe(200);
  expect((await find(`\0'"\\ & | ! : *`)).status).toBe(200);
});

test('only an administrator can search (security R89)', async () => {
  const { page } = await openConsole(service, await service.createUser(), '/admin/search?q=quay');
  expect(page.status).toBe(403);
  expect((await new UserAgent(service).get('/admin/search?q=quay')).location).toContain('/authorize');
});
