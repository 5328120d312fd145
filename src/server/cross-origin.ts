// Lets scripts of any origin call some addresses, without credentials (security R97).
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import { matches } from './request-checks.ts';

const exposed = ['www-authenticate', 'dpop-nonce', 'retry-after'];
/** The same headers as in the response to a preflight: no response depends on the origin. */
const headers = {
  vary: 'Origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed.join(', '),
};

/** The headers of a refusal that comes before any route: those of the address that the request names, if it is one of `paths`. */
export const crossOriginHeaders =
  (paths: readonly string[]) =>
  ({ url }: Pick<FastifyRequest, 'url'>): Record<string, string> => {
    const path = url.split('?')[0]!;
    return paths.some((route) => matches(route, path)) ? headers : {};
  };

const allowAnyOrigin: onRequestHookHandler = (_request, reply, done) => {
  reply.headers(headers);
  done();
};

/** @param paths the addresses, as routes name them, that scripts of other origins may call; all others send no CORS header */
export async function crossOrigin(app: FastifyInstance, paths: readonly string[]): Promise<void> {
  const methods = new Map<string, Set<string>>(paths.map((path) => [path, new Set()]));
  // on each route of the list, so that other routes do no work for it
  app.addHook('onRoute', (route) => {
    const taken = methods.get(route.url);
    if (!taken || route.method === 'OPTIONS') return;
    for (const method of [route.method].flat()) taken.add(method);
    route.onRequest = [allowAnyOrigin, ...[route.onRequest ?? []].flat()];
  });
  // encapsulated, since the plugin is needed for preflights only
  await app.register(async (preflights) => {
    await preflights.register(cors, {
      delegator: (request, callback) => {
        const path = request.url.split('?')[0]!;
        const found = [...methods].find(([route]) => matches(route, path));
        callback(null, {
          origin: found ? '*' : false,
          methods: [...(found?.[1] ?? [])],
          // idempotency-key is for registration, dpop for tokens; no address uses the version of the Model Context Protocol
          allowedHeaders: ['authorization', 'content-type', 'dpop', 'idempotency-key', 'mcp-protocol-version'],
          exposedHeaders: exposed,
          maxAge: 3600,
        });
      },
    });
  });
}
