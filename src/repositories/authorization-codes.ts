// The table authorization_codes: issued with their client session in one statement, redeemed exactly once in another.
import { isForeignKeyViolation, type Sql, statement } from '../database/database.ts';
import type { Subject } from '../oauth/claims.ts';
import type { RequestedClaims } from '../oauth/claims-request.ts';
import { toUser, type UserRow } from './users.ts';

export interface NewCode {
  /** Undefined for response types without a code. */
  codeHash: Buffer | undefined;
  /** Of an access token that goes to the client by the browser. */
  accessTokenHash: Buffer | undefined;
  sessionId: string;
  clientId: string;
  /** The version of the client that the request was validated against. */
  clientVersion: number;
  scope: string[];
  /** Single claims that the grant must cover, beside those of the scopes. */
  claims: string[];
  requested: RequestedClaims | undefined;
  offline: boolean;
  redirectUri: string;
  nonce: string | undefined;
  codeChallenge: string | undefined;
  /** Whom the tokens will be for; undefined is the client itself. */
  audience: string[] | undefined;
  /** By which the client knows the user; undefined where that is the user's own `sub`. */
  subject: string | undefined;
  /** In seconds. */
  lifetime: number;
  accessTokenLifetime: number;
  /** How long what is issued, and what a code buys without a refresh token, can be alive. */
  clientSessionLifetime: number;
  /** The stored authorization request that this answers, which is used up by it. */
  requestHash: Buffer | undefined;
  /** How many unredeemed codes of this session and client live, this one included; the oldest go. */
  kept: number;
  /** How many responses the session may get in a minute; 0 for no limit. */
  perMinute: number;
}

/** An authorization as its tokens need it. */
export interface Authorization {
  clientSessionId: string;
  sid: string;
  /** By which the client knows the user. */
  subject: string;
  scope: string;
  authTime: Date;
  amr: string[];
  nonce: string | undefined;
  requested: RequestedClaims | undefined;
  user: Subject;
}

export interface Redemption {
  codeHash: Buffer;
  clientId: string;
  redirectUri: string | undefined;
  /** The challenge that the presented verifier makes. */
  codeChallenge: string | undefined;
  accessTokenHash: Buffer;
  refreshTokenHash: Buffer | undefined;
  /** Of a handle that never stood in a URL, for clients of the UMA profile. */
  handleHash: Buffer | undefined;
  /** A resource that the tokens must be for. */
  resource: string | undefined;
  /** In seconds. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  refreshTokenAbsoluteLifetime: number;
}

/** Why a code was not redeemed. */
export type RedemptionFailure =
  | 'unknown'
  | 'expired'
  | 'ended' // the session, the user, the client or the grant is no longer good
  | 'client'
  | 'redirect_uri'
  | 'pkce_missing'
  | 'pkce_unexpected'
  | 'pkce'
  | 'resource' // the authorization is not for it: the code stays as it is
  | 'replayed' // and everything that came of it is revoked
  | 'retried'; // within seconds, by the same client: only refused

export type RedemptionResult =
  | { authorization: Authorization; issuedAt: Date }
  | {
      failure: RedemptionFailure;
      sub: string | undefined;
      clientId: string | undefined;
      /** It was the fifth failure: the code is dead. */
      burned: boolean;
    };

/** When the next response may be issued; null for at once. */
const freeAt = (perMinute: string) => `(s.codes_at[cardinality(s.codes_at) - ${perMinute} + 1] + interval '1 minute')`;
const findWait = statement(
  'authorization_codes.find_wait',
  `SELECT ceil(extract(epoch FROM ${freeAt('$2::int')} - clock_timestamp()))::int AS seconds FROM sessions s WHERE s.id = $1`,
);
// The stored request first, so that of two answers to it one counts; then the session's row, as whoever ends it does: responses of
// one session are issued one after another, each of which counts those before it (security R19). Past the limit nothing happens.
const issueText = (withRequest: boolean) => `
  WITH ${
    withRequest ? 'request AS MATERIALIZED (SELECT 1 FROM authorization_requests WHERE id_hash = $20 FOR UPDATE),' : ''
  }
  counted AS (
    UPDATE sessions s SET codes_at = CASE WHEN $19::int = 0 THEN '{}'
             ELSE s.codes_at[cardinality(s.codes_at) - $19 + 2 :] || clock_timestamp() END
      FROM users u, clients c, grants g
     WHERE s.id = $2 AND s.idle_expires_at > now()
       AND u.sub = s.sub AND u.status = 'enabled'
       AND c.client_id = $3 AND c.status = 'enabled' AND c.version = $4
       AND g.sub = s.sub AND g.client_id = c.client_id AND g.scope @> $5::text[] AND g.claims @> $17::text[]
       AND ($19 = 0 OR coalesce(${freeAt('$19')} <= clock_timestamp(), true))
       ${withRequest ? 'AND EXISTS (SELECT FROM request)' : ''}
    RETURNING s.id, s.sid, s.sub, c.client_id, c.epoch, s.auth_time, s.amr),
  ${withRequest ? 'used AS (DELETE FROM authorization_requests WHERE id_hash = $20 AND EXISTS (SELECT FROM counted)),' : ''}
  client_session AS (
    INSERT INTO client_sessions
      (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, nonce, audience, requested, subject, expires_at)
    SELECT id, sid, sub, client_id, epoch, array_to_string($5::text[], ' '), $6, auth_time, amr, $7,
           $12::text[], $16::jsonb, $18::text,
           now() + make_interval(secs => $15)
      FROM counted
    RETURNING id, session_id, client_id, subject),
  takes_part AS (
    INSERT INTO session_clients AS sc (session_id, client_id, subject, codes)
    SELECT session_id, client_id, subject, array_remove(ARRAY[$1::bytea], NULL) FROM client_session
    ON CONFLICT (session_id, client_id) DO UPDATE SET subject = excluded.subject, codes = sc.codes || excluded.codes
    RETURNING session_id, client_id, codes),
  access AS (
    INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
    SELECT $13, id, now() + make_interval(secs => $14) FROM client_session WHERE $13::bytea IS NOT NULL),
  code AS (
    INSERT INTO authorization_codes (code_hash, client_session_id, redirect_uri, code_challenge, expires_at)
    SELECT $1, id, $8, $9, now() + make_interval(secs => $10) FROM client_session WHERE $1::bytea IS NOT NULL)
  SELECT now() AS issued_at,
         CASE WHEN cardinality(codes) > $11::int + 1 THEN keep_newest_codes(session_id, client_id, codes, $11) END
    FROM takes_part`;
const issue = statement('authorization_codes.issue', issueText(false));
const issueForRequest = statement('authorization_codes.issue_for_request', issueText(true));

/*
 * One statement decides and does everything, so that two redemptions cannot both win: the family's row is locked
 * first (as refresh, revocation and logout do), then the code is claimed by an update that sees what the one before did
 * (security R14, R15, R16, R17, R22, R35).
 */
const redeem = statement(
  'authorization_codes.redeem',
  `WITH family AS MATERIALIZED (
     SELECT cs.id AS client_session_id, cs.created_at AS granted_at, cs.offline, cs.expires_at AS kept_until,
            s.expires_at AS session_expires_at, cs.client_id, cs.sid, coalesce(cs.subject, cs.sub) AS subject, cs.scope,
            cs.auth_time, cs.amr, cs.nonce, cs.requested,
            CASE WHEN NOT coalesce(c.status = 'enabled' AND c.epoch = cs.client_epoch AND u.status = 'enabled' AND g.sub IS NOT NULL
                                   AND s.idle_expires_at > now(), false) THEN 'ended'
                 WHEN ac.expires_at <= now() THEN 'expired'
                 WHEN cs.client_id <> $2 THEN 'client'
                 WHEN $3::text IS NULL OR ac.redirect_uri <> $3 THEN 'redirect_uri'
                 WHEN ac.code_challenge IS NOT NULL AND $4::text IS NULL THEN 'pkce_missing'
                 WHEN ac.code_challenge IS NULL AND $4 IS NOT NULL THEN 'pkce_unexpected'
                 WHEN ac.code_challenge <> $4 THEN 'pkce'
                 WHEN $11::text IS NOT NULL AND NOT coalesce($11 = ANY (cs.audience), false) THEN 'resource' END AS failure,
            u.*
       FROM authorization_codes ac
       JOIN client_sessions cs ON cs.id = ac.client_session_id
       JOIN clients c ON c.client_id = cs.client_id
       JOIN users u ON u.sub = cs.sub
       LEFT JOIN grants g ON g.sub = cs.sub AND g.client_id = cs.client_id
       LEFT JOIN sessions s ON s.id = cs.session_id
      WHERE ac.code_hash = $1
        FOR NO KEY UPDATE OF cs),
   attempt AS (
     UPDATE authorization_codes ac SET
            redemptions = ac.redemptions + CASE WHEN ac.redeemed_at IS NOT NULL OR f.failure IS NULL THEN 1 ELSE 0 END,
            redeemed_at = CASE WHEN ac.redeemed_at IS NULL AND f.failure IS NULL THEN clock_timestamp() ELSE ac.redeemed_at END,
            failures = ac.failures + CASE WHEN ac.redeemed_at IS NULL
                         AND f.failure IN ('client', 'redirect_uri', 'pkce_missing', 'pkce_unexpected', 'pkce') THEN 1 ELSE 0 END
       FROM family f WHERE ac.code_hash = $1
     RETURNING f.*, ac.redemptions, ac.failures,
            (ac.redemptions > 1 OR (ac.redemptions = 1 AND f.failure IS NOT NULL))
              AND (f.client_id <> $2 OR clock_timestamp() > ac.redeemed_at + interval '5 seconds') AS replayed),
   bought AS (
     SELECT client_session_id, now() + make_interval(secs => $7) AS access_until,
            CASE WHEN offline THEN granted_at + make_interval(secs => $9) ELSE session_expires_at END AS family_until,
            session_expires_at, kept_until
       FROM attempt WHERE redemptions = 1 AND failure IS NULL),
   access AS (
     INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
     SELECT $5, client_session_id, access_until FROM bought),
   refresh AS (
     INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
     SELECT $6, client_session_id, 1, least(now() + make_interval(secs => $8), family_until) FROM bought WHERE $6::bytea IS NOT NULL),
   handle AS (
     INSERT INTO client_session_handles (handle_hash, client_session_id)
     SELECT $10, client_session_id FROM bought WHERE $10::bytea IS NOT NULL),
   kept AS (
     UPDATE client_sessions cs SET expires_at = needed_until
       FROM (SELECT client_session_id, kept_until, greatest(access_until, CASE WHEN $10 IS NOT NULL THEN session_expires_at END,
                      CASE WHEN $6 IS NOT NULL THEN family_until END) AS needed_until FROM bought) AS b
      WHERE cs.id = b.client_session_id AND b.needed_until > b.kept_until),
   ended AS (
     DELETE FROM client_sessions cs USING attempt a WHERE cs.id = a.client_session_id AND (a.replayed OR a.failures >= 5))
   SELECT a.*, a.failures >= 5 AS burned, now() AS issued_at FROM attempt a`,
);

export function authorizationCodesRepository(sql: Sql) {
  return {
    /**
     * Issues a code with its client session, if session, user, client (at the version that was looked at) and grant are
     * still good, the session is within its limit and the stored request was not answered before; else undefined. Returns
     * the database's time.
     */
    async issue(code: NewCode): Promise<Date | undefined> {
      const values = [
        code.codeHash,
        code.sessionId,
        code.clientId,
        code.clientVersion,
        code.scope,
        code.offline,
        code.nonce,
        code.redirectUri,
        code.codeChallenge,
        code.lifetime,
        code.kept - 1,
        code.audience,
        code.accessTokenHash,
        code.accessTokenLifetime,
        code.clientSessionLifetime,
        code.requested,
        code.claims,
        code.subject,
        code.perMinute,
      ];
      try {
        const rows = code.requestHash
          ? await sql.query<{ issued_at: Date }>(issueForRequest, [...values, code.requestHash])
          : await sql.query<{ issued_at: Date }>(issue, values);
        return rows[0]?.issued_at;
      } catch (error) {
        // the session, the client or the user went at this very moment
        if (isForeignKeyViolation(error)) return undefined;
        throw error;
      }
    },
    /** The seconds until the session may get another response, 0 where its limit is not what is in the way. */
    async findWait(sessionId: string, perMinute: number): Promise<number> {
      if (perMinute === 0) return 0;
      const [row] = await sql.query<{ seconds: number | null }>(findWait, [sessionId, perMinute]);
      return Math.max(0, row?.seconds ?? 0);
    },
    /** Redeems a code and stores the tokens it buys; the decision and its effects are one statement. */
    async redeem(redemption: Redemption): Promise<RedemptionResult> {
      const [row] = await sql.query<
        UserRow & {
          redemptions: number;
          failure: RedemptionFailure | null;
          replayed: boolean;
          burned: boolean;
          issued_at: Date;
          client_session_id: string;
          sid: string;
          subject: string;
          scope: string;
          auth_time: Date;
          nonce: string | null;
          requested: RequestedClaims | null;
          amr: string[];
          client_id: string;
        }
      >(redeem, [
        redemption.codeHash,
        redemption.clientId,
        redemption.redirectUri,
        redemption.codeChallenge,
        redemption.accessTokenHash,
        redemption.refreshTokenHash,
        redemption.accessTokenLifetime,
        redemption.refreshTokenLifetime,
        redemption.refreshTokenAbsoluteLifetime,
        redemption.handleHash,
        redemption.resource,
      ]);
      if (!row) return { failure: 'unknown', sub: undefined, clientId: undefined, burned: false };
      if (row.redemptions === 1 && row.failure === null) {
        return {
          issuedAt: row.issued_at,
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
      }
      const failure = row.replayed ? 'replayed' : (row.failure ?? 'retried');
      return { failure, sub: row.sub, clientId: row.client_id, burned: row.burned };
    },
  };
}
