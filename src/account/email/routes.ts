// Serves GET|POST /account/email: confirms or changes the user's address by a mailed link.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPages } from '../account-pages.ts';
import { ownedOf } from '../owned.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { isUniqueViolation } from '../../database/database.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { ownAddress } from '../../pages/return-to.ts';
import { countLinkRequest, findLink, findUsedLink, linkGone, type OpenLink } from '../../interaction/mailed-link.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { clientAddress } from '../../server/network.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { email as mailAddress } from '../../rules/users/administration.ts';
import { enforcingOf } from '../../rules/connections/connection-route.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import type { LinkPurpose } from '../../repositories/mailed-links/mailed-links.ts';
import type { QueuedMail } from '../../repositories/outbox/mails.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { User } from '../../repositories/users/users.ts';
import type { Store } from '../../repositories/store.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';

const path = '/account/email';
const verification = '/account/email/verification';
const confirmation = '/account/email/confirm';
const stopping = '/account/email/stop';
const purposes: LinkPurpose[] = ['verify_address'];
const stopPurposes: LinkPurpose[] = ['stop_change'];

const antiForgery = z.object({ csrf: text(100).optional() });
const change = antiForgery.extend({ email: text(320).optional() });

type State = Pick<Pages['account-email'], 'typed' | 'fault' | 'problem' | 'wait' | 'sent'>;

interface AccountEmailDependencies {
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
  audit: AuditTrail;
  limits: Limits;
}

export async function accountEmailEndpoint(app: FastifyInstance, options: AccountEmailDependencies): Promise<void> {
  const { store, sessions, pages, limits, audit } = options;
  // an unattended browser must not hand over the account
  const address = createAccountPages(options, { returnTo: ownAddress, recent: true });
  const overview = createAccountPages(options);

  address.page(app, path, ({ session }, request, reply) => show(request, reply, session, {}, 200));

  app.post(path, async (request, reply) => {
    const { csrf, email } = readParameters(change, request.body);
    const session = await sessions.find(request, reply);
    // before the form is checked: the form of an earlier session leads to the sign-in, too
    if (!session || !recentlyAuthenticated(session))
      return pages.redirect(reply, reauthenticationPath(session, ownAddress));
    if (!sessions.isOwnForm(request, csrf, { action: path, session }))
      throw invalidRequest('the form has expired or came from another site');
    // the page says why there is no form (federation 4)
    if ((await ownedOf(store, session.user))['email'] !== undefined) return show(request, reply, session, {}, 400);
    const typed = email?.trim() ?? '';
    const { data: wanted } = mailAddress.safeParse(typed);
    if (wanted === undefined) return show(request, reply, session, { typed, fault: 'invalid' }, 400);
    if (wanted.toLowerCase() === session.user.email?.toLowerCase())
      return show(request, reply, session, { typed, fault: 'same' }, 400);
    if (await leavesNoWayIn(store, session.user.sub, wanted))
      return show(request, reply, session, { typed, fault: 'enforced' }, 400);
    return requestLink(request, reply, session, wanted);
  });

  overview.form(app, verification, z.object({}), ({ session }, _typed, request, reply) => {
    const { email, emailVerified } = session.user;
    if (email === undefined || emailVerified) return pages.redirect(reply, '/account');
    return requestLink(request, reply, session, email);
  });

  app.get(confirmation, async (request, reply) => {
    onlyNavigation(request);
    const found = await find(request);
    if (!found) return linkGone(pages, request, reply, 'address');
    const { link, user } = found;
    const csrf = sessions.formToken(request, reply, { action: confirmation, shown: link.token });
    const form = { action: confirmation, hidden: { csrf, token: link.token } };
    return pages.send(request, reply, 'address-confirm', { ...view(link, user), form });
  });

  app.post(confirmation, async (request, reply) => {
    const { csrf } = readParameters(antiForgery, request.body);
    const found = await find(request);
    if (!found) return confirmed(request, reply);
    const { link, user } = found;
    if (!sessions.isOwnForm(request, csrf, { action: confirmation, shown: link.token }))
      throw invalidRequest('the form has expired or came from another site');
    const outcome = await confirm(request, link, user.sub);
    if (outcome === 'gone') return confirmed(request, reply);
    const taken = outcome === 'taken';
    return pages.send(request, reply, 'address-confirm', { ...view(link, user), taken }, { status: taken ? 409 : 200 });
  });

  // without sign-in: an attacker may have changed the password (security R118)
  app.get(stopping, async (request, reply) => {
    onlyNavigation(request);
    const found = await findStop(request);
    if (!found || !(await store.mailedLinks.hasChanges(found.user.sub)))
      return showStop(request, reply, { nothing: true });
    const { link, user } = found;
    const csrf = sessions.formToken(request, reply, { action: stopping, shown: link.token });
    const form = { action: stopping, hidden: { csrf, token: link.token } };
    return showStop(request, reply, { username: user.username, form });
  });

  app.post(stopping, async (request, reply) => {
    const { csrf } = readParameters(antiForgery, request.body);
    const found = await findStop(request);
    if (!found) return stopped(request, reply);
    const { link, user } = found;
    if (!sessions.isOwnForm(request, csrf, { action: stopping, shown: link.token }))
      throw invalidRequest('the form has expired or came from another site');
    if (await stop(request, link, user.sub)) return showStop(request, reply, { username: user.username });
    return stopped(request, reply);
  });

  /** Answers a form whose link is used up: with the same page, if a double click sent it twice. */
  async function confirmed(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const used = await findRepeated(request, purposes);
    if (!used) return linkGone(pages, request, reply, 'address');
    return pages.send(request, reply, 'address-confirm', { ...view(used.link, used.user), taken: false });
  }

  /** The same for the form that stops a change. */
  async function stopped(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const used = await findRepeated(request, stopPurposes);
    return showStop(request, reply, used ? { username: used.user.username } : { nothing: true });
  }

  /** The answer does not reveal whether the address belongs to another account: only the mail does (security R60). */
  async function requestLink(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    recipient: string,
  ): Promise<FastifyReply> {
    const { sub, email } = session.user;
    const isChange = recipient !== email;
    // each change sends a notice to the present address, and counts against the user for it
    const wait =
      (await countLinkRequest(limits, request)) ||
      (isChange ? await limits.consume('mailedLinks', `change ${sub}`) : 0);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return show(request, reply, session, { typed: recipient, problem: 'throttled', wait }, 429);
    }
    const data = { replaces: email };
    const mail = { name: 'verify-address', sub, recipient, locale: languagesOf(request), data };
    if (!isChange) await store.mails.insert(mail);
    else await requestChange(request, { ...mail, sessionId: session.id }, email);
    return show(request, reply, session, { sent: recipient }, 200);
  }

  /** A change ends with the session that requests it, and the present address gets a link to stop it (security R118). */
  async function requestChange(request: FastifyRequest, mail: QueuedMail, before: string | undefined): Promise<void> {
    const { sub, locale } = mail;
    const data = { at: new Date().toISOString(), address: clientAddress(request) };
    await store.transaction(async ({ mails }) => {
      await mails.insert(mail);
      if (before !== undefined)
        await mails.insert({ name: 'address-change-ordered', sub, recipient: before, locale, data });
    });
  }

  /** Cancels every pending change, also of other links; false if there was none, or another request has used the link. */
  function stop(request: FastifyRequest, link: OpenLink, sub: string): Promise<boolean> {
    return store.transaction(async (repositories) => {
      const { users, mailedLinks } = repositories;
      await users.lock(sub);
      if (!(await mailedLinks.use(link.hash, stopPurposes))) return false;
      const present = await mailedLinks.hasChanges(sub);
      await mailedLinks.cancelChanges(sub);
      const by = { outcome: 'success', actor: sub, sub } as const;
      await audit(request, { ...by, type: 'link.used', detail: { purpose: link.purpose } }, repositories);
      if (!present) return false;
      await audit(request, { ...by, type: 'user.email_change_stopped' }, repositories);
      await repositories.usedForms.keep(sessions.formHash(request));
      return true;
    });
  }

  /** Whether users with this address sign in by a connection only, to which the user has no link (security R158). */
  async function leavesNoWayIn(
    { connections, linkedIdentities }: Pick<Store, 'connections' | 'linkedIdentities'>,
    sub: string,
    address: string,
  ): Promise<boolean> {
    const enforcing = enforcingOf(address, await connections.list());
    const isLinked = ({ connectionId }: { connectionId: string }) => connectionId === enforcing?.id;
    return enforcing !== undefined && !(await linkedIdentities.ofUser(sub)).some(isLinked);
  }

  /** Sets the address and notifies the previous one. */
  async function confirm(request: FastifyRequest, link: OpenLink, sub: string): Promise<'done' | 'gone' | 'taken'> {
    try {
      return await store.transaction(async (repositories) => {
        const { users, mailedLinks, mails } = repositories;
        const before = await users.lock(sub);
        if (before?.status !== 'enabled' || before.email !== link.replaces) return 'gone';
        // a connection has become the owner of the address since the link was requested
        if (before.email !== link.email && (await ownedOf(repositories, before))['email'] !== undefined) return 'gone';
        // in its present form, also if an earlier version mailed the link
        const wanted = mailAddress.safeParse(link.email).data;
        if (wanted === undefined || (await leavesNoWayIn(repositories, sub, wanted))) return 'gone';
        // of several requests at once, one uses the link
        if (!(await mailedLinks.use(link.hash, purposes))) return 'gone';
        const changed = before.email !== link.email;
        await users.update(sub, { email: wanted, confirmedBy: 'mail' });
        if (changed && before.email !== undefined && before.emailVerified)
          await mails.insert({ name: 'address-changed', sub, recipient: before.email, locale: languagesOf(request) });
        const by = { outcome: 'success', actor: sub, sub } as const;
        await audit(request, { ...by, type: 'link.used', detail: { purpose: link.purpose } }, repositories);
        const type = changed ? 'user.email_changed' : 'user.email_verified';
        await audit(request, { ...by, type }, repositories);
        await repositories.usedForms.keep(sessions.formHash(request));
        return 'done';
      });
    } catch (error) {
      if (isUniqueViolation(error)) return 'taken';
      throw error;
    }
  }

  async function find(request: FastifyRequest): Promise<{ link: OpenLink; user: User } | undefined> {
    const link = await findLink(store, request, purposes);
    const user = link?.sub === undefined ? undefined : await store.users.find(link.sub);
    return link && user?.status === 'enabled' && user.email === link.replaces ? { link, user } : undefined;
  }

  /** What a form has just used up that is sent again. */
  async function findRepeated(
    request: FastifyRequest,
    of: LinkPurpose[],
  ): Promise<{ link: OpenLink; user: User } | undefined> {
    const isRepeated = await store.usedForms.isKept(sessions.formHash(request));
    const link = isRepeated ? await findUsedLink(store, request, of) : undefined;
    const user = link?.sub === undefined ? undefined : await store.users.find(link.sub);
    return link && user && { link, user };
  }

  async function findStop(request: FastifyRequest): Promise<{ link: OpenLink; user: User } | undefined> {
    const link = await findLink(store, request, stopPurposes);
    const user = link?.sub === undefined ? undefined : await store.users.find(link.sub);
    // a replaced address can no longer stop a change
    return link && user && user.email === link.email ? { link, user } : undefined;
  }

  function showStop(
    request: FastifyRequest,
    reply: FastifyReply,
    state: Partial<Pick<Pages['address-stop'], 'username' | 'form' | 'nothing'>>,
  ): FastifyReply {
    const data = { username: '', ...state, passwordUri: '/password/forgotten', accountUri: '/account' };
    return pages.send(request, reply, 'address-stop', data, { status: state.nothing ? 410 : 200 });
  }

  const view = (link: OpenLink, user: User) => ({
    username: user.username,
    address: link.email ?? '',
    accountUri: '/account',
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    state: State,
    status: number,
  ): Promise<FastifyReply> {
    const { user } = session;
    const owner = (await ownedOf(store, user))['email'];
    const form = (action: string) => ({
      action,
      hidden: { csrf: sessions.formToken(request, reply, { action, session }) },
    });
    const data: Pages['account-email'] = {
      account: accountView(user),
      verified: user.emailVerified,
      ...(owner === undefined ? { form: form(path) } : { owner }),
      profileUri: '/account/profile',
      ...state,
    };
    if (user.email !== undefined) data.email = user.email;
    if (user.email !== undefined && !user.emailVerified) data.verificationForm = form(verification);
    return pages.send(request, reply, 'account-email', data, { status, here: path });
  }
}
