// Serves GET|POST /sign-up, which mails a link to a new user.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { onlyNavigation } from '../../browser/session.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { onlyForms } from '../../server/form-body.ts';
import { singleValued } from '../../server/parameters.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { createSignUpForms, type SignUpForm, type SignUpFormDependencies } from './form.ts';

const path = '/sign-up';

export async function signUpEndpoint(app: FastifyInstance, options: SignUpFormDependencies): Promise<void> {
  const { config, pages, rememberedRequests } = options;
  const { ask, order } = createSignUpForms(options);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  onlyWhere(app, config.signUp, 'users cannot create accounts here: ask an administrator for one');
  app.addHook('onRequest', async (request) => {
    if (request.method === 'GET') onlyNavigation(request);
  });

  app.get(path, async (request, reply) => ask(request, reply, await formOf(request, request.query)));

  app.post(path, async (request, reply) => order(request, reply, await formOf(request, request.body)));

  async function formOf(request: FastifyRequest, sent: unknown): Promise<SignUpForm> {
    const begun = await rememberedRequests.find(request, singleValued(sent)['transaction']);
    const transaction = begun?.transaction;
    return {
      action: path,
      here: signInPath(path, { transaction }),
      hidden: transaction === undefined ? {} : { transaction },
      domains: config.signUpDomains,
      begun,
    };
  }
}
