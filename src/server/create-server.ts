// Creates the Fastify instance: its limits, the headers of every response, and the refusals that come before any route.
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { refuseTwoAuthorizations } from './authorization-header.ts';
import { boundConnections } from './connections.ts';
import type { ConstantAnswers } from './constant-answers.ts';
import { endEmptyBodies, spareEmptyBodies } from './empty-bodies.ts';
import { limitHandlers } from './handler-deadline.ts';
import type { Metrics } from './metrics.ts';
import { requestLog } from './request-log.ts';
import { headersOfEveryResponse, securityHeaders } from './security-headers.ts';
import { refuseExpectation, refuseUnreadable, rememberAnswers } from './unreadable-requests.ts';

interface ServerDependencies {
  logger: Logger;
  metrics: Metrics;
  constants: ConstantAnswers;
  trustProxy: string[];
  maxConnections: number;
  /** True where the service is reached by HTTPS. */
  https: boolean;
  /** The addresses, as routes name them, that answer a preflight themselves. */
  crossOriginPaths: readonly string[];
  /** Headers of every response to an address that begins with `below`, for addresses without a route too. */
  extra: { below: string; headers: Record<string, string> };
  /** Writes a refusal that no plugin writes. */
  errors: FastifyInstance['errorHandler'];
}

export const handlerLimits = { handler: 19_000, interval: 1_000 }; // milliseconds

export function createServer(dependencies: ServerDependencies): FastifyInstance {
  const { metrics, constants, trustProxy, https, crossOriginPaths, extra, errors } = dependencies;
  const logger = dependencies.logger as FastifyBaseLogger;
  // a request that no route sees may come from a caller of these addresses
  const unroutedHeaders = { ...headersOfEveryResponse(https), ...extra.headers };
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    bodyLimit: 64 * 1024,
    requestTimeout: 15_000,
    childLoggerFactory: requestLog,
    // without a byte in either direction, longer than any answer takes: a client that does not read is cut off too (security R104)
    connectionTimeout: 30_000,
    // a request without Host is refused in our own form
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      ...spareEmptyBodies,
    },
    routerOptions: { maxParamLength: 255 },
    exposeHeadRoutes: false,
    // a request that the framework refuses before any hook gets the same headers and form
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfEveryResponse(https));
      if (request.url.startsWith(extra.below)) reply.headers(extra.headers);
      errors.call(app, error, request, reply);
    },
    clientErrorHandler: refuseUnreadable(logger, unroutedHeaders),
    // zod reads bodies and JSON.stringify writes answers, so the framework's own compilers are not even loaded
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // a request that still arrives on an open connection is answered, and the connection ends with that answer
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  });
  boundConnections(app.server, dependencies.maxConnections, dependencies.logger);
  constants.answerBefore(app);
  rememberAnswers(app.server);
  app.server.on('checkExpectation', refuseExpectation(logger, unroutedHeaders));
  limitHandlers(app, handlerLimits);
  metrics.measure(app);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith(extra.below)) reply.headers(extra.headers);
    done();
  });
  securityHeaders(app, https, crossOriginPaths);
  // before any route: a route takes the error handler that exists when it is registered
  app.setErrorHandler(errors);
  refuseTwoAuthorizations(app);
  endEmptyBodies(app);
  return app;
}

/** In place of the framework's compilers of schemas. */
function noSchema(): never {
  throw new Error('a route has a schema: zod checks requests instead');
}
