// One patience for all that a request asks of the database (security R108).
import type { FastifyInstance } from 'fastify';
import { newPatience, type Patience, withPatience } from '../database/patience.ts';

export function sharePatience(app: FastifyInstance): void {
  const begun = new WeakMap<object, Patience>();
  app.addHook('onRequest', (request, _reply, done) => {
    const patience = newPatience();
    if (hasBody(request.method)) begun.set(request, patience);
    withPatience(patience, done);
  });
  // a body's events come from outside the first context, so the handlers enter it again
  app.addHook('preHandler', (request, _reply, done) => {
    const patience = begun.get(request);
    if (patience) withPatience(patience, done);
    else done();
  });
}

const hasBody = (method: string): boolean => method !== 'GET' && method !== 'HEAD';
