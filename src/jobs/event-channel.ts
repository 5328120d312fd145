// Gives each event in the outbox to its subscriber.
import { DatabaseUnavailable } from '../database/database.ts';
import type { RecordedEvent } from '../domain/events/event-subscriber.ts';
import { eventSubscribers } from '../domain/events/subscribers.ts';
import { type EventRow, toEvent } from '../repositories/audit/event-row.ts';
import type { AuditEventType } from '../repositories/audit/audit-events.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import type { Channel, Failure } from './channel.ts';
import { outboxQueue } from './outbox.ts';

export function eventChannel(store: Store): Channel<OutboxRow> {
  /** Handles events in one transaction, since a flood of events would otherwise cost a transaction each. */
  async function handleTogether(rows: readonly OutboxRow[]): Promise<void> {
    await store.transaction(async (repositories) => {
      const found = await repositories.outbox.deleteAll(rows.map(({ id }) => id));
      for (const row of rows) if (found.has(row.id)) await subscriberOf(row)!.handle(eventOf(row), repositories);
    });
  }

  async function handle(rows: readonly OutboxRow[]): Promise<Failure<OutboxRow>[]> {
    if (rows.length === 0) return [];
    try {
      await handleTogether(rows);
      return [];
    } catch (error) {
      // no event can be handled now: the lease ends later
      if (error instanceof DatabaseUnavailable) throw error;
      if (rows.length === 1) return [{ row: rows[0]!, reason: error instanceof Error ? error.message : String(error) }];
    }
    // one event that fails does not hold up the others
    const failures: Failure<OutboxRow>[] = [];
    for (const row of rows) failures.push(...(await handle([row])));
    return failures;
  }

  return {
    name: 'event',
    queue: outboxQueue(store, { name: 'event', parallel: 1, batch: 50, lease: 60, deadline: 7 * 86_400 }),
    async handle(rows) {
      const known = rows.filter(subscriberOf);
      // during an upgrade a later version may have subscribed: the event waits for an instance of it
      const unknown = rows.filter((row) => !known.includes(row));
      const reason = 'this version does not have this subscriber';
      return [...(await handle(known)), ...unknown.map((row) => ({ row, reason }))];
    },
    recordEnd: async () => undefined, // the audit trail has the event
    facts: ({ name, data, attempts }) => ({ subscriber: name, event: data['type'], attempts }),
    messages: {
      failed: 'an event was not handled; will retry',
      givenUp: 'an event could not be handled; giving up',
      unread: 'pending events could not be read',
      unrecorded: 'an event could not be handled',
    },
  };
}

/** Undefined if this version has no subscriber for the event. */
const subscriberOf = ({ name, data }: OutboxRow) =>
  eventSubscribers.find((each) => each.name === name && each.types.some((type) => type === data['type']));

function eventOf({ data }: OutboxRow): RecordedEvent {
  // record_event() wrote the members of its event into the row, and JSON has no type
  const event = data as unknown as EventRow<AuditEventType> & { languages?: string };
  return { ...toEvent(event), id: String(event.id), at: new Date(event.at), languages: event.languages };
}
