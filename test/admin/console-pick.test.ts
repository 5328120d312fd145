// Fields of the console that name things offer what fits while an administrator types, and take names without a script.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filledForm, formOf, openConsole } from '../helpers/console.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
  client = await service.createClient({ client_name: 'Harbour desk' });
  await service.store.groups.insert({ name: 'harbour crew' });
  for (let count = 0; count < 12; count++) await service.createUser({ username: `pilot-${count}` });
});
afterAll(() => service?.stop());

const pick = async (noun: string, q: string, by = agent) => {
  const page = await by.get(`/admin/pick/${noun}?${new URLSearchParams({ q })}`);
  return page.status === 200
    ? (JSON.parse(page.body) as { found: { value: string; name: string }[] }).found
    : page.status;
};

test('a field finds users, groups and clients by words, at most ten, and nothing by words that fit nothing (pages, pickers)', async () => {
  expect(await pick('users', 'pilot')).toHaveLength(10);
  expect(await pick('groups', 'harb')).toMatchObject([{ value: 'harbour crew' }]);
  expect(await pick('clients', 'desk')).toEqual([{ value: client.clientId, name: 'Harbour desk' }]);
  expect(await pick('connections', 'x')).toEqual([]);
  expect(await pick('users', `\0'"\\ & | ! : *`)).toEqual([]);
  for (const noun of ['attributes', 'scopes', 'resources']) expect(await pick(noun, 'none')).toEqual([]);
});

test('only the script of an administrator gets an answer, and of known nouns alone (security R89)', async () => {
  expect(await pick('nothing', '')).toBe(404);
  expect(await pick('users', '', new UserAgent(service))).toBe(403);
  const other = new UserAgent(service);
  await other.signIn(await service.createUser());
  expect(await pick('users', '', other)).toBe(403);
  const foreign = await agent.get('/admin/pick/users', { 'sec-fetch-site': 'cross-site' });
  expect(foreign.status).toBe(403);
});

test('a form takes the name of a client in place of its ID (pages, pickers)', async () => {
  const path = '/admin/resources/new';
  const page = await agent.get(path);
  expect(page.body).toContain('data-pick="/admin/pick/clients"');
  const typed = { resource: 'https://api.example/', name: 'Notes', client_id: 'harbour DESK', scopes: '' };
  const made = await agent.post(path, { ...formOf(page, path), ...typed });
  expect(made.status, made.body.slice(0, 3000)).toBe(303);
  const stored = await service.database.sql('SELECT client_id FROM resources');
  expect(stored).toEqual([{ client_id: client.clientId }]);
});

test('a field for a claim finds attributes and standard claims (pages, pickers)', async () => {
  await service.store.attributes.insert({
    name: 'given_shift',
    type: 'string',
    label: {},
    choices: undefined,
    max: undefined,
    person: 'none',
    unique: false,
  });
  expect(await pick('claims', 'given')).toEqual([
    { value: 'given_shift', name: '' },
    { value: 'given_name', name: '' },
  ]);
});

test('the form of a client takes the names of connections in place of their IDs (pages, pickers)', async () => {
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, settings) VALUES ('corporate', 'oidc', 'Harbour & Sons', '{}')`,
  );
  const path = `/admin/clients/${client.clientId}/edit`;
  const page = await agent.get(path);
  expect(page.body).toMatch(/<textarea id="connections"[^>]* data-pick="\/admin\/pick\/connections"/);
  const saved = await agent.post(path, {
    ...filledForm(page),
    connections: 'harbour & sons',
    upstream_tokens: 'corporate',
  });
  expect(saved.status, saved.body.slice(0, 3000)).toBe(303);
  expect(await service.store.clients.find(client.clientId)).toMatchObject({
    connections: ['corporate'],
    upstreamTokens: ['corporate'],
  });
});
