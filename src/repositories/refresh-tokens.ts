// The table refresh_tokens: rotation, its grace, and the end of a family whose spent token comes back.
import { type Sql, statement } from '../database/database.ts';
import type { Authorization } from './authorization-codes.ts';
import { toUser, type UserRow } from './users.ts';

export interface Refresh {
  tokenHash: Buffer;
  clientId: string;
  /** A narrower scope for the new access token; undefined keeps the whole. */
  scope: string[] | undefined;
  /** A resource that the tokens must be for. */
  resource: string | undefined;
  rotate: boolean;
  accessTokenHash: Buffer;
  refreshTokenHash: Buffer;
  /** In seconds. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  refreshTokenAbsoluteLifetime: number;
}

export type RefreshFailure =
  | 'unknown'
  | 'client' // another client's token: it stays as it is
  | 'ended' // session, user, client or grant is no longer good
  | 'expired'
  | 'scope' // asked for more than was granted
  | 'resource' // the authorization is not for it
  | 'grace' // too many uses within the grace: only refused
  | 'reused'; // after the grace: the family is revoked

export type RefreshResult =
  | { authorization: Authorization; issuedAt: Date; rotated: boolean }
  | { failure: RefreshFailure; sub: string | undefined; clientId: string | undefined };

// decisions section 4: a spent token may come back within 10 s of its first use, 5 times at most (security R32)
const graceSeconds = 10;
const graceUses = 5;

/*
 * One statement, like a code's redemption: the family's row is locked first, then being spent is stored and counted,
 * and what follows (a successor, a refusal, the family's end) hangs on that count (security R31, R33, R34, R35, R36).
 */
const rotate = statement(
  'refresh_tokens.rotate',
  `WITH family AS MATERIALIZED (
     SELECT cs.id AS client_session_id, cs.created_at AS granted_at, cs.offline, s.expires_at AS session_expires_at,
            cs.client_id, cs.sid, coalesce(cs.subject, cs.sub) AS subject, cs.auth_time, cs.amr, cs.nonce, cs.requested,
            coalesce($3::text[], allowed.scope) AS granted,
            CASE WHEN cs.client_id <> $2 THEN 'client'
                 WHEN NOT (c.status = 'enabled' AND c.epoch = cs.client_epoch AND u.status = 'enabled' AND g.sub IS NOT NULL
                           AND (cs.offline OR coalesce(s.idle_expires_at > now(), false))) THEN 'ended'
                 WHEN NOT coalesce($3::text[] <@ allowed.scope, true) THEN 'scope'
                 WHEN $10::text IS NOT NULL AND NOT coalesce($10 = ANY (cs.audience), false) THEN 'resource' END AS refused,
            u.*
       FROM refresh_tokens rt
       JOIN client_sessions cs ON cs.id = rt.client_session_id
       JOIN clients c ON c.client_id = cs.client_id
       JOIN users u ON u.sub = cs.sub
       LEFT JOIN grants g ON g.sub = cs.sub AND g.client_id = cs.client_id
       LEFT JOIN sessions s ON s.id = cs.session_id
       -- what was granted then, as far as registration and grant still allow it (security R12): mostly the whole
       CROSS JOIN LATERAL (SELECT string_to_array(cs.scope, ' ') AS whole, string_to_array(c.metadata ->> 'scope', ' ') AS registered) AS were
       CROSS JOIN LATERAL (
         SELECT CASE WHEN whole <@ registered AND whole <@ g.scope THEN whole
                     ELSE ARRAY(SELECT value FROM unnest(whole) WITH ORDINALITY AS each (value, place)
                                 WHERE value = ANY (registered) AND value = ANY (g.scope) ORDER BY place) END AS scope) AS allowed
      WHERE rt.token_hash = $1
        FOR NO KEY UPDATE OF cs),
   used AS (
     UPDATE refresh_tokens rt SET
            uses = rt.uses + CASE WHEN $4 OR rt.spent_at IS NOT NULL THEN 1 ELSE 0 END,
            spent_at = CASE WHEN $4 THEN coalesce(rt.spent_at, clock_timestamp()) ELSE rt.spent_at END,
            expires_at = CASE WHEN $4 OR rt.spent_at IS NOT NULL THEN rt.expires_at ELSE least(now() + make_interval(secs => $8),
              CASE WHEN f.offline THEN f.granted_at + make_interval(secs => $9) ELSE f.session_expires_at END) END
       FROM family f
      WHERE rt.token_hash = $1 AND f.refused IS NULL AND (rt.spent_at IS NOT NULL OR rt.expires_at > now())
     RETURNING f.client_session_id, f.granted_at, f.offline, f.session_expires_at, f.granted, rt.generation, rt.uses,
            CASE WHEN rt.uses <= 1 THEN NULL
                 WHEN clock_timestamp() > rt.spent_at + make_interval(secs => ${graceSeconds}) THEN 'reused'
                 WHEN rt.uses > ${graceUses + 1} THEN 'grace' END AS refusal),
   access AS (
     INSERT INTO access_tokens (token_hash, client_session_id, scope, expires_at)
     SELECT $5, client_session_id, array_to_string(granted, ' '), now() + make_interval(secs => $7) FROM used WHERE refusal IS NULL),
   successor AS (
     INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
     SELECT $6, client_session_id, generation + 1, least(now() + make_interval(secs => $8),
              CASE WHEN offline THEN granted_at + make_interval(secs => $9) ELSE session_expires_at END)
       FROM used WHERE refusal IS NULL AND uses >= 1),
   ended AS (
     DELETE FROM client_sessions cs USING used WHERE cs.id = used.client_session_id AND used.refusal = 'reused')
   SELECT f.*, array_to_string(f.granted, ' ') AS scope,
          coalesce(f.refused, used.refusal, CASE WHEN used.client_session_id IS NULL THEN 'expired' END) AS failure,
          used.uses >= 1 AS rotated, now() AS issued_at
     FROM family f LEFT JOIN used ON true`,
);

export function refreshTokensRepository(sql: Sql) {
  return {
    /** Uses a refresh token; the decision and its effects are one statement. */
    async rotate(refresh: Refresh): Promise<RefreshResult> {
      const [row] = await sql.query<
        UserRow & {
          failure: RefreshFailure | null;
          rotated: boolean;
          issued_at: Date;
          client_session_id: string;
          sid: string;
          subject: string;
          client_id: string;
          scope: string;
          auth_time: Date;
          amr: string[];
          nonce: string | null;
          requested: Authorization['requested'] | null;
        }
      >(rotate, [
        refresh.tokenHash,
        refresh.clientId,
        refresh.scope,
        refresh.rotate,
        refresh.accessTokenHash,
        refresh.refreshTokenHash,
        refresh.accessTokenLifetime,
        refresh.refreshTokenLifetime,
        refresh.refreshTokenAbsoluteLifetime,
        refresh.resource,
      ]);
      if (!row) return { failure: 'unknown', sub: undefined, clientId: undefined };
      if (row.failure !== null) return { failure: row.failure, sub: row.sub, clientId: row.client_id };
      return {
        issuedAt: row.issued_at,
        rotated: row.rotated,
        authorization: {
          clientSessionId: row.client_session_id,
          sid: row.sid,
          subject: row.subject,
          scope: row.scope,
          authTime: row.auth_time,
          amr: row.amr,
          nonce: row.nonce ?? undefined,
          requested: row.requested ?? undefined,
          user: toUser(row),
        },
      };
    },
  };
}
