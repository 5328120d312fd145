// Issues authorization codes with their client sessions, and redeems each code exactly once (table authorization_codes).
import type { Binding } from '../../oauth/binding.ts';
import { isForeignKeyViolation, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { ResponseRefusal } from '../../oauth/authorization-response.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import type { RequestedClaims } from '../../oauth/claims-request.ts';
import type { Granted } from '../../oauth/granted.ts';
import type { Audience } from '../../oauth/own-resource.ts';
import type { RedemptionFailure, RedemptionRequest } from '../../oauth/code-redemption.ts';
import type { ActingParty } from '../../oauth/token-exchange.ts';
import { confirmationOf } from '../confirmation.ts';
import { type UsedProof, usedProof, useProof } from './dpop-proofs.ts';
import { actsAt, mayIssueFunction } from './may-issue.ts';
import { tokenDetails } from './token-details.ts';
import { tokenResource } from './token-resource.ts';
import { batchedCall } from '../batched-call.ts';
import type { SigningKeyRow } from '../keys/signing-keys.ts';
import { toUser, type UserRow, withUser } from '../users/users.ts';

/** An authorization response to store. */
export interface NewResponse {
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
  /** The key by which the code must be redeemed. An access token that passes a browser is bound to none. */
  codeBinding: Binding;
  /** The audience of the tokens; undefined for the client itself. */
  audience: Audience | undefined;
  /** The resources of which each token request names one. */
  resources: readonly AuthorizedResource[];
  /** The authorization details, each with its identifier; undefined without any. */
  details?: readonly Detail[] | undefined;
  /** Those that the user has just allowed on another page than the consent page of the request. */
  shownDetails?: readonly Detail[] | undefined;
  /** The subject of the user for the client; undefined for the user's own `sub`. */
  subject: string | undefined;
  /** In seconds. */
  lifetime: number;
  accessTokenLifetime: number;
  /** Seconds for which the issued tokens, and those of the code without a refresh token, can be valid. */
  clientSessionLifetime: number;
  /** The stored authorization request that this answers, which is then deleted. */
  requestHash: Buffer | undefined;
  /** How many unredeemed codes this session and client may have, including this one. The oldest are deleted. */
  maxCodes: number;
  /** How many responses the session may get in a minute; 0 for no limit. */
  maxPerMinute: number;
  /** Where the browser acts, which must be in a network of the client; undefined if it is unknown. */
  address: string | undefined;
}

/** A resource of an authorization. */
export interface AuthorizedResource {
  /** Undefined for a resource of this service. */
  id: string | undefined;
  audience: Audience;
  /** Its scope values that the user granted. */
  scope: readonly string[];
}

/** How an access token is signed that becomes a JWT (RFC 9068). */
export interface JwtFormat {
  alg: SigningKeyRow['alg'];
  /** The URI of the resource. */
  audience: string;
  /** The client of the resource, if any. */
  server: string | null;
  /** The claims of the user that it contains, as far as its scope releases them. */
  claims: readonly string[];
  /** The client that acts for the user. */
  act?: ActingParty | undefined;
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
  /** The authorization details of the token; absent without any. */
  details?: readonly Detail[] | undefined;
  user: Subject;
}

export interface Redemption extends RedemptionRequest {
  codeHash: Buffer;
  accessTokenHash: Buffer;
  refreshTokenHash: Buffer | undefined;
  /** The hash of a handle that was never in a URL, for clients of the UMA profile. */
  handleHash: Buffer | undefined;
  refreshTokenBinding: Binding;
  handleBinding: Binding;
  /** The proof of the request, which counts once; `binding` names its key. */
  proof: UsedProof | undefined;
  /** In seconds. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  refreshTokenAbsoluteLifetime: number;
}

/** What redeem_code() returns, with the user. @typeParam Failure the failures of a caller that has more */
export interface RedemptionRow<Failure extends string = RedemptionFailure> extends UserRow {
  failure: Failure | null;
  burned: boolean;
  issued_at: Date;
  client_session_id: string | null;
  sid: string;
  subject: string;
  scope: string;
  auth_time: Date;
  nonce: string | null;
  requested: RequestedClaims | null;
  access_seconds: number | null;
  jwt: JwtFormat | null;
  details: Detail[] | null;
  amr: string[];
  client_id: string;
}

export type RedemptionResult<Failure extends string = RedemptionFailure> =
  | {
      authorization: Authorization;
      issuedAt: Date;
      /** In seconds, if the resource limits it. */
      accessTokenLifetime: number | undefined;
      jwt: JwtFormat | undefined;
    }
  | {
      failure: Failure | 'unknown';
      sub: string | undefined;
      clientId: string | undefined;
      /** Whether this was the fifth failure, which revokes the code. */
      burned: boolean;
    };

/** What issue_code() returns: a refusal, or the rest. */
interface IssueRow {
  refusal: ResponseRefusal | null;
  issued_at: Date | null;
  client_session: string | null;
}

const findWait = statement(
  'authorization_codes.find_wait',
  `SELECT ceil(extract(epoch FROM s.codes_at[cardinality(s.codes_at) - $2::int + 1] + interval '1 minute' - clock_timestamp()))::int AS seconds
     FROM sessions s WHERE s.id = $1`,
);
const keepNewestCodes = storedFunction(new URL('keep_newest_codes.sql', import.meta.url));
const issueCode = storedFunction(new URL('issue_code.sql', import.meta.url), [keepNewestCodes, mayIssueFunction]);
/** Also redeems the code of an approved device authorization request. */
export const redeemCode = storedFunction(new URL('redeem_code.sql', import.meta.url), [
  mayIssueFunction,
  tokenDetails,
  tokenResource,
  useProof,
]);

const issue = batchedCall('authorization_codes.issue', {
  function: issueCode,
  types: 'jsonb, jsonb',
  columns: 'r.*',
  // the session, to which the request also belongs
  locks: `(value_1 ->> 'session')::bigint`,
});

const redeem = batchedCall('authorization_codes.redeem', {
  function: redeemCode,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the client session, as a refresh does
  locks: '(SELECT client_session_id FROM authorization_codes WHERE code_hash = value_1)',
});

/** What the grant must have, so that the response may be issued. */
function grantedTo({ scope, claims, resources }: Pick<NewResponse, 'scope' | 'claims' | 'resources'>): Granted {
  return {
    scope: scope.filter((value) => !resources.some((resource) => resource.scope.includes(value))),
    claims,
    resources: Object.fromEntries(
      resources.flatMap(({ id, scope: values }) => (id === undefined || values.length === 0 ? [] : [[id, values]])),
    ),
  };
}

export function authorizationCodesRepository(sql: Sql) {
  return {
    /** Issues a response with its client session, at the database's time. The decision and its effects are one statement. */
    async issue(
      response: NewResponse,
    ): Promise<{ issuedAt: Date; clientSessionId: string } | { refusal: ResponseRefusal }> {
      try {
        const [row] = await sql.query<IssueRow>(issue, [
          {
            request: response.requestHash?.toString('hex'),
            session: response.sessionId,
            client_id: response.clientId,
            client_version: response.clientVersion,
            granted: grantedTo(response),
            max_per_minute: response.maxPerMinute,
            acts_at: actsAt(response.address),
            shown: response.shownDetails,
          },
          {
            code: response.codeHash?.toString('hex'),
            access_token: response.accessTokenHash?.toString('hex'),
            scope: response.scope.join(' '),
            subject: response.subject,
            offline: response.offline,
            nonce: response.nonce,
            audience: response.audience,
            resources: response.resources.length > 0 ? response.resources : undefined,
            details: response.details,
            requested: response.requested,
            redirect_uri: response.redirectUri,
            code_challenge: response.codeChallenge,
            code_cnf: confirmationOf(response.codeBinding),
            max_codes: response.maxCodes,
            code_seconds: response.lifetime,
            access_seconds: response.accessTokenLifetime,
            client_session_seconds: response.clientSessionLifetime,
          },
        ]);
        const { refusal, issued_at: issuedAt, client_session: clientSessionId } = row!;
        return refusal === null ? { issuedAt: issuedAt!, clientSessionId: clientSessionId! } : { refusal };
      } catch (error) {
        // the session, the client or the user was deleted meanwhile
        if (isForeignKeyViolation(error)) return { refusal: 'ended' };
        throw error;
      }
    },
    /** The seconds until a session at its limit may get another response. */
    async findWait(sessionId: string, maxPerMinute: number): Promise<number> {
      const [row] = await sql.query<{ seconds: number | null }>(findWait, [sessionId, maxPerMinute]);
      return Math.max(0, row?.seconds ?? 0);
    },
    /** Redeems a code and stores its tokens. The decision and its effects are one statement. */
    async redeem(redemption: Redemption): Promise<RedemptionResult> {
      const [row] = await sql.query<RedemptionRow>(redeem, [
        redemption.codeHash,
        {
          client_id: redemption.clientId,
          redirect_uri: redemption.redirectUri,
          code_challenge: redemption.codeChallenge,
          resource: redemption.resource,
          details: redemption.details,
          retry_seconds: redemption.retrySeconds,
          proof: usedProof(redemption.proof),
        },
        issuedTokens(redemption),
      ]);
      return toRedemptionResult(row);
    },
  };
}

/** The parameter `issue` of redeem_code(). */
export const issuedTokens = (redemption: Omit<Redemption, 'redirectUri' | 'codeChallenge'>) => ({
  access_token: redemption.accessTokenHash.toString('hex'),
  refresh_token: redemption.refreshTokenHash?.toString('hex'),
  handle: redemption.handleHash?.toString('hex'),
  cnf: confirmationOf(redemption.binding),
  refresh_cnf: confirmationOf(redemption.refreshTokenBinding),
  handle_cnf: confirmationOf(redemption.handleBinding),
  access_seconds: redemption.accessTokenLifetime,
  refresh_seconds: redemption.refreshTokenLifetime,
  client_session_seconds: redemption.refreshTokenAbsoluteLifetime,
});

export function toRedemptionResult<Failure extends string = RedemptionFailure>(
  row: RedemptionRow<Failure> | undefined,
): RedemptionResult<Failure> {
  // an unknown code gets a row without values
  if (!row || (row.failure === null && row.client_session_id === null))
    return { failure: 'unknown', sub: undefined, clientId: undefined, burned: false };
  if (row.failure !== null)
    return { failure: row.failure, sub: row.sub ?? undefined, clientId: row.client_id, burned: row.burned };
  return {
    issuedAt: row.issued_at,
    accessTokenLifetime: row.access_seconds ?? undefined,
    jwt: row.jwt ?? undefined,
    authorization: {
      clientSessionId: row.client_session_id!,
      sid: row.sid,
      subject: row.subject,
      scope: row.scope,
      authTime: row.auth_time,
      amr: row.amr,
      nonce: row.nonce ?? undefined,
      requested: row.requested ?? undefined,
      details: row.details ?? undefined,
      user: toUser(row),
    },
  };
}
