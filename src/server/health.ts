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
    // the balancer leaves this instance out
    if (isUnfit()) return noStore(reply).code(503).send({ status: 'down' });
    // throws, and so answers 503, when the database cannot be asked
    await store.users.hasAdmin();
    return noStore(reply).send({ status: 'up' });
  });
}
