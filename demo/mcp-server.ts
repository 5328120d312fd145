// Runs a sample Model Context Protocol server: it publishes its metadata, and verifies the access tokens of the service by itself (RFC 9728, RFC 9068).
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';

export interface McpServerOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
}

export interface McpSample {
  url: string;
  /** The URI of the server as a resource: the audience of the tokens that it takes. */
  resource: string;
  stop(): Promise<void>;
}

interface Caller {
  token: string;
  clientId: string;
  sub: string;
  scopes: string[];
}

const name = 'Harbour logbook';
/** The scope that each tool needs. */
const toolScopes: Record<string, string> = { read_log: 'log.read' };
const path = '/mcp';
const metadataPath = `/.well-known/oauth-protected-resource${path}`;

/** What an administrator registers for the server: its clients get JWTs for it, and may ask for its scopes without a registration of each. */
export const mcpResource = {
  name,
  access_token_format: 'jwt',
  clients: 'approved',
  scopes: [{ value: 'log.read', description: { en: 'Read your logbook', de: 'Ihr Logbuch lesen', ar: 'قراءة سجلّك' } }],
} as const;

/** @throws the system's error when the port is taken */
export async function startMcpServer({ issuer, port }: McpServerOptions): Promise<McpSample> {
  // reads the keys again when a token names one that it does not know
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      process.stderr.write(`${name}: ${String(error)}\n`);
      if (!response.headersSent) json(response, 500, { error: 'server_error' });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const resource = url + path;
  return {
    url,
    resource,
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', url);
    // scripts of any origin may read the metadata, and see the challenge
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-expose-headers', 'www-authenticate');
    if (request.method === 'OPTIONS') {
      response.setHeader('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version');
      response.writeHead(204).end();
    } else if (pathname === metadataPath) {
      json(response, 200, {
        resource,
        resource_name: name,
        authorization_servers: [issuer],
        scopes_supported: Object.values(toolScopes),
        bearer_methods_supported: ['header'],
      });
    } else if (pathname === path) {
      await answerProtected(request, response);
    } else {
      response.writeHead(pathname === '/' ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`${name}: a Model Context Protocol server. Add ${resource} to your client.\n`);
    }
  }

  async function answerProtected(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (token === undefined) return challenge(response, 401, { scope: Object.values(toolScopes).join(' ') });
    const caller = await verified(token);
    if (!caller)
      return challenge(response, 401, { error: 'invalid_token', scope: Object.values(toolScopes).join(' ') });
    if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end();
    const message = parsed(await text(request));
    if (message === undefined) return json(response, 400, { error: 'invalid_request' });
    const needed = missingScope(message, caller);
    // the client asks for this scope in addition, and calls the tool again
    if (needed !== undefined)
      return challenge(response, 403, { error: 'insufficient_scope', scope: [...caller.scopes, needed].join(' ') });
    const mcp = createTools();
    // without a session: each request has its own server, as one has its own token
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void mcp.close());
    // the transport has optional members that its own interface declares otherwise
    await mcp.connect(transport as Parameters<McpServer['connect']>[0]);
    const { clientId, scopes, sub } = caller;
    const authenticated = Object.assign(request, { auth: { token, clientId, scopes, extra: { sub } } });
    await transport.handleRequest(authenticated, response, message);
  }

  /** The caller of a token that this issuer signed for this server and nobody else; undefined for any other token (RFC 9068 4). */
  async function verified(token: string): Promise<Caller | undefined> {
    try {
      const options = { issuer, audience: resource, typ: 'at+jwt', requiredClaims: ['exp', 'sub', 'client_id'] };
      const { payload } = await jwtVerify<{ sub: string; client_id: string; scope?: string }>(token, keys, options);
      // a bound token is worth nothing without a proof, and this server takes only Bearer tokens (RFC 9449 7.1)
      if (payload['cnf'] !== undefined) return undefined;
      const { sub, client_id: clientId, scope = '' } = payload;
      return { token, sub, clientId, scopes: scope.split(' ').filter(Boolean) };
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  /** Says where the client finds the authorization server, and the scope that it needs (RFC 9728 5.1, RFC 6750 3). */
  function challenge(response: ServerResponse, status: number, parameters: Record<string, string>): void {
    const all = { ...parameters, resource_metadata: url + metadataPath };
    const text = Object.entries(all).map(([member, value]) => `${member}="${value}"`);
    response.setHeader('www-authenticate', `Bearer ${text.join(', ')}`);
    json(response, status, parameters);
  }
}

/** The server with its tools. */
function createTools(): McpServer {
  const mcp = new McpServer({ name: 'harbour-logbook', version: '1.0.0' });
  mcp.registerTool(
    'read_log',
    { title: 'Read the logbook', description: 'Returns the last entries of the logbook of the signed-in user.' },
    ({ authInfo }) => ({
      content: [
        {
          type: 'text',
          text: `The logbook of ${String(authInfo?.extra?.['sub'])}: 06:40 left port, 11:15 rain, 17:05 moored.`,
        },
      ],
    }),
  );
  return mcp;
}

/** The scope that a call of a tool needs and its token does not have. */
function missingScope(message: unknown, { scopes }: Caller): string | undefined {
  const calls = [message].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  return calls
    .filter((call) => call?.method === 'tools/call')
    .map((call) => toolScopes[String(call?.params?.name)])
    .find((scope) => scope !== undefined && !scopes.includes(scope));
}

/** The JSON value of a body; undefined for any other text, which the transport refuses. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
