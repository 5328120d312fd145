// GET /health/live and /health/ready: up or down, nothing more; GET /metrics for those who were given the scope.
import type { FastifyInstance } from 'fastify';
import { requireAdministrator } from '../../http/admin-access.ts';
import { bearerErrors, jsonErrors, noStore } from '../../http/errors.ts';
import type { ServerOptions } from '../../http/server-options.ts';

export async function healthEndpoint(
  app: FastifyInstance,
  { store, metrics, isClosing }: ServerOptions & { isClosing: () => boolean },
): Promise<void> {
  app.setErrorHandler(jsonErrors);
  app.get('/health/live', (_request, reply) => noStore(reply).send({ status: 'up' }));
  app.get('/health/ready', async (_request, reply) => {
    if (isClosing()) return noStore(reply).code(503).send({ status: 'down' });
    // throws, and so answers 503, when the database cannot be asked
    await store.users.hasAdmin();
    return noStore(reply).send({ status: 'up' });
  });
  await app.register(async (guarded) => {
    guarded.setErrorHandler(bearerErrors);
    guarded.get('/metrics', async (request, reply) => {
      await requireAdministrator(request, store, ['metrics', 'admin']);
      return noStore(reply)
        .type(metrics.contentType)
        .send(await metrics.text());
    });
  });
}
