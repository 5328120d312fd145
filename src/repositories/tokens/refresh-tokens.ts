// Uses refresh tokens: rotation, its grace period, and the end of a client session whose spent token is reused (table refresh_tokens).
import { type Sql } from '../../database/database.ts';
import { confirmationOf } from '../confirmation.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { grace, type RefreshFailure, type RefreshRequest } from '../../oauth/refresh-rotation.ts';
import type { Authorization, JwtFormat } from './authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from './dpop-proofs.ts';
import { actsAt, mayIssueFunction } from './may-issue.ts';
import { tokenDetails } from './token-details.ts';
import { tokenResource } from './token-resource.ts';
import { batchedCall } from '../batched-call.ts';
import { toUser, type UserRow, withUser } from '../users/users.ts';

export interface Refresh extends RefreshRequest {
  tokenHash: Buffer;
  accessTokenHash: Buffer;
  refreshTokenHash: Buffer;
  /** Whether the refresh tokens are bound to the key from now on, if they have none: those of a public client (RFC 9449 5). */
  binds?: boolean;
  /** The proof of the request, which counts once; `binding` names its key. */
  proof: UsedProof | undefined;
  /** Where the client acts, which must be in a network of the client; undefined if it is unknown. */
  address: string | undefined;
  /** In seconds. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  refreshTokenAbsoluteLifetime: number;
}

export type RefreshResult =
  | {
      authorization: Authorization;
      issuedAt: Date;
      rotated: boolean;
      /** In seconds. */ accessTokenLifetime: number;
      jwt: JwtFormat | undefined;
    }
  | { failure: RefreshFailure; sub: string | undefined; clientId: string | undefined };

const useRefreshToken = storedFunction(new URL('use_refresh_token.sql', import.meta.url), [
  mayIssueFunction,
  tokenDetails,
  tokenResource,
  useProof,
]);
const rotate = batchedCall('refresh_tokens.rotate', {
  function: useRefreshToken,
  types: 'bytea, jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the client session, which may have many refresh tokens
  locks: '(SELECT client_session_id FROM refresh_tokens WHERE token_hash = value_1)',
});

export function refreshTokensRepository(sql: Sql) {
  return {
    /** Uses a refresh token. The decision and its effects are one statement. */
    async rotate(refresh: Refresh): Promise<RefreshResult> {
      const [row] = await sql.query<
        UserRow & {
          failure: RefreshFailure | null;
          rotated: boolean;
          issued_at: Date;
          client_session_id: string | null;
          sid: string;
          subject: string;
          client_id: string;
          scope: string;
          auth_time: Date;
          amr: string[];
          nonce: string | null;
          requested: Authorization['requested'] | null;
          access_seconds: number;
          jwt: JwtFormat | null;
          details: Authorization['details'] | null;
        }
      >(rotate, [
        refresh.tokenHash,
        {
          client_id: refresh.clientId,
          scope: refresh.scope,
          resource: refresh.resource,
          details: refresh.details,
          grace_seconds: refresh.graceSeconds ?? grace.seconds,
          grace_uses: grace.uses,
          proof: usedProof(refresh.proof),
          acts_at: actsAt(refresh.address),
        },
        {
          rotates: refresh.rotate,
          access_token: refresh.accessTokenHash.toString('hex'),
          refresh_token: refresh.refreshTokenHash.toString('hex'),
          cnf: confirmationOf(refresh.binding),
          binds: refresh.binds,
          access_seconds: refresh.accessTokenLifetime,
          refresh_seconds: refresh.refreshTokenLifetime,
          client_session_seconds: refresh.refreshTokenAbsoluteLifetime,
        },
      ]);
      if (!row || row.client_session_id === null) return { failure: 'unknown', sub: undefined, clientId: undefined };
      if (row.failure !== null) return { failure: row.failure, sub: row.sub, clientId: row.client_id };
      return {
        issuedAt: row.issued_at,
        rotated: row.rotated,
        accessTokenLifetime: row.access_seconds,
        jwt: row.jwt ?? undefined,
        authorization: {
          clientSessionId: row.client_session_id,
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
    },
  };
}
