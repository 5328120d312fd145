// Serves GET|POST /invitation: an invited user sets a password or creates a passkey, and is signed in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SecondFactorEnrolment } from '../../authenticators/enrolment.ts';
import { storePasskey } from '../../authenticators/passkey/enrolment.ts';
import { maxCredentialLength, type Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { isInvitable } from '../../domain/administration/invitations.ts';
import { createPasswordChoice } from '../../domain/passwords/password-choice.ts';
import type { PasswordPolicy } from '../../domain/passwords/password-policy.ts';
import type { PasswordQueue } from '../../domain/rate-limits/password-queue.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { createLinkAnswers, type MadeCodes } from '../../interaction/link-answers.ts';
import { countLinkRequest, findLink, linkPath, type OpenLink } from '../../interaction/mailed-link.ts';
import type { RememberedRequests } from '../../interaction/remembered-request.ts';
import { withoutNulls } from '../../domain/users/attributes.ts';
import { fieldValue, readOwnProfile } from '../../rules/users/own-profile.ts';
import { maxPasswordLength } from '../../rules/users/administration.ts';
import { conflict } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { LinkPurpose } from '../../repositories/mailed-links/mailed-links.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters } from '../../server/parameters.ts';

const path = '/invitation';
const purposes: LinkPurpose[] = ['invitation'];

const choice = z.object({
  csrf: text(100).optional(),
  name: text(4096).optional(),
  new_password: text(4096).optional(),
  credential: text(maxCredentialLength).optional(),
});

interface InvitationDependencies {
  config: Config;
  store: Store;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  passkeys: Passkeys;
  secondFactorEnrolment: SecondFactorEnrolment;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  rememberedRequests: RememberedRequests;
  pages: PageResponses;
  audit: AuditTrail;
  limits: Limits;
}

interface Invited {
  link: OpenLink;
  user: User;
}

export async function invitationEndpoint(app: FastifyInstance, options: InvitationDependencies): Promise<void> {
  const { config, store, passkeys, secondFactorEnrolment, sessions, rememberedRequests } = options;
  const { pages, audit, limits } = options;
  const { gone, repeated, showCodes } = createLinkAnswers(options, 'invitation');
  const passwords = createPasswordChoice(options);
  const asksName = config.profileEditable.includes('name');
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const invited = await find(request);
    return invited ? show(request, reply, invited, {}, 200) : gone(request, reply);
  });

  app.post(path, async (request, reply) => {
    const { csrf, name, new_password: chosen, credential } = readParameters(choice, request.body);
    const invited = await find(request);
    if (credential !== undefined)
      return showCodes(request, reply, invited !== undefined, () => addPasskey(request, reply, csrf, credential, name));
    if (!invited) return repeated(request, reply);
    return isOwn(request, csrf, invited)
      ? setPassword(request, reply, invited, chosen, name)
      : show(request, reply, invited, { problem: 'tampered', ...shownName(name) }, 400);
  });

  const isOwn = (request: FastifyRequest, csrf: string | undefined, { link }: Invited) =>
    sessions.isOwnForm(request, csrf, { action: path, shown: link.token });

  async function setPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    invited: Invited,
    chosen: string | undefined,
    name: string | undefined,
  ): Promise<FastifyReply> {
    const { sub } = invited.user;
    const typed = shownName(name);
    const named = namesIn(invited, name);
    const fault = await passwords.faultOf(chosen, invited.user);
    if (fault || named.nameFault)
      return show(request, reply, invited, { ...typed, ...named, ...(fault && { fault }) }, 400);
    // a link must not allow unlimited hashing (security R62, R102)
    const wait = await countLinkRequest(limits, request);
    const passwordHash = wait > 0 ? undefined : await passwords.hash(chosen!);
    if (passwordHash === undefined) {
      reply.header('retry-after', String(wait || 5));
      return show(request, reply, invited, { ...typed, problem: 'busy' }, wait > 0 ? 429 : 503);
    }
    const used = await use(request, invited, 'password', name, async ({ users, usedForms }) => {
      await usedForms.keep(sessions.formHash(request, passwordHash));
      return users.setPassword(sub, passwordHash);
    });
    if (!used) return repeated(request, reply);
    const proven = { sub, passwordHash, amr: ['pwd'] };
    return pages.redirect(reply, await rememberedRequests.signIn(request, reply, proven, 'welcome'));
  }

  async function addPasskey(
    request: FastifyRequest,
    reply: FastifyReply,
    csrf: string | undefined,
    credential: string,
    name: string | undefined,
  ): Promise<Refused | MadeCodes> {
    const invited = await find(request);
    if (!invited) return { refused: () => repeated(request, reply) };
    const refused = (problem: Pages['invitation']['problem']): Refused => ({
      refused: () => show(request, reply, invited, { ...shownName(name), ...(problem && { problem }) }, 400),
    });
    if (!isOwn(request, csrf, invited)) return refused('tampered');
    const { nameFault } = namesIn(invited, name);
    if (nameFault) return { refused: () => show(request, reply, invited, { ...shownName(name), nameFault }, 400) };
    const { user, link } = invited;
    const { sub } = user;
    const answer = await passkeys.checkMade(request, credential, bindingOf(link));
    if (answer.outcome !== 'made') return refused(answer.outcome === 'expired' ? 'expired' : 'passkey');
    const codes = await use(request, invited, 'passkey', name, async (repositories) => {
      const stored = await storePasskey(secondFactorEnrolment, request, repositories, sub, answer.credential);
      if (!stored) throw conflict('this passkey belongs to another account');
      return stored;
    });
    if (!codes) return { refused: () => repeated(request, reply) };
    // as on the account pages: the authenticator says that it verified the user, and without attestation the key itself counts from the next
    // sign-in on
    const proven = { sub, passwordHash: undefined, amr: ['user', 'mfa'] };
    const continueUri = await rememberedRequests.signIn(request, reply, proven, 'welcome');
    return { account: accountView((await store.users.find(sub)) ?? user), codes, continueUri };
  }

  /** Uses the invitation up and stores what the user chose, all or nothing. Of several requests at once, one succeeds; undefined for the others. */
  function use<T>(
    request: FastifyRequest,
    { link, user: { sub } }: Invited,
    method: 'password' | 'passkey',
    name: string | undefined,
    keep: (repositories: Repositories) => Promise<T>,
  ): Promise<T | undefined> {
    const by = { outcome: 'success', actor: sub, sub } as const;
    return store.transaction(async (repositories) => {
      const { users, mailedLinks } = repositories;
      const user = await users.lock(sub);
      if (!user || !(await isOf(repositories, link, user)) || !(await mailedLinks.use(link.hash, purposes)))
        return undefined;
      const detail = { method, by_mail: link.email !== undefined };
      await audit(request, { ...by, type: 'user.invitation_used', detail }, repositories);
      // an attempt to send the mail may have made another link, and an older reset or recovery link would set a password beside a passkey
      await mailedLinks.endSignInLinks(sub);
      // only a mailed link proves the address
      if (link.email !== undefined && !user.emailVerified) {
        await users.update(sub, { confirmedBy: 'mail' });
        await audit(request, { ...by, type: 'user.email_verified' }, repositories);
      }
      const { change } = readName(user, name);
      if (Object.keys(change).length > 0)
        await users.update(sub, { claims: withoutNulls({ ...user.claims, ...change }) });
      return keep(repositories);
    });
  }

  /** The change of the display name; none where users do not change it. */
  const readName = (user: User, name: string | undefined) =>
    asksName && name !== undefined ? readOwnProfile({ name }, ['name'], user.claims) : { change: {}, faults: {} };
  const namesIn = ({ user }: Invited, name: string | undefined): Pick<Pages['invitation'], 'nameFault'> => {
    // these are the faults that a name can have
    const nameFault = readName(user, name).faults.name as Pages['invitation']['nameFault'];
    return nameFault ? { nameFault } : {};
  };

  async function find(request: FastifyRequest): Promise<Invited | undefined> {
    const link = await findLink(store, request, purposes);
    const user = link?.sub === undefined ? undefined : await store.users.find(link.sub);
    return link && user && (await isOf(store, link, user)) ? { link, user } : undefined;
  }

  /** Whether an invitation is valid: its address still belongs to the user, who cannot sign in yet. */
  const isOf = async (repositories: Pick<Repositories, 'secondFactors'>, { email }: OpenLink, user: User) =>
    (email === undefined || user.email === email) && (await isInvitable(repositories, user));

  /** Shows the form, without the password. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { link, user }: Invited,
    state: Pick<Pages['invitation'], 'name' | 'nameFault' | 'fault' | 'problem'>,
    status: number,
  ): Promise<FastifyReply> {
    const { client, uiLocales } = (await rememberedRequests.recall(request))?.pending ?? {};
    const csrf = sessions.formToken(request, reply, { action: path, shown: link.token });
    const form = { action: path, hidden: { csrf, token: link.token } };
    const options = passkeys.available
      ? await passkeys.creationOptions(request, reply, user, bindingOf(link))
      : undefined;
    const data: Pages['invitation'] = {
      account: accountView(user),
      form,
      least: config.passwordMinLength,
      most: maxPasswordLength,
      ...(client && { client }),
      ...(link.email !== undefined && { address: link.email }),
      ...(options !== undefined && { passkey: { form, options } }),
      ...(asksName && { name: fieldValue(user.claims, 'name') }),
      ...state,
    };
    return pages.send(request, reply, 'invitation', data, {
      status,
      uiLocales,
      here: linkPath(path, link),
    });
  }
}

/** The name that the form shows again. */
const shownName = (name: string | undefined): Pick<Pages['invitation'], 'name'> => (name === undefined ? {} : { name });

/** A new passkey is good for this invitation only. */
const bindingOf = ({ hash }: OpenLink): string => `invitation ${hash.toString('base64url')}`;
