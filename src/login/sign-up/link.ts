// Serves GET|POST /sign-up/link: a user with a sign-up link, which an administrator made, asks for an account, also where SIGN_UP is off.
import type { FastifyInstance } from 'fastify';
import { onlyNavigation } from '../../browser/session.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { linkGone, linkPath } from '../../interaction/mailed-link.ts';
import { signUpDomainsOf } from '../../rules/users/sign-up.ts';
import { onlyForms } from '../../server/form-body.ts';
import { singleValued } from '../../server/parameters.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import { createSignUpForms, type SignUpForm, type SignUpFormDependencies } from './form.ts';

const path = '/sign-up/link';

export async function signUpLinkEndpoint(app: FastifyInstance, options: SignUpFormDependencies): Promise<void> {
  const { config, store, pages } = options;
  const { ask, order } = createSignUpForms(options);
  const guarded = guardedGroups(config);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const form = await formOf(request.query);
    return form ? ask(request, reply, form) : linkGone(pages, request, reply, 'sign-up-link');
  });

  app.post(path, async (request, reply) => {
    const form = await formOf(request.body);
    return form ? order(request, reply, form) : linkGone(pages, request, reply, 'sign-up-link');
  });

  /** Undefined for a link that does not work, whatever the reason: the page is the same for all. */
  async function formOf(sent: unknown): Promise<SignUpForm | undefined> {
    const { token } = singleValued(sent);
    const hash = token === undefined ? undefined : opaqueTokenHash('sign_up_link', token);
    const link = hash && (await store.signUpLinks.findByToken(hash, guarded));
    if (!link) return undefined;
    return {
      action: path,
      here: linkPath(path, { token: token! }),
      hidden: { token: token! },
      domains: signUpDomainsOf(config, link),
      begun: undefined,
      signUpLink: link.id,
    };
  }
}
