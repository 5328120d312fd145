// The console's pages about resources list, create, show, change and delete APIs.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService();
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

/** Sends the form of a page that posts to its own address. */
async function send(path: string, fields: Record<string, string>) {
  const page = await agent.get(path);
  return agent.follow(await agent.post(path, { ...formOf(page, path), ...fields }));
}
const notes = { resource: 'https://notes.example/v1', name: 'Notes & <b>more</b>', clients: 'listed' };

test('the empty list says what an API is for, and leads to the form (pages, lists)', async () => {
  const { body } = await agent.get('/admin/resources');
  expect(body).toContain('No APIs yet.');
  expect(body).toContain('href="/admin/resources/new"');
});

test('an API is created, shown, changed and deleted by the console (protocols 1.1)', async () => {
  const server = await service.createClient({ client_name: 'Notebook' });
  const scopes = 'notes.read Read your notes\r\nnotes.read [de] Ihre Notizen lesen\r\n\r\nnotes.write';
  const made = await send('/admin/resources/new', { ...notes, scopes, client_id: server.clientId });
  expect(made.url).toContain('?done=resource-made');
  const path = new URL(made.url).pathname;
  expect(made.body).not.toContain('<b>more');
  for (const text of ['Ihre Notizen lesen', 'Read your notes', 'notes.write', 'Notebook', notes.resource])
    expect(made.body).toContain(text);
  const stored = (await service.store.resources.find(notes.resource))!;
  expect(stored).toMatchObject({
    name: notes.name,
    clientId: server.clientId,
    clients: 'listed',
    scopes: { 'notes.read': { en: 'Read your notes', de: 'Ihre Notizen lesen' }, 'notes.write': {} },
  });
  expect((await agent.get('/admin/resources')).body).toContain(`href="${path}"`);
  // the form has what it would store
  const edit = await agent.get(`${path}/edit`);
  expect(edit.body).toContain('notes.read [de] Ihre Notizen lesen');
  const changed = await send(`${path}/edit`, {
    name: 'Notes',
    clients: 'approved',
    client_id: '',
    access_token_lifetime: '300',
    access_token_format: 'jwt',
    scopes: 'notes.read Read',
    token_claims: 'groups  email',
    public: 'true',
  });
  expect(changed.url).toContain('?done=resource-changed');
  expect(await service.store.resources.find(notes.resource)).toMatchObject({
    name: 'Notes',
    clients: 'approved',
    clientId: undefined,
    accessTokenLifetime: 300,
    accessTokenFormat: 'jwt',
    tokenClaims: ['groups', 'email'],
    public: true,
    scopes: { 'notes.read': { en: 'Read' } },
  });
  // the document that the host of the API publishes, to copy (RFC 9728 3.3)
  const document = /<pre id="metadata"[^>]*><code>([^<]*)</.exec(changed.body)![1]!.replaceAll('&quot;', '"');
  expect(JSON.parse(document)).toMatchObject({ resource: notes.resource, authorization_servers: [service.issuer] });
  expect(changed.body).toContain('https://notes.example/.well-known/oauth-protected-resource/v1');
  const wrong = await send(`${path}/delete`, { typed: 'Note' });
  expect(wrong.status).toBe(400);
  expect((await send(`${path}/delete`, { typed: 'Notes' })).url).toContain('/admin/resources?done=resource-deleted');
  expect(await service.store.resources.find(notes.resource)).toBeUndefined();
});

test.each([
  ['a relative URI', { resource: '/v1' }, 'Enter an absolute URI'],
  ['no name', { name: ' ' }, 'Enter a name of 1 to 100 characters'],
  ['a scope of the service', { scopes: 'openid Sign in' }, 'Check the scopes'],
  ['a language that is none', { scopes: 'read [not a language] Read' }, 'Check the scopes'],
  ['an unknown client', { client_id: 'nobody' }, 'There is no client with this ID'],
  ['a claim that no scope releases', { token_claims: 'shoe_size' }, 'Enter only claims that a scope'],
  ['a lifetime that is no number', { access_token_lifetime: 'soon' }, 'Enter a whole number of seconds'],
])('%s is refused at its field, and the form keeps what was typed (protocols 1.1)', async (_what, fault, sentence) => {
  const page = await send('/admin/resources/new', { ...notes, ...fault });
  expect(page.status).toBe(400);
  expect(page.body).toContain(sentence);
  expect(page.body).toContain(Object.values({ ...notes, ...fault })[0]);
  expect(await service.store.resources.find(notes.resource)).toBeUndefined();
});

test('an address of the service, and a URI that is taken, are refused (security R115, RFC 3986 6.2.3)', async () => {
  const own = await send('/admin/resources/new', { ...notes, resource: `${service.issuer}/user/info` });
  expect(own.body).toContain('This URI belongs to this service');
  await send('/admin/resources/new', { ...notes, resource: 'https://taken.example' });
  const again = await send('/admin/resources/new', { ...notes, resource: 'https://TAKEN.example:443/' });
  expect(again.status).toBe(400);
  expect(again.body).toContain('Another API already has this URI or an equivalent one');
});

test('a claim of an administrator’s API leads to its page from the waiting list (protocols 1.1)', async () => {
  await send('/admin/resources/new', { ...notes, name: 'Held', resource: 'https://held.example' });
  const held = (await service.store.resources.find('https://held.example'))!;
  await fetch(`${service.issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://rp.example/cb'], resource_uris: ['https://held.example/'] }),
  });
  const { body } = await agent.get('/admin/clients/waiting');
  expect(body).toMatch(new RegExp(`Other clients already have resources.*/admin/resources/${held.id}".*Held`, 's'));
});
