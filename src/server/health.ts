// Answers GET /health/live and GET /health/ready with up or down, and nothing more; for `gatehouse doctor` it notes how its request arrived.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { jsonErrors, noStore } from './errors.ts';
import { clientAddress } from './network.ts';
import type { Config } from '../config.ts';
import type { SeenRequest } from '../repositories/doctor/doctor-probes.ts';
import type { Store } from '../repositories/store.ts';

interface HealthDependencies {
  config: Pick<Config, 'databasePoolSize'>;
  store: Pick<Store, 'users' | 'doctorProbes'>;
  /** True while the service starts or closes. */
  isUnfit: () => boolean;
}

/** The address of a doctor's request: its single-use id, and letters that come back twice in a header of the answer. */
const probePattern = /\?probe=([\w-]{43})(?:&state=([a-z]{1,6000}))?$/;

export async function healthEndpoint(
  app: FastifyInstance,
  { config, store, isUnfit }: HealthDependencies,
): Promise<void> {
  app.setErrorHandler(jsonErrors);
  app.get('/health/live', { exposeHeadRoute: true }, async (request, reply) => {
    noStore(reply);
    const probe = probePattern.exec(request.url);
    if (probe) {
      const [, id = '', state] = probe;
      // the process is up whatever the database says
      const isKnown = await store.doctorProbes.see(id, seenIn(request, config)).catch(() => false);
      if (isKnown && state !== undefined) reply.header('x-gatehouse-state', state + state);
    }
    return { status: 'up' };
  });
  app.get('/health/ready', { exposeHeadRoute: true }, async (_request, reply) => {
    // the load balancer sends no requests to this instance
    if (isUnfit()) return noStore(reply).code(503).send({ status: 'down' });
    // if the database does not answer, this throws, and the response is 503
    await store.users.hasAdmin();
    return noStore(reply).send({ status: 'up' });
  });
}

function seenIn(request: FastifyRequest, { databasePoolSize }: HealthDependencies['config']): SeenRequest {
  const { headers, raw, socket } = request;
  const scheme = headers['x-forwarded-proto'];
  return {
    host: headers.host ?? '',
    ...(typeof scheme === 'string' && { scheme }),
    peer: socket.remoteAddress ?? '',
    address: clientAddress(request) ?? '',
    forwarded: headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined,
    // the framework follows the header for as long as it trusts the address before
    trusted: (request.ips ?? []).length > 1,
    size: raw.rawHeaders.reduce((size, text) => size + text.length, request.url.length),
    at: new Date().toISOString(),
    pool: databasePoolSize,
  };
}
