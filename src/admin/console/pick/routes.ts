// Serves GET /admin/pick/{noun}: the things that words find, as JSON for the list below a field of the console.
import type { FastifyInstance } from 'fastify';
import { createInstanceLimit } from '../../../domain/rate-limits/rate-limits.ts';
import { notFound, OAuthError } from '../../../oauth/errors.ts';
import { noStore } from '../../../server/errors.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { Console } from '../admin-session.ts';
import { findPicked, isPicked } from '../picked.ts';

/** Of one administrator in a minute, on one instance: each key that is typed can ask. */
const mostAsked = 300;
const maxWords = 100; // characters

export async function pickRoutes(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const waitOf = createInstanceLimit(mostAsked);

  app.get('/admin/pick/:noun', async (request, reply) => {
    const admin = await console.program(request, reply);
    const wait = waitOf(admin.by.actor);
    if (wait > 0)
      throw new OAuthError('invalid_request', 'too many requests', 429, { headers: { 'retry-after': String(wait) } });
    const { noun = '' } = singleValued(request.params);
    if (!isPicked(noun)) throw notFound('there is no such list');
    const words = (singleValued(request.query)['q'] ?? '').replaceAll('\0', '').trim().slice(0, maxWords);
    return noStore(reply).send({ found: await findPicked(admin, noun, words) });
  });
}
