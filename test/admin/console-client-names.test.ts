// The console requires a client's name, shows clients and actors by name, and a client without a name by its client_id.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { call, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let ada: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService();
  ada = await service.createUser({ admin: true, username: 'ada' });
  ({ agent } = await openConsole(service, ada));
});
afterAll(() => service?.stop());

const title = ({ body }: Page) =>
  /<h1>(.*?)<\/h1>/s
    .exec(body)?.[1]
    ?.replace(/<[^>]*>/g, '')
    .trim();
/** Returns the rows of a client's activity: type of event and actor. */
const activity = (page: Page) =>
  [
    ...page.body.matchAll(/<tr><th scope="row">(?:<a [^>]*>)?<bdi>([^<]*)<\/bdi>.*?<td data-label="By">(.*?)<\/td>/gs),
  ].map(([, type, by]) => [type, by!.replace(/<[^>]*>/g, '').trim()]);

test("a client's page names the actor of each event, with a link, as the audit page does (decisions section 7)", async () => {
  const client = await service.createClient({ client_name: 'Harbour' });
  const bob = await service.createUser({ username: 'bob' });
  await obtainTokens(service, client, bob);
  const registration = `${service.issuer}/register/${client.clientId}`;
  const body = { ...client.metadata, client_id: client.clientId, contacts: ['ops@harbour.example'] };
  await call(registration, { method: 'PUT', token: client.registrationAccessToken, body });
  const disable = `/admin/clients/${client.clientId}/disable`;
  await agent.post(disable, formOf(await agent.get(disable), disable));
  const page = await agent.get(`/admin/clients/${client.clientId}`);
  const shown = activity(page);
  expect(shown).toContainEqual(['Client disabled', 'ada']);
  expect(shown).toContainEqual(['Access allowed', 'bob']);
  expect(shown).toContainEqual(['Client changed', 'Harbour']);
  // an actor that is neither a user nor a client has no other name
  expect(shown).toContainEqual(['Client created', 'test']);
  const ids = [ada.sub, bob.sub, client.clientId];
  expect(shown.filter(([, by]) => ids.includes(by!))).toEqual([]);
  expect(page.body).toContain(`<a href="/admin/users/${bob.sub}"><bdi>bob</bdi></a>`);
  const trail = await agent.get(`/admin/audit?client=${client.clientId}&type=consent.granted`);
  expect(trail.body).toContain(`<a href="/admin/users/${bob.sub}"><bdi>bob</bdi></a>`);
});

test.each([
  ['en', 'Enter a name.'],
  ['de', 'Geben Sie einen Namen ein.'],
  ['ar', 'أدخل اسمًا.'],
])(
  'the console creates and saves a client only with a name, and says so in the language %s (decisions section 2)',
  async (language, sentence) => {
    const headers = { 'accept-language': language };
    const redirect = { redirect_uris: 'https://quay.example/cb' };
    const known = await service.createClient({ client_name: 'Quay' });
    for (const path of ['/admin/clients/new/web', `/admin/clients/${known.clientId}/edit`]) {
      const form = {
        ...formOf(await agent.get(path), path),
        ...redirect,
        'grant_types.0': 'on',
        'response_types.0': 'on',
      };
      for (const name of ['', '   ']) {
        const refused = await agent.post(path, { ...form, ...fields, client_name: name }, headers);
        expect(refused.status).toBe(400);
        expect(refused.body).toMatch(new RegExp(`id="client_name-fault">${sentence}`));
      }
    }
    expect((await service.store.clients.find(known.clientId))!.metadata.client_name).toBe('Quay');
  },
);
const fields = {
  application_type: 'web',
  introspect: 'own',
  token_endpoint_auth_method: 'client_secret_basic',
  subject_type: 'public',
  id_token_signed_response_alg: 'RS256',
};

test('a client without a name is shown by its client_id, until an administrator names it (RFC 7591 2)', async () => {
  const { status, body } = await call(`${service.issuer}/register`, {
    body: { redirect_uris: ['https://nameless.example/cb'] },
  });
  expect([status, body]).toEqual([201, expect.not.objectContaining({ client_name: expect.anything() })]);
  const clientId = body['client_id'] as string;
  const path = `/admin/clients/${clientId}`;
  expect(title(await agent.get(path))).toBe(clientId);
  for (const list of ['/admin/clients', '/admin/clients/waiting', '/admin'])
    expect((await agent.get(list)).body).toMatch(new RegExp(`>${clientId}<`));
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [clientId]);
  const asked = authorizationUrl(service.issuer, { clientId, redirectUri: 'https://nameless.example/cb' });
  const guest = new UserAgent(service);
  expect((await guest.follow(await guest.get(asked))).body).toContain(clientId);
  const form = { ...formOf(await agent.get(`${path}/edit`), `${path}/edit`), ...fields, 'grant_types.0': 'on' };
  const named = {
    ...form,
    redirect_uris: 'https://nameless.example/cb',
    'response_types.0': 'on',
    client_name: 'Named',
  };
  expect((await agent.post(`${path}/edit`, named)).status).toBe(303);
  expect(title(await agent.get(path))).toBe('Named');
});
