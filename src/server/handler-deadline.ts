// Ends requests whose handlers take too long, with one timer for all: a timer for each would cost more than a small answer.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { now } from '../database/deadline.ts';
import { unavailable } from './errors.ts';

/** The index of a reply among those without an answer. */
const index = Symbol('index');
/** The time of now() at which the request arrived. */
const begin = Symbol('begin');
type Reply = FastifyReply & { [index]?: number | undefined; [begin]?: number };

/**
 * Refuses a request that has no answer in time, and cuts off an answer that does not end. A route can set another `handlerTimeout`.
 * @param limits in milliseconds: for a handler, and between two checks
 * @returns the functions to call when a request begins and when its response ends
 */
export function trackHandlers(app: FastifyInstance, limits: { handler: number; interval: number }) {
  // An array, not a Map or Set: V8 moves one that is constantly filled and emptied to a new table again and again, and each old table keeps
  // the next one and its requests alive until a full garbage collection.
  const pending: (Reply | undefined)[] = [];
  const free: number[] = [];
  const remove = (reply: Reply) => {
    if (reply[index] === undefined) return;
    pending[reply[index]] = undefined;
    free.push(reply[index]);
    reply[index] = undefined;
  };
  app.decorateReply(index, undefined);
  app.decorateReply(begin, 0);
  const timer = setInterval(() => {
    const latest = now() - limits.handler;
    for (const reply of pending) {
      if (reply === undefined || reply[begin]! > latest) continue;
      remove(reply);
      if (!reply.request.routeOptions.handlerTimeout) cutOff(reply);
    }
  }, limits.interval).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  return {
    begin(reply: Reply): void {
      reply[index] = free.pop() ?? pending.length;
      pending[reply[index]] = reply;
      reply[begin] = now();
    },
    end: remove,
  };
}

function cutOff(reply: FastifyReply): void {
  if (reply.sent || reply.raw.destroyed) return;
  if (reply.raw.headersSent) reply.raw.destroy();
  else reply.send(unavailable('the handler took too long'));
}
