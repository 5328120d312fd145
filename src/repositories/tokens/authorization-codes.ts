// Issues authorization codes with their client sessions, and redeems each code exactly once (table authorization_codes).
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
  /** The hash of an access token that the browser passes to the client. */
  accessTokenHash: Buffer | undefined;
  sessionId: string;
  clientId: string;
  /** The version of the client that the request was validated against. */
  clientVersion: number;
  scope: string[];
  /** Single claims that the grant must cover, in addition to those of the scopes. */
  claims: string[];
  requested: RequestedClaims | undefined;
  offline: boolean;
  redirectUri: string;
  nonce: string | undefined;
  codeChallenge: string | undefined;
  /** The audience of the tokens; undefined for the client itself. */
  audience: string[] | undefined;
  /** The subject of the user for the client; undefined for the user's own `sub`. */
  subject: string | undefined;
  /** In seconds. */
  lifetime: number;
  accessTokenLifetime: number;
  /** Seconds for which the issued tokens, and those of the code without a refresh token, can be valid. */
  clientSessionLifetime: number;
  /** The stored authorization request that this answers, which is then deleted. */
  requestHash: Buffer | undefined;
  /** The most unredeemed codes of this session and client, including this one. The oldest are deleted. */
  kept: number;
  /** The most responses for the session in a minute; 0 for no limit. */
  perMinute: number;
}

/** The facts of an authorization that its tokens contain. */
export interface Authorization {
  clientSessionId: string;
  sid: string;
  /** The subject of the user for the client. */
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
  /** The hash of a handle that was never in a URL, for clients of the UMA profile. */
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
      /** Whether this was the fifth failure, which revokes the code. */
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
  // the session, to which the request also belongs
  locks: 'value_2',
});

const redeem = batchedCall('authorization_codes.redeem', {
  function: redeemCode,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the client session, as a refresh does
  locks: '(SELECT client_session_id FROM authorization_codes WHERE code_hash = value_1)',
});

export function authorizationCodesRepository(sql: Sql) {
  return {
    /**
     * Issues a code with its client session and returns the database's time. Undefined if the session, the user, the client (in the
     * validated version) or the grant is no longer valid, the session is at its limit, or the stored request was answered before.
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
        // the session, the client or the user was deleted meanwhile
        if (isForeignKeyViolation(error)) return undefined;
        throw error;
      }
    },
    /** The seconds until the session may get another response; 0 if it is not at its limit. */
    async findWait(sessionId: string, perMinute: number): Promise<number> {
      if (perMinute === 0) return 0;
      const [row] = await sql.query<{ seconds: number | null }>(findWait, [sessionId, perMinute]);
      return Math.max(0, row?.seconds ?? 0);
    },
    /** Redeems a code and stores its tokens. The decision and its effects are one statement. */
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
