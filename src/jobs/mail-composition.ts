// Turns orders for mail into mails: finds out whom each concerns, in which language, and makes the link in it.
import type { Config } from '../config.ts';
import { nameInMail, usernameInMail } from '../pages/markup.ts';
import type { PageRenderer } from '../pages/renderer.ts';
import type { MailContent, MailName } from '../pages/views/index.ts';
import { mailNames } from '../pages/views/index.ts';
import type { Letter } from '../outbound/mail-transport.ts';
import { displayName } from '../oauth/client-metadata.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';
import type { LinkPurpose, NewLink } from '../repositories/mails/mailed-links.ts';
import type { QueuedMail } from '../repositories/mails/mails.ts';
import type { User } from '../repositories/users/users.ts';
import { newOpaqueToken } from '../tokens/opaque-token.ts';

export interface MailCompositionOptions {
  config: Config;
  store: Store;
  renderer: Pick<PageRenderer, 'mail' | 'chooseLocale'>;
  limits: Limits;
}

/** A mail that can be sent, and what its link is for. */
export interface Composed {
  letter: Letter;
  purpose: LinkPurpose | undefined;
}

/** Orders that concern people who have yet to be found. */
type Expansion = (repositories: Repositories, order: QueuedMail) => Promise<void>;

/** Seconds after which a mail that could not be sent is given up. */
export const mailPatience = 86_400;
const decisionPause = 3600; // seconds between two mails about what waits
/** What anybody can have sent to an address that is not theirs. */
const askedForByAnybody: readonly MailName[] = ['verify-address', 'reset-password', 'sign-up', 'sign-up-known'];
const mostContacts = 3;
const mostNames = 10;

const purposes: Partial<Record<MailName, LinkPurpose>> = {
  'verify-address': 'verify_address',
  'address-change-ordered': 'stop_change',
  'reset-password': 'reset_password',
  'sign-up': 'sign_up',
};
const paths: Record<LinkPurpose, string> = {
  verify_address: '/account/email/confirm',
  stop_change: '/account/email/stop',
  reset_password: '/password/reset',
  recovery: '/password/reset',
  sign_up: '/sign-up/complete',
};
/** Where the button of a mail without a link of its own leads. */
const places: Partial<Record<MailName, string>> = {
  'password-changed': '/account',
  'second-factor-changed': '/account',
  'new-sign-in': '/account',
  'second-step-failed': '/account/password',
  'sign-up-known': '/login',
  'registration-waiting': '/admin',
};

export type MailComposition = ReturnType<typeof createMailComposition>;

export function createMailComposition({ config, store, renderer, limits }: MailCompositionOptions) {
  const { issuer, lifetimes } = config;
  const lifetimeOf: Record<LinkPurpose, number> = {
    verify_address: lifetimes.emailVerification,
    // as long as the change can be confirmed, however late its own mail is sent (security R118)
    stop_change: lifetimes.emailVerification + 2 * mailPatience,
    reset_password: lifetimes.passwordReset,
    recovery: lifetimes.recoveryLink,
    sign_up: lifetimes.emailVerification,
  };

  const expansions: Record<string, Expansion> = {
    // asked for by anybody: that there is nobody of the name is found out here, where nobody waits for an answer
    async 'forgotten-password'({ users, mails }, { data, locale }) {
      const login = data['login'];
      const user = typeof login === 'string' ? await users.findByLogin(login) : undefined;
      if (user?.status === 'enabled') await mails.notify({ name: 'reset-password', sub: user.sub, locale });
    },
    async 'sign-up-wanted'({ users, mails }, { recipient, locale }) {
      if (recipient === undefined) return;
      const user = await users.findByEmail(recipient);
      if (!user) return mails.insert({ name: 'sign-up', recipient, locale });
      if (user.status === 'enabled' && user.emailVerified)
        await mails.insert({ name: 'sign-up-known', sub: user.sub, locale });
    },
    async registrations({ clients, mails }, { data }) {
      const since = typeof data['since'] === 'string' ? new Date(data['since']) : undefined;
      const waiting = await clients.list({ status: undefined, waiting: true }, { limit: mostNames, after: undefined });
      const news = waiting.filter((client) => since === undefined || client.updatedAt > since);
      if (news.length === 0) return;
      const names = news.map((client) => displayName(client.clientId, client.pendingMetadata ?? client.metadata));
      await mails.insertForAdministrators({ name: 'registration-waiting', data: { names } });
      const newest = Math.max(...news.map((client) => client.updatedAt.getTime()));
      await mails.insertForLater(
        { name: 'registrations', data: { since: new Date(newest).toISOString() } },
        decisionPause,
      );
    },
    async 'registration-decided'({ clients, mails }, { clientId, data }) {
      const client = clientId === undefined ? undefined : await clients.find(clientId);
      const { approved, reason } = data;
      const addresses = (client?.metadata.contacts ?? []).filter((contact) => /^[^\s@]+@[^\s@]+$/.test(contact));
      for (const recipient of [...new Set(addresses)].slice(0, mostContacts))
        await mails.insert({
          name: approved === true ? 'registration-approved' : 'registration-refused',
          clientId,
          recipient,
          data: typeof reason === 'string' ? { reason } : {},
        });
    },
  };

  return {
    /** What has to be done in one transaction with the end of the order, for one that is no mail yet. */
    expansionOf: (order: QueuedMail): Expansion | undefined =>
      Object.hasOwn(expansions, order.name) ? expansions[order.name] : undefined,
    /** Whether this version can send an order: during an upgrade a later one may have stored it. */
    knows: ({ name }: QueuedMail): boolean => mailNames.some((known) => known === name),
    /** The mail of an order; undefined when it concerns nobody any more. */
    async compose(order: QueuedMail): Promise<Composed | undefined> {
      const name = mailNames.find((known) => known === order.name);
      const user = order.sub === undefined ? undefined : await store.users.find(order.sub);
      if (!name || (order.sub !== undefined && user?.status !== 'enabled')) return undefined;
      const to = order.recipient ?? (user?.emailVerified ? user.email : undefined);
      if (to === undefined) return undefined;
      const purpose = purposes[name];
      // one that was ordered for an address which the account has no more would do nothing
      if (purpose === 'verify_address' && user?.email !== (order.data['replaces'] ?? undefined)) return undefined;
      // each by itself: who orders one kind for somebody else's address holds up none of the others
      if (
        askedForByAnybody.includes(name) &&
        order.attempts === 1 &&
        (await limits.consume('mailedLinks', `${name} ${to.toLowerCase()}`)) > 0
      )
        return undefined;
      const content = await contentOf(order, user, to);
      const place = places[name];
      if (purpose) {
        if (purpose !== 'stop_change') content.lifetime = lifetimeOf[purpose];
        const { sessionId } = order;
        content.link = await makeLink(order, purpose, { sub: user?.sub, email: to, replaces: user?.email, sessionId });
        if (content.link === undefined) return undefined;
      } else if (place !== undefined) content.link = issuer + place;
      const chosen = user?.claims['locale'];
      const locale = renderer.chooseLocale(typeof chosen === 'string' ? chosen : undefined, order.locale);
      return { purpose, letter: { id: order.messageId, to, ...renderer.mail(name, content, { locale, issuer }) } };
    },
  };

  async function contentOf(order: QueuedMail, user: User | undefined, to: string): Promise<MailContent> {
    const text = (name: string) => (typeof order.data[name] === 'string' ? order.data[name] : undefined);
    const client = order.clientId === undefined ? undefined : await store.clients.find(order.clientId);
    const facts: NonNullable<MailContent['facts']> = {};
    for (const fact of ['browser', 'system', 'address', 'reason'] as const) {
      const value = text(fact);
      if (value !== undefined) facts[fact] = value;
    }
    // a program calls itself what it likes
    if (facts.browser !== undefined) facts.browser = nameInMail(facts.browser);
    const at = text('at');
    if (at !== undefined && !Number.isNaN(Date.parse(at))) facts.at = new Date(at);
    const { names } = order.data;
    if (Array.isArray(names)) facts.names = names.map((given) => nameInMail(String(given)) || '…');
    const values: Record<string, string> = { username: '', address: to };
    // what anybody wrote is short and holds no address (security R124)
    if (user) {
      const own = [to, user.emailVerified ? user.email : undefined];
      values['username'] = usernameInMail(user.username, own, order.name === 'verify-address');
    }
    if (order.clientId !== undefined)
      values['client'] = (client && nameInMail(displayName(client.clientId, client.metadata))) || order.clientId;
    return { values, facts };
  }

  /**
   * Made anew at each attempt: nothing that was stored before holds it. Undefined when a new password or address took the order back
   * meanwhile, or the session that ordered it is over: that comes before the link, or after it and ends it.
   */
  async function makeLink(
    order: QueuedMail,
    purpose: LinkPurpose,
    link: Pick<NewLink, 'sub' | 'email' | 'replaces' | 'sessionId'>,
  ): Promise<string | undefined> {
    const { token, hash } = newOpaqueToken('mailed_link');
    const made = await store.transaction(async ({ users, mails, mailedLinks }) => {
      if (link.sub !== undefined) await users.lock(link.sub);
      if (!(await mails.waits(order.id))) return false;
      const lifetime = lifetimeOf[purpose];
      return (await mailedLinks.insert({ ...link, purpose, tokenHash: hash, lifetime })) !== undefined;
    });
    return made ? `${issuer}${paths[purpose]}?token=${token}` : undefined;
  }
}
