// Records each request as a span with its method, the pattern of its route and its status, and runs the request within it.
import { BlockList, isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { withSpan } from '../outbound/span.ts';
import type { Tracing } from '../outbound/tracing.ts';

export interface TracedRequestsOptions {
  tracing: Pick<Tracing, 'begin'>;
  trustProxy: readonly string[];
}

/** Registers the hook. Only a service with traces calls it, before any other hook. */
export function traceRequests(app: FastifyInstance, { tracing, trustProxy }: TracedRequestsOptions): void {
  const isTrusted = createPeerCheck(trustProxy);
  app.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions, headers, raw } = request;
    // any other caller could have its own requests recorded, and put them into the traces of others
    const given = headers['traceparent'];
    const traceparent = typeof given === 'string' && isTrusted(raw.socket.remoteAddress) ? given : undefined;
    const span = tracing.begin({ method, route: request.is404 ? undefined : routeOptions.url, traceparent });
    if (!span) return done();
    reply.raw.once('close', () => {
      const { statusCode } = reply;
      // a client that did not wait for its answer
      if (!reply.raw.writableFinished) return span.end('aborted');
      span.set({ 'http.response.status_code': statusCode });
      span.end(statusCode >= 500 ? String(statusCode) : undefined);
    });
    withSpan(span, done);
  });
}

/** Whether a peer is one of TRUST_PROXY: addresses and CIDR ranges. */
function createPeerCheck(ranges: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = range.split('/') as [string, string | undefined];
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => address !== undefined && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
