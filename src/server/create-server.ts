// Creates the Fastify instance: its limits, its pipeline, and the refusals that come before any route.
import type { Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { usualBody } from '../oauth/json-text.ts';
import type { Tracing } from '../outbound/tracing.ts';
import { crossOriginHeaders } from './cross-origin.ts';
import { loggedError } from './logged-addresses.ts';
import { addPipeline, type PipelineOptions } from './pipeline.ts';
import { maxHeaders } from './request-checks.ts';
import { requestLog } from './request-log.ts';
import { securityHeaders } from './security-headers.ts';
import { refuseExpectation, refuseUnreadable, rememberAnswers } from './unreadable-requests.ts';

interface ServerDependencies extends Omit<PipelineOptions, 'headers' | 'traces'> {
  logger: Logger;
  trustProxy: string[];
  tracing?: Pick<Tracing, 'begin'> | undefined;
  maxConnections: number;
  /** True where clients reach the service by HTTPS. */
  https: boolean;
  /** Writes each refusal for which no plugin has an error handler. */
  errors: FastifyInstance['errorHandler'];
}

/** The most characters of a parameter in a path: of a client_id of 512 characters, each percent-encoded. */
const maxParameter = 3 * 512;

export function createServer(dependencies: ServerDependencies): FastifyInstance {
  const { trustProxy, tracing, https, prefixHeaders, errors } = dependencies;
  const ofAddress = crossOriginHeaders(dependencies.crossOriginPaths);
  const logger = dependencies.logger.child({}, { serializers: { err: loggedError } }) as FastifyBaseLogger;
  const headers = securityHeaders(https);
  // the address of an unreadable request may be unknown
  const unroutedHeaders = { ...headers, ...prefixHeaders.headers };
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    bodyLimit: usualBody,
    requestTimeout: 15_000,
    childLoggerFactory: requestLog,
    // milliseconds without a byte in either direction, longer than any answer takes: it also cuts off a client that does not read (security R104)
    connectionTimeout: 30_000,
    http: {
      // more than the pipeline accepts: it refuses such a request at its address, and with a page in a browser
      maxHeaderSize: 4 * maxHeaders,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      // the pipeline refuses a request without Host, in the service's own form
      requireHostHeader: false,
      // a request without a body comes without a stream, which would cost a tenth of a small answer
      optimizeEmptyRequests: true,
    },
    routerOptions: { maxParamLength: maxParameter },
    exposeHeadRoutes: false,
    // a request that the framework refuses before any hook gets the same headers and form
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...headers, ...ofAddress(request) });
      if (request.url.startsWith(prefixHeaders.prefix)) reply.headers(prefixHeaders.headers);
      errors.call(app, error, request, reply);
    },
    clientErrorHandler: refuseUnreadable(logger, unroutedHeaders),
    // zod reads bodies and JSON.stringify writes answers: Fastify need not load its compilers
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // during a stop the service answers a request that still arrives on an open connection, and then closes the connection
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  });
  limitConnections(app.server, dependencies.maxConnections, dependencies.logger);
  rememberAnswers(app.server);
  app.server.on('checkExpectation', refuseExpectation(logger, unroutedHeaders));
  addPipeline(app, { ...dependencies, headers, traces: tracing && { tracing, trustProxy } });
  // before any route: a route takes the error handler that exists when it is registered
  app.setErrorHandler(errors);
  return app;
}

const warningInterval = 60_000; // milliseconds

/**
 * Refuses connections past `max`, 0 for no limit, so that slow and idle clients leave file descriptors for the database and for others
 * (security R104). It then also closes connections that wait between two requests, so that only a client that is busy, or slow within
 * the time limits, keeps one for long.
 */
function limitConnections(server: Server, max: number, logger: Logger): void {
  if (max === 0) return;
  server.maxConnections = max;
  let warned = -Infinity;
  server.on('drop', () => {
    server.closeIdleConnections();
    if (performance.now() - warned < warningInterval) return;
    warned = performance.now();
    logger.warn({ connections: max }, 'a connection was refused: LIMIT_SOCKETS was reached');
  });
}

function noSchema(): never {
  throw new Error('a route has a schema: zod checks requests instead');
}
