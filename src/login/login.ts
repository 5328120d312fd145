// Registers the pages by which a user signs in, signs up, accepts an invitation, consents, or gets back into an account.
import type { FastifyInstance } from 'fastify';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
import { accessDeniedEndpoint } from './access-denied/routes.ts';
import { accountChooserEndpoint } from './accounts/routes.ts';
import { loginConnectionsEndpoint } from './connections/routes.ts';
import { consentEndpoint } from './consent/routes.ts';
import { emailCodeEndpoint } from './email-code/routes.ts';
import { deviceEndpoint } from './device/routes.ts';
import { invitationEndpoint } from './invitation/routes.ts';
import { passwordResetEndpoint } from './password-reset/routes.ts';
import { pagesEndpoint } from './public-pages/routes.ts';
import { loginSecondFactorEndpoint } from './second-factor/routes.ts';
import { loginEndpoint } from './sign-in/routes.ts';
import { signUpCompletionEndpoint, signUpLinkCompletionEndpoint } from './sign-up/complete.ts';
import { signUpLinkEndpoint } from './sign-up/link.ts';
import { signUpEndpoint } from './sign-up/routes.ts';

const endpoints = [
  loginEndpoint,
  accountChooserEndpoint,
  emailCodeEndpoint,
  loginSecondFactorEndpoint,
  loginConnectionsEndpoint,
  consentEndpoint,
  accessDeniedEndpoint,
  deviceEndpoint,
  signUpEndpoint,
  signUpCompletionEndpoint,
  signUpLinkEndpoint,
  signUpLinkCompletionEndpoint,
  invitationEndpoint,
  passwordResetEndpoint,
  pagesEndpoint,
];

export async function loginPages(app: FastifyInstance, dependencies: DependenciesOf<typeof endpoints>): Promise<void> {
  await registerAll(app, endpoints, dependencies);
}
