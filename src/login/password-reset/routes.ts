// Serves GET|POST /password/forgotten, which mails a link to a user, and GET|POST /password/reset, which sets the new password and signs the user in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../browser/session.ts';
import { onlyForms } from '../../server/form-body.ts';
import { countLinkRequest, findLink, linkGone, linkPath, type OpenLink } from '../../interaction/mailed-link.ts';
import type { RememberedRequest, RememberedRequests } from '../../interaction/remembered-request.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { createPasswordChoice } from '../../domain/passwords/password-choice.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { maxPasswordLength } from '../../rules/users/administration.ts';
import type { LinkPurpose } from '../../repositories/mailed-links/mailed-links.ts';
import type { User } from '../../repositories/users/users.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { PasswordQueue } from '../../domain/rate-limits/password-queue.ts';
import type { PasswordPolicy } from '../../domain/passwords/password-policy.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';

const forgotten = '/password/forgotten';
const reset = '/password/reset';
const purposes: LinkPurpose[] = ['reset_password', 'recovery'];

const linkRequest = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  login: text(320).optional(),
});
const choice = z.object({ csrf: text(100).optional(), new_password: text(4096).optional() });

interface PasswordResetDependencies {
  config: Config;
  store: Store;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  sessions: BrowserSessions;
  pages: PageResponses;
  audit: AuditTrail;
  limits: Limits;
  rememberedRequests: RememberedRequests;
}

export async function passwordResetEndpoint(app: FastifyInstance, options: PasswordResetDependencies): Promise<void> {
  const { config, store, sessions, pages, limits, audit, rememberedRequests } = options;
  const { faultOf, hash } = createPasswordChoice(options);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(forgotten, async (request, reply) => {
    onlyNavigation(request);
    const begun = await rememberedRequests.find(request, singleValued(request.query)['transaction']);
    return ask(request, reply, begun, {}, 200);
  });

  app.post(forgotten, async (request, reply) => {
    const { csrf, transaction, login } = readParameters(linkRequest, request.body);
    const begun = await rememberedRequests.find(request, transaction);
    const typed = login?.trim() || undefined;
    const shown = typed === undefined ? {} : { typed };
    if (!sessions.isOwnForm(request, csrf, { action: forgotten, transaction }))
      return ask(request, reply, begun, { ...shown, problem: 'tampered' }, 400);
    if (typed === undefined) return ask(request, reply, begun, { problem: 'missing' }, 400);
    const wait = await countLinkRequest(limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return ask(request, reply, begun, { ...shown, problem: 'throttled', wait }, 429);
    }
    // the answer does not depend on whether the account exists (security R60)
    await store.mails.insert({ name: 'forgotten-password', locale: languagesOf(request), data: { login: typed } });
    rememberedRequests.remember(request, reply, begun?.transaction);
    return ask(request, reply, begun, { sent: true }, 200);
  });

  app.get(reset, async (request, reply) => {
    onlyNavigation(request);
    const found = await find(request);
    return found ? show(request, reply, found, {}, 200) : linkGone(pages, request, reply, 'password');
  });

  app.post(reset, async (request, reply) => {
    const { csrf, new_password: chosen } = readParameters(choice, request.body);
    const found = await find(request);
    if (!found) return gone(request, reply);
    const { link, user } = found;
    if (!sessions.isOwnForm(request, csrf, { action: reset, shown: link.token }))
      return show(request, reply, found, { problem: 'tampered' }, 400);
    const fault = await faultOf(chosen, user);
    if (fault) return show(request, reply, found, { fault }, 400);
    const passwordHash = await hash(chosen!);
    if (passwordHash === undefined) {
      reply.header('retry-after', '5');
      return show(request, reply, found, { problem: 'busy' }, 503);
    }
    const changed = await store.transaction(async (repositories) => {
      const { users, mailedLinks } = repositories;
      const current = await users.lock(user.sub);
      // of several requests at once, one uses the link
      if (!current || !isOf(link, current) || !(await mailedLinks.use(link.hash, purposes))) return false;
      // ends all sessions and other links (security R54)
      await users.setPassword(user.sub, passwordHash);
      await repositories.usedForms.keep(sessions.formHash(request, passwordHash));
      const by = { outcome: 'success', actor: user.sub, sub: user.sub, languages: languagesOf(request) } as const;
      await audit(request, { ...by, type: 'link.used', detail: { purpose: link.purpose } }, repositories);
      await audit(
        request,
        { ...by, type: 'user.password_changed', detail: { members: ['password'], link: link.purpose } },
        repositories,
      );
      return true;
    });
    if (!changed) return gone(request, reply);
    const shown = { sub: user.sub, passwordHash, amr: ['pwd'] };
    return pages.redirect(reply, await rememberedRequests.signIn(request, reply, shown, 'password-changed'));
  });

  /** Answers a form whose link is used up: by this form itself, if a double click sent it twice. */
  async function gone(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const next = await rememberedRequests.repeat(request, reply, 'password-changed');
    return next === undefined ? linkGone(pages, request, reply, 'password') : pages.redirect(reply, next);
  }

  async function find(request: FastifyRequest): Promise<{ link: OpenLink; user: User } | undefined> {
    const link = await findLink(store, request, purposes);
    const user = link?.sub === undefined ? undefined : await store.users.find(link.sub);
    return link && user && isOf(link, user) ? { link, user } : undefined;
  }

  /** Whether a mailed link is valid: its address still belongs to the user. An administrator's link has no address. */
  const isOf = ({ email }: OpenLink, user: User) =>
    user.status === 'enabled' && (email === undefined || (user.emailVerified && user.email === email));

  function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    begun: RememberedRequest | undefined,
    state: Pick<Pages['password-forgotten'], 'typed' | 'problem' | 'wait' | 'sent'>,
    status: number,
  ): FastifyReply {
    const transaction = begun?.transaction;
    const csrf = sessions.formToken(request, reply, { action: forgotten, transaction });
    const form = { action: forgotten, hidden: { csrf, ...(transaction !== undefined && { transaction }) } };
    const loginUri = signInPath('/login', { transaction });
    const data = { form, lifetime: config.lifetimes.passwordReset, loginUri, ...state };
    return pages.send(request, reply, 'password-forgotten', data, {
      status,
      uiLocales: begun?.pending.uiLocales,
      here: signInPath(forgotten, { transaction }),
    });
  }

  /** Shows the form again, without the password. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { link: { token }, user }: { link: OpenLink; user: User },
    state: Pick<Pages['password-reset'], 'fault' | 'problem'>,
    status: number,
  ): Promise<FastifyReply> {
    const pending = (await rememberedRequests.recall(request))?.pending;
    const csrf = sessions.formToken(request, reply, { action: reset, shown: token });
    const form = { action: reset, hidden: { csrf, token } };
    const { passwordMinLength: least } = config;
    const data = { username: user.username, least, most: maxPasswordLength, form, ...state };
    return pages.send(request, reply, 'password-reset', data, {
      status,
      uiLocales: pending?.uiLocales,
      here: linkPath(reset, { token }),
    });
  }
}
