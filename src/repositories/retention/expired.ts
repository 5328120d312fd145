// Deletes expired and surplus rows, in batches so small that no request waits for one.
import { type Sql, statement } from '../../database/database.ts';
import { instanceTimeout } from '../instances/instances.ts';

const batch = 1000;
const lockKey = 7_106_343;

const tryLock = statement('expired.lock', 'SELECT pg_try_advisory_xact_lock($1) AS mine');

// rows that another transaction has locked wait for the next time
const byExpiry = (table: string, column = 'expires_at', now = 'now()') =>
  statement(
    `expired.${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${column} <= ${now} ORDER BY ${column} LIMIT ${batch} FOR UPDATE SKIP LOCKED))
     RETURNING 1 AS gone`,
  );

/**
 * The most rows that stay after a round, of the kinds that any visitor can create. The first to expire are deleted (security R105).
 * For counters the number applies to each limit, so that a flood of one kind does not displace another.
 */
export const maxKept = { pendingSignIns: 100_000, limits: 200_000, unknownNames: 100_000, webhookDeliveries: 1000 };

const beyond = (table: string, column: string, filter: string) =>
  statement(
    `surplus.${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${filter} AND ${column} <= (
         SELECT ${column} FROM ${table} WHERE ${filter} ORDER BY ${column} DESC OFFSET $1 LIMIT 1)
        ORDER BY ${column} LIMIT ${batch} FOR UPDATE SKIP LOCKED))
     RETURNING 1 AS gone`,
  );
// pushed requests have a limit for each client instead
const surplusPending = beyond('authorization_requests', 'expires_at', 'browser_hash IS NOT NULL');
const surplusSteps = beyond('connection_steps', 'expires_at', 'true');
const surplusCodes = beyond('sign_in_codes', 'expires_at', 'true');
// only names without an account: the failures of a user are deleted with the user
const surplusNames = beyond('sign_in_failures', 'expires_at', 'sub IS NULL');
const surplusLimits = beyond('rate_limits', 'expire', `split_part(key, ':', 1) = $2`);

// steps from webhook to webhook along the index; the messages of a deleted webhook go as well
const surplusDeliveries = statement(
  'surplus.webhook_deliveries',
  `WITH RECURSIVE known AS (
     (SELECT webhook_id FROM webhook_deliveries ORDER BY webhook_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.webhook_id > k.webhook_id ORDER BY d.webhook_id LIMIT 1)
       FROM known k WHERE k.webhook_id IS NOT NULL),
   surplus AS MATERIALIZED (
     SELECT d.id FROM known k CROSS JOIN LATERAL (
       (SELECT id FROM webhook_deliveries WHERE webhook_id = k.webhook_id AND status <> 'waiting'
         ORDER BY finished_at DESC, id DESC OFFSET $1 LIMIT ${batch})
       UNION
       (SELECT id FROM webhook_deliveries
         WHERE webhook_id = k.webhook_id AND NOT EXISTS (SELECT FROM webhooks h WHERE h.id = k.webhook_id) LIMIT ${batch})) AS d
      LIMIT ${batch})
   DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM surplus) RETURNING 1 AS gone`,
);

// a spent refresh token is kept as long as its client session, so that its reuse is detected
const tables = [
  byExpiry('access_tokens'),
  byExpiry('authorization_requests'),
  byExpiry('connection_steps'),
  byExpiry('kept_forms'),
  byExpiry('form_outcomes'),
  byExpiry('client_sessions'),
  byExpiry('site_sessions'),
  byExpiry('saml_sessions'),
  byExpiry('used_assertions'),
  byExpiry('used_grant_assertions'),
  byExpiry('used_logout_tokens'),
  byExpiry('used_challenges'),
  byExpiry('initial_access_tokens'),
  byExpiry('registration_keys'),
  // kept for another hour, in which a poll is answered that the registration expired
  byExpiry('deferred_registrations', 'expires_at', `now() - interval '1 hour'`),
  // the same for a device
  byExpiry('device_authorizations', 'expires_at', `now() - interval '1 hour'`),
  // the requests of a day are counted
  byExpiry('backchannel_requests', 'created_at', `now() - interval '1 day'`),
  byExpiry('document_fetches', 'held_until'),
  // for a quarter the page of the client says that its certificate has ended
  byExpiry('client_certificates', 'expires_at', `now() - interval '90 days'`),
  // as long as a registration waits by default
  byExpiry('client_askers', 'asked_at', `now() - interval '30 days'`),
  byExpiry('signing_keys'),
  byExpiry('instances', 'seen_at', `now() - interval '1 day'`),
  byExpiry('sessions', 'idle_expires_at'),
  byExpiry('logout_deliveries'),
  // a receiver without an attempt for a day has no deliveries
  byExpiry('logout_receivers', 'retry_at', `now() - interval '1 day'`),
  byExpiry('webhook_deliveries'),
  byExpiry('sign_in_failures'),
  byExpiry('known_browsers'),
  byExpiry('user_imports'),
  byExpiry('mailed_links'),
  byExpiry('sign_in_codes'),
  byExpiry('event_subscriptions', 'declared_at', `now() - interval '1 week'`),
  byExpiry('refusals', 'refused_at', `now() - interval '1 day'`),
  byExpiry('doctor_probes', 'created_at', `now() - interval '1 minute'`),
  byExpiry('rate_limits', 'expire', 'extract(epoch FROM now()) * 1000'),
  // a chart shows a month, and an administrator may look back a year
  byExpiry('hourly_counts', 'hour', `now() - interval '400 days'`),
];

// a heartbeat that is ahead would count when its time comes; an instance that runs stores its next one
const instancesAhead = statement(
  'expired.instances_ahead',
  `DELETE FROM instances WHERE seen_at > now() + make_interval(secs => ${instanceTimeout}) RETURNING 1 AS gone`,
);

// Deletes whole days, so that this runs once a day. The trail's trigger permits it for events older than the setting's seconds.
const auditBatch = 5000;
const permitAuditDeletion = statement(
  'expired.permit_audit_deletion',
  `SELECT set_config('gatehouse.audit_retention', $1::bigint::text, true)`,
);
const auditEvents = statement(
  'expired.audit_events',
  `WITH ends AS (SELECT date_trunc('day', now() - make_interval(secs => $1), 'UTC') AS at)
   DELETE FROM audit_events WHERE id = ANY (ARRAY(
     SELECT id FROM audit_events WHERE at < (SELECT at FROM ends) ORDER BY at LIMIT ${auditBatch}))
   RETURNING (SELECT at FROM ends) AS before`,
);

// Whole days as well. The mark says up to when addresses have gone, so that a round reads no event twice.
const permitAddressRemoval = statement(
  'expired.permit_address_removal',
  `SELECT set_config('gatehouse.audit_address_retention', $1::bigint::text, true)`,
);
const addresses = statement(
  'expired.addresses',
  `WITH ends AS (SELECT date_trunc('day', now() - make_interval(secs => $1), 'UTC') AS at),
   due AS (
     SELECT id, at FROM audit_events
      WHERE at < (SELECT at FROM ends) AND at >= (SELECT addresses_until FROM clean_up) AND address IS NOT NULL ORDER BY at LIMIT ${auditBatch}),
   gone AS (UPDATE audit_events SET address = NULL WHERE id IN (SELECT id FROM due))
   UPDATE clean_up SET addresses_until = CASE WHEN (SELECT count(*) FROM due) < ${auditBatch} THEN (SELECT at FROM ends)
                                              ELSE (SELECT max(at) FROM due) END
    WHERE addresses_until < (SELECT at FROM ends) RETURNING (SELECT count(*) FROM due)::int AS gone`,
);

export function expiredRepository(sql: Sql, most = maxKept) {
  const kinds = [
    ...tables.map((table) => [table, []] as const),
    [instancesAhead, []] as const,
    [surplusPending, [most.pendingSignIns]] as const,
    [surplusSteps, [most.pendingSignIns]] as const,
    [surplusCodes, [most.pendingSignIns]] as const,
    [surplusNames, [most.unknownNames]] as const,
    [surplusDeliveries, [most.webhookDeliveries]] as const,
  ];
  return {
    /** Whether this transaction got the lock for the clean-up. */
    async claim(): Promise<boolean> {
      const [row] = await sql.query<{ mine: boolean }>(tryLock, [lockKey]);
      return row!.mine;
    },
    /** The number of kinds for deleteBatch(). */
    kinds: kinds.length,
    /** Deletes one batch of one kind and returns its size. */
    async deleteBatch(kind: number): Promise<number> {
      const [deletion, values] = kinds[kind]!;
      return (await sql.query(deletion, [...values])).length;
    },
    /** Deletes one batch of a rate limit's surplus counters and returns its size. */
    async deleteSurplusOfLimit(name: string): Promise<number> {
      return (await sql.query(surplusLimits, [most.limits, name])).length;
    },
    /**
     * In a transaction: deletes one batch of audit events, of days that ended at least `kept` seconds ago (a day at least).
     * @returns the size of the batch, and the start of the first day that stays
     */
    async deleteAuditEvents(kept: number): Promise<{ gone: number; before: Date | undefined }> {
      await sql.query(permitAuditDeletion, [kept]);
      const rows = await sql.query<{ before: Date }>(auditEvents, [kept]);
      return { gone: rows.length, before: rows[0]?.before };
    },
    /** In a transaction: removes the network addresses of one batch of audit events, of days that ended at least `kept` seconds ago. */
    async removeAddresses(kept: number): Promise<number> {
      await sql.query(permitAddressRemoval, [kept]);
      const [row] = await sql.query<{ gone: number }>(addresses, [kept]);
      return row?.gone ?? 0;
    },
    batch,
    auditBatch,
  };
}
