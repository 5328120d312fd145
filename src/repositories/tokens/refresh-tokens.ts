// The table refresh_tokens: rotation, its grace, and the end of a family whose spent token comes back.
import { type Sql } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Authorization } from './authorization-codes.ts';
import { call } from '../batched-call.ts';
import { toUser, type UserRow, withUser } from '../users/users.ts';

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
  | 'reused'; // after the grace, or of a line that the grace did not leave: the family is revoked (security R33, R121)

export type RefreshResult =
  | { authorization: Authorization; issuedAt: Date; rotated: boolean }
  | { failure: RefreshFailure; sub: string | undefined; clientId: string | undefined };

// decisions section 4: a spent token may come back within 10 s of its first use, 5 times at most (security R32)
const graceSeconds = 10;
const graceUses = 5;

const useRefreshToken = storedFunction(new URL('use_refresh_token.sql', import.meta.url));
const rotate = call('refresh_tokens.rotate', {
  function: useRefreshToken,
  types: `bytea, text, text[], text, boolean, bytea, bytea, double precision, double precision, double precision,
    double precision, integer`,
  columns: 'r.*, u.*',
  join: withUser,
  // the family, of which somebody may have many tokens
  locks: '(SELECT client_session_id FROM refresh_tokens WHERE token_hash = value_1)',
});

export function refreshTokensRepository(sql: Sql) {
  return {
    /** Uses a refresh token; the decision and its effects are one statement. */
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
        }
      >(rotate, [
        refresh.tokenHash,
        refresh.clientId,
        refresh.scope,
        refresh.resource,
        refresh.rotate,
        refresh.accessTokenHash,
        refresh.refreshTokenHash,
        refresh.accessTokenLifetime,
        refresh.refreshTokenLifetime,
        refresh.refreshTokenAbsoluteLifetime,
        graceSeconds,
        graceUses,
      ]);
      if (!row || row.client_session_id === null) return { failure: 'unknown', sub: undefined, clientId: undefined };
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
