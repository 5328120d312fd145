// Runs the relying party's web server, as the suite has one: https on the loopback; modules publish documents on it and read its requests.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { certificate, privateKey } from './certificate.ts';

/** A request that the service itself sent to an address of the suite. */
export interface Received {
  method: string;
  contentType: string;
  body: string;
  tls: string;
}

export interface SuiteServer {
  origin: string;
  /** host:port, as OUTBOUND_ALLOW takes it. */
  host: string;
  publish(path: string, contentType: string, body: string): void;
  /** The requests to the path so far. */
  received(path: string): Received[];
  close(): Promise<void>;
}

export async function startSuiteServer(): Promise<SuiteServer> {
  // does what NODE_EXTRA_CA_CERTS does for a service in a separate process
  setDefaultCACertificates([...getCACertificates('bundled'), certificate]);
  const published = new Map<string, { contentType: string; body: string }>();
  const arrived = new Map<string, Received[]>();
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '/';
      const received = {
        method: request.method ?? '',
        contentType: request.headers['content-type'] ?? '',
        body: Buffer.concat(chunks).toString(),
        tls: (request.socket as TLSSocket).getProtocol() ?? '',
      };
      arrived.set(path, [...(arrived.get(path) ?? []), received]);
      const document = published.get(path);
      if (request.method === 'GET' && document)
        response.writeHead(200, { 'content-type': document.contentType }).end(document.body);
      else response.writeHead(request.method === 'POST' ? 200 : 404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin: `https://${host}`,
    host,
    publish: (path, contentType, body) => void published.set(path, { contentType, body }),
    received: (path) => arrived.get(path) ?? [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
