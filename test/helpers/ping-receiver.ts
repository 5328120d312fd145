// Plays the notification endpoints of clients on the loopback: each path stores the pings, and answers as a test says.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Receiver } from './receiver.ts';

export interface ReceivedPing {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}

type Answering = number | ((response: ServerResponse) => void);

export class PingReceiver extends Receiver<ReceivedPing> {
  /** How a path answers; 204 unless set. */
  readonly answers = new Map<string, Answering>();

  protected take(
    { headers, method = '', url: path = '' }: IncomingMessage,
    body: string,
    response: ServerResponse,
  ): void {
    this.received.push({ path, method, headers, body });
    const answer = this.answers.get(path) ?? 204;
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response);
  }
}
