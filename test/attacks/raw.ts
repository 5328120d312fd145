// Does what fetch does not: sends raw bytes on a socket, counts the connections to a listener, and releases many requests at once.
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

export interface RawAnswer {
  status: number;
  /** The header lines as they arrived. */
  headers: string;
  body: string;
}

/** Sends a request byte by byte (each character of a line is one byte) and reads until the service closes the connection. */
export function raw(base: string, lines: readonly string[], body = ''): Promise<RawAnswer> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
    socket.on('close', () => {
      const [head = '', ...rest] = answer.split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
      resolve({ status, headers: head.slice(head.indexOf('\r\n') + 2), body: rest.join('\r\n\r\n') });
    });
    // a service that refuses early closes while the rest is still being sent
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined));
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`];
    socket.write([...lines, ...length, 'Connection: close', '', body].join('\r\n'), 'latin1');
  });
}

/** The header that every request to the service needs. */
export const hostOf = (base: string): string => `Host: ${new URL(base).host}`;

export interface Canary {
  port: number;
  /** The number of connections that arrived. */
  readonly connections: number;
  close(): Promise<void>;
}

/** Starts a listener on the loopback, on both of its addresses by name, to which the service should never connect. */
export async function canary(): Promise<Canary> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  const port = await listen(server);
  return {
    port,
    get connections() {
      return connections;
    },
    close: () => close(server),
  };
}

/** Starts a web server on the loopback that gives the answers of its handler. */
export async function webServer(handle: RequestListener): Promise<{ port: number; close(): Promise<void> }> {
  const server = createHttpServer(handle);
  const port = await listen(server);
  return {
    port,
    close() {
      server.closeAllConnections();
      return close(server);
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
