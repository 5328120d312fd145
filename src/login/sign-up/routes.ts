// Serves GET|POST /sign-up, which mails a link to a new user, and GET|POST /sign-up/complete, which creates the account and signs the user in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isUniqueViolation } from '../../database/database.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { onlyForms } from '../../server/form-body.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { countLinkRequest, findLink, linkGone, linkPath, type OpenLink } from '../../interaction/mailed-link.ts';
import { createPasswordChoice } from '../../domain/passwords/password-choice.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import type { RememberedRequest, RememberedRequests } from '../../interaction/remembered-request.ts';
import type { Pages } from '../../pages/views/index.ts';
import { enforcingOf } from '../../rules/connections/connection-route.ts';
import {
  email as mailAddress,
  maxOwnNameLength,
  maxPasswordLength,
  ownName,
} from '../../rules/users/administration.ts';
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

const path = '/sign-up';
const completion = '/sign-up/complete';
const purposes: LinkPurpose[] = ['sign_up'];

const wanted = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  email: text(320).optional(),
});
const chosen = z.object({
  csrf: text(100).optional(),
  username: text(1000).optional(),
  new_password: text(4096).optional(),
});

type State = Pick<Pages['sign-up'], 'typed' | 'fault' | 'problem' | 'wait' | 'sent'>;

interface SignUpDependencies {
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

export async function signUpEndpoint(app: FastifyInstance, options: SignUpDependencies): Promise<void> {
  const { config, store, sessions, pages, limits, audit, rememberedRequests } = options;
  const { faultOf, hash } = createPasswordChoice(options);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  onlyWhere(app, config.signUp, 'users cannot create accounts here: ask an administrator for one');
  app.addHook('onRequest', async (request) => {
    if (request.method === 'GET') onlyNavigation(request);
  });

  app.get(path, async (request, reply) => {
    const begun = await rememberedRequests.find(request, singleValued(request.query)['transaction']);
    return ask(request, reply, begun, {}, 200);
  });

  app.post(path, async (request, reply) => {
    const { csrf, transaction, email } = readParameters(wanted, request.body);
    const typed = email?.trim() ?? '';
    const begun = await rememberedRequests.find(request, transaction);
    if (!sessions.isOwnForm(request, csrf, { action: path, transaction }))
      return ask(request, reply, begun, { typed, problem: 'tampered' }, 400);
    const { data: recipient } = mailAddress.safeParse(typed);
    if (recipient === undefined) return ask(request, reply, begun, { typed, fault: 'invalid' }, 400);
    if (!isAllowed(recipient)) return ask(request, reply, begun, { typed, fault: 'domain' }, 400);
    const wait = await countLinkRequest(limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return ask(request, reply, begun, { typed, problem: 'throttled', wait }, 429);
    }
    // the answer does not reveal whether the address has an account: only the mail does (security R60)
    await store.mails.insert({ name: 'sign-up-wanted', recipient, locale: languagesOf(request) });
    rememberedRequests.remember(request, reply, begun?.transaction);
    return ask(request, reply, begun, { sent: true }, 200);
  });

  app.get(completion, async (request, reply) => {
    const link = await find(request);
    return link ? show(request, reply, link, {}, 200) : linkGone(pages, request, reply, 'sign-up');
  });

  app.post(completion, async (request, reply) => {
    const { csrf, username: typed, new_password: password } = readParameters(chosen, request.body);
    const link = await find(request);
    if (!link) return gone(request, reply);
    const username = typed?.trim() || undefined;
    const shown = username === undefined ? {} : { username };
    if (!sessions.isOwnForm(request, csrf, { action: completion, shown: link.token }))
      return show(request, reply, link, { ...shown, problem: 'tampered' }, 400);
    const faults: NonNullable<Pages['sign-up-complete']['faults']> = {};
    if (username === undefined) faults.username = 'missing';
    // a name in the form of an address could be mistaken for another user's
    else if (!ownName.safeParse(username).success) faults.username = 'invalid';
    const fault = await faultOf(password, { username, email: link.email });
    if (fault) faults.password = fault;
    if (faults.username || faults.password) return show(request, reply, link, { ...shown, faults }, 400);
    // a link must not allow unlimited tries of names, nor unlimited hashing (security R62, R102)
    const wait = await countLinkRequest(limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return show(request, reply, link, { ...shown, problem: 'busy' }, 429);
    }
    const passwordHash = await hash(password!);
    if (passwordHash === undefined) {
      reply.header('retry-after', '5');
      return show(request, reply, link, { ...shown, problem: 'busy' }, 503);
    }
    const made = await createAccount(request, link, username!, passwordHash);
    if (made === 'gone') return gone(request, reply);
    if (made === 'taken') return show(request, reply, link, { ...shown, faults: { username: 'taken' } }, 409);
    const proven = { sub: made.sub, passwordHash, amr: ['pwd'] };
    return pages.redirect(reply, await rememberedRequests.signIn(request, reply, proven, 'welcome'));
  });

  const isAllowed = (address: string) =>
    config.signUpDomains.length === 0 || config.signUpDomains.includes(address.slice(address.lastIndexOf('@') + 1));

  /** Creates the account. Of several requests at once, one uses the link. */
  async function createAccount(
    request: FastifyRequest,
    link: OpenLink,
    username: string,
    passwordHash: string,
  ): Promise<User | 'gone' | 'taken'> {
    const { email } = link;
    try {
      return await store.transaction(async (repositories) => {
        const { users, mailedLinks } = repositories;
        if (!(await mailedLinks.use(link.hash, purposes))) return 'gone';
        // another link may have created an account for the address
        if (email === undefined || (await users.findByEmail(email))) return 'gone';
        const user = await users.insert({ username, email, confirmedBy: 'mail', passwordHash });
        await repositories.usedForms.keep(sessions.formHash(request, passwordHash));
        const by = { outcome: 'success', actor: user.sub, sub: user.sub } as const;
        await audit(request, { ...by, type: 'link.used', detail: { purpose: link.purpose } }, repositories);
        await audit(request, { ...by, type: 'user.signed_up', detail: { username: user.username } }, repositories);
        return user;
      });
    } catch (error) {
      if (isUniqueViolation(error)) return 'taken';
      throw error;
    }
  }

  /** Answers a form whose link is used up: by this form itself, if a double click sent it twice. */
  async function gone(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const next = await rememberedRequests.repeat(request, reply, 'welcome');
    return next === undefined ? linkGone(pages, request, reply, 'sign-up') : pages.redirect(reply, next);
  }

  /** The link, if the settings still allow sign-up with its address, and no connection has become the only way in (security R158). */
  async function find(request: FastifyRequest): Promise<OpenLink | undefined> {
    const link = await findLink(store, request, purposes);
    // in its present form, also if an earlier version mailed the link
    const email = mailAddress.safeParse(link?.email).data;
    if (!link || email === undefined || !isAllowed(email)) return undefined;
    return enforcingOf(email, await store.connections.list()) ? undefined : { ...link, email };
  }

  function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    begun: RememberedRequest | undefined,
    state: State,
    status: number,
  ): FastifyReply {
    const transaction = begun?.transaction;
    const csrf = sessions.formToken(request, reply, { action: path, transaction });
    const form = { action: path, hidden: { csrf, ...(transaction !== undefined && { transaction }) } };
    const { signUpDomains: domains, lifetimes } = config;
    const { client, uiLocales } = begun?.pending ?? {};
    const loginUri = signInPath('/login', { transaction });
    const data = {
      form,
      lifetime: lifetimes.emailVerification,
      domains,
      loginUri,
      ...(client && { client }),
      ...state,
    };
    return pages.send(request, reply, 'sign-up', data, { status, uiLocales, here: signInPath(path, { transaction }) });
  }

  /** Shows the form again, without the password. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    link: OpenLink,
    state: Pick<Pages['sign-up-complete'], 'username' | 'faults' | 'problem'>,
    status: number,
  ): Promise<FastifyReply> {
    const { client, uiLocales } = (await rememberedRequests.recall(request))?.pending ?? {};
    const csrf = sessions.formToken(request, reply, { action: completion, shown: link.token });
    const data = {
      address: link.email ?? '',
      form: { action: completion, hidden: { csrf, token: link.token } },
      maxNameLength: maxOwnNameLength,
      least: config.passwordMinLength,
      most: maxPasswordLength,
      ...(client && { client }),
      ...state,
    };
    return pages.send(request, reply, 'sign-up-complete', data, {
      status,
      uiLocales,
      here: linkPath(completion, link),
    });
  }
}
