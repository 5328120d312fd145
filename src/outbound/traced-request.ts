// Records an outgoing request as a span: its method, host and status, never its path, which can have a secret in it (security R99).
import type { ClientRequest } from 'node:http';
import { currentSpan, kindOf, type Span } from './span.ts';

/** Begins the span of an outgoing request, if the current work is traced. */
export function outgoingSpan(method: string, { hostname, port }: { hostname: string; port: string }): Span | undefined {
  const attributes = { 'http.request.method': method, 'server.address': hostname, 'server.port': Number(port) };
  return currentSpan()?.begin(method, 'client', attributes);
}

/** Ends the span with the request. */
export function endWith(request: ClientRequest, span: Span): ClientRequest {
  let failure: string | undefined;
  request.once('response', ({ statusCode = 0 }) => {
    span.set({ 'http.response.status_code': statusCode });
    if (statusCode >= 400) failure = String(statusCode);
  });
  request.once('error', (error) => (failure = kindOf(error)));
  return request.once('close', () => span.end(failure));
}
