// Requests without a body, which are most: no stream of nothing is made for them, since that costs a tenth of a small answer.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** The option of Node's server: a request that announces no body comes with one that has ended, and tells nobody so. */
export const spareEmptyBodies = { optimizeEmptyRequests: true };

/** Whatever waits for the end of a body, since the request names a type of it, sees that of an empty one. */
export function endEmptyBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const isAwaited = request.raw.readableEnded && request.headers['content-type'] !== undefined;
    done(null, isAwaited ? Readable.from([]) : payload);
  });
}
