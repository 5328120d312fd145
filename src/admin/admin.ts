// Registers the routes for administrators: the HTTP API, the metrics, the console, and the page that approves a registration by its code.
import type { FastifyInstance } from 'fastify';
import { createAdministration } from '../domain/administration/administration.ts';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import { adminEndpoint } from './api/routes.ts';
import { type ConsoleDependencies, createConsole } from './console/admin-session.ts';
import { consoleClientsEndpoint } from './console/clients/routes.ts';
import { consoleGroupsEndpoint } from './console/groups/routes.ts';
import { consoleOperationsEndpoint } from './console/operations/routes.ts';
import { consoleSearchEndpoint } from './console/search/routes.ts';
import { consoleEndpoint } from './console/session/routes.ts';
import { consoleTryItEndpoint } from './console/try-it/routes.ts';
import { consoleUsersEndpoint } from './console/users/routes.ts';
import { metricsEndpoint } from './metrics/routes.ts';
import type { OperationContext } from './operations/operation.ts';
import { registrationApprovalEndpoint } from './registration-approval/routes.ts';

const apis = [adminEndpoint, metricsEndpoint];
const pages = [
  consoleEndpoint,
  consoleClientsEndpoint,
  consoleUsersEndpoint,
  consoleGroupsEndpoint,
  consoleSearchEndpoint,
  consoleOperationsEndpoint,
  consoleTryItEndpoint,
  registrationApprovalEndpoint,
];

type Services = Omit<OperationContext, 'administration' | 'keyRing'> & { keyRing: KeyRing };

const contextOf = (services: Services): OperationContext => ({
  ...services,
  administration: createAdministration(services.store),
  keyRing: async () => services.keyRing,
});

export async function adminApis(
  app: FastifyInstance,
  services: Services & Omit<DependenciesOf<typeof apis>, 'operationContext'>,
): Promise<void> {
  await registerAll(app, apis, { ...services, operationContext: contextOf(services) });
}

export async function adminPages(
  app: FastifyInstance,
  services: Services & ConsoleDependencies & Omit<DependenciesOf<typeof pages>, 'console' | 'operationContext'>,
): Promise<void> {
  const console = createConsole(services);
  await registerAll(app, pages, { ...services, console, operationContext: contextOf(services) });
}
