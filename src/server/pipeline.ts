// Does what happens to every request, whatever its address: before its route, and after its answer.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { newDeadline, withDeadline } from '../database/deadline.ts';
import { invalidRequest } from '../oauth/errors.ts';
import { jsonErrors } from './errors.ts';
import { trackHandlers } from './handler-deadline.ts';
import type { Metrics } from './metrics.ts';
import { authorizationRefusal, createMethodCheck, isRepeated, syntaxRefusal } from './request-checks.ts';

export interface PipelineOptions {
  metrics: Pick<Metrics, 'observe'>;
  /** Headers of every response. */
  headers: Record<string, string>;
  /** Further headers of every response to an address that begins with `prefix`, also to one without a route. */
  prefixHeaders: { prefix: string; headers: Record<string, string> };
  /** The addresses, as routes name them, that answer a preflight themselves. */
  crossOriginPaths: readonly string[];
}

/** Milliseconds that a handler has for its answer, and between two looks at that. */
export const handlerLimits = { handler: 19_000, interval: 1_000 };

/** Registers the pipeline. It must come before the first route, which the check of methods has to see. */
export function addPipeline(app: FastifyInstance, options: PipelineOptions): void {
  const { metrics, headers, prefixHeaders } = options;
  const handlers = trackHandlers(app, handlerLimits);
  const methodRefusal = createMethodCheck(app, options.crossOriginPaths);

  // with a callback: it has nothing to wait for
  app.addHook('onRequest', (request, reply, done) => {
    handlers.begin(reply);
    reply.headers(headers);
    if (request.url.startsWith(prefixHeaders.prefix)) reply.headers(prefixHeaders.headers);
    // never a page: its address could be that of either host (security R98)
    if (isRepeated(request.raw.rawHeaders, 'host'))
      return void jsonErrors(invalidRequest('the header Host is there twice'), request, reply);
    const refusal = syntaxRefusal(request) ?? methodRefusal(request) ?? authorizationRefusal(request);
    if (refusal) return done(refusal);
    // all statements of a request share one deadline (security R108); Fastify enters this context again once it has read the body
    withDeadline(newDeadline(), done);
  });

  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Node gives a request without a body no stream (optimizeEmptyRequests), and a parser would wait for the end of one
    const isAwaited = request.raw.readableEnded && request.headers['content-type'] !== undefined;
    done(null, isAwaited ? Readable.from([]) : payload);
  });

  app.addHook('onResponse', (request, reply, done) => {
    handlers.end(reply);
    metrics.observe(request.routeOptions.url ?? 'none', request.method, reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
}
