// Issues access tokens for assertions of trusted issuers, in one statement (tables client_sessions and access_tokens, RFC 7523).
import type { Sql } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { Audience } from '../../oauth/own-resource.ts';
import { batchedCall } from '../batched-call.ts';
import { confirmationOf } from '../confirmation.ts';
import { withUser } from '../users/users.ts';
import { type RedemptionResult, type RedemptionRow, toRedemptionResult } from './authorization-codes.ts';
import { type UsedProof, usedProof, useProof } from './dpop-proofs.ts';
import { actsAt, mayIssueFunction } from './may-issue.ts';

export interface AssertionGrant {
  issuer: { id: string; version: number };
  /** The digest of the `jti`, and the seconds for which it is remembered. */
  jtiHash: Buffer;
  assertionSeconds: number;
  sub: string;
  clientId: string;
  address: string | undefined;
  /** The id of the resource; undefined for a resource of this service. */
  resourceId: string | undefined;
  accessTokenHash: Buffer;
  /** In seconds. */
  accessTokenLifetime: number;
  scope: string;
  audience: Audience;
  /** The pairwise subject; undefined for the user's own `sub`. */
  subject: string | undefined;
  sid: string;
  binding: Binding;
  proof: UsedProof | undefined;
}

export type AssertionFailure = 'issuer' | 'user' | 'ended' | 'resource' | 'proof' | 'replayed';

const grantByAssertion = storedFunction(new URL('grant_by_assertion.sql', import.meta.url), [
  mayIssueFunction,
  useProof,
]);
const grant = batchedCall('assertion_grants.grant', {
  function: grantByAssertion,
  types: 'jsonb, jsonb',
  columns: 'r.*, u.*',
  join: withUser,
  // the issuer, and then the user
  locks: `value_1 ->> 'issuer', value_1 ->> 'sub'`,
});

export function assertionGrantsRepository(sql: Sql) {
  return {
    /** Issues the token. The decision and its effects are one statement. */
    async grant(wanted: AssertionGrant): Promise<RedemptionResult<AssertionFailure>> {
      const [row] = await sql.query<RedemptionRow<AssertionFailure>>(grant, [
        {
          issuer: wanted.issuer.id,
          issuer_version: wanted.issuer.version,
          jti: wanted.jtiHash.toString('hex'),
          assertion_seconds: wanted.assertionSeconds,
          sub: wanted.sub,
          client_id: wanted.clientId,
          acts_at: actsAt(wanted.address),
          resource: wanted.resourceId,
          proof: usedProof(wanted.proof),
        },
        {
          access_token: wanted.accessTokenHash.toString('hex'),
          access_seconds: wanted.accessTokenLifetime,
          scope: wanted.scope,
          audience: wanted.audience,
          subject: wanted.subject,
          sid: wanted.sid,
          cnf: confirmationOf(wanted.binding),
        },
      ]);
      return toRedemptionResult(row);
    },
  };
}
