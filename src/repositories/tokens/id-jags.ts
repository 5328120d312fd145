// Asks the database whether an ID-JAG may be signed for a user, in one statement (draft-ietf-oauth-identity-assertion-authz-grant).
import type { Sql } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Binding } from '../../oauth/binding.ts';
import { batchedCall } from '../batched-call.ts';
import { confirmationOf } from '../confirmation.ts';
import type { NamedClientSession } from '../sessions/client-sessions.ts';
import { withUser } from '../users/users.ts';
import { type RedemptionResult, type RedemptionRow, toRedemptionResult } from './authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from './dpop-proofs.ts';
import { actsAt, mayIssueFunction } from './may-issue.ts';

/** The token that a client presents: a refresh token by its hash, or an ID Token by what it says. */
export type JagSubject = { refreshTokenHash: Buffer } | Omit<NamedClientSession, 'clientId'>;

export interface WantedJag {
  subject: JagSubject;
  clientId: string;
  address: string | undefined;
  server: { id: string; version: number };
  binding: Binding;
  proof: UsedProof | undefined;
}

/** `unknown`: the presented token is not valid any more. */
export type JagFailure = 'ended' | 'key' | 'server' | 'proof';

const allowIdJag = storedFunction(new URL('allow_id_jag.sql', import.meta.url), [mayIssueFunction, useProof]);
const allow = batchedCall('id_jags.allow', {
  function: allowIdJag,
  types: 'jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the client session, as other statements do
  locks: `coalesce((value_1 ->> 'client_session')::bigint,
                   (SELECT client_session_id FROM refresh_tokens WHERE token_hash = decode(value_1 ->> 'refresh_token', 'hex')))`,
});

const presented = (subject: JagSubject) =>
  'refreshTokenHash' in subject
    ? { refresh_token: subject.refreshTokenHash.toString('hex') }
    : { client_session: subject.id, sid: subject.sid, subject: subject.subject };

export function idJagsRepository(sql: Sql) {
  return {
    /** Decides, and uses the proof of the request. */
    async allow(wanted: WantedJag): Promise<RedemptionResult<JagFailure>> {
      const [row] = await sql.query<RedemptionRow<JagFailure>>(allow, [
        {
          ...presented(wanted.subject),
          client_id: wanted.clientId,
          server: wanted.server.id,
          server_version: wanted.server.version,
          acts_at: actsAt(wanted.address),
          cnf: confirmationOf(wanted.binding),
          proof: usedProof(wanted.proof),
        },
      ]);
      return toRedemptionResult(row);
    },
  };
}
