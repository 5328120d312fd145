// Cross-origin requests: which addresses scripts of any origin may call, without credentials (security R97).
import cors from '@fastify/cors';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';

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

/** @param paths the only addresses that answer other origins; every other one sends no CORS header at all */
export async function crossOrigin(app: FastifyInstance, paths: readonly string[]): Promise<void> {
  const open = new Set(paths);
  // each route by itself, so that the others are asked nothing
  app.addHook('onRoute', (route) => {
    if (!open.has(route.url) || route.method === 'OPTIONS') return;
    route.onRequest = [allowAnyOrigin, ...[route.onRequest ?? []].flat()];
  });
  // in a place of its own, where only preflights come by
  await app.register(async (preflights) => {
    await preflights.register(cors, {
      delegator: (request, callback) => {
        const allowed = open.has(request.url.split('?')[0]!);
        callback(null, {
          origin: allowed ? '*' : false,
          methods: ['GET', 'POST'],
          allowedHeaders: ['authorization', 'content-type'],
          exposedHeaders: [exposed],
          maxAge: 3600,
        });
      },
    });
  });
}
