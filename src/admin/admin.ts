// Registers what administrators use: the HTTP API, the metrics, the console, and the page that approves a registration by its code.
import type { FastifyInstance } from 'fastify';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
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
import { registrationApprovalEndpoint } from './registration-approval/routes.ts';

const apis = [adminEndpoint, metricsEndpoint];
const consolePages = [
  consoleEndpoint,
  consoleClientsEndpoint,
  consoleUsersEndpoint,
  consoleGroupsEndpoint,
  consoleSearchEndpoint,
  consoleOperationsEndpoint,
  consoleTryItEndpoint,
];

export async function adminApis(app: FastifyInstance, dependencies: DependenciesOf<typeof apis>): Promise<void> {
  await registerAll(app, apis, dependencies);
}

export async function adminPages(
  app: FastifyInstance,
  dependencies: ConsoleDependencies &
    Omit<DependenciesOf<typeof consolePages>, 'console'> &
    DependenciesOf<[typeof registrationApprovalEndpoint]>,
): Promise<void> {
  const console = createConsole(dependencies);
  await registerAll(app, consolePages, { ...dependencies, console });
  await app.register(registrationApprovalEndpoint, dependencies);
}
