// Registers the pages of the signed-in user's own account.
import type { FastifyInstance } from 'fastify';
import { servePages } from '../pages/page-response.ts';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
import { accountApplicationsEndpoint } from './applications/routes.ts';
import { accountConnectionsEndpoint } from './connections/routes.ts';
import { accountDataEndpoint } from './data/routes.ts';
import { accountDeleteEndpoint } from './delete/routes.ts';
import { accountEmailEndpoint } from './email/routes.ts';
import { accountEndpoint } from './overview/routes.ts';
import { accountPasskeysEndpoint } from './passkeys/routes.ts';
import { accountPasswordEndpoint } from './password/routes.ts';
import { accountPictureEndpoint } from './picture/routes.ts';
import { accountProfileEndpoint } from './profile/routes.ts';
import { accountSecondFactorsEndpoint } from './second-factors/routes.ts';
import { accountRequestsEndpoint } from './requests/routes.ts';
import { accountStartEndpoint } from './start/routes.ts';
import { accountSessionsEndpoint } from './sessions/routes.ts';

const endpoints = [
  accountEndpoint,
  accountProfileEndpoint,
  accountPictureEndpoint,
  accountPasswordEndpoint,
  accountEmailEndpoint,
  accountPasskeysEndpoint,
  accountSecondFactorsEndpoint,
  accountConnectionsEndpoint,
  accountSessionsEndpoint,
  accountApplicationsEndpoint,
  accountRequestsEndpoint,
  accountStartEndpoint,
  accountDataEndpoint,
  accountDeleteEndpoint,
];

export async function accountPages(
  app: FastifyInstance,
  dependencies: DependenciesOf<typeof endpoints>,
): Promise<void> {
  await servePages(app, dependencies.pages);
  await registerAll(app, endpoints, dependencies);
}
