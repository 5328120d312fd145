// Plants a client authentication method: its value, its line in the list, and its name and words among those that clients register.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClientAuthenticationMethod } from '../../src/client-authentication/method.ts';
import { authenticationMethods } from '../../src/client-authentication/methods.ts';
import { invalidClient } from '../../src/oauth/errors.ts';
import { documentMetadata } from '../../src/oauth/client-document.ts';
import { needsSecret, parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import { rulesOf } from '../../src/rules/clients/client-rules.ts';
import { refusal } from '../../src/oauth/refusals.ts';
import { type AuthenticationMethod, clientAuthenticationMethods } from '../../src/oauth/registrable-values.ts';
import { widens } from '../../src/rules/clients/widening-change.ts';
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

/** A method by a key of the client, which forbids one value of a metadata member. */
const seal: AuthenticationMethod = {
  name: 'example_seal',
  proves: 'own key',
  needsKeys: 'signatures',
  members: {
    token_endpoint_auth_signing_alg: (alg, member) =>
      alg === 'RS256' ? refusal('algorithm.asymmetric', member) : undefined,
  },
};

let service: TestService;
let client: TestClient;
plant(authenticationMethods, () => badge);
plant(clientAuthenticationMethods, { name, proves: 'shared secret' });
plant(clientAuthenticationMethods, seal);
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

describe('the rules read what a method is, and not its name', () => {
  const redirect_uris = ['https://rp.example.com/callback'];
  const metadataOf = (method: string, more: Record<string, unknown> = {}) =>
    parseClientMetadata({ redirect_uris, token_endpoint_auth_method: method, ...more });
  const jwks_uri = 'https://rp.example.com/jwks';

  test('a method with keys needs them, and its members obey its rules (architecture, extension points)', () => {
    expect(() => metadataOf(seal.name)).toThrow('example_seal requires jwks or jwks_uri');
    const unfit = { keys: [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', use: 'enc' }] };
    expect(() => metadataOf(seal.name, { jwks: unfit })).toThrow('jwks');
    const refused = { jwks_uri, token_endpoint_auth_signing_alg: 'RS256' };
    expect(() => metadataOf(seal.name, refused)).toThrow('token_endpoint_auth_signing_alg');
    expect(metadataOf(name, refused)).toMatchObject(refused);
  });

  test('a method without a secret gives the client none, and none that signs (architecture, extension points)', () => {
    for (const method of [seal.name, name]) {
      const metadata = metadataOf(method, { jwks_uri });
      expect(needsSecret(metadata)).toBe(false);
      expect(rulesOf(metadata).isPublic).toBe(false);
      expect(() => metadataOf(method, { jwks_uri, id_token_signed_response_alg: 'HS256' })).toThrow('client secret');
    }
  });

  test('a change to a method that proves less waits, and no other (architecture, extension points)', () => {
    const order = ['none', name, seal.name].map((method) => metadataOf(method, { jwks_uri }));
    order.forEach((before, at) =>
      order.forEach((after, to) => expect(widens(before, after), `${at} to ${to}`).toBe(to < at)),
    );
    expect(widens(metadataOf(name), metadataOf('client_secret_basic'))).toBe(false);
  });

  test('FAPI 2.0 and documents of clients take a method by a key, and none by a secret that both sides know (architecture, extension points)', () => {
    const profile = { jwks_uri, fapi2: 'security' };
    expect(metadataOf(seal.name, profile)).toMatchObject(profile);
    expect(() => metadataOf(name, profile)).toThrow('private_key_jwt or example_seal');
    const id = 'https://rp.example.com/client';
    const read = (method: string) => {
      const document = { client_id: id, redirect_uris, jwks_uri, token_endpoint_auth_method: method };
      return documentMetadata(id, document, { apiScopes: [], kept: undefined }, { issuer: 'https://id.example' });
    };
    expect(read(seal.name).token_endpoint_auth_method).toBe(seal.name);
    expect(() => read(name)).toThrow('example_seal, none or private_key_jwt');
  });

  test('a refused change leaves a client of a planted method without a secret (architecture, extension points; security R116)', async () => {
    const { clientId } = await service.createClient({ token_endpoint_auth_method: seal.name, jwks_uri });
    const waiting = { pending_metadata: metadataOf('client_secret_basic'), client_secret_hash: Buffer.alloc(32) };
    await service.database.sql(
      'UPDATE clients SET pending_metadata = $2, client_secret_hash = $3 WHERE client_id = $1',
      [clientId, waiting.pending_metadata, waiting.client_secret_hash],
    );
    expect((await service.store.clients.refuse(clientId, 'No.'))!.secretHash).toBeUndefined();
  });
});
