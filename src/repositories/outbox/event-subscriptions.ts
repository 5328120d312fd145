// Declares the subscribers of events, so that record_event() puts their events into the outbox.
import { type Sql, statement } from '../../database/database.ts';

export interface EventSubscription {
  type: string;
  subscriber: string;
}

// the order of the rows is the same for all instances, so that two of them cannot deadlock
const declare = statement(
  'event_subscriptions.declare',
  `INSERT INTO event_subscriptions AS s (type, subscriber)
   SELECT type, subscriber FROM jsonb_to_recordset($1) AS e (type text, subscriber text) ORDER BY type, subscriber
   ON CONFLICT (type, subscriber) DO UPDATE SET declared_at = now() WHERE s.declared_at < now() - interval '1 hour'`,
);

// a subscription of a type that only a newer version knows stays
const replace = statement(
  'event_subscriptions.replace',
  `WITH gone AS (
     DELETE FROM event_subscriptions WHERE subscriber = $1 AND type = ANY ($2::text[]) AND type <> ALL ($3::text[]))
   INSERT INTO event_subscriptions (type, subscriber) SELECT type, $1 FROM unnest($3::text[]) AS type ORDER BY type
   ON CONFLICT (type, subscriber) DO UPDATE SET declared_at = now()`,
);

export function eventSubscriptionsRepository(sql: Sql) {
  return {
    /** Adds the missing subscriptions, and renews the others once an hour: those that no instance renews for a week are deleted. */
    async declare(subscriptions: readonly EventSubscription[]): Promise<void> {
      await sql.query(declare, [JSON.stringify(subscriptions)]);
    },
    /** Leaves a subscriber with these subscriptions. @param known the types that this version knows */
    async replace(subscriber: string, known: readonly string[], types: readonly string[]): Promise<void> {
      await sql.query(replace, [subscriber, known, types]);
    },
  };
}
