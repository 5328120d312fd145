// Plays a relying party's server of back-channel logout on the loopback: stores the requests, and gives the answers that a test sets.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodeJwt, type JWTPayload } from 'jose';
import { Receiver } from './receiver.ts';

export interface Received {
  path: string;
  contentType: string | undefined;
  form: URLSearchParams;
  token: string;
  claims: JWTPayload;
}

export class LogoutReceiver extends Receiver<Received> {
  /** The answer at a path; 200 unless set. "hang" delays the answer until release(). */
  readonly answers = new Map<string, number | 'hang'>();
  private readonly held: ServerResponse[] = [];

  protected take({ headers, url: path = '' }: IncomingMessage, body: string, response: ServerResponse): void {
    const form = new URLSearchParams(body);
    const token = form.get('logout_token') ?? '';
    this.received.push({ path, contentType: headers['content-type'], form, token, claims: decodeJwt(token) });
    const answer = this.answers.get(path) ?? 200;
    if (answer === 'hang') this.held.push(response);
    else response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {}).end();
  }

  /** Answers the delayed requests. */
  release(): void {
    this.answers.clear();
    for (const response of this.held.splice(0)) response.writeHead(200).end();
  }

  override async stop(): Promise<void> {
    this.release();
    await super.stop();
  }
}
