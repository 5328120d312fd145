// The tables data_keys and data_key_wrappings: what seals at rest, under each SECRET_KEY in use; and the instances that have to know.
import { type Sql, statement } from '../../database/database.ts';

export interface DataKeyRow {
  version: number;
  createdAt: Date;
  /** Every instance has it. */
  active: boolean;
  /** Nothing is sealed with it any more; it goes then. */
  expiresAt: Date | undefined;
  /** By the id of the SECRET_KEY that it is wrapped by. */
  wrappings: Map<string, Buffer>;
}

/** A process that serves, as its listening connection names it. */
export interface RunningInstance {
  /** Of its SECRET_KEY; undefined is an instance of a version that has no data keys. */
  secretKeyId: string | undefined;
  /** The newest data key that it has, and the one that it seals with. */
  newest: number;
  current: number;
}

const list = statement(
  'data_keys.list',
  `SELECT k.version, k.created_at, k.active_at IS NOT NULL AS active, k.expires_at, w.secret_key_id, w.wrapped
     FROM data_keys k LEFT JOIN data_key_wrappings w ON w.version = k.version ORDER BY k.version, w.created_at`,
);
const lockTable = statement('data_keys.lock_table', 'LOCK TABLE data_keys IN SHARE ROW EXCLUSIVE MODE');
const insert = statement('data_keys.insert', 'INSERT INTO data_keys (version) VALUES ($1)');
const wrap = statement(
  'data_keys.wrap',
  `INSERT INTO data_key_wrappings (version, secret_key_id, wrapped) VALUES ($1, $2, $3)
   ON CONFLICT DO NOTHING RETURNING 1 AS wrapped`,
);
const unwrapOthers = statement(
  'data_keys.unwrap_others',
  'DELETE FROM data_key_wrappings WHERE secret_key_id <> $1 RETURNING secret_key_id',
);
const activate = statement(
  'data_keys.activate',
  'UPDATE data_keys SET active_at = now() WHERE version = $1 AND active_at IS NULL RETURNING 1 AS active',
);
const expireOlder = statement(
  'data_keys.expire_older',
  `UPDATE data_keys SET expires_at = now() + make_interval(secs => $2) WHERE version < $1 AND expires_at IS NULL
   RETURNING version`,
);
const running = statement(
  'data_keys.running_instances',
  `SELECT substr(application_name, 20) AS words FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'gatehouse listener%'`,
);

export function dataKeysRepository(sql: Sql) {
  return {
    /** All of them, the oldest first. */
    async list(): Promise<DataKeyRow[]> {
      const rows = await sql.query<{
        version: number;
        created_at: Date;
        active: boolean;
        expires_at: Date | null;
        secret_key_id: string | null;
        wrapped: Buffer | null;
      }>(list);
      const keys = new Map<number, DataKeyRow>();
      for (const { version, created_at: createdAt, active, expires_at, secret_key_id, wrapped } of rows) {
        const key = keys.get(version) ?? {
          ...{ version, createdAt, active, expiresAt: expires_at ?? undefined },
          wrappings: new Map<string, Buffer>(),
        };
        if (secret_key_id !== null) key.wrappings.set(secret_key_id, wrapped!);
        keys.set(version, key);
      }
      return [...keys.values()];
    },
    /** Keeps others from changing them until the transaction ends. */
    async lock(): Promise<void> {
      await sql.query(lockTable);
    },
    /** Stores a new one, which seals nothing yet. */
    async insert(version: number): Promise<void> {
      await sql.query(insert, [version]);
    },
    /** Stores it under a SECRET_KEY; false when it was before. */
    async wrap(version: number, secretKeyId: string, wrapped: Buffer): Promise<boolean> {
      return (await sql.query(wrap, [version, secretKeyId, wrapped])).length > 0;
    },
    /** Takes them away from under every SECRET_KEY but this one; returns the ids of those. */
    async unwrapOthers(secretKeyId: string): Promise<string[]> {
      const rows = await sql.query<{ secret_key_id: string }>(unwrapOthers, [secretKeyId]);
      return [...new Set(rows.map((row) => row.secret_key_id))];
    },
    /** Lets it seal; false when it did before. */
    async activate(version: number): Promise<boolean> {
      return (await sql.query(activate, [version])).length > 0;
    },
    /** Ends all that are older, in so many seconds. Returns their versions. */
    async expireOlder(version: number, seconds: number): Promise<number[]> {
      return (await sql.query<{ version: number }>(expireOlder, [version, seconds])).map((row) => row.version);
    },
    /** The instances that serve on this database now. */
    async runningInstances(): Promise<RunningInstance[]> {
      return (await sql.query<{ words: string }>(running)).map(({ words }) => {
        const [secretKeyId = '', versions = ''] = words.trim().split(' ');
        const [newest, current] = versions.split('/').map(Number);
        return { secretKeyId: secretKeyId || undefined, newest: newest ?? 0, current: current ?? 0 };
      });
    },
  };
}

/** How an instance introduces itself; runningInstances() reads it. A name in PostgreSQL has 63 characters at most. */
export function introduction({ secretKeyId, newest, current }: RunningInstance): string {
  return `${secretKeyId} ${newest}/${current}`;
}
