// Makes a message of each event for the webhooks that get it, in the transaction that takes the event from the outbox.
import { type AuditEventType, auditEventTypes } from '../../repositories/audit/audit-events.ts';
import type { EventSubscription } from '../../repositories/outbox/event-subscriptions.ts';
import type { Repositories } from '../../repositories/store.ts';
import { messageOf, takesEvent } from '../../rules/webhooks/event-filter.ts';
import type { EventSubscriber } from './event-subscriber.ts';

const name = 'webhook';

export const webhookSubscriber: EventSubscriber = {
  name,
  types: auditEventTypes,
  onDemand: true,
  async handle(event, { webhooks, webhookDeliveries }) {
    const takers = (await webhooks.enabled()).filter(({ events }) => takesEvent(events, event.type));
    const { id, type } = event;
    if (takers.length > 0)
      await webhookDeliveries.insert(
        takers.map((one) => one.id),
        { eventId: id, type, body: messageOf(event) },
      );
  },
};

/** The types that an enabled webhook gets: without one there are none, and no event costs more than before. */
async function wantedTypes({ webhooks }: Pick<Repositories, 'webhooks'>, but?: string): Promise<AuditEventType[]> {
  const all = (await webhooks.enabled()).filter(({ id }) => id !== but);
  return auditEventTypes.filter((type) => all.some(({ events }) => takesEvent(events, type)));
}

export const subscriptionsOfWebhooks = async (
  repositories: Pick<Repositories, 'webhooks'>,
): Promise<EventSubscription[]> => (await wantedTypes(repositories)).map((type) => ({ type, subscriber: name }));

/** In the transaction of a change of a webhook: subscribes to what the enabled ones get, and to nothing else. @param but one that is about to be deleted */
export async function subscribeWebhooks(
  repositories: Pick<Repositories, 'webhooks' | 'eventSubscriptions'>,
  but?: string,
): Promise<void> {
  await repositories.webhooks.lockAll();
  await repositories.eventSubscriptions.replace(name, auditEventTypes, await wantedTypes(repositories, but));
}
