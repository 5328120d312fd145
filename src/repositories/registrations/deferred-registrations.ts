// Reads and writes the table deferred_registrations: registrations that wait for an approval, each with two codes.
import { type Sql, statement } from '../../database/database.ts';
import { pacePoll } from '../deferred-authorizations/pace-poll.ts';

/** The result of a poll. `interval` is the number of seconds between polls from now on. */
export interface Poll {
  /** Undefined when the client is gone. */
  clientId: string | undefined;
  /** Whether the registrant may collect the credentials. */
  approved: boolean;
  /** The reason of an administrator's refusal, if any. */
  refusalReason: string | undefined;
  expired: boolean;
  early: boolean;
  interval: number;
}

export interface NewDeferredRegistration {
  codeHash: Buffer;
  shownCodeHash: Buffer;
  clientId: string;
  address: string | undefined;
  /** In seconds. */
  interval: number;
  lifetime: number;
}

const insert = statement(
  'deferred_registrations.insert',
  `INSERT INTO deferred_registrations (registration_code_hash, verification_code_hash, client_id, address, poll_interval, expires_at)
   VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
   ON CONFLICT (verification_code_hash) DO NOTHING RETURNING 1 AS stored`,
);
const poll = statement(
  'deferred_registrations.poll',
  `WITH held AS MATERIALIZED (
     SELECT registration_code_hash, client_id, poll_interval, next_poll_at
       FROM deferred_registrations WHERE registration_code_hash = $1 FOR UPDATE),
   paced AS MATERIALIZED (
     SELECT held.registration_code_hash, held.client_id, pace.*
       FROM held CROSS JOIN LATERAL ${pacePoll.name}(held.next_poll_at, held.poll_interval, $2, $3) AS pace)
   UPDATE deferred_registrations d SET poll_interval = paced.poll_interval, next_poll_at = paced.next_poll_at
     FROM paced LEFT JOIN clients c ON c.client_id = paced.client_id AND c.uncollected
    WHERE d.registration_code_hash = paced.registration_code_hash
   RETURNING c.client_id, c.approved_by IS NOT NULL AS approved, c.refusal_reason,
             d.expires_at <= now() AS expired, paced.is_early AS early, d.poll_interval`,
);
const findByVerificationCode = statement(
  'deferred_registrations.find_by_verification_code',
  `SELECT c.client_id, host(d.address) AS address FROM deferred_registrations d JOIN clients c ON c.client_id = d.client_id
    WHERE d.verification_code_hash = ANY ($1::bytea[]) AND d.expires_at > now()
      AND c.uncollected AND c.approved_by IS NULL AND c.refused_at IS NULL`,
);
const take = statement(
  'deferred_registrations.take',
  `DELETE FROM deferred_registrations WHERE registration_code_hash = $1 AND expires_at > now() RETURNING 1 AS taken`,
);
const removeOf = statement(
  'deferred_registrations.delete_of',
  'DELETE FROM deferred_registrations WHERE client_id = $1 AND expires_at > now() RETURNING 1 AS gone',
);

export function deferredRegistrationsRepository(sql: Sql) {
  return {
    /** Stores a deferred registration; false when another one has its verification code. */
    async insert(deferred: NewDeferredRegistration): Promise<boolean> {
      const rows = await sql.query(insert, [
        deferred.codeHash,
        deferred.shownCodeHash,
        deferred.clientId,
        deferred.address,
        deferred.interval,
        deferred.lifetime,
      ]);
      return rows.length > 0;
    },
    /**
     * Returns the state of a registration and counts the poll. Undefined for an unknown code.
     * @param slowDown seconds by which an early poll raises the interval, and its maximum
     */
    async poll(registrationCodeHash: Buffer, slowDown: { by: number; most: number }): Promise<Poll | undefined> {
      const [row] = await sql.query<{
        client_id: string | null;
        approved: boolean;
        refusal_reason: string | null;
        expired: boolean;
        early: boolean;
        poll_interval: number;
      }>(poll, [registrationCodeHash, slowDown.by, slowDown.most]);
      return (
        row && {
          clientId: row.client_id ?? undefined,
          approved: row.client_id !== null && row.approved,
          refusalReason: row.refusal_reason ?? undefined,
          expired: row.expired,
          early: row.early,
          interval: row.poll_interval,
        }
      );
    },
    /**
     * Finds the client that waits for a decision by its verification code, and the address that it registered from.
     * @param hashes of the code, one for each valid key
     */
    async findByVerificationCode(
      hashes: Buffer[],
    ): Promise<{ clientId: string; address: string | undefined } | undefined> {
      const [row] = await sql.query<{ client_id: string; address: string | null }>(findByVerificationCode, [hashes]);
      return row && { clientId: row.client_id, address: row.address ?? undefined };
    },
    /** Uses a registration code up; false when it is used, expired or unknown. The caller has locked the client's row. */
    async take(registrationCodeHash: Buffer): Promise<boolean> {
      return (await sql.query(take, [registrationCodeHash])).length > 0;
    },
    /** Ends the live codes of a client; false when it had none. The caller has locked the client's row. */
    async deleteOf(clientId: string): Promise<boolean> {
      return (await sql.query(removeOf, [clientId])).length > 0;
    },
  };
}
