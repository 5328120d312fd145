// The console's pages about the service itself: overview, sessions, keys, audit.
import type { FastifyInstance } from 'fastify';
import { onlyForms } from '../../http/form-body.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { auditRoutes } from './audit-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { overviewRoutes } from './overview-routes.ts';
import { sessionRoutes } from './session-routes.ts';

export async function consoleOperationsEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => options.pages.errors(error, request, reply));
  overviewRoutes(app, options);
  sessionRoutes(app, options);
  keyRoutes(app, options);
  auditRoutes(app, options);
}
