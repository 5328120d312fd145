// Holds what is special to webhooks when they are created, changed and deleted: their addresses, their secrets and their subscriptions.
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { makeWebhookSecret } from '../../crypto/webhook-signature.ts';
import type { Input } from '../../entities/entity.ts';
import { maxWebhooks, type Webhook, webhooks } from '../../entities/webhooks.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import { isOutwardAddress } from '../../outbound/outward-address.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { auditEventTypes } from '../../repositories/audit/audit-events.ts';
import type { Store } from '../../repositories/store.ts';
import { messageOf, takesEvent } from '../../rules/webhooks/event-filter.ts';
import { subscribeWebhooks } from '../events/webhook-subscriber.ts';
import { entityAdministration } from './entities.ts';

/** The members that are secrets, which are also the names of the secrets in paths. */
export const webhookSecrets = ['secret', 'second_secret'] as const;
export type WebhookSecret = (typeof webhookSecrets)[number];
/** A secret that was made just now. */
export interface MadeSecret {
  id: WebhookSecret;
  secret: string;
}

const isSet = (webhook: Pick<Webhook, 'secretEncrypted' | 'secondSecretEncrypted'>, id: WebhookSecret): boolean =>
  (id === 'secret' ? webhook.secretEncrypted : webhook.secondSecretEncrypted) !== undefined;

export interface WebhookContext {
  store: Store;
  secretBox: Pick<SecretBox, 'seal'>;
  config: Pick<Config, 'outboundAllow'>;
}

export function webhookAdministration({ store, secretBox, config }: WebhookContext) {
  function checkUrl(url: string): void {
    // the mail server would read the message as commands (federation FR46, F105)
    if (!isOutwardAddress(url, config.outboundAllow) || new URL(url).port === '25')
      throw invalidRequest(refusal('webhook-url', 'url'));
  }
  function checkEvents(events: readonly string[]): void {
    const pattern = events.find((one) => !auditEventTypes.some((type) => takesEvent([one], type)));
    if (pattern !== undefined) throw invalidRequest(refusal('event-none', 'events', { pattern }));
  }

  const kernel = entityAdministration(
    store,
    webhooks,
    {
      repository: (repositories) => repositories.webhooks,
      taken: refusal('webhook.taken', 'name'),
      full: refusal('webhook.full', 'name', { most: String(maxWebhooks) }),
      // the address can have a secret in it
      facts: ({ id }) => ({ detail: { webhook: id } }),
      async check(_repositories, after, members) {
        if (members.includes('url')) checkUrl(after.url);
        if (members.includes('events')) checkEvents(after.events);
        if (!webhookSecrets.some((id) => isSet(after, id)))
          throw invalidRequest(refusal('webhook-last-secret', 'secret'));
      },
      async stored(repositories, { id }, members) {
        if (members.includes('url') || members.includes('status')) await repositories.webhookDeliveries.forgive(id);
        if (members.includes('events') || members.includes('status')) await subscribeWebhooks(repositories);
      },
      removing: (repositories, { id }) => subscribeWebhooks(repositories, id),
    },
    secretBox,
  );

  async function find(name: string): Promise<Webhook> {
    const found = name.includes('\0') ? undefined : await store.webhooks.find(name);
    if (!found) throw notFound('there is no such webhook');
    return found;
  }

  return {
    ...kernel,
    /** @returns the webhook, with the secret if the service made it @throws OAuthError */
    async create(
      by: Actor,
      { secret = makeWebhookSecret(), ...input }: Input,
    ): Promise<Webhook & { newSecret?: string }> {
      const made = await kernel.create(by, { ...input, secret });
      return input['secret'] === undefined ? { ...made, newSecret: String(secret) } : made;
    },
    /** Makes a secret beside the one that there is: both sign until one is removed. @throws OAuthError conflict if there are two */
    async addSecret(by: Actor, name: string): Promise<MadeSecret> {
      const { id: webhook, version, ...found } = await find(name);
      const id = webhookSecrets.find((one) => !isSet(found, one));
      if (id === undefined) throw conflict(refusal('webhook.secrets', 'secrets'));
      const secret = makeWebhookSecret();
      await kernel.change(by, webhook, { version, [id]: secret });
      return { id, secret };
    },
    /** @throws OAuthError not_found, or invalid_request for the last one */
    async removeSecret(by: Actor, name: string, id: WebhookSecret): Promise<void> {
      const found = await find(name);
      if (!isSet(found, id)) throw notFound('there is no such secret');
      await kernel.change(by, found.id, { version: found.version, [id]: null });
    },
    /** Queues the message about an event once more, with the same id. @throws OAuthError */
    async replay(by: Actor, name: string, eventId: string): Promise<void> {
      const webhook = await find(name);
      const event = await store.auditSearch.find(eventId);
      if (!event) throw invalidRequest(refusal('webhook.no-event', 'event'));
      if (!takesEvent(webhook.events, event.type)) throw invalidRequest(refusal('webhook.unwanted', 'event'));
      await store.transaction(async ({ webhookDeliveries, auditEvents }) => {
        const message = { eventId, type: event.type, body: messageOf(event) };
        await webhookDeliveries.endPause(webhook.id);
        await webhookDeliveries.insert([webhook.id], message);
        const detail = { webhook: webhook.id, event: eventId };
        await auditEvents.insert({ ...by, type: 'webhook.replayed', outcome: 'success', detail });
      });
    },
  };
}
