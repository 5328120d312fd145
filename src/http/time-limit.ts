// How long a handler may take to answer: one clock for all requests, since a timer and a signal for each cost more than many an answer.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { now } from '../database/patience.ts';
import { OAuthError } from '../oauth/errors.ts';

/**
 * Refuses what has no answer in time, and cuts off what does not end; a route with a `handlerTimeout` of its own goes by that.
 * @param limits in milliseconds: what a handler gets, and how often that is looked at
 */
export function limitHandlers(app: FastifyInstance, limits: { handler: number; interval: number }): void {
  /** When each began, the oldest first. */
  const pending = new Map<FastifyReply, number>();
  app.addHook('onRequest', (_request, reply, done) => {
    pending.set(reply, now());
    done();
  });
  app.addHook('onResponse', (_request, reply, done) => {
    pending.delete(reply);
    done();
  });
  const timer = setInterval(() => {
    const latest = now() - limits.handler;
    for (const [reply, begin] of pending) {
      if (begin > latest) return;
      pending.delete(reply);
      if (!reply.request.routeOptions.handlerTimeout) end(reply);
    }
  }, limits.interval).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

function end(reply: FastifyReply): void {
  if (reply.sent || reply.raw.destroyed) return;
  if (reply.raw.headersSent) reply.raw.destroy();
  else
    reply.send(
      new OAuthError('temporarily_unavailable', 'the service cannot answer just now: try again in a moment', 503, {
        cause: 'the handler took too long',
        headers: { 'retry-after': '2' },
      }),
    );
}
