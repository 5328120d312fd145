// Serves GET /metrics in the text format of Prometheus, to a client or an administrator with the scope metrics or admin.
import type { FastifyInstance } from 'fastify';
import { resourceErrors, noStore } from '../../server/errors.ts';
import type { Metrics } from '../../server/metrics.ts';
import { driftOf } from '../operations/config/drift.ts';
import type { OperationContext } from '../operations/operation.ts';
import { type AdministratorAccess, requireAdministrator } from '../access.ts';

export async function metricsEndpoint(
  app: FastifyInstance,
  {
    metrics,
    operationContext,
    configDrift = () => driftOf(operationContext),
    ...access
  }: AdministratorAccess & {
    metrics: Metrics;
    operationContext: OperationContext;
    /** Counts what differs from CONFIG_FILE; undefined without it. */
    configDrift?: (() => Promise<number>) | undefined;
  },
): Promise<void> {
  metrics.measureDrift(configDrift);
  app.setErrorHandler(resourceErrors);
  app.get('/metrics', async (request, reply) => {
    await requireAdministrator(request, reply, access, ['metrics', 'admin']);
    return noStore(reply)
      .type(metrics.contentType)
      .send(await metrics.text());
  });
}
