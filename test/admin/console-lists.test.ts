// The console's lists keep filter and order in the address, fold their filters, and say what to do when they are empty.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService();
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
});
afterAll(() => service?.stop());

const texts = (page: Page) => page.body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
/** The names of the rows, in their order. */
const names = ({ body }: Page) =>
  [...body.matchAll(/<th scope="row">\s*<a [^>]*>[^]*?<bdi class="called">([^<]*)</g)].map(([, name]) => name);
/** The address of a link: a column's head, or the next page. */
const uriOf = ({ body }: Page, link: RegExp) =>
  new RegExp(`<a [^>]*href="([^"]*)"${link.source}`).exec(body)![1]!.replaceAll('&amp;', '&');

/** Follows the pages of a list to the end. */
async function allNames(path: string): Promise<(string | undefined)[]> {
  const page = await agent.get(path);
  expect(page.status).toBe(200);
  const rest = page.body.includes('rel="next"') ? await allNames(uriOf(page, / rel="next"/)) : [];
  return [...names(page), ...rest];
}

test('the list of clients is sorted by creation, newest or oldest first, on every page and with every filter (pages, lists)', async () => {
  for (let count = 0; count < 30; count++) await service.createClient({ client_name: `Ferry ${count}` });
  const newest = await agent.get('/admin/clients?q=ferry');
  expect(newest.body).toMatch(/<th scope="col" aria-sort="descending"><a href="[^"]*">Created</);
  const oldest = uriOf(newest, />Created</);
  expect(oldest).toBe('/admin/clients?q=ferry&order=oldest');
  const sorted = await agent.get(oldest);
  expect(sorted.body).toMatch(/<th scope="col" aria-sort="ascending"><a href="\/admin\/clients\?q=ferry">Created</);
  // a changed filter keeps the order
  expect(sorted.body).toContain('<input type="hidden" name="order" value="oldest">');
  const ferries = Array.from({ length: 30 }, (_, count) => `Ferry ${count}`);
  expect(await allNames(oldest)).toEqual(ferries);
  expect(await allNames('/admin/clients?q=ferry')).toEqual(ferries.toReversed());
  expect(await allNames('/admin/clients?order=oldest&status=enabled')).toEqual(expect.arrayContaining(ferries));
  expect((await agent.get('/admin/clients?order=name')).status).toBe(400);
});

test('the list of users is sorted by name or by creation, by a link in the head of the column (pages, lists)', async () => {
  for (const username of ['walk-b', 'walk-c', 'walk-a']) await service.createUser({ username });
  const page = await agent.get('/admin/users?q=walk');
  expect(page.body).toMatch(/<th scope="col" aria-sort="descending"><a href="[^"]*">Created</);
  expect(names(page)).toEqual(['walk-a', 'walk-c', 'walk-b']);
  const byName = await agent.get(uriOf(page, />User name</));
  expect(byName.body).toMatch(/<th scope="col" aria-sort="ascending"><a href="[^"]*">User name</);
  expect(names(byName)).toEqual(['walk-a', 'walk-b', 'walk-c']);
  expect(byName.body).toContain('<input type="hidden" name="order" value="name">');
  expect(names(await agent.get(uriOf(byName, />Created</)))).toEqual(['walk-a', 'walk-c', 'walk-b']);
});

test('a list that cannot be sorted says its order (pages, lists)', async () => {
  await service.store.groups.insert({ name: 'crew' });
  for (const [path, order] of [
    ['/admin/groups', 'Sorted by name'],
    ['/admin/sessions', 'Newest first'],
    ['/admin/audit', 'Newest first'],
  ] as const)
    expect((await agent.get(path)).body).toContain(`<caption>${order}</caption>`);
});

test('filters are folded, and their line says how many are set (pages, lists)', async () => {
  for (const [path, set] of [
    ['/admin/clients', ''],
    ['/admin/clients?q=x&status=enabled&registered=false', '2'],
    ['/admin/users?q=x&admin=true', '1'],
    ['/admin/sessions?address=127.0.0.1', '1'],
    ['/admin/audit?user=root&type=user.signed_in&outcome=success', '2'],
  ] as const) {
    const { body } = await agent.get(path);
    const [, fold] = /<details class="more">\s*<summary><span>Filters(.*?)<\/span><small class="closed">/s.exec(body)!;
    expect([path, fold!.replace(/<[^>]*>/g, '').trim()]).toEqual([path, set]);
  }
  // a field with a fault is shown
  expect((await agent.get('/admin/audit?since=yesterday')).body).toContain('<details class="more" open>');
});

test('a list without results offers to clear the filter, and an empty list offers the first step (pages, lists)', async () => {
  for (const path of ['/admin/clients?q=', '/admin/users?q=', '/admin/groups?q=', '/admin/audit?client=']) {
    const page = await agent.get(`${path}nothing-has-this-name`);
    const [list] = path.split('?');
    expect(page.body).toMatch(new RegExp(`<div class="empty">.*<a class="button" href="${list}">`, 's'));
    expect(page.body).not.toContain('<tbody>');
  }
  const fresh = await startTestService();
  const { agent: first } = await openConsole(fresh, await fresh.createUser({ admin: true }));
  const groups = await first.get('/admin/groups');
  expect(texts(groups)).toContain('No groups yet. Applications can use groups');
  expect(groups.body).toContain('<a class="button primary" href="#name">');
  await fresh.stop();
});

test('a row that would name more than two hosts names one, and says how many follow (pages, lists)', async () => {
  const hosts = ['a', 'b', 'c', 'd'].map((name) => `${name}.many.example`);
  await service.createClient({ client_name: 'Many', redirect_uris: hosts.map((host) => `https://${host}/cb`) });
  const { body } = await agent.get('/admin/clients?q=many');
  expect(body).toContain(`title="${hosts.join(', ')}"`);
  expect(body).toContain('<bdi class="address">a.many.example</bdi> <span class="quiet" dir="ltr">+3</span>');
});

test('the trail names the pages above, without a slash after the last one (pages, lists)', async () => {
  const { clientId } = await service.createClient();
  const page = await agent.get(`/admin/clients/${clientId}`);
  expect(page.body).toMatch(
    /<nav class="trail" aria-label="Breadcrumb"><ol><li><a href="\/admin\/clients"><bdi>Clients<\/bdi><\/a><\/li><\/ol><\/nav>/,
  );
});
