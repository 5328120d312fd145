// Lets a page answer HEAD as GET answers a browser without cookies, and with no effect: uptime checks ask so (security R8).
import type { RouteShorthandOptions } from 'fastify';

/** Options of a GET route that does nothing for a browser without a session but to set cookies. */
export const alsoHead = {
  exposeHeadRoute: true,
  onRequest: (request, _reply, done) => {
    if (request.method === 'HEAD') delete request.raw.headers.cookie;
    done();
  },
  onSend: (request, reply, payload, done) => {
    if (request.method === 'HEAD') reply.removeHeader('set-cookie');
    done(null, payload);
  },
} satisfies RouteShorthandOptions;
