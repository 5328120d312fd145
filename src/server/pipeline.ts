// Handles every request before its route and after its answer, whatever its address is.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { newDeadline, withDeadline } from '../database/deadline.ts';
import { invalidRequest, type OAuthError } from '../oauth/errors.ts';
import { crossOriginHeaders } from './cross-origin.ts';
import { jsonErrors } from './errors.ts';
import { trackHandlers } from './handler-deadline.ts';
import type { Metrics } from './metrics.ts';
import { type TracedRequestsOptions, traceRequests } from './traced-requests.ts';
import { authorizationRefusal, createMethodCheck, isRepeated, syntaxRefusal } from './request-checks.ts';

export interface PipelineOptions {
  metrics: Pick<Metrics, 'observe'>;
  /** Headers of every response. */
  headers: Record<string, string>;
  /** Further headers of every response to an address that begins with `prefix`, also to one without a route. */
  prefixHeaders: { prefix: string; headers: Record<string, string> };
  /** The addresses, as routes name them, that answer a preflight themselves. */
  crossOriginPaths: readonly string[];
  /** Records traces of requests, if they are switched on. */
  traces?: TracedRequestsOptions | undefined;
  /** Refuses a request before its method and address are looked at, and without a page; undefined where the service takes no certificates. */
  refuseArrival?: ((request: FastifyRequest) => OAuthError | undefined) | undefined;
}

/** Milliseconds in which a handler has to answer, and between two checks of that. */
export const handlerLimits = { handler: 19_000, interval: 1_000 };

/** Registers the pipeline. Call it before the first route is registered, since the check of methods has to see every route. */
export function addPipeline(app: FastifyInstance, options: PipelineOptions): void {
  const { metrics, headers, prefixHeaders, traces, refuseArrival } = options;
  if (traces) traceRequests(app, traces);
  const handlers = trackHandlers(app, handlerLimits);
  const methodRefusal = createMethodCheck(app, options.crossOriginPaths);
  const ofAddress = crossOriginHeaders(options.crossOriginPaths);

  // a callback is cheaper than a promise, and this hook is synchronous
  app.addHook('onRequest', (request, reply, done) => {
    handlers.begin(reply);
    reply.headers(headers);
    if (request.url.startsWith(prefixHeaders.prefix)) reply.headers(prefixHeaders.headers);
    // refused without a page, whose links could name either host (security R98)
    if (isRepeated(request.raw.rawHeaders, 'host'))
      return void jsonErrors(invalidRequest('the header Host is repeated'), request, reply);
    const malformed = syntaxRefusal(request);
    const unserved = malformed ? undefined : refuseArrival?.(request);
    if (unserved) return void jsonErrors(unserved, request, reply);
    const refusal = malformed ?? methodRefusal(request) ?? authorizationRefusal(request);
    if (refusal || request.is404) reply.headers(ofAddress(request));
    if (refusal) return done(refusal);
    // all statements of a request share one deadline (security R108); Fastify enters this context again once it has read the body
    withDeadline(newDeadline(), done);
  });

  app.addHook('preParsing', (request, _reply, payload, done) => {
    // with optimizeEmptyRequests a request without a body has no stream, and a parser would wait for its end
    const isAwaited = request.raw.readableEnded && request.headers['content-type'] !== undefined;
    done(null, isAwaited ? Readable.from([]) : payload);
  });

  app.addHook('onResponse', (request, reply, done) => {
    handlers.end(reply);
    metrics.observe(request.routeOptions.url ?? 'none', request.method, reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
}
