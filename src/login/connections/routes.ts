// Serves the sign-in by a connection: its beginning, the answer, and the pages to which the answer can lead.
import type { FastifyInstance } from 'fastify';
import { onlyForms } from '../../server/form-body.ts';
import { beginRoutes } from './begin.ts';
import { callbackRoutes } from './callback.ts';
import { chooseNameRoutes } from './choose-name.ts';
import { directoryRoutes } from './directory.ts';
import { keyRoutes } from './keys.ts';
import type { LoginConnectionsDependencies } from './login-connections.ts';
import { createDecide } from './outcome.ts';
import { createConnectionProblems } from './problem.ts';
import { providerLogoutRoutes } from './provider-logout.ts';
import { proveAccountRoutes } from './prove-account.ts';
import { samlRoutes } from './saml.ts';

export async function loginConnectionsEndpoint(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => options.pages.errors(error, request, reply));
  const problems = createConnectionProblems(options);
  const outcomes = createDecide(options, problems);
  const { decide } = outcomes;
  keyRoutes(app, options);
  beginRoutes(app, options, problems);
  callbackRoutes(app, options, problems, decide);
  directoryRoutes(app, options, problems, decide);
  providerLogoutRoutes(app, options);
  samlRoutes(app, options, problems);
  proveAccountRoutes(app, options, problems, decide);
  chooseNameRoutes(app, options, problems, outcomes);
}
