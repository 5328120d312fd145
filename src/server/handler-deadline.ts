// How long a handler may take to answer: one clock for all requests, since a timer and a signal for each cost more than many an answer.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { now } from '../database/deadline.ts';
import { OAuthError } from '../oauth/errors.ts';

/** Where a reply stands among those that have no answer yet. */
const place = Symbol('place');
/** When its request came, by now(). */
const begin = Symbol('begin');
type Reply = FastifyReply & { [place]?: number | undefined; [begin]?: number };

/**
 * Refuses what has no answer in time, and cuts off what does not end; a route with a `handlerTimeout` of its own goes by that.
 * @param limits in milliseconds: what a handler gets, and how often that is looked at
 */
export function limitHandlers(app: FastifyInstance, limits: { handler: number; interval: number }): void {
  // No Map or Set: one that is filled and emptied all the time moves to a new table again and again, and each old table holds
  // the next one and the requests of its time until the whole heap is collected.
  const pending: (Reply | undefined)[] = [];
  const free: number[] = [];
  const leave = (reply: Reply) => {
    if (reply[place] === undefined) return;
    pending[reply[place]] = undefined;
    free.push(reply[place]);
    reply[place] = undefined;
  };
  app.decorateReply(place, undefined);
  app.decorateReply(begin, 0);
  app.addHook('onRequest', (_request, reply: Reply, done) => {
    reply[place] = free.pop() ?? pending.length;
    pending[reply[place]] = reply;
    reply[begin] = now();
    done();
  });
  app.addHook('onResponse', (_request, reply, done) => {
    leave(reply);
    done();
  });
  const timer = setInterval(() => {
    const latest = now() - limits.handler;
    for (const reply of pending) {
      if (reply === undefined || reply[begin]! > latest) continue;
      leave(reply);
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
