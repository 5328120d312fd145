// Stores one row per running instance: the key that it encrypts with, and its last heartbeat.
import { type Sql, statement } from '../../database/database.ts';

/** Seconds without a heartbeat after which an instance counts as gone: it was killed, or has had no database since then. */
export const instanceTimeout = 100;

/**
 * The condition of a row whose instance runs. A heartbeat that is ahead is from before the clock of the database went back: its
 * instance has stopped, or corrects it with the next one.
 */
export const seenLately = `seen_at BETWEEN now() - make_interval(secs => ${instanceTimeout}) AND now() + make_interval(secs => ${instanceTimeout})`;

/** Where an instance runs, and how. */
export interface InstancePlace {
  host: string;
  port: number;
  version: string;
  /** By the names of the environment, without secrets. */
  settings: Readonly<Record<string, string>>;
}

export interface RunningInstance {
  /** The id of the key that it encrypts with, the first of its SECRET_KEY. */
  secretKeyId: string;
  startedAt: Date;
  /** Its BASE_URL. Undefined for an instance of an older version, like its place. */
  issuer: string | undefined;
  place: InstancePlace | undefined;
}

const heartbeat = statement(
  'instances.heartbeat',
  `INSERT INTO instances (id, secret_key_id, host, port, version, settings) VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
);
const remove = statement('instances.remove', 'DELETE FROM instances WHERE id = $1');
const removeSeenBefore = statement('instances.remove_seen_before', 'DELETE FROM instances WHERE seen_at < $1');
const running = statement(
  'instances.running',
  `SELECT secret_key_id AS "secretKeyId", started_at AS "startedAt", to_jsonb(instances) AS facts FROM instances
    WHERE ${seenLately} ORDER BY started_at`,
);

/** A running instance as statements read it. */
export interface InstanceRow {
  secretKeyId: string;
  startedAt: Date;
  /** The whole row, so that a doctor also reads a table from before these columns. */
  facts: { [N in keyof InstancePlace]?: InstancePlace[N] | null };
}

export function runningIn({ secretKeyId, startedAt, facts }: InstanceRow): RunningInstance {
  const { host, port, version, settings } = facts;
  const place = host && port && version && settings ? { host, port, version, settings } : undefined;
  return { secretKeyId, startedAt, issuer: settings?.['BASE_URL'], place };
}

export function instancesRepository(sql: Sql) {
  return {
    async heartbeat(id: string, secretKeyId: string, place?: InstancePlace): Promise<void> {
      const { host, port, version, settings } = place ?? {};
      await sql.query(heartbeat, [id, secretKeyId, host, port, version, settings && JSON.stringify(settings)]);
    },
    async remove(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
    /** Removes the instances without a heartbeat since then. */
    async removeSeenBefore(time: Date): Promise<void> {
      await sql.query(removeSeenBefore, [time]);
    },
    /** The instances that now serve with this database. */
    running: async (): Promise<RunningInstance[]> => (await sql.query<InstanceRow>(running)).map(runningIn),
  };
}
