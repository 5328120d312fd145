// Serves GET|POST /sign-up/complete and /sign-up/link/complete: a user with a mailed link chooses a name, and a password or a passkey, and is signed in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SecondFactorEnrolment } from '../../authenticators/enrolment.ts';
import { storePasskey } from '../../authenticators/passkey/enrolment.ts';
import { maxCredentialLength, newUserHandle, type Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { MadeCredential } from '../../crypto/passkey.ts';
import { isUniqueViolation } from '../../database/database.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { createPasswordChoice } from '../../domain/passwords/password-choice.ts';
import type { PasswordPolicy } from '../../domain/passwords/password-policy.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { PasswordQueue } from '../../domain/rate-limits/password-queue.ts';
import { createLinkAnswers, type MadeCodes } from '../../interaction/link-answers.ts';
import { countLinkRequest, findLink, linkPath, type OpenLink } from '../../interaction/mailed-link.ts';
import type { RememberedRequests } from '../../interaction/remembered-request.ts';
import { conflict } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { LinkPurpose } from '../../repositories/mailed-links/mailed-links.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import { enforcingOf } from '../../rules/connections/connection-route.ts';
import {
  email as mailAddress,
  maxOwnNameLength,
  maxPasswordLength,
  ownName,
} from '../../rules/users/administration.ts';
import { readDisplayName } from '../../rules/users/own-profile.ts';
import { isOfDomains, signUpDomainsOf } from '../../rules/users/sign-up.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters } from '../../server/parameters.ts';
import { onlyWhere } from '../../server/switched-off.ts';

const purposes: LinkPurpose[] = ['sign_up'];

const chosen = z.object({
  csrf: text(100).optional(),
  username: text(1000).optional(),
  name: text(4096).optional(),
  new_password: text(4096).optional(),
  act: z.enum(['password', 'passkey']).default('password'),
  credential: text(maxCredentialLength).optional(),
  handle: text(100).optional(),
});
type Chosen = z.infer<typeof chosen>;

interface SignUpCompletionDependencies {
  config: Config;
  store: Store;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  passkeys: Passkeys;
  secondFactorEnrolment: SecondFactorEnrolment;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  pages: PageResponses;
  audit: AuditTrail;
  limits: Limits;
  rememberedRequests: RememberedRequests;
}

/** Who the new user is. */
interface Named {
  username: string;
  claims: Record<string, unknown>;
}

type Faults = NonNullable<Pages['sign-up-complete']['faults']>;
type State = Pick<Pages['sign-up-complete'], 'username' | 'name' | 'faults' | 'problem'>;

/** Serves the links in the mails that /sign-up orders. */
export const signUpCompletionEndpoint = completionAt('/sign-up/complete', false);
/** Serves the links in the mails that a sign-up link orders. */
export const signUpLinkCompletionEndpoint = completionAt('/sign-up/link/complete', true);

function completionAt(path: string, isByLink: boolean) {
  return async (app: FastifyInstance, options: SignUpCompletionDependencies): Promise<void> => {
    await serveCompletion(app, options, path, isByLink);
  };
}

/** @param isByLink whether the user has a sign-up link, which works with SIGN_UP=off */
async function serveCompletion(
  app: FastifyInstance,
  options: SignUpCompletionDependencies,
  path: string,
  isByLink: boolean,
): Promise<void> {
  const { config, store, passkeys, secondFactorEnrolment, sessions, pages, limits, audit } = options;
  const { rememberedRequests } = options;
  const { gone, repeated, showCodes } = createLinkAnswers(options, isByLink ? 'sign-up-link' : 'sign-up');
  const guarded = guardedGroups(config);
  const { faultOf, hash } = createPasswordChoice(options);
  const asksName = config.profileEditable.includes('name');
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  onlyWhere(app, isByLink || config.signUp, 'users cannot create accounts here: ask an administrator for one');

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const link = await find(request);
    return link ? show(request, reply, link, {}, 200) : gone(request, reply);
  });

  app.post(path, async (request, reply) => {
    const form = readParameters(chosen, request.body);
    const link = await find(request);
    if (form.credential !== undefined)
      return showCodes(request, reply, link !== undefined, () => addPasskey(request, reply, form));
    if (!link) return repeated(request, reply);
    const shown = typedIn(form);
    if (!isOwn(request, form, link)) return show(request, reply, link, { ...shown, problem: 'tampered' }, 400);
    const { named, faults } = namesIn(form);
    const byPassword = form.act === 'password' || !passkeys.available;
    const about = { username: named.username, email: link.email };
    const fault = byPassword ? await faultOf(form.new_password, about) : undefined;
    if (fault) faults.password = fault;
    if (Object.keys(faults).length > 0) return show(request, reply, link, { ...shown, faults }, 400);
    // a link must not allow unlimited tries of names, nor unlimited hashing (security R62, R102)
    const wait = await countLinkRequest(limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return show(request, reply, link, { ...shown, problem: 'busy' }, 429);
    }
    if (!byPassword) return offerPasskey(request, reply, link, form, named);
    const passwordHash = await hash(form.new_password!);
    if (passwordHash === undefined) {
      reply.header('retry-after', '5');
      return show(request, reply, link, { ...shown, problem: 'busy' }, 503);
    }
    const made = await createAccount(request, link, { ...named, passwordHash }, async ({ usedForms }) => {
      await usedForms.keep(sessions.formHash(request, passwordHash));
      return [];
    });
    if (made === 'gone') return repeated(request, reply);
    if (made === 'taken') return show(request, reply, link, { ...shown, faults: { username: 'taken' } }, 409);
    const proven = { sub: made.user.sub, passwordHash, amr: ['pwd'] };
    return pages.redirect(reply, await rememberedRequests.signIn(request, reply, proven, 'welcome'));
  });

  const isOwn = (request: FastifyRequest, { csrf }: Chosen, link: OpenLink) =>
    sessions.isOwnForm(request, csrf, { action: path, shown: link.token });

  /** What the form shows again. */
  const typedIn = ({ username, name }: Chosen): State => ({
    ...(username !== undefined && { username: username.trim() }),
    ...(name !== undefined && { name }),
  });

  function namesIn({ username: typed, name }: Chosen): { named: Named; faults: Faults } {
    const username = typed?.trim() ?? '';
    const faults: Faults = {};
    if (username === '') faults.username = 'missing';
    // a name in the form of an address could be mistaken for another user's
    else if (!ownName.safeParse(username).success) faults.username = 'invalid';
    const { claims, fault } = asksName ? readDisplayName(name) : { claims: {}, fault: undefined };
    if (fault) faults.name = fault;
    return { named: { username, claims }, faults };
  }

  /** Asks the browser for a passkey, once the name is good: an authenticator keeps the name that it is made with. */
  async function offerPasskey(
    request: FastifyRequest,
    reply: FastifyReply,
    link: OpenLink,
    form: Chosen,
    { username, claims }: Named,
    problem?: Pages['sign-up-passkey']['problem'],
  ): Promise<FastifyReply> {
    if (await store.users.isTaken(username))
      return show(request, reply, link, { ...typedIn(form), faults: { username: 'taken' } }, 409);
    const handle = newUserHandle();
    const name = typeof claims['name'] === 'string' ? claims['name'] : '';
    const made = { username, name, handle: handle.toString('base64url') };
    const view = await formOf(request, reply, link);
    const data: Pages['sign-up-passkey'] = {
      account: { username, ...(name && { name }) },
      passkey: {
        form: { ...view.form, hidden: { ...view.form.hidden, ...made } },
        options: passkeys.optionsFor(request, reply, { username, name, handle }, bindingOf(link, made)),
      },
      passwordUri: linkPath(path, link),
      ...(view.client && { client: view.client }),
      ...(problem && { problem }),
    };
    return pages.send(request, reply, 'sign-up-passkey', data, {
      status: problem ? 400 : 200,
      uiLocales: view.uiLocales,
    });
  }

  async function addPasskey(request: FastifyRequest, reply: FastifyReply, form: Chosen): Promise<Refused | MadeCodes> {
    const link = await find(request);
    if (!link) return { refused: () => repeated(request, reply) };
    const again = (state: State, status: number): Refused => ({
      refused: () => show(request, reply, link, { ...typedIn(form), ...state }, status),
    });
    if (!isOwn(request, form, link)) return again({ problem: 'tampered' }, 400);
    const { named, faults } = namesIn(form);
    if (Object.keys(faults).length > 0) return again({ faults }, 400);
    const { username } = named;
    const bound = { username, name: String(named.claims['name'] ?? ''), handle: form.handle ?? '' };
    const answer = await passkeys.checkMade(request, form.credential!, bindingOf(link, bound));
    if (answer.outcome !== 'made') {
      const problem = answer.outcome === 'expired' ? 'expired' : 'passkey';
      return { refused: () => offerPasskey(request, reply, link, form, named, problem) };
    }
    const handle = Buffer.from(bound.handle, 'base64url');
    const made = await createAccount(request, link, named, (repositories, { sub }) =>
      keepPasskey(request, repositories, sub, handle, answer.credential),
    );
    if (made === 'gone') return { refused: () => repeated(request, reply) };
    if (made === 'taken') return again({ faults: { username: 'taken' } }, 409);
    // as with an invitation: the authenticator says that it verified the user
    const proven = { sub: made.user.sub, passwordHash: undefined, amr: ['user', 'mfa'] };
    const continueUri = await rememberedRequests.signIn(request, reply, proven, 'welcome');
    return { account: accountView(made.user), codes: made.codes, continueUri };
  }

  async function keepPasskey(
    request: FastifyRequest,
    repositories: Repositories,
    sub: string,
    handle: Buffer,
    credential: MadeCredential,
  ): Promise<string[]> {
    await repositories.passkeys.userHandle(sub, handle);
    const codes = await storePasskey(secondFactorEnrolment, request, repositories, sub, credential);
    if (!codes) throw conflict('this passkey belongs to another account');
    return codes;
  }

  /**
   * Creates the account, whose address the link proves. Of several requests at once, one uses the link.
   * @param keep stores what the user chose, and returns the recovery codes
   */
  async function createAccount(
    request: FastifyRequest,
    link: OpenLink,
    wanted: Named & { passwordHash?: string },
    keep: (repositories: Repositories, user: User) => Promise<string[]>,
  ): Promise<{ user: User; codes: string[] } | 'gone' | 'taken'> {
    const { email } = link;
    try {
      return await store.transaction(async (repositories) => {
        const { users, mailedLinks, signUpLinks } = repositories;
        if (!(await mailedLinks.use(link.hash, purposes))) return 'gone';
        // another link may have created an account for the address
        if (email === undefined || (await users.findByEmail(email))) return 'gone';
        const used = link.signUpLink === undefined ? undefined : await signUpLinks.use(link.signUpLink, guarded);
        if (isByLink && !used) return 'gone';
        const groups = [...new Set(used?.groups)];
        const user = await users.insert({ ...wanted, email, groups, confirmedBy: 'mail' });
        const by = { outcome: 'success', actor: user.sub, sub: user.sub } as const;
        await audit(request, { ...by, type: 'link.used', detail: { purpose: link.purpose } }, repositories);
        await audit(request, { ...by, type: 'user.signed_up' }, repositories);
        if (used) {
          const detail = { sign_up_link: used.id, name: used.name, groups };
          await audit(request, { ...by, type: 'sign_up_link.used', detail }, repositories);
        }
        return { user, codes: await keep(repositories, user) };
      });
    } catch (error) {
      if (isUniqueViolation(error)) return 'taken';
      throw error;
    }
  }

  /** The link, if sign-up with its address is still allowed, and no connection has become the only way in (security R158). */
  async function find(request: FastifyRequest): Promise<OpenLink | undefined> {
    const link = await findLink(store, request, purposes);
    // in its present form, also if an earlier version mailed the link
    const email = mailAddress.safeParse(link?.email).data;
    if (!link || email === undefined || isByLink !== (link.signUpLink !== undefined)) return undefined;
    const by = link.signUpLink === undefined ? undefined : await store.signUpLinks.findOpen(link.signUpLink, guarded);
    if (isByLink && !by) return undefined;
    if (!isOfDomains(signUpDomainsOf(config, by), email)) return undefined;
    return enforcingOf(email, await store.connections.list()) ? undefined : { ...link, email };
  }

  async function formOf(request: FastifyRequest, reply: FastifyReply, link: OpenLink) {
    const { client, uiLocales } = (await rememberedRequests.recall(request))?.pending ?? {};
    const csrf = sessions.formToken(request, reply, { action: path, shown: link.token });
    return { client, uiLocales, form: { action: path, hidden: { csrf, token: link.token } } };
  }

  /** Shows the form again, without the password. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    link: OpenLink,
    state: State,
    status: number,
  ): Promise<FastifyReply> {
    const { client, uiLocales, form } = await formOf(request, reply, link);
    const data: Pages['sign-up-complete'] = {
      address: link.email ?? '',
      form,
      maxNameLength: maxOwnNameLength,
      least: config.passwordMinLength,
      most: maxPasswordLength,
      asksName,
      offersPasskey: passkeys.available,
      ...(client && { client }),
      ...state,
    };
    return pages.send(request, reply, 'sign-up-complete', data, { status, uiLocales, here: linkPath(path, link) });
  }
}

/** A new passkey is good for this link and these names only. */
const bindingOf = ({ hash }: OpenLink, made: { username: string; name: string; handle: string }): string =>
  `sign-up ${hash.toString('base64url')} ${JSON.stringify([made.username, made.name, made.handle])}`;
