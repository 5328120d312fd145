// Plays collectors of the audit trail on the loopback, over TLS: one for HTTP, which answers as a test says, and one for syslog.
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer, type Server } from 'node:tls';

interface Collected {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A status, or none, or a choice by what was sent. */
type Answering = number | 'hang' | ((one: Collected) => number | 'hang');

/** How a collector reads what it gets: all of it, nothing, or a byte now and then. */
export type Pace = 'reads' | 'stops' | 'a byte at a time';

export interface Collector {
  /** host:port, as OUTBOUND_ALLOW takes it. */
  host: string;
  pace: Pace;
  /** How many sessions began. */
  sessions: { begun: number };
  stop(): Promise<void>;
}

const certificate = (folder: string) => ({
  key: readFileSync(`${folder}/server.key`),
  cert: readFileSync(`${folder}/server.pem`),
});

/** Reads at this pace, and never to the end. */
function readSlowly(stream: Readable, pace: Pace): void {
  stream.pause();
  if (pace === 'stops') return;
  const timer = setInterval(() => stream.read(1), 20);
  stream.on('close', () => clearInterval(timer));
}

async function listening(server: Server, port = 0): Promise<Omit<Collector, 'pace'>> {
  const sockets = new Set<{ destroy(): void }>();
  const sessions = { begun: 0 };
  server.on('connection', (socket) => {
    sockets.add(socket);
    sessions.begun++;
  });
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
  return {
    host: `localhost:${(server.address() as AddressInfo).port}`,
    sessions,
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
): Promise<Collector & { received: Collected[]; answer: { status: Answering } }> {
  const received: Collected[] = [];
  const answer: { status: Answering } = { status: 200 };
  const server = createHttpsServer(certificate(folder), (request, response) => {
    if (collector.pace !== 'reads')
      return readSlowly(
        request.on('error', () => undefined),
        collector.pace,
      );
    const read = text(request).then((body) => {
      const one = { path: request.url ?? '', headers: request.headers, body };
      received.push(one);
      const status = typeof answer.status === 'function' ? answer.status(one) : answer.status;
      if (status !== 'hang') response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('{}');
    });
    // a service that is killed breaks off its request
    read.catch(() => response.destroy());
  });
  const collector = { ...(await listening(server, port)), pace: 'reads' as Pace, received, answer };
  return collector;
}

/** Stores the messages of each session that was read to its end. */
export async function syslogCollector(
  folder: string,
): Promise<Collector & { messages: string[]; portions: string[][] }> {
  const messages: string[] = [];
  const portions: string[][] = [];
  const server = createTlsServer(certificate(folder), (socket) => {
    socket.on('error', () => socket.destroy());
    if (collector.pace !== 'reads') return readSlowly(socket, collector.pace);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => {
      const found = frames(Buffer.concat(chunks));
      messages.push(...found);
      portions.push(found);
    });
  });
  const collector = { ...(await listening(server)), pace: 'reads' as Pace, messages, portions };
  return collector;
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
