// Plays collectors of the audit trail on the loopback, over TLS: one for HTTP, which answers as a test says, and one for syslog.
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer, type Server } from 'node:tls';

interface Collected {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Collector {
  /** host:port, as OUTBOUND_ALLOW takes it. */
  host: string;
  stop(): Promise<void>;
}

const certificate = (folder: string) => ({
  key: readFileSync(`${folder}/server.key`),
  cert: readFileSync(`${folder}/server.pem`),
});

async function listening(server: Server, port = 0): Promise<Collector> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
  return {
    host: `localhost:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** @param folder with the files of makeCertificates() @param port of a collector that has stopped, and comes back */
export async function httpCollector(
  folder: string,
  port?: number,
): Promise<Collector & { received: Collected[]; answer: { status: number | 'hang' } }> {
  const received: Collected[] = [];
  const answer: { status: number | 'hang' } = { status: 200 };
  const server = createHttpsServer(certificate(folder), (request, response) => {
    const read = text(request).then((body) => {
      const { status } = answer;
      received.push({ path: request.url ?? '', headers: request.headers, body });
      if (status !== 'hang') response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('{}');
    });
    // a service that is killed breaks off its request
    read.catch(() => response.destroy());
  });
  return { ...(await listening(server, port)), received, answer };
}

/** Stores the messages of each session that was read to its end. */
export async function syslogCollector(folder: string): Promise<Collector & { messages: string[] }> {
  const messages: string[] = [];
  const server = createTlsServer(certificate(folder), (socket) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => messages.push(...frames(Buffer.concat(chunks))));
  });
  return { ...(await listening(server)), messages };
}

/** RFC 5425 4.3: the number of octets, a space, the message. */
function frames(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at);
    const length = Number(bytes.subarray(at, space).toString());
    found.push(bytes.subarray(space + 1, space + 1 + length).toString());
    at = space + 1 + length;
  }
  return found;
}
