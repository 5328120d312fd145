// Registers the console's pages about the service: overview, sessions, keys, audit trail.
import type { FastifyInstance } from 'fastify';
import { onlyForms } from '../../../server/form-body.ts';
import { auditRoutes } from './audit-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { overviewRoutes } from './overview-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import type { PageResponses } from '../../../pages/page-response.ts';
import type { OverviewRoutesDependencies } from './overview-routes.ts';
import type { SessionRoutesDependencies } from './session-routes.ts';
import type { KeyRoutesDependencies } from './key-routes.ts';
import type { AuditRoutesDependencies } from './audit-routes.ts';

type ConsoleOperationsDependencies = OverviewRoutesDependencies &
  SessionRoutesDependencies &
  KeyRoutesDependencies &
  AuditRoutesDependencies & {
    pages: PageResponses;
  };

export async function consoleOperationsEndpoint(
  app: FastifyInstance,
  options: ConsoleOperationsDependencies,
): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => options.pages.errors(error, request, reply));
  overviewRoutes(app, options);
  sessionRoutes(app, options);
  keyRoutes(app, options);
  auditRoutes(app, options);
}
