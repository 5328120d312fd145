// Lists the subscribers of events, and declares them in the database.
import type { Repositories } from '../../repositories/store.ts';
import type { EventSubscriber } from './event-subscriber.ts';
import { mailSubscriber } from './mail-subscriber.ts';

/** Each one hears of every event of its types, whether a request, a command or plain SQL causes it. */
export const eventSubscribers: EventSubscriber[] = [mailSubscriber];

/** Called at the start of an instance and of a command, before the first event. */
export function declareSubscribers({ eventSubscriptions }: Pick<Repositories, 'eventSubscriptions'>): Promise<void> {
  return eventSubscriptions.declare(
    eventSubscribers.flatMap(({ name, types }) => types.map((type) => ({ type, subscriber: name }))),
  );
}
