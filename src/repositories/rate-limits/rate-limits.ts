// Counts in the table rate_limits how many attempts each key had in its window, on all instances.
import { type Sql, statement } from '../../database/database.ts';

/** Attempts to add to a key. */
export interface Attempts {
  taken: number;
  refunded: number;
  /** The length of a window that these attempts begin. */
  milliseconds: number;
}

export interface Count {
  /** Attempts in this window. */
  points: number;
  /** Milliseconds until the window ends. */
  left: number;
}

// Counts many keys at once, and locks their rows in the order of the keys, so that two instances cannot deadlock. The commit does not wait for
// the disk: a crash of the database may lose the attempts of the last second, but a lock held during a flush would delay all later attempts.
const count = statement(
  'rate_limits.count',
  `INSERT INTO rate_limits AS l (key, points, expire)
   SELECT key, taken, extract(epoch FROM now()) * 1000 + milliseconds
     FROM unnest($1::text[], $2::int[], $4::int[]) AS counters (key, taken, milliseconds),
          set_config('synchronous_commit', 'off', true)
   ON CONFLICT (key) DO UPDATE SET
     points = excluded.points + CASE WHEN l.expire <= extract(epoch FROM now()) * 1000 THEN 0
       ELSE greatest(0, l.points - ($3::int[])[array_position($1, excluded.key)]) END,
     expire = CASE WHEN l.expire <= extract(epoch FROM now()) * 1000 THEN excluded.expire ELSE l.expire END
   RETURNING key, points, (expire - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS left`,
);

export function rateLimitsRepository(sql: Sql) {
  return {
    /** Adds attempts to keys. A key whose window is over begins a new one. */
    async count(attempts: ReadonlyMap<string, Attempts>): Promise<Map<string, Count>> {
      const ordered = [...attempts].sort(([a], [b]) => (a < b ? -1 : 1));
      const rows = await sql.query<Count & { key: string }>(count, [
        ordered.map(([key]) => key),
        ordered.map(([, { taken }]) => taken),
        ordered.map(([, { refunded }]) => refunded),
        ordered.map(([, { milliseconds }]) => milliseconds),
      ]);
      return new Map(rows.map((row) => [row.key, row]));
    },
  };
}
