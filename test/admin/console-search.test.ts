// The console's one search field: it finds users, clients and groups, and leads to the thing where only one is meant.
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

test('one field finds users, clients and groups, some of each, and the rest is a link away (issue 6)', async () => {
  const client = await service.createClient({ client_name: 'Quay <b>notes</b>' });
  for (let count = 0; count < 10; count++) await service.createUser({ username: `quay-${count}` });
  await service.store.groups.insert('quay hands', '');
  const page = await find('QUAY');
  expect(page.status).toBe(200);
  expect(page.body.match(/href="\/idp\/admin\/users\/[^"]+"/g)).toHaveLength(8);
  expect(page.body).toContain('href="/idp/admin/users?q=QUAY"');
  expect(page.body).toContain(`href="/idp/admin/clients/${client.clientId}"`);
  expect(page.body).not.toContain('<b>notes');
  expect(page.body).toContain('href="/idp/admin/groups/quay%20hands"');
  expect(page.body).not.toContain('href="/idp/admin/groups?q=QUAY"');
  // it stands on every page, with what was typed
  expect(page.body).toContain('value="QUAY"');
  expect((await agent.get('/admin')).body).toContain('action="/idp/admin/search"');
});

test('it leads to the only thing that is found, also by what stands in a log: a sub, a client_id (issue 6)', async () => {
  const user = await service.createUser({ email: 'lonely@example.org' });
  const client = await service.createClient({ redirect_uris: ['https://lonesome.example/cb'] });
  await service.store.groups.insert('hermits', '');
  const led = async (q: string) => (await find(q)).location?.slice(service.issuer.length);
  expect(await led('lonely@example.org')).toBe(`/admin/users/${user.sub}`);
  expect(await led(user.sub)).toBe(`/admin/users/${user.sub}`);
  expect(await led(client.clientId)).toBe(`/admin/clients/${client.clientId}`);
  expect(await led('lonesome.example')).toBe(`/admin/clients/${client.clientId}`);
  expect(await led('hermits')).toBe('/admin/groups/hermits');
  expect((await find('nobody-and-nothing')).body).toContain('Nothing was found.');
  expect((await find('  ')).status).toBe(200);
  expect((await find(`\0'"\\ & | ! : *`)).status).toBe(200);
});

test('nobody but administrators finds anything (security R89)', async () => {
  const { page } = await openConsole(service, await service.createUser(), '/admin/search?q=quay');
  expect(page.status).toBe(403);
  expect((await new UserAgent(service).get('/admin/search?q=quay')).location).toContain('/authorize');
});
