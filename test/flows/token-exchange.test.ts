// Exchanges a token through two client libraries, and lets a client of the Model Context Protocol reach a server by an ID-JAG.
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpResource, startMcpServer } from '../../demo/mcp-server.ts';
import { jwtBearerGrant, tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { assertionMetadata, createIssuer } from '../helpers/issuer.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';

let service: TestService;
let token: string;
let alice: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, ID_JAG: 'on' } });
  token = await adminToken(service);
  alice = await service.createUser({ username: 'alice' });
});
afterAll(() => service?.stop());

test('openid-client and oauth4webapi exchange a token with their strict defaults (RFC 8693 2.1, 2.2)', async () => {
  const app = await service.createClient({ scope: 'openid' });
  const client = await service.createClient(exchangeMetadata);
  const scopes = [{ value: 'notes.read' }];
  const [entry, notes] = ['https://entry.example/', 'https://notes.example/'];
  const entryApi = { resource: entry, name: 'Entry', client_id: client.clientId, scopes, clients: 'approved' };
  await made(service, token, 'resources', entryApi);
  await made(service, token, 'resources', { resource: notes, name: 'Notes', scopes });
  await made(service, token, 'exchange-policies', {
    name: 'Entry',
    client_id: client.clientId,
    subject_clients: [app.clientId],
    resources: [notes],
    scopes: ['notes.read'],
  });
  const given = await obtainTokens(service, app, alice, { scope: 'openid notes.read', resource: entry });
  const parameters = {
    subject_token: given.access_token,
    subject_token_type: tokenTypes.accessToken,
    resource: notes,
  };

  const config = await openid.discovery(new URL(service.issuer), client.clientId, client.clientSecret, undefined, {
    execute: [openid.allowInsecureRequests],
  });
  expect(config.serverMetadata().grant_types_supported).toContain(tokenExchangeGrant);
  const first = await openid.genericGrantRequest(config, tokenExchangeGrant, parameters);
  expect(first).toMatchObject({ scope: 'notes.read', issued_token_type: tokenTypes.accessToken, token_type: 'bearer' });

  const options = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.issuer);
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
  const by = { client_id: client.clientId };
  const response = await oauth.genericTokenEndpointRequest(
    server,
    by,
    oauth.ClientSecretBasic(client.clientSecret),
    tokenExchangeGrant,
    parameters,
    options,
  );
  const second = await oauth.processGenericTokenEndpointResponse(server, by, response);
  expect(second).toMatchObject({ scope: 'notes.read', issued_token_type: tokenTypes.accessToken });
});

test('a client of the SDK reaches a server by an ID-JAG of the identity provider, without a browser (MCP Authorization, draft-ietf-oauth-identity-assertion-authz-grant)', async () => {
  const server = await startMcpServer({ issuer: service.issuer, port: 0 });
  try {
    const provider = await createIssuer('https://idp.example');
    const agent = await service.createClient(assertionMetadata);
    await made(service, token, 'resources', { resource: server.resource, ...mcpResource });
    await made(service, token, 'trusted-issuers', {
      name: 'Identity provider',
      issuer: provider.issuer,
      kind: 'id_jag',
      jwks: provider.jwks,
      algorithms: ['ES256'],
      links: [{ subject: 'alice-there', user: alice.sub }],
      clients: [agent.clientId],
      resources: [server.resource],
      scopes: ['log.read'],
    });
    let tokens: Parameters<OAuthClientProvider['saveTokens']>[0] | undefined;
    const auth: OAuthClientProvider = {
      redirectUrl: undefined,
      clientMetadata: {
        redirect_uris: [],
        grant_types: [jwtBearerGrant],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      clientInformation: () => ({ client_id: agent.clientId, client_secret: agent.clientSecret }),
      tokens: () => tokens,
      saveTokens: (saved) => void (tokens = saved),
      redirectToAuthorization() {
        throw new Error('no browser takes part');
      },
      saveCodeVerifier() {},
      codeVerifier: () => '',
      async prepareTokenRequest() {
        const claims = { sub: 'alice-there', client_id: agent.clientId, resource: server.resource, scope: 'log.read' };
        const assertion = await provider.sign(service.issuer, claims, { typ: 'oauth-id-jag+jwt' });
        return new URLSearchParams({ grant_type: jwtBearerGrant, assertion });
      },
    };
    const client = new Client({ name: 'agent', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: auth }));
    const answer = await client.callTool({ name: 'read_log' });
    expect(JSON.stringify(answer.content)).toContain(`The logbook of ${alice.sub}`);
    expect(tokens).not.toHaveProperty('refresh_token');
    await client.close();
  } finally {
    await server.stop();
  }
});
