// One patience for all that a request asks of the database (security R108).
import type { FastifyInstance } from 'fastify';
import { newPatience, withPatience } from '../database/deadline.ts';

export function shareDeadline(app: FastifyInstance): void {
  // Fastify enters the context again once a body has been read
  app.addHook('onRequest', (_request, _reply, done) => withPatience(newPatience(), done));
}
