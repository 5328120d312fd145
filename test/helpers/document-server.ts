// Serves documents of clients over TLS on the loopback, and counts the requests.
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { certificate, privateKey as key } from '../conformance/bed/certificate.ts';

export interface ServedDocument {
  status?: number;
  headers?: Record<string, string>;
  /** An object becomes JSON. */
  body: unknown;
  /** The answer waits for it. */
  until?: Promise<unknown>;
}

export interface DocumentServer {
  /** "https://localhost:PORT". */
  origin: string;
  /** Its value of OUTBOUND_ALLOW. */
  allow: string;
  /** By path; 404 for any other. */
  documents: Map<string, ServedDocument>;
  /** The paths of all requests, in order. */
  requests: string[];
  /** The headers of all requests. */
  headers: Record<string, unknown>[];
  /** Serves the document of a client, whose client_id is the address that it returns. */
  serve(path: string, metadata?: Record<string, unknown>, served?: Partial<ServedDocument>): string;
  stop(): Promise<void>;
}

/** A certificate that the service trusts as NODE_EXTRA_CA_CERTS lets an operator's process trust one. */
export const documentCertificate = certificate;

/** Starts the server. This process trusts its certificate from then on. */
export async function startDocumentServer(): Promise<DocumentServer> {
  const trusted = tls.getCACertificates('default');
  if (!trusted.includes(certificate.trim())) tls.setDefaultCACertificates([...trusted, certificate]);
  const documents = new Map<string, ServedDocument>();
  const requests: string[] = [];
  const headers: Record<string, unknown>[] = [];
  const server: Server = createServer({ cert: certificate, key }, (request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    headers.push(request.headers);
    const { status = 200, body, headers: more, until } = documents.get(path) ?? { status: 404, body: '' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    void Promise.resolve(until).then(() =>
      response.writeHead(status, { 'content-type': 'application/json', ...more }).end(text),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `https://localhost:${port}`;
  return {
    origin,
    allow: `localhost:${port}`,
    documents,
    requests,
    headers,
    serve(path, metadata = {}, served = {}) {
      const body = {
        client_id: origin + path,
        client_name: 'Harbour Editor',
        redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        ...metadata,
      };
      documents.set(path, { body, ...served });
      return origin + path;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
