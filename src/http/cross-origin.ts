// Cross-origin requests: which addresses scripts of any origin may call, without credentials (security R97).
import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** @param paths the only addresses that answer other origins; every other one sends no CORS header at all */
export async function crossOrigin(app: FastifyInstance, paths: readonly string[]): Promise<void> {
  const open = new Set(paths);
  await app.register(cors, {
    delegator: (request, callback) => {
      const allowed = open.has(request.url.split('?')[0]!);
      callback(null, {
        origin: allowed ? '*' : false,
        methods: ['GET', 'POST'],
        allowedHeaders: ['authorization', 'content-type'],
        exposedHeaders: ['www-authenticate'],
        maxAge: 3600,
      });
    },
  });
}
