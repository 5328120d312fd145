// Declares the channel that compares changed users, and the users of changed clients, with what provisioning targets have of them (federation 8).
import { holdMassChanges } from '../domain/provisioning/hold.ts';
import { DatabaseUnavailable } from '../database/database.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import type { Channel, Failure } from './channel.ts';
import { outboxQueue } from './outbox.ts';

export function provisioningChannel(store: Store): Channel<OutboxRow> {
  const handleOne = ({ id, name, clientId, data }: OutboxRow): Promise<void> =>
    store.transaction(async (repositories) => {
      const { outbox, provisioningTargets, provisionedUsers } = repositories;
      if (!(await outbox.delete(id))) return;
      if (name === 'users') await provisionedUsers.mark(data['subs'] as string[]);
      else {
        const target = await provisioningTargets.ofClient(clientId!);
        if (target !== undefined) await provisioningTargets.wantReview(target, 'access');
      }
      // in the transaction that notes who leaves: no instance sends a part of a change that is held
      await holdMassChanges(repositories);
    });

  return {
    name: 'provisioning',
    queue: outboxQueue(store, { name: 'provisioning', parallel: 1, batch: 20, lease: 60, deadline: 7 * 86_400 }),
    async handle(rows) {
      const failures: Failure<OutboxRow>[] = [];
      for (const row of rows)
        try {
          await handleOne(row);
        } catch (error) {
          // the lease ends later
          if (error instanceof DatabaseUnavailable) throw error;
          failures.push({ row, reason: error instanceof Error ? error.message : String(error) });
        }
      return failures;
    },
    recordEnd: async () => undefined, // the review of the next night finds what differs
    facts: ({ name, clientId, attempts }) => ({ of: name, client_id: clientId, attempts }),
    messages: {
      failed: 'changed users were not compared with provisioning targets; will retry',
      givenUp: 'changed users could not be compared with provisioning targets; giving up',
      unread: 'changes for provisioning targets could not be read',
      unrecorded: 'changes for provisioning targets could not be recorded',
    },
  };
}
