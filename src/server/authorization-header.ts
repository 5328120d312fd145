// One Authorization header a request: of two Node gives the first, where a proxy may have believed the last (security R37).
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../oauth/errors.ts';
import { isRepeated } from './security-headers.ts';

export function refuseTwoAuthorizations(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers, raw: { rawHeaders } }, _reply, done) => {
    if (headers.authorization === undefined) return done();
    done(isRepeated(rawHeaders, 'authorization') ? invalidRequest('the header Authorization is repeated') : undefined);
  });
}
