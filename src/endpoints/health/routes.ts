// GET /health/live and /health/ready: up or down, nothing more; GET /metrics for those who were given the scope.
import type { FastifyInstance } from 'fastify';
import { requireAdministrator } from '../../http/admin-access.ts';
import { bearerErrors, jsonErrors, noStore } from '../../http/errors.ts';
import type { ServerOptions } from '../../http/server-options.ts';

export async function healthEndpoint(
  app: FastifyInstance,
  options: ServerOptions & { isUnfit: () => boolean },
): Promise<void> {
  const { store, metrics, isUnfit } = options;
  app.setErrorHandler(jsonErrors);
  app.get('/health/live', { exposeHeadRoute: true }, (_request, reply) => noStore(reply).send({ status: 'up' }));
  app.get('/health/ready', { exposeHeadRoute: true }, async (_request, reply) => {
    // it closes, still starts, or its SECRET_KEY was retired: the balancer is to leave it out
    if (isUnfit()) return noStore(reply).code(503).send({ status: 'down' });
    // throws, and so answers 503, when the database cannot be asked
    await store.users.hasAdmin();
    return noStore(reply).send({ status: 'up' });
  });
  await app.register(async (guarded) => {
    guarded.setErrorHandler(bearerErrors);
    guarded.get('/metrics', async (request, reply) => {
      await requireAdministrator(request, options, ['metrics', 'admin']);
      return noStore(reply)
        .type(metrics.contentType)
        .send(await metrics.text());
    });
  });
}
