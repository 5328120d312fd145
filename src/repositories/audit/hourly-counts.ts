// Reads and writes the tables hourly_counts and clean_up: the counts of each hour, and how far the background job has counted.
import { type Sql, statement } from '../../database/database.ts';

/** The counted kinds: sign-ins, refused sign-ins, all other refusals of the audit trail, and grants of the token endpoint. */
export const countedKinds = ['sign_in', 'sign_in_failed', 'refusal', 'grant'] as const;
export type CountedKind = (typeof countedKinds)[number];

export interface HourlyCount {
  /** The start of the hour. */
  hour: Date;
  kind: CountedKind;
  count: number;
}

export interface CleanUpState {
  /** Events before this time are counted. */
  countedUntil: Date;
  /** When the background job last finished. */
  finishedAt: Date | undefined;
  now: Date;
}

// A transaction that began earlier may still store an event, but none of the service lasts this long. It also limits how much
// is counted at a time, so that a statement stays within its deadline, however many users sign in.
const settled = `interval '1 minute'`;
const step = `interval '10 minutes'`;

const kindOf = `CASE WHEN type = 'user.signed_in' THEN 'sign_in' WHEN type = 'user.sign_in_failed' THEN 'sign_in_failed'
  WHEN outcome = 'failure' THEN 'refusal' END`;
const hourOf = `date_trunc('hour', at, 'UTC')`;

// as text, since a Date has no microseconds
const nextStep = statement(
  'hourly_counts.next_step',
  `SELECT counted_until::text AS since, least(counted_until + ${step}, now() - ${settled})::text AS until,
          counted_until + ${step} < now() - ${settled} AS more
     FROM clean_up WHERE counted_until < now() - ${settled} FOR UPDATE`,
);
const count = statement(
  'hourly_counts.count',
  `INSERT INTO hourly_counts AS h (hour, kind, count)
   SELECT ${hourOf}, ${kindOf}, count(*) FROM audit_events
    WHERE at >= $1::timestamptz AND at < $2::timestamptz AND ${kindOf} IS NOT NULL GROUP BY 1, 2
   ON CONFLICT (hour, kind) DO UPDATE SET count = h.count + excluded.count`,
);
const moveOn = statement('hourly_counts.move_on', 'UPDATE clean_up SET counted_until = $1::timestamptz');
const add = statement(
  'hourly_counts.add',
  `INSERT INTO hourly_counts AS h (hour, kind, count) VALUES (date_trunc('hour', now(), 'UTC'), $1, $2)
   ON CONFLICT (hour, kind) DO UPDATE SET count = h.count + excluded.count`,
);
const finish = statement('hourly_counts.finish', 'UPDATE clean_up SET finished_at = now()');
const state = statement(
  'hourly_counts.state',
  'SELECT counted_until, finished_at, clock_timestamp() AS now FROM clean_up',
);
// While the background job runs, only the events of the last minute are not counted yet. The upper bound, which no event exceeds, tells the
// planner that the period is short.
const list = statement(
  'hourly_counts.list',
  `SELECT hour, kind, sum(count)::float8 AS count FROM (
     SELECT hour, kind, count FROM hourly_counts WHERE hour >= $1
     UNION ALL
     SELECT ${hourOf}, ${kindOf}, count(*) FROM audit_events
      WHERE at >= (SELECT greatest(counted_until, now() - ${step}) FROM clean_up)
        AND at < now() + ${step} AND ${hourOf} >= $1 AND ${kindOf} IS NOT NULL GROUP BY 1, 2) AS all_counts
    GROUP BY hour, kind ORDER BY hour, kind`,
);

export function hourlyCountsRepository(sql: Sql) {
  return {
    /** In a transaction: counts the next minutes of the audit trail; true when more can be counted at once. */
    async countEvents(): Promise<boolean> {
      const [next] = await sql.query<{ since: string; until: string; more: boolean }>(nextStep);
      if (!next) return false;
      await sql.query(count, [next.since, next.until]);
      await sql.query(moveOn, [next.until]);
      return next.more;
    },
    /** Adds to the current hour. */
    async add(kind: CountedKind, more: number): Promise<void> {
      await sql.query(add, [kind, more]);
    },
    /** Records that the background job has finished. */
    async finish(): Promise<void> {
      await sql.query(finish);
    },
    async state(): Promise<CleanUpState> {
      const [row] = await sql.query<{ counted_until: Date; finished_at: Date | null; now: Date }>(state);
      return { countedUntil: row!.counted_until, finishedAt: row!.finished_at ?? undefined, now: row!.now };
    },
    /** All counts since the start of an hour, the oldest first. Hours without events are omitted. */
    async list(since: Date): Promise<HourlyCount[]> {
      return sql.query<HourlyCount>(list, [since]);
    },
  };
}
