// Reads webhooks for their deliveries, beside what every entity reads and writes.
import { type Sql, statement } from '../../database/database.ts';
import { type Webhook, webhooks } from '../../entities/webhooks.ts';
import { entityRepository, entityTable } from '../entities.ts';

const enabled = statement('webhooks.enabled', `SELECT id, events FROM webhooks WHERE status = 'enabled'`);
// the same lock as that of an insert
const lockAll = statement('webhooks.lock_all', `SELECT pg_advisory_xact_lock(hashtext('webhooks'))`);
const receiver = statement(
  'webhooks.receiver',
  `SELECT url, secret_encrypted, second_secret_encrypted FROM webhooks WHERE id = $1 AND status = 'enabled'`,
);
const disable = statement(
  'webhooks.disable',
  `UPDATE webhooks SET status = 'disabled', version = version + 1 WHERE id = $1 AND status = 'enabled' RETURNING name`,
);
const table = entityTable(webhooks);

/** What a delivery needs of its webhook. */
export type Receiver = Pick<Webhook, 'url' | 'secretEncrypted' | 'secondSecretEncrypted'>;

export function webhooksRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The filters of those that get messages. */
    enabled: (): Promise<{ id: string; events: string[] }[]> => sql.query(enabled),
    /** In a transaction: no other one changes which events webhooks get until it ends. */
    async lockAll(): Promise<void> {
      await sql.query(lockAll);
    },
    /** Undefined if it is disabled or deleted. */
    async receiver(id: string): Promise<Receiver | undefined> {
      const [row] = await sql.query<{
        url: string;
        secret_encrypted: Buffer | null;
        second_secret_encrypted: Buffer | null;
      }>(receiver, [id]);
      return (
        row && {
          url: row.url,
          secretEncrypted: row.secret_encrypted ?? undefined,
          secondSecretEncrypted: row.second_secret_encrypted ?? undefined,
        }
      );
    },
    /** False if it was disabled before, or is deleted. */
    disable: async (id: string): Promise<boolean> => (await sql.query(disable, [id])).length > 0,
  };
}
