// What fetch would tidy: bytes on a bare socket, a listener that counts who comes, and a release of many requests at once.
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

export interface RawAnswer {
  status: number;
  /** As they came, one line each. */
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
    // a service that refuses early closes while the rest is still on its way
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined));
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`];
    socket.write([...lines, ...length, 'Connection: close', '', body].join('\r\n'), 'latin1');
  });
}

/** The header that every request to the service needs. */
export const hostOf = (base: string): string => `Host: ${new URL(base).host}`;

export interface Canary {
  port: number;
  /** How many connections came. */
  readonly visits: number;
  close(): Promise<void>;
}

/** A listener of the loopback, on both of its addresses by name, that nobody should ever find. */
export async function canary(): Promise<Canary> {
  let visits = 0;
  const server = createServer((socket) => {
    visits++;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  const port = await listen(server);
  return {
    port,
    get visits() {
      return visits;
    },
    close: () => close(server),
  };
}

/** A web server of the loopback that answers as it is told. */
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
