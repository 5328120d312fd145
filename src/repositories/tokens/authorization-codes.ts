// The table authorization_codes: issued with their client session in one call, redeemed exactly once in another.
import { isForeignKeyViolation, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Subject } from '../../oauth/claims.ts';
import type { RequestedClaims } from '../../oauth/claims-request.ts';
import type { RedemptionFailure, RedemptionRequest } from '../../oauth/code-redemption.ts';
import { batchedCall } from '../batched-call.ts';
import { toUser, type UserRow, withUser } from '../users/users.ts';

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

export interface Redemption extends RedemptionRequest {
  codeHash: Buffer;
  accessTokenHash: Buffer;
  refreshTokenHash: Buffer | undefined;
  /** Of a handle that never stood in a URL, for clients of the UMA profile. */
  handleHash: Buffer | undefined;
  /** In seconds. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  refreshTokenAbsoluteLifetime: number;
}

export type RedemptionResult =
  | { authorization: Authorization; issuedAt: Date }
  | {
      failure: RedemptionFailure;
      sub: string | undefined;
      clientId: string | undefined;
      /** It was the fifth failure: the code is dead. */
      burned: boolean;
    };

const findWait = statement(
  'authorization_codes.find_wait',
  `SELECT ceil(extract(epoch FROM s.codes_at[cardinality(s.codes_at) - $2::int + 1] + interval '1 minute' - clock_timestamp()))::int AS seconds
     FROM sessions s WHERE s.id = $1`,
);
const keepNewestCodes = storedFunction(new URL('keep_newest_codes.sql', import.meta.url));
const issueCode = storedFunction(new URL('issue_code.sql', import.meta.url), [keepNewestCodes]);
const redeemCode = storedFunction(new URL('redeem_code.sql', import.meta.url));

const issue = batchedCall('authorization_codes.issue', {
  function: issueCode,
  types: `bytea, bigint, text, integer, text[], boolean, text, text, text, double precision, integer, text[], bytea,
    double precision, double precision, jsonb, text[], text, integer, bytea`,
  columns: 'r AS issued_at',
  // the session: a request is one session's
  locks: 'value_2',
});

const redeem = batchedCall('authorization_codes.redeem', {
  function: redeemCode,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // as refreshing does
  locks: '(SELECT client_session_id FROM authorization_codes WHERE code_hash = value_1)',
});

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
        code.requestHash,
      ];
      try {
        const [row] = await sql.query<{ issued_at: Date | null }>(issue, values);
        return row!.issued_at ?? undefined;
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
          failure: RedemptionFailure | null;
          burned: boolean;
          issued_at: Date;
          client_session_id: string | null;
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
        {
          client_id: redemption.clientId,
          redirect_uri: redemption.redirectUri,
          code_challenge: redemption.codeChallenge,
          resource: redemption.resource,
        },
        {
          access_token: redemption.accessTokenHash.toString('hex'),
          refresh_token: redemption.refreshTokenHash?.toString('hex'),
          handle: redemption.handleHash?.toString('hex'),
          access_seconds: redemption.accessTokenLifetime,
          refresh_seconds: redemption.refreshTokenLifetime,
          family_seconds: redemption.refreshTokenAbsoluteLifetime,
        },
      ]);
      if (!row || row.client_session_id === null)
        return { failure: 'unknown', sub: undefined, clientId: undefined, burned: false };
      if (row.failure === null) {
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
      return { failure: row.failure, sub: row.sub, clientId: row.client_id, burned: row.burned };
    },
  };
}
