// The console's pages about the service itself: the overview at /admin.
import type { FastifyInstance } from 'fastify';
import type { ServerOptions } from '../../http/server-options.ts';

/** Counted up to here: more is "more than". */
const mostCounted = 1000;

export async function consoleOperationsEndpoint(
  app: FastifyInstance,
  { console, pages, store }: ServerOptions,
): Promise<void> {
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/admin', async (request, reply) => {
    const visit = await console.enter(request, reply);
    if (!visit) return reply;
    const waiting = await store.clients.countWaiting(mostCounted + 1);
    return console.send(
      request,
      reply,
      visit,
      'console-overview',
      {
        waiting: Math.min(waiting, mostCounted),
        more: waiting > mostCounted,
        waitingUri: '/admin/clients?waiting=true',
      },
      { section: 'overview' },
    );
  });
}
