// Stores one row per running instance: the key that it encrypts with, and its last heartbeat.
import { type Sql, statement } from '../../database/database.ts';

/** Seconds without a heartbeat after which an instance counts as gone: it was killed, or has had no database since then. */
export const instanceTimeout = 100;

export interface RunningInstance {
  /** The id of the key that it encrypts with, the first of its SECRET_KEY. */
  secretKeyId: string;
}

const heartbeat = statement(
  'instances.heartbeat',
  `INSERT INTO instances (id, secret_key_id) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
);
const remove = statement('instances.remove', 'DELETE FROM instances WHERE id = $1');
const running = statement(
  'instances.running',
  `SELECT secret_key_id AS "secretKeyId" FROM instances WHERE seen_at > now() - make_interval(secs => $1) ORDER BY started_at`,
);

export function instancesRepository(sql: Sql) {
  return {
    async heartbeat(id: string, secretKeyId: string): Promise<void> {
      await sql.query(heartbeat, [id, secretKeyId]);
    },
    async remove(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
    /** The instances that now serve with this database. */
    running: (): Promise<RunningInstance[]> => sql.query(running, [instanceTimeout]),
  };
}
