// Asks a new user for an address and orders the mail to it: for everyone, or for the users of a sign-up link.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { countLinkRequest } from '../../interaction/mailed-link.ts';
import type { RememberedRequest, RememberedRequests } from '../../interaction/remembered-request.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { text } from '../../oauth/text.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Store } from '../../repositories/store.ts';
import { email as mailAddress } from '../../rules/users/administration.ts';
import { isOfDomains } from '../../rules/users/sign-up.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { readParameters } from '../../server/parameters.ts';

const wanted = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  email: text(320).optional(),
});

type State = Pick<Pages['sign-up'], 'typed' | 'fault' | 'problem' | 'wait' | 'sent'>;

export interface SignUpFormDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
  limits: Limits;
  rememberedRequests: RememberedRequests;
}

/** Where the form is, and who may sign up by it. */
export interface SignUpForm {
  action: string;
  /** The page of the form, with its query. */
  here: string;
  /** What the form sends beside the address: the transaction, or the token of the sign-up link. It is valid for that only. */
  hidden: Record<string, string>;
  domains: readonly string[];
  /** The authorization request of the browser, if there is one. */
  begun: RememberedRequest | undefined;
  /** The id of the sign-up link. */
  signUpLink?: string;
}

export function createSignUpForms(options: SignUpFormDependencies) {
  const { config, store, sessions, pages, limits, rememberedRequests } = options;
  function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    form: SignUpForm,
    state: State = {},
    status = 200,
  ): FastifyReply {
    const { action, here, hidden, domains, begun } = form;
    const csrf = sessions.formToken(request, reply, {
      action,
      transaction: begun?.transaction,
      shown: hidden['token'],
    });
    const { client, uiLocales } = begun?.pending ?? {};
    const data = {
      form: { action, hidden: { csrf, ...hidden } },
      lifetime: config.lifetimes.emailVerification,
      domains: [...domains],
      loginUri: signInPath('/login', { transaction: begun?.transaction }),
      ...(client && { client }),
      ...state,
    };
    return pages.send(request, reply, 'sign-up', data, { status, uiLocales, here });
  }

  return {
    ask,
    /** Orders the mail for the address that was typed. */
    async order(request: FastifyRequest, reply: FastifyReply, form: SignUpForm): Promise<FastifyReply> {
      const { csrf, transaction, email } = readParameters(wanted, request.body);
      const typed = email?.trim() ?? '';
      // the authorization request may have expired since the page was shown
      if (!sessions.isOwnForm(request, csrf, { action: form.action, transaction, shown: form.hidden['token'] }))
        return ask(request, reply, form, { typed, problem: 'tampered' }, 400);
      const { data: recipient } = mailAddress.safeParse(typed);
      if (recipient === undefined) return ask(request, reply, form, { typed, fault: 'invalid' }, 400);
      if (!isOfDomains(form.domains, recipient)) return ask(request, reply, form, { typed, fault: 'domain' }, 400);
      const wait = await countLinkRequest(limits, request);
      if (wait > 0) {
        reply.header('retry-after', String(wait));
        return ask(request, reply, form, { typed, problem: 'throttled', wait }, 429);
      }
      // the answer does not reveal whether the address has an account: only the mail does (security R60)
      const data = form.signUpLink === undefined ? {} : { sign_up_link: form.signUpLink };
      await store.mails.insert({ name: 'sign-up-wanted', recipient, locale: languagesOf(request), data });
      rememberedRequests.remember(request, reply, form.begun?.transaction);
      return ask(request, reply, form, { sent: true });
    },
  };
}
