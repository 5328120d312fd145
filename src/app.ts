// Builds the application: its services, its server, the five feature areas and the background jobs.
import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import { accountPages } from './account/account.ts';
import { adminApis, adminPages } from './admin/admin.ts';
import { adminVersionHeader } from './admin/api/routes.ts';
import { startJobs } from './jobs/jobs.ts';
import { loginPages } from './login/login.ts';
import { notFound } from './oauth/errors.ts';
import {
  crossOriginPaths,
  originDocuments,
  originPaths,
  protocolDocuments,
  protocolEndpoints,
  protocolPages,
  siteEndpoints,
} from './protocol/protocol.ts';
import { createServer } from './server/create-server.ts';
import { crossOrigin } from './server/cross-origin.ts';
import { jsonErrors } from './server/errors.ts';
import { alsoHead } from './server/head.ts';
import { healthEndpoint } from './server/health.ts';
import type { Tracing } from './outbound/tracing.ts';
import { placeOf } from './domain/instances/instance-place.ts';
import { startHeartbeat } from './domain/instances/instance-heartbeat.ts';
import { buildServices, type ServiceOptions } from './services.ts';

export interface AppOptions extends ServiceOptions {
  /** True until the first administrator exists: the service is not ready before. */
  isStarting?: (() => boolean) | undefined;
  /** The id under which the start has announced this instance. */
  instanceId?: string | undefined;
  /** Records traces of requests, if they are switched on. */
  tracing?: Tracing | undefined;
  /** Adds the doors of `gatehouse dev`, which no other start gives (delivery 5). */
  doors?: ((app: FastifyInstance, services: Awaited<ReturnType<typeof buildServices>>) => Promise<void>) | undefined;
}

export async function buildApp({
  isStarting = () => false,
  instanceId,
  tracing,
  doors,
  ...options
}: AppOptions): Promise<FastifyInstance> {
  const { config, logger } = options;
  const { basePath } = config;
  const services = await buildServices(options);
  const { pages, renderer, store } = services;
  const instance = { secretKeyId: services.encryptionKeys[0].id, place: placeOf(config) };
  const stopHeartbeat = await startHeartbeat(store, instance, logger, instanceId);
  const atOrigin = originPaths(basePath);
  const crossOriginAddresses = [...crossOriginPaths.map((path) => basePath + path), ...atOrigin];
  const app = createServer({
    logger,
    metrics: services.metrics,
    tracing,
    trustProxy: config.trustProxy,
    maxConnections: config.limits.sockets,
    https: config.secureCookies,
    crossOriginPaths: crossOriginAddresses,
    prefixHeaders: { prefix: `${basePath}/admin/api/`, headers: adminVersionHeader },
    refuseArrival: services.refuseArrival,
    errors: (error, request, reply) => pages.errors(error, request, reply),
  });
  // the hooks run from the last to the first: requests and jobs have ended before this one
  app.addHook('onClose', stopHeartbeat);
  if (config.auditStream.url !== undefined) services.metrics.measureAuditStream(services.store.auditStream.state);
  if (tracing) services.metrics.measureTraces(tracing.counts);
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  const documents = { ...services, locales: renderer.availableLocales };

  await app.register(
    async (root) => {
      await crossOrigin(root, crossOriginAddresses);
      await root.register(protocolDocuments, documents);
      if (basePath === '') await root.register(originDocuments, documents);
      await root.register(protocolEndpoints, services);
      await root.register(adminApis, services);
      await root.register(healthEndpoint, {
        ...services,
        isUnfit: () => closing || isStarting(),
      });
      const landing = services.config.startPage ? '/account/start' : '/account';
      // programs send no cookies, so only these look for them
      await root.register(async (browsers) => {
        // the plugin writes cookies; browser/cookies.ts reads them one by one
        await browsers.register(fastifyCookie, { hook: false });
        await browsers.register(protocolPages, services);
        await browsers.register(loginPages, services);
        await browsers.register(accountPages, services);
        await browsers.register(adminPages, services);
        if (doors) await browsers.register((scope) => doors(scope, services));
        browsers.get('/', alsoHead, (_request, reply) => pages.redirect(reply, landing));
      });
    },
    { prefix: basePath },
  );
  if (basePath !== '') await app.register(originDocuments, documents);
  // at the hosts of protected sites, which know no path of the issuer
  await app.register(siteEndpoints, services);

  app.setNotFoundHandler((request, reply) => {
    const error = notFound('there is nothing at this URL: see the discovery document for the endpoints');
    return request.headers.accept?.includes('text/html')
      ? pages.errors(error, request, reply)
      : jsonErrors(error, request, reply);
  });
  const jobs = startJobs({ ...services, logger });
  app.addHook('onClose', () => jobs.stop());
  return app;
}
