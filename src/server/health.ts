// Answers GET /health/live and GET /health/ready with up or down, and nothing more.
import type { FastifyInstance } from 'fastify';
import { jsonErrors, noStore } from './errors.ts';
import type { Store } from '../repositories/store.ts';

interface HealthDependencies {
  store: Pick<Store, 'users'>;
  /** True while the service starts or closes. */
  isUnfit: () => boolean;
}

export async function healthEndpoint(app: FastifyInstance, { store, isUnfit }: HealthDependencies): Promise<void> {
  app.setErrorHandler(jsonErrors);
  app.get('/health/live', { exposeHeadRoute: true }, (_request, reply) => noStore(reply).send({ status: 'up' }));
  app.get('/health/ready', { exposeHeadRoute: true }, async (_request, reply) => {
    // the load balancer sends no requests to this instance
    if (isUnfit()) return noStore(reply).code(503).send({ status: 'down' });
    // if the database does not answer, this throws, and the response is 503
    await store.users.hasAdmin();
    return noStore(reply).send({ status: 'up' });
  });
}
