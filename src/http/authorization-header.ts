// One Authorization header a request: of two Node gives the first, where a proxy may have believed the last (security R37).
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../oauth/errors.ts';

export function refuseTwoAuthorizations(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers, raw: { rawHeaders } }, _reply, done) => {
    if (headers.authorization === undefined) return done();
    // names and values in turn, as they were sent
    const sent = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization');
    done(sent.length > 1 ? invalidRequest('the header Authorization is repeated') : undefined);
  });
}
