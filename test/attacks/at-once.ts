// Sends requests that race: opens every connection before it sends the first request.
import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Racer {
  url: string;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

export interface Finish {
  status: number;
  location: string | undefined;
  body: string;
}

export async function atOnce(racers: readonly Racer[]): Promise<Finish[]> {
  const sockets = await Promise.all(racers.map(({ url }) => open(new URL(url))));
  return Promise.all(racers.map((racer, index) => run(racer, sockets[index]!)));
}

async function open({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

function run({ url, method = 'GET', headers = {}, body = '' }: Racer, socket: Socket): Promise<Finish> {
  return new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length, connection: 'close' }, createConnection: () => socket };
    const request = send(url, options, (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, location: response.headers.location, body: text }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}
