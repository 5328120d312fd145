// A client of the Model Context Protocol signs in to a protected server from an empty database, with the official SDK and one approval.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type McpSample, mcpResource, startMcpServer } from '../../demo/mcp-server.ts';
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { newProofKey, postWithProof } from '../helpers/dpop.ts';
import { adminToken, approveClient, call, eventually, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let documents: DocumentServer;
let server: McpSample;
let token: string;
const stops: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  documents = await startDocumentServer();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      CLIENT_ID_METADATA: 'approval',
      CLIENT_ID_METADATA_HOSTS: documents.allow,
      OUTBOUND_ALLOW: documents.allow,
    },
  });
  server = await startMcpServer({ issuer: service.issuer, port: 0 });
  token = await adminToken(service);
  const made = await call(`${service.issuer}/admin/api/resources`, {
    token,
    body: { resource: server.resource, ...mcpResource, scopes: [...mcpResource.scopes, { value: 'log.write' }] },
  });
  expect(made.status).toBe(201);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  await server?.stop();
  await service?.stop();
  await documents?.stop();
});

/** The address at which a client waits for the browser: any free port of localhost (RFC 8252 7.3). */
async function listenForBrowser(): Promise<{ redirectUri: string; code: Promise<string> }> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const callback = createServer((request, response) => {
    resolve(new URL(request.url!, 'http://localhost').searchParams.get('code') ?? '');
    response.end('You can close this window.');
  });
  await new Promise<void>((done) => callback.listen(0, 'localhost', done));
  stops.push(() => new Promise((done) => callback.close(done)));
  return { redirectUri: `http://localhost:${(callback.address() as AddressInfo).port}/callback`, code: promise };
}

/** What a client stores, in memory, and the page that it opens in the browser. */
function provider(
  redirectUri: string,
  clientMetadataUrl?: string,
): OAuthClientProvider & { opened: URL | undefined; stored: Stored } {
  const stored: Stored = {};
  return {
    stored,
    opened: undefined,
    redirectUrl: redirectUri,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'Tool Box',
      redirect_uris: ['http://localhost/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      application_type: 'native',
    },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => void (stored.client = client),
    tokens: () => stored.tokens,
    saveTokens: (tokens) => void (stored.tokens = tokens),
    redirectToAuthorization(url) {
      this.opened = url;
    },
    saveCodeVerifier: (verifier) => void (stored.verifier = verifier),
    codeVerifier: () => stored.verifier!,
  } as OAuthClientProvider & { opened: URL | undefined; stored: Stored };
}
interface Stored {
  client?: Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
  tokens?: Parameters<OAuthClientProvider['saveTokens']>[0];
  verifier?: string;
}

const transportFor = (authProvider: OAuthClientProvider) =>
  new StreamableHTTPClientTransport(new URL(server.resource), { authProvider });
async function connect(authProvider: OAuthClientProvider): Promise<Client> {
  const client = new Client({ name: 'tool-box', version: '1.0.0' });
  await client.connect(transportFor(authProvider));
  stops.push(() => client.close());
  return client;
}
const approvals = () =>
  service.database.sql(`SELECT detail FROM audit_events WHERE type = 'client.approved' ORDER BY id`);

describe('a client that registers itself', () => {
  test('signs in with one approval and a localhost address at any port, calls the tool, and refreshes (MCP Authorization, RFC 9728, RFC 7591, RFC 8707, protocols 5.4)', async () => {
    const user = await service.createUser({ username: 'alice' });
    const { redirectUri, code } = await listenForBrowser();
    const auth = provider(redirectUri);
    const before = (await approvals()).length;

    // the SDK reads both metadata documents, registers, and opens the browser
    const transport = transportFor(auth);
    await expect(new Client({ name: 'tool-box', version: '1.0.0' }).connect(transport)).rejects.toThrow(
      UnauthorizedError,
    );
    expect(Object.fromEntries(auth.opened!.searchParams)).toMatchObject({
      resource: server.resource,
      scope: 'log.read',
      code_challenge_method: 'S256',
      redirect_uri: redirectUri,
    });
    const { client_id: clientId } = auth.stored.client!;
    const browser = new UserAgent(service);
    const waits = await browser.follow(await browser.get(auth.opened!.href));
    expect(waits.status).toBe(400);

    await approveClient(service.issuer, token, clientId);
    expect(await approvals()).toHaveLength(before + 1);

    // the user loads the page again
    let page = await browser.follow(await browser.get(auth.opened!.href));
    page = await browser.signIn(user, page);
    expect(page.body).toContain('Read your logbook');
    page = await browser.submit(page, { decision: 'allow' });
    expect(page.location).toContain(redirectUri);
    await fetch(page.location!);
    await transport.finishAuth(await code);

    const first = auth.stored.tokens!;
    expect(decodeJwt(first.access_token)).toMatchObject({
      aud: server.resource,
      client_id: clientId,
      scope: 'log.read',
    });
    const client = await connect(auth);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read_log']);
    const answer = await client.callTool({ name: 'read_log' });
    expect(JSON.stringify(answer.content)).toContain(`The logbook of ${user.sub}`);

    // an access token that the server no longer takes: the SDK uses the refresh token, and the user sees nothing
    auth.opened = undefined;
    auth.stored.tokens = { ...first, access_token: `${first.access_token.slice(0, -4)}AAAA` };
    expect(await (await connect(auth)).callTool({ name: 'read_log' })).toMatchObject({ content: answer.content });
    expect(auth.opened).toBeUndefined();
    expect(auth.stored.tokens.refresh_token).not.toBe(first.refresh_token);
    expect(await approvals()).toHaveLength(before + 1);
  });
});

describe('a client whose client_id is the address of its document', () => {
  test('signs in with one approval and a localhost address at any port, and calls the tool (MCP Authorization, draft-ietf-oauth-client-id-metadata-document, protocols 5.4, 5.5)', async () => {
    const user = await service.createUser();
    const { redirectUri, code } = await listenForBrowser();
    const clientId = documents.serve('/tool-box.json', { client_name: 'Tool Box' });
    const auth = provider(redirectUri, clientId);
    const before = (await approvals()).length;
    const transport = transportFor(auth);
    const first = new Client({ name: 'tool-box', version: '1.0.0' }).connect(transport);
    await expect(first).rejects.toThrow(UnauthorizedError);
    expect(Object.fromEntries(auth.opened!.searchParams)).toMatchObject({
      client_id: clientId,
      resource: server.resource,
      scope: 'log.read',
      redirect_uri: redirectUri,
    });
    // nobody has registered it, and a signed-in user asks for it
    const browser = new UserAgent(service);
    await browser.signIn(user);
    const waiting = await browser.follow(await browser.get(auth.opened!.href));
    expect(waiting.body).toContain('waiting for an administrator');
    await approveClient(service.issuer, token, encodeURIComponent(clientId));
    // the page loads itself again, and goes on to the consent
    const consent = await eventually(
      async () => browser.follow(await browser.get(waiting.url)),
      ({ body }) => body.includes('id="allow"'),
    );
    expect(consent.body).toContain('Read your logbook');
    await fetch((await browser.submit(consent, { decision: 'allow' })).location!);
    await transport.finishAuth(await code);
    const claims = decodeJwt(auth.stored.tokens!.access_token);
    expect(claims).toMatchObject({ aud: server.resource, client_id: clientId, scope: 'log.read' });
    const answer = await (await connect(auth)).callTool({ name: 'read_log' });
    expect(JSON.stringify(answer.content)).toContain(`The logbook of ${user.sub}`);
    expect(await approvals()).toHaveLength(before + 1);
  });
});

describe('the protected server', () => {
  const post = (headers: Record<string, string>) =>
    fetch(server.resource, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_log' } }),
    });
  const machineToken = async (fields: Record<string, string>, scope = 'log.read') => {
    const machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'], scope });
    const { body } = await tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', ...fields });
    return String(body['access_token']);
  };

  test('refuses a request without a token, and names its metadata (RFC 9728 5.1)', async () => {
    const refused = await post({});
    expect(refused.status).toBe(401);
    const [, metadata] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate')!)!;
    expect((await call(metadata!)).body).toMatchObject({
      resource: server.resource,
      authorization_servers: [service.issuer],
    });
  });

  test('refuses tokens for other resources and none in particular, and an ID Token (RFC 8707 2, RFC 9068 4, security R138, R139)', async () => {
    const other = 'https://other.example/mcp';
    await call(`${service.issuer}/admin/api/resources`, { token, body: { resource: other, ...mcpResource } });
    const user = await service.createUser();
    const client = await service.createClient();
    const answered = await new UserAgent(service).authorize(client, user, { scope: 'openid' });
    const code = new URL(answered.location!).searchParams.get('code')!;
    const { body } = await redeem(service.issuer, client, code);
    for (const presented of [
      await machineToken({ resource: other }),
      await machineToken({}, ''),
      String(body['id_token']),
      String(body['access_token']),
    ]) {
      const refused = await post({ authorization: `Bearer ${presented}` });
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('invalid_token'),
      ]);
    }
    expect((await post({ authorization: `Bearer ${await machineToken({ resource: server.resource })}` })).status).toBe(
      200,
    );
  });

  test('refuses a token that is bound to a key, since it reads no proof (RFC 9449 7.1, security R134)', async () => {
    const key = await newProofKey();
    const machine = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scope: 'log.read',
    });
    const form = { grant_type: 'client_credentials', resource: server.resource };
    const { body } = await postWithProof(service, '/token', machine, form, key);
    expect(body['token_type']).toBe('DPoP');
    expect((await post({ authorization: `Bearer ${String(body['access_token'])}` })).status).toBe(401);
  });

  test('asks for the scope of a tool that the token lacks (RFC 6750 3.1)', async () => {
    const presented = await machineToken({ resource: server.resource, scope: 'log.write' }, 'log.write');
    const lacking = await post({ authorization: `Bearer ${presented}` });
    expect(lacking.status).toBe(403);
    const challenge = lacking.headers.get('www-authenticate');
    expect(challenge).toContain('error="insufficient_scope"');
    expect(challenge).toContain('scope="log.write log.read"');
  });
});
