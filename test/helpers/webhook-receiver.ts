// Plays receivers of webhook messages on the loopback: each path is a receiver, which stores the messages and answers as a test says.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Receiver } from './receiver.ts';

export interface ReceivedMessage {
  path: string;
  headers: IncomingHttpHeaders;
  id: string;
  body: string;
  message: { type: string; timestamp: string; data: Record<string, unknown> & { id: string } };
}

type Answering = number | ((response: ServerResponse, message: ReceivedMessage) => void);

export class WebhookReceiver extends Receiver<ReceivedMessage> {
  /** How a path answers; 204 unless set. */
  readonly answers = new Map<string, Answering>();

  protected take({ headers, url: path = '' }: IncomingMessage, body: string, response: ServerResponse): void {
    const message = JSON.parse(body) as ReceivedMessage['message'];
    const one = { path, headers, id: String(headers['webhook-id']), body, message };
    this.received.push(one);
    const answer = this.answers.get(path) ?? 204;
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response, one);
  }
}
