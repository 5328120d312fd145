// The console, the admin routes and the command line show and decide clients that are known by their document.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { filledForm, formOf, openConsole } from '../helpers/console.ts';
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { adminToken, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, pkce, UserAgent } from '../helpers/user-agent.ts';

let server: DocumentServer;
let service: TestService;
let token: string;
let console: UserAgent;
let users: UserAgent[];
beforeAll(async () => {
  server = await startDocumentServer();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      CLIENT_ID_METADATA: 'approval',
      CLIENT_ID_METADATA_HOSTS: server.allow,
      OUTBOUND_ALLOW: server.allow,
    },
  });
  token = await adminToken(service);
  ({ agent: console } = await openConsole(service, await service.createUser({ admin: true })));
  users = [];
  for (let index = 1; index <= 7; index++) {
    const agent = new UserAgent(service);
    await agent.signIn(await service.createUser({ username: `asker-${index}` }));
    users.push(agent);
  }
});
afterAll(async () => {
  await service?.stop();
  await server?.stop();
});

const { code_challenge, code_challenge_method } = pkce();
const ask = (agent: UserAgent, clientId: string, redirectUri = 'http://localhost:1/callback') =>
  agent.get(authorizationUrl(service.issuer, { clientId, redirectUri }, { code_challenge, code_challenge_method }));
const routeOf = (clientId: string) => `${service.issuer}/admin/api/clients/${encodeURIComponent(clientId)}`;

test('the queue shows the document, who asked for the client, other hosts, and that any program can claim to be it (protocols 5.5)', async () => {
  const clientId = server.serve('/queue,with;odd/signs.json');
  for (const user of users) await ask(user, clientId);
  const web = server.serve('/web.json', {
    client_name: 'Lantern',
    redirect_uris: [`${server.origin}/callback`, 'https://other.example/callback'],
  });
  await ask(users[0]!, web, `${server.origin}/callback`);
  const { body } = await console.get('/admin/clients/waiting');
  const [editor, lantern] = ['Harbour Editor', 'Lantern'].map((name) =>
    body.split('<section').find((section) => section.includes(`<bdi>${name}</bdi></a></h2>`))!,
  );
  expect(editor).toContain(`<bdi dir="ltr">${clientId}</bdi>`);
  for (let index = 1; index <= 5; index++) expect(editor).toContain(`<bdi>asker-${index}</bdi>`);
  expect(editor).toContain('and 2 other users');
  expect(editor).toContain('only-loopback');
  expect(editor).not.toContain('other-hosts');
  expect(lantern).toContain('other-hosts');
  expect(lantern!.split('other-hosts')[1]!.split('</div>')[0]).toContain('other.example');
  expect(lantern!.split('other-hosts')[1]!.split('</div>')[0]).not.toContain(server.allow);
  expect(lantern).not.toContain('only-loopback');
});

test('the queue approves a client whose address contains a comma (protocols 5.5)', async () => {
  const clientId = server.serve('/a,b 2.json'.replace(' ', ','), { client_name: 'Comma' });
  await ask(users[0]!, clientId);
  const page = await console.get(`/admin/clients/${encodeURIComponent(clientId)}`);
  const form = formOf(page, '/admin/clients/decide');
  const decided = await console.post('/admin/clients/decide', { ...form, decision: 'approve' });
  expect(decided).toMatchObject({ status: 303, location: expect.stringContaining('done=client-approved') });
  expect(await call(routeOf(clientId), { token })).toMatchObject({
    body: { status: 'enabled', approved_by: 'administrator' },
  });
});

test('the admin routes and the command line show where the metadata comes from, and whether the document is gone (protocols 5.5)', async () => {
  const clientId = server.serve('/shown.json');
  await ask(users[0]!, clientId);
  const shown = await call(routeOf(clientId), { token });
  expect(shown).toMatchObject({
    status: 200,
    body: { client_id: clientId, origin: 'document', self_registered: true },
  });
  expect(shown.body).not.toHaveProperty('document_gone');
  await approveClient(service.issuer, token, encodeURIComponent(clientId));
  await service.database.sql('UPDATE clients SET document_gone = true WHERE client_id = $1', [clientId]);
  expect((await call(routeOf(clientId), { token })).body).toMatchObject({ document_gone: true });
  const printed = await runCommand(service, ['client', 'show', clientId]);
  expect(printed.stdout).toMatch(/document_gone +true/);
  const page = await console.get(`/admin/clients/${encodeURIComponent(clientId)}`);
  expect(page.body).toContain('Its domain may have a new owner');
  expect(
    (await call(`${service.issuer}/admin/api/clients/${(await service.createClient()).clientId}`, { token })).body,
  ).toMatchObject({
    origin: 'service',
  });
});

test('the client has no secrets, by whichever way an administrator asks for them (protocols 5.5)', async () => {
  const clientId = server.serve('/no-secrets.json');
  await ask(users[0]!, clientId);
  await approveClient(service.issuer, token, encodeURIComponent(clientId));
  expect(await call(`${routeOf(clientId)}/secrets`, { method: 'POST', token, body: {} })).toMatchObject({
    status: 409,
    body: { error: 'conflict' },
  });
  const page = await console.get(`/admin/clients/${encodeURIComponent(clientId)}`);
  expect(page.body).not.toContain('/secrets"');
  const [row] = await service.database.sql(
    'SELECT client_secret_hash, registration_access_token_hash FROM clients WHERE client_id = $1',
    [clientId],
  );
  expect(row).toEqual({ client_secret_hash: null, registration_access_token_hash: null });
  const registration = `${service.issuer}/register/${encodeURIComponent(clientId)}`;
  for (const method of ['GET', 'DELETE'])
    expect(await call(registration, { method, token: 'x' })).toMatchObject({ status: 401 });
});

test('only the document changes the metadata, except for the scope; settings are the administrator’s (security R141)', async () => {
  const clientId = server.serve('/edited.json');
  await ask(users[0]!, clientId);
  await approveClient(service.issuer, token, encodeURIComponent(clientId));
  const patch = (body: Record<string, unknown>) => call(routeOf(clientId), { method: 'PATCH', token, body });
  for (const body of [
    { client_name: 'Another' },
    { redirect_uris: ['https://evil.example/callback'] },
    { token_endpoint_auth_method: 'client_secret_basic' },
  ])
    expect(await patch(body)).toMatchObject({
      status: 400,
      body: { error_description: expect.stringContaining('comes from the document of the client') },
    });
  expect(await patch({ scope: 'openid', access_token_lifetime: 60, first_party: true })).toMatchObject({ status: 200 });
  const action = `/admin/clients/${encodeURIComponent(clientId)}/edit`;
  const typed = filledForm(await console.get(action));
  const refused = await console.post(action, { ...typed, client_name: 'Another' });
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('This comes from the client’s document.');
  expect(await console.post(action, { ...typed, access_token_lifetime: '90' })).toMatchObject({ status: 303 });
  expect((await call(routeOf(clientId), { token })).body).toMatchObject({
    client_name: 'Harbour Editor',
    access_token_lifetime: 90,
    scope: 'openid',
  });
});
