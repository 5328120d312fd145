// Plays a relying party's server of back-channel logout on the loopback: stores the requests, and gives the answers that a test sets.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { decodeJwt, type JWTPayload } from 'jose';

export interface Received {
  path: string;
  contentType: string | undefined;
  form: URLSearchParams;
  token: string;
  claims: JWTPayload;
}

export class LogoutReceiver {
  readonly received: Received[] = [];
  /** The answer at a path; 200 unless set. "hang" delays the answer until release(). */
  readonly answers = new Map<string, number | 'hang'>();
  private readonly held: ServerResponse[] = [];
  private server: Server | undefined;
  private port = 0;

  /** Listens, at the same port each time. */
  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      const read = text(request).then((body) => {
        const path = request.url ?? '';
        const form = new URLSearchParams(body);
        const token = form.get('logout_token') ?? '';
        this.received.push({
          path,
          contentType: request.headers['content-type'],
          form,
          token,
          claims: decodeJwt(token),
        });
        const answer = this.answers.get(path) ?? 200;
        if (answer === 'hang') this.held.push(response);
        else response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {}).end();
      });
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

  /** Answers the delayed requests. */
  release(): void {
    this.answers.clear();
    for (const response of this.held.splice(0)) response.writeHead(200).end();
  }

  async stop(): Promise<void> {
    this.release();
    await new Promise((resolve) => {
      this.server?.close(resolve);
      this.server?.closeAllConnections();
    });
  }
}
