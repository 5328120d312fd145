// Exchanges a token of a user for an access token of another client, in one statement (table access_tokens, RFC 8693).
import type { Sql } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { Audience } from '../../oauth/own-resource.ts';
import { batchedCall } from '../batched-call.ts';
import { confirmationOf } from '../confirmation.ts';
import type { NamedClientSession } from '../sessions/client-sessions.ts';
import { withUser } from '../users/users.ts';
import type { Exchange } from './access-tokens.ts';
import { type RedemptionResult, type RedemptionRow, toRedemptionResult } from './authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from './dpop-proofs.ts';
import { actsAt, mayIssueFunction } from './may-issue.ts';
import { tokenDetails } from './token-details.ts';

/** The token that a client presents: an access token by its hash, or an ID Token by what it says. */
export type PresentedSubject = { tokenHash: Buffer } | (NamedClientSession & { expiresAt: Date });

export interface TokenExchange {
  subject: PresentedSubject;
  /** The actor token, whose end is one of the new token, too; undefined without one. */
  actorHash?: Buffer | undefined;
  clientId: string;
  address: string | undefined;
  policy: { id: string; version: number };
  /** The id of the resource; undefined for a resource of this service. */
  resourceId: string | undefined;
  accessTokenHash: Buffer;
  /** In seconds. */
  accessTokenLifetime: number;
  scope: string;
  audience: Audience;
  /** The authorization details to which the token is limited; undefined for all that the presented token and the policy have together. */
  details?: readonly Detail[] | undefined;
  binding: Binding;
  proof: UsedProof | undefined;
  exchange: Exchange;
  /** The database's time. */
  now: Date;
}

/** `unknown`: the presented token is not valid any more. */
export type ExchangeFailure = 'ended' | 'client' | 'policy' | 'resource' | 'actor' | 'details' | 'proof';

const exchangeToken = storedFunction(new URL('exchange_token.sql', import.meta.url), [
  mayIssueFunction,
  tokenDetails,
  useProof,
]);
const exchange = batchedCall('token_exchange.exchange', {
  function: exchangeToken,
  types: 'jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the client session, as other statements do
  locks: `coalesce((value_1 ->> 'client_session')::bigint,
                   (SELECT client_session_id FROM access_tokens WHERE token_hash = decode(value_1 ->> 'subject_token', 'hex')))`,
});

const subjectOf = (subject: PresentedSubject, now: Date) =>
  'tokenHash' in subject
    ? { subject_token: subject.tokenHash.toString('hex') }
    : {
        client_session: subject.id,
        sid: subject.sid,
        subject_client: subject.clientId,
        subject_of_client: subject.subject,
        subject_seconds: (subject.expiresAt.getTime() - now.getTime()) / 1000,
      };

export function tokenExchangeRepository(sql: Sql) {
  return {
    /** Issues the token. The decision and its effects are one statement. */
    async exchange(wanted: TokenExchange): Promise<RedemptionResult<ExchangeFailure>> {
      const [row] = await sql.query<RedemptionRow<ExchangeFailure>>(exchange, [
        {
          ...subjectOf(wanted.subject, wanted.now),
          actor_token: wanted.actorHash?.toString('hex'),
          client_id: wanted.clientId,
          acts_at: actsAt(wanted.address),
          policy: wanted.policy.id,
          policy_version: wanted.policy.version,
          resource: wanted.resourceId,
          details: wanted.details,
          proof: usedProof(wanted.proof),
        },
        {
          access_token: wanted.accessTokenHash.toString('hex'),
          access_seconds: wanted.accessTokenLifetime,
          scope: wanted.scope,
          audience: wanted.audience,
          cnf: confirmationOf(wanted.binding),
          exchange: wanted.exchange,
        },
      ]);
      return toRedemptionResult(row);
    },
  };
}
