// Documents that are the same for everybody: what their route has answered is answered again before the framework, which costs as much as Node itself.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance, onSendHookHandler } from 'fastify';
import type { Metrics } from './metrics.ts';
import { isRepeated } from './security-headers.ts';

/** What one address answered. */
interface Answer {
  headers: string[];
  /** Its bytes as characters: in one string with the head they are written at once. */
  body: string;
  isCurrent(): boolean;
  answered(response: ServerResponse): void;
}

export type ConstantAnswers = ReturnType<typeof createConstantAnswers>;

export function createConstantAnswers(metrics: Pick<Metrics, 'ofRoute'>) {
  const answers = new Map<string, Answer>();

  return {
    /**
     * Keeps the answer of a route whose answer depends on nothing of a request.
     * @param version of what is answered: an answer is given again while this returns the same
     */
    keep(version: () => unknown = () => undefined): onSendHookHandler {
      return ({ method, url, routeOptions }, reply, payload, done) => {
        done(null, payload);
        if (method !== 'GET' || url !== routeOptions.url || reply.statusCode !== 200) return;
        const of = version();
        const observe = metrics.ofRoute(url);
        const body = Buffer.from(payload as string).toString('latin1');
        const headers = { ...reply.getHeaders(), 'content-length': String(body.length) };
        answers.set(url, {
          headers: Object.entries(headers).flat() as string[],
          body,
          isCurrent: () => version() === of,
          answered(response) {
            const begin = performance.now();
            response.on('finish', () => observe('GET', 200, (performance.now() - begin) / 1000));
          },
        });
      };
    },

    /** Answers before the routes of an application do; what is not a plain request is left to them, and all once it closes. */
    answerBefore(app: FastifyInstance): void {
      let closing = false;
      app.addHook('preClose', async () => {
        closing = true;
      });
      const listener: RequestListener = (request, response) => {
        const answer = answers.get(request.url!);
        if (answer === undefined || closing || !isPlain(request) || !answer.isCurrent())
          return app.routing(request, response);
        answer.answered(response);
        response.writeHead(200, answer.headers).end(answer.body, 'latin1');
      };
      app.server.removeAllListeners('request').on('request', listener);
    },
  };
}

/** Whether nothing about a request could make the answer another one, a refusal included. */
function isPlain({ method, httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers.host !== undefined &&
    headers.authorization === undefined &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    !isRepeated(rawHeaders, 'host')
  );
}
