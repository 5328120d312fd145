// Cross-origin requests: which addresses scripts of any origin may call, without credentials (security R97).
import cors from '@fastify/cors';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { matches } from './request-checks.ts';

const exposed = 'www-authenticate';
/** As the preflight's answer has them; an answer depends on no origin, and says what it says to all of them. */
const headers = {
  vary: 'Origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
};

const allowAnyOrigin: onRequestHookHandler = (_request, reply, done) => {
  reply.headers(headers);
  done();
};

/** @param paths the only addresses, as routes name them, that answer other origins; every other one sends no CORS header at all */
export async function crossOrigin(app: FastifyInstance, paths: readonly string[]): Promise<void> {
  const methods = new Map<string, Set<string>>(paths.map((path) => [path, new Set()]));
  // each route by itself, so that the others are asked nothing
  app.addHook('onRoute', (route) => {
    const taken = methods.get(route.url);
    if (!taken || route.method === 'OPTIONS') return;
    for (const method of [route.method].flat()) taken.add(method);
    route.onRequest = [allowAnyOrigin, ...[route.onRequest ?? []].flat()];
  });
  // in a place of its own, where only preflights come by
  await app.register(async (preflights) => {
    await preflights.register(cors, {
      delegator: (request, callback) => {
        const path = request.url.split('?')[0]!;
        const found = [...methods].find(([route]) => matches(route, path));
        callback(null, {
          origin: found ? '*' : false,
          methods: [...(found?.[1] ?? [])],
          // the last one is for registration; the others take no notice of it
          allowedHeaders: ['authorization', 'content-type', 'idempotency-key'],
          exposedHeaders: [exposed],
          maxAge: 3600,
        });
      },
    });
  });
}
