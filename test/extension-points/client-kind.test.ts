// Plants a kind of client: one value, one line in the list, its words and its snippet.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientKinds } from '../../src/admin/operations/client-kinds/kinds.ts';
import { openConsole } from '../helpers/console.ts';
import { createOfKind, credential, snippetsOf } from '../helpers/created-client.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { plant } from './planted.ts';

plant(clientKinds, {
  name: 'television',
  metadata: {
    application_type: 'native',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'openid',
  },
  asked: ['client_name', 'redirect_uris'],
  unused: ['jwks', 'token_endpoint_auth_method'],
  snippets: [{ name: 'television', title: 'TelevisionKit' }],
});

let service: TestService;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-planted-'));
  for (const part of ['messages', 'snippets']) mkdirSync(join(folder, part));
  const words = {
    'console.kind.television': 'Television',
    'console.kind.television.text': 'Stands in a living room.',
    'console.hint.television.redirect_uris': 'The address of the television.',
  };
  writeFileSync(join(folder, 'messages/en.planted.json'), JSON.stringify(words));
  writeFileSync(join(folder, 'snippets/television.eta'), 'watch <%= it.clientId %> & <%= it.redirectUri %>');
  service = await startTestService({ environment: { TEMPLATES_DIR: folder } });
});
afterAll(() => service?.stop());

test('an administrator creates a client of a planted kind in the console, with its words, fields, defaults and snippet (architecture, extension points)', async () => {
  const { agent, page } = await openConsole(service, await service.createUser({ admin: true }), '/admin/clients/new');
  expect(page.body).toContain('Television');
  const form = (await agent.get('/admin/clients/new/television')).body;
  expect(form).toContain('Stands in a living room.');
  expect(form).toContain('The address of the television.');
  expect(form).toContain('name="jwks_uri"');
  expect(form).not.toContain('name="jwks"');
  const redirectUri = 'com.example.television:/callback';
  const created = await createOfKind(agent, 'television', { client_name: 'Screen', redirect_uris: redirectUri });
  const clientId = credential(created, 'client_id')!;
  expect(snippetsOf(created)).toEqual({ television: `watch ${clientId} & ${redirectUri}` });
  expect((await service.store.clients.find(clientId))!.metadata).toMatchObject({
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    scope: 'openid',
  });
});

test('the HTTP API creates a client of the planted kind (architecture, extension points)', async () => {
  const token = await adminToken(service);
  const body = { kind: 'television', redirect_uris: ['com.example.television:/callback'] };
  expect(await call(`${service.issuer}/admin/api/clients`, { token, body })).toMatchObject({
    status: 201,
    body: { application_type: 'native', scope: 'openid' },
  });
});
