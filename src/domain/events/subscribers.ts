// Lists the subscribers of events, and declares them in the database.
import type { Repositories } from '../../repositories/store.ts';
import type { EventSubscriber } from './event-subscriber.ts';
import { mailSubscriber } from './mail-subscriber.ts';
import { subscriptionsOfWebhooks, webhookSubscriber } from './webhook-subscriber.ts';

/** Each one hears of every event of its types, whether a request, a command or plain SQL causes it. */
export const eventSubscribers: EventSubscriber[] = [mailSubscriber, webhookSubscriber];

/** Called at the start of an instance and of a command, before the first event. */
export async function declareSubscribers(
  repositories: Pick<Repositories, 'eventSubscriptions' | 'webhooks'>,
): Promise<void> {
  const always = eventSubscribers.filter(({ onDemand }) => !onDemand);
  const ofWebhooks = await subscriptionsOfWebhooks(repositories);
  await repositories.eventSubscriptions.declare([
    ...always.flatMap(({ name, types }) => types.map((type) => ({ type, subscriber: name }))),
    ...ofWebhooks,
  ]);
}
