// Plays a server on the loopback that stores each request, at the same port each time that it starts.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export abstract class Receiver<Received extends { path: string }> {
  readonly received: Received[] = [];
  private server: Server | undefined;
  private port = 0;

  /** Stores the request, and answers it. */
  protected abstract take(request: IncomingMessage, body: string, response: ServerResponse): void;

  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      const read = text(request).then((body) => this.take(request, body, response));
      // a service that is killed breaks off its request: that request does not count as received
      read.catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => this.server!.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  /** host:port, as OUTBOUND_ALLOW takes it. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  uri(path: string): string {
    return `http://${this.host}${path}`;
  }

  at(path: string): Received[] {
    return this.received.filter((one) => one.path === path);
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.server?.close(resolve);
      this.server?.closeAllConnections();
    });
  }
}
