// Declares what a subscriber of events is.
import type { AuditEvent, AuditEventType } from '../../repositories/audit/audit-events.ts';
import type { Repositories } from '../../repositories/store.ts';

export interface RecordedEvent extends AuditEvent {
  /** In the audit trail. */
  id: string;
  at: Date;
}

export interface EventSubscriber {
  /** Its name in the outbox: a subscriber of another name does not get the events that wait for this one. */
  name: string;
  types: readonly AuditEventType[];
  /** Only what administrators set up subscribes it, and to these types alone. */
  onDemand?: true;
  /**
   * Called for each event at least once, in the transaction that deletes the event from the outbox: what it writes by `repositories` is written
   * exactly once. When it throws, the event is tried again later.
   */
  handle(event: RecordedEvent, repositories: Repositories): Promise<void>;
}
