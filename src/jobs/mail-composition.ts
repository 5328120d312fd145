// Composes mails from the rows of the outbox: finds the recipients and the language, and makes the link.
import type { ConnectionRouting } from '../authenticators/connection/routing.ts';
import { hasPower } from '../browser/recent-sign-in.ts';
import type { Config } from '../config.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { guardedGroups } from '../domain/administration/guarded-groups.ts';
import { nameInMail, usernameInMail } from '../pages/markup.ts';
import type { PageRenderer } from '../pages/renderer.ts';
import type { MailContent, MailName } from '../pages/views/index.ts';
import { mailNames } from '../pages/views/index.ts';
import type { Letter } from '../outbound/mail-transport.ts';
import { displayName } from '../oauth/client-metadata.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import type { AppearanceService } from '../domain/appearance/appearance.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';
import type { LinkPurpose, NewLink } from '../repositories/mailed-links/mailed-links.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { User } from '../repositories/users/users.ts';
import { codeLifetime } from '../repositories/sign-in-codes/sign-in-codes.ts';
import { newOpaqueToken } from '../tokens/opaque-token.ts';
import { newVerificationCode, signInCodeHashes } from '../tokens/verification-code.ts';

export interface MailCompositionOptions {
  config: Config;
  store: Store;
  secretBox: SecretBox;
  renderer: Pick<PageRenderer, 'mail' | 'chooseLocale'>;
  limits: Limits;
  appearance: Pick<AppearanceService, 'current'>;
  connectionRouting: Pick<ConnectionRouting, 'enforcing' | 'requiredOf'>;
}

/** A mail ready to be sent, and the purpose of its link. */
export interface Composed {
  letter: Letter;
  purpose: LinkPurpose | undefined;
}

/**
 * Finds what replaces a row: one for each recipient. What it reads of the store, it reads before the transaction: with as many mails at a time
 * as there are connections, each would wait for one that the others hold.
 * @returns what the transaction stores
 */
type FanOut = (row: OutboxRow) => Promise<(repositories: Repositories) => Promise<void>>;
const nothing = async (): Promise<void> => undefined;

/** Seconds after which the service gives up a mail that it could not send. */
export const mailDeadline = 86_400;
const decisionPause = 3600; // seconds between two mails about pending registrations
/** Mails that a user can have sent to the address of another user. */
const requestableByAnyone: readonly MailName[] = [
  'verify-address',
  'reset-password',
  'sign-up',
  'sign-up-known',
  'address-held',
  'sign-in-elsewhere',
  'sign-in-code',
];
const maxNames = 10;

const purposes: Partial<Record<MailName, LinkPurpose>> = {
  'verify-address': 'verify_address',
  'address-change-ordered': 'stop_change',
  'reset-password': 'reset_password',
  'sign-up': 'sign_up',
  invitation: 'invitation',
};
const paths: Record<LinkPurpose, string> = {
  verify_address: '/account/email/confirm',
  stop_change: '/account/email/stop',
  reset_password: '/password/reset',
  recovery: '/password/reset',
  sign_up: '/sign-up/complete',
  invitation: '/invitation',
};
/** The path that the button of a mail leads to when it has no link of its own. */
const buttonPaths: Partial<Record<MailName, string>> = {
  'password-changed': '/account',
  'second-factor-changed': '/account',
  'identity-linked': '/account/connections',
  'identity-unlinked': '/account/connections',
  'new-sign-in': '/account',
  'second-step-failed': '/account/password',
  'approval-requested': '/account/requests',
  'sign-up-known': '/login',
  'sign-in-elsewhere': '/login',
  'registration-waiting': '/admin',
  'webhook-disabled': '/admin/webhooks',
  'provisioning-failing': '/admin/provisioning-targets',
};

export type MailComposition = ReturnType<typeof createMailComposition>;

export function createMailComposition(options: MailCompositionOptions) {
  const { config, store, secretBox, renderer, limits, appearance, connectionRouting } = options;
  const guarded = guardedGroups(config);
  const { issuer, lifetimes } = config;
  const lifetimeOf: Record<LinkPurpose, number> = {
    verify_address: lifetimes.emailVerification,
    // as long as the change can be confirmed, however late its own mail is sent (security R118)
    stop_change: lifetimes.emailVerification + 2 * mailDeadline,
    reset_password: lifetimes.passwordReset,
    recovery: lifetimes.recoveryLink,
    sign_up: lifetimes.emailVerification,
    invitation: lifetimes.invitation,
  };

  // of a pair from before one text named one user, the mail goes to the user whose address it is (security R153)
  const userNamed = async (login: unknown): Promise<User | undefined> =>
    typeof login === 'string'
      ? ((await store.users.findByEmail(login)) ?? (await store.users.findByLogin(login)))
      : undefined;

  const fanOuts: Record<string, FanOut> = {
    // the user is looked up here and not during the request, whose duration must not reveal whether the user exists
    async 'forgotten-password'({ data, locale }) {
      const user = await userNamed(data['login']);
      if (user?.status !== 'enabled') return nothing;
      // a user of an enforced domain learns where to sign in, and gets no link (federation 4)
      const required = await connectionRouting.requiredOf(user);
      return ({ mails }) =>
        mails.notify(
          required
            ? { name: 'sign-in-elsewhere', sub: user.sub, locale, data: { connection: required.displayName } }
            : { name: 'reset-password', sub: user.sub, locale },
        );
    },
    // a code that is wanted for no account, or for one that signs in elsewhere, is never made: nothing typed is right then
    async 'sign-in-code-wanted'({ data: { login, ...data }, locale }) {
      const user = await userNamed(login);
      if (user?.status !== 'enabled') return nothing;
      const { sub } = user;
      const required = await connectionRouting.requiredOf(user);
      if (required) {
        const elsewhere = { name: 'sign-in-elsewhere', data: { connection: required.displayName } };
        return ({ mails }) => mails.notify({ ...elsewhere, sub, locale });
      }
      // it must not be all that protects power
      if (hasPower(user, guarded) && !(await store.secondFactors.mfaStatus(sub))?.enrolled) return nothing;
      return ({ mails }) => mails.notify({ name: 'sign-in-code', sub, locale, data });
    },
    async 'sign-up-wanted'({ recipient, locale, data }) {
      if (recipient === undefined) return nothing;
      const user = await store.users.findByEmail(recipient);
      if (!user) {
        // the new account could sign in by the connection only, which makes accounts itself
        const enforced = await connectionRouting.enforcing(recipient);
        const elsewhere = enforced && { name: 'sign-in-elsewhere', data: { connection: enforced.displayName } };
        return ({ mails }) => mails.insert({ name: 'sign-up', recipient, locale, data, ...elsewhere });
      }
      return ({ mails }) =>
        mails.insert(
          user.status === 'enabled' && user.emailVerified
            ? { name: 'sign-up-known', sub: user.sub, locale }
            : { name: 'address-held', recipient, locale },
        );
    },
    registrations:
      async ({ data }) =>
      async ({ clients, mails }) => {
        const since = typeof data['since'] === 'string' ? new Date(data['since']) : undefined;
        const waiting = await clients.list({ status: undefined, waiting: true }, { limit: maxNames, after: undefined });
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
  };

  return {
    /** What replaces a row that is not yet one mail, to be stored in one transaction with the deletion of the row. */
    fanOut: async (row: OutboxRow): Promise<Awaited<ReturnType<FanOut>> | undefined> =>
      Object.hasOwn(fanOuts, row.name) ? fanOuts[row.name]!(row) : undefined,
    /** Whether this version can send a row: during an upgrade a later version may have stored it. */
    knows: ({ name }: OutboxRow): boolean => mailNames.some((known) => known === name),
    /** The mail of a row; undefined when it has no recipient any more. */
    async compose(row: OutboxRow): Promise<Composed | undefined> {
      const ordered = mailNames.find((known) => known === row.name);
      const user = row.sub === undefined ? undefined : await store.users.find(row.sub);
      if (!ordered || (row.sub !== undefined && user?.status !== 'enabled')) return undefined;
      const to = row.recipient ?? (user?.emailVerified ? user.email : undefined);
      if (to === undefined) return undefined;
      // an address that names another user already: its owner learns whom to ask, and gets no link (security R154)
      const isNew = ordered === 'sign-up' || (ordered === 'verify-address' && to !== user?.email);
      const name = isNew && (await store.users.isTaken(to, user?.sub)) ? 'address-held' : ordered;
      const purpose = purposes[name];
      // the account has another address by now, so the link would do nothing
      if (ordered === 'verify-address' && user?.email !== (row.data['replaces'] ?? undefined)) return undefined;
      if (purpose === 'invitation' && user?.email !== to) return undefined;
      // it would ask for an answer that comes too late
      if (name === 'approval-requested' && !(await store.backchannelRequests.waits(String(row.data['request']))))
        return undefined;
      // each kind of mail has its own count: requests of one kind for another user's address must not use up the limit of the others
      if (
        requestableByAnyone.includes(name) &&
        row.attempts === 1 &&
        (await limits.consume('mailedLinks', `${name} ${to.toLowerCase()}`)) > 0
      )
        return undefined;
      const content = await contentOf(row, name === 'address-held' ? undefined : user, to);
      const buttonPath = buttonPaths[name];
      if (purpose) {
        if (purpose !== 'stop_change') content.lifetime = lifetimeOf[purpose];
        const { sessionId } = row;
        const { sign_up_link: by } = row.data;
        const signUpLink = typeof by === 'string' ? by : undefined;
        const wanted = { sub: user?.sub, email: to, replaces: user?.email, sessionId, signUpLink };
        content.link = await makeLink(row, purpose, wanted);
        if (content.link === undefined) return undefined;
      } else if (name === 'sign-in-code') {
        content.code = await makeCode(row, user!, to);
        content.lifetime = codeLifetime;
        if (content.code === undefined) return undefined;
      } else if (buttonPath !== undefined) content.link = issuer + buttonPath;
      const chosen = user?.claims['locale'];
      const locale = renderer.chooseLocale(typeof chosen === 'string' ? chosen : undefined, row.locale);
      const { brand } = appearance.current();
      return {
        purpose,
        letter: { id: row.messageId, to, ...renderer.mail(name, content, { locale, issuer, brand }) },
      };
    },
  };

  async function contentOf(row: OutboxRow, user: User | undefined, to: string): Promise<MailContent> {
    const text = (name: string) => (typeof row.data[name] === 'string' ? row.data[name] : undefined);
    const client = row.clientId === undefined ? undefined : await store.clients.find(row.clientId);
    const facts: NonNullable<MailContent['facts']> = {};
    for (const fact of ['browser', 'system', 'address', 'reason'] as const) {
      const value = text(fact);
      if (value !== undefined) facts[fact] = value;
    }
    // the User-Agent header is untrusted
    if (facts.browser !== undefined) facts.browser = nameInMail(facts.browser);
    const at = text('at');
    if (at !== undefined && !Number.isNaN(Date.parse(at))) facts.at = new Date(at);
    const { names } = row.data;
    if (Array.isArray(names)) facts.names = names.map((given) => nameInMail(String(given)) || '…');
    const values: Record<string, string> = { username: '', address: to, connection: '…' };
    // untrusted text is short and holds no address (security R124)
    if (user) {
      const own = [to, user.emailVerified ? user.email : undefined];
      values['username'] = usernameInMail(user.username, own, row.name === 'verify-address');
    }
    const connection = text('connection');
    if (connection !== undefined) values['connection'] = nameInMail(connection) || '…';
    const webhook = text('webhook');
    if (webhook !== undefined) values['webhook'] = nameInMail(webhook) || '…';
    if (row.clientId !== undefined)
      values['client'] = (client && nameInMail(displayName(client.clientId, client.metadata))) || row.clientId;
    return { values, facts };
  }

  /** Makes a new code at each attempt, since nothing stored contains it. Undefined if the browser has asked for another one, or too long ago. */
  async function makeCode({ data }: OutboxRow, { sub }: User, email: string): Promise<string | undefined> {
    const { attempt } = data;
    if (typeof attempt !== 'string') return undefined;
    const code = newVerificationCode();
    const [codeHash] = signInCodeHashes(secretBox, attempt, code);
    return (await store.signInCodes.give(attempt, { sub, email, codeHash: codeHash! })) ? code : undefined;
  }

  /**
   * Makes a new link at each attempt, since nothing stored contains the link. Undefined if a new password or address has cancelled the row,
   * or if the session that requested it has ended: either happens before the link is stored, or afterwards and ends the link.
   */
  async function makeLink(
    row: OutboxRow,
    purpose: LinkPurpose,
    link: Pick<NewLink, 'sub' | 'email' | 'replaces' | 'sessionId' | 'signUpLink'>,
  ): Promise<string | undefined> {
    const { token, hash } = newOpaqueToken('mailed_link');
    const made = await store.transaction(async ({ users, outbox, mailedLinks }) => {
      if (link.sub !== undefined) await users.lock(link.sub);
      if (!(await outbox.waits(row.id))) return false;
      const lifetime = lifetimeOf[purpose];
      return (await mailedLinks.insert({ ...link, purpose, tokenHash: hash, lifetime })) !== undefined;
    });
    const path = link.signUpLink === undefined ? paths[purpose] : '/sign-up/link/complete';
    return made ? `${issuer}${path}?token=${token}` : undefined;
  }
}
