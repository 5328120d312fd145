// Plants a client authentication method: its value, its line in the list, and its name and words among those that clients register.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClientAuthenticationMethod } from '../../src/client-authentication/method.ts';
import { authenticationMethods } from '../../src/client-authentication/methods.ts';
import { invalidClient } from '../../src/oauth/errors.ts';
import { clientAuthenticationMethods } from '../../src/oauth/registrable-values.ts';
import { call } from '../helpers/grants.ts';
import type { TestClient, TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { approvalPage, discovery, createInConsole, plant, startWithWords } from './planted.ts';

const name = 'example_badge';
const words = 'a badge that it shows';

const badge: ClientAuthenticationMethod = {
  name,
  accepts: (registered) => registered === name,
  carrier: { header: 'example-badge' },
  read({ headers, parameters }) {
    const clientId = parameters['client_id'] ?? '';
    return {
      clientId,
      isCostly: false,
      suits: ({ metadata }) => metadata.token_endpoint_auth_method === name,
      verify() {
        if (headers['example-badge'] !== `badge of ${clientId}`) throw invalidClient('another badge');
      },
    };
  },
};

let service: TestService;
let client: TestClient;
plant(authenticationMethods, () => badge);
plant(clientAuthenticationMethods, name);
beforeAll(async () => {
  service = await startWithWords(`registration.method.${name}`, { en: words });
  const metadata = { redirect_uris: [], grant_types: ['client_credentials'], token_endpoint_auth_method: name };
  client = await service.createClient(metadata);
});
afterAll(() => service?.stop());

async function ask(shown: string, more: Record<string, string> = {}, { clientId } = client) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, ...more });
  const headers = { 'example-badge': shown };
  const response = await fetch(`${service.issuer}/token`, { method: 'POST', body, headers });
  return { status: response.status, error: ((await response.json()) as { error?: string }).error };
}

test('a planted method authenticates its clients, and no others (architecture, extension points)', async () => {
  const shown = `badge of ${client.clientId}`;
  expect(await ask(shown)).toEqual({ status: 200, error: undefined });
  expect(await ask('badge of a stranger')).toEqual({ status: 401, error: 'invalid_client' });
  expect(await ask(shown, { client_secret: 'x' })).toEqual({ status: 400, error: 'invalid_request' });
  const other = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  expect(await ask(`badge of ${other.clientId}`, {}, other)).toEqual({ status: 401, error: 'invalid_client' });
  const byName = { grant_type: 'client_credentials', client_id: client.clientId };
  expect((await tokenRequest(service.issuer, undefined, byName)).status).toBe(401);
});

test('discovery lists the planted method for each endpoint, and a client registers it (architecture, extension points)', async () => {
  const document = await discovery(service);
  for (const endpoint of ['token', 'revocation', 'introspection'])
    expect(document[`${endpoint}_endpoint_auth_methods_supported`]).toContain(name);
  const body = { redirect_uris: ['https://rp.example.com/callback'], token_endpoint_auth_method: name };
  const registered = await call(`${service.issuer}/register`, { body });
  expect(registered).toMatchObject({ status: 201, body: { token_endpoint_auth_method: name } });
  expect(registered.body).not.toHaveProperty('client_secret');
});

test('an administrator reads the words of the planted method, and chooses it for a client in the console (architecture, extension points)', async () => {
  const { form, client: created } = await createInConsole(service, { token_endpoint_auth_method: name });
  expect(form).toContain(words);
  expect(created.metadata.token_endpoint_auth_method).toBe(name);
  expect(await approvalPage(service, { token_endpoint_auth_method: name })).toContain(words);
});
