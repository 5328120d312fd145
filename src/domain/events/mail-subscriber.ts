// Queues the mails about events: to administrators, to the contacts of a client, and to the user whose account changed. Mails with a link, about a
// sign-in or about a change of the address are queued by the request itself; pages/views/mail.ts lists all mails.
import type { QueuedMail } from '../../repositories/outbox/mails.ts';
import type { EventSubscriber, RecordedEvent } from './event-subscriber.ts';

const maxContacts = 3;
/** The mails that every administrator gets. */
const toAdministrators = ['webhook-disabled', 'provisioning-failing'];

export interface MailFacts {
  /** The contacts that the client registered: any text. */
  contacts: readonly string[];
  /** Whether the user has a verified address. */
  hasVerifiedAddress: boolean;
  /** The name of the connection that the event names. */
  connection?: string | undefined;
  /** The name of the webhook that the event names. */
  webhook?: string | undefined;
}

export function mailsAbout(
  event: RecordedEvent,
  { contacts, hasVerifiedAddress, connection = '', webhook }: MailFacts,
): QueuedMail[] {
  const { type, outcome, clientId, detail = {} } = event;
  if (outcome !== 'success') return [];
  switch (type) {
    case 'client.registered':
      return detail['status'] === 'disabled' ? [{ name: 'registrations' }] : [];
    case 'client.updated':
      return detail['waits_for_approval'] === true ? [{ name: 'registrations' }] : [];
    case 'client.approved':
    case 'client.refused': {
      const name = type === 'client.approved' ? 'registration-approved' : 'registration-refused';
      const { reason } = detail;
      const addresses = contacts.filter((contact) => /^[^\s@]+@[^\s@]+$/.test(contact));
      return [...new Set(addresses)]
        .slice(0, maxContacts)
        .map((recipient) => ({ name, clientId, recipient, ...(typeof reason === 'string' && { data: { reason } }) }));
    }
    case 'user.password_changed':
      return hasVerifiedAddress ? [aboutAccount('password-changed', event)] : [];
    case 'user.second_factor_added':
    case 'user.second_factor_removed':
    case 'user.recovery_codes_renewed':
      return hasVerifiedAddress ? [aboutAccount('second-factor-changed', event)] : [];
    case 'identity.linked':
      // the user of a new account needs no warning
      return hasVerifiedAddress && detail['how'] !== 'provisioned' && detail['how'] !== 'imported'
        ? [aboutAccount('identity-linked', event, { connection })]
        : [];
    case 'identity.unlinked':
      // what users remove themselves needs no mail
      return hasVerifiedAddress && event.actor !== event.sub ? [aboutAccount('identity-unlinked', event)] : [];
    case 'webhook.disabled':
      // a receiver that answers 410 has said itself that it wants no more
      return detail['reason'] === 'failing' && webhook !== undefined
        ? [{ name: 'webhook-disabled', data: { webhook } }]
        : [];
    case 'provisioning_target.failing':
      return [{ name: 'provisioning-failing', clientId }];
    default:
      return [];
  }
}

/** Only the user's own request says something about the user's language, and comes from an address that the user may know. */
function aboutAccount(
  name: string,
  { at, actor, sub, address, languages }: RecordedEvent,
  more: Record<string, string> = {},
): QueuedMail {
  const isOwn = actor === sub;
  return { name, sub, locale: isOwn ? languages : undefined, data: { at, ...(isOwn && { address }), ...more } };
}

export const mailSubscriber: EventSubscriber = {
  name: 'mail',
  types: [
    'client.registered',
    'client.updated',
    'client.approved',
    'client.refused',
    'user.password_changed',
    'user.second_factor_added',
    'user.second_factor_removed',
    'user.recovery_codes_renewed',
    'identity.linked',
    'identity.unlinked',
    'webhook.disabled',
    'provisioning_target.failing',
  ],
  async handle(event, { clients, users, mails, connections, webhooks }) {
    const { type, clientId, sub, detail } = event;
    const id = type === 'identity.linked' ? detail?.['connection'] : undefined;
    const connection = typeof id === 'string' ? ((await connections.find(id))?.displayName ?? id) : undefined;
    const named = type === 'webhook.disabled' ? detail?.['webhook'] : undefined;
    const webhook = typeof named === 'string' ? (await webhooks.find(named))?.name : undefined;
    const isDecision = type === 'client.approved' || type === 'client.refused';
    const client = isDecision && clientId !== undefined ? await clients.find(clientId) : undefined;
    const user = sub === undefined ? undefined : await users.find(sub);
    const facts = {
      contacts: client?.metadata.contacts ?? [],
      hasVerifiedAddress: user?.emailVerified === true && user.email !== undefined,
      connection,
      webhook,
    };
    for (const order of mailsAbout(event, facts))
      await (toAdministrators.includes(order.name) ? mails.insertForAdministrators(order) : mails.insert(order));
  },
};
