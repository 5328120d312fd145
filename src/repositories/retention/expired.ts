// Deletes what has expired, and what is too much, in batches small enough that no request waits for one.
import { type Sql, statement } from '../../database/database.ts';

const batch = 1000;
const lockKey = 7_106_343;

const tryLock = statement('expired.lock', 'SELECT pg_try_advisory_xact_lock($1) AS mine');

// rows that somebody works on are left for the next time
const byExpiry = (table: string, column = 'expires_at', now = 'now()') =>
  statement(
    `expired.${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${column} <= ${now} ORDER BY ${column} LIMIT ${batch} FOR UPDATE SKIP LOCKED))
     RETURNING 1 AS gone`,
  );

/**
 * How many rows that anybody can make are kept, but for what came since the last round; the first to expire go (security R105).
 * Of counters so many of each limit: a flood of one kind must not push another kind out.
 */
export const mostKept = { pendingSignIns: 100_000, limits: 200_000, unknownNames: 100_000 };

const beyond = (table: string, column: string, filter: string) =>
  statement(
    `surplus.${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${filter} AND ${column} <= (
         SELECT ${column} FROM ${table} WHERE ${filter} ORDER BY ${column} DESC OFFSET $1 LIMIT 1)
        ORDER BY ${column} LIMIT ${batch} FOR UPDATE SKIP LOCKED))
     RETURNING 1 AS gone`,
  );
// pushed requests are the clients' own, and each client has a limit
const surplusPending = beyond('authorization_requests', 'expires_at', 'browser_hash IS NOT NULL');
// of names that nobody has: what a person's own tries count goes with the person
const surplusNames = beyond('sign_in_failures', 'expires_at', 'sub IS NULL');
const surplusLimits = beyond('rate_limits', 'expire', `split_part(key, ':', 1) = $2`);

// a spent refresh token is kept as long as its family: its return must be known
const tables = [
  byExpiry('access_tokens'),
  byExpiry('authorization_requests'),
  byExpiry('client_sessions'),
  byExpiry('used_assertions'),
  byExpiry('used_challenges'),
  byExpiry('initial_access_tokens'),
  byExpiry('registration_keys'),
  // for an hour more, a registrant that polls is told that its time is over
  byExpiry('deferred_registrations', 'expires_at', `now() - interval '1 hour'`),
  byExpiry('signing_keys'),
  byExpiry('instances', 'seen_at', `now() - interval '1 day'`),
  byExpiry('sessions', 'idle_expires_at'),
  byExpiry('logout_deliveries'),
  // nothing waits for a receiver that was not tried for a day
  byExpiry('logout_receivers', 'retry_at', `now() - interval '1 day'`),
  byExpiry('sign_in_failures'),
  byExpiry('known_browsers'),
  byExpiry('user_imports'),
  byExpiry('mailed_links'),
  byExpiry('rate_limits', 'expire', 'extract(epoch FROM now()) * 1000'),
  // a chart shows a month, and somebody may look back a year
  byExpiry('hourly_counts', 'hour', `now() - interval '400 days'`),
];

// Whole days go, so that this is not done all day. The trail's own trigger opens its door for the seconds that stand in this setting.
const auditBatch = 5000;
const openAuditDoor = statement(
  'expired.open_audit_door',
  `SELECT set_config('gatehouse.audit_retention', $1::bigint::text, true)`,
);
const auditEvents = statement(
  'expired.audit_events',
  `WITH ends AS (SELECT date_trunc('day', now() - make_interval(secs => $1), 'UTC') AS at)
   DELETE FROM audit_events WHERE id = ANY (ARRAY(
     SELECT id FROM audit_events WHERE at < (SELECT at FROM ends) ORDER BY at LIMIT ${auditBatch}))
   RETURNING (SELECT at FROM ends) AS before`,
);

export function expiredRepository(sql: Sql, most = mostKept) {
  const kinds = [
    ...tables.map((table) => [table, []] as const),
    [surplusPending, [most.pendingSignIns]] as const,
    [surplusNames, [most.unknownNames]] as const,
  ];
  return {
    /** True when this transaction is the one that cleans up. */
    async claim(): Promise<boolean> {
      const [row] = await sql.query<{ mine: boolean }>(tryLock, [lockKey]);
      return row!.mine;
    },
    /** How many kinds of rows there are to go through. */
    kinds: kinds.length,
    /** Deletes one batch of one kind and returns how many rows went. */
    async deleteBatch(kind: number): Promise<number> {
      const [deletion, values] = kinds[kind]!;
      return (await sql.query(deletion, [...values])).length;
    },
    /** Deletes one batch of what a rate limit counts beyond the number kept, and returns how many rows went. */
    async deleteSurplusOfLimit(name: string): Promise<number> {
      return (await sql.query(surplusLimits, [most.limits, name])).length;
    },
    /**
     * In a transaction: deletes one batch of the audit trail's events of days that are over for so many seconds, a day at least.
     * @returns how many went, and the beginning of the first day that stays
     */
    async deleteAuditEvents(kept: number): Promise<{ gone: number; before: Date | undefined }> {
      await sql.query(openAuditDoor, [kept]);
      const rows = await sql.query<{ before: Date }>(auditEvents, [kept]);
      return { gone: rows.length, before: rows[0]?.before };
    },
    batch,
    auditBatch,
  };
}
